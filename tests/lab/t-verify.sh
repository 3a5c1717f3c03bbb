# SPDX-License-Identifier: GPL-2.0
# How what the medium holds is read: VERIFY if nobody wants data, READ with FUA if
# somebody does, or if the drive is a SATA one or was caught answering VERIFY from its
# cache, or has no such command.
#
# Expected: the drive's own counters of commands; no more than one command more than was
# asked for on any path; a foreground without errors; nothing in flight afterwards, for
# the block layer counts a VERIFY as the read that it was when it came. One that hangs fails no
# request that waits for it.
#
# lab: kernel=stock clock=icount smp=1 timeout=200
# lab: set=soak kernel=debug clock=icount smp=1 timeout=3000

. /lab/lib.sh

M=/sys/kernel/mechdisk
C=/sys/kernel/debug/fbconsumer
load_module mechdisk
load_module freeblock
load_module fbconsumer

MEDIUM=1
NO_DATA=2
runtime=6
[ "$LAB_KERNEL" = debug ] && runtime=3

fresh()
{
	[ -d $M/d ] && echo d > $M/delete
	disk=$(drive_new d tiny.fbdrive "$1") || exit 1
	sched_set "$disk" freeblock || die "no freeblock"
	[ -s "$(fb "$disk")/model" ] || model_load "$disk" "${2:-tiny.fbmodel}"
	echo 1 > "/sys/kernel/debug/freeblock/$disk/reset"
	iosched "$disk" target_slowdown_ppm 1000000
}

io_ticks()
{
	awk '{ print $10 }' /sys/block/"$disk"/stat
}

# consume FLAGS RANGE SECONDS [FIO ARGUMENTS]: a task with these needs under a foreground
consume()
{
	local range="$2" seconds="$3"

	echo "$1" > /sys/module/fbconsumer/parameters/flags
	echo 1 > $M/d/stats_reset
	echo "start $disk${range:+ $range}" > $C/command || die "no task"
	shift 3
	fio_run load --filename=/dev/"$disk" --direct=1 --ioengine=libaio --iodepth=8 \
		--rw=randread --bs=4k --norandommap --time_based --runtime="$seconds" \
		--randseed=3 "$@"
	expect_eq "foreground without errors" "$(fio_errors load)" 0
	echo stop > $C/command
	wait_for 60 grep -q 'task over' $C/state || die "the task does not end"
	if [ -n "$requeued" ]; then
		expect_eq "no block is bad" "$(state "$disk" bad_blocks)" 0
		# A request that the drive turns back is sent again behind the scheduler's back: when is
		# not known, so its end proves nothing. Blocks prepended to it are read once more; if
		# by chance before another such request, they are reported as unverified.
		expect_le "blocks without a verdict twice" "$(kv $C/state failed)" 16
	else
		expect_eq "no block failed" "$(kv $C/state failed)" 0
	fi
	echo destroy > $C/command
	expect_ok "nothing stays in flight" wait_for 20 grep -q '^ *0 *0$' /sys/block/"$disk"/inflight
	busy_ms=$(io_ticks)
	sleep 1
	dd if=/dev/"$disk" of=/dev/null bs=4k count=1 iflag=direct 2>/dev/null
	expect_le "nor in the accounts: busy during an idle second, ms" \
		$(($(io_ticks) - busy_ms)) 500
}

# ---- VERIFY ----

fresh
consume $((MEDIUM | NO_DATA)) "" $runtime
expect_ge "verify: VERIFYs" "$(drive_stat d verifies)" 50
expect_eq "verify: each sent as such" "$(drive_stat d verifies)" "$(stats "$disk" verifies)"
expect_eq "verify: as many as separate and idle reads" "$(stats "$disk" verifies)" \
	$(($(stats "$disk" separates) + $(stats "$disk" idle_reads)))
expect_eq "verify: no FUA" "$(drive_stat d fua_reads)" 0
expect_ge "verify: predicted within 50 us, of a hundred" \
	"$(($(stats "$disk" end_within_50us) * 100 / $(stats "$disk" pred_total)))" 90
expect_eq "verify: in order" "$(stats "$disk" out_of_order)" 0
numbers "$disk" state stats > /out/verify

# ---- FUA: somebody wants the data ----

