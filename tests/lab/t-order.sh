# SPDX-License-Identifier: GPL-2.0
# Who orders, the policy or the drive, is decided where the reasons change, and not whenever the
# queue is looked at. So each reason is brought about while nothing else happens on the disk: no
# request comes, none ends. Then commands that hang at the drive: what is pending must not wait for
# their time-out if the drive may have more of it.
#
# Expected: design.rst, "One request's way".
#
# Seen to fail with: fb_host_run_soon() that does nothing (what is pending waits for the time-out);
# policy_store() that tells nobody (what the last policy has chosen stays).
#
# lab: kernel=stock clock=icount smp=1 timeout=300

. /lab/lib.sh

M=/sys/kernel/mechdisk

expect_order()
{
	expect_eq "$1: who orders" "$(state "$disk" order)" "$2"
}

orders()
{
	[ "$(state "$disk" order)" = "$1" ]
}

idle()
{
	echo "$1" > "$(fb "$disk")/idle_mean_us"
}

# load NAME ARGUMENTS: a foreground in the background
load()
{
	local name="$1"

	shift
	fio --output-format=terse --terse-version=3 --eta=never --output="/tmp/$name.terse" \
		--name="$name" --filename=/dev/"$disk" --direct=1 --ioengine=libaio --time_based \
		--runtime=900 --randseed=1 "$@" &
	fio=$!
	wait_for 30 grep -q '[1-9]' /sys/block/"$disk"/inflight || die "no load"
}

load_ends()
{
	kill -INT $fio
	wait $fio
	expect_eq "$1: errors" "$(fio_errors "$1")" 0
}

requests()
{
	drive_stat d commands
}

load_module mechdisk
load_module freeblock
disk=$(drive_new d tiny.fbdrive "timeout_ms 20000") || exit 1
sched_set "$disk" freeblock
model_load "$disk" tiny.fbmodel
# nothing may read, so that nothing runs the queue
idle 0

# ---- tasks and tunables, on a disk that nobody uses ----

expect_order "no task" drive
echo start > "$(fb "$disk")/scan"
expect_order "a task begins" policy
scan_stop "$disk"
expect_order "it is stopped" drive
iosched "$disk" depth 2
expect_order "depth 2" policy
iosched "$disk" depth auto
expect_order "depth auto" drive
idle 10000000
echo "start 0 80" > "$(fb "$disk")/scan"
expect_ok "a small task finishes" wait_for 30 grep -qx finished "$(fb "$disk")/scan"
expect_order "it has finished" drive

# ---- time: a stream's second, the guard's pause ----

idle 0
echo start > "$(fb "$disk")/scan"
expect_order "a task" policy
load stream --rw=read --bs=64k --iodepth=32
expect_ok "a stream is found" wait_for 10 orders drive
load_ends stream
expect_order "a stream" drive
n=$(requests)
sleep 1.5
expect_order "a second after it" policy
expect_eq "nothing came meanwhile" "$(requests)" "$n"

iosched "$disk" conservatism_us 0
iosched "$disk" target_slowdown_ppm 1
load guard --rw=randread --bs=4k --iodepth=8
expect_ok "the guard trips" wait_for 60 number_above "$disk" stats/guard_trips 0
expect_ok "the guard: the drive orders" wait_for 1 orders drive
load_ends guard
expect_order "the guard's pause" drive
n=$(requests)
sleep 12
expect_order "it is over" policy
expect_eq "nothing came meanwhile" "$(requests)" "$n"
iosched "$disk" conservatism_us auto
iosched "$disk" target_slowdown_ppm 1000000

# ---- commands that hang: what the drive may have now must be sent now ----

hung()
{
	! grep -q 'hang_next [1-9]' $M/d/inject && [ "$(state "$disk" in_flight)" = 2 ]
}

# hang_two NAME: two commands hang and nothing moves
hang_two()
{
	aborts=$(drive_stat d aborts)
	echo hang_next 2 > $M/d/inject
	expect_ok "$1: two commands hang" wait_for 10 hung
	sleep 1
	n=$(requests)
	sleep 1
	expect_eq "$1: nothing is sent" "$(requests)" "$n"
	expect_ge "$1: requests are pending" "$(state "$disk" pending)" 6
}

# moves_on NAME
moves_on()
{
	sleep 2
	expect_ge "$1: what was pending is sent" $(($(requests) - n)) 100
	expect_eq "$1: before the time-out" "$(drive_stat d aborts)" "$aborts"
	wait_for 60 sh -c ". /lab/lib.sh; [ \$(drive_stat d aborts) -ge $((aborts + 2)) ]"
}

# no plan fits: behind a read of a plan that hangs the choice would be final
iosched "$disk" conservatism_us 10000
load hung --rw=randread --bs=4k --iodepth=16
hang_two "a task that ends"
before=$(stats "$disk" choices)
iosched "$disk" policy sstf
expect_ge "another policy: it chooses anew" $(($(stats "$disk" choices) - before)) 1
iosched "$disk" conservatism_us auto
iosched "$disk" policy auto
echo stop > "$(fb "$disk")/scan"
moves_on "a task that ends"
expect_ok "it has ended" scan_stop "$disk"
iosched "$disk" depth 2
sleep 1
hang_two "a greater depth"
iosched "$disk" depth 4
moves_on "a greater depth"
iosched "$disk" depth auto
load_ends hung

# ---- back and forth under load ----

load flip --rw=randread --bs=4k --iodepth=16
i=0
while [ $i -lt 100 ]; do
	echo start > "$(fb "$disk")/scan"
	sleep 0.03
	scan_stop "$disk" || break
	i=$((i + 1))
done
expect_eq "tasks came and went" $i 100
load_ends flip
expect_le "nobody was forgotten: longest response, us" "$(fio_field flip 15)" 2000000
drive_off d
expect_within "unload freeblock" 20 unload_module freeblock
done_testing
