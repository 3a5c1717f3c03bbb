# SPDX-License-Identifier: GPL-2.0
# What the block layer's trace events say of our own reads. The carrier is got and queued aimed at
# sector 0, and aimed only when it is sent. So who counts insertions counts one for each command
# that the driver gets, of the sectors that it gets, but for the foreground reads that had
# something prepended; and a carrier that is given back unused has none.
#
# The scheduler can be chosen when all else is there, and only then: the module registers it last,
# and takes it back first.
#
# Expected: from the tracepoints' meaning, against the scheduler's own counters.
#
# Seen to fail with: the scheduler registered before /dev/freeblock, and taken back after it.
#
# lab: kernel=stock clock=icount smp=1 timeout=200

. /lab/lib.sh

T=/sys/kernel/debug/tracing

# begin: trace from here on
begin()
{
	echo > $T/trace
	echo 1 > $T/tracing_on
}

# end: the events of the disk, a line each: event, sector, sectors, error; without what the drive is
# asked apart from reads and writes, which has no sectors: it is issued at 0 and ends at -1
end()
{
	local dev

	echo 0 > $T/tracing_on
	dev=$(tr : , < /sys/block/"$disk"/dev)
	sed -n "s/.*: \(block_[a-z_]*\): $dev [A-Z]*.* \([0-9]*\) + \([0-9]*\) \[\(.*\)\]$/\1 \2 \3 \4/p" \
		$T/trace |
		grep -v -e ' 18446744073709551615 ' -e '^block_rq_issue 0 0 ' > /out/events
}

# events NAME [SECTORS]: how many, of that length
events()
{
	awk -v name="$1" -v n="${2-any}" '$1 == name && (n == "any" || n == $3) { s++ }
		END { print s + 0 }' /out/events
}

# events in $1 without one of the same sectors in $2, and what is left of these
without()
{
	awk -v a="$1" -v b="$2" '$1 == a { n[$2 " " $3]++ } $1 == b { n[$2 " " $3]-- }
		END { for (i in n) if (n[i] > 0) over += n[i]; else under -= n[i]
			print over + 0, under + 0 }' /out/events
}

# without_trace NAME: what was got and not inserted is what was given back, refused; sets $back
without_trace()
{
	back=$(events block_rq_complete 0)
	expect_eq "$1: given back without an insertion" \
		$(($(events block_getrq) - $(events block_rq_insert))) "$back"
	expect_eq "$1: refused, without sectors" \
		"$(awk '$1 == "block_rq_complete" && $3 == 0 && $4 != -11' /out/events)" ""
}

# in_order: the calls that register and unregister, in a line; nothing without kprobes
in_order()
{
	sed -n 's/.*: \([a-z_]*\): (.*/\1/p' $T/trace | tr '\n' ' '
}

load_module mechdisk
calls="misc_register elv_register elv_unregister misc_deregister"
for call in $calls; do
	[ -e $T/kprobe_events ] && echo "p:fb/$call $call" >> $T/kprobe_events &&
		echo 1 > $T/events/fb/$call/enable
done
begin
load_module freeblock
if [ -d $T/events/fb ]; then
	unload_module freeblock
	expect_eq "the scheduler comes last and goes first" "$(in_order)" "$calls "
	echo 0 > $T/events/fb/enable
	echo > $T/kprobe_events
	load_module freeblock
else
	note "no kprobes: the order of registration is not seen"
fi
disk=$(drive_new d atlas10k.fbdrive "") || exit 1
sched_set "$disk" freeblock
model_load "$disk" atlas10k.fbmodel
echo 2 > /sys/block/"$disk"/queue/nomerges
for event in getrq rq_insert rq_issue rq_complete rq_requeue; do
	echo 1 > $T/events/block/block_$event/enable
done
echo 32768 > $T/buffer_size_kb

# ---- gaps: prepended and separate reads ----

echo 0 > "$(fb "$disk")/idle_mean_us"
echo start > "$(fb "$disk")/scan"
begin
foreground=0
for load in 1 2 3 4 5; do
	fio_run load$load --filename=/dev/"$disk" --direct=1 --ioengine=libaio --iodepth=10 \
		--rw=randread --bs=8k --offset=64m --size=4g --time_based --runtime=2 \
		--randseed=$load
	foreground=$((foreground + $(fio_ios load$load)))
	# a carrier that is held is given back when the foreground has been gone for 20 ms
	sleep 0.5
done
end
note "$(cut -d' ' -f1 /out/events | sort | uniq -c | tr '\n' ' ')"
separates=$(stats "$disk" separates)
prepends=$(stats "$disk" prepends)
note "foreground $foreground, separate $separates, prepended $prepends"
expect_ge "separate reads" "$separates" 100
expect_ge "prepended reads" "$prepends" 100
expect_eq "no requeue" "$(events block_rq_requeue)" 0
expect_eq "all of them are traced" "$(events block_rq_issue)" $((foreground + separates))
expect_eq "as many insertions as commands" "$(events block_rq_insert)" "$(events block_rq_issue)"
expect_eq "of the same sectors, but where something was prepended" \
	"$(without block_rq_insert block_rq_issue)" "$prepends $prepends"
expect_eq "all of them end" "$(($(events block_rq_complete) - $(events block_rq_complete 0)))" \
	"$(events block_rq_issue)"
without_trace "gaps"

# ---- idle time ----

begin
before=$(stats "$disk" idle_reads)
echo 10000000 > "$(fb "$disk")/idle_mean_us"
sleep 2
scan_stop "$disk"
end
reads=$(($(stats "$disk" idle_reads) - before))
expect_ge "idle reads" "$reads" 50
expect_eq "an insertion for each" "$(events block_rq_insert)" "$reads"
expect_eq "of the sectors that it reads" "$(without block_rq_insert block_rq_issue)" "0 0"

without_trace "idle"
# one is always held for the next idle read
expect_ge "idle: carriers given back" "$back" 1
drive_off d
expect_within "unload freeblock" 20 unload_module freeblock
done_testing
