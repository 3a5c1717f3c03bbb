# SPDX-License-Identifier: GPL-2.0
# One bad sector below libata, of each kind that the error register knows: unreadable (UNC), not
# found (IDNF), aborted (ABRT); met by a scan or a scrub, under NCQ and with one command at a time,
# on an idle disk; and cells of the table of s-sata-bad.sh, beside a foreground that never reads it.
# At last a pass that begins soon after one that has met an ABRT, and two such sectors.
#
# libata's error handler deals with each such error: it aborts the whole queue, and after four in
# ten minutes that are not UNC it switches NCQ off. None of them comes as BLK_STS_MEDIUM on 6.1.
#
# Expected: the sector is found once and reported once, by at most two errors (UNC: one); no
# request of the foreground fails, and it stalls for one error's handling; NCQ stays on; the pass
# ends, and all other blocks are verified. The next pass reads all else at once, and that block when
# ten minutes are over, by one error and without an alarm. Of two in adjacent blocks each is known by
# an error more, and the third error has what lies around them wait for ten minutes.
#
# Seen to fail with: an error's place taken from the request alone where the SCSI layer does not
# complete what lies before it (IDNF: 13 bad blocks); blocks in doubt read among others in idle time
# (ABRT: three errors, the pass stops); zones that wait for ten minutes after two errors (ABRT);
# a failed request retried with what was prepended (ABRT: seven errors, NCQ switched off); FUA for
# what READ is to tell of (ABRT, prepended to a foreground read or adjacent: an error more).
#
# lab: kernel=stock clock=icount smp=1 timeout=600
# lab-kernel-modules: libata

. /lab/lib.sh
. /lab/files/sata-bad.sh

load_module mechdisk
load_module mechata
load_module freeblock

# fresh DEPTH KIND: a drive with one bad sector
fresh()
{
	drive sata "$1"
	begin_freeblock sata
	echo "add 2403 1 error=$2 recovery_ms=$RECOVERY_MS" > $M/d/medium_errors ||
		die "no bad sector"
	echo 1 > $M/d/stats_reset
	dmesg -c > /dev/null
}

# found NAME MOST: the sector has been, by at most so many errors
found()
{
	expect_ok "$1: the pass ends" wait_for 100 over
	expect_eq "$1: bad blocks" "$(job "$disk" "$job" blocks_bad)" 1
	expect_eq "$1: all others are read" "$(($(job "$disk" "$job" blocks_verified) +
		$(job "$disk" "$job" blocks_unverified)))" 511
	[ "$job" = scan ] || expect_eq "$1: and verified" "$(job "$disk" scrub blocks_unverified)" 0
	expect_match "$1: which" "$(cat "$(debug "$disk")/bad_blocks")" '^2400 8 '
	expect_le "$1: errors" "$(drive_stat d medium_errors)" "$2"
	expect_eq "$1: reported" "$(dmesg | grep -c 'cannot be read')" 1
	expect_eq "$1: NCQ" "$(dmesg | grep -c -i 'ncq disabled\|limiting speed')" 0
	expect_eq "$1: the link was not reset" "$(drive_stat d resets)" 0
	note "$1: $(state "$disk" medium), $(drive_stat d medium_errors) errors," \
		"$(drive_stat d verifies) VERIFYs, $(drive_stat d fua_reads) with FUA"
}

for depth in 32 1; do
	for kind in unc idnf abrt; do
		most=$([ $kind = unc ] && echo 1 || echo 2)
		for job in scan scrub; do
			fresh $depth $kind
			echo "start 0 4096" > "$(fb "$disk")/$job" || die "no $job"
			found "idle, $job, $kind, depth $depth" $most
		done
	done
done

# ---- beside a foreground ----

# table INTERFACE QUEUE "PLACE KIND TASK"...
table()
{
	local interface="$1" queue="$2" each

	shift 2
	without "$interface" "$queue"
	for each in "$@"; do
		# shellcheck disable=SC2086 # words are meant
		cell "$interface" "$queue" $each
	done
}

table sata 1 "first unc scan" "last abrt scrub"
table sata 2 "prepended unc scrub" "gap idnf scan"
table sata 32 "prepended abrt scrub" "gap unc scrub" "last idnf scrub" "first abrt scrub"
table sata off "prepended idnf scan"
table scsi 32 "prepended abrt scan" "gap idnf scrub"

# ---- a known bad block ----

all_else()
{
	[ "$(job "$disk" scrub blocks_verified)" = 511 ]
}

fresh 32 abrt
job=scrub
echo "start 0 4096" > "$(fb "$disk")/scrub" || die "no scrub"
expect_ok "known: the first pass ends" wait_for 100 over
echo "start 0 4096" > "$(fb "$disk")/scrub" || die "no scrub"
expect_ok "known: the next one reads all else at once" wait_for 30 all_else
sleep 60
expect_eq "known: and waits" "$(job "$disk" scrub)" running
expect_eq "known: without another error" "$(drive_stat d medium_errors)" 2
sleep 480
# a disk that has been silent for so long is left to fall asleep (t-power.sh)
dd if=/dev/"$disk" of=/dev/null bs=4k count=1 skip=3000 iflag=direct 2> /dev/null
found "known" 3
expect_eq "known: no alarm" "$(state "$disk" alarms)" 0

# ---- two of them, in adjacent blocks ----

fresh 32 abrt
echo "add 2408 1 error=abrt recovery_ms=$RECOVERY_MS" > $M/d/medium_errors || die "no bad sector"
echo "start 0 4096" > "$(fb "$disk")/scrub" || die "no scrub"
sleep 580
dd if=/dev/"$disk" of=/dev/null bs=4k count=1 skip=3000 iflag=direct 2> /dev/null
expect_eq "two: all around them waits for ten minutes" "$(job "$disk" scrub)" running
expect_ok "two: the pass ends" wait_for 100 over
expect_eq "two: bad blocks, verified, reports, alarms, errors" "$(job "$disk" scrub blocks_bad) $(
	job "$disk" scrub blocks_verified) $(dmesg | grep -c 'cannot be read') $(
	state "$disk" alarms) $(drive_stat d medium_errors)" "2 510 2 0 3"
expect_eq "two: NCQ" "$(dmesg | grep -c -i 'ncq disabled\|limiting speed')" 0

# ---- FUA comes back with NCQ ----

fresh 1 unc
job=scrub
echo "start 0 2048" > "$(fb "$disk")/scrub" || die "no scrub"
expect_ok "depth 1: the pass ends" wait_for 100 over
expect_match "depth 1: by VERIFY" "$(state "$disk" medium)" "^verify "
expect_match "depth 1: why" "$(state "$disk" medium)" 'no fua: refused: NCQ is off'
expect_eq "depth 1: the log says nothing of a refusal" "$(dmesg | grep -c -i 'illegal\|critical')" 0
echo 32 > /sys/block/"$disk"/device/queue_depth
echo "start 0 2048" > "$(fb "$disk")/scrub" || die "no scrub"
expect_ok "depth 32: the pass ends" wait_for 100 over
expect_match "depth 32: by FUA" "$(state "$disk" medium)" "^fua "
drive_off d
expect_within "unload freeblock" 20 unload_module freeblock
done_testing
