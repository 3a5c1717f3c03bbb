# SPDX-License-Identifier: GPL-2.0
# A reader of /dev/freeblock that goes while the drive is stuck: close() does not wait for the drive,
# nothing is reported as hung, and what is left of the task keeps the module until the drive is done.
#
# Expected: SCSI's time-out is 60 s here, and the hung-task detector's limit 10 s; close() waits 5 s
# at most (tasks/user.c).
#
# Seen to fail with: close() that waits for the task (hung task in the log, and gone only after
# 60 s); a work that does not keep the module.
#
# lab-compile: fbread.c
# lab: kernel=stock clock=icount smp=1 timeout=300

. /lab/lib.sh

is_stuck()
{
	[ "$(drive_stat a hung)" = 1 ]
}

no_tasks()
{
	[ "$(cat "$(fb "$disk")/tasks")" = 0 ]
}

load_module mechdisk
load_module freeblock
disk=$(drive_new a tiny.fbdrive "") || exit 1
sched_set "$disk" freeblock
model_load "$disk" tiny.fbmodel
echo 1000 > "$(fb "$disk")/idle_wait_us"
echo 10000000 > "$(fb "$disk")/idle_mean_us"
echo 60 > "/sys/block/$disk/device/timeout"
echo 10 > /proc/sys/kernel/hung_task_timeout_secs
echo hang_next 1 > /sys/kernel/mechdisk/a/inject
fbread copy "/dev/$disk" count=4000 flags=2 > /tmp/copy 2>&1 &
reader=$!
expect_ok "a read is stuck" wait_for 30 is_stuck
kill -9 $reader
expect_within "the reader goes" 20 wait_for 20 [ ! -d /proc/$reader ]
wait $reader
expect_ok "while the read is still stuck" is_stuck
expect_fail "its task is still there" no_tasks
expect_ok "another reader begins" fbread copy "/dev/$disk" first=8000 count=8 promote=1 flags=2
expect_fail "the module stays" unload_module freeblock
expect_ok "the task ends when the drive is reset" wait_for 200 no_tasks

# ---- what a reader takes is charged to its cgroup ----

# Of I/O only reads sent as foreground requests for one task; others are not known when their request
# is made. Seen to fail with the root charged.
mkdir /tmp/cgroup
mount -t cgroup2 cgroup2 /tmp/cgroup
echo +io +memory > /tmp/cgroup/cgroup.subtree_control
mkdir /tmp/cgroup/reader
echo 0 > "$(fb "$disk")/idle_mean_us"
# shellcheck disable=SC2016
sh -c 'echo $$ > /tmp/cgroup/reader/cgroup.procs; exec fbread hold /dev/$0' "$disk" > /tmp/hold &
reader=$!
expect_ok "a reader with a buffer" wait_for 30 grep -q holds /tmp/hold
note "$(cat /tmp/cgroup/reader/memory.current) bytes"
expect_ge "its buffer is charged, KiB" $(($(cat /tmp/cgroup/reader/memory.current) / 1024)) 4096
kill -9 $reader
wait $reader
expect_ok "it goes" wait_for 20 no_tasks
expect_le "and nothing is left, KiB" $(($(cat /tmp/cgroup/reader/memory.current) / 1024)) 1024
# shellcheck disable=SC2016
sh -c 'echo $$ > /tmp/cgroup/reader/cgroup.procs
	exec fbread copy /dev/$0 first=0 count=8000 promote=1 flags=2' "$disk" > /tmp/copy 2>&1
expect_eq "promoted blocks are read" "$(kv /tmp/copy end)" 0
note "$(cat /tmp/cgroup/reader/io.stat)"
promoted=$(($(stats "$disk" promoted_sectors) * 512))
expect_ge "bytes of promoted reads" $promoted $((8000 * 512))
expect_ge "charged to the reader" \
	"$(sed 's/.*rbytes=\([0-9]*\).*/\1/' /tmp/cgroup/reader/io.stat)" $((promoted - 512 * 512))

# ---- but the disk's thread does not wait for that cgroup ----

# Its 4 MiB cost 20 s of a disk that iocost believes to read 0.2 MB/s. Seen to fail without
# REQ_META.
dev=$(cat "/sys/block/$disk/dev")
echo "$dev ctrl=user model=linear rbps=200000 rseqiops=1000 rrandiops=1000" \
	> /tmp/cgroup/io.cost.model
echo "$dev enable=1 ctrl=user rpct=0 wpct=0 min=100.00 max=100.00" > /tmp/cgroup/io.cost.qos
# shellcheck disable=SC2016
sh -c 'echo $$ > /tmp/cgroup/reader/cgroup.procs
	exec fbread copy /dev/$0 first=0 count=8000 promote=1 flags=2' "$disk" > /tmp/copy 2>&1 &
reader=$!
sleep 1
expect_within "a task of another cgroup is served, s" 3 \
	fbread copy "/dev/$disk" first=9000 count=8 promote=1 flags=2
echo "$dev enable=0" > /tmp/cgroup/io.cost.qos
wait $reader
expect_ok "both are over" wait_for 60 no_tasks

# ---- nor do others when io.max holds that cgroup's reads back, with their buffers ----

# At 400 kB/s its 4 MiB take 10 s. Seen to fail with a task that may have all buffers held back.
echo "$dev rbps=400000" > /tmp/cgroup/reader/io.max
# shellcheck disable=SC2016
sh -c 'echo $$ > /tmp/cgroup/reader/cgroup.procs
	exec fbread copy /dev/$0 first=0 count=8000 promote=1 flags=2' "$disk" > /tmp/copy 2>&1 &
reader=$!
sleep 1
expect_within "io.max: a task of another cgroup is served, s" 2 \
	fbread copy "/dev/$disk" first=9000 count=800 promote=1 flags=2
expect_ok "io.max: while the other one still reads" [ -d /proc/$reader ]
echo "$dev rbps=max" > /tmp/cgroup/reader/io.max
wait $reader
expect_eq "io.max: promoted blocks are read" "$(kv /tmp/copy end)" 0
expect_ok "io.max: both are over" wait_for 60 no_tasks
drive_off a
expect_ok "freeblock unloads" wait_for 20 unload_module freeblock
expect_ok "and takes its device along" [ ! -e /dev/freeblock ]
expect_within "mechdisk unloads" 30 unload_module mechdisk
done_testing
