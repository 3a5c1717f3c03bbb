# SPDX-License-Identifier: GPL-2.0
# lib.sh - what guest scripts share; start a script with ". /lab/lib.sh"
#
# Checks print TAP lines, which the host counts. End every script with
# done_testing: a script without it has died early and fails.
#
#	ok NAME			not_ok NAME REASON	skip NAME REASON
#	expect_eq NAME GOT WANT			expect_ne NAME GOT OTHER
#	expect_le NAME GOT MOST			expect_ge NAME GOT LEAST
#	expect_mean NAME LEAST MOST VALUE...	of several draws; all of them are noted
#	mean_of VALUE...			prints it
#	promise NAME GOT le|ge BOUND [MISSED]	of the documents; MISSED: by how much, and why
#	expect_match NAME TEXT REGEX		expect_no_match NAME TEXT REGEX
#	expect_ok NAME COMMAND...		expect_fail NAME COMMAND...
#	expect_within NAME SECONDS COMMAND...	note TEXT	done_testing
#	calls PROGRAM WHAT [ARGUMENT]...	its lines "NAME|GOT|WANT" are as they should be
#
# Modules, drives, disks (disks are named as in /sys/block):
#
#	load_module NAME [PARAMETERS]		unload_module NAME
#	load_drivers				of the controllers in a line "# lab-devices:"
#	install_freeblock			modprobe finds it, as where packages are installed,
#						and so does the kernel, by its alias
#	drive_new NAME FILE.fbdrive [LINES]	prints the disk's name
#	drive_off NAME				drive_stat NAME KEY
#	drives_without_id VENDOR PRODUCT	such ones have no unique id from now on
#	model_load DISK FILE.fbmodel		sched_set DISK SCHEDULER, and wait for the
#						directory, which the module makes soon after
#	sched_get DISK				iosched DISK KEY [VALUE]
#	fb DISK					the disk's /sys/kernel/freeblock directory,
#						a file for each value
#	number DISK NAME			a value of debugfs' numbers
#	number_above DISK NAME N		it is more than N
#	numbers DISK GROUP...			those of groups (state, stats), "key value" lines
#	state DISK KEY				what holds now, number DISK state/KEY
#	stats DISK KEY				a counter, number DISK stats/KEY
#	job DISK scan|scrub			idle, running, ...
#	job DISK scan|scrub KEY			of scan_stats/, scrub_stats/
#	scan_stop DISK
#	debug DISK				the disk's debugfs directory: tables of one moment,
#						status, idle_status, scan, scrub, tasks, bad_blocks;
#						for counters that are compared, and for notes
#	kv FILE KEY				the value of a "key value" line, as these have
#	wait_for SECONDS COMMAND...		until the command succeeds
#	consumer_start DISK DRIVE [RANGE]...	module fbconsumer wants all, or ranges
#	consumer_over				has it got all, or stopped?
#	consumer_stop				consumer KEY	of its state
#	consumer_keep DISK DRIVE		it goes; the host judges every block that it got
#	(several in one script: set verify_folder=/out/verify-NAME before each start)
#
# fio: results as JSON in /out/NAME.json and terse in /tmp/NAME.terse
#
#	fio_run NAME ARGUMENTS...		fio_errors NAME
#	fio_iops NAME [read|write]		fio_ios NAME [read|write]
#
# Files given to the lab (--file, drives, models) are in /lab/files, where
# FILE arguments without a slash are looked up. What lands in /out comes back.

tap_count=0
tap_failed=0
# die() must be heard from within $(...) too
exec 3>&1

note()
{
	echo "# $*"
}

ok()
{
	tap_count=$((tap_count + 1))
	echo "ok $1"
}

not_ok()
{
	local name="$1"

	shift
	tap_count=$((tap_count + 1))
	tap_failed=$((tap_failed + 1))
	echo "not ok $name - $*" | tr '\n' ' '
	echo
	return 0
}

skip()
{
	local name="$1"

	shift
	tap_count=$((tap_count + 1))
	echo "ok $name # SKIP $*"
}

done_testing()
{
	echo "1..$tap_count"
	[ $tap_failed = 0 ]
	exit
}

die()
{
	echo "not ok $0 - died: $*" >&3
	exit 99
}

# Compare as numbers, which may have decimals. An empty or malformed value
# compares as nothing at all.
number_is()
{
	echo "$1 $2 $3" | awk '
		$1 !~ /^-?[0-9.]+$/ || $3 !~ /^-?[0-9.]+$/ || NF != 3 { exit 1 }
		$2 == "le" { exit !($1 + 0 <= $3 + 0) }
		$2 == "ge" { exit !($1 + 0 >= $3 + 0) }
		{ exit 1 }'
}

expect_eq()
{
	if [ "$2" = "$3" ]; then ok "$1"; else not_ok "$1" "got '$2', want '$3'"; fi
}

