# SPDX-License-Identifier: GPL-2.0
# t-sysfs.sh on the debug kernel with four CPUs, where readers meet removal and renaming at once.
# In make soak, not in make check: most of it does not depend on timing.
#
# lab-python: freeblock
# lab: kernel=debug clock=real smp=4 timeout=1200

. /lab/files/t-sysfs.sh
