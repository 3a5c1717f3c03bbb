# SPDX-License-Identifier: GPL-2.0
# Drivers that nobody here wrote, over QEMU's devices: each disk takes freeblock, is switched between
# schedulers under a load that reads what it wrote, is scanned and scrubbed; those that have one
# sector that cannot be read have it listed, and the pass goes on. Those of which no map is used (USB,
# virtio's) are read in idle time. NVMe's is not served, and says so in all of state/.
#
# QEMU's disks end VERIFY without having read, and its MegaRAID ends each with HARDWARE ERROR: the
# scrub reads instead, and says what it could not verify. A bad sector behind sym53c8xx has the
# kernel's driver crash ("bad DSA in done queue"), with any scheduler: it has none.
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
	sym53c8xx|uas|usb-storage|virtio_blk) echo 0 ;;
	*) echo 1 ;;
	esac
}

# ---- what is told of each ----

controllers_begin 9
for each in $(disks); do
	driver=${each%:*}
	disk=${each#*:}
	why=yes
	case $driver in
	uas|usb-storage) known="none: USB bridge" ;;
	nvme) known="none: solid state" why="solid state" ;;
	virtio_blk) known="none: not a SCSI or SATA disk" ;;
	*) known=map ;;
	esac
	expect_eq "$driver: attach: scheduling" "$(state "$disk" scheduling)" "$why"
	expect_eq "$driver: attach: knowledge" "$(state "$disk" knowledge)" "$known"
	# virtio's disk and the bridge of usb-storage tell no name
	case $driver in virtio_blk|usb-storage) continue ;; esac
	if [ "$why" = yes ]; then
		expect_match "$driver: attach: it has a name" "$(cat "$(fb "$disk")/id")" '^naa\.5000c5'
		continue
	fi
	iosched "$disk" depth 2
	expect_eq "$driver: attach: state/ is of a disk that nothing is read of" \
		"$(for key in idle free_reads medium lift_source lift_dest phase order; do
			state "$disk" $key
		done | tr '\n' ',')" \
		"off: not scheduling,off: not scheduling,none,off,off,unknown,drive,"
	iosched "$disk" depth auto
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
	expect_le "$driver: scan: reads that failed" "$(stats "$disk" free_errors)" 2
done
for each in $(disks); do
	disk=${each#*:}
	served | grep -q ":$disk\$" && continue
	expect_eq "${each%:*}: scan: waits" "$(job "$disk" scan) $(counts "$disk" scan)" "running 0 0 0"
	expect_within "${each%:*}: scan: stops" 30 scan_stop "$disk"
done

# ---- the scrub ----

# libata's disk has had two errors, and risks no more for ten minutes: begin anew
for each in $(disks); do
	sched_set "${each#*:}" none
done
unload_module freeblock
load_module freeblock
for each in $(served); do
	attach "${each#*:}" || not_ok "${each%:*}: scrub: takes freeblock again" "refused"
done

for each in $(served); do
	begin_job "${each#*:}" scrub || not_ok "${each%:*}: scrub: starts" "refused"
done
for each in $(served); do
	driver=${each%:*}
	disk=${each#*:}
	bad=$(has_bad "$driver")
	expect_ok "$driver: scrub: ends" wait_for 120 job_is "$disk" scrub finished
	expect_eq "$driver: scrub: bad" "$(job "$disk" scrub blocks_bad)" "$bad"
	expect_eq "$driver: scrub: verified or not, all others" "$(($(job "$disk" scrub blocks_verified) +
		$(job "$disk" scrub blocks_unverified)))" $((4096 - bad))
	note "$driver: scrub: $(job "$disk" scrub blocks_unverified) unverified," \
		"$(state "$disk" medium)"
done

for each in $(disks); do
	expect_within "${each%:*}: end: another scheduler takes it" 30 sched_set "${each#*:}" none
done
expect_within "unload freeblock" 30 unload_module freeblock
done_testing
