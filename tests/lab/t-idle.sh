# SPDX-License-Identifier: GPL-2.0
# Reads while the disk is idle (Practical Scrubbing, V): a scan of an idle disk goes to its
# end, every block once; beside a foreground that thinks between its requests the disk's
# pauses are used and both goals kept; a goal of 0 switches it off.
#
# lab: kernel=stock clock=icount smp=1 timeout=300

. /lab/lib.sh

idle()
{
	kv "$(fb "$disk")/idle_status" "$1"
}

# think NAME SECONDS: 4 KiB reads all over, eight a second; sets $mean, microseconds
think()
{
	fio_run "$1" --filename="/dev/$disk" --direct=1 --ioengine=libaio --iodepth=8 \
		--rw=randread --bs=4k --rate_iops=8 --rate_process=poisson --time_based \
		--runtime="$2" --randseed=3 --allrandrepeat=1
	expect_eq "$1: no errors" "$(fio_errors "$1")" 0
	mean=$(fio_field "$1" 16 | cut -d. -f1)
	note "$1: mean $mean us, longest $(fio_field "$1" 15) us"
}

load_module mechdisk
load_module freeblock

disk=$(drive_new toy tiny.fbdrive "journal_records 262144") || exit 1
sched_set "$disk" freeblock
model_load "$disk" tiny.fbmodel
expect_ok "scan of an idle disk" scan_start "$disk" toy
expect_ok "it ends" wait_for 60 sh -c "grep -q finished $(fb "$disk")/scan"
note "$(tr '\n' ' ' < "$(fb "$disk")/idle_status")"
expect_eq "nobody was made to wait" "$(idle collisions)" 0
expect_ge "all of it by idle reads" "$(idle sectors)" 45000
keep_scan "$disk" toy
drive_off toy

disk=$(drive_new a atlas10k.fbdrive "") || exit 1
sched_set "$disk" freeblock
model_load "$disk" atlas10k.fbmodel
think alone 20
echo 500 > "$(fb "$disk")/idle_mean_us"
before=$mean
echo start > "$(fb "$disk")/scan"
think beside 40
note "$(tr '\n' ' ' < "$(fb "$disk")/idle_status")"
# the means of 500 requests are good to some 200 us: 0 to 514 from run to run
expect_le "mean slowdown, us" $((mean - before)) 800
expect_le "mean slowdown as measured" "$(idle mean_us)" 500
expect_ge "idle reads" "$(idle reads)" 100
echo 0 > "$(fb "$disk")/idle_mean_us"
reads=$(idle reads)
think off 5
expect_le "off: no more idle reads" $(($(idle reads) - reads)) 1
echo stop > "$(fb "$disk")/scan"
drive_off a

expect_within "unload freeblock" 20 unload_module freeblock
done_testing
