# SPDX-License-Identifier: GPL-2.0
# The simulated drive as a SATA one, below the kernel's own libata: probe, data, NCQ, errors, what
# libata's error handler does of them, power conditions, features; and freeblock above it.
#
# Expected: what ACS-3 and SAT say; of errors, what drivers/ata/libata-eh.c does: a medium error under
# NCQ ends one command, and those beside it are tried again.
#
# lab: kernel=stock clock=icount smp=1 timeout=300
# lab-kernel-modules: libata
# lab-host-programs: hdparm

. /lab/lib.sh

M=/sys/kernel/mechdisk

# fresh LINES: a drive "d"; what was there is removed
fresh()
{
	[ ! -d $M/d ] || echo d > $M/delete
	disk=$(drive_new d tiny.fbdrive "interface sata
$1") || exit 1
	sched_set "$disk" none
	echo 1 > $M/d/stats_reset
}

bad()
{
	echo "add $1" > $M/d/medium_errors || die "medium_errors refuses '$1'"
}

# readers NAME SECONDS: a foreground all over but the first MiB, in the background
readers()
{
	fio_run "$1" --filename=/dev/"$disk" --direct=1 --ioengine=libaio --iodepth=16 --rw=randread \
		--bs=4k --offset=1m --norandommap --time_based --runtime="$2" --randseed="${3-1}" &
	fio=$!
	wait_for 30 grep -q '[1-9]' /sys/block/"$disk"/inflight || die "no load"
}

# read_at SECTOR: a block of 4 KiB from there on
read_at()
{
	dd if=/dev/"$disk" of=/dev/null bs=4k skip=$(($1 / 8)) count=1 iflag=direct
}

### Who takes the drive

load_module mechdisk
echo d > $M/new
cat /lab/files/tiny.fbdrive > $M/d/description
echo "interface sata" > $M/d/description
expect_fail "no module for SATA: not powered on" sh -c "echo 1 > $M/d/power"
expect_eq "and why" "$(cat $M/d/status)" "error: interface sata: module mechata is not loaded"
load_module mechata
fresh

### What it is

expect_eq "capacity" "$(cat /sys/block/"$disk"/size)" 50129
expect_eq "vendor and product" "$(cat /sys/block/"$disk"/device/vendor /sys/block/"$disk"/device/model |
	tr -d ' ' | tr '\n' ' ')" "ATA TINY "
expect_eq "queue depth" "$(cat /sys/block/"$disk"/device/queue_depth)" 32
expect_eq "rotational" "$(cat /sys/block/"$disk"/queue/rotational)" 1
expect_match "world-wide name" "$(cat /sys/block/"$disk"/device/wwid)" '^naa\.5'
expect_match "rotation rate" "$(sg_vpd -p bdc /dev/"$disk")" "10000 rpm"
expect_match "the kernel's translation" "$(sg_vpd -p ai /dev/"$disk" | tr '\n' ' ')" \
	'linux .*libata'
expect_match "the link" "$(dmesg)" 'ata[0-9]+: SATA link up 6.0 Gbps'
expect_match "NCQ" "$(dmesg)" 'ata[0-9.]+: 50129 sectors, .*NCQ \(depth 32\)'
### Data

expect_eq "the first words" "$(dd if=/dev/"$disk" bs=4k count=1 skip=1 iflag=direct 2>/dev/null |
	od -A n -t u8 -N 16 | tr -s ' ')" " 512 513"
fio_run verify --filename=/dev/"$disk" --ioengine=libaio --direct=1 --rw=randwrite --verify=crc32c \
	--bsrange=4k-128k --iodepth=16 --verify_backlog=64 --size=16m --randseed=3
expect_eq "fio verifies what it wrote" "$(fio_errors verify)" 0
expect_ge "the queue was used" "$(drive_stat d max_outstanding)" 12

### NCQ or not

# READ (16) with FUA: of one block
fua()
{
	sg_raw -r 512 /dev/"$disk" 88 08 00 00 00 00 00 00 00 40 00 00 00 01 00 00
}

expect_ok "a read with FUA, under NCQ" fua
expect_eq "reaches the drive as one" "$(drive_stat d fua_reads)" 1
echo 1 > /sys/block/"$disk"/device/queue_depth
expect_fail "without NCQ the kernel refuses it" fua
echo 1 > $M/d/stats_reset
readers plain 2
wait $fio
expect_eq "without NCQ: one command at a time" "$(drive_stat d max_outstanding)" 1
expect_eq "no errors" "$(fio_errors plain)" 0
expect_ok "VERIFY becomes READ VERIFY SECTORS" sg_verify --lba=1000 --count=100 /dev/"$disk"
expect_eq "which the drive counts" "$(drive_stat d verifies)" 1
echo 32 > /sys/block/"$disk"/device/queue_depth
expect_ok "NCQ again" fua

### Errors: one command of many has them

