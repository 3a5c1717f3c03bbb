# SPDX-License-Identifier: GPL-2.0
# Hard moments, drawn at random by SEED, in front of free reads: the scheduler switched, the queue
# frozen, CPUs off and on, resets, commands that hang, are refused or fail, bad sectors, want of
# memory, a throttled cgroup, suspend, other models, readers of /dev/freeblock killed, stopped and
# paused, the module removed, the disk deleted. The foreground reads at random, and writes what it
# reads back and compares. One event in two comes beside an error that waits for its command.
#
# It ends after EVENTS events and REQUESTS commands. make check has forty events on the newest kernel,
# make soak a million commands on a drive of a millisecond a turn, some twenty minutes. Again:
# tests/lab/lab --seed N tests/lab/t-moments.sh
#
# Expected: no request is wrong, lost or stuck, but of a deleted disk; free reads go on after each
# event, and no block comes twice or wrong; nothing is leaked.
#
# Seen to fail: fb_free_read_prepend() without RQF_MIXED_MERGE (the foreground meets an error).
#
# lab-compile: fbread.c
# lab-starves: memory
# lab: kernel=7.x clock=icount smp=1 timeout=400
# lab: set=soak kernel=stock clock=icount smp=1 timeout=6000
# lab: set=soak kernel=debug clock=real smp=4 timeout=3000

. /lab/lib.sh

kind=swift
lines="timeout_ms 1000"
million=1000000
if [ "$LAB_CLOCK" = real ]; then
	kind=slow million=0
	lines="timeout_ms 6000
hw_queues 4"
fi
events=${EVENTS:-40} requests=${REQUESTS:-0}
if [ "$SET" = soak ]; then
	events=${EVENTS:-200} requests=${REQUESTS:-$million}
fi
M=/sys/kernel/mechdisk
G=/sys/fs/cgroup/moments

seed=${LAB_SEED:-1}
# draw N: sets $random, below N (Park and Miller's)
draw()
{
	seed=$((seed * 48271 % 2147483647))
	random=$((seed / 16 % $1))
}

freeblock_on()
{
	sched_set "$disk" freeblock && iosched "$disk" target_slowdown_ppm 1000000 &&
		echo 0 > "$(fb "$disk")/bad_quarantine_kib"
}

load()
{
	# shellcheck disable=SC2016
	sh -c 'echo $$ > '$G'/cgroup.procs; exec "$@"' fio fio --output-format=terse \
		--terse-version=3 --eta=never --output=/tmp/load --filename=/dev/"$disk" \
		--direct=1 --ioengine=libaio --time_based --runtime=100000 --allow_file_create=0 \
		--randseed="$seed" \
		--name=reads --rw=randread --offset=8000k --size=3840k --bsrange=4k-28k \
		--blockalign=64k --norandommap --iodepth=6 \
		--name=verify --rw=randwrite --bsrange=4k-16k --offset=12m --size=10m \
		--iodepth=4 --verify=crc32c --verify_backlog=64 --verify_fatal=1 &
	fio=$!
}

load_alive()
{
	[ -d /proc/$fio ] && ! grep -q '^State:.Z' /proc/$fio/status
}

load_is_over()
{
	! load_alive
}

# One after the other, of what the foreground leaves alone; what they say is judged at the end. Of
# little each: what an error has put in doubt waits for ten minutes
readers()
{
	local n=0

	while [ ! -e /tmp/over ]; do
		n=$((n + 1))
		[ -e /tmp/hold ] || fbread copy /dev/"$disk" first=$((n * 7 % 15 * 800)) count=800 \
			>> /tmp/readers 2>&1
		sleep 0.2
	done
}

# three slow recoveries in a row pause all tasks: a command that hung is one
resume()
{
	local id

	for id in $(awk '$3 == "paused" { print $1 }' "$(debug "$disk")/tasks"); do
		echo "resume $id" > "$(fb "$disk")/tasks"
	done
}

kill_readers()
{
	# shellcheck disable=SC2046
	kill -9 $(pidof fbread)
}

readers_are_over()
{
	resume
	! grep -q '^State:.[^Z]' /proc/$readers/status
}

