# SPDX-License-Identifier: GPL-2.0
# The guest's part of tests/python/test_sim_lab.py: the same experiments as the
# simulator has made, measured, and compared with what it found.
#
# Variables, all set by the test: DRIVE SIZES CONSERVATISM_US SPTF_S SCAN_S, and
# the simulator's SPTF_RATE SCAN_RATE (requests in 100 s) and SCAN_FREE (kB/s);
# WITHIN_PM: how far apart they may be, per mille.

. /lab/lib.sh

# agree NAME MEASURED SIMULATED
agree()
{
	note "$1: measured $2, simulated $3"
	expect_ge "$1: measured * 1000" $(($2 * 1000)) $(($3 * (1000 - WITHIN_PM)))
	expect_le "$1: measured * 1000" $(($2 * 1000)) $(($3 * (1000 + WITHIN_PM)))
}

# oltp NAME SECONDS: the foreground; sets $rate in requests per 100 s
oltp()
{
	echo 1 > "/sys/kernel/debug/freeblock/$disk/reset"
	fio_run "$1" --filename="/dev/$disk" --direct=1 --ioengine=libaio \
		--iodepth=10 --rw=randrw --rwmixread=67 --bssplit="$SIZES" \
		--norandommap --random_generator=tausworthe64 --randseed=1 \
		--allrandrepeat=1 --time_based --runtime="$2"
	rate=$(($(fio_ios "$1") * 100 / $2))
	expect_eq "$1: no errors" "$(fio_errors "$1")" 0
}

gone()
{
	[ "$(state "$disk" tasks)" = 0 ]
}

load_module mechdisk
load_module freeblock
disk=$(drive_new d0 "$DRIVE.fbdrive" '') || exit 1
sched_set "$disk" freeblock
model_load "$disk" "$DRIVE.fbmodel"
iosched "$disk" conservatism_us "$CONSERVATISM_US"
iosched "$disk" lift 0
iosched "$disk" depth 2

# the reads of the partition table, which the drive's worker fills pages for, may be 32 us late
echo 1 > /sys/kernel/mechdisk/d0/stats_reset

iosched "$disk" policy sptf
oltp sptf "$SPTF_S"
agree "SPTF alone, requests in 100 s" $rate "$SPTF_RATE"

iosched "$disk" policy sptf-sw
echo start > "$(fb "$disk")/scan" || die "no scan"
oltp scan "$SCAN_S"
free=$(($(stats "$disk" free_sectors) * 512 / SCAN_S / 1000))
expect_eq "guard" "$(stats "$disk" guard_trips)" 0
agree "SPTF-SW60 with a scan, requests in 100 s" $rate "$SCAN_RATE"
agree "SPTF-SW60 with a scan, free kB/s" $free "$SCAN_FREE"
echo stop > "$(fb "$disk")/scan"
expect_ok "scan stops" wait_for 20 gone

expect_le "drive late, ns" "$(drive_stat d0 late_max_ns)" 20000
drive_off d0
expect_within "unload freeblock" 20 unload_module freeblock
done_testing
