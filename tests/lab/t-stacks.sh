# SPDX-License-Identifier: GPL-2.0
# What lies above a disk: a partition, dm-linear (LVM's plain volumes), dm-crypt, md RAID1, dm-multipath
# with requests and with bios, queue_if_no_path. Of each: does the scheduler order what comes through
# it, may it be named to scan and scrub, and what becomes of a scrub of the disk while the stack is
# suspended, and of the stack afterwards?
#
# Expected: Documentation/admin-guide.rst, whose cells these are.
#
# lab-freeblock: scan scrub
# lab-kernel-modules: dm-crypt xts aes_generic ecb
# lab: set=soak kernel=stock clock=icount smp=1 timeout=400

. /lab/lib.sh

export DM_DISABLE_UDEV=1
load_module mechdisk
load_module freeblock
for module in dm-mod dm-multipath dm-round-robin raid1; do
	load_module $module
done
# dm-crypt and its ciphers, which need each other
for _ in 1 2 3 4 5; do
	for file in /lab/modules/*.ko; do
		case ${file##*/} in
		freeblock*|mechdisk*|fb*) ;;
		*) insmod "$file" 2> /tmp/insmod ;;
		esac
	done
done
[ -d /sys/module/dm_crypt ] || die "no dm-crypt: $(cat /tmp/insmod)"

disk=$(drive_new a toy.fbdrive "serial MDa") || exit 1
other=$(drive_new b toy.fbdrive "serial MDb") || exit 1
for each in $disk $other; do
	sched_set "$each" freeblock || die "no freeblock"
	model_load "$each" toy.fbmodel
	iosched "$each" target_slowdown_ppm 1000000
	# the subject is not cost
	echo 1000 > "$(fb "$each")/idle_wait_us"
	echo 10000000 > "$(fb "$each")/idle_mean_us"
done
number=$(cat /sys/block/"$disk"/dev)
sectors=$(cat /sys/block/"$disk"/size)

# scheduled DEVICE: sets $n: of 100 reads of a device, how many the disk's scheduler had
scheduled()
{
	local before

	before=$(stats "$disk" fg_reads)
	fio_run reads --filename="$1" --direct=1 --ioengine=libaio --iodepth=4 --rw=randread --bs=4k \
		--number_ios=100 --norandommap --randseed=3 --allrandrepeat=1
	expect_eq "$1: reads without error" "$(fio_errors reads)" 0
	n=$(($(stats "$disk" fg_reads) - before))
}

# covers NAME DEVICE [ARGUMENTS...]: a scan of a device, which must be the digests of a plain read
covers()
{
	local name="$1" device="$2"

	shift 2
	rm -f /tmp/digests
	expect_ok "$name: scan" freeblock scan "$device" "$@" -o /tmp/digests --before 0 --quiet
	expect_ok "$name: and it is what is read there" \
		freeblock scan "$device" "$@" --verify /tmp/digests --before 0 --quiet
}

# suspended NAME TARGET: while a dm device is suspended, with a read of it waiting
suspended()
{
	local before

	echo start > "$(fb "$disk")/scrub"
	expect_ok "$1: suspend" dmsetup suspend "$2"
	dd if=/dev/mapper/"$2" of=/tmp/waits bs=4k count=1 skip=77 2>/tmp/dd &
	before=$(job "$disk" scrub blocks_verified)
	sleep 3
	expect_eq "$1: suspended: its reads wait" "$(wc -c < /tmp/waits)" 0
	expect_ge "$1: suspended: the scrub of the disk goes on" \
		"$(job "$disk" scrub blocks_verified)" $((before + 1))
	expect_ok "$1: resume" dmsetup resume "$2"
	expect_within "$1: resumed: the read ends" 20 wait_for 20 sh -c "[ \$(wc -c < /tmp/waits) = 4096 ]"
	echo stop > "$(fb "$disk")/scrub"
	expect_within "$1: the scrub ends" 20 wait_for 20 grep -qx 0 "$(fb "$disk")/tasks"
}

# ---- a partition ----

expect_ok "partition" addpart "/dev/$disk" 1 2048 16384
wait_for 10 [ -b "/dev/${disk}1" ] || die "no partition"
scheduled "/dev/${disk}1"
expect_eq "partition: scheduled" "$n" 100
covers partition "/dev/${disk}1"
expect_eq "partition: scrub of it" "$(freeblock scrub "/dev/${disk}1" run --before 0 --quiet |
	sed -n 's/^first //p; s/^sectors //p' | xargs)" "2048 16384"

# ---- dm-linear, in two pieces ----

expect_ok "linear" dmsetup create lin --table "0 8192 linear $number 4096
8192 8192 linear $number 65536"
scheduled /dev/mapper/lin
expect_eq "linear: scheduled" "$n" 100
covers linear /dev/mapper/lin
expect_match "linear: no scrub of two pieces" \
	"$(freeblock scrub /dev/mapper/lin run 2>&1)" "lies in 2 pieces: scrub its disks"
