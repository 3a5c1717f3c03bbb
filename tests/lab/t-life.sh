# SPDX-License-Identifier: GPL-2.0
# Hard moments while a foreground runs and a scan is active: the scheduler is
# switched away and back, the queue frozen, the drive reset, commands hang, are
# refused or fail, the disk is deleted, powered off and plugged in again, the
# module unloaded. Then disks that look alike: two paths to one, which are barred as long
# as both are there; and some without a unique id, of the same name and size.
#
# Expected: nothing hangs or leaks, the foreground's data are right, no error
# reaches it but by removal of its disk; the scan goes on after each, no block
# is called bad, and it ends with a clear status.
#
# Seen to fail with: every error of a free read called the medium's (blocks
# called bad); fb_disk_find() by name only (another drive inherits model and
# scan, with and without an id); fb_free_read_return() never called (no end);
# fb_disk_free_twin() never called (a path that is alone stays barred);
# fb_disk_lose() never called (records of disks that never come back). Not noticed: no let_go, for
# under the instruction clock no carrier happens to be held in a freeze.
#
# Real-time guests get a drive in slow motion, or there would be no free read.
# Where the host is busy even that drive's completions are so late that the model
# is rightly distrusted; so the scan need not go on there after each step, but it
# must have read something in the end.
#
# lab-compile: fbread.c
# lab: kernel=stock clock=icount smp=1 timeout=500
# lab: set=soak kernel=debug clock=real smp=4 timeout=1500

. /lab/lib.sh

kind=tiny
hw_queues=1
timeout_ms=1000
rounds=4
if [ "$LAB_CLOCK" = real ]; then
	kind=slow
	hw_queues=4
	timeout_ms=3000
	rounds=2
fi
M=/sys/kernel/mechdisk
drives_without_id ATA TINY
load_module mechdisk
load_module freeblock

# drive NAME: a drive under freeblock with a model; sets $disk
drive()
{
	disk=$(drive_new "$1" $kind.fbdrive "timeout_ms $timeout_ms
hw_queues $hw_queues
serial MD$1") || exit 1
	freeblock_on "$disk" || die "no freeblock"
	model_load "$disk" $kind.fbmodel
}

# the subject is survival, not cost: no guard
freeblock_on()
{
	sched_set "$1" freeblock && iosched "$1" target_slowdown_ppm 1000000
}

# load DISK: writes that fio reads back and verifies, and reads all over
load()
{
	fio --output-format=terse --terse-version=3 --eta=never --output=/tmp/load-"$1" \
		--filename=/dev/"$1" --direct=1 --ioengine=libaio --time_based --runtime=900 \
		--allow_file_create=0 \
		--name=verify --rw=randwrite --bsrange=4k-16k --offset=4m --size=4m --iodepth=6 \
		--verify=crc32c --verify_backlog=12 --verify_fatal=1 \
		--name=reads --rw=randread --bsrange=4k-16k --iodepth=6 --norandommap &
	eval "fio_$1=$!"
	wait_for 30 grep -q '[1-9]' /sys/block/"$1"/inflight || die "no load on $1"
}

# load_ends NAME DISK: stop it; it must have met no error
load_ends()
{
	local pid

	eval "pid=\$fio_$2"
	kill -INT "$pid" 2>/dev/null
	wait "$pid"
	expect_eq "$1: foreground: errors" "$(awk -F';' '{ s += $5 } END { print s + 0 }' \
		/tmp/load-"$2")" 0
}

# it was on a disk that is gone: any error, but an end
load_dies()
{
	local pid

	eval "pid=\$fio_$2"
	expect_ok "$1: fio ends" wait_for 60 sh -c "! grep -q '^State:.[^Z]' /proc/$pid/status"
	wait "$pid"
}

progress()
{
	job "$1" scan blocks_delivered
}

goes_on()
{
	[ "$(progress "$1")" -gt "$2" ]
}

# trust DISK: after too many late completions, begin anew
trust()
{
	case $(state "$1" knowledge) in
	*': completions do not fit'*)
		sched_set "$1" none
		freeblock_on "$1" ;;
	esac
}

