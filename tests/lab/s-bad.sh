# SPDX-License-Identifier: GPL-2.0
# What t-bad.sh has no time for: blocks that take the drive 7 s each, one behind the other,
# and a member of a RAID1.
#
# Expected: the foreground meets no error; three slow recoveries in a row pause the scrub,
# which goes on when told to; a bad block under a scrub does not fail a member of an array;
# the SCSI error handler does nothing.
#
# lab: kernel=stock clock=icount smp=1 timeout=600

. /lab/lib.sh
. /lab/files/bad.sh

load_module mechdisk
load_module freeblock

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
