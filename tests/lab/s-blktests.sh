# SPDX-License-Identifier: GPL-2.0
# What blktests does to the kernel, without its user space, which the debug kernel is too slow
# for: make blktests runs the suite itself on the stock kernel. Each step says which of its tests
# it is after. Fault injection is here only (Debian's kernels have none); that of null_blk itself
# prints a back trace each time, which the lab takes for a report, so commands are lost
# (block/014) and refused (block/015) between the SCSI layer and scsi_debug.
#
# Expected: no report in the kernel's log, nothing hangs, and freeblock can be set and unloaded at
# the end. A scan of the simulated drive goes on all the time.
#
# lab: kernel=debug clock=real smp=4 timeout=900

. /lab/lib.sh

nullb=/sys/kernel/config/nullb
pseudo=/sys/bus/pseudo/drivers/scsi_debug

# nullb_up NAME KEY=VALUE...
nullb_up()
{
	local dir="$nullb/$1" item

	mkdir "$dir" || return 1
	shift
	for item in "$@" power=1; do
		echo "${item#*=}" > "$dir/${item%%=*}" || return 1
	done
	sched_set "${dir##*/}" freeblock
}

# Reads without end of disk $1, in the background; sets $load
load_up()
{
	fio --name=load --filename=/dev/"$1" --direct=1 --rw=randread --bs=4k --numjobs=4 \
		--thread --ioengine=libaio --iodepth=8 --time_based --runtime=600 --size=16m \
		--eta=never ${2:-} > /tmp/load.out 2>&1 &
	load=$!
	sleep 1
}

load_down()
{
	kill -INT $load
	wait_for 60 sh -c "! grep -q '^State:.[^Z]' /proc/$load/status"
}

# The disks of scsi_debug, under freeblock
sdebug_disks()
{
	local path

	for path in $pseudo/adapter*/host*/target*/*/block/*; do
		[ -d "$path" ] && sched_set "${path##*/}" freeblock && echo "${path##*/}"
	done
}

# ---- null_blk ----

# block/005, block/047: two switch the scheduler at once, under load
switch()
{
	local i=0

	while [ $i -lt 40 ]; do
		echo freeblock > /sys/block/nullb0/queue/scheduler
		echo "$1" > /sys/block/nullb0/queue/scheduler
		i=$((i + 1))
	done
}

switch_both()
{
	local other

	switch none &
	other=$!
	switch mq-deadline
	wait $other
	sched_set nullb0 freeblock
}

# block/021
nr_requests()
{
	local n

	for n in 4 8 16 32 64 128 256 4 64; do
		echo $n > /sys/block/nullb0/queue/nr_requests || return 1
	done
}

# block/029, block/040: the number of hardware queues changes while the scheduler does
hw_queues()
{
	local i=0 other

	switch none &
	other=$!
	while [ $i -lt 20 ]; do
		echo 1 > $nullb/nullb0/submit_queues
		echo 4 > $nullb/nullb0/submit_queues
		i=$((i + 1))
	done
	wait $other
	sched_set nullb0 freeblock
}

# block/008
cpus()
{
	local i=0 cpu

	while [ $i -lt 9 ]; do
		cpu=/sys/devices/system/cpu/cpu$((i % 3 + 1))/online
		echo 0 > $cpu && sleep 0.2 && echo 1 > $cpu || return 1
		i=$((i + 1))
	done
}

# block/038: the same disk's power
power()
{
	local i=0

	while [ $i -lt 10 ]; do
		echo 0 > $nullb/nullb1/power
		echo 1 > $nullb/nullb1/power
		sched_set nullb1 freeblock || return 1
		i=$((i + 1))
	done
}

# block/030, and a switch that finds no memory: large allocations fail, one of three
out_of_memory()
{
	local cache i=0

	for cache in 256 512 1k 2k 4k 8k; do
		echo 1 > /sys/kernel/slab/kmalloc-$cache/failslab || return 1
	done
	echo Y > /sys/kernel/debug/failslab/cache-filter
	echo Y > /sys/kernel/debug/failslab/task-filter
	echo N > /sys/kernel/debug/failslab/ignore-gfp-wait
	fault failslab 33
	(
		echo 1 > /proc/self/make-it-fail
		while [ $i -lt 60 ]; do
			echo freeblock > /sys/block/nullb0/queue/scheduler
			echo none > /sys/block/nullb0/queue/scheduler
			echo freeblock > /sys/block/nullb0/queue/scheduler
			echo 1 > $nullb/nullb0/submit_queues
			echo 4 > $nullb/nullb0/submit_queues
			i=$((i + 1))
		done
	) 2> /tmp/refused
	fault failslab 0
	echo N > /sys/kernel/debug/failslab/cache-filter
	note "without memory: $(wc -l < /tmp/refused) writes refused"
	[ -s /tmp/refused ] && echo 4 > $nullb/nullb0/submit_queues && sched_set nullb0 freeblock
}

