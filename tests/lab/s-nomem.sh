# SPDX-License-Identifier: GPL-2.0
# Each allocation that a call makes fails in turn (nomem.c): the module is loaded, a disk attached for
# the first time and again, a model uploaded, state read, scan and scrub started, a task of the
# kernel's created, a reader of /dev/freeblock goes through its life.
#
# Expected: every call either does what it should or is refused for want of memory; what was begun
# is undone (kmemleak, the account of memory_mib), nothing is used after it was freed (KASAN);
# and all of it works afterwards. Seen to fail with fb_disk_new() that does not put the disk's kobject
# when it cannot be added (kmemleak), and with a kset for the disks' folder, whose name Linux 6.1
# leaks (kmemleak).
#
# lab-compile: nomem.c
# lab: kernel=debug clock=real smp=4 timeout=900

. /lab/lib.sh

load_module mechdisk
for kind in failslab fail_page_alloc; do
	[ -d /sys/kernel/debug/$kind ] || die "no $kind in this kernel"
	echo 0 > /sys/kernel/debug/$kind/verbose
	echo N > /sys/kernel/debug/$kind/ignore-gfp-wait
done

# walk LEAST COMMAND...: so many allocations fail at least
walk()
{
	local least="$1" said failed

	shift
	said=$(nomem "$@" 2>&1)
	expect_eq "$*: only want of memory" "$?" 0
	note "$(echo "$said" | tr '\n' ';')"
	failed=$(echo "$said" | awk -F'[: ]+' '/allocations failed/ { sub(/.*: /, ""); n += $1 }
		END { print n + 0 }')
	expect_ge "$1 ${2##*/}: allocations that failed" "$failed" "$least"
}

walk 10 insmod /lab/modules/freeblock.ko
disk=$(drive_new d slow.fbdrive) || exit 1
scheduler=/sys/block/$disk/queue/scheduler
# 75 measured: a new disk's directories are a work item's, whose allocations are not among them
walk 60 switch "$scheduler" /lab/modules/fbunref.ko /lab/modules/freeblock.ko
sched_set "$disk" none
expect_ok "it can be loaded anew" sh -c "rmmod freeblock && insmod /lab/modules/freeblock.ko"
walk 40 switch "$scheduler" /lab/modules/fbunref.ko
sched_set "$disk" freeblock
expect_eq "it has the scheduler in the end" "$(sched_get "$disk")" freeblock
D=$(fb "$disk")
walk 5 copy "$D/model" "$(model_table slow.fbmodel)"
expect_match "the model is loaded in the end" "$(cat "$D/model_status")" '^loaded'
iosched "$disk" target_slowdown_ppm 1000000
for job in scan scrub; do
	# what the last of them starts goes on
	walk 5 write "$D/$job" "start" "$D/$job" "stop"
	expect_match "$job runs, or is over, in the end" "$(job "$disk" $job)" 'running|finished'
	if [ $job = scrub ]; then
		walk 1/0 read "$D/coverage"
	fi
	echo stop > "$D/$job" 2>/dev/null
	expect_ok "$job is over" wait_for 60 \
		sh -c "grep -Eq 'stopped|finished|idle' $D/$job"
done
for file in "$D/model" "$D/tasks"; do
	walk 1 read "$file"
done
for file in "$D/state/scheduling" "$(debug "$disk")/numbers" "$(debug "$disk")/bad_blocks" \
	"$(debug "$disk")/calibration"; do
	walk 1 read "$file"
done
load_module fbconsumer
consumer=/sys/kernel/debug/fbconsumer/command
walk 5 write $consumer "start $disk 0 4096" $consumer destroy
echo destroy > $consumer
unload_module fbconsumer
walk 20 user /dev/"$disk"

# With the goals that hold by default nothing is read of a drive that turns ten times a second, for no
# read keeps them.
echo 10000000 > "$D/idle_mean_us"
echo 10000000 > "$D/idle_max_us"
expect_ok "scan" sh -c "echo 'start 0 64' > $D/scan"
expect_ok "it comes to its end" wait_for 60 grep -q finished "$D/scan"
scan_stop "$disk"
expect_ok "none" sched_set "$disk" none
unload_module freeblock
drive_off d
done_testing
