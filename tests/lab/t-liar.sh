# SPDX-License-Identifier: GPL-2.0
# Drives that lie about VERIFY, with two bad sectors under a scrub: one that says GOOD at once and
# looks at nothing, as bridges and virtual disks do; one whose VERIFY always fails, as of some RAID
# firmware, on SCSI and on SATA without NCQ; one that answers VERIFY, and READ with FUA, from its
# cache.
#
# Expected: nothing is verified that was not read: both bad blocks are found, and only they; what
# cannot be proven is said to be unverified; the pass ends, and each block is read a few times at
# most.
#
# Seen to fail with: a VERIFY and FUA believed whatever they take ("verified 512, bad 0", and
# nothing unverified from the cache); a check that a part ends, and READ that waits after two such
# errors, on SATA (a third VERIFY, an alarm, no pass).
#
# lab: kernel=stock clock=icount smp=1 timeout=400
# lab-kernel-modules: libata

. /lab/lib.sh
. /lab/files/bad.sh

load_module mechdisk
load_module mechata
load_module freeblock

# liar LINES [ERROR [DEPTH]]: a drive with two bad sectors
liar()
{
	local kind="error=${2-unc} recovery_ms=20 asc=11"

	fresh
	echo d > $M/delete
	disk=$(drive_new d tiny.fbdrive "$1") || exit 1
	[ -z "$3" ] || echo "$3" > /sys/block/"$disk"/device/queue_depth
	sched_set "$disk" freeblock || die "no freeblock"
	[ -s "$(fb "$disk")/model" ] || model_load "$disk" "tiny${3:+-ata}.fbmodel"
	D=$(fb "$disk")
	bad "1003 1 $kind"
	bad "3003 1 $kind"
	echo 1 > $M/d/stats_reset
	echo "start 0 4096" > "$D/scrub" || die "no scrub"
}

# ends NAME: the pass does, with both bad blocks
ends()
{
	expect_ok "$1: the pass ends" wait_for 200 is finished
	expect_eq "$1: bad blocks" "$(listed)" "1000 8 medium;3000 8 medium;"
	expect_eq "$1: of the scrub" "$(job "$disk" scrub blocks_bad)" 2
	expect_eq "$1: each met once" "$(drive_stat d medium_errors)" 2
	note "$1: $(state "$disk" medium)," \
		"$(job "$disk" scrub blocks_verified) verified," \
		"$(job "$disk" scrub blocks_unverified) unverified," \
		"$(drive_stat d verifies) VERIFYs, $(stats "$disk" fuas) with FUA"
}

liar "verify nothing"
ends "says GOOD at once"
expect_match "says GOOD at once: caught" "$(state "$disk" medium)" \
	'^fua .no verify: ends before the medium can be read'
expect_eq "says GOOD at once: all others verified, by FUA" "$(job "$disk" scrub blocks_verified)" 510
expect_match "says GOOD at once: told" "$(dmesg)" 'VERIFY ends too early'

liar "verify fails"
ends "always fails"
expect_match "always fails: dropped" "$(state "$disk" medium)" \
	'^fua .no verify: fails where READ does not'
expect_eq "always fails: all others verified" "$(job "$disk" scrub blocks_verified)" 510
expect_eq "always fails: no alarm" "$(state "$disk" alarms)" 0

# no liar: its VERIFY fails as READ does, but not where READ has read what lies around the place
liar "" abrt
expect_ok "fails like READ: the pass ends" wait_for 200 is finished
expect_eq "fails like READ: bad blocks" "$(listed)" "1000 8 medium;3000 8 medium;"
expect_eq "fails like READ: all others verified" "$(job "$disk" scrub blocks_verified)" 510
expect_match "fails like READ: VERIFY stays" "$(state "$disk" medium)" '^verify;'

# with NCQ off VERIFY is what libata has; two such errors are all that is risked in ten minutes
liar "interface sata
verify fails" unc 1
ends "SATA, always fails"
expect_match "SATA, always fails: dropped" "$(state "$disk" medium)" \
	'^read .no verify: fails where READ does not; no fua: refused: NCQ is off'
expect_eq "SATA, always fails: no alarm" "$(state "$disk" alarms)" 0
expect_eq "SATA, always fails: twice" "$(stats "$disk" verifies)" 2

# what the foreground has just read is in the cache
liar "cache 64 1024 0
verify cache
fua cache"
while [ ! -e /tmp/enough ]; do
	dd if=/dev/"$disk" of=/dev/null bs=448k count=1 iflag=direct 2>/dev/null
	sleep 0.3
done &
warm=$!
expect_ok "from the cache: the pass ends" wait_for 200 is finished
: > /tmp/enough
wait $warm
expect_eq "from the cache: verified and unverified" "$(($(job "$disk" scrub blocks_verified) +
	$(job "$disk" scrub blocks_unverified) + $(job "$disk" scrub blocks_bad)))" 512
expect_match "from the cache: neither is used any more" \
	"$(state "$disk" medium)" \
	'^read .no verify: ends before the medium can be read; no fua: ends before the medium'
expect_ge "from the cache: unverified" "$(job "$disk" scrub blocks_unverified)" 1
note "from the cache: $(state "$disk" medium)," \
	"$(job "$disk" scrub blocks_unverified) unverified"
drive_off d
expect_within "unload freeblock" 20 unload_module freeblock
done_testing