null_blk()
{
	load_module null_blk nr_devices=0 shared_tags=1
	expect_ok "null_blk: two disks" nullb_up nullb0 submit_queues=4 irqmode=2 \
		completion_nsec=500000 memory_backed=1 size=64
	expect_ok "null_blk: the second" nullb_up nullb1 submit_queues=4 irqmode=2 size=64
	load_up nullb0
	expect_within "switching concurrently" 200 switch_both
	expect_within "nr_requests" 60 nr_requests
	expect_within "hardware queues and switches" 200 hw_queues
	expect_within "CPUs come and go" 100 cpus
	expect_within "power" 60 power
	expect_ok "the load ends" load_down
	expect_within "failing allocations" 200 out_of_memory
	rmdir $nullb/nullb0 $nullb/nullb1
	# block/006, block/020
	expect_ok "null_blk: blocking, one tag" nullb_up nullb0 blocking=1 hw_queue_depth=1 \
		memory_backed=1 size=64
	fio_run onetag --filename=/dev/nullb0 --direct=1 --rw=randrw --bs=4k --numjobs=4 --thread \
		--number_ios=500 --group_reporting --size=16m
	expect_eq "one tag: no error" "$(fio_errors onetag)" 0
	rmdir $nullb/nullb0
	expect_within "null_blk goes" 60 unload_module null_blk
}

# ---- scsi_debug ----

# block/001, block/027, block/037: devices go under load, hosts come and go
hotplug()
{
	local i=0 name

	while [ $i -lt 4 ]; do
		for name in $(sdebug_disks); do
			dd if=/dev/"$name" of=/dev/null bs=4k count=200 iflag=direct 2>/dev/null &
			echo 1 > /sys/block/"$name"/device/delete
		done
		echo -1 > $pseudo/add_host
		echo 1 > $pseudo/add_host
		i=$((i + 1))
	done
	wait_for 30 [ -n "$(sdebug_disks)" ]
}

# block/015: one command of seven is refused
refused()
{
	echo 7 > $pseudo/every_nth
	echo 0x8000 > $pseudo/opts
	fio_run refused --filename=/dev/"$1" --direct=1 --rw=randread --bs=4k --iodepth=8 \
		--ioengine=libaio --number_ios=1000 --size=8m
	echo 0 > $pseudo/opts
	echo 0 > $pseudo/every_nth
	expect_eq "refused commands: no error" "$(fio_errors refused)" 0
}

# block/014, scsi/004, scsi/007: completions are lost; the error handler finds them
lost()
{
	echo 1 > /sys/block/"$1"/device/timeout
	fault fail_io_timeout 20 12
	echo 1 > /sys/block/"$1"/io-timeout-fail
	dd if=/dev/"$1" of=/dev/null bs=4k count=300 iflag=direct 2>/tmp/lost
	echo 0 > /sys/block/"$1"/io-timeout-fail
	fault fail_io_timeout 0
	[ "$(cat /sys/kernel/debug/fail_io_timeout/times)" = 0 ]
}

scsi_debug()
{
	local name

	load_module scsi_debug dev_size_mb=8 max_luns=3 delay=1
	wait_for 30 [ -n "$(sdebug_disks)" ]
	expect_within "devices and hosts come and go" 200 hotplug
	name=$(sdebug_disks | head -n 1)
	refused "$name"
	expect_within "lost completions" 200 lost "$name"
	expect_within "scsi_debug goes" 100 unload_module scsi_debug
}

load_module mechdisk
load_module freeblock
disk=$(drive_new toy slow.fbdrive "hw_queues 4") || exit 1
sched_set "$disk" freeblock
model_load "$disk" slow.fbmodel
echo 10000000 > "$(fb "$disk")/idle_mean_us"
echo 10000000 > "$(fb "$disk")/idle_max_us"
echo start > "$(fb "$disk")/scan" || die "no scan"
null_blk
scsi_debug
expect_ge "the scan went on" "$(job "$disk" scan blocks_delivered)" 1
expect_within "scan stops" 60 scan_stop "$disk"
expect_within "to none" 60 sched_set "$disk" none
expect_within "freeblock unloads" 60 unload_module freeblock
drive_off toy
done_testing
