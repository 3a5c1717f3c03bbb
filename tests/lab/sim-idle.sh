# SPDX-License-Identifier: GPL-2.0
# The guest's part of tests/python/test_sim_lab_idle.py: a scan with the module's defaults beside
# the requests of traces, on a disk that is idle at times. It measures; the test compares.
#
# Variables, all set by the test: DRIVE; CACHE, its write cache, "back" or "off"; TRACES, names of
# files; RUN_S; WARMUP_S, before that, of which nothing is counted. Files: load (tests/lab/load.c,
# compiled) and the traces. Left behind, for each trace: /out/TRACE.lat, of the requests, and .free,
# KiB that the scan got.

. /lab/lib.sh

# cpu: ticks that the disk's thread has had
cpu()
{
	cat /proc/[0-9]*/stat 2>/dev/null | awk -v name="(freeblock/$disk)" '$2 == name { print $15 }'
}

# Has the thread entered a scan's blocks into its map? It rests then.
entered()
{
	local before

	before=$(cpu)
	sleep 0.5
	[ -n "$before" ] && [ "$(cpu)" = "$before" ]
}

# cell TRACE: on a drive that nobody has seen before. Commands may be as long as those of most
# adapters (queue/max_sectors_kb 1280).
cell()
{
	local out="/out/$1" free

	n=$((n + 1))
	load_module freeblock
	disk=$(drive_new d$n "$DRIVE.fbdrive" "journal_records 1
max_sectors 2560
write_cache $CACHE") || exit 1
	sched_set "$disk" freeblock
	model_load "$disk" "$DRIVE.fbmodel"
	# there are 122 million blocks to enter, and nothing should be read meanwhile
	echo 0 > "$(fb "$disk")/idle_mean_us"
	echo start > "$(fb "$disk")/scan"
	expect_ok "$1: blocks entered" wait_for 60 entered
	echo 1000 > "$(fb "$disk")/idle_mean_us"
	free="$(debug "$disk")/numbers"
	expect_ok "$1" /lab/files/load replay "/dev/$disk" depth=1024 \
		warmup="$WARMUP_S" seconds="$RUN_S" trace="/lab/files/$1" out="$out.lat" \
		snap="$free" snaps=/tmp/free
	echo $((($(kv /tmp/free.end stats/free_sectors) - $(kv /tmp/free.begin stats/free_sectors)) / 2)) > "$out.free"
	note "$(numbers "$disk" state stats | grep idle | tr '\n' ' ')"
	scan_stop "$disk"
	drive_off d$n
	expect_ok "$1: unload" unload_module freeblock
}

n=0
load_module mechdisk
for trace in $TRACES; do
	cell "$trace"
done
done_testing