# Behind each event: free reads, and the foreground, go on
goes_on()
{
	[ "$(sched_get "$disk")" = freeblock ] || freeblock_on
	resume
	case $(job "$disk" scan) in
	running|stopping) ;;
	*) echo start > "$(fb "$disk")/scan" ;;
	esac
	# completions that are late where the clock is real
	case $(state "$disk" knowledge) in
	*': completions do not fit'*) sched_set "$disk" none && freeblock_on ;;
	esac
	[ "$(drive_stat d commands)" -gt $((commands + 20)) ] || return 1
	[ "$LAB_CLOCK" = real ] || [ "$(stats "$disk" free_sectors)" -gt "$free" ]
}

# arm: an error that waits for the next command
arm()
{
	draw 6
	case $random in
	0) echo hang_next 1 > $M/d/inject ;;
	1) draw 6; echo fail_next busy $((1 + random)) > $M/d/inject ;;
	2) draw 6; echo fail_next full $((1 + random)) > $M/d/inject ;;
	3) echo attention_next 1 > $M/d/inject ;;
	4) draw 2; echo hw_error_next $((1 + random)) > $M/d/inject ;;
	5) # just before what is read; the foreground asks for none of these
		draw 60
		for n in 1 2 3 4 5 6 7 8; do
			echo "add $((16000 + (random + n * 7) % 60 * 128 + 122 + n % 3)) 1 recovery_ms=2 asc=11"
		done > $M/d/medium_errors ;;
	esac
}

# a task's number, of the table
task_id()
{
	tail -n 1 "$(debug "$disk")/tasks" | cut -d' ' -f1
}

throttle()
{
	echo "$(cat /sys/block/"$disk"/dev) riops=$1 wiops=$1" > $G/io.max
}

cpu()
{
	echo 0 > /sys/devices/system/cpu/cpu"$1"/online || return
	sleep 0.2
	echo 1 > /sys/devices/system/cpu/cpu"$1"/online
}

# Linux 6.1 forgets a reference to a scheduler's module without memory: no switch meanwhile. Of pages
# only larger pieces: SLUB complains in the log about each single one that it lacks
memory()
{
	[ ! -e /sys/kernel/debug/fail_page_alloc ] || echo 1 > /sys/kernel/debug/fail_page_alloc/min-order
	fault "$1" "$2" 100 || return
	sleep 0.5
	fault "$1" 0 0
}

fall_asleep()
{
	local status

	echo 1 > /sys/module/suspend/parameters/pm_test_delay
	echo "$1" > /sys/power/pm_test
	sh -c 'echo freeze > /sys/power/state'
	status=$?
	echo none > /sys/power/pm_test
	return $status
}

# without_tasks COMMAND...: while none is there
without_tasks()
{
	local status

	: > /tmp/hold
	scan_stop "$disk"
	kill_readers 2>/dev/null
	wait_for 20 sh -c "! pidof fbread"
	"$@"
	status=$?
	rm /tmp/hold
	return $status
}

# the same beside tasks; without any another, and the right one again
models()
{
	cat "$right" > "$(fb "$disk")/model" &&
		without_tasks sh -c "cat $skewed > $(fb "$disk")/model && sleep 0.5 &&
			cat $right > $(fb "$disk")/model"
}

reload()
{
	sched_set "$disk" none
	wait_for 20 rmmod freeblock || return
	load_module freeblock
	freeblock_on && cat "$right" > "$(fb "$disk")/model"
}

