# SPDX-License-Identifier: GPL-2.0
# freeblock trial on a disk with another scheduler, an installed model and an open load of reads and
# writes: what it tells is held against what fio itself measures, without a scrub and beside one.
# Then it is interrupted, and killed.
#
# Expected: the latencies that it tells are fio's, each window's kind, within what four seconds of
# such a load scatter; the scrub costs something, and reads something; afterwards the disk has its
# scheduler again, and nothing is read for anybody, however the trial ended.
#
# Seen to fail: fg_read_ns counted of all reads, ours too (56 % of fio's latency with free reads).
#
# lab-freeblock: models trial
# lab: kernel=stock clock=icount smp=1 timeout=400

. /lab/lib.sh

load_module mechdisk
load_module freeblock
disk=$(drive_new d toy.fbdrive) || exit 1
sched_set "$disk" none
dir=$(fb "$disk")

# load SECONDS NAME: 60 requests a second, whatever becomes of them
load()
{
	fio_run "$2" --filename=/dev/"$disk" --direct=1 --ioengine=libaio --iodepth=64 \
		--rw=randrw --rwmixread=67 --bs=8k --norandommap --time_based --runtime="$1" \
		--rate_iops=40,20 --rate_process=poisson --randseed=7 --allrandrepeat=1
}

# told KIND SIDE: a mean of the trial's, ms
told()
{
	/usr/bin/python3 -c "
import json
print('%.3f' % json.load(open('/tmp/trial'))['cost_ms']['$1']['$2'])"
}

# found EXPRESSION: of what the trial found
found()
{
	/usr/bin/python3 -c "
import json
found = json.load(open('/tmp/trial'))
print($1)"
}

as_before()
{
	expect_within "$1: the scheduler is what it was" 30 \
		wait_for 30 grep -q '\[none\]' /sys/block/"$disk"/queue/scheduler
	expect_match "$1: no scrub" "$(cat "$dir/scrub")" '^(stopped|stopping)$'
	expect_within "$1: no task" 30 wait_for 30 grep -qx 0 "$dir/tasks"
}

expect_fail "no model is installed" freeblock trial "$disk" --pairs 3 --seconds 1
expect_match "and the scheduler is what it was" "$(cat /sys/block/"$disk"/queue/scheduler)" '\[none\]'
expect_ok "its model is installed" freeblock models install "$(lab_file toy.fbmodel)" --disk "$disk"

# ---- what fio says ----

sched_set "$disk" freeblock
expect_ok "and loaded" freeblock models load "$disk"
load 16 alone
echo start > "$dir/scrub"
load 4 settle
load 16 beside
echo stop > "$dir/scrub"
expect_within "the scrub ends" 30 wait_for 30 grep -qx 0 "$dir/tasks"
sched_set "$disk" none

# ---- what the trial says ----

load 400 during > /dev/null &
fio=$!
freeblock trial "$disk" --pairs 6 --seconds 4 --settle 1 --json --quiet > /tmp/trial
status=$?
as_before "at its end"
note "$(found "found['words']"), $(found "round(found['free_mb_s'], 2)") MB/s"
case $(found "found['verdict']") in
within) want=0 ;;
above) want=3 ;;
*) want=4 ;;
esac
expect_eq "exit status of the verdict" $status $want
expect_eq "pairs" "$(found "len(found['pairs'])")" 6
expect_mean "free MB/s" 0.5 20 "$(found "found['free_mb_s']")"
for kind in read write; do
	[ $kind = read ] && field=40 || field=81
	for side in without:alone with:beside; do
		expect_mean "$kind latency ${side%:*} free reads, per cent of fio's" 90 122 \
			"$(awk -v told="$(told ${kind}s "${side%:*}")" -v fio="$(fio_field "${side#*:}" $field)" \
				'BEGIN { print 100 * told * 1000 / fio }')"
	done
done
expect_eq "it costs something" "$(found "found['cost_ms']['all']['more'] > 0")" True

# ---- interrupted, killed ----

for signal in INT KILL; do
	freeblock trial "$disk" --pairs 20 --seconds 2 --settle 1 --quiet > /tmp/said 2>&1 &
	trial=$!
	expect_within "$signal: windows go by" 60 wait_for 60 grep -q paused "$(debug "$disk")/tasks"
	kill -$signal $trial
	wait $trial
	as_before "SIG$signal"
done
kill -INT $fio
wait $fio
drive_off d
expect_within "unload freeblock" 30 unload_module freeblock
expect_within "unload mechdisk" 30 unload_module mechdisk
done_testing
