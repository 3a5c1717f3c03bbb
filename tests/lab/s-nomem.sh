# SPDX-License-Identifier: GPL-2.0
# Each allocation that a call makes fails in turn (nomem.c): the module is loaded, a disk attached for
# the first time and again, a model uploaded, state read, scan and scrub started, a task of the
# kernel's created, a reader of /dev/freeblock goes through its life.
#
# Expected: every call either does what it should or is refused for want of memory; what was begun
# is undone (kmemleak, the account of memory_mib), nothing is used after it was freed (KASAN);
# and all of it works afterwards. Seen to fail with fb_disk_new() that does not put the disk's kobject
# when it cannot be added (kmemleak), and with a kset for the disks' folder, whose name Linux 6.1
# leaks (kmemleak). A disk's new name without memory: seen to fail with a name that is dropped, not
# tried again, and with kobject_rename()'s error ignored (the first disk keeps the name, the other has
# no directory).
#
# `make coverage LAB=1` runs it on the stock kernel, too: there what the module itself asks the kernel
# for fails (gcov/failing.h), which is less than all that its calls need.
#
# lab-compile: nomem.c
# lab: kernel=debug clock=real smp=4 timeout=900

. /lab/lib.sh

drive_kind=slow
[ "$LAB_CLOCK" = real ] || drive_kind=tiny
load_module mechdisk
gcov=/sys/kernel/debug/fbgcov
for kind in failslab fail_page_alloc; do
	[ ! -d $gcov ] || break
	[ -d /sys/kernel/debug/$kind ] || die "no $kind in this kernel"
	echo 0 > /sys/kernel/debug/$kind/verbose
	echo N > /sys/kernel/debug/$kind/ignore-gfp-wait
done

# walk LEAST/OWN COMMAND...: so many allocations fail at least, where only the module's own do
walk()
{
	local least="${1%/*}" said failed

	[ ! -d $gcov ] || least="${1#*/}"
	shift
	said=$(nomem "$@" 2>&1)
	expect_eq "$*: only want of memory" "$?" 0
	note "$(echo "$said" | tr '\n' ';')"
	failed=$(echo "$said" | awk -F'[: ]+' '/allocations failed/ { sub(/.*: /, ""); n += $1 }
		END { print n + 0 }')
	expect_ge "$1 ${2##*/}: allocations that failed" "$failed" "$least"
}

walk 10/5 insmod /lab/modules/freeblock.ko
disk=$(drive_new d $drive_kind.fbdrive) || exit 1
scheduler=/sys/block/$disk/queue/scheduler
# 75 measured: a new disk's directories are a work item's, whose allocations are not among them
walk 60/5 switch "$scheduler" /lab/modules/fbunref.ko /lab/modules/freeblock.ko
sched_set "$disk" none
expect_ok "it can be loaded anew" sh -c "rmmod freeblock && insmod /lab/modules/freeblock.ko"
walk 40/2 switch "$scheduler" /lab/modules/fbunref.ko
sched_set "$disk" freeblock
expect_eq "it has the scheduler in the end" "$(sched_get "$disk")" freeblock
D=$(fb "$disk")
walk 5/10 copy "$D/model" "$(model_table $drive_kind.fbmodel)"
expect_match "the model is loaded in the end" "$(cat "$D/model_status")" '^loaded'
iosched "$disk" target_slowdown_ppm 1000000
for job in scan scrub; do
	# what the last of them starts goes on
	walk 5/10 write "$D/$job" "start" "$D/$job" "stop"
	expect_match "$job runs, or is over, in the end" "$(job "$disk" $job)" 'running|finished'
	if [ $job = scrub ]; then
		walk 1/0 read "$D/coverage"
	fi
	echo stop > "$D/$job" 2>/dev/null
	expect_ok "$job is over" wait_for 60 \
		sh -c "grep -Eq 'stopped|finished|idle' $D/$job"
done
for file in "$D/model" "$D/tasks"; do
	walk 1/0 read "$file"
done
for file in "$D/state/scheduling" "$(debug "$disk")/numbers" "$(debug "$disk")/bad_blocks" \
	"$(debug "$disk")/calibration"; do
	walk 1/1 read "$file"
done
load_module fbconsumer
consumer=/sys/kernel/debug/fbconsumer/command
walk 5/10 write $consumer "start $disk 0 4096" $consumer destroy
echo destroy > $consumer
unload_module fbconsumer
walk 20/20 user /dev/"$disk"

# The tasks' thread asks a drive that nobody has used for long whether it spins. Without memory for the
# question it is not read, and is asked again ten seconds later.
if [ -d $gcov ]; then
	sleep 12
	reads=$(stats "$disk" idle_reads_ended)
	echo 1 > $gcov/fail-threads
	echo "start 0 64" > "$D/scan"
	sleep 5
	expect_eq "the thread had no memory" "$(cat $gcov/fail-threads)" 0
	expect_eq "no idle reads meanwhile" "$(stats "$disk" idle_reads_ended)" "$reads"
	expect_ok "they come later" wait_for 20 grep -q finished "$D/scan"
fi
# With the goals that hold by default nothing is read of a drive that turns ten times a second, for no
# read keeps them.
echo 10000000 > "$D/idle_mean_us"
echo 10000000 > "$D/idle_max_us"
expect_ok "scan" sh -c "echo 'start 0 64' > $D/scan"
expect_ok "it comes to its end" wait_for 60 grep -q finished "$D/scan"
scan_stop "$disk"
# A disk that is gone has to give its name to another. Without memory that is tried again, and the
# other's directories wait.
if [ -d $gcov ]; then
	first=$(cat "$D/id")
	drive_off d
	wait_for 20 [ ! -e /sys/block/"$disk" ] || die "d stays"
	echo 1 > $gcov/fail-threads
	other=$(drive_new e $drive_kind.fbdrive "serial OTHER") || exit 1
	expect_eq "rename: the same name" "$other" "$disk"
	expect_ok "rename: the other has the scheduler" sched_set "$other" freeblock
	expect_ok "rename: it has its directory" \
		wait_for 10 sh -c "[ -e $D/id ] && ! grep -qxF '$first' $D/id"
	expect_eq "rename: there was no memory" "$(cat $gcov/fail-threads)" 0
	expect_eq "rename: and the first its own" "$(cat "$(fb "$disk.gone1")"/id)" "$first"
	expect_eq "rename: there are no others" "$(ls -A /sys/kernel/freeblock | wc -l)" 2
	expect_ok "rename: in debugfs, too" test -e "$(debug "$disk.gone1")"/numbers
	disk=$other
fi
expect_ok "none" sched_set "$disk" none
unload_module freeblock
[ ! -d $gcov ] || drive_off e
drive_off d
done_testing
