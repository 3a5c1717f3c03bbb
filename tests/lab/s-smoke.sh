# SPDX-License-Identifier: GPL-2.0
# t-smoke.sh on the debug kernel. In make soak: it takes long, and make check has other tests
# on that kernel.
#
# lab: kernel=debug clock=real smp=4 timeout=900

. /lab/files/t-smoke.sh
