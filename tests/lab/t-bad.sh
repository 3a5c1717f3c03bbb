# SPDX-License-Identifier: GPL-2.0
# Bad sectors that take the drive seconds each: a burst of them under a scrub, with a
# foreground that reads good sectors only; then an idle disk. In make soak also blocks that take the
# drive 7 s each, one behind the other; and a member of a RAID1.
#
# Expected: the foreground meets no error; the first failure of a burst is all that it
# waits for, the surroundings are left alone while it goes on, and read when the disk is
# idle; the SCSI error handler does nothing; the list has exactly the bad blocks. Three slow
# recoveries in a row pause the scrub, which goes on when told to; a bad block under a scrub does not
# fail a member of an array.
#
# lab: kernel=stock clock=icount smp=1 timeout=200
# lab: set=soak kernel=stock clock=icount smp=1 timeout=600

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

[ "${SET-}" = soak ] || done_testing

# ---- 7 s each, many: tasks pause ----

fresh
bad "960 128 recovery_ms=7000 asc=11"
echo 1 > "$D/bad_slow_s"
echo "start 960 128 near" > "$D/scrub" || die "no scrub"
fio_run many --filename=/dev/"$disk" --direct=1 --ioengine=libaio --iodepth=8 --rw=randread \
	--bs=4k --norandommap --offset=4m --time_based --runtime=10 --randseed=5
expect_eq "many: no error in the foreground" "$(fio_errors many)" 0
expect_ok "many: pauses itself" wait_for 120 is paused
expect_match "many: says so" "$(dmesg)" '3 slow recoveries in a row'
expect_eq "many: three were tried" "$(drive_stat d medium_errors)" 3
sleep 20
expect_eq "many: and no more" "$(drive_stat d medium_errors)" 3
no_error_handler many
expect_ok "many: goes on when told to" sh -c "echo resume > $D/scrub"
expect_ok "many: and pauses again" wait_for 120 is paused
expect_eq "many: after three more" "$(drive_stat d medium_errors)" 6
no_error_handler many

# ---- a RAID1: its member is not failed ----

load_module raid1
fresh
other=$(drive_new e tiny.fbdrive "serial MDTINY002") || exit 1
expect_ok "array: made" mdadm --create /dev/md0 --run --quiet --level=1 --metadata=1.0 \
	--assume-clean --raid-devices=2 /dev/"$disk" /dev/"$other"
bad "2401 1 recovery_ms=2000 asc=11"
echo "start 0 4096 near" > "$D/scrub" || die "no scrub"
fio_run array --filename=/dev/md0 --direct=1 --ioengine=libaio --iodepth=16 --rw=randrw \
	--bs=4k --norandommap --offset=4m --size=16m --time_based --runtime=8 --randseed=6
expect_eq "array: no error" "$(fio_errors array)" 0
expect_ok "array: scrubbed" wait_for 60 is finished
expect_eq "array: the bad block" "$(listed)" "2400 8 medium;"
expect_match "array: both members" "$(cat /proc/mdstat)" '.UU.'
no_error_handler array
expect_ok "array: stops" mdadm --quiet --stop /dev/md0
expect_within "the module goes" 60 sh -c "echo none > /sys/block/$disk/queue/scheduler && rmmod freeblock"
done_testing
