# SPDX-License-Identifier: GPL-2.0
# How long a drive tries to read a bad sector: it is asked (SCT error recovery control, mode page
# 01h), and nobody sets it. And what a read of ours does that hangs, until the kernel resets the drive.
#
# Expected: state/recovery says what the drive says. With a limit of seven seconds no request of the
# foreground waits for ten. Without one, suspect blocks are not read before the foreground
# has been silent for ten seconds. A read that an abort ends is an error; after one that took a reset,
# of the device, the bus or the host adapter, all tasks on the adapter's disks are paused, until somebody
# resumes them, and none on another adapter's. One of an adapter's disks can go while both are read.
#
# Seen to fail: any error while libata's handler is at work taken for a reset; a time-out that an
# abort ended taken for one; the registers' bytes the wrong way round; suspect blocks that do not wait; tasks
# paused on the disk of the read alone, or on all disks there are (fb_recovery_work()).
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
expect_eq "aborted: alarms" "$(state "$disk" alarms)" 0

for port in scsi sata; do
	fresh $port "timeout_ms 1000"
	[ $port = sata ] || echo "abort_fails_next 1" > $M/d/inject
	echo "hang_next 1" > $M/d/inject
	scan 20000
	expect_ok "$port, reset: the scan is paused" wait_for 60 is paused
	expect_ge "$port, reset: the drive was" "$(drive_stat d resets)" 1
	expect_eq "$port, reset: alarms" "$(state "$disk" alarms)" 1
	expect_eq "$port, reset: the log" "$(dmesg | grep -c 'timed out, and took a reset')" 1
	load reset 2
	expect_eq "$port, reset: errors of the foreground" "$(fio_errors reset)" 0
	expect_ok "$port, reset: still paused" is paused
	echo resume > "$(fb "$disk")/scan"
	expect_ok "$port, reset: resumed, it ends" wait_for 60 over
done
drive_off d
echo d > $M/delete

# ---- two disks of one adapter, and a third of its own ----

# start_all BLOCKS: a scan of that many on each; sets $a, $b and $c
start_all()
{
	local drive text disk

	for drive in a b c; do
		text="serial MD$drive
timeout_ms 1000"
		[ $drive = c ] || text="$text
shared_host 1"
		disk=$(drive_new $drive tiny.fbdrive "$text") || exit 1
		sched_set "$disk" freeblock || die "no freeblock"
		model_load "$disk" tiny.fbmodel
		echo 10000000 > "$(fb "$disk")/idle_mean_us"
		eval "$drive=$disk"
	done
	dmesg -c > /dev/null
	for disk in "$a" "$b" "$c"; do
		echo "start 0 $1" > "$(fb "$disk")/scan" || die "no scan"
	done
}

host_of()
{
	readlink -f /sys/block/"$1"/device | grep -o 'host[0-9]*' | head -n 1
}

# jobs WORD: the scan of each is
jobs()
{
	for disk in "$a" "$b" "$c"; do
		is "$1" || return 1
	done
}

remove_all()
{
	for drive in a b c; do
		[ ! -d $M/$drive ] || echo $drive > $M/delete
	done
}

# what fails before it: nothing, the reset of the device, and that of the bus
for fails in 0 1 2; do
	start_all 40000
	[ $fails = 0 ] && expect_eq "adapter: a and b share one" "$(host_of "$a")" "$(host_of "$b")"
	[ $fails = 0 ] && expect_ne "adapter: c has another" "$(host_of "$a")" "$(host_of "$c")"
	sleep 0.2
	# a read of the scan: there is no foreground
	echo "abort_fails_next 1" > $M/a/inject
	echo "reset_fails_next $fails" > $M/a/inject
	echo "hang_next 1" > $M/a/inject
	disk=$a
	expect_ok "adapter, $fails fail: a is paused" wait_for 30 is paused
	disk=$b
	expect_ok "adapter, $fails fail: so is b" wait_for 5 is paused
	disk=$c
	expect_ok "adapter, $fails fail: c is not, and ends" wait_for 60 over
	expect_eq "adapter, $fails fail: drives that were reset" \
		"$(drive_stat a resets) $(drive_stat b resets) $(drive_stat c resets)" \
		"1 $([ $fails = 0 ] && echo 0 || echo 1) 0"
	# disks are known again by their names
	expect_eq "adapter, $fails fail: alarms so far" \
		"$(state "$a" alarms) $(state "$b" alarms) $(state "$c" alarms)" \
		"$((fails + 1)) $((fails + 1)) 0"
	expect_eq "adapter, $fails fail: the log" \
		"$(dmesg | grep -c 'timed out, and took a reset')" 2
	disk=$b
	sleep 2
	expect_ok "adapter, $fails fail: b is still paused" is paused
	for disk in "$a" "$b"; do
		echo resume > "$(fb "$disk")/scan"
	done
	expect_ok "adapter, $fails fail: resumed, all end" wait_for 60 jobs finished
	remove_all
done

start_all 50000
disk=$b
load gone 6 &
fio=$!
sleep 1
expect_ok "adapter: b is read" is running
expect_within "adapter: a goes, which is read, too" 30 sh -c "echo a > $M/delete"
wait $fio
expect_eq "adapter, a gone: errors of b's foreground" "$(fio_errors gone)" 0
expect_ok "adapter, a gone: the scan of b ends" wait_for 60 over
expect_eq "adapter, a gone: bad blocks" "$(job "$b" scan blocks_bad)" 0
a=$(drive_new a tiny.fbdrive "serial MDa
shared_host 1") || exit 1
expect_eq "adapter: a comes back to it" "$(host_of "$a")" "$(host_of "$b")"
expect_within "adapter: all drives go at once" 60 remove_all
expect_within "unload freeblock" 20 unload_module freeblock
expect_within "unload mechata" 20 unload_module mechata
expect_within "unload mechdisk" 20 unload_module mechdisk
done_testing
