# SPDX-License-Identifier: GPL-2.0
# Other people's scrubs beside a foreground of 60 % of the drive's time (random reads of
# 4 to 32 KiB, Poisson, the same under each scheduler): a btrfs scrub, which is of the idle class by
# itself, and the check of an md RAID1, whose thread is given it. Under freeblock,
# mq-deadline and bfq: the foreground's 99th percentile alone and beside the scrub, and
# what the scrub reads.
#
# What the file system holds is allocated, not written: a scrub reads it all the same.
# File system and check begin at 21 % of the disk, from where the mean distance to a
# place drawn uniformly is that of a whole scan. md's limit while others use the disks is
# lifted, or it would read 1 MB/s.
#
# Leaves /out/others: SCRUB SCHEDULER MEAN_ALONE_US P99_ALONE_US MEAN_US P99_US KB_PER_S
# Variables: SECONDS_EACH, SCRUBS, SCHEDULERS, ATTRS (of freeblock, NAME=VALUE ...)
#
# lab-programs: load
# lab: kernel=stock clock=icount smp=1 timeout=1800

. /lab/lib.sh

SECONDS_EACH=${SECONDS_EACH:-100}
SCRUBS=${SCRUBS:-btrfs md}
SCHEDULERS=${SCHEDULERS:-freeblock mq-deadline bfq}
RATE=49000
DRIVE=nearline16
BEGIN_PM=211
GIB=$((1 << 30))

# foreground NAME FILE RATE: sets $mean and $p99 in us, $rest: sectors that all $disks
# read in the window for others
foreground()
{
	local name="$1" file="$2" rate="$3" disk snaps="" n

	for disk in $disks; do
		snaps="$snaps snap=/sys/block/$disk/stat"
	done
	# shellcheck disable=SC2086 # words are meant
	load random "$file" depth=1024 rate="$rate" reads=100 warmup=5 seconds="$SECONDS_EACH" \
		out=/tmp/latencies snaps=/tmp/snap $snaps > /tmp/said
	expect_eq "$name: ends" $? 0
	od -An -v -tu4 -w4 /tmp/latencies | sort -n > /tmp/us
	n=$(wc -l < /tmp/us)
	mean=$(awk '{ s += $1 } END { printf "%d", s / NR }' /tmp/us)
	p99=$(sed -n "$((n * 99 / 100))p" /tmp/us)
	rest=$(($(sectors end) - $(sectors begin) - $(kv /tmp/said bytes) / 512))
}

# sectors read of all disks in a snapshot
sectors()
{
	awk 'NF > 10 { s += $3 } END { printf "%d", s }' "/tmp/snap.$1"
}

# measure FILE RATE SCRUB...: alone, and beside the scrub that the command starts
measure()
{
	local file="$1" rate="$2" alone kbs

	shift 2
	foreground "$id-alone" "$file" "$rate"
	alone="$mean $p99"
	"$@"
	sleep 1
	foreground "$id" "$file" "$rate"
	kbs=$((rest * 512 / 1000 / SECONDS_EACH / copies))
	echo "$scrub $scheduler $alone $mean $p99 $kbs" >> /out/others
	note "$(tail -n 1 /out/others)"
	expect_ge "$id: kB/s" $kbs 1
}

# new_drives NAMES: sets $disks
new_drives()
{
	local name disk word

	disks=
	for name in "$@"; do
		disk=$(drive_new "$name" $DRIVE.fbdrive "journal_records 0
serial $name") || exit 1
		sched_set "$disk" "$scheduler"
		if [ "$scheduler" = freeblock ]; then
			model_load "$disk" $DRIVE.fbmodel
			for word in $ATTRS; do
				iosched "$disk" "${word%%=*}" "${word#*=}"
			done
		fi
		disks="$disks $disk"
	done
}

# drives_off NAMES
drives_off()
{
	local disk name

	for disk in $disks; do
		[ "$scheduler" = freeblock ] &&
			note "$disk: $(numbers "$disk" stats | grep -E '^(background|miss|order|guard)' |
			tr '\n' ' ')"
		sched_set "$disk" none
	done
	for name in "$@"; do
		drive_off "$name"
	done
}

btrfs_scrub()
{
	btrfs scrub start -B /mnt > /tmp/scrub 2>&1 &
	pid=$!
}

run_btrfs()
{
	local disk size

	copies=1
	new_drives "d$nr"
	disk=${disks# }
	size=$(cat "/sys/block/$disk/size")
	expect_ok "$id: partition" addpart "/dev/$disk" 1 \
		$((size / 1000 * BEGIN_PM / 8 * 8)) $((size / 10 / 8 * 8))
	wait_for 10 [ -b "/dev/${disk}1" ] || die "no partition"
	expect_ok "$id: mkfs" mkfs.btrfs -q -f -K -s 4096 -d single -m single "/dev/${disk}1"
	mkdir -p /mnt
	expect_ok "$id: mount" mount -t btrfs "/dev/${disk}1" /mnt
	expect_ok "$id: space" fallocate -l $((20 * GIB)) /mnt/file
	sync
	measure "/dev/$disk" $RATE btrfs_scrub
	btrfs scrub cancel /mnt > /dev/null
	wait $pid
	expect_match "$id: no errors" "$(cat /tmp/scrub)" "Error summary: +no errors found"
	expect_ok "$id: umount" umount /mnt
	drives_off "d$nr"
}

md_check()
{
	local md=/sys/block/md0/md

	echo 1000000 > /proc/sys/dev/raid/speed_limit_min
	echo 1000000 > /proc/sys/dev/raid/speed_limit_max
	echo $(($(cat /sys/block/md0/size) / 1000 * BEGIN_PM / 1024 * 1024)) > $md/sync_min
	echo check > $md/sync_action
	expect_ok "$id: the thread of the check" wait_for 5 pidof md0_resync
	expect_ok "$id: idle class" ionice -c 3 -p "$(pidof md0_resync)"
}

run_md()
{
	local disk devices=

	copies=2
	new_drives "d$nr" "e$nr"
	for disk in $disks; do
		devices="$devices /dev/$disk"
	done
	# shellcheck disable=SC2086 # words are meant
	expect_ok "$id: array" mdadm --create /dev/md0 --run --quiet --level=1 --raid-devices=2 \
		--assume-clean --bitmap=none $devices
	measure /dev/md0 $((2 * RATE)) md_check
	expect_eq "$id: still checking" "$(cat /sys/block/md0/md/sync_action)" check
	echo idle > /sys/block/md0/md/sync_action
	expect_ok "$id: stop" mdadm --quiet --stop /dev/md0
	drives_off "d$nr" "e$nr"
}

load_module mechdisk
load_module freeblock
load_module bfq
load_module btrfs
load_module raid1
nr=0
for scrub in $SCRUBS; do
	for scheduler in $SCHEDULERS; do
		nr=$((nr + 1))
		id=$scrub-$scheduler
		"run_$scrub"
	done
done
done_testing
