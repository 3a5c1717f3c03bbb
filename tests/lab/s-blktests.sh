# SPDX-License-Identifier: GPL-2.0
# What blktests does in the kernel, without its programs, on the debug kernel: the steps of its
# tests block/005 (schedulers switched under load), 008 (CPUs unplugged under load), 014 (commands
# that time out), 020 (one tag), 021 (nr_requests), 027 (disks deleted under load), 029 (the number
# of hardware queues changes under load), 030 (a hardware queue that cannot be made) and 031 (tags
# shared by hardware queues), on null_blk and scsi_debug. null_blk's own injectors of 6.1 write a
# back trace for each fault, so those of the block layer and of the allocators are used; 015,
# commands that are requeued, is in t-stress.sh. The suite itself is run on the stock kernel (make
# blktests), being too slow for this one.
#
# Expected: nothing hangs; the log has no report; what is verified is right; and what each step
# is about did happen.
#
# lab: kernel=debug clock=real smp=4 timeout=1800

. /lab/lib.sh

conf=/sys/kernel/config/nullb
cpus=4

# null_new NAME KEY=VALUE...: a disk of null_blk with the scheduler freeblock
null_new()
{
	local name="$1" word

	shift
	mkdir $conf/"$name" || die "no $name"
	for word in "$@" power=1; do
		echo "${word#*=}" > "$conf/$name/${word%%=*}" || die "$name refuses $word"
	done
	expect_ok "$name: freeblock" sched_set "$name" freeblock
}

null_end()
{
	expect_within "$1: goes" 60 rmdir $conf/"$1"
}

# ended PID: a child that nobody has waited for yet has, too
ended()
{
	[ ! -d /proc/"$1" ] || grep -qs '^State:.Z' /proc/"$1"/status
}

# load_on NAME SECONDS WORDS...: a load in the background
load_on()
{
	local name="$1" seconds="$2"

	shift 2
	fio_run "$name" --filename=/dev/"$name" --direct=1 --ioengine=libaio --iodepth=32 \
		--rw=randrw --bs=4k --time_based --runtime="$seconds" --allow_file_create=0 \
		--group_reporting "$@" > /dev/null 2>&1 &
	load=$!
}

# over NAME WHAT: the load ends by itself and has done something
over()
{
	expect_within "$2: the load ends" 90 wait_for 80 ended $load
	wait $load
	expect_ge "$2: requests" "$(fio_ios "$1")" "${3-100}"
}

schedulers_are_switched()
{
	local i what

	null_new n5 irqmode=2 completion_nsec=100000 submit_queues=$cpus size=64 memory_backed=1
	load_on n5 20 --verify=crc32c --do_verify=0
	for i in $(seq 30); do
		for what in none freeblock mq-deadline freeblock bfq freeblock; do
			echo $what > /sys/block/n5/queue/scheduler || not_ok "n5: $what" refused
		done
		ended $load && break
	done
	expect_ge "schedulers switched" "$i" 3
	over n5 switch
	expect_eq "switch: no errors" "$(fio_errors n5)" 0
	null_end n5
}

cpus_are_unplugged()
{
	local cpu i=0

	null_new n8 irqmode=2 completion_nsec=100000 submit_queues=$cpus size=64
	load_on n8 20 --numjobs=2
	while ! ended $load; do
		for cpu in 1 2 3; do
			echo 0 > /sys/devices/system/cpu/cpu$cpu/online && i=$((i + 1))
			sleep 0.2
		done
		for cpu in 1 2 3; do
			echo 1 > /sys/devices/system/cpu/cpu$cpu/online
		done
	done
	expect_ge "CPUs unplugged" $i 6
	over n8 hotplug
	expect_eq "hotplug: no errors" "$(fio_errors n8)" 0
	null_end n8
}

commands_time_out()
{
	local i failed=0 pids=

	null_new n14 submit_queues=$cpus size=64
	echo 1000 > /sys/block/n14/queue/io_timeout
	echo 1 > /sys/block/n14/io-timeout-fail
	fault fail_io_timeout 50
	for i in $(seq 40); do
		dd if=/dev/n14 of=/dev/null bs=4k count=2 iflag=direct 2> /dev/null &
		pids="$pids $!"
	done
	for i in $pids; do
		wait_for 120 ended "$i" || failed=$((failed + 1))
	done
	expect_eq "commands time out: readers that hang" $failed 0
	expect_ge "commands time out: it happened" "$(dmesg | grep -c 'rq .* timed out')" 10
	fault fail_io_timeout 0
	expect_ok "and then the disk is read" dd if=/dev/n14 of=/dev/null bs=4k count=8 iflag=direct
	null_end n14
}

one_tag()
{
	null_new n20 irqmode=2 completion_nsec=2000000 submit_queues=$cpus hw_queue_depth=1 size=64
	load_on n20 10 --iodepth=256 --numjobs=$cpus
	over n20 "one tag"
	null_end n20
}

