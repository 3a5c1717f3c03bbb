# SPDX-License-Identifier: GPL-2.0
# Disks that freeblock does not serve: solid state. And those of which it uses no map, but idle time:
# no SCSI disk, more than one actuator, host-managed zones.
#
# Expected: state/scheduling or state/knowledge says why, every request is served, in about the order
# in which mq-deadline has them served (README.md). Of zones whole blocks below the write pointers are
# read, and no read crosses the end of a zone: scsi_debug fails those that go on in a zone of another
# type. Linux before 6.10 gives zoned disks to mq-deadline only.
#
# Seen to fail with: fb_disk_unfit() without its test of solid state; fb_zone_cut() that cuts nothing
# (6.12: reads fail); fb_zone_look() that sets no bit (6.12: 16384 blocks); fb_disk_mapless() without
# its test of actuators ("no model"); fb_pool_above() that finds nothing (266 descents).
#
# lab-kernel-modules: null_blk scsi_debug
# lab: kernel=stock clock=icount smp=1 timeout=300
# lab: kernel=6.12 clock=icount smp=1 timeout=300
# lab: kernel=7.x clock=icount smp=1 timeout=300

. /lab/lib.sh

T=/sys/kernel/tracing

# issued DISK SCHEDULER: how often a request went that lies below the one before, of 512
issued()
{
	sched_set "$1" "$2" || die "no $2"
	# twice the device's depth is the default
	[ "$2" = none ] || echo 64 > /sys/block/"$1"/queue/nr_requests
	echo > $T/trace
	echo 1 > $T/events/block/block_rq_issue/enable
	fio_run "$2" --filename=/dev/"$1" --ioengine=libaio --direct=1 --rw=randread --bs=4k \
		--iodepth=32 --iodepth_batch=16 --number_ios=512 --randseed=7 --allow_file_create=0
	echo 0 > $T/events/block/block_rq_issue/enable
	awk '/block_rq_issue:/ { for (i = 1; i < NF; i++) if ($i == "+") {
		n++; down += $(i - 1) < last; last = $(i - 1) } }
		END { print n == 512 ? down : "only " n " requests" }' $T/trace
}

# has_read DISK BLOCKS
has_read()
{
	[ "$(job "$1" scan blocks_delivered)" -ge "$2" ]
}

# left_alone DISK WHY: its requests are served, and nothing is read of it
left_alone()
{
	expect_ok "$2: it has the scheduler" sched_set "$1" freeblock
	expect_eq "$2: it says why" "$(state "$1" scheduling)" "$2"
	writes "$@"
}

# mapless DISK WHY: idle time is used
mapless()
{
	expect_ok "$2: it has the scheduler" sched_set "$1" freeblock
	expect_eq "$2: it is served" "$(state "$1" scheduling)" yes
	expect_eq "$2: it says why not by a map" "$(state "$1" knowledge)" "none: $2"
	echo 1000 > "$(fb "$1")/idle_wait_us"
	echo start > "$(fb "$1")/scan"
	expect_ok "$2: a scan goes on" wait_for 60 has_read "$1" 5000
	scan_stop "$1"
	writes "$@"
}

writes()
{
	fio_run verify --filename=/dev/"$1" --ioengine=libaio --direct=1 --rw=randwrite --bs=4k \
		--iodepth=8 --size=4m --verify=crc32c --allow_file_create=0
	expect_eq "$2: fio reads what it wrote" "$(fio_errors verify)" 0
	expect_ok "$2: another scheduler takes it" sched_set "$1" none
}

# append DISK SECTOR SECTORS: written in sequence, 64 KiB at most at a time
append()
{
	local each=$(($3 < 128 ? $3 : 128))

	expect_ok "zoned: $3 sectors at $2 are written" dd if=/dev/urandom of=/dev/"$1" bs=$((each * 512)) \
		seek=$(($2 * 512)) count=$(($3 / each)) oflag=direct,seek_bytes conv=notrunc
}

