# SPDX-License-Identifier: GPL-2.0
# t-scan.sh on the debug kernel, with exact time and with four CPUs. In make soak: it takes long.
#
# lab: kernel=debug clock=icount smp=1 timeout=900
# lab: kernel=debug clock=real smp=4 timeout=900

. /lab/files/t-scan.sh
