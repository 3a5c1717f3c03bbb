# SPDX-License-Identifier: GPL-2.0
# libfreeblock and background.py with the module: the documented examples in C and in Python
# copy a disk and a partition that begins and ends within blocks. They are killed, and the other
# goes on with the file of coverage.
#
# Expected: the copies are the disk's bytes; a copy that goes on gets those blocks only that the
# killed one had not noted (the medium is read a little more: a read spans short holes); another
# disk's file of coverage is refused, and nothing is read; nothing of a killed program is left in
# the module.
#
# lab-compile: libfreeblock.rst
# lab-script: libfreeblock.rst
# lab-python: freeblock.background
# lab: kernel=stock clock=icount smp=1 timeout=300

. /lab/lib.sh

load_module mechdisk
load_module freeblock

# drive NAME: a drive under freeblock with a model, whose idle time may be used; sets $disk
drive()
{
	disk=$(drive_new "$1" tiny.fbdrive "serial MD$1") || exit 1
	sched_set "$disk" freeblock || die "no freeblock"
	iosched "$disk" target_slowdown_ppm 1000000
	echo 1000 > "$(fb "$disk")/idle_wait_us"
	echo 10000000 > "$(fb "$disk")/idle_mean_us"
	echo 60000000 > "$(fb "$disk")/idle_max_us"
	model_load "$disk" tiny.fbmodel
}

in_c()
{
	libfreeblock "$@"
}

in_python()
{
	PYTHONPATH=/bin/cli python3 /bin/libfreeblock.py "$@"
}

no_tasks()
{
	[ "$(cat "$(fb "$disk")/tasks")" = 0 ]
}

# killed LANGUAGE BLOCKDEV IMAGE COVERAGE: dies when it has noted something
killed()
{
	local language="$1"

	shift
	rm -f "$2" "$3"
	case $language in
	in_c)	libfreeblock "$@" & ;;
	*)	PYTHONPATH=/bin/cli python3 /bin/libfreeblock.py "$@" & ;;
	esac
	pid=$!
	wait_for 60 [ -s "$3" ] || die "no coverage"
	kill -9 $pid
	wait $pid
}

# sectors of blocks that tasks of $disk wanted, and were read
wanted_read()
{
	stats "$disk" free_sectors
}

# which bits of a file of coverage are set
covered()
{
	tail -c +185 "$1" | head -c -4 | od -An -v -tu1 | awk '
		{ for (i = 1; i <= NF; i++) for (n = $i; n; n = int(n / 2)) sum += n % 2 }
		END { print sum + 0 }'
}

drive o
other=$disk
drive a
sectors=$(cat /sys/block/"$disk"/size)
expect_ok "a partition" addpart /dev/"$disk" 1 1003 16006
P=${disk}1
wait_for 10 [ -b /dev/"$P" ] || die "no $P"

for language in in_c in_python; do
	for device in "$disk" "$P"; do
		expect_ok "$language copies $device" $language /dev/"$device" /tmp/image /tmp/coverage
		expect_ok "its bytes" cmp /dev/"$device" /tmp/image
		rm -f /tmp/image /tmp/coverage
	done
done

for pair in "in_c in_python" "in_python in_c"; do
	set -- $pair
	killed "$1" /dev/"$disk" /tmp/image /tmp/coverage
	expect_ok "$1 killed: nothing is left" wait_for 10 no_tasks
	noted=$(($(covered /tmp/coverage) * 8))
	expect_ge "noted sectors" "$noted" 64
	expect_fail "there is something to do" cmp /dev/"$disk" /tmp/image
	echo 3 > /proc/sys/vm/drop_caches
	medium=$(drive_stat a sectors_read)
	before=$(wanted_read)
	expect_ok "$2 goes on" $2 /dev/"$disk" /tmp/image /tmp/coverage
	read=$(($(wanted_read) - before))
	medium=$(($(drive_stat a sectors_read) - medium))
	note "$sectors sectors, $noted noted by $1, $read read by $2, $medium of the medium"
	# the last block of the disk is counted as a whole one
	expect_eq "reads what is missing" "$read" $(((sectors + 7) / 8 * 8 - noted))
	expect_le "and not all of the medium" "$medium" $((sectors - 1))
	expect_ok "its bytes" cmp /dev/"$disk" /tmp/image
done

for language in in_c in_python; do
	before=$(drive_stat o sectors_read)
	$language /dev/"$other" /tmp/image2 /tmp/coverage > /tmp/said 2>&1
	expect_eq "$language: another disk's coverage" "$?" 1
	expect_match "and why" "$(cat /tmp/said)" "of another disk"
	expect_eq "nothing is read" "$(drive_stat o sectors_read)" "$before"
	head -c 500 /tmp/coverage > /tmp/torn
	$language /dev/"$disk" /tmp/image2 /tmp/torn > /tmp/said 2>&1
	expect_eq "$language: torn coverage" "$?" 1
	expect_match "and why" "$(cat /tmp/said)" "cut short|damaged"
	$language /dev/null /tmp/image2 /tmp/none > /tmp/said 2>&1
	expect_match "$language: no disk, in the kernel's words" "$(tail -n 1 /tmp/said)" \
		"/dev/null: fd [0-9]+ is not of a block device\$"
done
expect_ok "nothing is left" no_tasks

sched_set "$disk" none
sched_set "$other" none
expect_within "unloads" 30 unload_module freeblock
drive_off a
drive_off o
expect_within "mechdisk unloads" 30 unload_module mechdisk
done_testing
