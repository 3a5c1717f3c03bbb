# SPDX-License-Identifier: GPL-2.0
# A CPU goes offline while a request of ours is held on its hardware queue. blk-mq waits for the
# queue's requests, and our thread, at the lowest priority, cannot give this one back: all the
# time of the CPU that it runs on is a real-time task's.
#
# Without fb_disk_client.cpu_offline it fails in one run of two (the CPU stays until the hog is
# gone): the hardware queues share their tags, so busy=1 may be a request on another one's.
#
# lab: kernel=stock clock=real smp=3 timeout=200
# lab: kernel=debug clock=real smp=3 timeout=400

. /lab/lib.sh

cpu=/sys/devices/system/cpu

# held: our thread has a request on CPU 1's hardware queue, sleeps, and is stuck on CPU 2 from
# when it wakes. Caught while it submits, runs the queue or returns a request, it would hold that
# one up like any other task that gets no processor time.
held()
{
	taskset -p 2 "$thread" || return 1
	sleep 0.3
	taskset -p 4 "$thread"
	sleep 0.1
	cat /proc/"$thread"/stack > /tmp/stack
	grep -q fb_reader_thread /tmp/stack && ! grep -Eq 'blk_|bio|fb_free|fb_idle' /tmp/stack &&
		grep -q busy=1 /sys/kernel/debug/block/"$disk"/hctx1/sched_tags
}

# idle_reads N: so many have ended
idle_reads()
{
	[ "$(stats "$disk" idle_reads_ended)" -ge "$1" ]
}

load_module mechdisk
load_module freeblock
disk=$(drive_new a slow.fbdrive "hw_queues 3") || exit 1
sched_set "$disk" freeblock
model_load "$disk" slow.fbmodel
expect_eq "a hardware queue for each CPU" "$(tr -d '\n' < /sys/block/"$disk"/mq/0/cpu_list)$(tr -d \
	'\n' < /sys/block/"$disk"/mq/1/cpu_list)$(cat /sys/block/"$disk"/mq/2/cpu_list)" 012
echo 10000000 > "$(fb "$disk")/idle_mean_us"
echo 10000000 > "$(fb "$disk")/idle_max_us"
echo 0 > "$(fb "$disk")/idle_wait_us"
echo start > "$(fb "$disk")/scan"
wait_for 20 idle_reads 1 ||
	die "no idle reads: $(numbers "$disk" state stats | grep idle)"
thread=$(grep -l '^freeblock/' /proc/[0-9]*/comm | cut -d/ -f3)

taskset -p 1 $$ > /tmp/out
echo -1 > /proc/sys/kernel/sched_rt_runtime_us
# what the kernel itself needs of CPU 2 to take a CPU down must not starve
for comm in $(grep -lE '^(rcu.*|ksoftirqd/2|kworker/2:.*)$' /proc/[0-9]*/comm); do
	chrt -f -p 30 "$(echo "$comm" | cut -d/ -f3)" 2>/tmp/out
done
taskset 4 chrt -f 20 sh -c 'while :; do :; done' &
hog=$!
wait_for 20 held || die "no request is held"
echo 0 > $cpu/cpu1/online &
note "the thread: $(tr '\n' ' ' < /tmp/stack)"
expect_ok "the CPU goes offline" wait_for 10 grep -qx 0,2 $cpu/online
expect_ok "while the thread is stuck" grep -q '^[0-9]* (freeblock/.*) R ' /proc/"$thread"/stat

kill -9 $hog
wait
echo 950000 > /proc/sys/kernel/sched_rt_runtime_us
taskset -p 5 "$thread" > /tmp/out
reads=$(stats "$disk" idle_reads_ended)
expect_ok "idle reads go on" wait_for 20 idle_reads $((reads + 3))
echo 1 > $cpu/cpu1/online
expect_eq "the CPU is back" "$(cat $cpu/online)" 0-2
expect_within "the scan stops" 20 scan_stop "$disk"
drive_off a
expect_within "unload freeblock" 20 unload_module freeblock
done_testing
