# SPDX-License-Identifier: GPL-2.0
# What must hold on every kernel, in short, for the newer ones: bad sectors among free reads; the
# scheduler switched, the queue frozen, the drive reset, commands that fail or hang, the disk
# deleted and back, each beside a foreground and a scan; unloading. t-medium.sh and t-life.sh are
# thorough about all that, on the stock kernel, and on each by `make kernels`.
#
# Expected: no error of a free read reaches the foreground, whose data are right; the scan calls bad
# the blocks that are, goes on after each, and ends.
#
# Seen to fail: no RQF_MIXED_MERGE in fb_free_read_prepend(), on the stock kernel (the foreground
# ends at the error of a free part). Not noticed: every error of a free read called the medium's.
#
# lab: kernel=7.x clock=icount smp=1 timeout=300

. /lab/lib.sh

M=/sys/kernel/mechdisk
load_module mechdisk
load_module freeblock
disk=$(drive_new d tiny.fbdrive "timeout_ms 1000") || exit 1

# the subject is survival, not cost: no guard
freeblock_on()
{
	sched_set "$disk" freeblock && iosched "$disk" target_slowdown_ppm 1000000
}

# load [FIO'S WORDS]: reads of the first seven blocks of each 64 KiB, and what the words say
load()
{
	fio --output-format=terse --terse-version=3 --eta=never --output=/tmp/load \
		--filename=/dev/"$disk" --direct=1 --ioengine=libaio --time_based --runtime=900 \
		--allow_file_create=0 \
		--name=reads --rw=randread --offset=8000k --size=3840k --bsrange=4k-28k \
		--blockalign=64k --norandommap --iodepth=8 "$@" &
	fio=$!
	wait_for 30 grep -q '[1-9]' /sys/block/"$disk"/inflight || die "no load"
}

# with writes that fio reads back and verifies
load_verified()
{
	load --name=verify --rw=randwrite --bsrange=4k-16k --offset=4m --size=3m --iodepth=6 \
		--verify=crc32c --verify_backlog=12 --verify_fatal=1
}

# no_errors NAME JOBS: the foreground ends, and none of its jobs has met an error. In no subshell:
# only its own shell can wait for fio, whose line of results would be read half written
no_errors()
{
	kill -INT $fio
	wait $fio
	expect_eq "$1: no error reaches the foreground" \
		"$(awk -F';' '/^3;/ { n++; s += $5 } END { print n + 0, s + 0 }' /tmp/load)" "$2 0"
}

# more FIGURE N: the scan's is above N
more()
{
	[ "$(job "$disk" scan "$1")" -gt "$2" ]
}

injected()
{
	! grep -q ' [1-9]' $M/d/inject
}

# aborted N: the drive was told to abort more than N commands
aborted()
{
	[ "$(drive_stat d aborts)" -gt "$1" ]
}

# One command hangs and is aborted, and the scan goes on. What meets the next one is any then: after
# a fixed time it may be the first after an abort again and again, and that is never a free read
hang_one()
{
	local aborts

	aborts=$(drive_stat d aborts)
	echo hang_next 1 > $M/d/inject
	wait_for 60 aborted "$aborts"
	wait_for 60 more blocks_delivered "$(job "$disk" scan blocks_delivered)"
}

# after NAME: the scan has read something more, and calls no block bad
after()
{
	expect_ok "$1: the scan goes on" wait_for 60 more blocks_delivered \
		"$(job "$disk" scan blocks_delivered)"
	expect_eq "$1: bad blocks" "$(job "$disk" scan blocks_bad)" 0
}

# ---- bad sectors just before where the foreground reads: where reads are prepended ----

freeblock_on || die "no freeblock"
model_load "$disk" tiny.fbmodel
echo 0 > "$(fb "$disk")/bad_quarantine_kib"
at=0
while [ $at -lt 60 ]; do
	echo "add $((16000 + at * 128 + 122 + at % 3)) 1 recovery_ms=20 asc=11" > $M/d/medium_errors
	at=$((at + 1))
done
load
echo "start 16000 8000" > "$(fb "$disk")/scan" || die "no scan"
expect_ok "bad sectors: some are met" wait_for 60 more blocks_bad 20
expect_ok "bad sectors: the scan stops" scan_stop "$disk"
expect_ge "bad sectors: free reads that failed" "$(stats "$disk" free_errors)" 20
# 19 to 22 in six draws: nearly all that failed were
expect_ge "bad sectors: prepended reads" "$(stats "$disk" prepends)" 10
no_errors "bad sectors" 1
wrong=""
for lbn in $(job "$disk" scan bad); do
	[ $(((lbn - 16000) % 128)) = 120 ] || wrong="$wrong $lbn"
done
expect_eq "bad sectors: no good block is called bad" "$wrong" ""
echo clear > $M/d/medium_errors

# ---- mishaps ----

load_verified
echo start > "$(fb "$disk")/scan" || die "no scan"
for other in none mq-deadline bfq; do
	expect_ok "switch to $other" sched_set "$disk" $other
	expect_ok "and back" freeblock_on
done
after switches
for n in 4 64 33; do
	expect_ok "nr_requests $n" sh -c "echo $n > /sys/block/$disk/queue/nr_requests"
done
after freezes
expect_ok "reset of the unit" sg_reset -d -N /dev/"$disk"
expect_ok "reset of the host" sg_reset -H -N /dev/"$disk"
after resets
echo hw_error_next 12 > $M/d/inject
expect_ok "hardware errors: met" wait_for 60 injected
after "hardware errors"
failed=$(stats "$disk" free_errors)
tries=0
while [ "$(stats "$disk" free_errors)" = "$failed" ] && [ $tries -lt 60 ]; do
	hang_one
	tries=$((tries + 1))
done
expect_ge "a free read hung" "$(stats "$disk" free_errors)" $((failed + 1))
after "hung commands"
expect_fail "unloading is refused while in use" unload_module freeblock
no_errors "mishaps" 2

# ---- the disk goes and comes back; the end ----

load_verified
after "before deletion"
echo 1 > /sys/block/"$disk"/device/delete
expect_ok "deletion: the foreground ends" wait_for 60 \
	sh -c "! grep -q '^State:.[^Z]' /proc/$fio/status"
wait $fio
expect_eq "deletion: the scan waits" "$(job "$disk" scan)" running
expect_within "power off" 30 drive_off d
echo 1 > $M/d/power
expect_ok "the drive is back" wait_for 30 grep -q 'on sd' $M/d/status
disk=$(sed -n 's/.*on \(sd[a-z]*\).*/\1/p' $M/d/status)
expect_ok "its block device" wait_for 30 [ -b /dev/"$disk" ]
expect_ok "back: freeblock" freeblock_on
load_verified
after back
no_errors "back" 2
expect_ok "the scan stops" scan_stop "$disk"
sched_set "$disk" none
expect_within "unload freeblock" 30 unload_module freeblock
drive_off d
expect_within "unload mechdisk" 30 unload_module mechdisk
done_testing
