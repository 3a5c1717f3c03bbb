# SPDX-License-Identifier: GPL-2.0
# ext4 and xfs on a partition of a disk, and btrfs on such partitions of two: does the scheduler
# order what comes through the file system, may what it lies on be named to scan and scrub, what
# becomes of a scrub of the disk, and of the file system, while that is frozen, and do btrfs' own
# scrub, which is of the idle class, and one of the disk get on beside each other?
#
# Expected: Documentation/admin-guide.rst, whose cells these are.
#
# Seen to fail: a scan of xfs that is not frozen (7 blocks differed from a second look).
#
# lab-freeblock: scan scrub
# lab-host-programs: mkfs.xfs xfs_repair
# lab-kernel-modules: xfs
# lab: kernel=stock clock=icount smp=1 timeout=400

. /lab/lib.sh

load_module mechdisk
load_module freeblock
load_module ext4
load_module xfs
load_module btrfs

disk=$(drive_new a toy.fbdrive "serial MDa") || exit 1
other=$(drive_new b toy.fbdrive "serial MDb") || exit 1
for each in $disk $other; do
	sched_set "$each" freeblock || die "no freeblock"
	model_load "$each" toy.fbmodel
	iosched "$each" target_slowdown_ppm 1000000
	# the subject is not cost
	echo 1000 > "$(fb "$each")/idle_wait_us"
	echo 10000000 > "$(fb "$each")/idle_mean_us"
	# 128 MiB: little less would do for btrfs
	addpart "/dev/$each" 1 2048 262144 || die "no partition"
	wait_for 10 [ -b "/dev/${each}1" ] || die "no partition"
done
mkdir -p /mnt

# both KEY: a counter of the two disks together
both()
{
	echo $(($(stats "$disk" "$1") + $(stats "$other" "$1")))
}

# scheduled NAME: what is read and written through the file system
scheduled()
{
	local before n

	before=$(both fg_writes)
	expect_ok "$1: a file" dd if=/dev/urandom of=/mnt/file bs=1M count=16 conv=fsync
	expect_ge "$1: writes are scheduled" "$(both fg_writes)" $((before + 16))
	md5sum < /mnt/file > /tmp/sum
	before=$(both fg_reads)
	fio_run "$1" --filename=/mnt/file --readonly --direct=1 --ioengine=libaio --iodepth=4 \
		--rw=randread --bs=4k --number_ios=100 --norandommap --randseed=3 --allrandrepeat=1
	expect_eq "$1: reads without error" "$(fio_errors "$1")" 0
	n=$(($(both fg_reads) - before))
	expect_ge "$1: reads are scheduled" $n 100
	expect_le "$1: and little else" $n 110
}

# named NAME: a scan is the digests of a plain read; frozen, for ext4 and xfs write to themselves
# now and then
named()
{
	expect_ok "$1: freeze for a scan" fsfreeze --freeze /mnt
	rm -f /tmp/digests
	expect_ok "$1: scan" freeblock scan "/dev/${disk}1" -o /tmp/digests --before 0 --quiet
	echo 3 > /proc/sys/vm/drop_caches
	expect_ok "$1: and it is what is read there" \
		freeblock scan "/dev/${disk}1" --verify /tmp/digests --before 0 --quiet
	expect_ok "$1: thaw after it" fsfreeze --unfreeze /mnt
	expect_eq "$1: scrub of it" "$(freeblock scrub "/dev/${disk}1" run --before 0 --quiet |
		sed -n 's/^first //p; s/^sectors //p' | xargs)" "2048 262144"
}

# frozen NAME: with a write and a read waiting
frozen()
{
	local before

	echo start > "$(fb "$disk")/scrub"
	expect_ok "$1: freeze" fsfreeze --freeze /mnt
	( echo written > /mnt/waits; sync; touch /tmp/written ) &
	before=$(job "$disk" scrub blocks_verified)
	echo 3 > /proc/sys/vm/drop_caches
	expect_eq "$1: frozen: reads go on" "$(md5sum < /mnt/file)" "$(cat /tmp/sum)"
	sleep 3
	expect_fail "$1: frozen: its writes wait" [ -e /tmp/written ]
	expect_ge "$1: frozen: the scrub of the disk goes on" \
		"$(job "$disk" scrub blocks_verified)" $((before + 1))
	expect_ok "$1: thaw" fsfreeze --unfreeze /mnt
	expect_within "$1: thawed: the write ends" 20 wait_for 20 [ -e /tmp/written ]
	rm -f /tmp/written
	expect_eq "$1: and is there" "$(cat /mnt/waits)" written
	echo stop > "$(fb "$disk")/scrub"
	expect_within "$1: the scrub ends" 20 wait_for 20 grep -qx 0 "$(fb "$disk")/tasks"
}

# afterwards NAME COMMAND...: unmounted, and examined by the command
afterwards()
{
	expect_ok "$1: umount" umount /mnt
	shift
	expect_ok "$1 finds nothing" "$@"
}

# ---- ext4 ----

expect_ok "ext4: mkfs" mkfs.ext4 -q -F -b 4096 -E nodiscard,lazy_itable_init=0,lazy_journal_init=0 \
	"/dev/${disk}1"
expect_ok "ext4: mount" mount -t ext4 "/dev/${disk}1" /mnt
scheduled ext4
named ext4
frozen ext4
afterwards ext4 e2fsck -fn "/dev/${disk}1"

# ---- xfs ----

expect_ok "xfs: mkfs" mkfs.xfs --unsupported -q -f -K -l size=8m "/dev/${disk}1"
expect_ok "xfs: mount" mount -t xfs "/dev/${disk}1" /mnt
scheduled xfs
named xfs
frozen xfs
afterwards xfs xfs_repair -n "/dev/${disk}1"

# ---- btrfs, both disks holding all of it ----

expect_ok "btrfs: mkfs" mkfs.btrfs -q -f -K -s 4096 -d raid1 -m raid1 "/dev/${disk}1" "/dev/${other}1"
expect_ok "btrfs: mount" mount -t btrfs -o "device=/dev/${other}1" "/dev/${disk}1" /mnt
scheduled btrfs
named btrfs
frozen btrfs

before=$(both background_sent)
echo start > "$(fb "$disk")/scrub"
verified=$(job "$disk" scrub blocks_verified)
expect_ok "btrfs: its own scrub" sh -c "btrfs scrub start -B -c 3 /mnt > /tmp/said 2>&1"
expect_match "btrfs: its scrub finds nothing" "$(cat /tmp/said)" "Error summary: +no errors found"
# 16 MiB and a little, twice, in requests of 512 KiB at most
expect_ge "btrfs: its scrub is background" "$(both background_sent)" $((before + 64))
expect_ge "btrfs: meanwhile the scrub of the disk goes on" \
	"$(job "$disk" scrub blocks_verified)" $((verified + 1))
note "btrfs scrub beside the disk's: $(job "$disk" scrub blocks_verified) less $verified blocks"
echo stop > "$(fb "$disk")/scrub"
expect_within "btrfs: the scrub ends" 20 wait_for 20 grep -qx 0 "$(fb "$disk")/tasks"
afterwards btrfs btrfs check --readonly "/dev/${disk}1"

for each in $disk $other; do
	sched_set "$each" none
done
drive_off a
drive_off b
expect_within "unload freeblock" 30 unload_module freeblock
done_testing
