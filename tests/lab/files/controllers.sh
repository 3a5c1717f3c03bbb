# SPDX-License-Identifier: GPL-2.0
# controllers.sh - what t-controllers.sh and s-controllers.sh share: QEMU's disks behind the kernel's
# drivers (devices.py). A check is called "DRIVER: TEST: what".
#
#	controllers_begin N		loads freeblock and the drivers, waits for N disks, gives
#					all of them freeblock and a model
#	disks				DRIVER:DISK of each
#	served				of those that are read
#	begin_job DISK scan|scrub	one of all of the disk, in idle time without regard for cost
#	job_is DISK scan|scrub STATE
#	load NAME DRIVER:DISK		a load that reads what it wrote, in the background
#	loads_run NAME DRIVER:DISK...	one of them has not ended
#	loads_end NAME DRIVER:DISK...	they end, without an error

# Behind the bad sector, where a disk has one
LOAD="--offset=8m --size=1m"

driver_of()
{
	local path

	path=$(readlink -f "/sys/block/$1/device")
	# sd drives the disk: what drives the controller is above
	while [ "$path" != /sys ]; do
		case $(readlink "$path/driver") in
		""|*/sd) path=$(dirname "$path") ;;
		*) break ;;
		esac
	done
	basename "$(readlink "$path/driver")"
}

block_devices()
{
	local path

	for path in /sys/block/sd* /sys/block/nvme* /sys/block/vd*; do
		[ ! -e "$path" ] || basename "$path"
	done
}

disks()
{
	local each

	for each in $(block_devices); do
		echo "$(cat "/tmp/driver-$each" 2>/dev/null):$each"
	done
}

served()
{
	disks | grep -v '^nvme:'
}

there_are()
{
	[ "$(block_devices | wc -l)" = "$1" ]
}

attach()
{
	local disk="$1" model=qemu-scsi.fbmodel

	driver_of "$disk" > "/tmp/driver-$disk"
	sched_set "$disk" freeblock || return 1
	! grep -q '^ATA' "/sys/block/$disk/device/vendor" 2>/dev/null || model=qemu-ata.fbmodel
	model_load "$disk" $model
	# the subject is not cost
	echo 1000 > "$(fb "$disk")/idle_wait_us"
	echo 10000000 > "$(fb "$disk")/idle_mean_us"
}

controllers_begin()
{
	load_module freeblock
	load_drivers
	wait_for 120 there_are "$1" ||
		die "disks: $(block_devices | xargs)"
	for disk in $(block_devices); do
		expect_ok "$(driver_of "$disk"): attach: takes freeblock and a model" attach "$disk"
	done
}

job_is()
{
	[ "$(job "$1" "$2")" = "$3" ]
}

begin_job()
{
	echo start > "$(fb "$1")/$2"
}

load()
{
	local disk="${2#*:}"

	# shellcheck disable=SC2086
	fio --output="/tmp/$1-$disk" --name=load --filename="/dev/$disk" --ioengine=libaio \
		--direct=1 --rw=randwrite --bs=4k --iodepth=8 --verify=crc32c --do_verify=1 \
		--verify_fatal=1 --randseed=7 --allow_file_create=0 $LOAD > /dev/null 2>&1 &
	echo $! > "/tmp/$1-$disk.pid"
}

loads_run()
{
	local name="$1" each

	shift
	for each in "$@"; do
		[ ! -d "/proc/$(cat "/tmp/$name-${each#*:}.pid")/fd" ] || return 0
	done
	return 1
}

loads_end()
{
	local name="$1" disk each

	shift
	for each in "$@"; do
		disk=${each#*:}
		wait "$(cat "/tmp/$name-$disk.pid")"
		expect_eq "${each%:*}: $name: reads what it wrote, without an error" \
			"$? $(sed -n 's/.*err= *\([0-9]*\).*/\1/p' "/tmp/$name-$disk" | xargs)" "0 0"
	done
}

# counts DISK scan|scrub: blocks read, bad, and left out
counts()
{
	echo "$(job "$1" "$2" blocks_verified) $(job "$1" "$2" blocks_bad)" \
		"$(job "$1" "$2" blocks_skipped)"
}
