# SPDX-License-Identifier: GPL-2.0
# max_kib_s: all tasks together read no faster than that, idle or busy, in gaps or without a map, and
# no slower where the disk and the trial allow it; a change counts at once, 0 is no limit.
#
# Expected: what the drive has transferred for tasks over the time of the guest's clock.
#
# A second's share is read in one go: over half a minute that is some percent more or less.
#
# Seen to fail: reads in gaps not counted (busy: 1.9 times the limit); no timer (0 within a second);
# a limit that is raised paid off at the old rate first; a trial that does not go on within a shut
# pace (25 seconds of 30 idle).
#
# lab: kernel=stock clock=icount smp=1 timeout=600

. /lab/lib.sh

# read_kib_s SECONDS: what tasks get in a second of them
read_kib_s()
{
	local before after

	before=$(number "$disk" stats/free_sectors)
	sleep "$1"
	after=$(number "$disk" stats/free_sectors)
	echo $(((after - before) / 2 / $1))
}

# rate NAME KIB_S SECONDS
rate()
{
	local got

	got=$(read_kib_s "$3")
	expect_ge "$1, KiB/s" "$got" $(($2 * 96 / 100))
	expect_le "$1, KiB/s" "$got" $(($2 * 104 / 100))
}

# idle_s: for so long the CPU has been
idle_s()
{
	cut -d' ' -f2 /proc/uptime | cut -d. -f1
}

foreground()
{
	fio_run "$1" --filename=/dev/"$disk" --direct=1 --ioengine=libaio --iodepth=4 --bs=4k \
		--rw=randread --norandommap --time_based --runtime="$2" --randseed=3 \
		--allrandrepeat=1 &
}

load_module mechdisk
load_module freeblock
disk=$(drive_new d atlas10k.fbdrive) || exit 1
sched_set "$disk" freeblock
limit=$(fb "$disk")/max_kib_s
expect_eq "no limit by default" "$(cat "$limit")" 0
expect_fail "a word" sh -c "echo fast > $limit"
expect_fail "below" sh -c "echo -1 > $limit"
expect_eq "and nothing has changed" "$(cat "$limit")" 0

# the subject is the rate, not the cost
echo 60000000 > "$(fb "$disk")/idle_max_us"
echo 10000000 > "$(fb "$disk")/idle_mean_us"
iosched "$disk" target_slowdown_ppm 1000000
echo 2000 > "$limit"
echo start > "$(fb "$disk")/scan"
rate "idle, no map" 2000 30
echo 200 > "$limit"
rate "a tenth" 200 40
# some seconds of debt
echo 20 > "$limit"
sleep 4
expect_eq "and it says so" "$(state "$disk" idle)" "paused: max_kib_s is reached"
echo 4000 > "$limit"
rate "more, at once" 4000 30
model_load "$disk" atlas10k.fbmodel
echo 1000 > "$limit"
foreground busy 33
sleep 1
rate "busy, with a map" 1000 30
wait
expect_ge "in gaps" "$(stats "$disk" separate_sectors)" 100
echo 0 > "$limit"
expect_ge "no limit, KiB/s" "$(read_kib_s 2)" 10000
# the trial goes on while nothing may be read: no timer is set to a time that is over
echo 20 > "$limit"
echo 1 > "$(fb "$disk")/trial"
sleep 1
before=$(idle_s)
sleep 30
expect_ge "seconds of 30 for which the CPU is idle" $(($(idle_s) - before)) 28
# its blocks are over when nobody has come for long
echo 1000 > "$limit"
echo 1 > "$(fb "$disk")/trial"
sleep 260
rate "beside the trial, nobody to be measured" 1000 30
scan_stop "$disk"
drive_off d
unload_module freeblock
done_testing
