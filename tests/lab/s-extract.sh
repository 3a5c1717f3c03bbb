# SPDX-License-Identifier: GPL-2.0
# A whole freeblock extract at a SCSI disk, by /dev/sgX: its model is accepted by the module
# and predicts as well as extract says; mode pages are as before.
#
# lab-programs: extract judge load
# lab-python: freeblock.extraction.pipeline _pydecimal
# lab-freeblock: extract
# lab: kernel=stock clock=icount smp=1 timeout=1200

. /lab/lib.sh

cache_page()
{
	sg_modes -p 8 -H "$sg" 2> /dev/null || sg_raw -r 64 "$sg" 1a 08 08 00 40 00 2> /dev/null
}

load_module mechdisk
disk=$(drive_new d toy.fbdrive "cache 16 512 4
read_ahead segment
write_cache back") || exit 1
sg=/dev/$(ls "/sys/block/$disk/device/scsi_generic")
wait_for 10 [ -c "$sg" ] || die "no $sg"
cache_page > /tmp/before

freeblock extract "/dev/$disk" --no-translation --quick --json --state-dir /tmp/state \
	-o /out/extracted.fbmodel > /out/report.json
expect_eq "extract ends" $? 0
cache_page > /tmp/after
expect_eq "mode page as before" "$(cat /tmp/after)" "$(cat /tmp/before)"
expect_match "nothing is to be restored" "$(find /tmp/state -name '*.json' | wc -l)" "^0$"
expect_match "trusted" "$(cat /out/report.json)" '"trusted": true'

load_module freeblock
sched_set "$disk" freeblock || die "no freeblock"
model_load "$disk" /out/extracted.fbmodel
expect_eq "the module takes it" $? 0
iosched "$disk" depth 2
load random "/dev/$disk" reads=100 seconds=20 depth=4 > /tmp/load
expect_eq "a load ends" $? 0
total=$(stats "$disk" pred_total)
within=$(stats "$disk" pred_within_50us)
note "$within of $total within 50 us"
expect_ge "predictions within 50 us, per mille" $((within * 1000 / total)) 950

sched_set "$disk" none
drive_off d
expect_within "unload freeblock" 20 unload_module freeblock
done_testing
