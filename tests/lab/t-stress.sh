# SPDX-License-Identifier: GPL-2.0
# Everything at once, with four CPUs, on the debug kernel: a drive in slow motion
# (so that free reads happen though the clock is real) serves verified writes,
# reads, buffered reads and reads of the idle class from several processes while
# scans are started and stopped, the scheduler is switched, tunables are changed,
# memory runs short and commands are refused.
#
# Expected: no report in the kernel's log, nothing hangs, the foreground's data
# are right, free reads of both kinds were made, no block is called bad.
#
# Seen to fail: a policy stored without the disk's lock (lockdep's assertions); a scan's
# last run not freed at its end (kmemleak); reads of the idle class in the foreground's
# place on a drive as slow as this (no reads in gaps).
#
# lab: kernel=debug clock=real smp=4 timeout=900

. /lab/lib.sh

# so long, and each of the disturbances once at least, which take long on a busy host
seconds=25
disturbances=6
M=/sys/kernel/mechdisk
load_module mechdisk
load_module freeblock
load_module fbconsumer
consumer=/sys/kernel/debug/fbconsumer/command
disk=$(drive_new d slow.fbdrive "hw_queues 4
timeout_ms 20000") || exit 1

freeblock_on()
{
	sched_set "$disk" freeblock && iosched "$disk" target_slowdown_ppm 1000000
}

count()
{
	echo $(stats "$disk" prepends) $(stats "$disk" separates)
}

# what fails for want of memory is not counted: it may
tunables()
{
	local policy

	for policy in clook sstf sptf sptf-sw auto; do
		iosched "$disk" policy $policy
		sleep 0.1
	done 2>/dev/null
	iosched "$disk" depth $((step % 4 + 1)) 2>/dev/null
	sleep 0.3
	iosched "$disk" depth auto 2>/dev/null
	iosched "$disk" hold_back $((step % 2)) 2>/dev/null
	echo $((step / 2 % 2)) > "$(fb "$disk")/trial" 2>/dev/null
	iosched "$disk" search_us $((step % 2 * 1000 + 200)) 2>/dev/null
	# nearly each read ends what may be read, then what is owed is forgotten
	echo 100 > "$(fb "$disk")/max_kib_s" 2>/dev/null
	sleep 0.5
	echo 0 > "$(fb "$disk")/max_kib_s" 2>/dev/null
}

scans()
{
	local range="$((step % 5 * 8000)) 8000"

	echo stop > "$(fb "$disk")/scan" 2>/dev/null
	echo destroy > $consumer 2>/dev/null
	# a block that came again was noted again
	twice="$twice$(od -A n -v -t u8 -w24 /sys/kernel/debug/fbconsumer/blocks |
		awk 'n[$1]++ { print $1 }')"
	echo "start $disk" > $consumer 2>/dev/null
	echo stop > $consumer 2>/dev/null
	echo destroy > $consumer 2>/dev/null
	echo "start $range" > "$(fb "$disk")/scan" 2>/dev/null
	echo "start $disk $range" > $consumer 2>/dev/null
	cat "$(fb "$disk")/scan" "$(fb "$disk")/model" \
		"$(fb "$disk")/state/"* "$(debug "$disk")/numbers" > /dev/null 2>&1
}

switches()
{
	local other

	for other in none mq-deadline bfq; do
		echo $other > /sys/block/"$disk"/queue/scheduler
		freeblock_on
	done 2>/dev/null
}

sched_set "$disk" freeblock || die "no freeblock"
model_load "$disk" slow.fbmodel
freeblock_on
fio --output-format=terse --terse-version=3 --eta=never --output=/tmp/load \
	--filename=/dev/"$disk" --time_based --runtime=900 --allow_file_create=0 \
	--name=verify --direct=1 --ioengine=libaio --rw=randwrite --bsrange=4k-16k --offset=4m \
	--size=4m --iodepth=6 --verify=crc32c --verify_backlog=12 --verify_fatal=1 \
	--name=reads --direct=1 --ioengine=libaio --rw=randread --bsrange=4k-16k --iodepth=6 \
	--norandommap \
	--name=cached --rw=randread --bs=16k --invalidate=1 --fadvise_hint=0 --norandommap \
	--name=idle --prioclass=3 --direct=1 --ioengine=libaio --rw=read --bsrange=4k-64k \
	--iodepth=8 &
fio=$!
wait_for 60 grep -q '[1-9]' /sys/block/"$disk"/inflight || die "no load"

# first undisturbed, for the phase must be found before anything is read for free
echo start > "$(fb "$disk")/scan"
free_reads()
{
	# a busy host makes completions so late that the model is distrusted
	case $(state "$disk" knowledge) in
	*': completions do not fit'*)
		sched_set "$disk" none
		freeblock_on ;;
	esac
	# shellcheck disable=SC2046
	set -- $(count)
	[ "$1" -ge 3 ] && [ "$2" -ge 3 ]
}
expect_ok "prepended and separate reads" wait_for 90 free_reads
note "prepends and separates: $(count)"

step=0
twice=""
begin=$(cut -d. -f1 /proc/uptime)
while [ $(($(cut -d. -f1 /proc/uptime) - begin)) -lt $seconds ] ||
      [ $step -lt $disturbances ]; do
	step=$((step + 1))
	case $((step % disturbances)) in
	0) switches ;;
	1) scans ;;
	2) tunables ;;
	3) echo $((step % 3 * 20 + 4)) > /sys/block/"$disk"/queue/nr_requests ;;
	4) echo "fail_next busy 5" > $M/d/inject
		echo "fail_next host_busy 5" > $M/d/inject ;;
	5) fault failslab 2 200
		scans
		sleep 0.5
		fault failslab 0 ;;
	esac
	freeblock_on 2>/dev/null
	sleep 0.5
done
note "$step steps"
expect_ok "freeblock at the end" freeblock_on
note "prepends and separates: $(count)"
expect_ge "reads of the idle class" "$(stats "$disk" background_sent)" 1
scan_stop "$disk"
expect_match "scan: state" "$(job "$disk" scan)" 'stopped|finished|idle'
expect_eq "scan: no bad block" "$(job "$disk" scan blocks_bad)" 0
note "consumer: $(kv /sys/kernel/debug/fbconsumer/state deliveries) deliveries at last"
scans
expect_eq "consumer: no block twice" "$twice" ""
scan_stop "$disk"
kill -INT $fio
expect_ok "fio ends" wait_for 60 sh -c "! grep -q '^State:.[^Z]' /proc/$fio/status"
wait $fio
expect_eq "foreground: errors" "$(awk -F';' '{ s += $5 } END { print s + 0 }' /tmp/load)" 0
numbers "$disk" state stats > /out/status
expect_within "to none" 60 sched_set "$disk" none
unload_module fbconsumer
expect_within "freeblock unloads" 30 unload_module freeblock
drive_off d
expect_within "mechdisk unloads" 30 unload_module mechdisk
done_testing
