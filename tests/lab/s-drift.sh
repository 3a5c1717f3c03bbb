# SPDX-License-Identifier: GPL-2.0
# t-drift.sh for the hour at five requests a second: 200 ppm faster within it, seeks 3 %
# longer after 20 minutes. In make soak: it takes long.
#
# lab: kernel=stock clock=icount smp=1 timeout=1800
# lab-freeblock: calibrate

DRIFT_RUNS=6
DRIFT_SECONDS=600
DRIFT_RATE=6
DRIFT_SEEKS="30000 1200"
DRIFT_LEAST=22000
DRIFT_MOST=38000

. /lab/files/t-drift.sh
