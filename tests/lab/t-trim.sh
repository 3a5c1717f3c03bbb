# SPDX-License-Identifier: GPL-2.0
# Discards under a scan: a drive with UNMAP and WRITE SAME, whose foreground reads and writes, verifies
# what it wrote, and discards. A consumer wants all blocks; the host judges each by the drive's
# journal, in which a discard is a write of zeros. Then the same below a file system, by fstrim. And
# all of it for a SATA drive, of which the kernel makes DATA SET MANAGEMENT of a discard.
#
# Expected: a discarded block reads as zeros (SBC-3: LBPRZ), others as they were written; the
# scan finishes; the consumer gets each block once, and never what a discard that ended before the
# delivery has thrown away.
#
# Seen to fail with: a discard not taken for a write in fb_iosched_describe() (race: 4 stale blocks).
#
# lab-host-programs: blkdiscard
# lab-kernel-modules: libata
# lab: kernel=stock clock=icount smp=1 timeout=300

. /lab/lib.sh
. /lab/files/power.sh

# fresh: a drive "d" under freeblock, and a consumer of all its blocks; sets $disk
fresh()
{
	[ -d /sys/kernel/mechdisk/d ] && echo d > /sys/kernel/mechdisk/delete
	disk=$(drive_new d tiny.fbdrive "journal_records 1000000
unmap on
$port_text") || exit 1
	sched_set "$disk" freeblock || die "no freeblock"
	[ -s "$(fb "$disk")/model" ] || model_load "$disk" "$(port_model tiny.fbmodel)"
	# the subject here is data, not cost
	iosched "$disk" target_slowdown_ppm 1000000
	echo 10000000 > "$(fb "$disk")/idle_mean_us"
}

# zeros KIB: the block there
zeros()
{
	dd if=/dev/"$disk" bs=1k skip="$1" count=4 iflag=direct 2>/dev/null | cmp -s -n 4096 - /dev/zero
}

written()
{
	dd if=/dev/urandom of=/dev/"$disk" bs=64k seek=128 count=8 oflag=direct 2>/dev/null
}

# busybox has one of its own, which knows less
discard=/usr/sbin/blkdiscard

finished()
{
	sleep 1
	[ "$(job "$disk" scan)" = finished ] && consumer_over
}

# kinds KIND...: each kind of discard; the first is the kernel's own choice
kinds()
{
	fresh
	mode=$(echo /sys/block/"$disk"/device/scsi_disk/*/provisioning_mode)
	expect_eq "$port: the kernel discards" "$(cat "$mode")" "$1"
	for kind; do
		echo $kind > "$mode"
		written
		expect_fail "$port, $kind: written" zeros 8192
		expect_ok "$port, $kind: discarded" $discard -o $((8 << 20)) -l $((512 << 10)) /dev/"$disk"
		expect_ok "$port, $kind: the first block is zero" zeros 8192
		expect_ok "$port, $kind: so is the last" zeros 8700
	done
	echo "$1" > "$mode"
	written
	writes=$(drive_stat d writes)
	expect_ok "$port, zeroed" $discard -z -o $((8 << 20)) -l $((512 << 10)) /dev/"$disk"
	expect_ok "$port, zeroed: it is" zeros 8192
	expect_ge "$port, zeroed: by writes of the medium" $(($(drive_stat d writes) - writes)) 1
	written
	expect_ok "$port, a part of a block" $discard -o $((8192 * 1024 + 512)) -l 512 /dev/"$disk"
	expect_fail "$port, a part of a block: the rest stays" zeros 8192
}

# beside a scan
beside()
{
	# shellcheck disable=SC2034
	verify_folder="/out/verify-scan-$port"
	consumer_start "$disk" d
	echo start > "$(fb "$disk")/scan"
	fio --output-format=json,terse --terse-version=3 --eta=never --output=/tmp/trim.fio --name=trim \
		--filename=/dev/"$disk" --direct=1 --ioengine=libaio --iodepth=8 --rw=randrw --rwmixread=50 \
		--bs=4k --offset=1m --size=6m --verify=crc32c --verify_backlog=64 --trim_percentage=30 \
		--trim_verify_zero=1 --trim_backlog=64 --rate_iops=60 --time_based --runtime=600 \
		--randseed=3 &
	fio=$!
	# no two of it write the same
	rm -f /tmp/enough
	( k=0
	while [ ! -e /tmp/enough ]; do
		dd if=/dev/urandom of=/dev/"$disk" bs=64k seek=$((128 + k % 16 * 4)) count=4 oflag=direct
		$discard -o $((8 << 20 | (k + 9) % 16 << 18)) -l $((200 << 10)) /dev/"$disk"
		$discard -z -o $((12 << 20 | k % 8 << 17)) -l $((32 << 10)) /dev/"$disk"
		k=$((k + 1))
	done ) 2>/tmp/loop &
	loop=$!
	sleep 8
	touch /tmp/enough
	wait $loop
	kill -INT $fio
	wait $fio
	# the rest of it in idle time
	expect_ok "$port, scan: finished" wait_for 100 finished
	grep '^3;' /tmp/trim.fio > /tmp/trim.terse
	expect_eq "$port, scan: fio finds what it wrote, and zeros" "$(fio_errors trim)" 0
	expect_eq "$port, scan: nothing failed" "$(grep -v records /tmp/loop | grep -v copied)" ""
	expect_eq "$port, scan: none bad" "$(job "$disk" scan blocks_bad)" 0
	expect_eq "$port, scan: each block delivered" "$(job "$disk" scan blocks_delivered)" \
		"$(job "$disk" scan blocks_total)"
	expect_ge "$port, scan: discards" "$(awk '{ print $15 }' /sys/block/"$disk"/stat)" 200
	note "$port, scan: $(cat /sys/block/"$disk"/stat)"
	note "$port, scan: discarded reads $(stats "$disk" discarded)"
	consumer_keep "$disk" d
}

# two megabytes that the consumer wants, discarded and written without a pause
race()
{
	fresh
	# shellcheck disable=SC2034
	verify_folder="/out/verify-race-$port"
	# so slow that reads wait for their delivery while discards come
	echo 50000 > /sys/module/fbconsumer/parameters/slow_us
	consumer_start "$disk" d 8192 4096
	fio --output-format=terse --terse-version=3 --eta=never --output=/tmp/race.terse \
		--filename=/dev/"$disk" --direct=1 --ioengine=libaio --iodepth=4 --bs=32k --offset=4m \
		--size=2m --norandommap --rate_iops=150 --time_based --runtime=600 --randseed=5 \
		--name=discard --rw=randtrim --name=write --rw=randwrite &
	fio=$!
	expect_ok "$port, race: the consumer has all" wait_for 120 consumer_over
	kill -INT $fio
	wait $fio
	echo 0 > /sys/module/fbconsumer/parameters/slow_us
	expect_eq "$port, race: each block once" "$(consumer deliveries)" 512
	expect_ge "$port, race: reads discarded" "$(stats "$disk" discarded)" 5
	consumer_keep "$disk" d
}

# below a file system
below()
{
	fresh
	# shellcheck disable=SC2034
	verify_folder="/out/verify-fstrim-$port"
	expect_ok "$port, fstrim: mkfs" mkfs.ext4 -q -E lazy_itable_init=0,lazy_journal_init=0 -J size=4 /dev/"$disk"
	mkdir -p /mnt
	mount -t ext4 -o noatime /dev/"$disk" /mnt || die "no mount"
	consumer_start "$disk" d
	for k in 1 2 3 4 5 6; do
		dd if=/dev/urandom of=/mnt/gone bs=256k count=16 2>/dev/null
		dd if=/dev/urandom of=/mnt/kept$k bs=128k count=4 2>/dev/null
		sync
		rm /mnt/gone
		sync
		expect_ok "$port, fstrim $k" fstrim /mnt
	done
	cat /mnt/kept* | md5sum > /tmp/before
	expect_ok "$port, fstrim: the consumer has all" wait_for 60 consumer_over
	umount /mnt
	mount -t ext4 -o noatime /dev/"$disk" /mnt || die "no mount"
	expect_eq "$port, fstrim: files are as they were" "$(cat /mnt/kept* | md5sum)" "$(cat /tmp/before)"
	umount /mnt
	expect_ok "$port, fstrim: e2fsck finds nothing" e2fsck -fn /dev/"$disk"
	consumer_keep "$disk" d
}

load_module mechdisk
load_module mechata
load_module freeblock

port scsi
kinds unmap writesame_16 writesame_10
beside
race
below

# libata translates this one alone
port sata
kinds writesame_16
beside
race
below

unload_module fbconsumer

expect_within "back to none" 30 sched_set "$disk" none
expect_within "freeblock unloads" 30 unload_module freeblock
drive_off d
expect_within "mechata unloads" 30 unload_module mechata
expect_within "mechdisk unloads" 30 unload_module mechdisk
done_testing
