# SPDX-License-Identifier: GPL-2.0
# Bad sectors: in the free part of prepended reads, in separate reads, in the
# foreground's own requests; errors that Linux retries (ASC 15h) and that it
# does not (11h), with and without a place in the sense data, once only and
# always.
#
# Expected: an error in the free part never reaches the foreground, whose own
# errors are those it would meet under none; the scan ends, and calls bad
# exactly the blocks that hold a bad sector and were met.
#
# Seen to fail with: all failfast bits on prepended bios (errors "once, then
# good" reach the foreground); no RQF_MIXED_MERGE in fb_free_read_prepend() (errors of
# the free part reach it).
#
# lab: kernel=stock clock=icount smp=1 timeout=500
# lab: set=soak kernel=debug clock=icount smp=1 timeout=900

. /lab/lib.sh

M=/sys/kernel/mechdisk
load_module mechdisk
load_module freeblock

# fresh [LINES]: a drive under freeblock with a model; sets $disk
fresh()
{
	if [ -d $M/d ]; then
		expect_ok "scan stops or is over" scan_stop "$disk"
		[ -d /sys/module/fbconsumer ] && unload_module fbconsumer
		echo d > $M/delete
	fi
	disk=$(drive_new d tiny.fbdrive "$1") || exit 1
	sched_set "$disk" freeblock || die "no freeblock"
	[ -s "$(fb "$disk")/model" ] || model_load "$disk" tiny.fbmodel
	iosched "$disk" target_slowdown_ppm 1000000
	# the subject is reads in gaps: quarantine (t-bad.sh) and idle reads are not
	echo 0 > "$(fb "$disk")/bad_quarantine_kib"
	echo 0 > "$(fb "$disk")/idle_mean_us"
	echo 1 > "/sys/kernel/debug/freeblock/$disk/reset"
}

bad()
{
	echo "add $1" > $M/d/medium_errors || die "medium_errors refuses '$1'"
}

scan_over()
{
	[ "$(job "$disk" scan)" = finished ]
}

# failing: which blocks at and beside the bad ones cannot be read
failing()
{
	local at=0 block

	while [ $at -lt 12 ]; do
		for block in 7 8 9; do
			block=$((2000 + at * 16 + block))
			dd if=/dev/"$disk" of=/dev/null bs=4k skip=$block count=1 iflag=direct \
				2>/dev/null || echo -n "$block "
		done
		at=$((at + 1))
	done
}

# others: reads of good blocks, so that a queue builds up and gaps are used
others()
{
	fio --output=/tmp/others --eta=never --name=others --filename=/dev/"$disk" --direct=1 \
		--ioengine=libaio --iodepth=6 --rw=randread --offset=8000k --size=3840k \
		--bsrange=4k-28k --blockalign=64k --norandommap --time_based --runtime=900 \
		--allow_file_create=0 2>/dev/null &
	fio=$!
	wait_for 30 grep -q '[1-9]' /sys/block/"$disk"/inflight || die "no load"
}

others_end()
{
	kill -INT $fio
	wait $fio
	expect_match "$1: the others met no error" "$(cat /tmp/others)" 'err= 0'
}

# ---- the free part: the foreground reads what is good, the scan all between ----

# free_part NAME "ERROR OPTIONS": bad sectors in every eighth block of sectors
# 16000 to 24000; the foreground reads single blocks elsewhere in that range,
# over and over: whatever it reads is good.
free_part()
{
	local name="$1" at=0

	fresh "journal_records 1000"
	while [ $at -lt 60 ]; do
		bad "$((16000 + at * 128 + 67 + at % 3)) 1 recovery_ms=20 $2"
		at=$((at + 1))
	done
	verify_folder="/out/verify-$name"
	consumer_start "$disk" d 16000 8000 || die "no task"
	echo "start 16000 8000" > "$(fb "$disk")/scan" || die "no scan"
	# of each 64 KiB the foreground reads the first seven blocks at most, the ninth is bad
	fio_run "$name" --filename=/dev/"$disk" --direct=1 --ioengine=libaio --iodepth=8 \
		--rw=randread --offset=8000k --size=3840k --bsrange=4k-28k --blockalign=64k \
		--norandommap --time_based --runtime="$3" --randseed=2
	expect_eq "$name: no error reaches the foreground" "$(fio_errors "$name")" 0
	expect_ge "$name: free reads that failed" "$(stats "$disk" free_errors)" 1
	expect_ge "$name: prepended reads" "$(stats "$disk" prepends)" 20
	note "$name: $(stats "$disk" free_errors) free errors, $(job "$disk" scan blocks_bad) bad," \
		"$(job "$disk" scan blocks_skipped) skipped," \
		"$(job "$disk" scan blocks_delivered) delivered"
	consumer_stop
	consumer_keep "$disk" d
}

