# SPDX-License-Identifier: GPL-2.0
# freeblock setup of a SCSI disk with all that it does by itself: it measures the disk, is
# interrupted meanwhile and goes on where it was, watches how the disk is used, and has it
# scheduled; off puts everything back.
#
# Expected: what setup says; the module's own state and predictions; the machine's files as before.
#
# lab-programs: extract judge load sim
# lab-python: freeblock.extraction.pipeline freeblock.observe freeblock.tuning.record _pydecimal
# lab-freeblock: setup off
# lab: kernel=stock clock=icount smp=1 timeout=1200

. /lab/lib.sh

load_module mechdisk
mkdir -p "/lib/modules/$(uname -r)/updates" /etc /var/lib
cp /lab/modules/freeblock.ko "/lib/modules/$(uname -r)/updates"
echo "updates/freeblock.ko:" >> "/lib/modules/$(uname -r)/modules.dep"
modprobe -q libcrc32c
mount -t tracefs tracefs /sys/kernel/tracing 2> /tmp/said

disk=$(drive_new d tiny.fbdrive) || exit 1
sched_set "$disk" mq-deadline
find /etc /var/lib | sort > /tmp/before

freeblock setup "/dev/$disk" --observe 10 > /tmp/first 2> /tmp/first.err &
wait_for 300 sh -c "ls /var/lib/freeblock/extract/*/extract.json"
kill -INT $!
wait $!
expect_eq "interrupted: its status" $? 130
expect_match "and what to do" "$(cat /tmp/first.err)" "set up in part: freeblock setup goes on"
expect_eq "the disk has its scheduler" "$(sched_get "$disk")" mq-deadline

freeblock setup "/dev/$disk" --observe 10 > /tmp/second 2> /tmp/second.err &
wait_for 900 grep -q recording /tmp/second.err
load random "/dev/$disk" reads=70 seconds=12 depth=2 > /tmp/load
wait $!
expect_eq "setup ends" $? 0
cp /tmp/second /tmp/second.err /out
expect_match "it went on where it was" "$(cat /tmp/second)" "resumed what was interrupted after"
expect_match "what it will bring" "$(cat /tmp/second)" "in gaps and idle time +[0-9.]+"
expect_match "it is set up" "$(cat /tmp/second)" "$disk: set up; freeblock off"
expect_eq "it is scheduled" "$(state "$disk" scheduling)" yes
iosched "$disk" depth 2
load random "/dev/$disk" reads=100 seconds=20 depth=4 > /tmp/load
total=$(stats "$disk" pred_total)
within=$(stats "$disk" pred_within_50us)
note "$within of $total within 50 us"
expect_ge "predictions within 50 us, per mille" $((within * 1000 / total)) 950

expect_within "off" 60 freeblock off --all
find /etc /var/lib | sort > /tmp/after
expect_eq "as before" "$(diff /tmp/before /tmp/after)" ""
expect_eq "its scheduler" "$(sched_get "$disk")" mq-deadline
drive_off d
done_testing
