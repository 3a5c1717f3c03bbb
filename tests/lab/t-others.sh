# SPDX-License-Identifier: GPL-2.0
# Reads of the idle I/O class beside a foreground of random reads: they are read while there
# is no foreground, cost it little, are sent before background_expire however busy it is, so that
# nobody who waits for such a read waits for longer,
# and get lost neither at a switch of schedulers nor without a model.
#
# The foreground alone is measured first, with the same requests at the same instants
# (Poisson, about 60 % of the drive's time). All times are the drive's, hence exact.
#
# Seen to fail: reads sent with foreground at the drive (mean, 99th percentile); none that goes for
# its age (KiB and age of "busy"; who waits for the class waits 7.2 s), or only at the whole age
# (255 ms), or each that is old enough, however many have gone (848 per mille of "each", "switch"),
# or one in half of the age, however few of the foreground have gone (91 and 1 per mille of "short age");
# the class of a request not seen where it is allocated (510 per mille of "each"); priority classes
# ignored (real time's share of "classes"), no ageing (best effort of "classes"); a read that absorbs
# an older one and keeps its own place behind others, or gets the first place ("ages").
#
# lab-programs: load
# lab: kernel=stock clock=icount smp=1 timeout=300

. /lab/lib.sh

reset()
{
	echo 1 > "/sys/kernel/debug/freeblock/$disk/reset"
}

# value NAME KEY: what load has said
value()
{
	kv "/tmp/$1" "$2"
}

# foreground NAME ARGUMENTS: random reads; sets $mean and $p99 in us
foreground()
{
	local name="$1" n

	shift
	load random "/dev/$disk" reads=100 "$@" out=/tmp/latencies > "/tmp/$name"
	expect_eq "$name: ends" $? 0
	od -An -v -tu4 -w4 /tmp/latencies | sort -n > /tmp/us
	n=$(wc -l < /tmp/us)
	mean=$(awk '{ s += $1 } END { printf "%d", s / NR }' /tmp/us)
	p99=$(sed -n "$((n * 99 / 100))p" /tmp/us)
	note "$name: $n reads, mean $mean us, 99 % within $p99 us"
}

# background NAME ARGUMENTS: reads of the idle class, one behind the other, begun
background()
{
	local name="$1"

	shift
	load stream "/dev/$disk" class=3 begin_pm=211 "$@" > "/tmp/$name" &
	pid=$!
}

# ended NAME: the background; sets $kib
ended()
{
	wait $pid
	expect_eq "$1: ends" $? 0
	kib=$(($(value "$1" bytes) / 1024))
	note "$1: $kib KiB; $(numbers "$disk" stats | grep ^background | tr '\n' ' ')"
}

now_ms()
{
	awk '{ print int($1 * 1000) }' /proc/uptime
}

# blocked NAME ARGUMENTS: beside a foreground a process of the idle class reads a page, and one that
# is not idle waits for it; sets $most, in ms
blocked()
{
	local name="$1" i from took

	shift
	reset
	load random "/dev/$disk" reads=100 seconds=8 "$@" > /tmp/blocked &
	fg_pid=$!
	sleep 1
	most=0
	for i in $(seq 12); do
		ionice -c 3 dd if="/dev/$disk" of=/dev/null bs=4k skip=$((i * 500000)) count=1 \
			2> /tmp/dd-idle &
		pid=$!
		usleep 30000
		from=$(now_ms)
		dd if="/dev/$disk" of=/dev/null bs=4k skip=$((i * 500000)) count=1 2> /tmp/dd-blocked
		took=$(($(now_ms) - from))
		most=$((took > most ? took : most))
		wait $pid || most=99999
	done
	wait $fg_pid
	echo 1 > /proc/sys/vm/drop_caches
	note "$name: beside $(value blocked requests) reads who waits for the class waits $most ms"
	expect_ge "$name: reads sent for their age" "$(stats "$disk" background_expired)" 5
	promise "$name: greatest age, us" "$(stats "$disk" background_max_age_us)" le 250000
}

load_module mechdisk
load_module freeblock
disk=$(drive_new d nearline16.fbdrive "journal_records 0") || exit 1
sched_set "$disk" freeblock

# ---- without a model: while there is no foreground, here when it has ended

blocked "without a model" depth=8
background nomodel-bg seconds=2 bytes=131072 depth=4
foreground nomodel seconds=2 depth=8
ended nomodel-bg
expect_ge "without a model: sent" "$(stats "$disk" background_sent)" 4
expect_le "without a model: greatest age, us" "$(stats "$disk" background_max_age_us)" 1000000

# ---- beside 60 % load

model_load "$disk" nearline16.fbmodel
means=
p99s=
kibs=
for seed in 1 2 3; do
	foreground alone depth=256 rate=49000 warmup=2 seconds=60 seed=$seed
	mean_alone=$mean
	p99_alone=$p99
	reset
	background beside-bg warmup=2 seconds=60 bytes=131072 depth=16
	foreground beside depth=256 rate=49000 warmup=2 seconds=60 seed=$seed
	ended beside-bg
	means="$means $((mean * 1000 / mean_alone))"
	p99s="$p99s $((p99 * 1000 / p99_alone))"
	kibs="$kibs $((kib / 60))"
done
# shellcheck disable=SC2086
expect_mean "beside: KiB/s" 20000 60000 $kibs
# shellcheck disable=SC2086
expect_mean "beside: mean, per mille of alone" 1050 1175 $means
# each hangs on 29 reads
# shellcheck disable=SC2086
expect_mean "beside: 99th percentile, per mille of alone" 900 1200 $p99s
expect_ge "beside: without foreground" "$(stats "$disk" background_idle)" 500

