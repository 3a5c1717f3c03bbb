# SPDX-License-Identifier: GPL-2.0
# t-input.sh on the debug kernel. In make soak: it takes three to five minutes.
#
# lab: kernel=debug clock=real smp=4 timeout=900

. /lab/files/t-input.sh
