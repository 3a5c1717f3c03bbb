# SPDX-License-Identifier: GPL-2.0
# freeblock enable and freeblock scrub at a disk that is mounted and busy, of which nothing is known,
# with packages installed: a disk of 16 TB with its write cache on, an ext4 on a part of it that
# is written and flushed, reads everywhere. How long until the first block is verified, by the
# guest's clock? Then idle_only, scrub --all, a boot without a model, and off.
#
# Expected: within 10 s, a mean of three; the foreground's order is the drive's; files of the machine,
# scheduler and modules as they were, but for what the scrubs had verified.
#
# Seen to fail: an enable that takes ten seconds; a start at boot of disks
# with a model only; an off that leaves the record.
#
# lab: kernel=stock clock=icount smp=1 timeout=400
# lab-freeblock: enable setup off models scrub guard conf status
# lab-python: freeblock.extraction.refuse _pydecimal

. /lab/lib.sh

machine()
{
	find /etc /var/lib -exec ls -ld {} + | awk '{ print $1, $NF }' | sort
	find /etc /var/lib -type f -exec md5sum {} + | sort
	cat "/sys/block/$disk/queue/scheduler"
	cut -d ' ' -f 1 /proc/modules | sort
}

# 1/100 s since the guest has started
now()
{
	cut -d ' ' -f 1 /proc/uptime | tr -d .
}

verified()
{
	[ "$(job "$disk" scrub blocks_verified 2> /dev/null || echo 0)" -gt 0 ]
}

load_module mechdisk
load_module ext4
install_freeblock
disk=$(drive_new d nearline16-wc.fbdrive) || exit 1
sched_set "$disk" mq-deadline
addpart "/dev/$disk" 1 2048 262144 || die "no partition"
wait_for 10 [ -b "/dev/${disk}1" ] || die "no partition"
expect_ok "mkfs" mkfs.ext4 -q -E lazy_itable_init=0,lazy_journal_init=0 -J size=4 "/dev/${disk}1"
mkdir -p /mnt
mount -t ext4 "/dev/${disk}1" /mnt || die "no mount"
machine > /tmp/before

fio --name=reads --filename="/dev/$disk" --readonly --direct=1 --ioengine=libaio --iodepth=64 \
	--rw=randread --bs=8k --norandommap --time_based --runtime=600 --rate_iops=40 \
	--rate_process=poisson --randseed=7 --allrandrepeat=1 > /tmp/fio-reads 2>&1 &
reads=$!
fio --name=writes --filename=/mnt/file --size=16m --ioengine=psync --rw=randwrite --bs=4k --fsync=4 \
	--time_based --runtime=600 --rate_iops=8 --randseed=8 --allrandrepeat=1 \
	> /tmp/fio-writes 2>&1 &
writes=$!
sleep 5

### From a disk of which nothing is known to the first verified block

took=
for turn in 1 2 3; do
	began=$(now)
	expect_ok "$turn: enable" freeblock enable "/dev/$disk"
	enabled=$(now)
	freeblock scrub "$disk" run --quiet --before 0 > /tmp/scrub 2>&1 &
	scrub=$!
	expect_ok "$turn: a block is verified" wait_for 60 verified
	took="$took $(($(now) - began))"
	note "$turn: enabled after $((enabled - began))/100 s, verified after $(($(now) - began))/100 s"
	# the first reads may have told how fast it is
	expect_match "$turn: there is no map" "$(state "$disk" knowledge)" '^(none|rates): no model$'
	expect_eq "$turn: who orders" "$(state "$disk" order)" drive
	kill -TERM $scrub
	wait $scrub
	expect_eq "$turn: the scrub is saved" $? 143
	expect_match "$turn: how" "$(cat /tmp/scrub)" "saved [1-9][0-9]* of "
	[ $turn = 3 ] || expect_ok "$turn: off" freeblock off "$disk"
done
# shellcheck disable=SC2086 # these are words
promise "from enable to the first verified block, 1/100 s" "$(mean_of $took)" le 1000
note "draws, 1/100 s:$took"

### All disks, and the foreground left alone

expect_ok "enable --all --idle-only" freeblock enable --all --yes --idle-only
expect_eq "idle_only" "$(cat "$(fb "$disk")/idle_only")" 1
expect_match "knowledge" "$(state "$disk" knowledge)" ": idle_only is set$"
freeblock scrub --all --quiet --before 0 > /tmp/scrub 2>&1 &
scrub=$!
expect_ok "scrub --all begins" wait_for 60 grep -q '^running' "$(fb "$disk")/scrub"
kill -TERM $scrub
wait $scrub
expect_eq "scrub --all is stopped" $? 143
expect_match "scrub --all: a line" "$(cat /tmp/scrub)" "^$disk: state stopped"
expect_eq "scrub --all has stopped it" "$(job "$disk" scrub)" stopped

### A boot: what the unit of a disk says when that appears, without a model

expect_ok "ten minutes are over" freeblock guard passed
sched_set "$disk" mq-deadline
expect_within "unload" 20 unload_module freeblock
expect_ok "the disk appears" freeblock models load --at-boot --scheduler "$disk"
expect_eq "it has the scheduler" "$(sched_get "$disk")" freeblock
expect_eq "it is served" "$(state "$disk" scheduling)" yes
expect_eq "idle_only again" "$(cat "$(fb "$disk")/idle_only")" 1
printf '[all]\nscrub_every_days = 30\n' > /etc/freeblock.conf
expect_match "[all] means it" "$(freeblock conf show "$disk")" "scrub_every_days 30"
rm /etc/freeblock.conf

kill $reads $writes
wait $reads $writes
expect_no_match "no error" "$(cat /tmp/fio-reads /tmp/fio-writes)" "err=[^ ]*[1-9]"
expect_within "off" 60 freeblock off --all
rm -f /var/lib/freeblock/*.coverage*
rmdir /var/lib/freeblock 2> /tmp/said
machine > /tmp/after
expect_eq "as before" "$(diff /tmp/before /tmp/after)" ""
umount /mnt
done_testing
