# SPDX-License-Identifier: GPL-2.0
# What only freeblock's cells of scrub.sh need: a change of this repeats no others.
# Variables of a cell: see scrub.sh.

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

# begin_tasks scan|scrub|both [WORDS]: what freeblock reads in the background; both: a scan
# and a scrub of the same blocks
begin_tasks()
{
	local kind="$1"

	shift
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

# Files of freeblock's that say how far tasks are
more_snaps()
{
	local name

	[ "$sched" = freeblock ] || return
	for name in numbers tasks; do
		echo "snap=$(debug "$disk")/$name"
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

	cat "$(fb "$disk")/granule_bytes" > "$out/granule_bytes"
	for name in numbers tasks bad_blocks; do
		cat "$(debug "$disk")/$name" > "$out/$name"
	done
	[ -e "$(fb "$disk")/scrub" ] && echo stop > "$(fb "$disk")/scrub" 2>/dev/null
	scan_stop "$disk"
}