for kind in unc idnf abrt; do
	fresh
	# what is not the medium's is tried again
	times=$([ $kind = unc ] && echo always || echo 1)
	bad "1003 1 error=$kind recovery_ms=20 times=$times"
	readers $kind 6
	sleep 1
	dmesg -c > /dev/null
	if [ $kind = unc ]; then
		expect_fail "$kind: a read of the bad sector fails" read_at 1000
	else
		expect_ok "$kind: a read is tried again, and works" read_at 1000
	fi
	expect_ok "$kind: one beside it does not" read_at 1008
	said=$(dmesg)
	wait $fio
	expect_eq "$kind: no error beside it" "$(fio_errors $kind)" 0
	expect_match "$kind: the kernel's error register" "$said" \
		"error: \{ $(echo $kind | tr a-z A-Z) \}"
	expect_match "$kind: under NCQ" "$said" 'READ FPDMA QUEUED'
	expect_eq "$kind: met once" "$(drive_stat d medium_errors)" 1
	expect_ge "$kind: others were dropped" "$(drive_stat d aborts)" 4
	expect_eq "$kind: and nothing was reset" "$(drive_stat d resets)" 0
done
fresh
echo 1 > /sys/block/"$disk"/device/queue_depth
bad "1003 1 recovery_ms=20"
expect_fail "without NCQ: a read of the bad sector fails" read_at 1000
expect_ok "a write succeeds" dd if=/dev/zero of=/dev/"$disk" bs=512 seek=1003 count=1 oflag=direct
expect_ok "and heals" read_at 1000

fresh "timeout_ms 1000"
echo "hang_next 1" > $M/d/inject
readers hang 4
wait $fio
expect_eq "a command hangs: all are tried again" "$(fio_errors hang)" 0
expect_eq "after a reset of the link" "$(drive_stat d resets)" 1
echo "hw_error_next 1" > $M/d/inject
expect_ok "a device fault is tried again" read_at 2000
expect_fail "SATA knows no TASK SET FULL" sh -c "echo fail_next full 1 > $M/d/inject"

### Power conditions

fresh
expect_match "awake" "$(hdparm -C /dev/"$disk")" 'active/idle'
expect_ok "standby now" hdparm -y /dev/"$disk"
expect_match "standby" "$(hdparm -C /dev/"$disk")" 'standby'
before=$(awk '{ print int($1 * 10) }' /proc/uptime)
expect_ok "a read spins it up" read_at 3200
took=$(($(awk '{ print int($1 * 10) }' /proc/uptime) - before))
expect_ge "which takes seconds: tenths" $took 79
expect_le "but not many: tenths" $took 84
expect_match "awake again" "$(hdparm -C /dev/"$disk")" 'active/idle'
echo 1 > $M/d/stats_reset
expect_ok "asleep" hdparm -Y /dev/"$disk"
expect_ok "a read wakes it" read_at 3200
expect_eq "by a reset of the link" "$(drive_stat d resets)" 1
### Features

fresh "cache 8 256 4
write_cache back
read_ahead segment"
expect_match "write cache is on" "$(hdparm -W /dev/"$disk")" 'write-caching = *1'
expect_eq "the kernel knows" "$(cat /sys/block/"$disk"/queue/write_cache)" "write back"
expect_ok "off" hdparm -q -W 0 /dev/"$disk"
expect_match "write cache is off" "$(hdparm -W /dev/"$disk")" 'write-caching = *0'
expect_ok "the kernel looks again" wait_for 10 grep -qx "write through" \
	/sys/block/"$disk"/queue/write_cache
### freeblock above it

load_module freeblock
shares=""
for seed in 1 2 3; do
	fresh "seed $seed"
	sched_set "$disk" freeblock || die "no freeblock"
	model_load "$disk" tiny-ata.fbmodel
	echo start > "$(fb "$disk")/scan"
	readers f$seed 10 $seed
	wait $fio
	expect_eq "freeblock $seed: no errors" "$(fio_errors f$seed)" 0
	expect_ge "freeblock $seed: free blocks" "$(job "$disk" scan blocks_delivered)" 500
	expect_eq "freeblock $seed: nothing is late" "$(drive_stat d late_over_10us)" 0
	note "freeblock $seed: lateness max $(drive_stat d late_max_ns) ns"
	shares="$shares $(($(stats "$disk" pred_within_50us) * 1000 / $(stats "$disk" pred_total)))"
	scan_stop "$disk"
	sched_set "$disk" none
done
expect_mean "predictions within 50 us, per mille" 990 999 $shares
expect_within "unload freeblock" 20 unload_module freeblock

### Removal

fresh
fio --name=gone --filename=/dev/"$disk" --direct=1 --ioengine=libaio --iodepth=16 --rw=randread \
	--bs=4k --time_based --runtime=30 --output=/dev/null > /dev/null 2>&1 &
fio=$!
wait_for 30 grep -q '[1-9]' /sys/block/"$disk"/inflight || die "no load"
sleep 1
expect_within "power off under load" 60 drive_off d
wait $fio
echo 1 > $M/d/power
# newer kernels close the disk some time after they have looked for partitions
wait_for 10 grep -q '^mechata [0-9]* 0 ' /proc/modules
expect_within "rmmod mechata with a drive on" 30 unload_module mechata
expect_eq "the drive is off" "$(cat $M/d/status)" off
expect_within "rmmod mechdisk" 30 unload_module mechdisk
done_testing
