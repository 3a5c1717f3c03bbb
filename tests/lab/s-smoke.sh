# SPDX-License-Identifier: GPL-2.0
# t-smoke.sh on the debug kernel, where it shows that leaks are found. In make soak: it takes
# long, and is about the lab alone.
#
# lab: kernel=debug clock=real smp=4 timeout=900

. /lab/files/t-smoke.sh
