# SPDX-License-Identifier: GPL-2.0
# A drive whose write cache is on. While there are writes it orders by itself, so that nobody waits
# for the medium who need not; once the map says that they are written the policy orders reads that
# come alone, and has its gaps (after 32 reads whatever is written: tests/unit/test_destage.c). When
# the cache is switched this is noticed. Cached writes are no foreground that a scan has to wait for,
# but what they leave to the drive is waited for. What a scan brings and costs beside such a drive,
# tests/python/test_sim_lab_idle.py measures.
#
# Expected: design.rst, "Who orders".
#
# lab: kernel=stock clock=icount smp=1 timeout=200

. /lab/lib.sh

# io read|write N [US]: single blocks, one after the other, with so long a pause between them
io()
{
	fio_run "$1$2" --filename="/dev/$disk" --direct=1 --rw="rand$1" --bs=4k --number_ios="$2" \
		--thinktime="${3-0}"
}

# cache "write back"|"write through": switches the drive's
cache()
{
	echo "$1" > "$(echo /sys/class/scsi_disk/*)/cache_type"
	expect_eq "$1: the queue" "$(cat "/sys/block/$disk/queue/write_cache")" "$1"
}

expect_order()
{
	expect_eq "$1: who orders" "$(state "$disk" order)" "$2"
}

load_module mechdisk
load_module freeblock
disk=$(drive_new d nearline16-wc.fbdrive "journal_records 262144") || exit 1
sched_set "$disk" freeblock
model_load "$disk" nearline16.fbmodel

# ---- who orders; nothing is read in idle time, so that nothing else happens ----

# Seen to fail with fb_destage_orders() false: three times "policy"; with fb_writeback_find() that
# finds nothing: "drive" behind 31 reads.

echo 0 > "$(fb "$disk")/idle_mean_us"
echo start > "$(fb "$disk")/scan"
io write 1
expect_order "a write" drive
io read 31
expect_order "31 reads, and it is written" policy
io write 1
expect_order "a write again" drive
cache "write through"
io read 1
expect_order "the cache is off" policy
io write 1
expect_order "a write with the cache off" policy
cache "write back"
io write 1
expect_order "the cache is on again" drive
iosched "$disk" depth 2
io write 1
expect_order "depth 2" policy
iosched "$disk" depth auto
scan_stop "$disk"

# ---- is it idle? ----

# Seen to fail with fb_iosched_arrived() taking all for foreground: 119 for 79.

echo 10000000 > "$(fb "$disk")/idle_mean_us"
echo start > "$(fb "$disk")/scan"
io read 40 100000
before=$(stats "$disk" idle_requests)
# an interval may be left without idle reads for ten seconds, to measure without
io write 160 100000
expect_eq "cached writes are no foreground" "$(stats "$disk" idle_requests)" "$before"
io read 40 100000
expect_eq "reads are" "$(stats "$disk" idle_requests)" $((before + 40))
expect_eq "the model is believed" "$(state "$disk" knowledge)" map
note "$(numbers "$disk" state stats | grep idle | tr "\n" " ")"
scan_stop "$disk"

# ---- writes with FUA wait for the medium, and are counted apart, on any kernel ----

# Seen to fail: no FUA write was sent.

# fua MIN: how many took longer, of all
fua()
{
	awk -v min="$1" '$1 > min { n += $4 } END { print n + 0 }' "$(debug "$disk")/latency"
}

expect_eq "none so far" "$(fua 0)" 0
before=$(stats "$disk" fg_writes)
fio_run fua --filename="/dev/$disk" --direct=1 --sync=1 --rw=write --bs=4k --number_ios=20
expect_eq "each is counted once" "$(fua 0)" 20
note "of these, scheduled: $(($(stats "$disk" fg_writes) - before))"
# a turn takes 8.3 ms
expect_ge "they take most of a turn" "$(fua 5000000)" 15

# ---- who is late reads beside them, too: after ten seconds the rate is known ----

# Seen to fail with a cached write that withdraws no idle read, and tells nobody of the write: 0.

load_module fbtasks
echo 0 > "$(fb "$disk")/idle_mean_us"
for command in "new late $disk" "add late 0 800000" "foreground late 500000" "deadline late 1" \
	"start late"; do
	echo "$command" > /sys/kernel/debug/fbtasks/command
done
sleep 11
before=$(stats "$disk" hurried)
io write 41 100000
expect_ge "hurried beside cached writes" $(($(stats "$disk" hurried) - before)) 20
echo "destroy late" > /sys/kernel/debug/fbtasks/command
expect_within "fbtasks unloads" 20 unload_module fbtasks
drive_off d

expect_within "unload freeblock" 20 unload_module freeblock
done_testing
