# SPDX-License-Identifier: GPL-2.0
# Disks come and go a hundred times: what the module remembers of them has a bound. Disks
# without a unique id take each other's name, with and without the scheduler when they go;
# those with an id come under a new one each time. Each has a model.
#
# Expected: no record of a disk without an id outlives it; of those with one, 64; memory does
# not grow either, a record with its model being some 35 KiB.
#
# Seen to fail with: records that only lose their name (fb_disk_retire() without
# fb_disk_lose()); no fb_disk_cull(); a model that is not freed with its record.
#
# lab: set=soak kernel=stock clock=icount smp=1 timeout=300

. /lab/lib.sh

M=/sys/kernel/mechdisk
drives_without_id ATA TINY
load_module mechdisk
load_module freeblock

# now N: so many records there are
now()
{
	# shellcheck disable=SC2012
	[ "$(ls /sys/kernel/freeblock | wc -l)" = "$1" ]
}

# records N: so many are left, when those that are lost are gone
records()
{
	wait_for 10 now "$1"
}

# memory used by the kernel for itself, kB; freed pages first go back to where they belong
used_kb()
{
	echo 3 > /proc/sys/vm/drop_caches
	awk '/^(MemTotal|MemFree|Buffers|Cached|AnonPages):/ { kb[$1] = $2 }
		END { print kb["MemTotal:"] - kb["MemFree:"] - kb["Buffers:"] - kb["Cached:"] -
			kb["AnonPages:"] }' /proc/meminfo
}

# come DRIVE MODEL: it has the scheduler and a model
come()
{
	echo 1 > $M/"$1"/power
	wait_for 30 grep -q "on $disk" $M/"$1"/status && wait_for 30 sched_set "$disk" freeblock &&
		model_load "$disk" "$2"
}

# rounds DRIVE MODEL FROM TO: it comes and goes, every second time without the scheduler
rounds()
{
	local n=$3

	while [ "$n" -le "$4" ]; do
		[ "$1" = g ] || echo "serial MD$n" > $M/"$1"/description
		come "$1" "$2" || not_ok "$1: round $n" "no disk"
		[ $((n % 2)) = 0 ] || sched_set "$disk" none
		drive_off "$1"
		n=$((n + 1))
	done
}

before=$(ls /sys/kernel/freeblock | wc -l)

# ---- without an id ----

disk=$(drive_new g tiny.fbdrive "vendor ATA") || exit 1
sched_set "$disk" freeblock
expect_eq "no id" "$(cat "$(fb "$disk")/id")" -
drive_off g
rounds g tiny-ata.fbmodel 1 20
expect_ok "no id, 20 rounds: no record" records "$before"
kb=$(used_kb)
rounds g tiny-ata.fbmodel 21 100
expect_ok "no id, 100 rounds: no record" records "$before"
note "records: $(ls /sys/kernel/freeblock | wc -l)"
# 80 records would be 2,800
expect_le "no id: memory of 80 rounds, kB" $(($(used_kb) - kb)) 600

# ---- with one ----

h=$(drive_new h tiny.fbdrive "serial MD0") || exit 1
expect_eq "the same name" "$h" "$disk"
drive_off h
rounds h tiny.fbmodel 1 70
expect_ok "ids, 70 rounds: 64 records" records $((before + 64))
kb=$(used_kb)
rounds h tiny.fbmodel 71 110
expect_ok "ids, 110 rounds: 64 records" records $((before + 64))
# 40 records would be 1,400
expect_le "ids: memory of 40 rounds, kB" $(($(used_kb) - kb)) 600

expect_within "unloads" 30 unload_module freeblock
expect_within "mechdisk unloads" 30 unload_module mechdisk
done_testing
