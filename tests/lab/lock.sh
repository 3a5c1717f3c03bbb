# SPDX-License-Identifier: GPL-2.0
# The guest's part of `tools/freeblock-bench bench --figure lock`: how long freeblock
# holds its lock, interrupts off, and what its own functions take of a CPU, beside a
# scan and a closed loop that keeps requests pending.
#
# Variables: CELLS: words DRIVE:PENDING; WARMUP, then twice WINDOW seconds:
# without the tracer, and with it.
# What comes back, in /out/DRIVE-PENDING: held, as fbheld.c has it; threads: what the disk's
# thread has run in the window without the tracer, ns; seconds; numbers, when it began.

. /lab/lib.sh

# run_ns: what the disk's thread has run
run_ns()
{
	cut -d' ' -f1 "/proc/$thread/schedstat"
}

# measure DRIVE PENDING: the drive takes two more
measure()
{
	local out="/out/$1-$2" d="d$nr" before load

	mkdir -p "$out"
	disk=$(drive_new "$d" "$1.fbdrive" '') || exit 1
	sched_set "$disk" freeblock
	model_load "$disk" "${1%-wc}.fbmodel"
	expect_ok "$1: nr_requests" sh -c "echo 512 > /sys/block/$disk/queue/nr_requests"
	echo start > "$(fb "$disk")/scan" || die "no scan"
	/lab/files/load random "/dev/$disk" depth=$(($2 + 2)) reads=67 warmup="$WARMUP" \
		seconds=$((2 * WINDOW + 2)) > "$out/load" &
	load=$!
	thread=$(grep -lx "freeblock/$disk" /proc/[0-9]*/comm | cut -d/ -f3)
	[ -n "$thread" ] || die "no thread"
	sleep "$WARMUP"
	cat "$(debug "$disk")/numbers" > "$out/numbers"
	before=$(run_ns)
	sleep "$WINDOW"
	echo $(($(run_ns) - before)) > "$out/threads"
	# shellcheck disable=SC2046 # words are meant
	load_module fbheld $(awk '$1 == "freeblock" { print "size=" $2, "base=" $6 }' /proc/modules)
	echo > /sys/kernel/debug/fbheld
	sleep "$WINDOW"
	cat /sys/kernel/debug/fbheld > "$out/held"
	unload_module fbheld
	echo "$WINDOW" > "$out/seconds"
	if wait $load; then ok "$1, $2 pending: load"; else not_ok "$1, $2 pending: load"; fi
	scan_stop "$disk"
	sched_set "$disk" none
	drive_off "$d"
	expect_ok "$1, $2 pending: unload" unload_module freeblock
}

load_module mechdisk
nr=0
for cell in $CELLS; do
	nr=$((nr + 1))
	load_module freeblock
	measure "${cell%:*}" "${cell#*:}"
done
done_testing
