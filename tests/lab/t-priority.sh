# SPDX-License-Identifier: GPL-2.0
# NCQ priority, below the kernel's own libata: with ncq_prio_enable requests of the real-time class
# are sent with high priority, all of them and no others: no read of freeblock's own, nor one that
# carries a part of freeblock's. In freeblock's queue the class goes first.
#
# Expected: what libata does (ata_build_rw_tf()): the priority is the request's class; from 6.14 on
# that is its first bio's.
#
# Seen to fail: free reads prepended to requests of the real-time class (prepends).
#
# lab: kernel=stock clock=icount smp=1 timeout=300
# lab: kernel=7.x clock=icount smp=1 timeout=300
# lab-kernel-modules: libata

. /lab/lib.sh

# reader NAME SEED CLASS DEPTH: 4 s, in the background
reader()
{
	fio_run "$1" --filename=/dev/"$disk" --direct=1 --ioengine=libaio --iodepth="$4" \
		--rw=randread --bs=4k --offset=1m --norandommap --time_based --runtime=4 \
		--randseed="$2" --allrandrepeat=1 --prioclass="$3" --prio=4 &
}

# latency_us NAME: of its reads, on the mean
latency_us()
{
	head -n 1 "/tmp/$1.terse" | cut -d';' -f40 | cut -d. -f1
}

# fresh SEED: counters of the drive and of freeblock
fresh()
{
	echo 1 > /sys/kernel/mechdisk/d/stats_reset
	echo 1 > "/sys/kernel/debug/freeblock/$disk/reset"
}

load_module mechdisk
load_module mechata
load_module freeblock
disk=$(drive_new d tiny.fbdrive "interface sata") || exit 1
sched_set "$disk" freeblock
model_load "$disk" tiny-ata.fbmodel
# the subject is order, not cost: behind a trip of the guard the drive would order
iosched "$disk" target_slowdown_ppm 1000000
expect_eq "the drive has NCQ priority" \
	"$(cat /sys/block/"$disk"/device/ncq_prio_supported)" 1
# a scan of 25 MB is soon over
echo start > "$(fb "$disk")/scan"

fresh
reader off 1 1 8
wait $!
expect_eq "not enabled: no command of high priority" "$(drive_stat d urgent)" 0
expect_ok "enable" sh -c "echo 1 > /sys/block/$disk/device/ncq_prio_enable"

fresh
reader best 2 2 8
wait $!
expect_eq "best effort: no command of high priority" "$(drive_stat d urgent)" 0
expect_ge "best effort: prepended reads" "$(stats "$disk" prepends)" 20
expect_ge "best effort: separate reads" "$(stats "$disk" separates)" 20
expect_within "the scan stops" 20 scan_stop "$disk"

echo start > "$(fb "$disk")/scan"
fresh
reader real 3 1 8
wait $!
note "real-time: $(fio_ios real) requests, $(drive_stat d urgent) of high priority," \
	"$(stats "$disk" separates) separate reads"
expect_eq "real-time: all have high priority, and no others" "$(drive_stat d urgent)" \
	"$(stats "$disk" fg_requests)"
expect_ge "real-time: separate reads" "$(stats "$disk" separates)" 20
expect_eq "real-time: no prepended reads" "$(stats "$disk" prepends)" 0
expect_within "the scan stops" 20 scan_stop "$disk"

# one class beside another, without a scan and with one
for scan in without with; do
	ratios=
	for seed in 1 2 3; do
		[ $scan = without ] || echo start > "$(fb "$disk")/scan"
		fresh
		reader few $seed 1 1
		few=$!
		reader many $((seed + 9)) 2 16
		wait $! $few
		ratios="$ratios $(($(latency_us few) * 1000 / $(latency_us many)))"
		expect_le "$scan a scan, $seed: high priority: the real-time ones" \
			"$(drive_stat d urgent)" "$(fio_ios few)"
		expect_ge "$scan a scan, $seed: high priority: all of those" \
			"$(($(drive_stat d urgent) + 2))" "$(fio_ios few)"
		[ $scan = without ] || expect_within "$seed: the scan stops" 20 scan_stop "$disk"
	done
	[ $scan = without ] || break
done
# without a scan all are at the drive, and this one orders them alike
# shellcheck disable=SC2086
expect_mean "with a scan: latency of real-time, per mille of best effort's" 50 85 $ratios

drive_off d
expect_within "unload freeblock" 20 unload_module freeblock
done_testing