# scan_goes_on NAME DISK: a block more than now, and none called bad
scan_goes_on()
{
	if [ "$LAB_CLOCK" = icount ]; then
		expect_ok "$1: the scan goes on" wait_for 60 goes_on "$2" "$(progress "$2")"
	else
		sleep 2
		trust "$2"
		note "$1 at $(cut -d' ' -f1 /proc/uptime) s: $(progress "$2") blocks"
	fi
	expect_eq "$1: scan" "$(job "$2" scan)" running
	expect_eq "$1: no block is called bad" \
		"$(job "$2" scan blocks_bad) $(job "$2" scan blocks_skipped)" "0 0"
}

switch_away()
{
	local i=0 other

	while [ $i -lt $rounds ]; do
		for other in none mq-deadline bfq none mq-deadline none; do
			sched_set "$1" $other || return 1
			[ "$(state "$1" scheduling)" = "another scheduler" ] || return 1
			[ "$(job "$1" scan)" = running ] || return 1
			freeblock_on "$1" || return 1
			sleep "0.$((i * 2))$((i + 1))"
		done
		i=$((i + 1))
	done
}

freezes()
{
	local n

	# shellcheck disable=SC2046
	for n in $(echo 4 64 7 33 2 64 | cut -d' ' -f-$((rounds + 2))); do
		echo $n > /sys/block/"$1"/queue/nr_requests || return 1
		sleep 0.2
		echo $((n % 3)) > /sys/block/"$1"/queue/nomerges || return 1
		echo $((n * 500)) > /sys/block/"$1"/queue/wbt_lat_usec 2>/dev/null
		sleep 0.2
	done
	echo 0 > /sys/block/"$1"/queue/nomerges
}

resets()
{
	local i=0

	while [ $i -lt $rounds ]; do
		i=$((i + 1))
		sg_reset -d -N /dev/"$1" || return 1
		sleep 0.3
		sg_reset -H -N /dev/"$1" || return 1
		sleep 0.4
	done
}

delete_device()
{
	echo 1 > /sys/block/"$1"/device/delete
}

injected()
{
	! grep -q ' [1-9]' $M/"$1"/inject
}

# inject NAME DRIVE DISK KIND N: the mishap, N times
inject()
{
	echo "$4 $5" > $M/"$2"/inject
	expect_ok "$1: met" wait_for 60 injected "$2"
	scan_goes_on "$1" "$3"
}

# aborted DRIVE N: the drive was told to abort more than N commands
aborted()
{
	[ "$(drive_stat "$1" aborts)" -gt "$2" ]
}

# hang_one DRIVE DISK: one command hangs and is aborted, and the scan goes on. What meets the next
# one is any then: after a fixed time it may be the first after an abort again and again, and that
# is never a free read
hang_one()
{
	local aborts

	aborts=$(drive_stat "$1" aborts)
	echo hang_next 1 > $M/"$1"/inject
	wait_for 60 aborted "$1" "$aborts"
	wait_for 60 goes_on "$2" "$(progress "$2")"
}

# hang_free_read DRIVE DISK: hang one command at a time until a free read was hit
hang_free_read()
{
	local tries=0

	# real time does not skip the time-outs
	[ "$LAB_CLOCK" = icount ] || return
	while [ "$(stats "$2" free_errors)" = 0 ] && [ $tries -lt 60 ]; do
		hang_one "$1" "$2"
		tries=$((tries + 1))
	done
	expect_ge "free reads that hung" "$(stats "$2" free_errors)" 1
	note "aborts $(drive_stat "$1" aborts), resets $(drive_stat "$1" resets)"
	# as t-recovery has it: where a reset ended the read, tasks wait for somebody
	if [ "$(job "$2" scan)" = paused ]; then
		expect_ge "paused by a reset" "$(drive_stat "$1" resets)" 1
		echo resume > "$(fb "$2")/scan"
	fi
	scan_goes_on "hung free read" "$2"
}

# ---- one disk ----

