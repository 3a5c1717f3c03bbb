# SPDX-License-Identifier: GPL-2.0
# t-learn.sh for twenty minutes, on a larger drive. In make soak: it takes long.
#
# lab-programs: extract judge mechdisk-host
# lab-python: freeblock.extraction.pipeline _pydecimal research.extractmap
# lab-freeblock: extract enable
# lab-kernel-modules: libata
# lab-host-programs: hdparm
# lab: kernel=stock clock=icount smp=1 timeout=6000

LEARN_S=1200
LEARN_BANDS=8000
LEARN_RATE=40
. /lab/files/t-learn.sh
