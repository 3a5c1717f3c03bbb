# SPDX-License-Identifier: GPL-2.0
# What keeps a task from reading: the values of enum freeblock_wait are brought about, read, and
# told by an event; none is said of a task that reads. What the cache answers is read twice, no more.
#
# Expected: what include/freeblock.h says. The disk is read only as each step says, so that
# simulated time alone decides.
#
# Seen to fail with: a patience of 10 ms (a task that reads is said to wait, 20 times), and
# events left out for two of the values; a promoted READ believed because its task asked for it
# (verified for both).
#
# lab: kernel=stock clock=icount smp=1 timeout=300

. /lab/lib.sh

M=/sys/kernel/mechdisk
tasks=/sys/kernel/debug/fbtasks
NONE=0 DISK=1 SCHEDULER=2 UNFIT=5 ALARM=6 READER=7 GUARD=9 GAP=10 IDLE=11

do_task()
{
	echo "$*" > $tasks/command
}

# field NAME N: of the task's line, see t-tasks.sh; 13 waiting_for 14 what was told
field()
{
	awk -v name="$1" -v n="$2" '$1 == name { print $n }' $tasks/state
}

waits()
{
	[ "$(field t 13)" = "$1" ]
}

was_told()
{
	field t 14 | grep -q "\.$1\$"
}

# expect_waits NAME VALUE [SECONDS]: it comes to that, and the last event said so
expect_waits()
{
	if wait_for "${3:-5}" waits "$2"; then ok "$1"; else not_ok "$1" "$(cat $tasks/state)"; fi
	expect_ok "$1: told" wait_for 2 was_told "$2"
}

# fresh [LINES [MODEL]]: a drive under freeblock; idle time may be used, whatever it costs
fresh()
{
	[ -d $M/d ] && echo d > $M/delete
	disk=$(drive_new d tiny.fbdrive "$1") || exit 1
	sched_set "$disk" freeblock || die "no freeblock"
	[ -s "$(fb "$disk")/model" ] || model_load "$disk" "${2:-tiny.fbmodel}"
	echo 1000 > "$(fb "$disk")/idle_wait_us"
	idle 10000000
}

idle()
{
	echo "$1" > "$(fb "$disk")/idle_mean_us"
}

# begin RANGE [KIND]
begin()
{
	do_task "new t $disk $2"
	do_task "add t $1"
	do_task "start t"
}

# load [FIO ARGUMENTS]
load()
{
	fio --output=/tmp/load --eta=never --name=load --filename=/dev/"$disk" --direct=1 \
		--ioengine=libaio --iodepth=6 --rw=randread --bs=4k --norandommap --time_based \
		--runtime=900 --allow_file_create=0 "$@" 2>/dev/null &
	fio=$!
	wait_for 30 grep -q '[1-9]' /sys/block/"$disk"/inflight || die "no load"
}

load_ends()
{
	kill -INT $fio
	wait $fio
}

load_module mechdisk
load_module freeblock
load_module fbtasks

# ---- idle, busy, and the guard ----

fresh
idle 0
begin "0 40000"
sleep 0.5
expect_eq "half a second without a block is nothing" "$(field t 13)" $NONE
expect_waits "idle time is not used" $IDLE
# the most, and more than any gap has
iosched "$disk" conservatism_us 10000
load
expect_waits "busy, and no gap fits" $GAP
sleep 3
load_ends
expect_waits "idle again" $IDLE
expect_eq "nothing else was said" "$(field t 14)" ".$NONE.$IDLE.$GAP.$IDLE"
idle 10000000
expect_waits "idle time is used again" $NONE
expect_ok "it ends" wait_for 60 grep -q '^t finished' $tasks/state
do_task "destroy t"

# ---- the guard: gaps taken without any margin lose turns ----

idle 0
begin "0 40000"
iosched "$disk" conservatism_us 0
iosched "$disk" target_slowdown_ppm 1
load
expect_waits "the guard" $GUARD 60
expect_ge "has switched off free reads" "$(stats "$disk" guard_trips)" 1
load_ends
iosched "$disk" conservatism_us auto
iosched "$disk" target_slowdown_ppm 1000000
expect_waits "without foreground it matters no more" $IDLE
do_task "pause t"
expect_waits "paused by hand: waits for nothing" $NONE
do_task "resume t"
expect_waits "resumed" $IDLE
do_task "destroy t"

# ---- the scheduler, the device, the disk, the model ----

begin "0 40000"
sched_set "$disk" none
expect_waits "another scheduler" $SCHEDULER
sched_set "$disk" freeblock
echo 0 > /sys/block/"$disk"/queue/rotational
sched_set "$disk" none
sched_set "$disk" freeblock
expect_waits "solid state" $UNFIT
echo 1 > /sys/block/"$disk"/queue/rotational
do_task "destroy t"

