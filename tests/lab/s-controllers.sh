# SPDX-License-Identifier: GPL-2.0
# What t-controllers.sh has no time for: programs that ask disks beside a scan, a queue depth of 1,
# a disk deleted and found again under a scan and a load, a bad sector that is no MEDIUM ERROR.
#
# Expected: programs say what they say without freeblock; each scan ends and is complete; a disk
# that comes back has its model and its scan, which goes on; no read of ours fails where none has to.
#
# lab-devices: ich9-ahci virtio-scsi:bad=4803,kind=other lsi53c895a megasas:bad=4803,kind=other
# lab-devices: mptsas1068 uas usb-storage nvme virtio-blk
# lab-host-programs: smartctl hdparm sdparm
# lab: kernel=stock clock=real smp=2 timeout=600

. /lab/lib.sh
. /lab/files/controllers.sh

has_bad()
{
	case $1 in
	virtio_scsi|megaraid_sas) echo 1 ;;
	*) echo 0 ;;
	esac
}

# is_whole NAME DRIVER:DISK: its scan ends, and has all that can be read
is_whole()
{
	local driver="${2%:*}" disk="${2#*:}" bad

	bad=$(has_bad "$driver")
	expect_ok "$driver: $1: the scan ends" wait_for 120 job_is "$disk" scan finished
	expect_eq "$driver: $1: blocks read, bad, left out" "$(counts "$disk" scan)" \
		"$((4096 - bad)) $bad 0"
}

# ---- what programs say of a disk ----

# ask DISK: all of it, and how each ended
ask()
{
	local device="/dev/$1" words

	while read -r words; do
		# shellcheck disable=SC2086
		timeout 60 $words "$device" 2>&1
		echo "$words: $?"
	done <<-END | grep -v -e 'Local Time' -e '^smartctl [0-9]'
		smartctl -i
		smartctl -H -A
		hdparm -I
		hdparm -C
		sdparm --all
		sg_inq
		sg_vpd --page=0x83
		sg_turs
		sg_readcap
		sg_requests
	END
}

controllers_begin 9
for each in $(disks); do
	sched_set "${each#*:}" mq-deadline
	ask "${each#*:}" > "/out/said-${each%:*}"
	sched_set "${each#*:}" freeblock
done
for each in $(served); do
	begin_job "${each#*:}" scan
done
for each in $(disks); do
	load tools "$each"
	ask "${each#*:}" > "/out/beside-${each%:*}"
	expect_eq "${each%:*}: tools: they say what they say without freeblock" \
		"$(cmp "/out/said-${each%:*}" "/out/beside-${each%:*}" 2>&1)" ""
	expect_ge "${each%:*}: tools: that answer" \
		"$(grep -c ': 0$' "/out/beside-${each%:*}")" 1
done
# shellcheck disable=SC2046
loads_end tools $(disks)
for each in $(served); do
	is_whole tools "$each"
	[ "$(has_bad "${each%:*}")" = 1 ] || expect_eq "${each%:*}: tools: no read failed" \
		"$(stats "${each#*:}" free_errors)" 0
done

# ---- one command at a time ----

# one_by_one: those whose driver lets it be set
one_by_one()
{
	served | grep -v '^sym53c8xx:'
}

for each in $(one_by_one); do
	disk=${each#*:}
	echo "${each%:*} $(cat "/sys/block/$disk/device/queue_depth")" >> /tmp/depths
	echo 1 > "/sys/block/$disk/device/queue_depth"
	expect_eq "${each%:*}: depth: is 1" "$(cat "/sys/block/$disk/device/queue_depth")" 1
	begin_job "$disk" scan
	expect_eq "${each%:*}: depth: no gaps" "$(state "$disk" free_reads)" \
		"off: the device takes one command at a time"
	load depth "$each"
done
# shellcheck disable=SC2046
loads_end depth $(one_by_one)
for each in $(one_by_one); do
	is_whole depth "$each"
done
for each in $(one_by_one); do
	[ "${each%:*}" = ahci ] || continue
	disk=${each#*:}
	begin_job "$disk" scrub
	wait_for 60 job_is "$disk" scrub finished
	expect_eq "ahci: depth: scrub: it ends" "$(job "$disk" scrub)" finished
	expect_eq "ahci: depth: scrub: verified or not" "$(($(job "$disk" scrub blocks_verified) +
		$(job "$disk" scrub blocks_unverified)))" 4096
	expect_eq "ahci: depth: scrub: the drive is not said to refuse what libata does" \
		"$(dmesg | grep -c "$disk: the drive refuses READ with FUA")" 0
done
while read -r driver depth; do
	disk=$(disks | sed -n "s/^$driver://p")
	echo "$depth" > "/sys/block/$disk/device/queue_depth"
done < /tmp/depths

# ---- deleted and found again ----

# present DRIVER: sets $disk
present()
{
	local each

	for each in $(block_devices); do
		[ "$(driver_of "$each")" = "$1" ] || continue
		disk=$each
		return 0
	done
	return 1
}

for each in $(disks | grep -v -e ^nvme -e ^virtio_blk); do
	driver=${each%:*}
	disk=${each#*:}
	host=$(readlink -f "/sys/block/$disk/device" | sed 's,.*/\(host[0-9]*\)/.*,\1,')
	begin_job "$disk" scan
	load gone "$each"
	# some of it is read
	[ "$(state "$disk" scheduling)" != yes ] ||
		wait_for 30 number_above "$disk" scan_stats/blocks_delivered 0
	expect_within "$driver: rescan: deleted under a scan and a load" 60 \
		sh -c "echo 1 > /sys/block/$disk/device/delete"
	wait "$(cat "/tmp/gone-$disk.pid")"
	note "$driver: its load ended with $?, its scan is $(job "$disk" scan) with" \
		"$(job "$disk" scan blocks_delivered) blocks"
	echo "- - -" > "/sys/class/scsi_host/$host/scan"
	expect_ok "$driver: rescan: it comes back" wait_for 60 present "$driver" || continue
	echo "$driver" > "/tmp/driver-$disk"
	expect_ok "$driver: rescan: takes freeblock" sched_set "$disk" freeblock
	served | grep -q "^$driver:" || continue
	expect_eq "$driver: rescan: is served" "$(state "$disk" scheduling)" yes
	is_whole rescan "$driver:$disk"
done

for each in $(disks); do
	expect_within "${each%:*}: end: another scheduler takes it" 30 sched_set "${each#*:}" none
done
expect_within "unload freeblock" 30 unload_module freeblock
done_testing
