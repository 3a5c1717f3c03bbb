# SPDX-License-Identifier: GPL-2.0
# The user-level scheduler (tools/freeblock sg, Documentation/sg.rst) over /dev/sgX,
# without the kernel module: what it refuses, its figures, errors, its ends.
#
# Expected: the figures of the simulator for the same settings, run here, and the
# kernel's (t-numbers.sh); never more than two commands at the drive; every block
# delivered is right (the host judges its checksum). The alone run is under
# mq-deadline, that with the scan under bfq: both do not see the commands.
#
# Figures are means of seeds, for one run says little (sg.rst).
#
# Seen to fail with: reads sent one block further on than meant (data, blocks skipped);
# completions stamped to 200 us (predictions); a block device that is not opened
# exclusively (swap); commands held back as long as in the simulator (plans too late); no
# look for partitions; requests that are not sent again (hang); an end that does not wait
# for commands (interrupted); idle reads as long as the policy likes them (short).
#
# lab-programs: sg sim
# lab: kernel=stock clock=icount smp=1 timeout=500

. /lab/lib.sh

M=/sys/kernel/mechdisk
ATLAS=/lab/files/atlas10k.fbmodel
TINY=/lab/files/tiny.fbmodel
SECONDS_EACH=30
WITHIN_PM=30
seeds="1 2 3"

# get FILE KEY: a number of a result (the last of that name: settings come first)
get()
{
	sed -n 's/.*"'"$2"'": \([-0-9.e+]*\).*/\1/p' "/out/$1.json"
}

# pm NUMBER FACTOR: times FACTOR, as a whole number
pm()
{
	echo "$1 $2" | awk '{ printf "%d", $1 * $2 + 0.5 }'
}

# fresh DRIVE [LINES]: sets $disk and $sg
fresh()
{
	[ -d $M/d ] && echo d > $M/delete
	disk=$(drive_new d "$1.fbdrive" "$2") || exit 1
	sg=/dev/$(ls "/sys/block/$disk/device/scsi_generic")
	wait_for 10 [ -c "$sg" ] || die "no $sg"
	# until the partition table has been read, for which the drive's worker may be late
	sleep 0.5
	echo 1 > $M/d/stats_reset
}

# run NAME SETTINGS...: sets $status; the result is in /out/NAME.json
run()
{
	local name="$1"

	shift
	$before freeblock-sg device="$sg" "$@" > "/out/$name.json" 2> "/out/$name.err"
	status=$?
}

good()
{
	run "$@"
	expect_eq "$1: ends well" "$status $(cat "/out/$1.err")" "0 "
}

# refused NAME PATTERN SETTINGS...; misused: likewise, for a setting's sake
refused()
{
	ends 1 "$@"
}

misused()
{
	ends 2 "$@"
}

ends()
{
	local want="$1" name="$2" pattern="$3"

	shift 3
	run refused "$@"
	expect_eq "refused: $name" "$status $(stat -c %s /out/refused.json)" "$want 0"
	expect_match "refused: $name: the reason" "$(cat /out/refused.err)" "$pattern"
}

# both NAME OURS SIMULATORS SETTINGS...: with each of $seeds in the simulator, and here, where it
# ends well; OURS and SIMULATORS are settings of one of them
both()
{
	local name="$1" ours="$2" theirs="$3" seed

	shift 3
	for seed in $seeds; do
		freeblock-sim $theirs "$@" seed="$seed" > "/out/$name-$seed-sim.json" ||
			die "no simulator"
		good "$name-$seed" $ours "$@" seed="$seed"
	done
}

# each NAME KEY FACTOR: a number of each seed's result, times FACTOR
each()
{
	local seed

	for seed in $seeds; do
		echo "$(pm "$(get "$1-$seed" "$2")" "$3")"
	done
}

# per_mille NAME OTHER KEY [END]: of each seed, what NAME has of what OTHER has
per_mille()
{
	local seed

	for seed in $seeds; do
		echo "$(get "$1-$seed" "$3") $(get "$2-$seed$4" "$3")" |
			awk '{ printf "%.1f\n", 1000 * $1 / $2 }'
	done
}

# agree NAME KEY: with the simulator, by the mean of seeds. Requests are the same in both; when
# this program gets to run is not, and after that two runs part (bounds has how far).
agree()
{
	expect_mean "$1: $2, per mille of the simulator's" $((1000 - WITHIN_PM)) \
		$((1000 + WITHIN_PM)) $(per_mille "$1" "$1" "$2" -sim)
}

# kernel_near NAME KERNELS FIGURE...: their mean beside the kernel's
kernel_near()
{
	local name="$1" kernels="$2"

	shift 2
	expect_mean "$name, the kernel's $kernels" $((kernels * (1000 - WITHIN_PM) / 1000)) \
		$((kernels * (1000 + WITHIN_PM) / 1000)) "$@"
}

# in_time NAME: plans were made before it was too late for them
in_time()
{
	expect_ge "$1: plans" "$(get "$1" plans)" 50
	expect_le "$1: plans that came too late" "$(get "$1" too_late)" \
		$(($(get "$1" plans) / 50))
}

