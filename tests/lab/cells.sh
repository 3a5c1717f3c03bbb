# SPDX-License-Identifier: GPL-2.0
# The guest's part of make bench-peers and make bench-scrub: cells, one after the other, each on a
# drive of its own that has just been switched on. bench/labcells.py writes the list of cells, and
# bench/peersum.py makes sense of what is left in /out/ID: what the loads and the scrubber said, their
# latencies, counters when the window began and ended, bad sectors planted and found.
#
# Files beside it: load (tests/lab/load.c, compiled) and cells.

. /lab/lib.sh

LOAD=/lab/files/load
nr=0

# begin_load NAME KIND KEY=VALUE...: a load of load.c beside the others; its process is
# added to $loads
begin_load()
{
	local name="$1" kind="$2" path="/dev/$disk" to="$out/$1.lat"

	shift 2
	case $kind in
	read|verify)	to=$out/found ;;
	watch)		to=$out/found path=$(debug "$disk")/bad_blocks ;;
	esac
	$LOAD "$kind" "$path" start=$start warmup=$warmup seconds=$seconds seed=$seed \
		out="$to" "$@" > "$out/$name.said" 2> "$out/$name.err" &
	loads="$loads $name:$!"
}

# begin_loads SNAPS: all of $fg, which are separated by ";"; the first takes the snapshots
begin_loads()
{
	local load i=0 rest="$fg" words="$1"

	# shellcheck disable=SC2086 # words are meant
	while [ -n "$rest" ]; do
		load=${rest%%;*}
		rest=${rest#"$load"}
		rest=${rest#;}
		begin_load fg$i $load $words
		words=
		i=$((i + 1))
	done
}

wait_loads()
{
	local item

	for item in $loads; do
		if wait "${item#*:}"; then
			ok "$id: ${item%:*}"
		else
			not_ok "$id: ${item%:*}" "$(cat "$out/${item%:*}.err")"
		fi
	done
}

# The files whose change over the window counts
snaps()
{
	echo "snaps=$out/snap snap=/proc/timer_list snap=/sys/block/$disk/stat" \
		"snap=/sys/kernel/mechdisk/$d/stats"
	[ "$sched" = freeblock ] && echo "snap=$(debug "$disk")/numbers"
}

tune()
{
	local word

	expect_ok "$id: scheduler $sched" sched_set "$disk" "$sched"
	[ "$sched" = freeblock ] && [ -n "$model" ] && model_load "$disk" "$model"
	for word in $attrs; do
		expect_ok "$id: $word" iosched "$disk" "${word%%=*}" "${word#*=}"
	done
	[ -n "$queue_depth" ] &&
		expect_ok "$id: queue_depth" sh -c \
			"echo $queue_depth > /sys/block/$disk/device/queue_depth"
	[ -n "$nr_requests" ] && [ "$sched" != none ] &&
		expect_ok "$id: nr_requests" sh -c \
			"echo $nr_requests > /sys/block/$disk/queue/nr_requests"
}

uptime_s()
{
	cut -d. -f1 /proc/uptime
}

sleep_until()
{
	local left=$(($1 - $(uptime_s)))

	[ $left -le 0 ] || sleep $left
}

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

command_of_disk()
{
	local file="$1"

	shift
	expect_ok "$id: $file $*" sh -c "echo '$*' > $(fb "$disk")/$file"
}

# repeat FILE WORDS: start a task anew whenever it has come to its end
repeat()
{
	local file="$1"

	shift
	while [ "$(uptime_s)" -lt $((start + warmup + seconds)) ]; do
		sleep 1
		[ "$(job "$disk" "$file")" = finished ] || continue
		echo "start $*" > "$(fb "$disk")/$file" || return 1
	done
}

# from_per_mille PM: the range from there on to the end of the disk
from_per_mille()
{
	local sectors granule first

	sectors=$(cat "/sys/block/$disk/size")
	granule=$(($(cat "$(fb "$disk")/granule_bytes") / 512))
	first=$((sectors / 1000 * $1 / granule * granule))
	echo "$first $((sectors - first))"
}

# begin_tasks scan|scrub|both [PER_MILLE [ORDER] | WORDS]: what freeblock reads in the background,
# of all or of the range in WORDS; both: a scan and a scrub of the same blocks
begin_tasks()
{
	local kind="$1" pm

	shift
	case "$1,$2" in
	[0-9]*,[0-9]*) ;;
	[0-9]*)
		pm=$1
		shift
		# shellcheck disable=SC2046 # words are meant
		set -- $(from_per_mille "$pm") "$@"
		;;
	esac
	case $kind in
	both) command_of_disk scan start "$@"; command_of_disk scrub start "$@" ;;
	*) command_of_disk "$kind" start "$@" ;;
	esac
	# Bursts are looked for in a range, pass after pass
	if [ -n "$bursts" ]; then
		repeat "$kind" "$@" 2> "$out/repeat.err" &
		loads="$loads repeat:$!"
	fi
}

# plant: "SECOND LBN COUNT,LBN COUNT...;..." of $bursts, in order of time; seconds count
# from the start
plant()
{
	local rest="$bursts" burst range

	while [ -n "$rest" ]; do
		burst=${rest%%;*}
		rest=${rest#"$burst"}
		rest=${rest#;}
		sleep_until $((start + ${burst%% *}))
		burst=${burst#* }
		while [ -n "$burst" ]; do
			range=${burst%%,*}
			burst=${burst#"$range"}
			burst=${burst#,}
			echo "add $range $errors" > "/sys/kernel/mechdisk/$d/medium_errors" || {
				echo "refused: $range" > "$out/plant.err"
				return 1
			}
		done
	done
}

settings_of_disk()
{
	local word

	for word in $fbset; do
		expect_ok "$id: $word" sh -c "echo '${word#*=}' > $(fb "$disk")/${word%%=*}"
	done
}

# What freeblock says when all is over; the tasks must be over before the drive goes
keep_freeblock()
{
	local name

	numbers "$disk" state stats > "$out/status"
	cat "$(fb "$disk")/granule_bytes" > "$out/granule_bytes"
	for name in numbers tasks bad_blocks; do
		cat "$(debug "$disk")/$name" > "$out/$name"
	done
	[ -e "$(fb "$disk")/scrub" ] && echo stop > "$(fb "$disk")/scrub" 2>/dev/null
	scan_stop "$disk"
}

begin_background()
{
	# shellcheck disable=SC2086 # words are meant
	case $bg in
	none) ;;
	scan*|scrub*|both*) begin_tasks $bg ;;
	*) begin_load bg $bg ;;
	esac
	[ -n "$bursts" ] || return
	plant &
	loads="$loads plant:$!"
	[ "$sched" != freeblock ] || begin_load watch watch
}

measure()
{
	start=$(($(uptime_s) + 2))
	loads=
	begin_loads "$(snaps)"
	begin_background
	[ -z "$trace" ] || trace "$trace"
	wait_loads
}

# cell KEY=VALUE...: the keys are the variables below
cell()
{
	local id drive model extra sched attrs queue_depth nr_requests fbset fg bg trace word
	local warmup seconds seed bursts errors out disk d loads start

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
	settings_of_disk
	measure
	cat "/sys/kernel/mechdisk/$d/stats" > "$out/drive"
	[ "$sched" = freeblock ] && keep_freeblock
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
