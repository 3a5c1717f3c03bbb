# SPDX-License-Identifier: GPL-2.0
# tools/examples/backup: a mounted ext4 on a dm snapshot-origin over a simulated drive is imaged
# through freeblock while it is written to. The program is killed midway and goes on; then
# the image is restored to another disk, checked and mounted. After that: interruption, abort, a
# lost snapshot, a boot, a store that is too small; and all of it with raw writes to the disk
# in place of a file system.
#
# Expected: the image is the snapshot, byte by byte (its checksum is taken while the backup
# is under way: a snapshot does not change); fsck finds nothing, and the files that were there
# before are as they were; who writes meanwhile sees no error, whatever becomes of the backup; no
# snapshot, no task and no file is left where none should be.
#
# lab-python: examples.backup.__main__
# lab: kernel=stock clock=icount smp=1 timeout=700

. /lab/lib.sh

load_module mechdisk
load_module freeblock
load_module null_blk nr_devices=0
load_module dm-mod
load_module dm-snapshot
load_module ext4
mount -t configfs configfs /sys/kernel/config
export PYTHONPATH=/bin:/bin/cli
# dmsetup makes the nodes in /dev/mapper itself
export DM_DISABLE_UDEV=1

# memory NAME MB: a disk of memory; prints its path
memory()
{
	local dir="/sys/kernel/config/nullb/$1"

	mkdir "$dir" || die "no null_blk"
	echo "$2" > "$dir/size"
	echo 1 > "$dir/memory_backed"
	echo 2 > "$dir/irqmode"
	echo 20000 > "$dir/completion_nsec"
	echo 1 > "$dir/power" || die "no disk of memory"
	wait_for 10 [ -b "/dev/$1" ] || die "no /dev/$1"
	echo "/dev/$1"
}

# backup ARGUMENTS...: what it says in /tmp/said and /tmp/errors
backup()
{
	python3 -m examples.backup "$@" > /tmp/said 2> /tmp/errors
}

# begin IMAGE [ARGUMENTS...]: in the background; sets $program
begin()
{
	python3 -m examples.backup create data "$@" --json > /tmp/said 2> /tmp/errors &
	program=$!
}

# said KEY: a value of the object that the program printed
said()
{
	sed -n "s/^ *\"$1\": \"\{0,1\}\([^\",]*\).*/\1/p" /tmp/said
}

snapshots()
{
	dmsetup ls --target snapshot | grep -c '^freeblock-backup'
}

# the program has read for a while
covered()
{
	[ -e "$image.part.coverage" ]
}

# Of the snapshot that is there
checksum()
{
	md5sum < /dev/mapper/"$(dmsetup ls --target snapshot | cut -f1)" | cut -d' ' -f1
}

# end_is STATUS NAME
end_is()
{
	wait $program
	expect_eq "$2: exit status" $? "$1"
	[ -s /tmp/errors ] && note "$(cat /tmp/errors)"
}

nothing_left()
{
	expect_eq "$1: no snapshot is left" "$(snapshots)" 0
	expect_eq "$1: no task is left" "$(cat "$(fb "$disk")/tasks")" 0
	expect_eq "$1: the origin works" "$(dmsetup info -c --noheadings -o suspended data)" Active
}

# writer ARGUMENTS...: fio in the background, until writer_ends
writer()
{
	fio --output-format=terse --terse-version=3 --eta=never --output=/tmp/writer --name=writer \
		--ioengine=libaio --direct=1 --rw=randrw --rwmixread=50 --bsrange=4k-16k --iodepth=4 \
		--norandommap --time_based --runtime=3600 --randseed=7 "$@" &
	fio=$!
}

writer_ends()
{
	kill -INT $fio
	wait $fio
	expect_eq "$1: the foreground has no error" \
		"$(awk -F';' '/^3;/ { s += $5; n++ } END { print s, n }' /tmp/writer)" "0 1"
}

# killed_midway NAME: a backup that is killed, goes on, and is what the snapshot is
killed_midway()
{
	begin "$image" --cow "$store" --verify
	expect_ok "$1: begins to read" wait_for 60 covered
	[ -e "$image.part.coverage" ] || die "$(cat /tmp/errors)"
	truth=$(checksum)
	kill -9 $program
	wait $program
	expect_eq "$1: killed: the snapshot is kept" "$(snapshots)" 1
	expect_eq "$1: no task is left" "$(cat "$(fb "$disk")/tasks")" 0
	expect_fail "$1: there is no image" test -e "$image"
	begin "$image" --cow "$store" --verify
	end_is 0 "$1: goes on"
	cat /tmp/said
	expect_eq "$1: goes on" "$(said state) $(said resumed) $(said verified)" "complete true true"
	expect_ge "$1: overwritten chunks" "$(said exceptions)" 20
	expect_le "$1: not all is read again" "$(said read_bytes)" $(($(said bytes) - 4096))
	expect_eq "$1: the image is the snapshot" "$(md5sum < "$image" | cut -d' ' -f1)" "$truth"
	expect_ne "$1: and not the disk" "$(md5sum < /dev/"$disk" | cut -d' ' -f1)" "$truth"
	nothing_left "$1"
}

disk=$(drive_new d tiny.fbdrive) || exit 1
sched_set "$disk" freeblock || die "no freeblock"
model_load "$disk" tiny.fbmodel
# the subject is not cost
iosched "$disk" target_slowdown_ppm 1000000
store=$(memory store 64) && small=$(memory small 1) && spare=$(memory spare 32) || exit 1
image=/tmp/image

