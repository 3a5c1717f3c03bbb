# SPDX-License-Identifier: GPL-2.0
# t-verify.sh on the debug kernel. In make soak: it takes long.
#
# lab: kernel=debug clock=icount smp=1 timeout=3000

. /lab/files/t-verify.sh
