# SPDX-License-Identifier: GPL-2.0
# A thousand hard moments (EVENTS=N) in the life of tasks, with a foreground beside them: the
# scheduler is switched away and back, the disk unplugged and plugged in again, a task
# paused and resumed, one stopped and begun anew. In the end each of the tasks that lasted
# has got every block once, and the right one.
#
# In make soak: it takes some minutes.
#
# Expected: no block lost, none twice, over all events.
#
# lab: kernel=stock clock=icount smp=1 timeout=3000

. /lab/lib.sh

events=${EVENTS:-1000}
tasks=/sys/kernel/debug/fbtasks

do_task()
{
	echo "$*" > $tasks/command
}

# field NAME N: of the task's line, see fbtasks.c
field()
{
	awk -v name="$1" -v n="$2" '$1 == name { print $n }' $tasks/state
}

schedule()
{
	sched_set "$disk" freeblock || die "no freeblock"
	echo 0 > "$(fb "$disk")/idle_wait_us"
	echo 10000000 > "$(fb "$disk")/idle_mean_us"
}

# begin NAME: a scan of the whole disk; the longer it lasts the more happens to it
begin()
{
	do_task "new $1 $disk"
	do_task "add $1 0 $sectors"
	do_task "start $1"
}

# requests for the foreground, as many as the disk answers in the time
foreground()
{
	dd if="/dev/$disk" of=/dev/null bs=4k count=10 skip=$((($1 * 7919) % (sectors / 8 - 10))) \
		iflag=direct 2>/dev/null
}

event()
{
	case $(($1 % 5)) in
	0)	sched_set "$disk" none
		foreground "$1"
		sched_set "$disk" freeblock ;;
	1)	drive_off d
		echo 1 > /sys/kernel/mechdisk/d/power
		wait_for 30 grep -q 'on sd' /sys/kernel/mechdisk/d/status || die "it did not come back"
		disk=$(sed -n 's/.*on \(sd[a-z]*\).*/\1/p' /sys/kernel/mechdisk/d/status)
		wait_for 30 [ -b "/dev/$disk" ] || die "no /dev/$disk"
		schedule ;;
	2)	do_task "pause b"
		foreground "$1"
		do_task "resume b" ;;
	3)	do_task "stop c"
		do_task "destroy c"
		begin c ;;
	4)	do_task "promote a $(($1 % 700 * 64)) 64" 2>/dev/null
		sched_set "$disk" mq-deadline
		sched_set "$disk" freeblock ;;
	esac
}

# a scan that is over has got all; it begins again, for there are events left
renew()
{
	[ "$(field "$1" 2)" = finished ] || return
	runs=$((runs + 1))
	lost=$((lost + blocks - $(field "$1" 7)))
	twice=$((twice + $(field "$1" 8)))
	[ "$(field "$1" 9)" = "$crc" ] || wrong=$((wrong + 1))
	do_task "destroy $1"
	[ -n "$2" ] || begin "$1"
}

load_module mechdisk
load_module freeblock
load_module fbtasks
disk=$(drive_new d tiny.fbdrive "") || exit 1
schedule
model_load "$disk" tiny.fbmodel
sectors=$(cat "/sys/block/$disk/size")
blocks=$(((sectors + 7) / 8))

begin a
wait_for 60 sh -c "grep -q '^a finished' $tasks/state" || die "no scan without events"
crc=$(field a 9)
do_task "destroy a"

runs=0
lost=0
twice=0
wrong=0
begin a
begin b
begin c
n=0
while [ $n -lt "$events" ]; do
	event $n
	foreground $n
	renew a
	renew b
	n=$((n + 1))
	[ $((n % 100)) = 0 ] && note "$n events, $runs scans ended"
done
for name in a b; do
	wait_for 120 sh -c "grep -q '^$name finished' $tasks/state" || not_ok "$name" "it does not end"
	renew $name last
done
do_task "destroy c"
expect_ge "scans that ended" "$runs" 2
expect_eq "$events events: blocks lost" "$lost" 0
expect_eq "$events events: blocks twice" "$twice" 0
expect_eq "$events events: scans with wrong data" "$wrong" 0
expect_eq "no task is left" "$(cat "$(fb "$disk")/tasks")" 0
expect_within "fbtasks unloads" 20 unload_module fbtasks
drive_off d
expect_within "freeblock unloads" 20 unload_module freeblock
done_testing
