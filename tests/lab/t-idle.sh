# SPDX-License-Identifier: GPL-2.0
# Reads while the disk is idle (Practical Scrubbing, V): a scan of an idle disk goes to its
# end, every block once; beside a foreground that thinks between its requests the disk's
# pauses are used and both goals kept; a goal of 0 switches it off. What bypasses schedulers
# is foreground, the held request does not look like one that waits, nor does a freeze wait
# for it; a disk with protection information is scanned, too.
#
# lab-programs: load
# lab: kernel=stock clock=icount smp=1 timeout=1200

. /lab/lib.sh

# idle KEY: a counter of idle reads
idle()
{
	stats "$disk" "idle_$1"
}

# think NAME SECONDS SEED: reads all over, eight a second, due at the same instants whatever the disk
# does; sets $mean, microseconds. (fio sends none while it waits for others, so that those behind a
# late one come together: it saw requests lose 100 us more than these.)
think()
{
	load random "/dev/$disk" reads=100 rate=8000 depth=256 seed="$3" seconds="$2" \
		out=/tmp/latencies > "/tmp/$1"
	expect_eq "$1: no errors" "$(kv "/tmp/$1" errors)" 0
	mean=$(od -An -v -tu4 -w4 /tmp/latencies | awk '{ s += $1 } END { printf "%d", s / NR }')
	note "$1: mean $mean us"
}

# slowdowns FIRST LAST: the same requests of these seeds, without and with a scan; adds to $slower,
# microseconds
slowdowns()
{
	local seed means=""

	scan_stop "$disk"
	echo 0 > "$(fb "$disk")/idle_mean_us"
	for seed in $(seq "$1" "$2"); do
		think alone$seed 40 $seed
		means="$means $mean"
	done
	# Set anew, for what requests without a scan had saved up by then would be spent now (735 us)
	echo 500 > "$(fb "$disk")/idle_mean_us"
	echo start > "$(fb "$disk")/scan"
	for seed in $(seq "$1" "$2"); do
		think beside$seed 40 $seed
		slower="$slower $((mean - $(echo $means | cut -d' ' -f$((seed - $1 + 1)))))"
	done
}

# go_on: there were idle reads since the count $reads
go_on()
{
	[ $(($(idle reads_ended) - reads)) -ge 20 ]
}

# hog_while_held: a real-time task takes all processor time while our thread has a request; sets
# $hog and $held. The thread may just have none when the task begins, or have none for ten
# seconds, in an interval that is left without reads: then once more.
hog_while_held()
{
	for attempt in $(seq 20); do
		chrt -f 20 sh -c 'while :; do :; done' &
		hog=$!
		sleep 0.5
		held=$(grep -x busy=1 /sys/kernel/debug/block/"$disk"/hctx0/sched_tags) && return
		kill -9 $hog
		wait $hog
		note "no request was held in attempt $attempt"
		sleep 0.1
	done
}

load_module mechdisk
load_module freeblock

disk=$(drive_new toy tiny.fbdrive "journal_records 262144") || exit 1
sched_set "$disk" freeblock
model_load "$disk" tiny.fbmodel
expect_ok "a task on an idle disk" consumer_start "$disk" toy
echo start > "$(fb "$disk")/scan"
expect_ok "it ends" wait_for 60 consumer_over
expect_ok "so does a scan beside it" wait_for 60 grep -qx finished "$(fb "$disk")/scan"
expect_eq "each block once" "$(consumer deliveries)" 6267
note "$(numbers "$disk" state stats | grep idle | tr '\n' ' ')"
expect_eq "nobody was made to wait" "$(idle collisions)" 0
expect_ge "all of it by idle reads" "$(idle sectors)" 45000
consumer_keep "$disk" toy
unload_module fbconsumer
drive_off toy

disk=$(drive_new a atlas10k.fbdrive "") || exit 1
sched_set "$disk" freeblock
model_load "$disk" atlas10k.fbmodel
# gaps have a limit of their own: none is used
iosched "$disk" conservatism_us 10000
slower=""
slowdowns 1 45
# The mean of 45 is 26 off by chance (bounds): if they say that the goal is missed, so have to 135
# more, with them. A mean that is above it stays there.
# shellcheck disable=SC2086
if ! number_is "$(mean_of $slower)" le 500; then
	note "in doubt: $slower"
	slowdowns 46 180
fi
note "$(numbers "$disk" state stats | grep idle | tr '\n' ' ')"
# shellcheck disable=SC2086
expect_mean "mean slowdown, us" 300 600 $slower
# shellcheck disable=SC2086
promise "idle_mean_us 500: mean slowdown, us" "$(mean_of $slower)" le 500
expect_le "mean slowdown as measured, ns" "$(state "$disk" idle_mean_ns)" 500000
expect_ge "idle reads" "$(idle reads_ended)" 100
echo 0 > "$(fb "$disk")/idle_mean_us"
reads=$(idle reads_ended)
think off 5 3
expect_le "off: no more idle reads" $(($(idle reads_ended) - reads)) 1

