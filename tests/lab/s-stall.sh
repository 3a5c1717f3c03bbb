# SPDX-License-Identifier: GPL-2.0
# A drive that has work of its own, as drive-managed shingled ones have behind writes: every eight
# seconds it is silent for two. A scan beside random reads, and the same drive without stalls.
#
# Expected (core/idle/learnt.h): what requests wait for the drive is not charged to idle reads, whose
# goal is 1000 us; reads pause for as long as the drive was silent, so that four of eight seconds are
# left to them.
#
# Seen to fail with: fb_idle_account_stall() always false (18052 us charged, 0 % read).
#
# lab-programs: load
# lab: kernel=stock clock=icount smp=1 timeout=300

. /lab/lib.sh

# beside NAME LINES SEED N: 64 s of a scan beside eight reads a second; sets $sectors, read by the scan
# in the last 48, and $charged, microseconds of each request
beside()
{
	local before

	disk=$(drive_new d nearline16.fbdrive "serial MD$3-$4
$2") || exit 1
	sched_set "$disk" freeblock || die "no freeblock"
	echo start > "$(fb "$disk")/scan"
	load random "/dev/$disk" reads=100 rate=8000 depth=256 seed="$3" seconds=16 > /tmp/first
	before=$(stats "$disk" free_sectors)
	load random "/dev/$disk" reads=100 rate=8000 depth=256 seed="$3" seconds=48 > "/tmp/$1"
	expect_eq "$1: no errors" "$(kv "/tmp/$1" errors)" 0
	sectors=$(($(stats "$disk" free_sectors) - before))
	charged=$(($(state "$disk" idle_mean_ns) / 1000))
	note "$1: $((sectors / 96000)) MB/s, $charged us for each request, threshold" \
		"$(state "$disk" idle_wait_us) us, size $(state "$disk" idle_size_kib) KiB"
	scan_stop "$disk"
	sched_set "$disk" none
	echo d > /sys/kernel/mechdisk/delete
}

load_module mechdisk
load_module freeblock
for seed in 1 2 3; do
	beside "without stalls, seed $seed" "" "$seed" 1
	alone=$sectors
	beside "with stalls, seed $seed" "internal_activity 8000 2000 0" "$seed" 2
	charges="$charges $charged"
	shares="$shares $((sectors * 100 / alone))"
done
# shellcheck disable=SC2086 # these are words
expect_mean "charged, us" 300 800 $charges
# shellcheck disable=SC2086
expect_mean "read, % of what is read without stalls" 40 60 $shares
expect_within "unload freeblock" 20 unload_module freeblock
done_testing
