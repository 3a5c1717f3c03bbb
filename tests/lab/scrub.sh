# SPDX-License-Identifier: GPL-2.0
# The guest's part of make bench-scrub: cells, one after the other, each on a drive of its
# own that has just been switched on. bench/scrubbench.py writes the list of
# cells and makes sense of what is left in /out/ID: what the loads and the scrubber said,
# their latencies, counters when the window began and ended, bad sectors planted and
# found. Documentation/scrub-bench.rst says what is measured.
#
# Files beside it: load (tests/lab/load.c, compiled), scrubload, scrub-fb.sh, cells, traces.

. /lab/lib.sh
. /lab/cells.sh
. /lab/files/scrub-fb.sh

SCRUB=/lab/files/scrubload
nr=0

# begin_scrubber NAME KIND PATH KEY=VALUE...
begin_scrubber()
{
	local name="$1" kind="$2" path="$3"

	shift 3
	$SCRUB "$kind" "$path" start=$start warmup=$warmup seconds=$seconds \
		out="$out/found" "$@" > "$out/$name.said" 2> "$out/$name.err" &
	loads="$loads $name:$!"
}

begin_background()
{
	local words

	words=${bg#* }
	# shellcheck disable=SC2086 # words are meant
	case $bg in
	none) ;;
	read\ *|verify\ *) begin_scrubber bg "${bg%% *}" "/dev/$disk" $words ;;
	*) begin_tasks $bg ;;
	esac
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

measure()
{
	start=$(($(uptime_s) + 2))
	loads=
	begin_loads "$(snaps) $(more_snaps)"
	begin_background
	if [ -n "$bursts" ]; then
		plant &
		loads="$loads plant:$!"
		[ "$sched" = freeblock ] && begin_scrubber watch watch "$(debug "$disk")/bad_blocks"
	fi
	wait_loads
}

# cell KEY=VALUE...: the keys are the variables below
cell()
{
	local id drive model extra sched attrs queue_depth nr_requests fbset fg bg word
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
	ok "$id"
	echo "@cell $id"
}

load_module mechdisk
load_module bfq
. /lab/files/cells
done_testing
