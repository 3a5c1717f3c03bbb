# SPDX-License-Identifier: GPL-2.0
# Pending requests that become neighbours are merged: all blocks of a megabyte are written, and then
# read, in random order, all at once. Most bios meet a request that ends or begins where they do; many
# fill the gap between two requests, of which one then goes into the other (block_rq_merge). Under each
# policy, as the idle class and beside a scan.
#
# Expected: requests were merged; fio reads what it wrote; all came to its end, so that another
# scheduler takes the disk. The trial (Documentation/cost.rst) counts the requests in the system, at each
# moment those that are pending or at the drive; none is left when the scheduler goes, or the kernel warns.
#
# Seen to fail with: fb_pool_requests_merged() that leaves the request in the pool (list
# corruption in the kernel's log); fb_pool_bio_merge() that merges nothing (all of them become
# requests, and these are merged when they are inserted); fb_iosched_finish_request() that counts no end
# (more and more are counted).
#
# lab: kernel=stock clock=icount smp=1 timeout=300

. /lab/lib.sh

T=/sys/kernel/tracing
# a bio goes into a request behind it or before it, and a request into another one
EVENTS="bio_backmerge bio_frontmerge rq_merge"

# what is counted, and what there is, again and again
count()
{
	while [ -e /tmp/counting ]; do
		awk '$1 == "pending" || $1 == "in_flight" { n += $2 } $1 == "counted" { print $2, n }' \
			/sys/kernel/debug/freeblock/"$disk"/status
	done > /tmp/counted
}

# all_at_once NAME ARGUMENTS: writes, and reads that check
all_at_once()
{
	local name="$1" event merged

	shift
	echo > $T/trace
	for event in $EVENTS; do echo 1 > $T/events/block/block_$event/enable; done
	fio_run "$name" --filename=/dev/"$disk" --ioengine=libaio --direct=1 --rw=randwrite --bs=4k \
		--offset=4m --size=1m --iodepth=256 --verify=crc32c --verify_async=0 "$@"
	for event in $EVENTS; do echo 0 > $T/events/block/block_$event/enable; done
	expect_eq "$name: fio reads what it wrote" "$(fio_errors "$name")" 0
	for event in $EVENTS; do
		merged=$(grep -c "block_$event:" $T/trace)
		expect_ge "$name: block_$event" "$merged" 10
	done
}

mount -t tracefs nodev $T 2>/dev/null
load_module mechdisk
load_module freeblock
disk=$(drive_new d tiny.fbdrive "") || exit 1
sched_set "$disk" freeblock
echo 256 > /sys/block/"$disk"/queue/nr_requests
: > /tmp/counting
count &
counter=$!
all_at_once no-model
rm /tmp/counting
wait $counter
expect_eq "the trial counts right" "$(awk '$1 != $2' /tmp/counted | sort -u | head -n 3)" ""
expect_ge "the most at once" "$(sort -n /tmp/counted | awk 'END { print $1 }')" 64
model_load "$disk" tiny.fbmodel
iosched "$disk" target_slowdown_ppm 1000000
for policy in sptf joint auto; do
	iosched "$disk" policy $policy
	all_at_once $policy
	all_at_once "$policy-idle" --prioclass=3
	echo start > "$(fb "$disk")/scan"
	for seed in 1 2 3; do
		all_at_once "$policy-scan-$seed" --randseed=$seed
	done
	expect_within "$policy: the scan stops" 20 scan_stop "$disk"
	expect_eq "$policy: none of its blocks is bad" "$(job "$disk" scan blocks_bad)" 0
done
all_at_once mixed --bssplit=4k/50:8k/30:16k/20 --size=2m
expect_within "another scheduler takes it" 20 sched_set "$disk" none
drive_off d
expect_within "unload freeblock" 20 unload_module freeblock
expect_within "unload mechdisk" 20 unload_module mechdisk
done_testing