# all_bad_are_bad NAME: every block in the list holds a bad sector
all_bad_are_bad()
{
	local lbn wrong=""

	for lbn in $(job "$disk" scan bad); do
		[ $(((lbn - 16000) % 128)) = 64 ] || wrong="$wrong $lbn"
	done
	expect_eq "$1: no good block is called bad" "$wrong" ""
}

free_part gone "asc=11" 6
expect_ge "gone: bad blocks" "$(job "$disk" scan blocks_bad)" 5
all_bad_are_bad gone
if [ "$LAB_KERNEL" = stock ]; then
	free_part retried "asc=15" 11
	expect_ge "retried: bad blocks" "$(job "$disk" scan blocks_bad)" 1
	all_bad_are_bad retried
fi
free_part nowhere "asc=11 info=0" 8
all_bad_are_bad nowhere
free_part once "asc=15 times=1" 5
expect_eq "once: what is good at the second try is not bad" "$(job "$disk" scan blocks_bad)" 0

# ---- the foreground's own errors: as under none ----

# own NAME "ERROR OPTIONS"
own()
{
	local at=0 none

	fresh
	while [ $at -lt 12 ]; do
		bad "$((16000 + at * 128 + 67 + at % 3)) 1 recovery_ms=20 $2"
		at=$((at + 1))
	done
	sched_set "$disk" none
	none=$(failing)
	expect_eq "$1: errors under none" "$(echo "$none" | wc -w)" 12
	sched_set "$disk" freeblock
	iosched "$disk" target_slowdown_ppm 1000000
	echo "start 16000 8000" > "$(fb "$disk")/scan" || die "no scan"
	others
	expect_eq "$1: the same under freeblock with a scan" "$(failing)" "$none"
	others_end "$1"
	expect_ge "$1: prepended reads" "$(stats "$disk" prepends)" 10
	all_bad_are_bad "$1"
}

# Errors that pass at the first retry, each met by the foreground first: what is
# wanted leaves out their blocks, but not those before them.
fresh
load_module fbconsumer
ranges="0 16064"
at=0
while [ $at -lt 12 ]; do
	bad "$((16000 + at * 128 + 67)) 1 recovery_ms=20 asc=15 times=1"
	ranges="$ranges $((16072 + at * 128)) 120"
	at=$((at + 1))
done
others
echo "start $disk $ranges" > /sys/kernel/debug/fbconsumer/command || die "no task"
at=0
failed=""
while [ $at -lt 12 ]; do
	block=$((2000 + at * 16 + 8))
	dd if=/dev/"$disk" of=/dev/null bs=4k skip=$block count=1 iflag=direct 2>/dev/null ||
		failed="$failed $block"
	at=$((at + 1))
done
others_end own-once
expect_eq "own-once: the foreground meets no error" "$failed" ""
expect_eq "own-once: they are gone" "$(grep -v times=0 $M/d/medium_errors)" ""
unload_module fbconsumer

own own-retried "asc=15"
# a debug kernel takes four times as long: the rest is for the stock one
[ "$LAB_KERNEL" = debug ] && done_testing
own own "asc=11"
own own-nowhere "asc=11 info=0"

# ---- a scan with bad blocks comes to its end ----

fresh "journal_records 1000"
# apart: what lies just behind a bad block in the same read is not tried (scan_stats/blocks_skipped)
for lbn in 20163 20547 20548 21190; do
	bad "$lbn 1 recovery_ms=20 asc=11"
done
bad "22208 9 recovery_ms=20 asc=15 info=0"
verify_folder=/out/verify-end
consumer_start "$disk" d 20000 2400
echo "start 20000 2400" > "$(fb "$disk")/scan"
others
expect_ok "end: finished" wait_for 300 scan_over
others_end end
expect_eq "end: all delivered" "$(job "$disk" scan blocks_delivered)" \
	"$(job "$disk" scan blocks_total)"
expect_ok "end: another task, too" wait_for 60 consumer_over
expect_eq "end: each block once" "$(consumer deliveries)" 300
expect_eq "end: bad blocks" "$(job "$disk" scan bad | tr ' ' '\n' | sort | tr '\n' ' ')" \
	"20160 20544 21184 22208 22216 "
numbers "$disk" scan_stats > /out/scan-end
consumer_keep "$disk" d
done_testing
