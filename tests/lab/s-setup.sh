# SPDX-License-Identifier: GPL-2.0
# freeblock setup at a SCSI disk of which nothing is known: it measures the disk itself, is
# interrupted while it does, goes on, and leaves a disk whose requests it predicts; then off.
#
# Expected: mode pages, files, scheduler and modules as they were before, when it was interrupted and
# after off; the second run goes on with the first one's measurements.
#
# lab-freeblock: setup off extract
# lab-python: freeblock.extraction.pipeline _pydecimal
# lab-programs: extract judge load
# lab: kernel=stock clock=icount smp=1 timeout=1200

. /lab/lib.sh

# What must be as before whenever setup ends
disk_state()
{
	cat "/sys/block/$disk/queue/scheduler"
	cut -d ' ' -f 1 /proc/modules | sort
	sg_modes -p 8 -H "$sg" 2> /dev/null || sg_raw -r 64 "$sg" 1a 08 08 00 40 00 2> /dev/null
}

# and after off
machine()
{
	disk_state
	find /etc /var/lib -exec ls -ld {} + | awk '{ print $1, $NF }' | sort
	find /etc /var/lib -type f -exec md5sum {} + | sort
}

load_module mechdisk
install_freeblock
disk=$(drive_new d toy.fbdrive "cache 16 512 4
read_ahead segment
write_cache back") || exit 1
sg=/dev/$(ls "/sys/block/$disk/device/scsi_generic")
wait_for 10 [ -c "$sg" ] || die "no $sg"
sched_set "$disk" mq-deadline
machine > /tmp/before
disk_state > /tmp/state

# ---- interrupted, while a mode page is changed ----

freeblock setup "/dev/$disk" --observe 0 --quiet > /tmp/said 2>&1 &
setup=$!
expect_ok "modes are changed meanwhile" wait_for 120 \
	sh -c "ls /var/lib/freeblock/modes/*.json > /tmp/modes 2>&1"
expect_ok "and it has stages behind it" wait_for 120 \
	sh -c "find /var/lib/freeblock/extract -type f | grep -q ."
kill -TERM $setup
wait $setup
expect_ne "it is interrupted" $? 0
expect_match "and says what to do" "$(cat /tmp/said)" "freeblock setup .* continues"
disk_state > /tmp/after
expect_eq "mode page, scheduler and modules are as before" "$(diff /tmp/state /tmp/after)" ""

# ---- to its end ----

freeblock setup "/dev/$disk" --observe 0 --quiet > /out/setup.said 2>&1
expect_eq "setup ends" $? 0
expect_match "it goes on where it was" "$(cat /out/setup.said)" "resumed what was interrupted"
expect_eq "it has the scheduler" "$(sched_get "$disk")" freeblock
expect_eq "it is scheduled" "$(state "$disk" scheduling)" yes
iosched "$disk" depth 2
load random "/dev/$disk" reads=100 seconds=20 depth=4 > /tmp/load
expect_eq "a load ends" $? 0
total=$(stats "$disk" pred_total)
within=$(stats "$disk" pred_within_50us)
note "$within of $total within 50 us"
expect_ge "predictions within 50 us, per mille" $((within * 1000 / total)) 950

expect_within "off" 60 freeblock off "/dev/$disk"
machine > /tmp/after
expect_eq "as before" "$(diff /tmp/before /tmp/after)" ""

drive_off d
done_testing