suspended linear lin
expect_ok "linear: removed" dmsetup remove lin

# ---- dm-crypt ----

key=$(printf '%064d' 0)
expect_ok "crypt" dmsetup create cry --table "0 $sectors crypt aes-xts-plain64 $key 0 $number 0"
scheduled /dev/mapper/cry
expect_eq "crypt: scheduled" "$n" 100
expect_match "crypt: cannot be named" "$(freeblock scan /dev/mapper/cry -o /tmp/digests 2>&1)" \
	"is crypt, not linear: .*name the disks below it"
suspended crypt cry
expect_ok "crypt: removed" dmsetup remove cry

# ---- md RAID1 ----

expect_ok "raid1" mdadm --create /dev/md0 --run --quiet --level=1 --raid-devices=2 --metadata=1.0 \
	--assume-clean "/dev/$disk" "/dev/$other"
mine=$(stats "$disk" fg_reads)
theirs=$(stats "$other" fg_reads)
fio_run mirror --filename=/dev/md0 --direct=1 --ioengine=libaio --iodepth=4 --rw=randread --bs=4k \
	--number_ios=100 --norandommap --randseed=3 --allrandrepeat=1
n=$(($(stats "$disk" fg_reads) - mine + $(stats "$other" fg_reads) - theirs))
# md reads its superblocks, too
expect_ge "raid1: scheduled, by its members together" $n 100
expect_le "raid1: and little else" $n 110
expect_match "raid1: a member must be named" \
	"$(freeblock scan /dev/md0 -o /tmp/digests 2>&1)" "say which to read, --member"
covers raid1 /dev/md0 --member "$disk"

# md suspends writes to a range of sectors
MD=/sys/block/md0/md
echo start > "$(fb "$disk")/scrub"
echo 0 > $MD/suspend_lo
expect_ok "raid1: suspend" sh -c "echo 65536 > $MD/suspend_hi"
dd if=/dev/zero of=/dev/md0 bs=4k count=1 seek=77 oflag=direct 2>/tmp/dd &
writer=$!
before=$(job "$disk" scrub blocks_verified)
sleep 3
expect_ok "raid1: suspended: its writes wait" kill -0 $writer
expect_ok "raid1: suspended: its reads do not" \
	dd if=/dev/md0 of=/dev/null bs=4k count=1 skip=77 iflag=direct
expect_ge "raid1: suspended: the scrub of the disk goes on" \
	"$(job "$disk" scrub blocks_verified)" $((before + 1))
expect_ok "raid1: resume" sh -c "echo 0 > $MD/suspend_hi"
expect_within "raid1: resumed: the write ends" 20 wait_for 20 [ ! -d /proc/$writer ]
wait $writer
expect_eq "raid1: and well" $? 0
echo stop > "$(fb "$disk")/scrub"
expect_within "raid1: the scrub ends" 20 wait_for 20 grep -qx 0 "$(fb "$disk")/tasks"
expect_ok "raid1: stopped" mdadm --quiet --stop /dev/md0

# ---- dm-multipath ----

for mode in bio rq; do
	expect_ok "multipath $mode" dmsetup create mp --table \
		"0 $sectors multipath 3 queue_if_no_path queue_mode $mode 0 1 1 round-robin 0 1 1 $number 1"
	scheduled /dev/mapper/mp
	case $mode in
	bio) expect_eq "multipath of bios: scheduled" "$n" 100 ;;
	rq) expect_eq "multipath of requests: they pass the scheduler by" "$n" 0 ;;
	esac
	expect_match "multipath $mode: cannot be named" \
		"$(freeblock scan /dev/mapper/mp -o /tmp/digests 2>&1)" "is multipath, not linear"
	suspended "multipath $mode" mp
	expect_ok "multipath $mode: its path fails" dmsetup message mp 0 "fail_path $number"
	dd if=/dev/mapper/mp of=/tmp/waits bs=4k count=1 skip=1000 2>/tmp/dd &
	sleep 2
	expect_eq "multipath $mode: no path: reads are queued" "$(wc -c < /tmp/waits)" 0
	echo start > "$(fb "$disk")/scrub"
	expect_within "multipath $mode: no path: a scrub of the disk goes on" 30 wait_for 30 \
		number_above "$disk" scrub_stats/blocks_verified 0
	echo stop > "$(fb "$disk")/scrub"
	expect_ok "multipath $mode: the path is back" dmsetup message mp 0 "reinstate_path $number"
	expect_within "multipath $mode: the queued read ends" 30 \
		wait_for 30 sh -c "[ \$(wc -c < /tmp/waits) = 4096 ]"
	expect_within "multipath $mode: the scrub ends" 20 wait_for 20 grep -qx 0 "$(fb "$disk")/tasks"
	expect_ok "multipath $mode: removed" dmsetup remove mp
done

for each in $disk $other; do
	sched_set "$each" none
done
drive_off a
drive_off b
expect_within "unload freeblock" 30 unload_module freeblock
done_testing
