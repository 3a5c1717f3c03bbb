# SPDX-License-Identifier: GPL-2.0
# How long a drive tries to read a bad sector: it is asked (SCT error recovery control, mode page
# 01h), and nobody sets it. And what a read of ours does that hangs, until the kernel resets the drive.
#
# Expected: state/recovery says what the drive says. With a limit of seven seconds no request of the
# foreground waits for ten. Without one, suspect blocks are not read before the foreground
# has been silent for ten seconds. A read that an abort ends is an error; after one that took a reset
# all tasks are paused, until somebody resumes them.
#
# Seen to fail: any error while libata's handler is at work taken for a reset; a time-out that an
# abort ended taken for one; the registers' bytes the wrong way round; suspect blocks that do not wait.
#
# lab: kernel=stock clock=icount smp=1 timeout=300
# lab-kernel-modules: libata

. /lab/lib.sh

M=/sys/kernel/mechdisk
load_module mechdisk
load_module mechata
load_module freeblock

# fresh PORT RECORDS
fresh()
{
	if [ -d $M/d ]; then
		sched_set "$disk" none
		# it knows a bad block of a disk for ever
		unload_module freeblock
		load_module freeblock
		echo d > $M/delete
	fi
	disk=$(drive_new d tiny.fbdrive "interface $1
$2") || exit 1
	sched_set "$disk" freeblock || die "no freeblock"
	model_load "$disk" "$([ "$1" = sata ] && echo tiny-ata || echo tiny).fbmodel"
	# neither the policy of idle reads nor the pause after slow ones is the question here
	echo 10000000 > "$(fb "$disk")/idle_mean_us"
	echo 1 > "$(fb "$disk")/bad_slow_s"
	echo 1000 > "$(fb "$disk")/bad_slow_most"
	echo 1 > $M/d/stats_reset
	dmesg -c > /dev/null
}

over()
{
	[ "$(job "$disk" scan)" = finished ]
}

is()
{
	[ "$(job "$disk" scan)" = "$1" ]
}

scan()
{
	echo "start 0 $1" > "$(fb "$disk")/scan" || die "no scan"
}

# load NAME RUNTIME: reads of the second half, ten a second
load()
{
	fio_run "$1" --filename=/dev/"$disk" --direct=1 --ioengine=psync --rw=randread --bs=4k \
		--norandommap --offset=12m --thinktime=100ms --time_based --runtime="$2" --randseed=4
}

longest_ms()
{
	echo $(($(fio_field "$1" 15) / 1000))
}

# ---- what it says ----

LONG="reads of ours are short, suspect blocks wait for silence"
while read -r port records; do
	read -r expected
	fresh "$port" "$(echo "$records" | tr ';' '\n')"
	expect_eq "$port, $records: before" "$(state "$disk" recovery)" \
		"not known yet: reads of ours are short"
	scan 4096
	expect_ok "$port, $records: the scan ends" wait_for 60 over
	expect_eq "$port, $records" "$(state "$disk" recovery)" "$expected"
	expect_eq "$port, $records: the log" "$(dmesg | grep -c -v freeblock)" 0
done << EOF
scsi recovery_limit_ms 7000
7000 ms
scsi recovery_limit_ms 20000
20000 ms: $LONG
scsi recovery_limit_ms 0
no limit: $LONG
scsi recovery_control off
not told: $LONG
sata recovery_limit_ms 7000
7000 ms
sata recovery_limit_ms 0
no limit: $LONG
sata recovery_control off
not told: $LONG
EOF

# ---- a sector that takes half a minute, in the way of a foreground ----

for port in scsi sata; do
	fresh $port ""
	echo "add 2403 1 recovery_ms=29000" > $M/d/medium_errors || die "no bad sector"
	scan 4096
	load limit 20
	expect_eq "$port, limit: errors of the foreground" "$(fio_errors limit)" 0
	longest=$(longest_ms limit)
	expect_ge "$port, limit: a request met it, ms" "$longest" 5000
	promise "$port, limit: longest wait, ms" "$longest" le 10000
	expect_ok "$port, limit: the scan ends" wait_for 60 over
	expect_eq "$port, limit: bad blocks" "$(job "$disk" scan blocks_bad)" 1

	fresh $port "recovery_control off"
	echo "add 2403 1 recovery_ms=20000" > $M/d/medium_errors || die "no bad sector"
	scan 4096
	load none 30
	expect_eq "$port, no limit: errors of the foreground" "$(fio_errors none)" 0
	note "$port, no limit: longest wait $(longest_ms none) ms"
	before=$(job "$disk" scan blocks_delivered)
	expect_le "$port, no limit: tries beside the foreground" "$(drive_stat d medium_errors)" 1
	expect_ok "$port, no limit: the scan ends" wait_for 100 over
	expect_le "$port, no limit: blocks beside the foreground, but those around it" "$before" 450
	expect_eq "$port, no limit: bad blocks" "$(job "$disk" scan blocks_bad)" 1
done

# ---- a read that hangs ----

fresh scsi "timeout_ms 1000"
echo "hang_next 1" > $M/d/inject
scan 20000
expect_ok "aborted: the scan goes on and ends" wait_for 60 over
expect_eq "aborted: no reset" "$(drive_stat d resets)" 0
expect_eq "aborted: alarms" "$(stats "$disk" alarms)" 0

for port in scsi sata; do
	fresh $port "timeout_ms 1000"
	[ $port = sata ] || echo "abort_fails_next 1" > $M/d/inject
	echo "hang_next 1" > $M/d/inject
	scan 20000
	expect_ok "$port, reset: the scan is paused" wait_for 60 is paused
	expect_ge "$port, reset: the drive was" "$(drive_stat d resets)" 1
	expect_eq "$port, reset: alarms" "$(stats "$disk" alarms)" 1
	expect_eq "$port, reset: the log" "$(dmesg | grep -c 'timed out, and took a reset')" 1
	load reset 2
	expect_eq "$port, reset: errors of the foreground" "$(fio_errors reset)" 0
	expect_ok "$port, reset: still paused" is paused
	echo resume > "$(fb "$disk")/scan"
	expect_ok "$port, reset: resumed, it ends" wait_for 60 over
done
drive_off d
expect_within "unload freeblock" 20 unload_module freeblock
done_testing
