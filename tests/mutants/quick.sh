# SPDX-License-Identifier: GPL-2.0
# The first judge of what tests/mutants/run plants into disk/, sched/ and tasks/: modules named in
# $MUTANTS, one after the other, each through a bit of everything in seconds. The first part with a
# check that fails is the mutant's last; if it cannot be unloaded then, it is the guest's, too, and
# those after it get another guest.
#
# No test of its own: what is expected is expected by t-tasks.sh, t-scan.sh, t-scrub.sh,
# t-others.sh, t-user.sh, t-input.sh and t-sysfs.sh, too.
#
# lab-compile: fbread.c fbcalls.c
# lab-programs: load

. /lab/lib.sh

tasks=/sys/kernel/debug/fbtasks

do_task()
{
	echo "$*" > $tasks/command
}

# task_is LINE: the beginning of a task's line, see fbtasks.c
task_is()
{
	grep -q "^$* " $tasks/state
}

# flags of this shell that a call into the kernel may leave behind: PF_MEMALLOC_NOIO, _NOFS
process_flags()
{
	echo $(($(cut -d' ' -f9 /proc/$$/stat) & 0xc0000))
}

tunables()
{
	local key

	for key in policy:sstf sw_percent:7 depth:2 hold_back:0 conservatism_us:77 \
		target_slowdown_ppm:5 foreground_cost_ppm:6 read_expire:3 write_expire:4 search_us:9 background_expire:8 \
		background_wait_us:6; do
		expect_ok "$key" iosched "$disk" "${key%:*}" "${key#*:}"
		expect_match "$key is kept" "$(iosched "$disk" "${key%:*}")" "(^|\[)${key#*:}($|\])"
		expect_fail "$key: not text" iosched "$disk" "${key%:*}" "${key#*:}x"
		expect_fail "$key: not so much" iosched "$disk" "${key%:*}" 700000000
	done
	sched_set "$disk" none
	sched_set "$disk" freeblock
}

# one that is late, and may, reads beside a foreground, once a rate is known
late()
{
	sleep 0.5
	do_task "foreground p 500000"
	do_task "deadline p 1"
	sleep 11
	dd if=/dev/"$disk" of=/dev/null bs=4k count=200 iflag=direct 2> /dev/null
	expect_ok "late: it comes" task_is p running 195 195
}

# what is refused for lack of memory is given back, a KiB each
refused_bits()
{
	local limit=/sys/module/freeblock/parameters/memory_mib n=0 kept

	echo 0 > $limit
	dmesg -n 1
	kept=$(kv /proc/meminfo SUnreclaim)
	while [ $n -lt 500 ]; do
		do_task "bits p 0 $((sectors / 8 * 8)) 1" 2> /dev/null
		n=$((n + 1))
	done
	expect_le "500 times, KiB that the kernel keeps" \
		$(($(kv /proc/meminfo SUnreclaim | tr -d kB) - ${kept% kB})) 250
	dmesg -n 5
	echo 1024 > $limit
}

