# SPDX-License-Identifier: GPL-2.0
# The number of a queue's requests goes up and down under load. The scheduler keeps its data of
# requests in arrays by tag: for each hardware queue, or one for all that share their tags.
#
# Expected: no error, every request is tracked, and no slot is given twice, which the kernel's log
# would say. Not tried: several hardware queues with tags of their own, and no memory for a longer
# array.
#
# Seen to fail with: arrays that are not made longer when the number grows (untracked requests).
#
# lab: kernel=stock clock=icount smp=1 timeout=300

. /lab/lib.sh

# load DISK ARGUMENTS: writes that fio reads back and verifies, and reads all over
load()
{
	local disk="$1"

	shift
	fio --output-format=terse --terse-version=3 --eta=never --output=/tmp/load \
		--filename=/dev/"$disk" --direct=1 --ioengine=libaio --time_based --runtime=900 \
		--allow_file_create=0 --norandommap \
		--name=verify --rw=randwrite --bsrange=4k-16k --offset=4m --size=4m --iodepth=32 \
		--verify=crc32c --verify_backlog=64 --verify_fatal=1 \
		--name=reads --rw=randread --bs=4k --size=16m --iodepth=300 "$@" &
	fio=$!
	wait_for 30 grep -q '[1-9]' /sys/block/"$disk"/inflight || die "no load on $disk"
}

load_ends()
{
	kill -INT $fio
	expect_ok "$1: fio ends" wait_for 60 sh -c "! grep -q '^State:.[^Z]' /proc/$fio/status"
	wait $fio
	expect_eq "$1: errors" "$(awk -F';' '{ s += $5 } END { print s + 0 }' /tmp/load)" 0
}

# requests DISK N
requests()
{
	echo "$2" > /sys/block/"$1"/queue/nr_requests
}

up_and_down()
{
	local n

	for n in 4 64 1 512 33 2 256 8 1024 3 128; do
		requests "$1" $n || return 1
		sleep 0.3
	done
}

# tracked NAME DISK: under a load, requests go up and down
tracked()
{
	expect_within "$1: requests up and down" 120 up_and_down "$2"
	expect_ok "$1: many requests" requests "$2" 400
	sleep 2
	expect_ge "$1: most of them are pending" "$(state "$2" pending)" 200
	expect_eq "$1: all are tracked" "$(stats "$2" untracked)" 0
}

policy_orders()
{
	[ "$(state "$1" order)" = policy ]
}

load_module mechdisk
load_module freeblock
for queues in 1 4; do
	disk=$(drive_new d$queues tiny.fbdrive "hw_queues $queues") || exit 1
	sched_set "$disk" freeblock
	model_load "$disk" tiny.fbmodel
	iosched "$disk" target_slowdown_ppm 1000000
	load "$disk"
	tracked "$queues queues, the drive orders" "$disk"
	echo start > "$(fb "$disk")/scan"
	# what the scan wants is entered by a thread
	expect_ok "$queues queues: a scan" wait_for 10 policy_orders "$disk"
	tracked "$queues queues, the policy orders" "$disk"
	load_ends "$queues queues"
	scan_stop "$disk"
	drive_off d$queues
done
expect_within "unload freeblock" 20 unload_module freeblock
done_testing
