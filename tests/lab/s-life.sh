# SPDX-License-Identifier: GPL-2.0
# t-life.sh on the debug kernel with four CPUs. In make soak, not in make check:
# under a real clock on a busy host it takes up to ten minutes, and the model may
# be distrusted meanwhile, for completions are late.
#
# lab-compile: fbread.c
# lab: kernel=debug clock=real smp=4 timeout=1500

. /lab/files/t-life.sh