consumers()
{
	do_task "new a $disk"
	do_task "new b $disk"
	do_task "add a 0 4000 3"
	do_task "add b 2000 4000 5"
	do_task "start a"
	do_task "start b"
	expect_ok "a: all of it" wait_for 20 task_is a finished 500 500 0 0 500 0
	expect_ok "b: all of it" wait_for 20 task_is b finished 500 500 0 0 500 0
	expect_eq "their values" "$(awk '{ print $12 }' $tasks/state | tr '\n' ' ')" "1500 2500 "
	do_task "destroy a"
	do_task "destroy b"

	do_task "new p $disk keep"
	expect_eq "one task" "$(cat "$(fb "$disk")/tasks")" 1
	do_task "start p"
	do_task "add p 0 800"
	expect_ok "added after the start" wait_for 20 task_is p running 100 100
	do_task "pause p"
	do_task "add p 800 800"
	expect_ok "added while paused" wait_for 20 task_is p paused 200 100
	sleep 0.3
	expect_ok "nothing comes" task_is p paused 200 100
	do_task "remove p 1200 400"
	expect_ok "taken back" wait_for 20 task_is p paused 150 100
	do_task "resume p"
	expect_ok "it goes on" wait_for 20 task_is p running 150 150
	do_task "bits p 2400 800 4"
	expect_ok "every fourth block" wait_for 20 task_is p running 175 175
	echo 0 > "$(fb "$disk")/idle_mean_us"
	do_task "add p 3200 160"
	do_task "promote p 3200 80"
	expect_ok "promoted: it comes" wait_for 10 task_is p running 195 185
	expect_fail "beyond the disk" do_task "add p $sectors 8"
	expect_fail "a priority that is none" do_task "priority p 4"
	expect_ok "one that is" do_task "priority p 3"
	id=$(awk '$2 == "p" { print $1 }' "$(debug "$disk")/tasks")
	expect_fail "a task that is none" sh -c "echo 'stop 4000000' > $(fb "$disk")/tasks"
	late
	refused_bits
	expect_ok "stopped by its number" sh -c "echo 'stop $id' > $(fb "$disk")/tasks"
	expect_ok "so it is" wait_for 10 task_is p stopped
	do_task "destroy p"
	expect_eq "no task" "$(cat "$(fb "$disk")/tasks")" 0
	echo 0 > /sys/module/freeblock/parameters/memory_mib
	expect_fail "no memory for the first" do_task "new m $disk"
	echo 1024 > /sys/module/freeblock/parameters/memory_mib
}

# a scan and reads of the idle class beside a foreground, without reads in idle time
foreground()
{
	local off

	iosched "$disk" target_slowdown_ppm 1000000
	iosched "$disk" conservatism_us 300
	expect_eq "nobody wants free reads" "$(state "$disk" free_reads)" "no task"
	echo start > "$(fb "$disk")/scan" || not_ok "a scan" "refused"
	expect_eq "somebody does" "$(state "$disk" free_reads)" on
	load stream "/dev/$disk" class=3 begin_pm=211 seconds=1 bytes=65536 depth=2 > /tmp/bg &
	fio_run fg --filename=/dev/"$disk" --direct=1 --ioengine=libaio --iodepth=10 \
		--rw=randrw --rwmixread=67 --bssplit=4k/50:8k/25:16k/25 --norandommap \
		--time_based --runtime=2 --randseed=7 --allrandrepeat=1
	wait $!
	expect_eq "foreground without errors" "$(fio_errors fg)" 0
	expect_ge "foreground served" "$(fio_ios fg)" 150
	off=$(awk -v fio="$(fio_field fg 81)" -v ns="$(stats "$disk" fg_write_ns)" \
		-v n="$(stats "$disk" fg_writes)" 'BEGIN { printf "%d", fio - ns / n / 1000 }')
	expect_ge "what writes waited as fio has it, us longer" "$off" 0
	expect_le "what writes waited as fio has it, us longer" "$off" 5000
	expect_ge "reads of the idle class" "$(stats "$disk" background_sent)" 1
	expect_le "two commands at the device" "$(stats "$disk" max_in_flight)" 2
	expect_ge "free reads" "$(stats "$disk" free_sectors)" 800
	expect_eq "none failed" "$(stats "$disk" free_errors)" 0
	echo pause > "$(fb "$disk")/scan"
	expect_eq "it pauses" "$(job "$disk" scan)" paused
	expect_within "it stops" 30 scan_stop "$disk"
	expect_eq "and says so" "$(job "$disk" scan)" stopped
	expect_ge "it got blocks" "$(job "$disk" scan blocks_delivered)" 100
	expect_eq "no bad ones" "$(job "$disk" scan blocks_bad)" 0
}

verified()
{
	[ "$(job "$disk" scrub blocks_verified)" -ge "$1" ]
}

scrub()
{
	local D

	D=$(fb "$disk")
	echo 10000000 > "$D/idle_mean_us"
	expect_fail "no pause of nothing" sh -c "echo pause > $D/scrub"
	expect_ok "a scrub" sh -c "echo 'start 0 4000' > $D/scrub"
	expect_ok "begins" wait_for 20 verified 100
	expect_ok "ends" wait_for 20 verified 500
	expect_ok "and says so" wait_for 20 [ "$(job "$disk" scrub)" != running ]
	cp "$D/coverage" /tmp/coverage
	head -c 50 /tmp/coverage > /tmp/torn
	expect_fail "half a coverage is refused" cp /tmp/torn "$D/coverage"
	expect_ok "its own is not" cp /tmp/coverage "$D/coverage"
	exec 4> "$D/coverage"
	expect_ok "its header by itself" sh -c "head -c 128 /tmp/coverage >&4"
	expect_ok "and the rest" sh -c "tail -c +129 /tmp/coverage >&4"
	exec 4>&-
}

