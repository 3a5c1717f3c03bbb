# SPDX-License-Identifier: GPL-2.0
# A disk that has spun down is not woken for idle reads. After ten seconds without any request the
# drive is asked: by REQUEST SENSE, or where that is refused by CHECK POWER MODE (SAT), neither of
# which wakes it. One that refuses both (untold) may have spun down.
#
# Expected: beside a drive that spins, however it says so, a scan that begins then ends; beside
# one that has spun down, or may have, no read reaches it; and a request of the foreground,
# after which it spins, is what the scan goes on with.
#
# Seen to fail with: fb_drive_query_is_awake() true whatever the drive says (low, standby and stopped
# are read); FB_QUERY_ATA_IDLE not among the modes in which it spins (idle: no reads); an answer
# without the drive's registers taken for that of a drive that spins (untold is read).
#
# lab-kernel-modules: scsi_debug
# lab: kernel=stock clock=icount smp=1 timeout=300

. /lab/lib.sh

# rested DISK MODEL: it has the scheduler, and nobody has asked anything of it for long; a scan
# begins. Sets $before for reads().
rested()
{
	sched_set "$1" freeblock || die "no freeblock on $1"
	model_load "$1" "$2"
	before=$(stats "$1" idle_reads_ended)
	sleep 12
	echo start > "$(fb "$1")/scan"
	sleep 5
}

# reads DISK: idle reads since then
reads()
{
	echo $(($(stats "$1" idle_reads_ended) - before))
}

load_module mechdisk
load_module freeblock

for mode in scsi active idle low standby untold; do
	disk=$(drive_new a tiny.fbdrive "power_mode $mode") || exit 1
	rested "$disk" tiny.fbmodel
	case $mode in
	low|standby|untold)
		expect_eq "$mode: no idle reads" "$(reads "$disk")" 0
		expect_eq "$mode: none of the drive's sectors was read" \
			"$(job "$disk" scan blocks_delivered)" 0
		dd if=/dev/"$disk" of=/dev/null bs=4k count=1 skip=3000 iflag=direct 2>/dev/null
		expect_ok "$mode: after a read it spins, and is read" \
			wait_for 20 grep -qx finished "$(fb "$disk")/scan"
		;;
	*)
		expect_ok "$mode: the scan ends" wait_for 20 grep -qx finished "$(fb "$disk")/scan"
		expect_ge "$mode: by idle reads" "$(reads "$disk")" 20
		;;
	esac
	sched_set "$disk" none
	drive_off a
	echo a > /sys/kernel/mechdisk/delete
done

# Does it read ahead? It does not without a cache (RCD) or with look-ahead off (DRA). One that refuses
# MODE SENSE is believed to, until trials say otherwise.
# Seen to fail with the read-ahead believed to be off where that command fails (refused: allowed); with
# another bit for RCD (no cache: trial).
for drive in "no cache" "look-ahead off" "reads ahead" refused; do
	cache="cache 8 256 0
read_ahead track"
	off=no
	case $drive in
	"no cache") cache="cache off"; off=yes ;;
	"look-ahead off") cache="$cache
look_ahead off"; off=yes ;;
	refused) cache="mode_sense off" ;;
	esac
	disk=$(drive_new a tiny.fbdrive "$cache") || exit 1
	sched_set "$disk" freeblock
	model_load "$disk" tiny.fbmodel
	echo start > "$(fb "$disk")/scan"
	expect_ok "$drive: the scan ends" wait_for 20 grep -qx finished "$(fb "$disk")/scan"
	source=$(kv "$(debug "$disk")/status" lift_source)
	case $off in
	yes) expect_match "$drive: it does not" "$source" '^allowed .look-ahead off' ;;
	no) expect_match "$drive: that is to be found out" "$source" '^trial' ;;
	esac
	sched_set "$disk" none
	drive_off a
	echo a > /sys/kernel/mechdisk/delete
done

# One that stops: READ fails, and REQUEST SENSE says NOT READY
load_module scsi_debug dev_size_mb=16 ndelay=5000000
expect_ok "a disk that can be stopped" \
	wait_for 30 sh -c 'grep -l scsi_debug /sys/block/sd*/device/model'
disk=$(grep -l scsi_debug /sys/block/sd*/device/model | head -n 1 | cut -d/ -f4)
wait_for 30 test -e /sys/block/"$disk"/queue/rotational
echo 1 > /sys/block/"$disk"/queue/rotational
expect_ok "it stops" sg_raw /dev/"$disk" 1b 00 00 00 00 00
rested "$disk" scsi-debug.fbmodel
expect_eq "stopped: no idle reads" "$(reads "$disk")" 0
expect_ok "it starts" sg_raw /dev/"$disk" 1b 00 00 00 01 00
expect_ok "started: the scan ends" wait_for 30 grep -qx finished "$(fb "$disk")/scan"
expect_eq "started: all blocks, none bad" \
	"$(job "$disk" scan blocks_delivered) $(job "$disk" scan blocks_bad)" "4096 0"
sched_set "$disk" none
unload_module scsi_debug

expect_within "unload freeblock" 20 unload_module freeblock
expect_within "unload mechdisk" 20 unload_module mechdisk
done_testing
