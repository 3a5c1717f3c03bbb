# SPDX-License-Identifier: GPL-2.0
# freeblock setup and off at a SCSI disk: from a disk with mq-deadline and no module to one that is
# scheduled and scrubbed, and back; killed in between; without the module, without the disk.
#
# Expected: files of the machine, scheduler and modules as find, sysfs and /proc/modules tell them,
# before and after, the same; what the module says of the disk.
#
# Seen to fail: an off that leaves the scheduler; a setup that journals the scheduler after it was
# switched, killed.
#
# lab: kernel=stock clock=icount smp=1 timeout=300
# lab-freeblock: setup off models scrub guard conf
# lab-python: freeblock.extraction.refuse _pydecimal

. /lab/lib.sh

# What setup may change, but for the disk's numbers
machine()
{
	find /etc /var/lib -exec ls -ld {} + | awk '{ print $1, $NF }' | sort
	find /etc /var/lib -type f -exec md5sum {} + | sort
	cat "/sys/block/$disk/queue/scheduler"
	cut -d ' ' -f 1 /proc/modules | sort
	cat /sys/block/$disk/device/scsi_disk/*/cache_type
}

as_before()
{
	machine > /tmp/after
	expect_eq "$1: as before" "$(diff /tmp/before /tmp/after)" ""
}

setup()
{
	freeblock setup "/dev/$disk" --model /tmp/model --observe 0 --quiet "$@"
}

load_module mechdisk
install_freeblock

disk=$(drive_new d tiny.fbdrive) || exit 1
sched_set "$disk" mq-deadline
cp /lab/files/tiny.fbmodel /tmp/model
machine > /tmp/before

expect_ok "setup" setup
expect_eq "it has the scheduler" "$(sched_get "$disk")" freeblock
expect_eq "it is scheduled" "$(state "$disk" knowledge)" map
expect_match "at boot" "$(cat /etc/udev/rules.d/90-freeblock.rules)" "freeblock-disk@"
expect_ok "the guard would let it start" freeblock guard status
expect_match "again: nothing to do" "$(setup)" "was set up already"
freeblock scrub "/dev/$disk" start 2> /tmp/said
expect_eq "a scrub begins" "$(job "$disk" scrub)" running
wait_for 60 number_above "$disk" scrub_stats/blocks_verified 10
expect_ge "and reads" "$(job "$disk" scrub blocks_verified)" 10
rm -f /var/lib/freeblock/*.coverage*
expect_within "off" 60 freeblock off "/dev/$disk"
as_before "off"
expect_match "again: nothing to do" "$(freeblock off --all)" "nothing was set up"

# the next boot, after the machine went down: the mark is of another one
setup > /tmp/said
sed -i 's/"boot_id": "[^"]*"/"boot_id": "another"/' /var/lib/freeblock/guard/armed.json
sched_set "$disk" mq-deadline
said=$(freeblock models load --at-boot --scheduler "$disk" 2>&1)
expect_match "it stays off" "$said" "stays off: the machine went down within ten minutes"
expect_eq "the disk keeps its scheduler" "$(sched_get "$disk")" mq-deadline
expect_ok "allowed again" freeblock guard allow
expect_ok "it starts again" freeblock models load --at-boot --scheduler "$disk"
expect_eq "the disk has the scheduler" "$(sched_get "$disk")" freeblock
expect_ok "off after boots" freeblock off --all
as_before "off after boots"

# what freeblock.conf says; no systemd is here to start what is due
printf '[all]\nidle_mean_us = 10x\n' > /etc/freeblock.conf
expect_match "a mistake" "$(freeblock conf check 2>&1)" "/etc/freeblock.conf:2: idle_mean_us = 10x: want"
expect_fail "setup refuses" setup
as_before_conf=$(find /var/lib/freeblock /etc/freeblock 2> /tmp/said)
expect_eq "and changes nothing" "$as_before_conf" ""
cat > /etc/freeblock.conf <<-EOF2
[wwn $(cat "/sys/block/$disk/device/wwid")]
scrub_every_days = 30
pace_days = none
idle_mean_us = 2000
[model TINY]
foreground_cost_ppm = 20000
EOF2
expect_ok "setup by freeblock.conf" setup
expect_eq "idle reads' goal" "$(cat "$(fb "$disk")/idle_mean_us")" 2000
expect_eq "free reads' goal" "$(iosched "$disk" foreground_cost_ppm)" 20000
expect_match "a scrub is due" "$(freeblock conf show "$disk")" "scrubbed never, .*: it is due"
freeblock conf scrub "$disk" > /tmp/said 2>&1
expect_eq "the unit's command scrubs" $? 0
expect_eq "all of it" "$(job "$disk" scrub blocks_verified)" "$(job "$disk" scrub blocks_total)"
expect_match "the next one is due in a month" "$(freeblock conf show "$disk")" "no scrub is due"
expect_ok "off forgets it" freeblock off --all
rm /etc/freeblock.conf
as_before "off after a scrub"

# killed while the module is loaded, and while the scheduler is switched
for at in load switch; do
	cat > /tmp/killed.py <<-EOF2
	import os, signal, sys
	sys.path.insert(0, "/bin/cli")
	from freeblock import cli
	from freeblock.machine import kernel
	really = kernel.$at
	def killed(*words):
	    really(*words)
	    os.kill(os.getpid(), signal.SIGKILL)
	kernel.$at = killed
	cli.main(["setup", "/dev/$disk", "--model", "/tmp/model", "--observe", "0", "--quiet"])
	EOF2
	/usr/bin/python3 /tmp/killed.py
	expect_eq "killed after $at" $? 137
	machine > /tmp/after
	expect_ne "killed after $at: it is half-way" "$(diff /tmp/before /tmp/after)" ""
	expect_ok "off after that" freeblock off --all
	as_before "killed after $at, then off"
done

# the module is gone
setup > /tmp/said
sched_set "$disk" mq-deadline
expect_within "unload" 20 unload_module freeblock
expect_ok "off without the module" freeblock off "/dev/$disk"
as_before "off without the module"

# the disk is gone
setup > /tmp/said
drive_off d
wait_for 30 [ ! -e "/sys/block/$disk" ]
expect_ok "off without the disk" freeblock off "/dev/$disk"
expect_eq "nothing is left" "$(find /etc/freeblock /etc/udev /var/lib/freeblock 2> /tmp/said)" ""
expect_eq "nor the module" "$(grep -c ^freeblock /proc/modules)" 0
done_testing