expect_ne()
{
	if [ "$2" != "$3" ]; then ok "$1"; else not_ok "$1" "got '$2', want another"; fi
}

expect_le()
{
	if number_is "$2" le "$3"; then
		ok "$1 ($2 <= $3)"
	else
		not_ok "$1" "got '$2', want at most $3"
	fi
}

expect_ge()
{
	if number_is "$2" ge "$3"; then
		ok "$1 ($2 >= $3)"
	else
		not_ok "$1" "got '$2', want at least $3"
	fi
}

# nothing, if one of them is no number
mean_of()
{
	echo "$*" | awk '{
		for (i = 1; i <= NF; i++) {
			if ($i !~ /^-?[0-9.]+$/)
				bad = 1
			s += $i
		} }
		END { if (NF && !bad) printf "%.1f", s / NF }'
}

# A figure that varies from draw to draw is judged by its mean, on both sides: one draw
# says too little, and one that is much better than it was is a mistake somewhere, too.
expect_mean()
{
	local name="$1" least="$2" most="$3" mean

	shift 3
	note "$name: $*"
	mean=$(mean_of "$@")
	if number_is "$mean" ge "$least" && number_is "$mean" le "$most"; then
		ok "$name ($least <= $mean <= $most)"
	else
		not_ok "$name" "mean '$mean' of $*, want $least to $most"
	fi
}

# A promise to users is not loosened so that it passes: one that is known to be missed is said
# to be so here and in the documents, and is listed at the end of all tests.
promise()
{
	if number_is "$2" "$3" "$4"; then
		ok "promise: $1 ($2 $3 $4)"
	elif [ -n "$5" ]; then
		tap_count=$((tap_count + 1))
		echo "not ok promise: $1 - got '$2', not $3 $4 # MISSED $5"
	else
		not_ok "promise: $1" "got '$2', not $3 $4"
	fi
}

expect_match()
{
	if echo "$2" | grep -Eq -e "$3"; then
		ok "$1"
	else
		not_ok "$1" "'$2' does not match '$3'"
	fi
}

expect_no_match()
{
	if echo "$2" | grep -Eq -e "$3"; then
		not_ok "$1" "'$2' matches '$3'"
	else
		ok "$1"
	fi
}

expect_ok()
{
	local name="$1" said

	shift
	if said=$("$@" 2>&1); then ok "$name"; else not_ok "$name" "$* failed: $said"; fi
}

expect_fail()
{
	local name="$1" said

	shift
	if said=$("$@" 2>&1); then not_ok "$name" "$* succeeded"; else ok "$name"; fi
}

# A command that hangs in the kernel cannot be killed: it is left behind and
# the script goes on, to fail with a reason.
expect_within()
{
	local name="$1" seconds="$2" pid left

	shift 2
	( "$@" >/tmp/within.out 2>&1; echo $? > /tmp/within.rc ) &
	pid=$!
	left=$((seconds * 20))
	while [ -d /proc/$pid ] && [ $left -gt 0 ]; do
		# A zombie has ended
		grep -q '^State:.Z' /proc/$pid/status 2>/dev/null && break
		sleep 0.05
		left=$((left - 1))
	done
	if [ $left = 0 ]; then
		not_ok "$name" "$* did not end within $seconds s"
	elif wait $pid; [ "$(cat /tmp/within.rc)" = 0 ]; then
		ok "$name"
	else
		not_ok "$name" "$* failed: $(cat /tmp/within.out)"
	fi
	rm -f /tmp/within.rc
}

wait_for()
{
	local left=$(($1 * 20))

	shift
	while ! "$@" >/dev/null 2>&1; do
		[ $left -gt 0 ] || return 1
		sleep 0.05
		left=$((left - 1))
	done
}

kv()
{
	sed -n "s,^$2[ :=	]*,,p" "$1" 2>/dev/null | head -n 1
}

