# SPDX-License-Identifier: GPL-2.0
# Power loss. tests/lab/power boots this script again and again, each time with the platters
# that the last one left: the power goes at a random instant, the guest ends then and there.
# A file system and its writer, a scrub and its file are on one drive with a lazy write cache,
# which dies without a word and is the witness of what its head has read.
#
# Expected, after each cut (tests.rst, "Power cuts"): no block is called verified that was not read;
# what was made durable is there, the file of coverage among it; the file system is clean.
#
# Seen to fail with (seed 3, ext4/freeblock/1, one cut): a drive that answers flushes with data in
# its cache (66 flushes disobeyed; files gone, 988 blocks of saved coverage); a scheduler whose
# init switches the queue's write cache off, so that no flush and no FUA is sent (files gone, 1089
# blocks); blocks marked as verified when their read is sent (4 that were not read); coverage
# saved without fsync and fdatasync (2863 blocks).
#
# lab-runner: power ext4/freeblock/1 ext4/freeblock/1/sata
# lab-soak: ext4/freeblock/5 xfs/freeblock/5 ext4/freeblock/5 xfs/freeblock/5 ext4/freeblock/5
# lab-soak: xfs/freeblock/5 ext4/mq-deadline/3 xfs/mq-deadline/3 ext4/none/2 xfs/none/2
# lab-soak: ext4/freeblock/5/sata xfs/freeblock/5/sata
# lab-freeblock: scrub
# lab-python: glob mmap random
# lab-host-programs: mkfs.xfs xfs_repair
# lab-kernel-modules: xfs libata
# lab: kernel=stock clock=icount smp=1 timeout=800
# lab: set=soak kernel=stock clock=icount smp=1 timeout=6500

. /lab/lib.sh
. /lab/files/power.sh
port "${PORT:-scsi}"

# Few small segments and a lazy drive: much is in the cache when the power goes
CACHE="cache 24 128 16
write_cache back
append_writes on
destage idle"
M=/sys/kernel/mechdisk
guest="python3 /lab/files/power_guest.py"

# plan_cut US: the power goes then; the drive keeps its log from the first such plan on
plan_cut()
{
	echo "$1" > $M/d/cut || die "no cut"
}

# What the disk was left with
look()
{
	expect_ok "boot $BOOT: $FS mounts" mount -t "$FS" -o noatime /dev/"$disk" /mnt
	umount /mnt
	case $FS in
	ext4) expect_ok "boot $BOOT: e2fsck finds nothing" e2fsck -fn /dev/"$disk" ;;
	xfs) expect_ok "boot $BOOT: xfs_repair finds nothing" xfs_repair -n /dev/"$disk" ;;
	esac
	mount -t "$FS" -o noatime /dev/"$disk" /mnt || die "no mount"
	$guest list > /tmp/list || die "no list of files"
	mv /tmp/list /out/list
	mkdir -p /out/found
	cp /mnt/s/* /out/found 2>/dev/null
	rm -f /out/found/*.lock
	ls /mnt/s > /out/found/names 2>/dev/null
}

# run NAME COMMAND...: in the background; should it end, /out/NAME.ended says how
run()
{
	local name="$1"

	shift
	( "$@" > /out/"$name".said 2>&1; echo $? > /out/"$name".ended ) &
}

work()
{
	if [ "$EARLY" = 1 ]; then
		plan_cut "$CUT_US"
		mount -t "$FS" -o noatime /dev/"$disk" /mnt
	else
		look
	fi
	if [ "$BUSY" = 1 ]; then
		fio --name=load --filename=/dev/"$disk" --readonly --direct=1 --ioengine=libaio \
			--iodepth=4 --rw=randread --bsrange=4k-16k --norandommap --time_based \
			--runtime=3600 --eta=never --output=/tmp/load &
	fi
	run write $guest write "$LAB_SEED$BOOT" "$((BOOT * 1000000))"
	if [ "$SCHEDULER" = freeblock ]; then
		run scrub $guest scrub "$disk" "$SAVE_S" "$SLACK"
	fi
	if [ "$EARLY" = 0 ]; then
		wait_for 30 at_work || die "the tools do not come to work"
		plan_cut "$CUT_US"
	fi
	wait
}

# All of them have something durable
at_work()
{
	[ -e /tmp/notes ] && { [ "$SCHEDULER" != freeblock ] ||
		[ -e /tmp/saved_coverage ]; }
}

dead()
{
	grep -q dead $M/d/cut
}

# or the work has failed before
over()
{
	dead || [ -e /tmp/over ]
}

load_module mechdisk
load_module freeblock
case $FS in
ext4) load_module ext4 ;;
xfs) load_module xfs ;;
esac
if [ "$port" = sata ]; then
	load_module mechata
	CACHE="$CACHE
$port_text"
fi
disk=$(drive_new d toy.fbdrive "$CACHE") || exit 1
mkdir -p /mnt
if [ "$BOOT" = 0 ]; then
	case $FS in
	ext4) expect_ok "mkfs" mkfs.ext4 -q -N 512 -J size=4 \
		-E nodiscard,lazy_itable_init=0,lazy_journal_init=0 /dev/"$disk" ;;
	xfs) expect_ok "mkfs" mkfs.xfs --unsupported -q -K -l size=8m /dev/"$disk" ;;
	esac
else
	$guest load d || die "no platters"
fi
# far away: the log begins
plan_cut 600000000
expect_ok "boot $BOOT: scheduler" sched_set "$disk" "$SCHEDULER"
if [ "$SCHEDULER" = freeblock ]; then
	model_load "$disk" "$(port_model toy.fbmodel)"
	iosched "$disk" target_slowdown_ppm 1000000
	echo 5000 > "$(fb "$disk")"/idle_wait_us
fi
( trap "touch /tmp/over" EXIT; work ) &
wait_for 60 over
expect_ok "boot $BOOT: the power goes" dead
cat $M/d/cut > /out/cut
cat $M/d/stats > /out/stats
cat /sys/kernel/freeblock/"$disk"/coverage > /out/kernel_coverage 2>/dev/null
cp /tmp/notes /tmp/saved_* /out 2>/dev/null
$guest save d || die "the platters are lost"
touch /tmp/dead
done_testing
