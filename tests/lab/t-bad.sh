# SPDX-License-Identifier: GPL-2.0
# Bad sectors that take the drive seconds each: a burst of them under a scrub, with a
# foreground that reads good sectors only; then an idle disk.
#
# Expected: the foreground meets no error; the first failure of a burst is all that it
# waits for, the surroundings are left alone while it goes on, and read when the disk is
# idle; the SCSI error handler does nothing; the list has exactly the bad blocks.
#
# lab: kernel=stock clock=icount smp=1 timeout=200

. /lab/lib.sh
. /lab/files/bad.sh

load_module mechdisk
load_module freeblock

# ---- tunables ----

fresh
expect_eq "pause by default" "$(cat "$D/bad_slow_s")" 60
expect_eq "recoveries by default" "$(cat "$D/bad_slow_most")" 3
expect_fail "no number" sh -c "echo many > $D/bad_slow_s"
expect_fail "too small" sh -c "echo 0 > $D/bad_slow_s"
expect_fail "too large" sh -c "echo 70000 > $D/bad_quarantine_kib"
expect_eq "nothing changed" "$(cat "$D/bad_quarantine_kib")" 128

# ---- one burst: 2 s each; what is around it waits for the foreground's end ----

# Two bad blocks; the quarantine of either has the other one
bad "2401 1 recovery_ms=2000 asc=11"
bad "2425 1 recovery_ms=2000 asc=11"
echo 5 > "$D/bad_slow_s"
# idle reads begin only when what the foreground met has been counted
echo 1000000 > "$D/idle_wait_us"
echo "start 0 4096 near" > "$D/scrub" || die "no scrub"
fio_run burst --filename=/dev/"$disk" --direct=1 --ioengine=libaio --iodepth=8 --rw=randread \
	--bs=4k --norandommap --offset=4m --time_based --runtime=14 --randseed=4
expect_eq "burst: no error in the foreground" "$(fio_errors burst)" 0
expect_eq "burst: met once while there is a foreground" "$(drive_stat d medium_errors)" 1
expect_eq "burst: one block listed" "$(wc -l < "$(debug "$disk")/bad_blocks")" 1
expect_ge "burst: the rest goes on" "$(job "$disk" scrub blocks_verified)" 300
numbers "$disk" state stats > /out/burst
expect_ok "burst: all is done when idle" wait_for 60 is finished
cat "$(debug "$disk")/numbers" > /out/scrub-end
expect_eq "burst: listed" "$(listed)" "2400 8 medium;2424 8 medium;"
expect_eq "burst: each tried once" "$(drive_stat d medium_errors)" 2
expect_match "burst: told in the log" "$(dmesg | grep 'cannot be read')" 'sectors 2424.8'
expect_eq "burst: all but two verified" "$(job "$disk" scrub blocks_verified)" 510
expect_eq "burst: bad" "$(job "$disk" scrub blocks_bad)" 2
expect_eq "burst: none given up untried" "$(job "$disk" scrub blocks_skipped)" 0
expect_eq "burst: one range is quarantined" "$(state "$disk" quarantine_zones)" 1
expect_eq "burst: counted" "$(state "$disk" bad_blocks)" 2
no_error_handler burst

# ---- an error that passes: it is not the medium's, and quarantines nothing (it once did) ----

fresh
bad "1003 1 recovery_ms=20 asc=15 info=0 times=1"
echo "start 0 4096 near" > "$D/scrub" || die "no scrub"
expect_ok "passing: all is done" wait_for 60 is finished
expect_ge "passing: it was met" "$(stats "$disk" free_errors)" 1
expect_eq "passing: nothing is quarantined" "$(state "$disk" quarantine_zones)" 0
expect_eq "passing: nothing is bad" "$(listed)" ""
expect_eq "passing: all is verified" "$(job "$disk" scrub blocks_verified)" 512

done_testing
