# SPDX-License-Identifier: GPL-2.0
# Who decides whether a drive sleeps: the file power. A scan of a large drive, in idle time, beside a
# foreground that is silent; the drive counts the commands that found it asleep (wakes).
#
# Expected (Documentation/idle.rst, "Power"): a drive that a command sends to sleep is not woken, and
# is read again within two seconds of the foreground's next read. Where the kernel's timer is 20 s it
# gets idle reads for 20 s, then none, and sleeps within 30 s of the last. With keep-awake it never
# sleeps by itself, and when it has been sent to sleep only an overdue task wakes it.
#
# Seen to fail with: fb_idle_was_passed() false (standby: read); fb_power_is_resting() false (timer,
# autosuspend: never asleep); fb_power_foreground() without effect (standby: not read after the
# foreground); keep_awake ignored in fb_idle_is_awake() (overdue: not woken).
#
# lab-kernel-modules: libata
# lab: kernel=stock clock=icount smp=1 timeout=300

. /lab/lib.sh
. /lab/files/power.sh

TIMER_S=20

# begin [TEXT]: a drive "d" with that in its description, and a scan
begin()
{
	disk=$(drive_new d atlas10k.fbdrive "$port_text
$1") || exit 1
	D=$(fb "$disk")
	sched_set "$disk" freeblock || die "no freeblock"
	model_load "$disk" "$(port_model atlas10k.fbmodel)"
	# what idle reads cost so few requests is not the question here
	echo 10000000 > "$D/idle_mean_us"
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
	expect_eq "$port, $1: nothing is read in $2 s" "$(blocks_in "$2")" 0
	expect_eq "$port, $1: not woken" "$(($(drive_stat d wakes) - woken))" 0
}

# says NAME WHY: that holds idle reads
says()
{
	expect_eq "$port, $1: says so" "$(state "$disk" idle)" "$2"
}

# back NAME: the foreground reads, and wakes it
back()
{
	local before

	before=$(blocks)
	foreground
	sleep 2
	expect_ge "$port, $1: the foreground has woken it, it is read" $(($(blocks) - before)) 100
}

# is_read NAME SECONDS
is_read()
{
	expect_ge "$port, $1: it is read" "$(blocks_in "$2")" 100
}

# Sent to sleep while it is read. From SLEEP, which SATA has, a drive is reset to standby.
commands()
{
	local name

	is_read "at first" 3
	for condition in standby_z standby_y idle_c ${1-}; do
		name=$condition
		[ $condition != sleep ] || name=standby_z
		sleeps $condition
		quiet $condition 35
		says $condition "asleep ($name)"
		back $condition
	done
	for condition in idle_a idle_b; do
		condition_set "$disk" $condition
		is_read $condition 3
	done
	# woken by a command that is no foreground
	sleeps standby_z
	quiet "standby again" 15
	condition_set "$disk" active
	sleep 10
	is_read "it is started" 3
}

kernel_timer()
{
	local power=/sys/block/"$disk"/device/power

	echo ${TIMER_S}000 > $power/autosuspend_delay_ms
	echo auto > $power/control
	foreground
	is_read autosuspend 10
	sleep $((TIMER_S - 10))
	says rest "resting: the drive may fall asleep"
	expect_ok "$port, autosuspend: the kernel suspends it" \
		wait_for 50 grep -qx suspended $power/runtime_status
	woken=$(drive_stat d wakes)
	quiet autosuspend 15
	says autosuspend "asleep (suspended)"
	back autosuspend
	# the foreground is not silent: it is read on
	for _ in 1 2 3 4; do
		foreground
		sleep 12
	done
	is_read "foreground every 12 s" 3
	echo on > $power/control
}

kept_awake()
{
	echo keep-awake > "$D/power"
	woken=$(drive_stat d wakes)
	foreground
	sleep $((2 * TIMER_S))
	is_read "keep-awake, after two timers" 3
	# its own timer is 20 s
	expect_eq "$port, keep-awake: it has never slept" "$(($(drive_stat d wakes) - woken))" 0
	sleeps standby_z
	quiet "keep-awake, standby" 35
	echo "deadline 1000000" > "$D/scan"
	quiet "a deadline to come" 15
	echo "deadline 1" > "$D/scan"
	sleep 15
	is_read overdue 10
	expect_eq "$port, overdue: woken, once" "$(($(drive_stat d wakes) - woken))" 1
	echo respect > "$D/power"
	sleeps standby_z
	quiet "respect, overdue" 35
}

load_module mechdisk
load_module mechata
load_module freeblock

port scsi
begin
expect_eq "the default" "$(cat "$D/power")" respect
expect_fail "another word is refused" sh -c "echo off > $D/power"
expect_eq "and changes nothing" "$(cat "$D/power")" respect
commands
kernel_timer
end
begin "standby_timer_ms ${TIMER_S}000"
kept_awake
end

port sata
begin
commands sleep
kernel_timer
kept_awake
end

expect_within "unload freeblock" 20 unload_module freeblock
expect_within "unload mechata" 20 unload_module mechata
expect_within "unload mechdisk" 20 unload_module mechdisk
done_testing
