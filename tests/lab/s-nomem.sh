# SPDX-License-Identifier: GPL-2.0
# Each allocation that a call makes fails in turn (nomem.c): the module is loaded, a disk attached for
# the first time and again, a model uploaded, state read, scan and scrub started, a task of the
# kernel's created, a reader of /dev/freeblock goes through its life.
#
# Expected: every call either does what it should or is refused for want of memory; what was begun
# is undone (kmemleak, the account of memory_mib), nothing is used after it was freed (KASAN);
# and all of it works afterwards.
#
# lab-compile: nomem.c
# lab: kernel=debug clock=real smp=4 timeout=900

. /lab/lib.sh

drive_kind=slow
[ "$LAB_CLOCK" = real ] || drive_kind=tiny
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
disk=$(drive_new d $drive_kind.fbdrive) || exit 1
scheduler=/sys/block/$disk/queue/scheduler
walk 10 write "$scheduler" freeblock "$scheduler" none /lab/modules/freeblock.ko
load_module freeblock 2>/dev/null
walk 5 write "$scheduler" freeblock "$scheduler" none
sched_set "$disk" freeblock
D=$(fb "$disk")
walk 5 copy "$D/model" "$(lab_file $drive_kind.fbmodel)"
expect_match "the model is loaded in the end" "$(cat "$D/model_status")" '^loaded'
iosched "$disk" target_slowdown_ppm 1000000
for file in "$D/state/scheduling" "$D/model" "$D/coverage" "$D/tasks" "$(debug "$disk")/status" \
	"$(debug "$disk")/bad_blocks" "$(debug "$disk")/calibration"; do
	walk 1 read "$file"
done
for job in scan scrub; do
	walk 5 write "$D/$job" "start" "$D/$job" "stop"
	expect_match "$job is over" "$(job "$disk" $job)" 'stopped|finished|idle'
done
load_module fbconsumer
consumer=/sys/kernel/debug/fbconsumer/command
walk 5 write $consumer "start $disk 0 4096" $consumer destroy
unload_module fbconsumer
walk 20 user /dev/"$disk"

expect_ok "scan" sh -c "echo 'start 0 64' > $D/scan"
scan_stop "$disk"
expect_ok "none" sched_set "$disk" none
unload_module freeblock
drive_off d
done_testing
