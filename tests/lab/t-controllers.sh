# SPDX-License-Identifier: GPL-2.0
# Drivers that nobody here wrote, over QEMU's devices: each disk takes freeblock, is switched between
# schedulers under a load that reads what it wrote, is scanned and scrubbed; those that have one
# sector that cannot be read have it listed, and the pass goes on. Disks that are never scheduled
# (USB, NVMe, virtio's) say so in all of state/.
#
# QEMU's disks end VERIFY without having read, its MegaRAID ends each with HARDWARE ERROR, and libata
# does without NCQ after four errors: what the scrub should make of that is not so yet, and listed as
# missed. A bad sector behind sym53c8xx has the kernel's driver crash ("bad DSA in done queue"), with any scheduler: it has none.
# No bound is a time: what is waited for comes, or the test fails.
#
# Seen to fail: a state/idle that says what the policy would do (nvme: "reading").
#
# lab-devices: ich9-ahci:bad=4803 virtio-scsi:bad=4803 lsi53c895a megasas:bad=4803
# lab-devices: mptsas1068:bad=4803 uas usb-storage nvme virtio-blk
# lab: kernel=stock clock=real smp=2 timeout=300

. /lab/lib.sh
. /lab/files/controllers.sh

# has_bad DRIVER: how many blocks cannot be read
has_bad()
{
	case $1 in
	sym53c8xx) echo 0 ;;
	*) echo 1 ;;
	esac
}

# ---- what is told of each ----

controllers_begin 9
for each in $(disks); do
	driver=${each%:*}
	disk=${each#*:}
	case $driver in
	uas|usb-storage) why="USB bridge" ;;
	nvme) why="solid state" ;;
	virtio_blk) why="not a SCSI or SATA disk" ;;
	*) why=yes ;;
	esac
	expect_eq "$driver: attach: scheduling" "$(state "$disk" scheduling)" "$why"
	if [ "$why" = yes ]; then
		expect_match "$driver: attach: it has a name" "$(cat "$(fb "$disk")/id")" '^naa\.5000c5'
		continue
	fi
	expect_eq "$driver: attach: state/ is of a disk that nothing is read of" \
		"$(cd "$(fb "$disk")/state" && cat idle free_reads medium lift_source lift_dest phase |
			tr '\n' ',')" "off: not scheduling,off: not scheduling,none,off,off,unknown,"
	expect_eq "$driver: attach: nor debugfs" "$(kv "$(debug "$disk")/idle_status" state)" \
		"off: not scheduling"
done

# ---- switches under load, with a scan ----

for each in $(disks); do
	begin_job "${each#*:}" scan || not_ok "${each%:*}: scan: starts" "refused"
done
for each in $(disks); do
	load switch "$each"
done
switches=0
# shellcheck disable=SC2046
while [ $switches -lt 3 ] || loads_run switch $(disks); do
	for each in $(disks); do
		for scheduler in mq-deadline freeblock none freeblock; do
			sched_set "${each#*:}" $scheduler || not_ok "${each%:*}: switch: $scheduler" \
				"is $(sched_get "${each#*:}")"
		done
	done
	switches=$((switches + 1))
done
note "$switches rounds of four switches of each disk"
# shellcheck disable=SC2046
loads_end switch $(disks)

# ---- the scan ends, and is complete ----

for each in $(served); do
	driver=${each%:*}
	disk=${each#*:}
	bad=$(has_bad "$driver")
	expect_ok "$driver: scan: ends" wait_for 120 job_is "$disk" scan finished
	expect_eq "$driver: scan: blocks read, bad, left out" "$(counts "$disk" scan)" \
		"$((4096 - bad)) $bad 0"
	[ "$bad" = 1 ] || continue
	expect_eq "$driver: scan: the bad block" \
		"$(cut -d' ' -f1,2 "$(debug "$disk")/bad_blocks" | xargs)" "4800 8"
	known "$driver: scan: reads that failed" "$(stats "$disk" free_errors)" 1 \
		"a bad block is read again, alone, to be sure of"
done
for each in $(disks); do
	disk=${each#*:}
	served | grep -q ":$disk\$" && continue
	expect_eq "${each%:*}: scan: waits" "$(job "$disk" scan) $(counts "$disk" scan)" "running 0 0 0"
	expect_within "${each%:*}: scan: stops" 30 scan_stop "$disk"
done

# ---- the scrub ----

# what DRIVER's scrub does wrong
wrong()
{
	case $1 in
	ahci) echo "READ with FUA is refused without NCQ, which four errors have switched off;" \
		"a failed read is then taken for one from the cache, and made again for ever" ;;
	megaraid_sas) echo "each VERIFY ends with HARDWARE ERROR, which is taken for the medium's" ;;
	*) echo "VERIFY ends without having read, and is believed" ;;
	esac
}

for each in $(served); do
	begin_job "${each#*:}" scrub || not_ok "${each%:*}: scrub: starts" "refused"
done
for each in $(served); do
	driver=${each%:*}
	disk=${each#*:}
	if [ "$driver" = sym53c8xx ]; then
		expect_ok "$driver: scrub: ends" wait_for 120 job_is "$disk" scrub finished
		expect_eq "$driver: scrub: blocks read, bad, left out" "$(counts "$disk" scrub)" \
			"4096 0 0"
		continue
	fi
	# what is known not to end is not waited for for long
	wait_for 15 job_is "$disk" scrub finished
	known "$driver: scrub: it ends; blocks read, bad, left out" \
		"$(job "$disk" scrub) $(counts "$disk" scrub)" "finished 4095 1 0" "$(wrong "$driver")"
	echo stop > "$(fb "$disk")/scrub" 2>/dev/null
	expect_ok "$driver: scrub: is over" wait_for 60 sh -c \
		"! grep -Eqx 'running|stopping' $(fb "$disk")/scrub"
done

for each in $(disks); do
	expect_within "${each%:*}: end: another scheduler takes it" 30 sched_set "${each#*:}" none
done
expect_within "unload freeblock" 30 unload_module freeblock
done_testing