# calls WHAT ARGUMENT...: each call's result is as it should be
calls()
{
	fbcalls "$@" > /tmp/calls 2> /dev/null
	expect_eq "calls, $1: all made" $? 0
	while IFS='|' read -r name got want; do
		expect_eq "$name" "$got" "$want"
	done < /tmp/calls
}

program()
{
	local limit=/sys/module/freeblock/parameters/memory_mib
	local errors=/sys/kernel/mechdisk/d/medium_errors

	fbread copy /dev/"$disk" count=800 threads=2 > /tmp/copy 2>&1
	expect_eq "a program's copy" "$(grep -E '^(end|missing|twice|wrong) ' /tmp/copy | sort |
		tr '\n' ' ')" "end 0 missing 0 twice 0 wrong 0 "
	calls errors "/dev/$disk" "/dev/${disk}1"
	calls arrays "/dev/$disk"
	calls events "/dev/$disk"
	calls coverage "/dev/$disk" "/dev/${disk}1"
	echo "add 813 1 recovery_ms=20 asc=11" > $errors
	calls unreadable "/dev/$disk" 800
	echo clear > $errors
	echo 32 > $limit
	expect_match "no memory" "$(fbread copy "/dev/$disk" count=8 kib=65536 2>&1)" \
		"65536 KiB in what tasks may take"
	expect_ok "enough of it" fbread copy "/dev/$disk" count=8 kib=16384
	echo 1024 > $limit
}

# begun NAME: loaded, with a model
begun()
{
	expect_ok "insmod" insmod "/lab/modules/$1.ko"
	[ -d /sys/module/freeblock ] || return
	load_module fbtasks
	expect_ok "scheduler" sched_set "$disk" freeblock
	expect_ok "a model" sh -c "cat /lab/files/tiny.fbmodel > $(fb "$disk")/model"
	expect_eq "scheduling" "$(state "$disk" scheduling)" yes
	echo 0 > "$(fb "$disk")/idle_wait_us"
	echo 10000000 > "$(fb "$disk")/idle_mean_us"
}

shown()
{
	local file

	for file in "$(fb "$disk")"/state/* "$(debug "$disk")"/*; do
		[ ! -r "$file" ] || cat "$file" > /dev/null 2>&1
	done
}

# away: nothing is left, or this is the end
away()
{
	pkill -9 fio
	pkill -9 load
	pkill -9 fbread
	expect_within "another scheduler" 30 sched_set "$disk" none
	[ "$(sched_get "$disk")" = none ] || exit 1
	[ ! -d /sys/module/fbtasks ] || expect_within "fbtasks unloads" 30 unload_module fbtasks
	expect_within "freeblock unloads" 30 unload_module freeblock
	[ ! -d /sys/module/freeblock ] || exit 1
	expect_eq "this process is as it was" "$(process_flags)" 0
	# nor may it be the next one's
	[ "$(process_flags)" = 0 ] || exit 1
	expect_eq "no folder is left" "$(ls -d /sys/kernel/freeblock /sys/kernel/debug/freeblock \
		2> /dev/null)" ""
}

load_module mechdisk
disk=$(drive_new d tiny.fbdrive "") || exit 1
modprobe -q libcrc32c
fbread part "/dev/$disk" 1 1003 16006
wait_for 10 [ -b "/dev/${disk}1" ] || die "no partition"
sectors=$(cat "/sys/block/$disk/size")
for name in $MUTANTS; do
	echo "# mutant $name"
	failed=$tap_failed
	for part in "begun $name" consumers tunables foreground scrub program shown; do
		[ $tap_failed != "$failed" ] || $part
	done
	away
	# what it has left in the log is its own, not the next one's
	sleep 0.2
	echo "# over $name in $(cut -d' ' -f1 /proc/uptime)"
done
drive_off d
done_testing
