# SPDX-License-Identifier: GPL-2.0
# Probes of /dev/freeblock: reads of single sectors in idle time, and when they were at the drive; on
# a drive that nobody uses, beside a foreground, and beside a scan.
#
# Expected: reads of one sector end whole turns of the simulated drive apart, whatever comes in
# between; the block layer's own trace of issued commands says which probes were alone, and which
# were sent with nothing between them and the one before; no foreground request waits behind more
# than one probe; a scan that goes on meanwhile gets each block once; errors as
# include/uapi/freeblock.h says.
#
# Seen to fail with: a command while a probe is at the drive not counted (FREEBLOCK_PROBE_ALONE
# always set); those between two probes not counted; the lock of calls held while a call waits;
# ends compared that wrap at 64 bits.
#
# lab-compile: fbprobe.c fbread.c
# lab: kernel=stock clock=icount smp=1 timeout=300

. /lab/lib.sh

T=/sys/kernel/debug/tracing
PERIOD=6000000	# ns: a turn of the simulated drive
M=/sys/kernel/mechdisk
load_module mechdisk
load_module freeblock
disk=$(drive_new a tiny.fbdrive "serial MDa") || exit 1
D=/dev/$disk

# begin: trace the disk's commands from here on
begin()
{
	echo > $T/trace
	echo 1 > $T/tracing_on
}

# end: /out/issued has the first sectors of the commands issued, in their order; what passes by the
# scheduler has none
end()
{
	local dev

	echo 0 > $T/tracing_on
	dev=$(tr : , < /sys/block/"$disk"/dev)
	sed -n "s/.* \([0-9.]*\): block_rq_issue: $dev [A-Z]*.* \([0-9]*\) + [0-9]* .*\[.*/\1 \2/p" \
		$T/trace > /out/issued
	[ -s /out/issued ] || die "no command was traced"
}

# fits NAME: the flags of the probes in /tmp/probes are as /out/issued has them; sets $alone, $next;
# the real clock is the host's, too, and there four CPUs race: it is not judged
fits()
{
	[ "$LAB_CLOCK" = icount ] || return
	awk '
	FNR == NR { n++; at[n] = $1 * 1e9; lbn[n] = $2; next }
	NF < 5 { next }
	{
		# its command: the first of its sector that was issued from when it was sent on
		while (k < n && !(lbn[k + 1] == $1 && at[k + 1] >= $3 - 2000))
			k++
		k++
		if (k > n) { print "lost", $1; exit }
		alone = !(k < n && at[k + 1] < $4 - 2000)
		follows = last && k == last + 1
		unsure = k < n && at[k + 1] < $4 + 60000 && at[k + 1] >= $4 - 60000
		a = $5 % 2; f = int($5 / 2) % 2
		if (!unsure && a != alone) wrong_alone++
		if (last && !unsure_last && f != follows) wrong_next++
		n_alone += a; n_next += f; last = k; unsure_last = unsure
	}
	END { print "alone", n_alone + 0, "next", n_next + 0, "wrong", wrong_alone + 0,
	      wrong_next + 0 }' /out/issued /tmp/probes > /tmp/fits
	note "$1: $(cat /tmp/fits)"
	expect_eq "$1: flags that the trace contradicts" "$(cut -d' ' -f5- /tmp/fits)" "wrong 0 0"
	alone=$(cut -d' ' -f2 /tmp/fits)
	next=$(cut -d' ' -f4 /tmp/fits)
}

# turns NAME: how far, in ns, the ends of the probes in /tmp/probes that were alone are from whole
# turns behind the first of them, the widest nine tenths
turns()
{
	[ "$LAB_CLOCK" = icount ] || return
	awk -v p=$PERIOD 'NF == 5 && $5 % 2 { if (!b) b = $4; x = ($4 - b) % p
		print (x > p / 2 ? x - p : x) }' /tmp/probes | sort -n > /tmp/off
	n=$(wc -l < /tmp/off)
	low=$(sed -n "$((n / 20 + 1))p" /tmp/off)
	high=$(sed -n "$((n - n / 20))p" /tmp/off)
	note "$1: $n ends, within $low .. $high ns of whole turns"
	expect_le "$1: scatter of the ends modulo a turn, ns" $((high - low)) 150000
}

no_tasks()
{
	[ "$(cat "$(fb "$disk")/tasks")" = 0 ]
}

a_call_that_waits()
{
	fbprobe waits "$D" > /tmp/waits 2>&1 &
	waits=$!
	wait_for 30 grep -q waits /tmp/waits || die "nobody waits"
	sleep 0.2
}

probes()
{
	fbprobe run "$D" "$@" > /tmp/probes 2>&1
}

# The subject is not cost: idle time may be used whatever it costs others. No gap is used, nor is
# anything withheld to measure what it costs
freeblock_on()
{
	sched_set "$disk" freeblock && echo 1000 > "$(fb "$disk")/idle_wait_us" &&
		echo 10000000 > "$(fb "$disk")/idle_mean_us" &&
		echo 60000000 > "$(fb "$disk")/idle_max_us" && echo 0 > "$(fb "$disk")/trial"
}

