#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Runs in the guest that booted from the root with our packages: the module that DKMS built, on a
# simulated disk. Says "guest ok WHAT" or "guest not WHAT: WHY", and switches off.

say()
{
	echo "guest $*" > /dev/ttyS0
}

# check WHAT COMMAND...
check()
{
	what=$1
	shift
	if said=$("$@" 2>&1); then
		say "ok $what"
	else
		say "not $what: $(echo "$said" | tr '\n' ' ' | tail -c 300)"
	fi
}

# wait_for SECONDS COMMAND...
wait_for()
{
	left=$1
	shift
	while ! "$@"; do
		[ "$left" -gt 0 ] || return 1
		left=$((left - 1))
		sleep 1
	done
}

is()
{
	[ "$(cat "$1" 2>/dev/null)" = "$2" ]
}

more_than()
{
	[ "$(cat "$1" 2>/dev/null || echo 0)" -gt "$2" ]
}

drive()
{
	insmod /root/mechdisk/mechdisk.ko &&
	echo sim > /sys/kernel/mechdisk/new &&
	cat /usr/share/freeblock/drives/toy.fbdrive > /sys/kernel/mechdisk/sim/description &&
	echo 1 > /sys/kernel/mechdisk/sim/power &&
	wait_for 60 grep -q 'on sd' /sys/kernel/mechdisk/sim/status
}

scheduler()
{
	echo freeblock > "/sys/block/$disk/queue/scheduler" &&
	grep -q '\[freeblock\]' "/sys/block/$disk/queue/scheduler"
}

model()
{
	cat /usr/share/freeblock/models/toy.fbmodel > "/sys/kernel/freeblock/$disk/model"
}

scrub()
{
	echo start > "/sys/kernel/freeblock/$disk/scrub" &&
	wait_for 120 more_than "/sys/kernel/freeblock/$disk/scrub_stats/blocks_verified" 100
}

back()
{
	echo stop > "/sys/kernel/freeblock/$disk/scrub"
	wait_for 60 is "/sys/kernel/freeblock/$disk/scrub" stopped &&
	echo none > "/sys/block/$disk/queue/scheduler" && rmmod freeblock
}

say "begin $(uname -r)"
modprobe -a scsi_mod sd_mod
check "the module loads" modprobe freeblock
check "a simulated disk" drive
disk=$(sed -n 's/.*on \(sd[a-z]*\).*/\1/p' /sys/kernel/mechdisk/sim/status | head -n 1)
check "the scheduler" scheduler
check "the model" model
check "a scrub goes on" scrub
check "freeblock status" freeblock status
check "back, and the module unloads" back
say "end"
systemctl --force --force poweroff
