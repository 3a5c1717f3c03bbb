# SPDX-License-Identifier: GPL-2.0
# t-user.sh with a thousand killed readers and more random calls. In make soak: it takes
# long.
#
# lab-compile: fbread.c fbread.c@32 fbcalls.c fbcalls.c@32 user-device.rst
# lab: kernel=stock clock=icount smp=1 timeout=3000
# lab: kernel=debug clock=real smp=4 timeout=3000

USER_KILLS=1000
USER_CALLS=100000
. /lab/files/t-user.sh
