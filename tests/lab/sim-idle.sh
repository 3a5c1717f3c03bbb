# SPDX-License-Identifier: GPL-2.0
# The guest's part of tests/python/compare_idle.py: a scan with the module's defaults beside
# Poisson arrivals, of a disk that is idle at times. It measures; the test compares.
#
# Variables, all set by the test: CELLS, words DRIVE:CACHE:RATE:SEED with CACHE "back" or "off"
# and RATE in requests per 1000 s; RUN_S. File: load (tests/lab/load.c, compiled). Left behind:
# /out/DRIVE-CACHE-RATE-SEED.lat, of the loads, and .free, KiB that the scan got.

. /lab/lib.sh

# cell DRIVE CACHE RATE SEED: on a drive that nobody has seen before. Commands may be as long as
# those of most adapters (queue/max_sectors_kb 1280).
cell()
{
	local out="/out/$1-$2-$3-$4" before

	n=$((n + 1))
	load_module freeblock
	disk=$(drive_new d$n "$1.fbdrive" "journal_records 1
max_sectors 2560
write_cache $2") || exit 1
	sched_set "$disk" freeblock
	model_load "$disk" "$1.fbmodel"
	# the thread has a billion blocks to enter into the map, and should not read meanwhile
	echo 0 > "$(fb "$disk")/idle_mean_us"
	echo start > "$(fb "$disk")/scan"
	sleep 30
	echo 1000 > "$(fb "$disk")/idle_mean_us"
	before=$(stats "$disk" free_sectors)
	expect_ok "$1 $2 $3 $4" /lab/files/load random "/dev/$disk" depth=1024 rate="$3" reads=67 \
		seconds="$RUN_S" seed="$4" out="$out.lat"
	echo $((($(stats "$disk" free_sectors) - before) / 2)) > "$out.free"
	note "$(tr '\n' ' ' < "$(debug "$disk")/idle_status")"
	scan_stop "$disk"
	drive_off d$n
	expect_ok "$1 $2 $3 $4: unload" unload_module freeblock
}

n=0
load_module mechdisk
for c in $CELLS; do
	# shellcheck disable=SC2046 # words are meant
	cell $(echo "$c" | tr : ' ')
done
done_testing