freeblock_on || die "no freeblock"
echo mono > $T/trace_clock
echo 1 > $T/events/block/block_rq_issue/enable
echo 32768 > $T/buffer_size_kb
expect_ok "a partition" addpart "$D" 1 1003 16006
P=${D}1
wait_for 10 [ -b "$P" ] || die "no $P"

# ---- calls ----

calls fbprobe calls "$D" "$P"
calls fbprobe passes "$D"
expect_ok "calls: nothing is left" no_tasks

# ---- a drive that nobody uses ----

begin
probes 20000 1 0 200
end
expect_eq "one sector: all done" "$(kv /tmp/probes "done")" 200
fits "one sector"
[ "$LAB_CLOCK" = real ] ||
	expect_eq "one sector: alone, and one after the other" "$alone $next" "200 199"
turns "one sector"
begin
probes 7 1 97 300
end
fits "many places"
[ "$LAB_CLOCK" = real ] ||
	expect_eq "many places: alone, and one after the other" "$alone $next" "300 299"
expect_eq "many places: all can be read" "$(awk 'NF == 5 && $2' /tmp/probes | wc -l)" 0

# ---- beside a foreground ----

begin
fio_run load --filename="$D" --direct=1 --ioengine=libaio --iodepth=1 --rw=randread --bs=4k \
	--rate_iops=40 --rate_process=poisson --time_based --runtime=8 --allow_file_create=0 &
fio=$!
probes 20000 1 0 300
end
wait $fio
expect_eq "beside a foreground: all done" "$(kv /tmp/probes "done")" 300
fits "beside a foreground"
if [ "$LAB_CLOCK" = icount ]; then
	expect_ge "beside a foreground: some are alone" "$alone" 150
	expect_le "but not all" "$alone" 299
	expect_le "and what comes between is seen" "$next" 290
fi
turns "beside a foreground"

# ---- beside a scan: the blocks come once, and the probes' sectors among them ----

fbread copy "$D" > /tmp/copy 2>&1 &
copy=$!
probes 8 8 104 400
wait $copy
expect_eq "beside a scan: all done" "$(kv /tmp/probes "done")" 400
expect_eq "the scan: twice, wrong, missing, mixed, bad" "$(grep -E \
	'^(twice|wrong|missing|mixed|unreadable|untried|end) ' /tmp/copy | sort -u | tr '\n' ' ')" \
	"end 0 missing 0 mixed 0 twice 0 unreadable 0 untried 0 wrong 0 "

# ---- a driver that refuses a probe at first ----

fbprobe run "$D" 1 8 97 300 > /tmp/probes 2>&1 &
program=$!
for n in 1 2 3 4 5 6; do
	sleep 0.2
	echo fail_next busy 1 > /sys/kernel/mechdisk/a/inject
done
wait $program
expect_eq "refused: all are made" "$(awk 'NF == 5 && !$2' /tmp/probes | wc -l)" 300
[ "$LAB_CLOCK" != icount ] ||
	expect_eq "refused: alone, and with the host's delay in their time" "$(awk -v p=$PERIOD '
		NF == 5 && $5 % 2 && $4 - $3 > 1.4 * p' /tmp/probes | wc -l)" 0

# ---- places that cannot be read ----

echo "add 30005 1 recovery_ms=20 asc=11" > $M/a/medium_errors
probes 30004 1 1 3
expect_eq "the bad sector alone is" "$(awk 'NF == 5 { printf "%s ", $2 }' /tmp/probes)" "0 1 2 "
probes 30005 1 0 3
expect_eq "it is not tried again" "$(awk 'NF == 5 { printf "%s ", $2 + $3 }' /tmp/probes)" "2 2 2 "
expect_eq "the block is known to be bad" "$(state "$disk" bad_blocks)" 1

# ---- other schedulers, a switch of the disk's, and no disk ----

fbprobe run "$D" 20000 1 0 400 > /tmp/probes 2>&1 &
run=$!
for away in none mq-deadline none; do
	sched_set "$disk" $away
	sleep 0.1
	freeblock_on
done
wait $run
expect_eq "other schedulers: all done" "$(kv /tmp/probes "done")" 400
a_call_that_waits
kill -9 $waits
expect_fail "a call without a limit" wait $waits
expect_ok "nothing is left of it" wait_for 10 no_tasks
a_call_that_waits
expect_fail "a module in use cannot be unloaded" unload_module freeblock
echo 1 > /sys/block/"$disk"/device/delete
expect_within "a call whose disk goes" 30 wait_for 30 [ ! -d /proc/$waits ]
wait $waits
expect_eq "hears of it" "$(tr '\n' ' ' < /tmp/waits)" "waits ENODEV "
drive_off a
expect_ok "nothing is left" unload_module freeblock
done_testing
