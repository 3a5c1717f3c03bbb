# SPDX-License-Identifier: GPL-2.0
# t-tasks.sh on the debug kernel with four CPUs. In make soak: it takes long.
#
# lab: kernel=debug clock=real smp=4 timeout=900

. /lab/files/t-tasks.sh