# ---- a file system ----

expect_ok "origin" dmsetup create data --table \
	"0 $(cat /sys/block/"$disk"/size) snapshot-origin /dev/$disk"
[ -b /dev/mapper/data ] || die "no origin"
expect_ok "mkfs" mkfs.ext4 -q -F -b 4096 -E nodiscard,lazy_itable_init=0 /dev/mapper/data
mkdir -p /mnt /restored
expect_ok "mount" mount -t ext4 /dev/mapper/data /mnt
mkdir /mnt/before
for n in $(seq 40); do
	dd if=/dev/urandom of=/mnt/before/$n bs=$((n * 1000)) count=1 2>/dev/null
done
(cd /mnt/before && md5sum *) > /tmp/sums
writer --directory=/mnt --size=8m
expect_ok "the writer writes" wait_for 30 test -e /mnt/writer.0.0
sleep 3
rm /mnt/before/1
killed_midway "ext4"
rm /mnt/before/*
writer_ends "ext4"
expect_ok "umount" umount /mnt
expect_ok "check" backup check $image
expect_ok "restore" backup restore $image "$spare"
expect_eq "restored" "$(head -c "$(stat -c %s $image)" "$spare" | md5sum | cut -d' ' -f1)" "$truth"
expect_ok "fsck" e2fsck -fn "$spare"
expect_ok "mount what was restored" mount -t ext4 -o ro "$spare" /restored
expect_fail "restore to a mounted device" backup restore $image "$spare"
expect_match "says why" "$(cat /tmp/errors)" "in use"
sed -i '/ 1$/d' /tmp/sums
(cd /restored/before && md5sum *) > /tmp/restored
expect_eq "the files of before" "$(cat /tmp/restored)" "$(cat /tmp/sums)"
expect_eq "as many" "$(wc -l < /tmp/restored)" 39
umount /restored
rm $image*

# ---- raw writes ----

writer --filename=/dev/mapper/data
killed_midway "raw"
expect_fail "an image that is there is not overwritten" backup create data $image --cow "$store"
rm $image*

# ---- what may come between ----

begin $image --cow "$store"
expect_ok "begins" wait_for 60 covered
kill -INT $program
end_is 130 "interrupted"
expect_eq "interrupted: the snapshot is kept" "$(snapshots)" 1
expect_fail "with another store" backup create data $image --cow "$spare"
cp $image.part.json /tmp/kept
sed -i 's/"boot": "...../"boot": "other/' $image.part.json
expect_fail "after a boot" backup create data $image --cow "$store"
expect_match "says why" "$(cat /tmp/errors)" "the machine was booted since"
cp /tmp/kept $image.part.json
dmsetup remove "$(dmsetup ls --target snapshot | cut -f1)"
expect_fail "without the snapshot" backup create data $image --cow "$store"
expect_match "says why" "$(cat /tmp/errors)" "it was removed"
expect_ok "abort" backup abort $image
expect_eq "leaves no file" "$(ls $image* 2>/dev/null)" ""
nothing_left "abort"

begin $image --cow "$store"
expect_ok "begins" wait_for 60 covered
kill -TERM $program
end_is 143 "terminated"
expect_ok "abort removes the snapshot" backup abort $image
nothing_left "abort"

# The snapshot is taken some time in these
early=0
for ms in 60 75 90 105 120 135 150 165 180 195 210 240; do
	begin $image --cow "$store"
	sleep "$(awk "BEGIN { print $ms / 1000 }")"
	kill -9 $program
	state=$(sed -n 's/.*"state": "\(.*\)".*/\1/p' $image.part.json 2>/dev/null)
	wait $program
	note "killed after $ms ms: ${state:-not begun}"
	[ "$state" = taking ] && early=$((early + 1))
	if [ -n "$state" ]; then
		expect_ok "killed after $ms ms: abort" wait_for 10 python3 -m examples.backup \
			abort $image
	else
		# but a state half written goes, which one of some draws has
		expect_fail "killed after $ms ms: nothing to abort" backup abort $image
	fi
	nothing_left "killed after $ms ms"
	expect_eq "killed after $ms ms: no file is left" "$(ls $image* 2>/dev/null | sed /lock/d)" ""
done
expect_ge "killed while the snapshot was taken" $early 1

dd if=/dev/urandom of="$small" bs=64k count=1 2>/dev/null
expect_fail "a store with something on it" backup create data $image --cow "$small"
begin $image --cow "$small" --overwrite-cow
end_is 4 "a small store"
expect_eq "a small store: state" "$(said state)" invalid
expect_match "says why" "$(cat /tmp/errors)" "the snapshot is lost .*$small, was full"
expect_eq "the image is marked" "$(ls $image*)" "$image.invalid
$image.invalid.json"
expect_fail "and not restored" backup restore $image "$spare"
nothing_left "a small store"
expect_fail "an origin that is none" backup create nothing $image --cow "$store"

writer_ends "raw"
expect_ok "origin removed" dmsetup remove data
sched_set "$disk" none
expect_within "freeblock unloads" 30 unload_module freeblock
drive_off d
for name in store small spare; do
	rmdir /sys/kernel/config/nullb/$name
done
done_testing
