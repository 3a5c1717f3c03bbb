# SPDX-License-Identifier: GPL-2.0
# The guest's part of `tools/freeblock-bench bench --figure disks`: what freeblock takes of a CPU
# beside scans of several disks that are in use, and of memory with many disks.
#
# Variables: DRIVE; ATTACHED, disks for memory, or 0; DISKS in use, at RATE requests a thousand seconds
# each, or 0; PACE, max_kib_s; WARMUP, then twice WINDOW seconds: without the tracer, and with it.
# What comes back: memory, KiB; held, as fbheld.c has it; threads: what the disks' threads have run in
# the window without the tracer, ns; seconds; read: sectors that were read free meanwhile.
#
# lab: kernel=stock clock=icount smp=1 mem=3072

. /lab/lib.sh

# attach NAME N: drives NAME1 to NAMEN
attach()
{
	local i

	disks=
	for i in $(seq "$2"); do
		disks="$disks $(drive_new "$1$i" "$DRIVE.fbdrive" "serial $1$i")" || exit 1
	done
}

# serve US: each has the scheduler, its model, and a scan that may cost that on the mean
serve()
{
	for disk in $disks; do
		sched_set "$disk" freeblock
		model_load "$disk" "${DRIVE%-wc}.fbmodel"
		echo "$1" > "$(fb "$disk")/idle_mean_us"
		echo start > "$(fb "$disk")/scan" || die "no scan"
	done
}

# detach NAME
detach()
{
	local i=0

	for disk in $disks; do
		i=$((i + 1))
		scan_stop "$disk"
		sched_set "$disk" none
		drive_off "$1$i"
	done
}

# run_ns: what the disks' threads have run
run_ns()
{
	cat $(grep -l "^freeblock/" /proc/[0-9]*/comm | sed 's/comm$/schedstat/') |
		awk '{ ns += $1 } END { printf "%.0f\n", ns }'
}

sectors()
{
	for disk in $disks; do
		number "$disk" stats/free_sectors
	done | awk '{ n += $1 } END { printf "%.0f\n", n }'
}

available_kib()
{
	sync
	echo 3 > /proc/sys/vm/drop_caches
	awk '$1 == "MemAvailable:" { print $2 }' /proc/meminfo
}

# load NR DISK
load()
{
	/lab/files/load random "/dev/$2" depth=1024 rate="$RATE" reads=67 warmup="$WARMUP" \
		seconds=$((2 * WINDOW + 2)) seed="$1" > /dev/null
}

memory()
{
	attach all "$ATTACHED"
	before=$(available_kib)
	load_module freeblock
	# nothing is read, nor entered, which takes long: what is held for it is the question
	serve 0
	echo $((before - $(available_kib))) > /out/memory
	detach all
	expect_ok "unload" unload_module freeblock
}

cpu()
{
	local nr=0

	load_module freeblock
	attach used "$DISKS"
	serve 1000
	for disk in $disks; do
		nr=$((nr + 1))
		echo "$PACE" > "$(fb "$disk")/max_kib_s"
		load $nr "$disk" &
	done
	sleep "$WARMUP"
	before=$(run_ns)
	read=$(sectors)
	sleep "$WINDOW"
	echo $(($(run_ns) - before)) > /out/threads
	echo $(($(sectors) - read)) > /out/read
	# shellcheck disable=SC2046 # words are meant
	load_module fbheld \
		$(awk '$1 == "freeblock" { print "size=" $2, "base=" $6 }' /proc/modules)
	echo > /sys/kernel/debug/fbheld
	sleep "$WINDOW"
	cat /sys/kernel/debug/fbheld > /out/held
	unload_module fbheld
	echo "$WINDOW" > /out/seconds
	expect_ok "loads" wait
	detach used
	expect_ok "unload" unload_module freeblock
}

load_module mechdisk
[ "$ATTACHED" = 0 ] || memory
[ "$DISKS" = 0 ] || cpu
done_testing