# ---- a foreground that leaves no time: the age is kept

blocked "drive orders" depth=32
blocked "long reads" depth=4 bytes=1048576
iosched "$disk" depth 2
blocked "policy orders" depth=32
promise "policy orders: who waits for a read of the class waits, ms" "$most" le 250
iosched "$disk" depth auto
reset
iosched "$disk" background_expire 1000
background busy-bg seconds=10 bytes=131072 depth=4
foreground busy seconds=10 depth=32
ended busy-bg
expect_ge "busy: KiB" "$kib" 4096
expect_ge "busy: expired" "$(stats "$disk" background_expired)" 1
expect_le "busy: greatest age, us" "$(stats "$disk" background_max_age_us)" 1100000
iosched "$disk" background_expire 250

# ---- where requests take longer than half of the age most of them are the foreground's all the same

for depth in auto 2; do
	iosched "$disk" depth $depth
	foreground short-alone seconds=5 depth=8
	reset
	iosched "$disk" background_expire 1
	background short-bg seconds=5 bytes=131072 depth=16
	foreground short seconds=5 depth=8
	ended short-bg
	expect_ge "short age, depth $depth: reads, per mille of alone" \
		$(($(value short requests) * 1000 / $(value short-alone requests))) 700
	expect_ge "short age, depth $depth: sent for their age" "$(stats "$disk" background_expired)" 30
	iosched "$disk" background_expire 250
done
iosched "$disk" depth auto

# ---- requests behind each other are merged, with their like only

reset
background merge-bg seconds=4 bytes=4096 depth=32
foreground merge seconds=2 depth=4
ended merge-bg
expect_le "merge: requests, per mille of reads" \
	$(($(stats "$disk" background_sent) * 4000 / kib)) 500

# ---- a read that absorbs an older one has its age, and its place between those of others ----
#
# At three quarters of it they go before the foreground, one behind the other; so the two must meet
# before any of them does.

# idle_read NAME BLOCK AT_MS: one read of the class so long after $from_ms; when it ends is kept
idle_read()
{
	usleep $((($3 - $(now_ms) + from_ms) * 1000))
	(
		ionice -c 3 dd if="/dev/$disk" of=/dev/null bs=4k skip="$2" count=1 iflag=direct \
			2>/tmp/dd-"$1" || exit 1
		echo $(($(now_ms) - from_ms)) > "/tmp/ended-$1"
	) &
	readers="$readers $!"
}

iosched "$disk" background_expire 4000
load random "/dev/$disk" reads=100 seconds=8 depth=32 > /tmp/ages &
fg_pid=$!
sleep 0.5
from_ms=$(now_ms)
readers=
idle_read before 300000 100
idle_read old 2 1600
idle_read between 600000 3100
idle_read young 0 3200
idle_read neighbour 1 3300	# goes into young, which then meets old
for pid in $readers; do
	wait "$pid"
	expect_eq "ages: a read ends" $? 0
done
wait $fg_pid
note "ages: ends, ms: $(cd /tmp && grep . ended-* | tr '\n' ' ')"
expect_le "ages: the two were one request, apart by ms" \
	$(($(cat /tmp/ended-young) - $(cat /tmp/ended-old))) 50
expect_ge "ages: it comes behind one that is older, ms" \
	$(($(cat /tmp/ended-young) - $(cat /tmp/ended-before))) 700
expect_ge "ages: and before one that is older than its younger part, ms" \
	$(($(cat /tmp/ended-between) - $(cat /tmp/ended-young))) 700
iosched "$disk" background_expire 250

# ---- requests of the class, the process is not: they leave the foreground some of the queue's

foreground each-alone seconds=4 depth=8
load stream "/dev/$disk" class_each=3 begin_pm=211 seconds=5 bytes=131072 depth=256 \
	> /tmp/each-bg &
pid=$!
sleep 0.5
foreground each seconds=4 depth=8
wait $pid
expect_eq "each-bg: ends" $? 0
expect_ge "each: reads, per mille of alone" \
	$(($(value each requests) * 1000 / $(value each-alone requests))) 900

# ---- classes: real time goes before best effort, which does not starve

reset
iosched "$disk" depth 2
load random "/dev/$disk" reads=100 class=1 seconds=13 depth=4 > /tmp/rt &
rt_pid=$!
load random "/dev/$disk" reads=100 seconds=13 depth=32 out=/tmp/latencies > /tmp/be
expect_eq "classes: best effort ends" $? 0
wait $rt_pid
expect_eq "classes: real time ends" $? 0
rt=$(value rt requests)
be=$(value be requests)
note "classes: $rt requests of real time, $be of best effort"
expect_ge "classes: real time, per mille" $((rt * 1000 / (rt + be))) 900
expect_ge "classes: best effort" "$be" 16
iosched "$disk" depth auto

# ---- a switch finds them waiting

background switch-bg seconds=4 bytes=65536 depth=16
load random "/dev/$disk" reads=100 seconds=2 depth=32 > /tmp/switch &
fg_pid=$!
sleep 1
expect_ge "switch: they wait" "$(state "$disk" background_pending)" 1
expect_within "switch away" 20 sched_set "$disk" mq-deadline
expect_within "and back" 20 sched_set "$disk" freeblock
wait $fg_pid
expect_eq "switch: the foreground ends" $? 0
ended switch-bg
expect_eq "switch: none left" "$(state "$disk" background_pending)" 0

sched_set "$disk" none
drive_off d
expect_within "unload freeblock" 20 unload_module freeblock
done_testing