# ---- what bypasses schedulers is foreground, too ----

# Seen to fail without fb_iosched_look(): 59 idle reads meanwhile, no request seen.
grep -q "^running" "$(fb "$disk")/scan" || echo start > "$(fb "$disk")/scan"
echo 20000 > "$(fb "$disk")/idle_wait_us"
echo 10000000 > "$(fb "$disk")/idle_mean_us"
sleep 1
requests=$(idle requests)
reads=$(idle reads_ended)
expect_ok "a second of VERIFYs through SG_IO" sg_verify --count=60000 --bpc=1024 /dev/"$disk"
expect_le "idle reads meanwhile" $(($(idle reads_ended) - reads)) 3
expect_ge "they were seen" $(($(idle requests) - requests)) 30
note "$(numbers "$disk" state stats | grep idle | tr '\n' ' ')"
# the interval may be one of those that are left without, for ten seconds
expect_ok "idle reads go on" wait_for 15 go_on

# ---- what is held has not waited ----

# iocost throttles all cgroups if requests wait for their turn. Seen to fail without
# fb_free_read_set_out(): 103 of a hundred.
echo 0 > "$(fb "$disk")/idle_wait_us"
mkdir /tmp/cgroup
mount -t cgroup2 cgroup2 /tmp/cgroup
echo +io > /tmp/cgroup/cgroup.subtree_control
mkdir /tmp/cgroup/user
echo "$(cat /sys/block/"$disk"/dev) enable=1 ctrl=user rpct=0 wpct=0" > /tmp/cgroup/io.cost.qos
adjusted=/sys/kernel/debug/tracing/events/iocost/iocost_ioc_vrate_adj/enable
echo 1 > $adjusted
# shellcheck disable=SC2016
sh -c 'echo $$ > /tmp/cgroup/user/cgroup.procs
	for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
		dd if=/dev/$0 of=/dev/null bs=4k count=1 skip=$((i * 7919)) iflag=direct
		sleep 0.1
	done' "$disk" 2>/dev/null
echo 0 > $adjusted
expect_le "requests waited, of a hundred" "$(sed -n 's/.*rq_wait_pct=\([0-9]*\).*/\1/p' \
	/sys/kernel/debug/tracing/trace | sort -n | tail -n 1 | grep . || echo 0)" 5
echo "$(cat /sys/block/"$disk"/dev) enable=0" > /tmp/cgroup/io.cost.qos

# ---- a freeze does not wait for our thread ----

# It is at the lowest priority, and all processor time is a real-time task's. RCU is not
# meant to starve. Seen to fail without fb_free_read_is_awaited(): no end while the hog is there.
echo -1 > /proc/sys/kernel/sched_rt_runtime_us
for comm in $(grep -lE '^(rcu_preempt|rcu_sched|ksoftirqd/0)$' /proc/[0-9]*/comm); do
	chrt -f -p 30 "$(echo "$comm" | cut -d/ -f3)"
done
chrt -f -p 50 $$
hog_while_held
expect_ok "a request is held" test "$held" = busy=1
expect_within "the scheduler is switched" 10 sched_set "$disk" none
kill -9 $hog
wait $hog
chrt -o -p 0 $$
echo 950000 > /proc/sys/kernel/sched_rt_runtime_us
echo stop > "$(fb "$disk")/scan"
drive_off a

# ---- a disk with protection information ----

# Whose idle reads cannot be aimed anew. Seen to fail with fb_free_read_is_fixed() false: the
# scan does not end, and half of the blocks are called bad.
load_module scsi_debug dif=1 dix=1 dev_size_mb=16 ndelay=5000000
expect_ok "a disk" wait_for 30 sh -c 'grep -l scsi_debug /sys/block/sd*/device/model'
disk=$(grep -l scsi_debug /sys/block/sd*/device/model | head -n 1 | cut -d/ -f4)
expect_ok "with protection information" \
	wait_for 30 grep -q T10-DIF-TYPE1-CRC /sys/block/"$disk"/integrity/format
# what was never written is not checked
dd if=/dev/urandom of=/dev/"$disk" bs=64k count=256 oflag=direct 2>/dev/null
echo 1 > /sys/block/"$disk"/queue/rotational
sched_set "$disk" freeblock
model_load "$disk" scsi-debug.fbmodel
echo 10000 > "$(fb "$disk")/idle_wait_us"
echo start > "$(fb "$disk")/scan"
expect_ok "a scan ends" wait_for 10 grep -qx finished "$(fb "$disk")/scan"
expect_eq "all blocks, none bad" "$(job "$disk" scan blocks_delivered) $(job \
	"$disk" scan blocks_bad)" "4096 0"
expect_eq "by idle reads" "$(idle sectors)" 32768
sched_set "$disk" none
sched_set "$disk" freeblock
echo start > "$(fb "$disk")/scan"
sleep 0.3
expect_within "another one stops" 20 scan_stop "$disk"
sched_set "$disk" none
unload_module scsi_debug

expect_within "unload freeblock" 20 unload_module freeblock
done_testing