lab_file()
{
	case $1 in
	*/*) echo "$1" ;;
	*) echo "/lab/files/$1" ;;
	esac
}

# /etc and /var/lib are there, too, as on every machine
install_freeblock()
{
	mkdir -p "/lib/modules/$(uname -r)/updates" /etc /var/lib
	cp /lab/modules/freeblock.ko "/lib/modules/$(uname -r)/updates"
	echo "updates/freeblock.ko:" >> "/lib/modules/$(uname -r)/modules.dep"
	tr '\0' '\n' < /lab/modules/freeblock.ko | sed -n 's/^alias=\(.*\)/alias \1 freeblock/p' \
		>> "/lib/modules/$(uname -r)/modules.alias"
	modprobe -q libcrc32c
}

# The trial (Documentation/cost.rst) is off in all scripts that do not load freeblock with trial=1:
# what they count would be less by its stretches without free reads.
load_module()
{
	local name="$1" file="/lab/modules/$1.ko"

	shift
	[ "$name" != freeblock ] || set -- trial=0 "$@"
	if [ -e "$file" ]; then
		# What our modules need of the kernel's own
		case $name in
		mechdisk|freeblock) modprobe -q scsi_mod; modprobe -q sd_mod
			modprobe -q sg; modprobe -q libcrc32c ;;
		mechata) [ -d /sys/module/mechdisk ] || load_module mechdisk
			# built in, perhaps
			[ ! -e /lab/modules/libata.ko ] || [ -d /sys/module/libata ] ||
				insmod /lab/modules/libata.ko ;;
		esac
		insmod "$file" "$@" || die "insmod $name failed: $(dmesg | tail -n 3)"
		return
	fi
	modprobe "$name" "$@" 2>/tmp/modprobe.err && return
	# Built in, perhaps (a debug kernel's sd_mod leaves no other trace)
	[ -d "/sys/module/$name" ] || [ -d "/sys/bus/scsi/drivers/${name%_mod}" ] ||
		die "modprobe $name failed: $(cat /tmp/modprobe.err)"
}

# Those of the controllers in a line "# lab-devices:"; their disks come when they like
load_drivers()
{
	local name

	modprobe -q sd_mod
	modprobe -q sg
	for name in $(cat /lab/drivers/order); do
		if [ -e "/lab/drivers/$name.ko" ]; then
			insmod "/lab/drivers/$name.ko" || die "insmod $name: $(dmesg | tail -n 3)"
		else
			modprobe -q "$name"
		fi
	done
}

unload_module()
{
	rmmod "$1"
}

# drive_new NAME FILE [LINES]: lines override those of the file
drive_new()
{
	local dir="/sys/kernel/mechdisk/$1" disk

	echo "$1" > /sys/kernel/mechdisk/new || die "mechdisk refuses the name $1"
	cat "$(lab_file "$2")" > "$dir/description" || die "mechdisk refuses $2"
	if [ -n "$3" ]; then
		echo "$3" > "$dir/description" || die "mechdisk refuses '$3'"
	fi
	# what attaches it, if it is a SATA drive
	[ "$(sed -n 's/^interface //p' "$dir/description" | tail -n 1)" != sata ] ||
		[ -d /sys/module/mechata ] || load_module mechata
	echo 1 > "$dir/power" || die "drive $1 does not start: $(cat "$dir/status")"
	wait_for 30 grep -q 'on sd' "$dir/status" ||
		die "no disk for drive $1: $(cat "$dir/status")"
	disk=$(sed -n 's/.*on \(sd[a-z]*\).*/\1/p' "$dir/status" | head -n 1)
	wait_for 30 [ -b "/dev/$disk" ] || die "no /dev/$disk"
	# A draw (init): what comes after this finds the platter at another angle
	[ "${LAB_SEED:-1}" = 1 ] || usleep $(((LAB_SEED - 1) * 1373))
	echo "$disk"
}

# BLIST_SKIP_VPD_PAGES: no vital product data are asked for, so there is no id
drives_without_id()
{
	modprobe -q scsi_mod "dev_flags=$1:$2:0x4000000"
	[ ! -e /proc/scsi/device_info ] || echo "$1:$2:0x4000000" > /proc/scsi/device_info
}

drive_off()
{
	echo 0 > "/sys/kernel/mechdisk/$1/power"
}

drive_stat()
{
	kv "/sys/kernel/mechdisk/$1/stats" "$2"
}

fb()
{
	echo "/sys/kernel/freeblock/$1"
}

debug()
{
	echo "/sys/kernel/debug/freeblock/$1"
}

# What there is not, or not now, is nothing, and equals nothing that is asked for
number()
{
	sed -n "s,^$2 ,,p" "$(debug "$1")/numbers" 2>/dev/null
}

number_above()
{
	[ "$(number "$1" "$2")" -gt "$3" ] 2>/dev/null
}

numbers()
{
	local disk="$1"

	shift
	sed -nE "s,^($(echo "$*" | tr ' ' '|'))/,,p" "$(debug "$disk")/numbers"
}

state()
{
	number "$1" "state/$2"
}

stats()
{
	number "$1" "stats/$2"
}

