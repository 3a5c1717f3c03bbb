# SPDX-License-Identifier: GPL-2.0
# The guest's part of make bench-peers: cells of the comparison, one after the
# other, each on a drive of its own that has just been switched on.
# bench/peers.py writes the list of cells and makes sense of what is left
# in /out/ID: what the loads said, their latencies, counters when the window began
# and ended. Documentation/peers.rst says what is measured.
#
# Files beside it: load (tests/lab/load.c, compiled) and cells.

. /lab/lib.sh
. /lab/cells.sh

nr=0

# Sums of function_graph's lines, each outermost call of a function of ours with
# its time: "NAME CALLS NANOSECONDS"
trace_sums()
{
	sed 's/ \[[a-z_]*\]//' "$1" | awk '
		match($0, /[0-9.]+ us +\|/) {
			us = substr($0, RSTART, RLENGTH) + 0
			name = substr($0, RSTART + RLENGTH)
			gsub(/[^a-zA-Z0-9_.]/, "", name)
			calls[name]++
			sum[name] += us
		}
		END { for (name in sum) printf "%s %d %.0f\n", name, calls[name], sum[name] * 1000 }'
}

# Its options exist only while it is the tracer. Waiting is not CPU time.
graph()
{
	local option

	echo function_graph > current_tracer
	for option in nosleep-time nofuncgraph-irqs funcgraph-tail; do
		echo $option > trace_options
	done
}

# what the tracer shows for a function that does nothing: of each call so much is its own
trace_nothing()
{
	echo write_null > set_ftrace_filter
	graph
	echo 1 > tracing_on
	dd if=/dev/zero of=/dev/null bs=1 count=20000 status=none
	echo 0 > tracing_on
	trace_sums trace
}

# trace NAMES: the time spent in functions of drive and scheduler, before the window,
# which is to be free of the tracer's own time. First all of them are traced, to find
# those that others call: tracing the inner ones would slow them down.
trace()
{
	local dir=/sys/kernel/debug/tracing pattern

	# shellcheck disable=SC2015
	cd $dir && echo nop > current_tracer || die "no tracer"
	echo 16384 > buffer_size_kb
	echo 1 > max_graph_depth
	echo > set_ftrace_filter
	for pattern in $1; do
		echo "$pattern" >> set_ftrace_filter
	done
	sleep_until $((start + 1))
	graph
	sleep 2
	echo 0 > tracing_on
	trace_sums trace | cut -d' ' -f1 > /tmp/names
	echo nop > current_tracer
	cat /tmp/names > set_ftrace_filter
	graph
	echo 1 > tracing_on
	sleep 8
	echo 0 > tracing_on
	cat per_cpu/cpu0/stats > "$out/trace.stats"
	trace_sums trace > "$out/trace.sums"
	echo nop > current_tracer
	trace_nothing > "$out/trace.nothing"
	echo nop > current_tracer
	echo > set_ftrace_filter
	echo 1 > tracing_on
	cd /root || exit
	echo 1 > "/sys/kernel/mechdisk/$d/stats_reset"
	expect_le "$id: the trace is read before the window" \
		"$(cut -d' ' -f1 /proc/uptime)" $((start + warmup))
}

# begin_task scan|scrub [PER_MILLE [ORDER]]: from there on the disk to its end
begin_task()
{
	local kind="$1" pm="${2:-0}" order="$3" sectors granule first

	sectors=$(cat "/sys/block/$disk/size")
	granule=$(($(cat "$(fb "$disk")/granule_bytes") / 512))
	first=$((sectors / 1000 * pm / granule * granule))
	expect_ok "$id: $kind" sh -c \
		"echo start $first $((sectors - first)) $order > $(fb "$disk")/$kind"
}

run_loads()
{
	start=$(($(uptime_s) + 2))
	loads=
	begin_loads "$(snaps)"
	# shellcheck disable=SC2086 # words are meant
	case $bg in
	none) ;;
	scan*|scrub*) begin_task $bg ;;
	*) begin_load bg $bg ;;
	esac
	[ -n "$trace" ] && trace "$trace"
	wait_loads
}

# cell KEY=VALUE...: the keys are the variables below
cell()
{
	local id drive model extra sched attrs queue_depth nr_requests fg bg trace word
	local warmup seconds seed out disk d loads start

	for word in "$@"; do
		local "$word"
	done
	nr=$((nr + 1))
	d=d$nr
	out=/out/$id
	mkdir -p "$out"
	disk=$(drive_new $d "$drive" "$extra") || exit 1
	[ "$sched" = freeblock ] && load_module freeblock
	tune
	run_loads
	cat "/sys/kernel/mechdisk/$d/stats" > "$out/drive"
	if [ "$sched" = freeblock ]; then
		numbers "$disk" state stats > "$out/status"
		case $bg in
		scan*) scan_stop "$disk" ;;
		scrub*) expect_ok "$id: scrub stops" sh -c "echo stop > $(fb "$disk")/scrub" ;;
		esac
		cat "$(fb "$disk")/granule_bytes" > "$out/granule_bytes"
	fi
	sched_set "$disk" none
	drive_off $d
	# What it has learned of the drive, which knows it again, ends with it
	[ "$sched" = freeblock ] && expect_ok "$id: unload" unload_module freeblock
	echo "@cell $id"
}

load_module mechdisk
for module in bfq kyber-iosched; do
	load_module $module
done
. /lab/files/cells
done_testing
