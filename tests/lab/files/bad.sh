# SPDX-License-Identifier: GPL-2.0
# bad.sh - what t-bad.sh and t-liar.sh share: a scrub of a drive with bad sectors
#
#	fresh			a drive "d" under a freeblock that knows nothing; sets $disk
#				and $D, the disk's /sys/kernel/freeblock directory
#	bad TEXT		a line of the drive's medium_errors
#	listed			the disk's bad blocks, in one line
#	is STATE		of the scrub
#	no_error_handler NAME	the SCSI error handler has done nothing

M=/sys/kernel/mechdisk

fresh()
{
	if [ -d $M/d ]; then
		sched_set "$disk" none
		unload_module freeblock
		load_module freeblock
		echo d > $M/delete
	fi
	disk=$(drive_new d tiny.fbdrive) || exit 1
	sched_set "$disk" freeblock || die "no freeblock"
	model_load "$disk" tiny.fbmodel
	iosched "$disk" target_slowdown_ppm 1000000
	D=$(fb "$disk")
	echo 128 > "$D/bad_quarantine_kib"
	# the policy of idle reads is not the question here
	echo 10000000 > "$D/idle_mean_us"
	echo 50000 > "$D/idle_wait_us"
	echo 1 > $M/d/stats_reset
}

bad()
{
	echo "add $1" > $M/d/medium_errors || die "medium_errors refuses '$1'"
}

listed()
{
	sort -n "$(debug "$disk")/bad_blocks" | cut -d' ' -f1-3 | tr '\n' ';'
}

is()
{
	[ "$(job "$disk" scrub)" = "$1" ]
}

no_error_handler()
{
	expect_eq "$1: no command aborted" "$(drive_stat d aborts)" 0
	expect_eq "$1: no reset" "$(drive_stat d resets)" 0
	expect_eq "$1: the disk is running" "$(cat /sys/block/"$disk"/device/state)" running
}