job()
{
	if [ $# = 3 ]; then
		number "$1" "${2}_stats/$3"
	else
		cat "/sys/kernel/freeblock/$1/$2" 2>/dev/null
	fi
}

# model_table FILE: compiles a model; the table's path
model_table()
{
	freeblock-model "$(lab_file "$1")" > "/tmp/$(basename "$1").table" || return 1
	echo "/tmp/$(basename "$1").table"
}

model_load()
{
	cat "$(model_table "$2")" > "/sys/kernel/freeblock/$1/model" ||
		die "model $2 refused: $(cat "/sys/kernel/freeblock/$1/model_status")"
}

sched_set()
{
	echo "$2" > "/sys/block/$1/queue/scheduler" || return 1
	[ "$2" != freeblock ] || wait_for 30 grep -q 1 "$(fb "$1")/state/attached" || return 1
	[ "$(sched_get "$1")" = "$2" ]
}

sched_get()
{
	sed 's/.*\[\(.*\)\].*/\1/' "/sys/block/$1/queue/scheduler"
}

iosched()
{
	if [ $# = 3 ]; then
		echo "$3" > "/sys/block/$1/queue/iosched/$2"
	else
		cat "/sys/block/$1/queue/iosched/$2"
	fi
}

verify_folder=/out/verify

# What the host needs to judge blocks (tests/lab/blocks.py). The drive's
# journal must hold every write: give "journal_records N" at drive_new.
consumer_start()
{
	local disk="$1" drive="$2"

	shift 2
	[ -d /sys/module/fbconsumer ] || load_module fbconsumer
	[ "$(consumer task)" = none ] || echo destroy > /sys/kernel/debug/fbconsumer/command
	mkdir -p "$verify_folder"
	drive_stat "$drive" journal_records > "$verify_folder/journal_at_start"
	echo "start $disk${*:+ $*}" > /sys/kernel/debug/fbconsumer/command
}

consumer()
{
	kv /sys/kernel/debug/fbconsumer/state "$1"
}

consumer_over()
{
	[ "$(consumer task)" = over ]
}

consumer_stop()
{
	echo stop > /sys/kernel/debug/fbconsumer/command
	wait_for 60 consumer_over
}

scan_stop()
{
	# Refused when it is over already
	echo stop > "/sys/kernel/freeblock/$1/scan" 2>/dev/null
	wait_for 60 sh -c "! grep -Eq '^(running|stopping)' /sys/kernel/freeblock/$1/scan"
}

consumer_keep()
{
	cat /sys/kernel/debug/fbconsumer/blocks > "$verify_folder/deliveries"
	cat "/sys/kernel/freeblock/$1/granule_bytes" > "$verify_folder/granule_bytes"
	cat "/sys/kernel/mechdisk/$2/journal" > "$verify_folder/journal"
	cat "/sys/block/$1/size" > "$verify_folder/sectors"
	expect_ge "blocks to judge" "$(stat -c %s "$verify_folder/deliveries")" 24
	expect_eq "deliveries not noted, at the same time, or after the end" \
		"$(consumer lost) $(consumer overlaps) $(consumer late)" "0 0 0"
	expect_eq "the journal of drive $2 is complete" "$(drive_stat "$2" journal_overflow)" 0
	echo destroy > /sys/kernel/debug/fbconsumer/command
}

fio_run()
{
	local name="$1"

	shift
	fio --output-format=json,terse --terse-version=3 --eta=never \
		--output="/tmp/$name.fio" --name="$name" "$@" ||
		die "fio $name failed: $(tail -n 5 "/tmp/$name.fio")"
	sed -n '/^{/,/^}/p' "/tmp/$name.fio" > "/out/$name.json"
	grep '^3;' "/tmp/$name.fio" > "/tmp/$name.terse"
}

fio_field()
{
	awk -F';' -v f="$2" '{ s += $f } END { print s + 0 }' "/tmp/$1.terse"
}

fio_errors()
{
	fio_field "$1" 5
}

fio_iops()
{
	local read write

	read=$(fio_field "$1" 8)
	write=$(fio_field "$1" 49)
	case ${2-} in
	read) echo "$read" ;;
	write) echo "$write" ;;
	*) echo $((read + write)) ;;
	esac
}

# Requests done, from the JSON: terse has only kilobytes
fio_ios()
{
	awk -v want="${2-}" '
		/"(read|write|trim)" : \{/ { split($0, q, "\""); side = q[2] }
		/"total_ios" :/ && (want == "" ? side ~ /read|write/ : side == want) {
			gsub(/[^0-9]/, ""); s += $0 }
		END { print s + 0 }' "/out/$1.json"
}

calls()
{
	local program="$1" what="$2" name got want

	"$@" > /tmp/calls 2>> /out/reasons
	expect_eq "$program $what: all made" $? 0
	while IFS='|' read -r name got want; do
		expect_eq "$name" "$got" "$want"
	done < /tmp/calls
}

# fault NAME PROBABILITY [TIMES]: arm a fault injector of the debug kernel
# without its own back trace, which the log scanner would take for a report
fault()
{
	local dir="/sys/kernel/debug/$1"

	[ -d "$dir" ] || return 1
	echo 0 > "$dir/verbose"
	echo 1 > "$dir/interval"
	echo "${3--1}" > "$dir/times"
	echo "$2" > "$dir/probability"
}
