# SPDX-License-Identifier: GPL-2.0
# For KCSAN, which reports a data race when it sees one happen: all that programs and administrators
# may do at once, on four CPUs. A foreground of writes, reads and reads of the idle class; tasks of
# the kernel's, some slow, with priorities, deadlines and additions from callbacks; readers of
# /dev/freeblock that call what comes to mind, from two threads each; scan and scrub, started and
# stopped; every file of the disk read and every tunable written all the time; bad sectors; and at
# times another scheduler.
#
# Expected: no data race with a frame of ours in it, and no other report (tests.rst says what
# becomes of those of the kernel's own).
#
# Seen to fail with a counter that fb_user_ioctl() increments without a lock, RACE_SECONDS=30: one
# report, fb_user_ioctl against itself.
#
# lab-compile: fbread.c
# lab: kernel=race clock=real smp=4 timeout=1500

. /lab/lib.sh

seconds=${RACE_SECONDS:-60}
load_module mechdisk
load_module freeblock
load_module fbtasks
disk=$(drive_new d slow.fbdrive "hw_queues 4
timeout_ms 20000") || exit 1
tasks=/sys/kernel/debug/fbtasks

freeblock_on()
{
	sched_set "$disk" freeblock && iosched "$disk" target_slowdown_ppm 1000000 &&
		iosched "$disk" conservatism_us 400
}

freeblock_on || die "no freeblock"
model_load "$disk" slow.fbmodel
D=$(fb "$disk")
iosched=/sys/block/$disk/queue/iosched

read_all()
{
	cat "$D"/state/* "$D/scan" "$D/scrub" "$D/tasks" "$D/model_status" "$D/coverage" "$D"/idle_* "$D"/bad_* "$D/model_force" \
		"$(debug "$disk")"/* "$iosched"/* \
		"$tasks/state"
}

write_all()
{
	local policy

	for policy in clook sstf sptf sptf-sw auto; do
		echo $policy > "$iosched/policy"
		echo $((step % 90 + 1)) > "$iosched/sw_percent"
		echo $((step % 3 * 100)) > "$iosched/conservatism_us"
		echo $((step % 2 * 1000 + 200)) > "$iosched/search_us"
		echo $((step % 2)) > "$iosched/hold_back"
		echo $((step % 4 * 100 + 100)) > "$iosched/background_expire"
		echo $((step % 4 * 1000)) > "$iosched/background_wait_us"
		echo $((step % 5 * 1000 + 1000)) > "$D/idle_mean_us"
		echo $((step % 5 * 100000 + 50000)) > "$D/idle_max_us"
		echo $((step % 3 * 64)) > "$D/bad_quarantine_kib"
		echo $((step % 3 + 1)) > "$D/bad_slow_most"
		echo $((step % 2)) > "$D/model_force"
		echo $((step % 16 + 16)) > /sys/module/freeblock/parameters/memory_mib
		step=$((step + 1))
	done
	echo 256 > /sys/module/freeblock/parameters/memory_mib
	echo auto > "$iosched/conservatism_us"
	echo auto > "$iosched/depth"
	free_reads >> /tmp/free_reads
	echo 1 > "$(debug "$disk")/reset"
}

# prepends, separates, in idle time, since the counters were reset
free_reads()
{
	echo "$(stats "$disk" prepends)" "$(stats "$disk" separates)" "$(stats "$disk" idle_reads)"
}

kernel_tasks()
{
	local name="$1" first=$(($2 * 4000))

	echo "new $name $disk $3"
	echo "add $name $first 4000"
	echo "order $name sequential"
	echo "slow $name $((step % 3 * 300))"
	echo "start $name"
	echo "again $name 20"
	echo "promote $name $first 800"
	echo "deadline $name $((step % 3 * 2000))"
	echo "foreground $name $((step % 2 * 100000))"
	echo "priority $name $((step % 3 - 1))"
	echo "remove $name $((first + 800)) 80"
	echo "pause $name"
	echo "bits $name $first 2000 3"
	echo "resume $name"
	echo "sleep"
	echo "stop $name"
	echo "destroy $name"
	step=$((step + 1))
}

jobs()
{
	echo "start $((step % 5 * 8000)) 8000 staggered=4" > "$D/scan"
	echo start > "$D/scrub"
	sleep 1
	echo pause > "$D/scan"
	echo resume > "$D/scan"
	echo stop > "$D/scan"
	echo stop > "$D/scrub"
	step=$((step + 1))
}

# until_over COMMAND...: again and again, whatever it says, until the time is over. The disk's thread
# has the lowest priority: without pauses it would get no CPU
until_over()
{
	step=0
	while [ ! -e /tmp/over ]; do
		"$@" > /dev/null 2>&1
		sleep 0.3
	done
}

tell_tasks()
{
	kernel_tasks "$@" | while read -r command; do
		if [ "$command" = sleep ]; then sleep 1; else echo "$command" > $tasks/command; fi
	done
	step=$((step + 1))
}

switches()
{
	sleep 15
	echo mq-deadline > /sys/block/"$disk"/queue/scheduler
	freeblock_on
}

# where the foreground does not read
echo "add 1003 1 recovery_ms=20 asc=11" > /sys/kernel/mechdisk/d/medium_errors
fio --output-format=terse --terse-version=3 --eta=never --output=/tmp/load \
	--filename=/dev/"$disk" --time_based --runtime=900 --allow_file_create=0 \
	--name=writes --direct=1 --ioengine=libaio --rw=randwrite --bsrange=4k-16k --offset=4m \
	--size=4m --iodepth=4 \
	--name=reads --direct=1 --ioengine=libaio --rw=randread --bsrange=4k-16k --iodepth=6 \
	--norandommap --offset=1m \
	--name=idle --prioclass=3 --direct=1 --ioengine=libaio --rw=read --bsrange=4k-64k \
	--iodepth=4 --offset=1m &
fio=$!
wait_for 60 grep -q '[1-9]' /sys/block/"$disk"/inflight || die "no load"

until_over read_all &
until_over write_all &
until_over tell_tasks a 0 keep &
until_over tell_tasks b 1 medium &
until_over fbread fuzz /dev/"$disk" 1 200 &
until_over jobs &
until_over switches &
sleep "$seconds"
: > /tmp/over
kill -INT $fio
wait
free_reads >> /tmp/free_reads
note "prepends, separates, in idle time: $(awk '{ p += $1; s += $2; i += $3 }
	END { print p + 0, s + 0, i + 0 }' /tmp/free_reads)"
expect_ge "free reads" "$(awk '{ n += $1 + $2 + $3 } END { print n + 0 }' /tmp/free_reads)" 1
expect_eq "foreground: errors" "$(awk -F';' '{ s += $5 } END { print s + 0 }' /tmp/load)" 0
expect_within "to none" 60 sched_set "$disk" none
unload_module fbtasks
expect_within "freeblock unloads" 30 unload_module freeblock
drive_off d
done_testing
