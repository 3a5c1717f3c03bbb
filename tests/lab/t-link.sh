# SPDX-License-Identifier: GPL-2.0
# Link power management of a SATA disk: where the host's policy lets the link sleep, a command that
# finds the drive idle reaches it later, by the time in which the link wakes. The same sparse foreground
# alone and beside a scan, each with a link that stays awake and one that sleeps.
#
# Expected: the wake-up belongs to the first read of an idle interval: the policy of idle reads counts
# what that takes (idle_used_us; what it makes of it is in test_idle_policy.c), and all commands that
# find the link awake end when the model says, as without a link that sleeps; so do the foreground's,
# which are late by the wake only where the drive was idle. The scan keeps its rate, the phase stays
# locked, no free reads are switched off and no task is paused.
#
# A wake moves the end of a command by whole turns, if at all: where it is 1 ms of a turn of 6 ms, one
# in six ends a turn later, and the mean of all is 1 ms. The scan's first reads are those that the
# platter would have brought soonest, so a wake costs most of them the turn.
#
# Seen to fail: a link that wakes for twenty times as long; one that has to wake for each command.
#
# lab-programs: load
# lab-kernel-modules: libata
# lab: kernel=stock clock=icount smp=1 timeout=300

. /lab/lib.sh
. /lab/files/power.sh

M=/sys/kernel/mechdisk
T=/sys/kernel/debug/tracing
WAKE=1000

# fresh POLICY SEED: a drive "d" whose host has that policy of link power
fresh()
{
	if [ -d $M/d ]; then
		sched_set "$disk" none
		# it knows a disk's phase and times for ever
		unload_module freeblock
		load_module freeblock
		echo d > $M/delete
	fi
	disk=$(drive_new d atlas10k.fbdrive "$port_text
link_wake_us $WAKE
seed $2") || exit 1
	host=$(readlink -f /sys/block/"$disk"/device | grep -o 'host[0-9]*' | head -n 1)
	lpm=/sys/class/scsi_host/$host/link_power_management_policy
	echo "$1" > "$lpm" || die "no policy $1"
	expect_eq "$1: the policy" "$(cat "$lpm")" "$1"
	sched_set "$disk" freeblock || die "no freeblock"
	model_load "$disk" "$(port_model atlas10k.fbmodel)"
	# neither what idle reads cost nor their threshold is the question here
	echo 10000000 > "$(fb "$disk")/idle_mean_us"
	echo 20000 > "$(fb "$disk")/idle_wait_us"
	echo 0 > $T/events/enable
	echo 16384 > $T/buffer_size_kb
	for event in block/block_rq_issue block/block_rq_complete freeblock/freeblock_complete; do
		echo 1 > $T/events/$event/enable
	done
	sleep 1
}

# readers SEED: reads all over, eight a second, due at the same instants whatever the disk does; sets
# $mean, their time in microseconds, and leaves the trace of all commands behind
readers()
{
	echo 1 > $M/d/stats_reset
	echo > $T/trace
	load random "/dev/$disk" reads=100 rate=8000 depth=256 seed="$1" seconds=20 \
		out=/tmp/latencies > /tmp/load
	cat $T/trace > /tmp/trace
	expect_eq "$policy, $1: no errors" "$(kv /tmp/load errors)" 0
	mean=$(od -An -v -tu4 -w4 /tmp/latencies | awk '{ s += $1 } END { printf "%d", s / NR }')
}

# commands: from the trace: of idle reads and of all others, of those that found the drive idle since
# 100 us and of those behind another one, how many there were, how many per mille ended within 50 us of
# the prediction, by how much they were late on the mean (us), and what they took
commands()
{
	awk '
	function at() { match($0, / [0-9]+\.[0-9]+: /); return substr($0, RSTART, RLENGTH - 2) * 1e6 }
	/block_rq_issue: / {
		match($0, /[0-9]+ [+] /); sector = substr($0, RSTART, RLENGTH - 3)
		found[sector] = !out && at() - last > 100
		sent[sector] = at(); out++ }
	# EAGAIN: given back unused, and not issued
	/block_rq_complete: / && !/\[-11\]$/ { out -= out > 0; last = at() }
	/freeblock_complete: / {
		match($0, /lbn=[0-9]+/); sector = substr($0, RSTART + 4, RLENGTH - 4)
		if (!(sector in sent))
			next
		match($0, /error_ns=-?[0-9]+/); late = substr($0, RSTART + 9, RLENGTH - 9) / 1000
		class = (/cause=4/ ? "idle" : "other") (found[sector] ? "_first" : "_next")
		n[class]++; sum[class] += late; took[class] += at() - sent[sector]
		right[class] += late <= 50 && late >= -50 }
	END { for (c in n) printf "%s_n %d\n%s_right %d\n%s_late %d\n%s_took %d\n", c, n[c],
			c, right[c] * 1000 / n[c], c, sum[c] / n[c], c, took[c] / n[c] }' /tmp/trace
}

# firsts SEED: scans of a block somewhere, with pauses: each is an idle interval's first read, behind
# questions to the drive that wake the link; prints what they took on the mean, us, as the policy of idle
# reads has counted it
firsts()
{
	local used reads

	used=$(stats "$disk" idle_used_us)
	reads=$(stats "$disk" idle_reads_ended)
	for k in $(seq 100); do
		echo "start $(((k * 7919 + $1 * 104729) % 200000 * 64)) 8" > "$(fb "$disk")/scan"
		wait_for 5 grep -qx finished "$(fb "$disk")/scan" || die "a scan does not end"
		sleep 0.1
	done
	echo "counted $((($(stats "$disk" idle_used_us) - used) /
		($(stats "$disk" idle_reads_ended) - reads)))"
}