# no error may wait: 6.1 hangs when a disk is deleted beside a hung command, with any scheduler
delete()
{
	local host

	wait_for 30 sh -c "! grep -q '[1-9]' $M/d/inject" || return
	host=$(readlink /sys/block/"$disk"/device)
	host=${host##*/}
	echo 1 > /sys/block/"$disk"/device/delete
	wait_for 60 load_is_over || return
	wait $fio
	echo "- - -" > /sys/class/scsi_host/host"${host%%:*}"/scan
	wait_for 30 grep -q "on $disk" $M/d/status && wait_for 30 [ -b /dev/"$disk" ] || return
	freeblock_on && load
}

# event N: is refused where the machine has not what it takes
event()
{
	case $1 in
	0)	draw 3; sched_set "$disk" "$(echo none mq-deadline bfq | cut -d' ' -f$((random + 1)))" &&
			freeblock_on ;;
	1)	draw 120; echo $((4 + random)) > /sys/block/"$disk"/queue/nr_requests ;;
	2)	# freezes the queue
		draw 50; echo $((50000 + random * 1000)) > /sys/block/"$disk"/queue/wbt_lat_usec ;;
	3)	sg_reset -d -N /dev/"$disk" ;;
	4)	sg_reset -b -N /dev/"$disk" ;;
	5)	sg_reset -H -N /dev/"$disk" ;;
	6)	arm && arm ;;
	7)	[ "$LAB_SMP" -gt 1 ] && draw $((LAB_SMP - 1)) && cpu $((random + 1)) ;;
	8)	memory failslab 2 ;;
	9)	memory fail_page_alloc 30 ;;
	10)	throttle 20 && sleep 1 && throttle max ;;
	11)	[ -e /sys/power/pm_test ] && draw 3 &&
			fall_asleep "$(echo devices platform freezer | cut -d' ' -f$((random + 1)))" ;;
	12)	models ;;
	13)	kill_readers ;;
	14)	echo "stop $(task_id)" > "$(fb "$disk")/tasks" ;;
	15)	id=$(task_id)
		echo "pause $id" > "$(fb "$disk")/tasks" && sleep 0.3 &&
			echo "resume $id" > "$(fb "$disk")/tasks" ;;
	16)	scan_stop "$disk" && echo start > "$(fb "$disk")/scrub" && sleep 0.5 &&
			echo stop > "$(fb "$disk")/scrub" ;;
	17)	! rmmod freeblock ;;
	18)	without_tasks reload ;;
	19)	delete ;;
	esac 2>/dev/null
}

# step: an event, at times beside an armed error; sets $number
step()
{
	draw 20
	number=$random
	draw 2
	# not beside those that sleep, remove, or go without memory
	[ $random = 0 ] && [ $number -lt 8 ] && arm
	event $number
}

mount -t cgroup2 cgroup2 /sys/fs/cgroup
echo +io > /sys/fs/cgroup/cgroup.subtree_control
mkdir $G
modprobe -q bfq
load_module mechdisk
load_module freeblock
disk=$(drive_new d $kind.fbdrive "$lines") || exit 1
right=$(model_table $kind.fbmodel)
skewed=$(model_table $kind-skewed.fbmodel)
freeblock_on || die "no freeblock"
model_load "$disk" $kind.fbmodel
begun=$(drive_stat d commands)
load
readers &
readers=$!

stuck=0 happened=0 refused=""
while { [ $happened -lt "$events" ] || [ $(($(drive_stat d commands) - begun)) -lt "$requests" ]; } &&
      load_alive; do
	if step; then happened=$((happened + 1)); else refused="$refused $number"; fi
	commands=$(drive_stat d commands) free=$(stats "$disk" free_sectors)
	wait_for 120 goes_on || { stuck=$((stuck + 1)); note "stuck behind event $number"; }
	[ $((happened % 10)) != 0 ] || note "$happened events"
done
: > /tmp/over
expect_ok "the foreground lives" load_alive
kill -INT $fio
expect_ok "the foreground ends" wait_for 60 load_is_over
wait $fio
expect_eq "no error reaches the foreground, and no wrong byte" \
	"$(awk -F';' '/^3;/ { n++; s += $5 } END { print n + 0, s + 0 }' /tmp/load)" "2 0"
wait_for 20 readers_are_over || kill_readers
expect_ok "readers end" wait_for 60 readers_are_over
expect_match "readers got their blocks" "$(cat /tmp/readers)" '^end 0'
expect_no_match "none came twice, wrong or for another" "$(cat /tmp/readers)" \
	'^(twice|wrong|mixed) [1-9]'
expect_ge "commands served" $(($(drive_stat d commands) - begun)) "$requests"
expect_eq "events behind which it did not go on" $stuck 0
expect_ge "events" $happened "$events"
note "refused, how often and which: $(echo "$refused" | tr ' ' '\n' | grep . | sort -n | uniq -c | tr -s ' \n' ' ')"
scan_stop "$disk"
expect_within "back to none" 30 sched_set "$disk" none
expect_within "unload freeblock" 30 unload_module freeblock
drive_off d
expect_within "unload mechdisk" 30 unload_module mechdisk
done_testing
