# SPDX-License-Identifier: GPL-2.0
# A disk that has spun down is not woken for idle reads, and one that spins is read, whatever the name
# of its power condition. After ten seconds without any request, and after each command that passes
# by the scheduler, the drive is asked: by REQUEST SENSE, or where that is refused by CHECK POWER MODE
# (SAT), neither of which wakes it. One that refuses both (untold) may have spun down.
#
# From SLEEP (ATA) only a reset wakes a drive, to standby: the kernel makes one for the question.
#
# Expected, of SPC-5 and ACS-4: beside a drive that is active, idle, idle_a or idle_b, however it says
# so, a scan that begins then ends; beside one that is in idle_c or standby, or may be, no read reaches
# it, and state/idle names the condition; and a request of the foreground, after which it spins, is
# what the scan goes on with.
#
# Seen to fail with: all states taken for spinning (idle_c, standby and stopped are read), or
# false of idle_a and idle_b (no reads; test_power.c has each code); an answer
# without the drive's registers taken for that of a drive that spins (untold is read); a drive that a
# reset from SLEEP makes active (it is read).
#
# lab-kernel-modules: scsi_debug libata
# lab: kernel=stock clock=icount smp=1 timeout=300

. /lab/lib.sh
. /lab/files/power.sh

# rested DISK MODEL [CONDITION]: it has the scheduler, and nobody has asked anything of it for long, or
# but to go to that condition; a scan begins. Sets $before for reads().
rested()
{
	sched_set "$1" freeblock || die "no freeblock on $1"
	model_load "$1" "$2"
	before=$(stats "$1" idle_reads_ended)
	sleep 12
	[ -z "$3" ] || condition_set "$1" "$3"
	echo start > "$(fb "$1")/scan"
	sleep 5
}

# reads DISK: idle reads since then
reads()
{
	echo $(($(stats "$1" idle_reads_ended) - before))
}

load_module mechdisk
load_module mechata
load_module freeblock

# how the condition is told, and the condition: scsi and sata, by the command for it; sat, a
# translation that answers so; low and untold are of their own kind
for drive in "scsi active" "scsi idle_a" "scsi idle_b" "scsi idle_c" "scsi standby_y" \
	"scsi standby_z" "sata active" "sata idle_a" "sata idle_b" "sata idle_c" "sata standby_y" \
	"sata standby_z" "sata sleep" "low low" "sat active" "sat idle" "sat idle_a" "sat idle_b" \
	"sat idle_c" "sat standby_y" "sat standby" "untold untold" "sata-untold untold"; do
	mode=${drive#* }
	interface=${drive% *}
	condition=
	text="power_mode $mode"
	name="asleep ($mode)"
	port scsi
	[ "${drive#sata}" = "$drive" ] || port sata
	case $drive in
	scsi*|sata\ *) text=; condition=$mode ;;
	esac
	case $drive in
	low*) name="asleep (low power)" ;;
	*standby) name="asleep (standby_z)" ;;
	# later kernels do not send the question again after the reset that it takes
	*sleep) name="asleep (standby_z|no known answer)" ;;
	*untold) name="asleep (no known answer)" ;;
	esac
	disk=$(drive_new a tiny.fbdrive "$port_text
$text") || exit 1
	rested "$disk" "$(port_model tiny.fbmodel)" "$condition"
	case $mode in
	active|idle|idle_a|idle_b)
		expect_ok "$drive: the scan ends" wait_for 200 grep -qx finished "$(fb "$disk")/scan"
		expect_ge "$interface $mode: by idle reads" "$(reads "$disk")" 20
		;;
	*)
		expect_eq "$drive: no idle reads" "$(reads "$disk")" 0
		expect_eq "$drive: none of the drive's sectors was read" \
			"$(job "$disk" scan blocks_delivered)" 0
		expect_match "$drive: says so" "$(cat "$(fb "$disk")/state/idle")" \
			"^$(echo "$name" | sed 's/ (\(.*\))/ [(](\1)[)]/')\$"
		if [ "$mode" = sleep ]; then
			sleep 30
			expect_eq "$drive: resets, the first of the probe" "$(drive_stat a resets)" 2
			expect_eq "$drive: the spindle stands" "$(drive_stat a wakes)" 0
			expect_eq "$drive: no idle reads in standby" "$(reads "$disk")" 0
		fi
		dd if=/dev/"$disk" of=/dev/null bs=4k count=1 skip=3000 iflag=direct 2>/dev/null
		expect_ok "$drive: after a read it spins, and is read" \
			wait_for 200 grep -qx finished "$(fb "$disk")/scan"
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
	expect_ok "$drive: the scan ends" wait_for 200 grep -qx finished "$(fb "$disk")/scan"
	source=$(state "$disk" lift_source)
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
expect_eq "stopped: says so" "$(cat "$(fb "$disk")/state/idle")" "asleep (stopped)"
expect_ok "it starts" sg_raw /dev/"$disk" 1b 00 00 00 01 00
expect_ok "started: the scan ends" wait_for 30 grep -qx finished "$(fb "$disk")/scan"
expect_eq "started: all blocks, none bad" \
	"$(job "$disk" scan blocks_delivered) $(job "$disk" scan blocks_bad)" "4096 0"
sched_set "$disk" none
unload_module scsi_debug

expect_within "unload freeblock" 20 unload_module freeblock
expect_within "unload mechata" 20 unload_module mechata
expect_within "unload mechdisk" 20 unload_module mechdisk
done_testing
