# SPDX-License-Identifier: GPL-2.0
# The guest's part of make bench-scrub: cells, one after the other, each on a drive of its
# own that has just been switched on. tools/fbtools/scrubbench.py writes the list of
# cells and makes sense of what is left in /out/ID: what the loads and the scrubber said,
# their latencies, counters when the window began and ended, bad sectors planted and
# found. Documentation/scrub-bench.rst says what is measured.
#
# Files beside it: load (tests/lab/load.c, compiled), scrubload, cells, traces.

. /lab/lib.sh
. /lab/cells.sh

SCRUB=/lab/files/scrubload
nr=0

# What this cell needs and this module does not have, in words; nothing if all is there
lacking()
{
	local name

	for name in $needs; do
		[ -e "$(fb "$disk")/$name" ] ||
			echo "no /sys/kernel/freeblock/DISK/$name in this module"
	done
}

# begin_scrubber NAME KIND PATH KEY=VALUE...
begin_scrubber()
{
	local name="$1" kind="$2" path="$3"

	shift 3
	$SCRUB "$kind" "$path" start=$start warmup=$warmup seconds=$seconds \
		out="$out/found" "$@" > "$out/$name.said" 2> "$out/$name.err" &
	loads="$loads $name:$!"
}

command_of_disk()
{
	expect_ok "$id: $2" sh -c "echo '$2' > $(fb "$disk")/$1"
}

begin_background()
{
	local words

	words=${bg#* }
	# shellcheck disable=SC2086 # words are meant
	case $bg in
	none) ;;
	read\ *|verify\ *) begin_scrubber bg "${bg%% *}" "/dev/$disk" $words ;;
	both) command_of_disk scan start; command_of_disk scrub start ;;
	scan|scrub) command_of_disk "$bg" start ;;
	*) command_of_disk "${bg%% *}" "start $words" ;;
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

# The file that lists what freeblock has found bad
watched()
{
	if [ -e "$(fb "$disk")/bad_blocks" ]; then
		echo "$(fb "$disk")/bad_blocks"
	else
		echo "$(fb "$disk")/scan"
	fi
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
		[ "$sched" = freeblock ] && begin_scrubber watch watch "$(watched)"
	fi
	wait_loads
}

# Files of freeblock's that say how far tasks are
more_snaps()
{
	local name

	[ "$sched" = freeblock ] || return
	for name in scrub tasks idle_status; do
		[ -e "$(fb "$disk")/$name" ] && echo "snap=$(fb "$disk")/$name"
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

	cat "/sys/block/$disk/queue/iosched/status" > "$out/status"
	cat "$(fb "$disk")/granule_bytes" > "$out/granule_bytes"
	for name in scan scrub tasks idle_status bad_blocks; do
		[ -e "$(fb "$disk")/$name" ] && cat "$(fb "$disk")/$name" > "$out/$name"
	done
	[ -e "$(fb "$disk")/scrub" ] && echo stop > "$(fb "$disk")/scrub" 2>/dev/null
	scan_stop "$disk"
}

# cell KEY=VALUE...: the keys are the variables below
cell()
{
	local id drive model extra sched attrs queue_depth nr_requests fbset needs fg bg word
	local warmup seconds seed bursts errors out disk d loads start lacks

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
	lacks=$(lacking)
	if [ -n "$lacks" ]; then
		echo "$lacks" > "$out/lacking"
	else
		settings_of_disk
		measure
		cat "/sys/kernel/mechdisk/$d/stats" > "$out/drive"
		[ "$sched" = freeblock ] && keep_freeblock
	fi
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
