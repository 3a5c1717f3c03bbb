# SPDX-License-Identifier: GPL-2.0
# Disks of 512n, 512e and 4Kn, each behind a SCSI and a SATA port, of which nothing is known: one
# freeblock enable for all of them, then a scan of a part of each, and a scrub past one bad physical
# sector.
#
# Expected: block and physical sizes as the standards have them; all blocks of the disk are read,
# and verified from the medium, but for the bad one, whose place is listed in 512-byte sectors.
#
# Seen to fail with: buffers of 256 KiB, which are too short to prove FUA (SATA: no block verified); a
# thread that is not woken when a stretch without free reads ends (the scrub does not end).
#
# lab: kernel=stock clock=icount smp=1 timeout=300
# lab-kernel-modules: libata
# lab-freeblock: enable setup off models guard conf
# lab-python: freeblock.extraction.refuse _pydecimal

. /lab/lib.sh

M=/sys/kernel/mechdisk
BAD=2000	# the bad sector, in 512-byte ones: it begins a block of 4 KiB

# kind PORT LINES LOGICAL PHYSICAL: a drive is added to $drives; $names has DRIVE:DISK:SECTOR BYTES
kind()
{
	local name="$1$3$4" disk

	disk=$(drive_new "$name" tiny.fbdrive "interface $1
serial MD$name
$2") || exit 1
	drives="$drives $name:$disk"
	expect_eq "$name: logical and physical blocks" \
		"$(cat "/sys/block/$disk/queue/logical_block_size" \
			"/sys/block/$disk/queue/physical_block_size" | xargs)" "$3 $4"
	expect_ok "$name: mq-deadline" sched_set "$disk" mq-deadline
}

job_over()
{
	! grep -Eq '^(running|stopping)' "$(fb "$1")/$2"
}

# run DRIVE DISK JOB BAD
run()
{
	local name="$1" disk="$2" blocks

	blocks=1000
	echo "start 0 $((blocks * 8))" > "$(fb "$disk")/$3"
	expect_ok "$name: $3 ends" wait_for 120 job_over "$disk" "$3"
	expect_eq "$name: $3: verified, bad, left out, unverified" \
		"$(for n in verified bad skipped unverified; do job "$disk" "$3" blocks_$n; done |
			xargs)" "$((blocks - $4)) $4 0 0"
}

load_module mechdisk
load_module mechata
install_freeblock
drives=
for port in scsi sata; do
	kind $port "" 512 512
	kind $port "physical_exponent 3" 512 4096
	kind $port "sector_bytes 4096" 4096 4096
done
expect_ok "enable --all" freeblock enable --all --yes
for each in $drives; do
	name=${each%:*}
	disk=${each#*:}
	expect_eq "$name: scheduler" "$(sched_get "$disk")" freeblock
	expect_eq "$name: served by" "$(state "$disk" scheduling) $(state "$disk" knowledge)" \
		"yes none: no model"
	expect_eq "$name: blocks" "$(cat "$(fb "$disk")/granule_bytes")" 4096
	run "$name" "$disk" scan 0
	size=$(cat "/sys/block/$disk/queue/logical_block_size")
	echo "add $((BAD * 512 / size)) $((4096 / size))" > "$M/$name/medium_errors"
	run "$name" "$disk" scrub 1
	expect_eq "$name: the bad block" \
		"$(cut -d' ' -f1,2 "$(debug "$disk")/bad_blocks" | xargs)" "$BAD 8"
	note "$name: $(state "$disk" medium)"
done
for each in $drives; do
	sched_set "${each#*:}" none
done
expect_within "unload freeblock" 20 unload_module freeblock
done_testing
