# SPDX-License-Identifier: GPL-2.0
# What a switch of schedulers does. The kernel loads the module for it, as it does bfq's. While the
# queue is frozen nothing is made, renamed or removed in sysfs or debugfs, and no thread is
# created: reclaim behind the locks of those may wait for this queue. The directories come soon
# after, under the right names, though disks swap theirs, and all at once; a module that is unloaded
# meanwhile leaves none. Then: the tasks' thread, which has the lowest priority, sends nothing
# to the drive itself, neither reads nor questions.
#
# Seen to fail with: no MODULE_ALIAS; directories that fb_disk_attach() makes and renames itself
# (kernfs and debugfs in the trace); blk_mq_run_hw_queues(q, false) in fb_idle_offer(), and
# fb_drive_query_ask() that calls what it should schedule (commands sent by the thread); names that
# are applied last first (another disk's directory).
#
# lab: kernel=stock clock=icount smp=1 timeout=300

. /lab/lib.sh

T=/sys/kernel/debug/tracing

load_module mechdisk
install_freeblock
one=$(drive_new one tiny.fbdrive "serial MDone") || exit 1

# ---- the module comes by itself ----

expect_ok "bfq loads itself" sched_set "$one" bfq
expect_eq "freeblock is not loaded" "$(ls -d /sys/module/freeblock 2>/dev/null)" ""
expect_ok "freeblock loads itself" sched_set "$one" freeblock
[ -d /sys/module/freeblock ] || load_module freeblock
expect_match "and says which it is" "$(cat /sys/module/freeblock/version 2>/dev/null)" '^[0-9.]+$'
sched_set "$one" none

# ---- in a freeze ----

# what waits for a lock of sysfs or debugfs, or for a thread
forbidden='kernfs_|sysfs_|debugfs_|kobject_(add|del|rename|uevent)|kthread_create|simple_recursive'

# traced COMMAND...: sets $calls, the functions called in init_sched and exit_sched meanwhile
traced()
{
	echo 'fb_iosched_init_sched_compat fb_iosched_exit_sched' > $T/set_graph_function
	echo 0 > $T/options/funcgraph-irqs
	echo function_graph > $T/current_tracer
	"$@"
	cat $T/trace > /tmp/trace
	echo nop > $T/current_tracer
	echo > $T/set_graph_function
	calls=$(grep -Eo '[a-z_][a-z0-9_.]*( \[freeblock\])?\(' /tmp/trace | sort -u)
}

# expect_nothing_made NAME FUNCTION: of what was traced, FUNCTION among it
expect_nothing_made()
{
	expect_match "$1: the trace has its calls" "$calls" "$2"
	expect_eq "$1: nothing is made in the freeze" \
		"$(echo "$calls" | grep -E "$forbidden" | tr '\n' ' ')" ""
}

id()
{
	cat "$(fb "$1")/id"
}

traced sched_set "$one" freeblock
expect_nothing_made "attached again" fb_disk_attach
one_id=$(id "$one")
traced sched_set "$one" none
expect_nothing_made "detached" fb_disk_detach
sched_set "$one" freeblock
drive_off one
two=$(drive_new two tiny.fbdrive "serial MDtwo") || exit 1
expect_eq "another disk has the name" "$two" "$one"
traced sched_set "$two" freeblock
expect_nothing_made "another disk" fb_folder_set_name
two_id=$(id "$two")
expect_ne "its directory is its own" "$two_id" "$one_id"

# ---- the names ----

# back NAME: power it on; sets $disk
back()
{
	echo 1 > /sys/kernel/mechdisk/"$1"/power
	wait_for 30 grep -q 'on sd' /sys/kernel/mechdisk/"$1"/status || die "$1 does not come back"
	disk=$(sed -n 's/.*on \(sd[a-z]*\).*/\1/p' /sys/kernel/mechdisk/"$1"/status)
	wait_for 30 [ -b /dev/"$disk" ] || die "no /dev/$disk"
}

# no name is missing, and none is left of what was done meanwhile
names()
{
	# shellcheck disable=SC2012
	ls -A "$1" | tr '\n' ' '
}

back one
other=$disk
sched_set "$other" freeblock
expect_eq "two disks" "$(id "$two") $(id "$other")" "$two_id $one_id"
drive_off one
drive_off two
back one
expect_eq "they swap their names" "$disk" "$two"
sched_set "$disk" freeblock
expect_eq "the first" "$(id "$two")" "$one_id"
back two
expect_eq "and the other" "$disk" "$other"
sched_set "$disk" freeblock
expect_eq "they have swapped" "$(id "$two") $(id "$other")" "$one_id $two_id"
expect_eq "no other directory" "$(names /sys/kernel/freeblock)" "$two $other "
expect_eq "nor in debugfs" "$(names /sys/kernel/debug/freeblock)" "$two $other "
expect_eq "with all its files" "$(find "$(debug "$two")" -type f | wc -l)" 8
expect_eq "as many files" "$(find "$(fb "$two")" | wc -l)" "$(find "$(fb "$other")" | wc -l)"

# ---- the module goes while directories are still to be made ----

unload_early()
{
	local i=0

	while [ $i -lt 8 ]; do
		echo freeblock > /sys/block/"$two"/queue/scheduler || return 1
		echo none > /sys/block/"$two"/queue/scheduler
		rmmod freeblock || return 1
		[ ! -e /sys/kernel/freeblock ] && [ ! -e /sys/kernel/debug/freeblock ] || return 1
		i=$((i + 1))
	done
}

sched_set "$other" none
sched_set "$two" none
expect_within "freeblock unloads" 30 unload_module freeblock
expect_within "again and again, at once" 60 unload_early

# ---- who sends ----

# what the tasks' thread has sent to the drive since sent_begin
sent_by_thread()
{
	echo 0 > $T/events/block/block_rq_issue/enable
	grep -c 'block_rq_issue' $T/trace
}

sent_begin()
{
	echo > $T/trace
	echo 'comm ~ "freeblock/*"' > $T/events/block/block_rq_issue/filter
	echo 1 > $T/events/block/block_rq_issue/enable
}

sched_set "$two" freeblock
# the three seconds may lie in a control stretch of the trial
echo 0 > "$(fb "$two")/trial"
model_load "$two" tiny.fbmodel
sent_begin
# so long without a command that the drive is asked whether it sleeps
sleep 11
echo start > "$(fb "$two")/scan"
fio_run foreground --filename=/dev/"$two" --direct=1 --ioengine=libaio --iodepth=8 --rw=randrw \
	--bs=4k --norandommap --time_based --runtime=3 --thinktime=200ms --thinktime_blocks=8
sleep 2
expect_ge "idle reads" "$(stats "$two" idle_reads)" 1
expect_ge "reads in gaps" "$(stats "$two" gaps)" 1
expect_eq "the thread sends nothing to the drive" "$(sent_by_thread)" 0
expect_within "the scan stops" 30 scan_stop "$two"
sched_set "$two" none
drive_off one
drive_off two
expect_within "and unloads" 30 unload_module freeblock
done_testing