requests_are_changed()
{
	local nr

	null_new n21 irqmode=2 completion_nsec=1000000 submit_queues=$cpus size=64
	load_on n21 15
	for nr in $(seq 4 4 128) $(seq 128 -8 4) 256; do
		echo "$nr" > /sys/block/n21/queue/nr_requests || not_ok "nr_requests $nr" refused
	done
	expect_eq "nr_requests" "$(cat /sys/block/n21/queue/nr_requests)" 256
	over n21 nr_requests
	expect_eq "nr_requests: no errors" "$(fio_errors n21)" 0
	null_end n21
}

queues_are_changed()
{
	local i=0 failed=0

	null_new n29 irqmode=2 completion_nsec=100000 submit_queues=$cpus size=16 memory_backed=1
	load_on n29 15 --verify=crc32c --do_verify=0
	while ! ended $load; do
		echo 1 > $conf/n29/submit_queues || failed=$((failed + 1))
		echo $cpus > $conf/n29/submit_queues || failed=$((failed + 1))
		i=$((i + 1))
	done
	expect_ge "hardware queues changed" $i 5
	expect_eq "hardware queues: refused" $failed 0
	over n29 "hardware queues"
	expect_eq "hardware queues: no errors" "$(fio_errors n29)" 0
	expect_eq "hardware queues: the scheduler stays" "$(sched_get n29)" freeblock
	null_end n29
}

# one allocation after the other fails while the queues are made
queues_cannot_be_made()
{
	local i failed=0

	null_new n30 completion_nsec=0 size=16 submit_queues=$cpus memory_backed=1
	fault failslab 0
	echo 0 > /sys/kernel/debug/failslab/ignore-gfp-wait
	for i in $(seq 60); do
		echo 1 > $conf/n30/submit_queues
		echo "$i" > /proc/self/fail-nth
		echo $cpus > $conf/n30/submit_queues || failed=$((failed + 1))
		echo 0 > /proc/self/fail-nth
	done 2> /dev/null
	expect_ge "queues that could not be made" $failed 5
	expect_ok "and then they can" sh -c "echo $cpus > $conf/n30/submit_queues"
	expect_ok "and the disk is read" dd if=/dev/n30 of=/dev/null bs=4k count=8 iflag=direct
	null_end n30
}

tags_are_shared()
{
	null_new n31 irqmode=2 completion_nsec=100000 submit_queues=$cpus size=16 memory_backed=1 \
		shared_tag_bitmap=1
	load_on n31 10 --verify=md5 --do_verify=0
	over n31 "shared tags"
	expect_eq "shared tags: no errors" "$(fio_errors n31)" 0
	null_end n31
}

sd_disks()
{
	ls -d /sys/bus/pseudo/drivers/scsi_debug/adapter*/host*/target*/*/block/* 2> /dev/null |
		sed 's,.*/,,'
}

sd_disks_are()
{
	[ "$(sd_disks | wc -l)" = "$1" ]
}

# the disk is known again when it comes back, with its model, and a scan that had not ended goes on
scan_on()
{
	sched_set "$1" freeblock
	[ "$(job "$1" scan)" != idle ] && return
	model_load "$1" scsi-debug.fbmodel
	echo start > "$(fb "$1")/scan"
}

# with a scan behind the load, which is what freeblock is for; a load whose disk goes has errors
disks_are_deleted()
{
	local disk gone=0 round pid pids

	for round in 1 2 3; do
		load_module scsi_debug add_host=2 dev_size_mb=16 submit_queues=$cpus ndelay=100000
		expect_ok "scsi_debug's disks" wait_for 10 sd_disks_are 2
		pids=
		for disk in $(sd_disks); do
			scan_on "$disk"
			fio --name=deleted --filename=/dev/"$disk" --direct=1 --ioengine=libaio \
				--iodepth=32 --rw=randrw --bs=4k --time_based --runtime=600 \
				--numjobs=2 --allow_file_create=0 > /dev/null 2>&1 &
			pids="$pids $!"
		done
		sleep 2
		for disk in $(sd_disks); do
			echo 1 > /sys/block/"$disk"/device/delete && gone=$((gone + 1))
		done
		for pid in $pids; do
			expect_within "deleted: the load ends" 60 wait_for 50 ended "$pid"
		done
		expect_within "deleted: scsi_debug goes" 60 \
			wait_for 50 unload_module scsi_debug
	done
	expect_eq "disks deleted under load" $gone 6
}

load_module null_blk nr_devices=0
load_module freeblock
schedulers_are_switched
cpus_are_unplugged
commands_time_out
one_tag
requests_are_changed
queues_are_changed
queues_cannot_be_made
tags_are_shared
disks_are_deleted
unload_module null_blk
done_testing