fresh
consume $MEDIUM "" $runtime
expect_ge "fua: reads" "$(drive_stat d fua_reads)" 50
expect_eq "fua: each sent as such" "$(drive_stat d fua_reads)" "$(stats "$disk" fuas)"
expect_eq "fua: no VERIFY" "$(drive_stat d verifies)" 0

# ---- VERIFY that is turned back once, and again, by device and host, and requeued ----

fresh
( sleep 1; echo "fail_next busy 20" > $M/d/inject; echo "fail_next host_busy 20" > $M/d/inject
  sleep 1; echo "hw_error_next 3" > $M/d/inject
  # one by one: what is requeued comes first, and would meet the next
  for i in $(seq 20); do sleep 0.05; echo "fail_next full 1" > $M/d/inject; done ) &
inject=$!
requeued=1
consume $((MEDIUM | NO_DATA)) "" $runtime
requeued=
wait $inject
expect_ge "turned back: VERIFYs" "$(drive_stat d verifies)" 20
expect_match "turned back: VERIFY stays" "$(state "$disk" medium)" "^verify;"

# ---- a drive that answers VERIFY from its cache, and one that does not ----

# What is to be verified is read again and again, and so stays in the cache.
verify_cached()
{
	fresh "cache 64 1024 0
verify $1"
	while [ -e /tmp/warm ]; do
		dd if=/dev/"$disk" of=/dev/null bs=512k count=4 iflag=direct 2>/dev/null
		sleep 0.1
	done &
	consume $((MEDIUM | NO_DATA)) "0 4096" $runtime --rw=randwrite --offset=8m
	rm /tmp/warm
	wait $!
	: > /tmp/warm
}

: > /tmp/warm
verify_cached medium
expect_match "honest: VERIFY stays" "$(state "$disk" medium)" "^verify;"
expect_ge "honest: VERIFYs" "$(drive_stat d verifies)" 10
verify_cached cache
expect_match "dishonest: caught" "$(state "$disk" medium)" "^fua "
expect_match "dishonest: caught, and why" "$(state "$disk" medium)" \
	'^fua .no verify: ends before the medium can be read'
expect_ge "dishonest: FUA instead" "$(drive_stat d fua_reads)" 5
numbers "$disk" state stats > /out/dishonest
cat $M/d/stats > /out/dishonest-drive

# ---- SATA drives are not asked ----

fresh "vendor ATA" tiny-ata.fbmodel
consume $((MEDIUM | NO_DATA)) "" $runtime
expect_match "SATA: told so" "$(state "$disk" medium)" '^fua .verify is not queued: SATA'
expect_eq "SATA: no VERIFY" "$(drive_stat d verifies)" 0
expect_ge "SATA: FUA" "$(drive_stat d fua_reads)" 20

# ---- neither is needed ----

fresh
consume 0 "" $runtime
expect_ge "plain: separate reads" "$(stats "$disk" separates)" 50
expect_eq "plain: no FUA" "$(drive_stat d fua_reads)" 0
expect_eq "plain: no VERIFY" "$(drive_stat d verifies)" 0

# ---- a VERIFY hangs, and a read is turned back: nothing is sent until the VERIFY is over ----

verifies()
{
	[ "$(drive_stat d verifies)" -gt "$1" ]
}

hung()
{
	[ "$(drive_stat d hung)" -ge 1 ]
}

fresh "timeout_ms 1000"
echo $((MEDIUM | NO_DATA)) > /sys/module/fbconsumer/parameters/flags
echo "start $disk" > $C/command || die "no task"
expect_ok "hang: an idle disk's blocks are verified" wait_for 20 verifies 10
echo hang_next 1 > $M/d/inject
expect_ok "hang: a VERIFY hangs" wait_for 20 hung
# if it has an error when six of its time-outs are over, the read is not tried again
echo fail_next busy 1 > $M/d/inject
echo hw_error_next 1 > $M/d/inject
expect_ok "hang: a read that waits for its end is tried again in time" \
	dd if=/dev/"$disk" of=/dev/null bs=4k count=1 skip=1000 iflag=direct
expect_eq "hang: the VERIFY is aborted" "$(drive_stat d aborts)" 1
expect_eq "hang: the read was turned back, and had an error" \
	"$(grep -c ' [1-9]' $M/d/inject)" 0
echo stop > $C/command
wait_for 60 grep -q 'task over' $C/state || die "the task does not end"
echo destroy > $C/command
done_testing
