# SPDX-License-Identifier: GPL-2.0
# A scan under a foreground, from insmod to rmmod: a small drive serves reads
# and writes all over it (the writes race with the scan for the same blocks)
# while a scan of all of it rides along; then the scan is stopped. The host
# judges every block that a second task gets, one that wants the same and notes
# checksums, against the drive's pattern and write journal.
#
# With a real clock, completions are late by what a busy host takes (1 ms is
# usual): there the drive is one in slow motion, of the same shape as tiny.
#
# Expected: no error in the foreground, never more than two commands from the
# scheduler at the device, blocks delivered, none of them wrong. While a scan's
# end waits for its disk's thread, another disk's scan can be read.
#
# Seen to fail with the scan that had one mutex for all disks (the command did not end within
# 5 s); a global mutex planted into the present one was not caught.
#
# lab: kernel=stock clock=icount smp=1 timeout=500
# lab: kernel=6.12 clock=icount smp=1 timeout=500
# lab: kernel=7.x clock=icount smp=1 timeout=500
# lab: kernel=stock clock=real smp=4 timeout=500
# lab: set=soak kernel=debug clock=icount smp=1 timeout=900
# lab: set=soak kernel=debug clock=real smp=4 timeout=900

. /lab/lib.sh

drive=toy
runtime=20
least=800	# sectors read for free; the toy drive manages 7000 a second
[ "$LAB_KERNEL" = debug ] && runtime=8
if [ "$LAB_CLOCK" = real ]; then
	drive=slow
	runtime=30
	least=8
fi

load_module mechdisk
load_module freeblock
disk=$(drive_new toy "$drive.fbdrive" "journal_records 262144") || exit 1
expect_ok "scheduler freeblock" sched_set "$disk" freeblock
model_load "$disk" "$drive.fbmodel"
expect_match "model in force" "$(cat "$(fb "$disk")/model_status")" loaded
expect_ok "policy" iosched "$disk" policy sptf-sw
expect_eq "the model is believed" "$(state "$disk" knowledge)" map

expect_ok "scan starts" sh -c "echo start > $(fb "$disk")/scan"
expect_fail "a second scan is refused" sh -c "echo start > $(fb "$disk")/scan"
expect_ok "another task wants the same" consumer_start "$disk" toy
fio_run load --filename=/dev/"$disk" --direct=1 --ioengine=libaio --iodepth=10 \
	--rw=randrw --rwmixread=67 --bssplit=4k/50:8k/25:16k/25 --norandommap \
	--time_based --runtime=$runtime --randseed=7 --allrandrepeat=1
expect_eq "foreground without errors" "$(fio_errors load)" 0
expect_ge "foreground served" "$(fio_ios load)" 50
# The busier the host, the later the completions: the model may then rightly be
# distrusted, and what holds while freeblock schedules cannot be looked at.
if [ "$LAB_CLOCK" = real ] && [ "$(state "$disk" knowledge)" != map ]; then
	skip "two commands at the device" "host too busy: $(state "$disk" knowledge)"
	skip "free reads" "host too busy"
else
	expect_le "two commands at the device" "$(stats "$disk" max_in_flight)" 2
	expect_ge "free reads" "$(stats "$disk" free_sectors)" $least
fi
expect_eq "no free read failed" "$(stats "$disk" free_errors)" 0
numbers "$disk" state stats > /out/status
cat /sys/kernel/mechdisk/toy/stats > /out/drive
numbers "$disk" scan_stats
expect_within "scan stops" 60 scan_stop "$disk"
expect_match "and says so" "$(job "$disk" scan)" 'stopped|finished'
expect_ge "the scan got blocks, too" "$(job "$disk" scan blocks_delivered)" $((least / 8))
expect_within "the other task stops" 60 consumer_stop
consumer_keep "$disk" toy
unload_module fbconsumer

# starve DISK: its thread gets no CPU, but nobody else is on its CPU; sets $hog
starve()
{
	echo -1 > /proc/sys/kernel/sched_rt_runtime_us
	taskset -p 7 $$ > /dev/null || die "no taskset"
	for comm in /proc/[0-9]*/comm; do
		[ "$(cat "$comm")" = "freeblock/$1" ] || continue
		taskset -p 8 "$(basename "${comm%/comm}")" > /dev/null || die "no taskset"
	done
	chrt -f 50 taskset 8 sh -c ': > /tmp/hogging; while :; do :; done' &
	hog=$!
	wait_for 20 [ -e /tmp/hogging ] || die "no hog"
}

if [ "$LAB_CLOCK" = real ]; then
	other=$(drive_new other tiny.fbdrive) || exit 1
	sched_set "$other" freeblock
	model_load "$other" tiny.fbmodel
	scan="$(fb "$other")/scan"
	# without idle reads neither ends by itself
	echo 0 > "$(fb "$disk")/idle_mean_us"
	echo 0 > "$(fb "$other")/idle_mean_us"
	echo start > "$(fb "$disk")/scan" || die "no scan"
	echo start > "$scan" || die "no scan"
fi
expect_within "back to none" 30 sched_set "$disk" none
if [ "$LAB_CLOCK" = real ]; then
	# when the module goes, disks end in the order in which they lost their scheduler
	sched_set "$other" none
	starve "$disk"
	unload_module freeblock &
	unload=$!
	sleep 2
	expect_ok "the scan's end waits" [ -d /proc/$unload ]
	# debugfs opens no file of a module that is going
	expect_within "the other disk's scan can be read" 5 cat "$scan" \
		"/sys/kernel/freeblock/$other/scan" "/sys/kernel/freeblock/$other/state/idle"
	kill -9 $hog
	wait $unload
	expect_eq "freeblock unloads" $? 0
	drive_off other
	drive_off toy
else
	echo stop > "$(fb "$disk")/scan" 2>/dev/null
	wait_for 30 sh -c "! grep -Eqx 'running|stopping' $(fb "$disk")/scan"
	expect_ok "it starts while the disk has another scheduler" \
		sh -c "echo start > $(fb "$disk")/scan"
	expect_eq "and waits" "$(job "$disk" scan)" running
	drive_off toy
	for job in scan scrub; do
		[ $job = scrub ] || scan_stop "$disk"
		dmesg -c > /dev/null
		expect_fail "without the disk no $job starts" \
			sh -c "echo start > $(fb "$disk")/$job"
		expect_match "$job: why" "$(dmesg)" "$job: the disk is gone"
	done
	expect_within "freeblock unloads" 30 unload_module freeblock
fi
expect_within "mechdisk unloads" 30 unload_module mechdisk
done_testing
