# SPDX-License-Identifier: GPL-2.0
# t-scan.sh on the debug kernel with exact time; with four CPUs it is in make check. In make
# soak: it takes long.
#
# lab: kernel=debug clock=icount smp=1 timeout=900

. /lab/files/t-scan.sh