drive a
a=$disk
load "$a"
echo start > "$(fb "$a")/scan" || die "no scan"
scan_goes_on begin "$a"
expect_fail "unloading is refused while in use" unload_module freeblock

expect_within "$((rounds * 6)) switches away and back" 90 switch_away "$a"
scan_goes_on switches "$a"
expect_within "freezes" 60 freezes "$a"
scan_goes_on freezes "$a"
expect_within "resets" 60 resets "$a"
scan_goes_on resets "$a"
inject "device busy" a "$a" "fail_next busy" $((rounds * 5))
inject "host busy" a "$a" "fail_next host_busy" $((rounds * 5))
inject "hardware error" a "$a" hw_error_next $((rounds * 3))
inject "hung command" a "$a" hang_next 1
inject "hung commands" a "$a" hang_next 2
hang_free_read a "$a"
expect_ge "hung commands were aborted" "$(($(drive_stat a aborts) + $(drive_stat a resets)))" 3
if [ "$LAB_CLOCK" = icount ]; then
	expect_le "two at the device, all the time" \
		"$(stats "$a" max_in_flight)" 2
fi
load_ends "mishaps" "$a"
expect_within "scan stops without a foreground" 30 scan_stop "$a"
blocks=$(progress "$a")
expect_eq "and says so" "$(job "$a" scan)" stopped

# ---- its end and its return ----

echo start > "$(fb "$a")/scan"
load "$a"
scan_goes_on "before deletion" "$a"
model=$(md5sum < "$(fb "$a")/model")
expect_within "deletion" 60 delete_device "$a"
load_dies deletion "$a"
expect_eq "deleted: detached" "$(state "$a" attached)" 0
expect_eq "deleted: the scan waits" "$(job "$a" scan)" running
expect_within "power off" 30 drive_off a

drive b
b=$disk
expect_eq "another drive under the same name" "$b" "$a"
expect_eq "is another disk" "$(job "$b" scan)" idle
load "$b"
echo start > "$(fb "$b")/scan"
scan_goes_on "another disk" "$b"
expect_within "power off under load" 60 drive_off b
load_dies "power off" "$b"

echo 1 > $M/a/power
expect_ok "the first drive is back" wait_for 30 grep -q 'on sd' $M/a/status
a=$(sed -n 's/.*on \(sd[a-z]*\).*/\1/p' $M/a/status)
expect_ok "its block device" wait_for 30 [ -b /dev/"$a" ]
freeblock_on "$a"
expect_eq "it has its model" "$(md5sum < "$(fb "$a")/model")" "$model"
load "$a"
scan_goes_on "back again" "$a"

# ---- two at once ----

drive c
c=$disk
load "$c"
echo start > "$(fb "$c")/scan"
scan_goes_on "second disk" "$c"
scan_goes_on "first disk beside it" "$a"
expect_within "the second is powered off" 60 drive_off c
load_dies "second disk" "$c"
scan_goes_on "first disk alone" "$a"

# ---- unloading ----

expect_within "scan stops under a foreground" 30 scan_stop "$a"
if [ "$LAB_CLOCK" = icount ]; then
	echo "start 0 80" > "$(fb "$a")/scan"
	expect_ok "a small one finishes" wait_for 120 grep -qx finished "$(fb "$a")/scan"
else
	expect_ge "blocks read, all in all" $(($(progress "$a") + blocks)) 1
fi
echo start > "$(fb "$a")/scan"
scan_goes_on "before unloading" "$a"
expect_within "none" 30 sched_set "$a" none
expect_within "unloads with two scans running, detached" 30 unload_module freeblock
load_ends "unloading" "$a"
load_module freeblock
freeblock_on "$a"
expect_eq "a new module knows no model" "$(state "$a" model)" 0
expect_within "power off" 30 drive_off a

# ---- two paths to one disk ----

scheduling()
{
	state "$1" scheduling
}

