# SPDX-License-Identifier: GPL-2.0
# An hour with a drive that warms up: 200 ppm faster after an hour, seeks 3 % longer after 20
# minutes; five requests a second (issue 6). Predictions stay within 50 us, what was learnt can
# be read, and a model made of it is accepted and fits from the beginning.
#
# lab: kernel=stock clock=icount smp=1 timeout=1500

. /lab/lib.sh
. /lab/files/t-drift.sh

drift_drive 'rpm_drift 200 3600' 'seek_drift 30000 1200'
for minutes in 10 20 30 40 50 60; do
	drift_load "until minute $minutes" 600 5
done
drift_learnt 15000 200
drift_export
drift_end
done_testing