# ---- what is refused, and that it touches nothing

load_module mechdisk
fresh tiny
W="allow_writes=1 reads=.5"
W2="allow_writes=1 confirm=MDTINY001"
refused "another product's model" "is for 'QUANTUM' 'ATLAS10K'" model=$ATLAS
misused "writes by themselves" "the foreground writes" model=$TINY reads=.5
refused "writes unconfirmed" "confirm its serial number" model=$TINY $W
refused "writes to another drive" "you said 'MDTINY002'" model=$TINY $W confirm=MDTINY002
refused "a block device" "name the SCSI generic device" model=$TINY device="/dev/$disk"
refused "long commands" "takes 1024" model=$TINY size=1024k
misused "long blocks" "granule: .*takes 1024" model=$TINY task=scan size=4k granule=1048576
refused "direct transfers that are not allowed" "echo 1 > /sys/module/sg" model=$TINY direct=1
refused "no room for a file" "crc: /nowhere" model=$TINY task=scan crc=/nowhere/crc
echo 1 > "/sys/block/$disk/device/queue_depth"
refused "one command at once" "echo 2 > .*queue_depth" model=$TINY
echo 16 > "/sys/block/$disk/device/queue_depth"
exec 9< "$sg"
refused "in use by another program" "another program has it open" model=$TINY
exec 9<&-
expect_eq "refused: nothing was written" "$(drive_stat d writes)" 0
# a partition: from sector 64 on, 1000 sectors
dd if=/dev/zero of=/tmp/mbr bs=512 count=1 2>/dev/null
printf '\0\0\0\0\203\0\0\0\100\0\0\0\350\003\0\0' |
	dd of=/tmp/mbr bs=1 seek=446 conv=notrunc 2>/dev/null
printf '\125\252' | dd of=/tmp/mbr bs=1 seek=510 conv=notrunc 2>/dev/null
dd if=/tmp/mbr of="/dev/$disk" bs=512 conv=fsync 2>/dev/null
blockdev --rereadpt "/dev/$disk"
wait_for 10 [ -b "/dev/${disk}1" ] || die "no partition"
refused "writes where a partition is" "there is a partition, ${disk}1" model=$TINY $W $W2
mkswap "/dev/${disk}1" > /dev/null && swapon "/dev/${disk}1" || die "no swap"
refused "in use as swap" "or a partition of it is in use" model=$TINY
swapoff "/dev/${disk}1"
good unused model=$TINY seconds=.1

fresh toy "vendor MECHDISK
product TINY"
refused "another size" "sectors of 512 bytes" model=$TINY

# reads in idle time, too, are no longer than the device takes them, and than was announced
fresh tiny "max_sectors 128"
good short model=$TINY task=scan size=4k rate=5 seconds=5 idle_size_kib=4096
expect_ge "short: idle reads" \
	"$(sed -n 's/.*"idle": {.*"reads": \([0-9]*\).*/\1/p' /out/short.json)" 5

# ---- the figures

fresh atlas10k "journal_records 40000"
sched_set "$disk" mq-deadline
F="model=$ATLAS reads=.67 seconds=$SECONDS_EACH"
P="preset=paper"
W="allow_writes=1 confirm=MD10K0176"
S="drive=/lab/files/atlas10k.fbdrive"
T="task=scan conservatism_us=300"
both alone "$W" $S $F $P
agree alone requests_per_s
fresh atlas10k
sched_set "$disk" bfq
# not to wait for the simulated drive's thread (FIFO, 50), which has the same CPU
before="chrt -f 60"
both scan "$W" $S $F $P $T
agree scan requests_per_s
agree scan free_mb_s
# the kernel's, by make demo (Documentation/results.rst), whose foreground is fio's
kernel_near "scan: requests in 100 s" 15670 $(each scan requests_per_s 100)
kernel_near "scan: free kB/s" 7410 $(each scan free_mb_s 1000)
expect_mean "scan: requests, per mille of those alone" 979 1003 \
	$(per_mille scan alone requests_per_s)
expect_mean "scan: reports within 50 us of the prediction, per mille" 970 995 \
	$(each scan reports_within_50us 1000)
expect_eq "scan: most commands sent" "$(get scan-1 most_at_drive)" 2
expect_eq "scan: most commands the drive saw" "$(drive_stat d max_outstanding)" 2
in_time scan-1
expect_le "scan: our CPU time, per mille" \
	"$(pm "$(get scan-1 cpu_s)" $((1000 / SECONDS_EACH)))" 40
expect_eq "scan: commands left" "$(drive_stat d outstanding)" 0
expect_le "scan: drive late, ns" "$(drive_stat d late_max_ns)" 20000
before=

# ---- the data, with writes that overlap free reads

# checksums NAME: where they go
checksums()
{
	verify_folder=/out/verify-$1
	mkdir -p $verify_folder
	echo 0 > $verify_folder/journal_at_start
	crc=$verify_folder/checksums
}

