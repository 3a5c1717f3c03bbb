# SPDX-License-Identifier: GPL-2.0
# Who decides whether a drive sleeps: the file power. A scan of a large drive, in idle time, beside a
# foreground that is silent; the drive counts the commands that found it asleep (wakes).
#
# Expected (Documentation/idle.rst, "Power"): a drive that a command sends to sleep is not woken, and
# is read again within two seconds of the foreground's next read. One with a timer of 20 s, its own or
# the kernel's, gets idle reads for 20 s, then none, and sleeps within 30 s of the last. With
# keep-awake it never sleeps by itself, and when it has been sent to sleep only an overdue task
# wakes it.
#
# Seen to fail with: fb_idle_was_passed() false (standby: read); fb_power_is_resting() false (timer,
# autosuspend: never asleep); fb_power_foreground() without effect (standby: not read after the
# foreground); keep_awake ignored in fb_idle_is_awake() (overdue: not woken).
#
# lab: kernel=stock clock=icount smp=1 timeout=300

. /lab/lib.sh
. /lab/files/power.sh

TIMER_S=20

# begin TEXT: a drive "d" with that in its description, and a scan
begin()
{
	disk=$(drive_new d atlas10k.fbdrive "$port_text
$1") || exit 1
	D=$(fb "$disk")
	sched_set "$disk" freeblock || die "no freeblock"
	model_load "$disk" atlas10k.fbmodel
	foreground
	echo start > "$D/scan"
	sleep 3
}

end()
{
	scan_stop "$disk"
	sched_set "$disk" none
	drive_off d
	echo d > /sys/kernel/mechdisk/delete
}

foreground()
{
	dd if=/dev/"$disk" of=/dev/null bs=4k count=1 skip=3000 iflag=direct 2>/dev/null
}

blocks()
{
	job "$disk" scan blocks_delivered
}

# blocks_in SECONDS: delivered meanwhile
blocks_in()
{
	local before

	before=$(blocks)
	sleep "$1"
	echo $(($(blocks) - before))
}

# sleeps CONDITION: sent there, and what was on its way is over. Sets $woken for quiet().
sleeps()
{
	woken=$(drive_stat d wakes)
	condition_set "$disk" "$1"
	sleep 1
}

# quiet NAME SECONDS: nothing is read, and nothing has woken it since
quiet()
{
	expect_eq "$1: nothing is read in $2 s" "$(blocks_in "$2")" 0
	expect_eq "$1: not woken" "$(($(drive_stat d wakes) - woken))" 0
}

load_module mechdisk
load_module freeblock

begin ""
expect_eq "the default" "$(cat "$D/power")" respect
expect_fail "another word is refused" sh -c "echo off > $D/power"
expect_eq "and changes nothing" "$(cat "$D/power")" respect
expect_ge "it is read" "$(blocks_in 3)" 100

### Sent to sleep while it is read

for condition in standby_z standby_y idle_c; do
	sleeps $condition
	quiet $condition 35
	expect_eq "$condition: says so" "$(state "$disk" idle)" "asleep ($condition)"
	before=$(blocks)
	foreground
	sleep 2
	expect_ge "$condition: the foreground has woken it, it is read" $(($(blocks) - before)) 100
done
for condition in idle_a idle_b; do
	condition_set "$disk" $condition
	expect_ge "$condition: it is read" "$(blocks_in 3)" 100
done
# woken by a command that is no foreground
sleeps standby_z
quiet "standby again" 15
condition_set "$disk" active
sleep 10
expect_ge "it is started: it is read" "$(blocks_in 3)" 100

### The kernel's own timer

echo ${TIMER_S}000 > /sys/block/"$disk"/device/power/autosuspend_delay_ms
echo auto > /sys/block/"$disk"/device/power/control
foreground
expect_ge "autosuspend: it is read" "$(blocks_in 10)" 100
expect_ok "autosuspend: the kernel suspends it" \
	wait_for 50 grep -qx suspended /sys/block/"$disk"/device/power/runtime_status
woken=$(drive_stat d wakes)
quiet autosuspend 15
expect_eq "autosuspend: says so" "$(state "$disk" idle)" "asleep (suspended)"
before=$(blocks)
foreground
sleep 2
expect_ge "autosuspend: the foreground has woken it, it is read" $(($(blocks) - before)) 100
echo on > /sys/block/"$disk"/device/power/control
end

### The drive's own timer

begin "standby_timer_ms ${TIMER_S}000"
woken=$(drive_stat d wakes)
expect_ge "timer: it is read" "$(blocks_in 10)" 100
sleep $((TIMER_S - 10))
expect_eq "timer: it rests" "$(state "$disk" idle)" "resting: the drive may fall asleep"
quiet timer 40
expect_eq "timer: it sleeps" "$(state "$disk" idle)" "asleep (standby_z)"
before=$(blocks)
foreground
sleep 2
expect_eq "timer: the foreground has woken it" $(($(drive_stat d wakes) - woken)) 1
expect_ge "timer: it is read" $(($(blocks) - before)) 100
# the foreground is not silent: it is read on
for _ in 1 2 3 4; do
	foreground
	sleep 12
done
expect_ge "foreground every 12 s: it is read" "$(blocks_in 3)" 100

### Kept awake

echo keep-awake > "$D/power"
foreground
sleep $((2 * TIMER_S))
expect_ge "keep-awake: it is read after two timers" "$(blocks_in 3)" 100
expect_eq "keep-awake: it has never slept" "$(($(drive_stat d wakes) - woken))" 1
sleeps standby_z
quiet "keep-awake, standby" 35
echo "deadline 1000000" > "$D/scan"
quiet "a deadline to come" 15
echo "deadline 1" > "$D/scan"
sleep 15
expect_ge "overdue: it is read" "$(blocks_in 3)" 100
expect_eq "overdue: woken, once" "$(($(drive_stat d wakes) - woken))" 1
echo respect > "$D/power"
sleeps standby_z
quiet "respect, overdue" 35
end

expect_within "unload freeblock" 20 unload_module freeblock
expect_within "unload mechdisk" 20 unload_module mechdisk
done_testing
