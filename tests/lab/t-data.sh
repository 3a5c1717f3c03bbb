# SPDX-License-Identifier: GPL-2.0
# Every wanted block once, and the right one: a tiny drive, nearly all of whose
# tracks end within a block, is scanned to its end under a foreground of reads
# and writes, beside a consumer that notes checksum and time of each delivery. Then by
# the consumer alone: in a queue that cuts requests small; a part of a large
# drive, whose blocks are larger than a write and a page; and at last, slowly, under
# writes that fight with it for the same two megabytes, once more with all of it promoted and
# so many commands at the drive that it chooses among a read and a write of the same sectors.
# The host judges all blocks.
#
# Expected: the scan finishes; blocks_delivered = blocks_total, none bad; the consumer
# gets each block once, never older than a write that ended before the delivery.
#
# Seen to fail with: no fb_reader_leftover() (never finished: four blocks hold a
# remapped sector); in fb_free_read_overlap() no buffer ever dirty (stale deliveries in
# the last parts); reads of ours that are checked against writes at the drive in gaps only (the last
# part).
#
# lab: kernel=stock clock=icount smp=1 timeout=500

. /lab/lib.sh

load_module mechdisk
load_module freeblock

# foreground NAME ARGUMENTS: fio in the background, until foreground_end
foreground()
{
	local name="$1"

	shift
	fio --output-format=json,terse --terse-version=3 --eta=never --output="/tmp/$name.fio" \
		--name="$name" --filename=/dev/"$disk" --direct=1 --ioengine=libaio \
		--time_based --runtime=600 --norandommap --allrandrepeat=1 "$@" &
	fio=$!
	fio_name=$name
}

foreground_end()
{
	kill -INT $fio
	wait $fio
	sed -n '/^{/,/^}/p' "/tmp/$fio_name.fio" > "/out/$fio_name.json"
	grep '^3;' "/tmp/$fio_name.fio" > "/tmp/$fio_name.terse"
	expect_eq "$fio_name: foreground without errors" "$(fio_errors $fio_name)" 0
	note "$fio_name: $(fio_ios $fio_name) requests"
}