load_module mechdisk
load_module mechata
load_module freeblock
port sata

for policy in max_performance med_power_with_dipm; do
	for seed in 1 2 3; do
		fresh $policy $seed
		readers $seed
		commands > /tmp/$policy-alone$seed
		echo "mean $mean" >> /tmp/$policy-alone$seed
		echo "wakes $(drive_stat d link_wakes)" >> /tmp/$policy-alone$seed
		used=$(stats "$disk" idle_used_us)
		echo start > "$(fb "$disk")/scan"
		readers $seed
		commands > /tmp/$policy-beside$seed
		{
			echo "mean $mean"
			echo "wakes $(drive_stat d link_wakes)"
			echo "used $(($(stats "$disk" idle_used_us) - used))"
			echo "blocks $(job "$disk" scan blocks_delivered)"
		} >> /tmp/$policy-beside$seed
		scan_stop "$disk"
		firsts $seed > /tmp/$policy-firsts$seed
		note "$policy, $seed: alone $(tr '\n' ' ' < /tmp/$policy-alone$seed)"
		note "$policy, $seed: firsts $(tr '\n' ' ' < /tmp/$policy-firsts$seed)"
		note "$policy, $seed: beside $(tr '\n' ' ' < /tmp/$policy-beside$seed)"
		expect_eq "$policy, $seed: phase" "$(state "$disk" phase)" locked
		expect_eq "$policy, $seed: free reads switched off, tasks paused, bad blocks" \
			"$(stats "$disk" guard_trips) $(state "$disk" alarms) $(state "$disk" bad_blocks)" \
			"0 0 0"
		expect_eq "$policy, $seed: nothing is late" "$(drive_stat d late_over_10us)" 0
	done
done

# apart WHICH KEY: of each seed, by how much that is more with a link that sleeps
apart()
{
	for seed in 1 2 3; do
		echo $(($(kv /tmp/$asleep-"$1"$seed "$2") - $(kv /tmp/$awake-"$1"$seed "$2")))
	done
}

# each KEY: of each seed, with a link that sleeps
each()
{
	for seed in 1 2 3; do
		kv /tmp/$asleep-beside$seed "$1"
	done
}

awake=max_performance
asleep=med_power_with_dipm
for seed in 1 2 3; do
	for which in alone beside; do
		expect_eq "$which, $seed: awake, wakes" "$(kv /tmp/$awake-$which$seed wakes)" 0
		expect_ge "$which, $seed: asleep, wakes" "$(kv /tmp/$asleep-$which$seed wakes)" 100
	done
	rates="$rates $(($(kv /tmp/$asleep-beside$seed blocks) * 1000 /
		$(kv /tmp/$awake-beside$seed blocks)))"
done
# shellcheck disable=SC2046,SC2086
{
expect_mean "alone: requests are later by, us" 600 1600 $(apart alone mean)
expect_mean "beside: the scan's rate, per mille" 900 1000 $rates
expect_mean "first idle reads take longer by, us" 1500 4500 $(apart beside idle_first_took)
expect_mean "lone idle reads as counted take longer by, us" 300 1600 $(apart firsts counted)
expect_mean "further idle reads: more as predicted, per mille" -20 20 $(apart beside idle_next_right)
expect_mean "commands behind others: more as predicted, per mille" -30 30 \
	$(apart beside other_next_right)
expect_mean "commands of the foreground that found the drive idle: late by, us" 300 2500 \
	$(each other_first_late)
}

sched_set "$disk" none
expect_within "unload freeblock" 20 unload_module freeblock
expect_within "unload mechata" 20 unload_module mechata
expect_within "unload mechdisk" 20 unload_module mechdisk
done_testing