fresh "" distrusted-tiny.fbmodel
idle 0
begin "0 40000"
expect_waits "a model that is distrusted: for idle time" $IDLE
echo 1 > "$(fb "$disk")/model_force"
echo 0 > $M/d/power
expect_waits "no disk" $DISK
echo "revision 2" > $M/d/description
echo 1 > $M/d/power
wait_for 30 grep -q 'on sd' $M/d/status || die "no return"
disk=$(sed -n 's/.*on \(sd[a-z]*\).*/\1/p' $M/d/status)
wait_for 30 [ -b /dev/"$disk" ]
sched_set "$disk" freeblock
expect_waits "another firmware: for idle time" $IDLE
do_task "destroy t"

# ---- the consumer ----

fresh
do_task "new t $disk"
do_task "slow t 3000000"
do_task "add t 0 40000"
do_task "start t"
expect_ok "a slow consumer" wait_for 10 waits $READER
do_task "slow t 0"
expect_waits "no longer slow" $NONE
expect_ok "it ends" wait_for 60 grep -q '^t finished' $tasks/state
do_task "destroy t"

do_task "new t $disk"
do_task "slow t 3000000"
do_task "add t 0 40000"
do_task "new other $disk keep"
do_task "add other 0 8"
do_task "start t"
do_task "start other"
expect_ok "a slow consumer beside another" wait_for 10 waits $READER
expect_eq "who waits for nothing, as it wants nothing" "$(field other 13)" $NONE
do_task "slow t 0"
expect_ok "it ends" wait_for 60 grep -q '^t finished' $tasks/state
do_task "destroy other"
do_task "destroy t"

# ---- the drive's cache: FUA is not honoured, and what is wanted is in the cache ----

fresh "cache 64 1024 0
fua cache"
: > /tmp/warm
while [ -e /tmp/warm ]; do
	dd if=/dev/"$disk" of=/dev/null bs=512k count=4 iflag=direct 2>/dev/null
	sleep 0.3
done &
warmer=$!
# in gaps, for only there each completion is judged
idle 0
iosched "$disk" target_slowdown_ppm 1000000
begin "0 4096" medium
load --rw=randwrite --offset=8m
withheld()
{
	[ "$(stats "$disk" unproven)" -ge 1 ]
}

came()
{
	[ "$(field t 4)" -ge 500 ]
}

expect_ok "answers from the cache: some are withheld" wait_for 20 withheld
# each once: then it is delivered as unverified, and the task goes on. The last of them wait long for
# gaps that reach them
expect_ok "answers from the cache: it is not what the task waits for" wait_for 60 came
load_ends
do_task "destroy t"

# two that want the medium share a promoted read: it is a plain one, and proves nothing to either
fua_is_dropped()
{
	state "$disk" medium | grep -q '^read .a task wants data; no fua: ends before'
}

both_came()
{
	[ "$(field t 4) $(field u 4)" = "8 8" ]
}

begin "0 4096" medium
load --rw=randwrite --offset=8m
expect_ok "promoted: FUA is not used any more" wait_for 60 fua_is_dropped
load_ends
do_task "destroy t"
for each in t u; do
	do_task "new $each $disk medium"
	do_task "add $each 0 64"
	do_task "start $each"
done
# both have to be at work
sleep 1
do_task "promote t 0 64"
expect_ok "promoted: it comes to both" wait_for 10 both_came
expect_eq "promoted: by one read, and once more" "$(stats "$disk" promoted)" 2
expect_eq "promoted: verified for neither" "$(field t 5) $(field u 5)" "8 8"
rm /tmp/warm
wait $warmer
do_task "destroy t"
do_task "destroy u"

# ---- the alarm ----

# another drive: of this one it is known that busy periods may be long
fresh "serial MDalarm"
echo 1 > "$(fb "$disk")/bad_slow_s"
echo 1 > "$(fb "$disk")/bad_slow_most"
echo "add 2401 1 recovery_ms=2000 asc=11" > $M/d/medium_errors
begin "0 40000"
expect_waits "the alarm" $ALARM 20
expect_eq "it is paused" "$(field t 2)" paused
do_task "resume t"
expect_ok "resumed, it ends" wait_for 60 grep -q '^t finished' $tasks/state
do_task "destroy t"

# ---- a task that reads waits for nothing ----

fresh
iosched "$disk" target_slowdown_ppm 1000000
begin "0 40000"
load
# of 5000: the last ones fit into few gaps
expect_ok "beside a foreground it gets blocks" wait_for 60 sh -c \
	"[ \$(awk '{ print \$4 }' $tasks/state) -ge 2000 ]"
load_ends
expect_eq "and waits for nothing" "$(field t 14)" ".$NONE"
do_task "destroy t"

expect_within "fbtasks unloads" 20 unload_module fbtasks
drive_off d
expect_within "freeblock unloads" 20 unload_module freeblock
done_testing
