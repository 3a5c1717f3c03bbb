# SPDX-License-Identifier: GPL-2.0
# What the tests of array_scrub share; after lib.sh.

MD=/sys/block/md0/md

# new_members N FILE MODEL: sets $disks and $drives; $eager: what it costs does not matter
new_members()
{
	local i name disk

	disks="" drives=""
	for i in $(seq "$1"); do
		nr=$((${nr:-0} + 1))
		name=m$nr
		disk=$(drive_new $name "$2" "serial MD$name
journal_records 0") || exit 1
		sched_set "$disk" "${scheduler:-freeblock}" || die "no scheduler"
		[ "${scheduler:-freeblock}" = freeblock ] && model_load "$disk" "$3"
		[ -n "$eager" ] && be_eager "$disk"
		disks="$disks $disk"
		drives="$drives $name"
	done
}

be_eager()
{
	iosched "$1" target_slowdown_ppm 1000000
	echo 1000 > "$(fb "$1")/idle_wait_us"
	echo 10000000 > "$(fb "$1")/idle_mean_us"
	echo 60000000 > "$(fb "$1")/idle_max_us"
}

# disk_of SLOT
disk_of()
{
	echo $disks | cut -d' ' -f$(($1 + 1))
}

members_off()
{
	local name disk

	for disk in $disks; do
		sched_set "$disk" none
	done
	for name in $drives; do
		drive_off $name
	done
}

# create LEVEL N [MDADM ARGUMENTS...]: of $disks
create()
{
	local level="$1" n="$2" disk devices=

	shift 2
	for disk in $disks; do
		devices="$devices /dev/$disk"
	done
	mdadm --create /dev/md0 --run --quiet --force --level="$level" --raid-devices="$n" \
		--bitmap=none "$@" $devices || die "no array"
	wait_for 10 [ -b /dev/md0 ] || die "no /dev/md0"
	echo 1000000 > $MD/sync_speed_min
	echo 1000000 > $MD/sync_speed_max
	wait_for 300 at_rest || die "not synchronised: $(cat $MD/sync_action)"
	offset=$(cat $MD/dev-"${disks##* }"/offset)
}

at_rest()
{
	[ "$(cat $MD/sync_action)" = idle ] && [ "$(cat $MD/resync_start)" = none ]
}

# beneath SLOT SECTOR [SECTORS]: other data there, which md does not know of
beneath()
{
	dd if=/dev/urandom of=/dev/"$(disk_of "$1")" bs=512 seek=$((offset + $2)) \
		count="${3:-1}" iflag=fullblock oflag=direct conv=notrunc 2> /tmp/dd ||
		die "$(cat /tmp/dd)"
}

# md_check: sets $mismatch_cnt
md_check()
{
	echo check > $MD/sync_action
	wait_for 300 at_rest || die "no end of the check"
	mismatch_cnt=$(cat $MD/mismatch_cnt)
}
