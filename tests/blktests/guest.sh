# SPDX-License-Identifier: GPL-2.0
# Runs ids of blktests one after the other in a guest whose root is Debian's (root.py), and
# tells run about each as it goes: lines "bt WORD ..." (verdict.py reads them).
#
#	BT_MODE		control: mq-deadline, and no freeblock.ko; freeblock; with_scan:
#			freeblock, with a model of the simulated drive and a scan of it that is
#			begun again whenever it is over
#	BT_DRIVE	what the simulated drive is: BT_DRIVE.fbdrive, BT_DRIVE.fbmodel
#	BT_TIMEOUT	seconds that the suite gives to tests which run for a time
#	BT_LIMIT	seconds of the guest's after which an id is ended
#	/lab/plan	lines "DEVICE ID"; device "own": the test makes its devices itself

. /lab/lib.sh

scheduler=freeblock
[ "$BT_MODE" = control ] && scheduler=mq-deadline
# dev_nullb and faultb0 are null_blk's of some tests
devices='sd*|nullb*|dev_nullb*|faultb*|loop*'

bt()
{
	echo "bt $*"
}

# Lines of a file, each after a word
send()
{
	sed "s/\r//g; s/^/bt $1 /" "$2"
}

start_udev()
{
	mount -t tmpfs run /run
	echo "ACTION==\"add\", SUBSYSTEM==\"block\", ENV{DEVTYPE}==\"disk\", KERNEL==\"$devices\"," \
		"ATTR{queue/scheduler}=\"$scheduler\"" > /etc/udev/rules.d/60-scheduler.rules
	/lib/systemd/systemd-udevd --daemon || die "no udevd"
	udevadm control --ping || die "udevd does not answer"
}

# A scan of the simulated drive, for ever. It is refused while the disk has another scheduler.
keep_scanning()
{
	while :; do
		grep -qx running "$(fb "$disk")/scan" ||
			echo start > "$(fb "$disk")/scan"
		sleep 1
	done 2>/dev/null
}

scanned()
{
	job "$disk" scan blocks_delivered
}

# A model that freeblock distrusts after what an id did ends the scan; a switch forgets that.
# Completions are late where the clock is real.
trust()
{
	[ "$BT_MODE" = with_scan ] || return 0
	[ "$(state "$disk" scheduling)" = yes ] && return
	sched_set "$disk" none
	sched_set "$disk" "$scheduler"
	wait_for 20 grep -qx running "$(fb "$disk")/scan"
}

prepare()
{
	modprobe configfs && mount -t configfs config /sys/kernel/config || die "no configfs"
	ln -s /proc/self/fd /dev/fd
	mount -t cgroup2 cgroup2 /sys/fs/cgroup || die "no cgroup2"
	modprobe mq-deadline
	[ "$BT_MODE" = control ] || load_module freeblock
	start_udev
	load_module mechdisk
	disk=$(drive_new sim "$BT_DRIVE.fbdrive") || exit 1
	udevadm settle
	[ "$(sched_get "$disk")" = "$scheduler" ] || die "$disk has not the scheduler $scheduler"
	[ "$BT_MODE" = with_scan ] || return
	model_load "$disk" "$BT_DRIVE.fbmodel"
	keep_scanning &
	wait_for 60 grep -qx running "$(fb "$disk")/scan" || die "no scan"
}

# Sets $device to the disk that stands for $1, made new but for the simulated one
device_up()
{
	device=
	case $1 in
	simulated)
		device=$disk
		sched_set "$disk" "$scheduler"
		;;
	scsi_debug)
		modprobe scsi_debug dev_size_mb=128 delay=1 lbpu=1 || return 1
		udevadm settle
		for path in /sys/bus/pseudo/drivers/scsi_debug/adapter*/host*/target*/*/block/*; do
			device=${path##*/}
		done
		;;
	null_blk)
		modprobe null_blk nr_devices=0 && mkdir /sys/kernel/config/nullb/nullb0 || return 1
		for item in size=256 memory_backed=1 discard=1 irqmode=2 power=1; do
			echo "${item#*=}" > "/sys/kernel/config/nullb/nullb0/${item%=*}" || return 1
		done
		udevadm settle
		device=nullb0
		;;
	*)
		return 0
		;;
	esac
	[ "$(sched_get "$device")" = "$scheduler" ]
}

# The test's devices are gone, too; else the next id would meet them
devices_down()
{
	udevadm settle
	for item in /sys/kernel/config/nullb/*; do
		[ -d "$item/" ] && [ -e "$item/power" ] && rmdir "$item"
	done
	for item in null_blk scsi_debug; do
		grep -q "^$item " /proc/modules && rmmod "$item"
	done
	! grep -Eq '^(null_blk|scsi_debug) ' /proc/modules
}

# Is process $1 running? A zombie is not.
runs()
{
	[ -d "/proc/$1" ] && ! grep -q '^State:.Z' "/proc/$1/status" 2>/dev/null
}

# Runs id $1; status: 0 ended, 1 ended by us, 2 something of it cannot be ended
run_id()
{
	local pid left=$((BT_LIMIT * 5))

	setsid bash ./check -c /tmp/config -o /tmp/results "$1" > /tmp/said 2>&1 &
	pid=$!
	while runs $pid && [ $left -gt 0 ]; do
		sleep 0.2
		left=$((left - 1))
	done
	runs $pid || return 0
	echo w > /proc/sysrq-trigger
	pkill -KILL -s $pid
	wait_for 10 sh -c "! pgrep -s $pid" && return 1
	return 2
}

one()
{
	local status before

	bt begin "$1" "$2"
	dmesg -C
	rm -rf /tmp/results
	trust
	if device_up "$1"; then
		echo "TEST_DEVS=(${device:+/dev/$device}) TIMEOUT=$BT_TIMEOUT LOGGER_PROG=true" > /tmp/config
		before=$(scanned)
		run_id "$2"
		status=$?
		[ "$BT_MODE" != with_scan ] || [ "$(scanned)" != "$before" ] ||
			bt still "$(job "$disk" scan), $(state "$disk" free_reads)"
	else
		status=3
		echo "device $1 cannot be made" > /tmp/said
	fi
	send out /tmp/said
	dmesg | head -n 1500 > /tmp/log
	send log /tmp/log
	bt end "$1" "$2" $status
	[ $status -lt 2 ] || return 1
	devices_down
}

cd /blktests || die "no suite"
prepare
( while sleep 5; do bt alive; done ) &
alive=$!
while read -r where id; do
	one "$where" "$id" || { bt dirty "$where" "$id"; break; }
done < /lab/plan
kill $alive
bt "done"