# a fresh drive "d" under freeblock; sets $disk
fresh()
{
	[ -d /sys/kernel/mechdisk/d ] && echo d > /sys/kernel/mechdisk/delete
	disk=$(drive_new d tiny.fbdrive "journal_records 1000000
$1") || exit 1
	sched_set "$disk" freeblock || die "no freeblock"
	[ -s "$(fb "$disk")/model" ] || model_load "$disk" tiny.fbmodel
	echo 1 > "/sys/kernel/debug/freeblock/$disk/reset"
	# the subject here is data, not cost
	iosched "$disk" target_slowdown_ppm 1000000
}

# wait_for that costs the guest's one CPU less
wait_long()
{
	local left="$1"

	shift
	while ! "$@" >/dev/null 2>&1; do
		[ "$left" -gt 0 ] || return 1
		sleep 1
		left=$((left - 1))
	done
}

scan_finished()
{
	[ "$(job "$disk" scan)" = finished ]
}

check_scan()
{
	expect_eq "$1: state" "$(job "$disk" scan)" finished
	expect_eq "$1: all delivered" "$(job "$disk" scan blocks_delivered)" \
		"$(job "$disk" scan blocks_total)"
	expect_eq "$1: none bad" "$(job "$disk" scan blocks_bad)" 0
	expect_eq "$1: none skipped" "$(job "$disk" scan blocks_skipped)" 0
	expect_eq "$1: none flying" "$(job "$disk" scan blocks_flying)" 0
	expect_eq "$1: two at the device" "$(stats "$disk" max_in_flight)" 2
	expect_ge "$1: prepended reads" "$(stats "$disk" prepends)" 50
	expect_ge "$1: separate reads" "$(stats "$disk" separates)" 100
	numbers "$disk" state stats > "/out/status-$1"
}

fresh
verify_folder=/out/verify-whole
expect_eq "whole: blocks" "$(($(cat /sys/block/"$disk"/size) / 8 + 1))" 6267
consumer_start "$disk" d
echo start > "$(fb "$disk")/scan"
foreground whole --rw=randrw --rwmixread=67 --bssplit=4k/50:8k/25:16k/25 --iodepth=10 --randseed=3
expect_ok "whole: finished" wait_long 300 scan_finished
expect_ok "whole: so is the consumer" wait_long 60 consumer_over
foreground_end
check_scan whole
expect_eq "whole: the consumer has got each" "$(consumer deliveries)" 6267
consumer_keep "$disk" d

# Each segment ends with its page, 32 KiB is the longest request, and the
# foreground reads files' worth at once and through the page cache.
fresh "seg_boundary 4096
max_sectors 64"
verify_folder=/out/verify-limits
consumer_start "$disk" d
foreground limits --rw=randrw --rwmixread=80 --bsrange=4k-64k --iodepth=8 --randseed=4
dd if=/dev/"$disk" of=/dev/null bs=64k count=100 2>/dev/null
sleep 8
foreground_end
expect_ok "limits: stopped" consumer_stop
expect_le "limits: two at the device" "$(stats "$disk" max_in_flight)" 2
expect_ge "limits: prepended reads" "$(stats "$disk" prepends)" 10
expect_ge "limits: separate reads" "$(stats "$disk" separates)" 10
consumer_keep "$disk" d

# Blocks of 128 KiB, which the foreground writes to piece by piece.
disk=$(drive_new n nearline16.fbdrive "journal_records 1000000") || exit 1
sched_set "$disk" freeblock || die "no freeblock"
model_load "$disk" nearline16.fbmodel
verify_folder=/out/verify-large
consumer_start "$disk" n 0 65536
foreground large --rw=randrw --rwmixread=50 --bssplit=4k/60:32k/40 --iodepth=10 --randseed=6 \
	--size=128m
expect_ok "large: finished" wait_long 60 consumer_over
foreground_end
expect_eq "large: blocks" "$(consumer deliveries) $(consumer why)" "256 finished"
consumer_keep "$disk" n
drive_off n

# Two megabytes wanted by the consumer, and written to without a pause.
fresh
verify_folder=/out/verify-race
# so slow that reads wait for their delivery while writes come
echo 50000 > /sys/module/fbconsumer/parameters/slow_us
consumer_start "$disk" d 8000 4000 16000 96 || die "no task"
foreground race --rw=randrw --rwmixread=30 --bssplit=4k/60:32k/40 --iodepth=10 --randseed=5 \
	--offset=4m --size=2m
expect_ok "race: finished" wait_long 120 consumer_over
foreground_end
expect_eq "race: why" "$(consumer why)" finished
expect_eq "race: each block once" "$(consumer deliveries)" 512
expect_ge "race: reads discarded" "$(stats "$disk" discarded)" 5
numbers "$disk" state stats > /out/status-race
consumer_keep "$disk" d

# The same, promoted block by block, and up to four commands at the drive, in its own order.
fresh
verify_folder=/out/verify-promoted
iosched "$disk" depth 4
# shellcheck disable=SC2046
consumer_start "$disk" d $(seq 8192 16 12272 | sed 's/$/ 8/') || die "no task"
foreground promoted --rw=randwrite --bssplit=4k/40:64k/60 --iodepth=10 --randseed=7 \
	--offset=4m --size=2m
sleep 1
echo "promote 8192 4096" > /sys/kernel/debug/fbconsumer/command
expect_ok "promoted: finished" wait_long 120 consumer_over
foreground_end
expect_eq "promoted: why" "$(consumer why)" finished
expect_eq "promoted: each block once" "$(consumer deliveries)" 256
expect_ge "promoted: reads discarded" "$(stats "$disk" discarded)" 5
numbers "$disk" state stats > /out/status-promoted
consumer_keep "$disk" d
expect_fail "fbconsumer holds freeblock" unload_module freeblock
unload_module fbconsumer

expect_within "back to none" 30 sched_set "$disk" none
expect_within "freeblock unloads" 30 unload_module freeblock
drive_off d
expect_within "mechdisk unloads" 30 unload_module mechdisk
done_testing