drive e
e=$disk
f=$(drive_new f $kind.fbdrive "timeout_ms $timeout_ms
hw_queues $hw_queues
serial MDe") || exit 1
expect_eq "one path" "$(scheduling "$e")" yes
freeblock_on "$f"
expect_eq "two paths" "$(scheduling "$e"), $(scheduling "$f")" \
	"multipath member, multipath member"
sched_set "$f" none
expect_eq "the other one has another scheduler" "$(scheduling "$e")" yes
freeblock_on "$f"
expect_eq "two paths again" "$(scheduling "$e")" "multipath member"
drive_off f
expect_eq "the other one is gone" "$(scheduling "$e")" yes
drive_off e

# ---- no unique id ----

# records N: so many are kept
records()
{
	# shellcheck disable=SC2012
	[ "$(ls /sys/kernel/freeblock | wc -l)" = "$1" ]
}

g=$(drive_new g tiny.fbdrive "vendor ATA") || exit 1
freeblock_on "$g"
model_load "$g" tiny-ata.fbmodel
expect_eq "g: no id" "$(cat "$(fb "$g")/id")" -
echo start > "$(fb "$g")/scan"
model=$(md5sum < "$(fb "$g")/model")
records=$(ls /sys/kernel/freeblock | wc -l)
sched_set "$g" none
freeblock_on "$g"
expect_eq "g: a switch: its model, its scan" \
	"$(md5sum < "$(fb "$g")/model") $(job "$g" scan)" "$model running"
for round in gone away gone away; do
	[ $round = gone ] || sched_set "$g" none
	# a task of a file that is open outlives the record
	: > /tmp/hold
	fbread hold /dev/"$g" poll > /tmp/hold 2>&1 &
	holder=$!
	expect_ok "g: a reader" wait_for 30 grep -q holds /tmp/hold
	expect_within "g: power off ($round)" 30 drive_off g
	[ $round = away ] || expect_ok "g: no record" wait_for 30 records $((records - 1))
	echo 1 > $M/g/power
	expect_ok "g: is back" wait_for 30 grep -q "on $g" $M/g/status
	expect_ok "g: its block device" wait_for 30 [ -b /dev/"$g" ]
	freeblock_on "$g"
	expect_eq "g: another disk, nobody knows" \
		"$(state "$g" model) $(job "$g" scan)" "0 idle"
	expect_ok "g: one record" wait_for 30 records "$records"
	expect_ok "g: its reader ends" wait_for 30 [ ! -d /proc/$holder ]
	wait $holder
	expect_eq "g: having heard of it" "$(tr '\n' ' ' < /tmp/hold)" \
		"holds poll hangup read ENODEV "
	model_load "$g" tiny-ata.fbmodel
	echo start > "$(fb "$g")/scan"
done
expect_within "power off" 30 drive_off g
expect_ok "g: no record at last" wait_for 30 records $((records - 1))

# ---- more disks than are remembered ----

h=$(drive_new h tiny.fbdrive "serial MDh") || exit 1
freeblock_on "$h"
model_load "$h" tiny.fbmodel
echo start > "$(fb "$h")/scan"
task=$(cut -d' ' -f1 "$(debug "$h")/tasks")
drive_off h

# another SERIAL: the drive is that one now, and has the scheduler
another()
{
	echo "serial MDh$1" > $M/h/description
	echo 1 > $M/h/power
	wait_for 30 grep -q "on $h" $M/h/status && wait_for 30 sched_set "$h" freeblock ||
		not_ok "h: drive $1" "no disk"
}

serial=0
while [ $serial -lt 66 ]; do
	another $serial
	drive_off h
	serial=$((serial + 1))
done
expect_ok "64 records" wait_for 30 records 64
expect_eq "that with a task is one" "$(cut -d' ' -f1 /sys/kernel/debug/freeblock/*/tasks)" "$task"
# one more is found to be gone when the oldest, MDh3, comes back under its name
another 66
sched_set "$h" none
drive_off h
another 3
sleep 1
expect_eq "the oldest comes back" "$(state "$h" attached)" 1
expect_ok "64 are gone" records 65
drive_off h
expect_within "unloads with its disks gone" 30 unload_module freeblock
expect_within "mechdisk unloads" 30 unload_module mechdisk
done_testing