# keep: what the host judges them with
keep()
{
	cat $M/d/journal > $verify_folder/journal
	cat "/sys/block/$disk/size" > $verify_folder/sectors
	expect_eq "the journal is complete" "$(drive_stat d journal_overflow)" 0
}

fresh tiny "journal_records 40000"
checksums data
good data model=$TINY reads=.5 $W2 task=scan conservatism_us=100 outstanding=3 seconds=20 crc=$crc
expect_eq "data: a checksum of each block" "$(stat -c %s $crc)" \
	$(($(pm "$(get data task_done)" $((50129 / 8 + 1))) * 16))
in_time data
keep

# 24 TB in blocks of 4096 bytes, so that LBNs do not fit 32 bits

fresh nearline24 "journal_records 1000"
L="model=/lab/files/nearline24.fbmodel reads=1 task=scan seconds=10"
checksums large
good large crc=$crc $P $L
expect_ge "large: blocks to judge" $(($(stat -c %s $crc) / 16)) 10000
keep

# ---- bad sectors: the scan goes on, and ends

fresh tiny
for lbn in 803 1610 2411; do
	echo "add $lbn 1 recovery_ms=20 asc=11" > $M/d/medium_errors
done
# the drive does not say where: each block of the read is then tried alone
echo "add 3202 1 recovery_ms=20 asc=11 info=0" > $M/d/medium_errors
# what is around them is not read in gaps, so there must be idle time
B="model=$TINY task=scan range=0+4000 conservatism_us=100 size=4k"
checksums bad
good bad $B rate=30 whole=1 seconds=60 crc=$crc
B="$B outstanding=3"
expect_eq "bad: a checksum of each block read" "$(stat -c %s $crc)" $((496 * 16))
expect_eq "bad: blocks skipped" "$(get bad blocks_skipped)" 4
expect_eq "bad: the rest was read" "$(pm "$(get bad task_done)" 500)" 496
expect_ge "bad: reads that failed" "$(get bad free)" 4
keep
note "bad: $(get bad foreground) foreground requests failed"
echo "add 0 4000 recovery_ms=1 asc=11 info=0" > $M/d/medium_errors
good bad-own model=$TINY size=4k requests=500
expect_ge "bad-own: foreground requests that failed" "$(get bad-own foreground)" 10

# ---- mishaps

fresh tiny "timeout_ms 60000"
echo "hang_next 1" > $M/d/inject
good hang $B seconds=4 timeout_ms=1000
expect_eq "hang: a command took too long" "$(get hang timeouts)" 1
expect_ge "hang: it was sent again" "$(get hang sent_again)" 1
expect_eq "hang: no request failed" "$(get hang foreground)" 0
# Linux sends these again itself
echo "hw_error_next 3" > $M/d/inject
good again $B seconds=1
expect_eq "hardware errors: no request failed" "$(get again foreground)" 0
expect_eq "hardware errors: they are over" "$(sed -n 's/hw_error_next //p' $M/d/inject)" 0

# ---- a trace; direct transfers; interrupted; the drive gone

awk 'BEGIN { for (i = 0; i < 200; i++) print i * 10.5, i * 7919 % 40000, 8, "R # " i }' \
	> /tmp/trace
echo 1 > /sys/module/sg/parameters/allow_dio
good trace model=$TINY trace=/tmp/trace direct=1
expect_eq "trace: requests" "$(get trace requests)" 200
expect_ge "trace: milliseconds" "$(pm "$(get trace seconds)" 1000)" 2089
expect_le "trace: milliseconds" "$(pm "$(get trace seconds)" 1000)" 2150
expect_eq "trace: direct transfers" "$(get trace indirect)" 0
printf '0 0 8 R\n5 16 8 W\n' > /tmp/trace
misused "a trace that writes" "the foreground writes" model=$TINY trace=/tmp/trace

freeblock-sg device="$sg" $B seconds=600 timeout_ms=1000 > /out/interrupted.json 2>/dev/null &
running=$!
aborts=$(drive_stat d aborts)
sleep 2
echo "hang_next 1" > $M/d/inject
sleep 0.2
kill -INT $running
wait $running
expect_eq "interrupted: status" $? 0
expect_eq "interrupted: a command that hung was waited for" "$(drive_stat d aborts)" $((aborts + 1))
expect_ge "interrupted: results of the time before, ms" "$(pm "$(get interrupted seconds)" 1000)" 1500
expect_le "interrupted: at once, ms" "$(pm "$(get interrupted seconds)" 1000)" 2700
expect_eq "interrupted: commands left" "$(drive_stat d outstanding)" 0

freeblock-sg device="$sg" $B seconds=600 > /out/gone.json 2> /out/gone.err &
running=$!
sleep 1
drive_off d
wait $running
expect_eq "gone: status" $? 1
expect_match "gone: the reason" "$(cat /out/gone.err)" "is gone|No such device"
expect_ge "gone: results of the time before" "$(get gone requests)" 50
done_testing
