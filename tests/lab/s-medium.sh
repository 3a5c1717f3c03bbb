# SPDX-License-Identifier: GPL-2.0
# t-medium.sh on the debug kernel. In make soak: it takes long.
#
# lab: kernel=debug clock=icount smp=1 timeout=900

. /lab/files/t-medium.sh