# zoned_job DISK JOB BLOCKS: it ends, and has read so many. Behind the last request of the foreground
# it reads first, and on: two blocks from there the first zone ends.
zoned_job()
{
	dd if=/dev/"$1" of=/dev/null bs=4k skip=4093 count=1 iflag=direct 2>/dev/null
	echo start > "$(fb "$1")/$2"
	expect_ok "zoned: a $2 ends" wait_for 100 grep -q finished "$(fb "$1")/$2"
	expect_eq "zoned: $2: blocks wanted, delivered, bad, left out" "$(for n in total delivered bad \
		skipped; do job "$1" "$2" blocks_$n; done | xargs)" "$3 $3 0 0"
}

# zoned DISK: what lies below the write pointers is read, and nobody orders
zoned()
{
	local disk="$1" zone=32768

	expect_ok "zoned: it has the scheduler" sched_set "$disk" freeblock
	expect_eq "zoned: it is served" "$(state "$disk" scheduling)" yes
	expect_eq "zoned: it says why not by a map" "$(state "$disk" knowledge)" "none: zoned"
	iosched "$disk" policy sstf
	expect_eq "zoned: a policy by name orders nothing" "$(state "$disk" order)" drive
	iosched "$disk" policy auto
	echo 1000 > "$(fb "$disk")/idle_wait_us"
	append "$disk" $zone 10240
	append "$disk" $((zone + 10240)) 4
	append "$disk" $((2 * zone)) $zone
	zoned_job "$disk" scan $(((zone + 10240 + zone) / 8))
	zoned_job "$disk" scrub $(((zone + 10240 + zone) / 8))
	append "$disk" $((zone + 10244)) 124
	append "$disk" $((3 * zone)) 2048
	zoned_job "$disk" scan $(((zone + 10368 + zone + 2048) / 8))
	expect_eq "zoned: bad blocks" "$(state "$disk" bad_blocks) $(stats "$disk" free_errors)" "0 0"
}

mount -t tracefs nodev $T 2>/dev/null
load_module null_blk nr_devices=1 irqmode=2 completion_nsec=1000000 hw_queue_depth=1 memory_backed=1 \
	size=64
load_module freeblock

left_alone nullb0 "solid state"
none=$(issued nullb0 none)
theirs=$(issued nullb0 mq-deadline)
ours=$(issued nullb0 freeblock)
note "requests below the one before, of 512: none $none, mq-deadline $theirs, freeblock $ours"
expect_le "in mq-deadline's order: at most a few more descents" "$ours" $((theirs * 3 / 2))
expect_ge "and no fewer" "$ours" $((theirs / 2))
expect_ge "which without a scheduler are many" "$none" 200
echo none > /sys/block/nullb0/queue/scheduler

echo 1 > /sys/block/nullb0/queue/rotational
mapless nullb0 "not a SCSI or SATA disk"
unload_module null_blk

# Zones of 16 MiB, the first of which takes writes anywhere: of the second 5 MiB and half a block are
# written, the third is full, and nothing is in the fourth
load_module scsi_debug zbc=managed zone_size_mb=16 zone_nr_conv=1 dev_size_mb=64 ndelay=1000000 \
	sector_size=512
expect_ok "a disk with zones" wait_for 30 sh -c 'grep -l scsi_debug /sys/block/sd*/device/model'
disk=$(grep -l scsi_debug /sys/block/sd*/device/model | head -n 1 | cut -d/ -f4)
wait_for 30 grep -q host-managed /sys/block/"$disk"/queue/zoned
echo 1 > /sys/block/"$disk"/queue/rotational
case $(uname -r) in
6.1.*)
	expect_fail "zoned: the kernel refuses" sched_set "$disk" freeblock
	;;
*)
	zoned "$disk"
	;;
esac
expect_ok "zoned: mq-deadline takes it" sched_set "$disk" mq-deadline
sched_set "$disk" none
unload_module scsi_debug

# Half of the blocks are another arm's
load_module mechdisk
disk=$(drive_new two tiny.fbdrive "actuators 2") || exit 1
expect_ok "two ranges of blocks" test -d /sys/block/"$disk"/queue/independent_access_ranges/1
mapless "$disk" multi-actuator
drive_off two
unload_module mechdisk

expect_within "unload freeblock" 20 unload_module freeblock
done_testing
