# SPDX-License-Identifier: GPL-2.0
# The files of a disk: settings, state/, the uploads, debugfs' numbers. With a model and without, with
# the scheduler and without, under a load; uploads that interrupt each other; all files read in a
# loop while schedulers are switched and disks go, come back and are renamed.
#
# Expected: each file reads as one number or one word, the few for people as one line; each number
# is a line of a name and a value, for root; what needs the scheduler is not there without it (a file
# says ENODATA), and all else is; counters never shrink, and count what fio did; an upload goes on
# where it ended or not at all; a new disk's values are the defaults of Documentation/ABI, but for
# what time alone changes.
#
# Seen to fail: an upload that goes on anywhere; a counter that starts
# anew when the scheduler is attached; a file without a newline; state of a scheduler that is not
# attached; numbers for everybody; waits of writes that are not summed; the policy's order of a disk
# without a model; room for a byte less than a long id has; settings that do not take their lowest
# value.
#
# lab-python: freeblock
# lab-files: Documentation/ABI/testing/sysfs-block-freeblock
# lab-files: Documentation/ABI/testing/sysfs-kernel-freeblock
# lab-files: Documentation/ABI/testing/sysfs-kernel-freeblock-state
# lab-files: Documentation/ABI/testing/sysfs-module-freeblock
# lab: kernel=stock clock=icount smp=1 timeout=300
# lab: set=soak kernel=debug clock=real smp=4 timeout=1200

. /lab/lib.sh

M=/sys/kernel/mechdisk
LINES="model_status scheduling knowledge free_reads idle recovery medium cost"
SCHED="background_pending free_reads in_flight order pending period_ps phase"
rounds=4
[ "$LAB_KERNEL" = debug ] && rounds=12

drives_without_id ATA TINY
load_module mechdisk
load_module freeblock trial=1
disk=$(drive_new a tiny.fbdrive "serial MDa
long_id on") || exit 1
sched_set "$disk" freeblock
dir=$(fb "$disk")
debug=/sys/kernel/debug/freeblock/$disk

# all_of KEY...: what holds now
all_of()
{
	local key

	for key in "$@"; do
		state "$disk" "$key"
	done | tr '\n' ','
}

# unserved NAME: state/ is that of a disk of which nothing is read, with any depth
unserved()
{
	local attached

	attached=$(cat "$dir/state/attached")
	[ "$attached" = 0 ] || iosched "$disk" depth 2
	expect_eq "$1: state/ of a disk that is not scheduled" \
		"$(all_of idle medium lift_source lift_dest)" \
		"off: not scheduling,none,off,off,"
	[ "$attached" = 0 ] || expect_eq "$1: what the scheduler says" \
		"$(all_of free_reads phase order)" \
		"off: not scheduling,unknown,drive,"
	[ "$attached" = 0 ] || iosched "$disk" depth auto
}

# mapless NAME: state/ is that of a disk that is read in idle time only, with any depth
mapless()
{
	iosched "$disk" depth 2
	expect_eq "$1: state/ of a disk without a map" \
		"$(all_of medium lift_source lift_dest free_reads phase order)" \
		"verify; no task asks for it,off,off,off: no map of the drive is in use,unknown,drive,"
	iosched "$disk" depth auto
}

# files [FOLDER]: that hold values
files()
{
	find "$dir${1:+/$1}" -maxdepth 1 -type f ! -path "$dir/model" ! -name coverage | sort
}

# all_read NAME LEAST FOLDER [EXCEPT]...: files of a folder, each one value, but for some
# without a value
all_read()
{
	local name="$1" least="$2" folder="$3" n=0 wrong="" file pattern text

	shift 3
	for file in $(files "$folder"); do
		case " $LINES " in
		*" ${file##*/} "*) pattern='[!-~]+( [!-~]+)*' ;;
		*) pattern='-?[0-9]+|[a-z]+(-[a-z]+)*|naa\.[0-9a-f]+' ;;
		esac
		n=$((n + 1))
		if cat "$file" > /tmp/value 2> /tmp/why; then
			text=$(cat /tmp/value)
			[ "$(wc -l < /tmp/value)" = 1 ] &&
				grep -Eqx -e "$pattern" /tmp/value &&
				! echo " $* " | grep -q " ${file##*/} " && continue
		else
			text=$(cat /tmp/why)
			grep -q 'No data available' /tmp/why &&
				echo " $* " | grep -q " ${file##*/} " && continue
		fi
		wrong="$wrong ${file#"$dir"/}: '$text'"
	done
	expect_eq "$name" "$wrong" ""
	expect_ge "$name: files" $n "$least"
}

# ---- a new disk: as Documentation/ABI says ----

# defaults: of all files, a name and a value a line
defaults()
{
	cat /lab/files/sysfs-*-freeblock* | sed "s/<disk>/$disk/" | awk '
		/^Date:/ { over = 1 }
		/^What:/ { n = over ? 1 : n + 1; over = 0; what[n] = $2 }
		sub(/^\t\tDefault:[\t ]*/, "") { for (i = 1; i <= n; i++) print what[i], $0 }'
}

defaults > /tmp/defaults
while read -r file value; do
	case $value in
	"that of the device"|empty) continue ;;
	esac
	got=$(cat "$file" 2>&1)
	case $got in
	*"No data available"*) got=-ENODATA ;;
	esac
	# the kernel has looked for partitions
	case $file in
	*/state/idle) continue ;;
	esac
	[ "$got" = "$value" ] || echo "$file: '$got'"
done < /tmp/defaults > /tmp/wrong
expect_eq "defaults" "$(cat /tmp/wrong)" ""
expect_ge "defaults told" "$(wc -l < /tmp/defaults)" 40
echo stop > "$dir/trial"
expect_eq "stopped by hand" "$(cat "$dir/trial") $(state "$disk" cost)" \
	"1 not known; stopped for good"
echo 1 > "$dir/trial"
expect_eq "and resumed" "$(state "$disk" cost)" "not known"
echo 0 > "$dir/trial"

# ---- no model, no scheduler ----

# names: those of all numbers
names()
{
	cut -d' ' -f1 "$debug/numbers" | sort
}

all_read "no model" 15 ""
all_read "no model: state" 11 state
expect_eq "numbers: each a name and a value" "$(grep -Evc '^(state|stats)/[a-z0-9_]+ [!-~]' \
	"$debug/numbers")" 0
expect_eq "numbers: each once" "$(names | uniq -d)" ""
expect_eq "numbers: for root" "$(stat -c %a "$debug/numbers")" 400
names > /tmp/names
expect_ge "numbers" "$(wc -l < /tmp/names)" 80
for file in $(files state); do
	expect_eq "numbers: ${file##*/} as in sysfs" "$(state "$disk" "${file##*/}")" "$(cat "$file")"
done
mapless "no model"
expect_fail "a model is refused" sh -c "cat /lab/files/tiny.fbmodel > $dir/model"
mapless "a refused model"
model_load "$disk" distrusted-tiny.fbmodel
mapless "a distrusted model"
expect_eq "jobs without a run have no value" "$(numbers "$disk" scan_stats scrub_stats)" ""
expect_eq "scan" "$(cat "$dir/scan")" idle
model_load "$disk" tiny.fbmodel
all_read "a model" 15 ""
expect_eq "sectors" "$(cat "$dir/sectors")" "$(cat /sys/block/"$disk"/size)"
expect_match "id: all of a long one" "$(cat "$dir/id")" '^naa\.6[0-9a-f]{31}$'
expect_eq "which is the disk's" "$(cat "$dir/id")" "$(cat /sys/block/"$disk"/device/wwid)"
expect_eq "attached, model, scheduling" \
	"$(all_of attached model scheduling)" "1,1,yes,"
sched_set "$disk" none
all_read "another scheduler: state" 11 state free_reads
expect_eq "another scheduler: what is left out" "$(names > /tmp/left
	grep -vxFf /tmp/left /tmp/names | sed 's,state/,,' | xargs)" "$SCHED"
expect_eq "attached, why not" \
	"$(cat "$dir/state/attached" "$dir/state/scheduling" | xargs)" "0 another scheduler"
unserved "another scheduler"
sched_set "$disk" freeblock

# ---- tunables that are words ----

expect_eq "policy" "$(iosched "$disk" policy)" auto

# ---- settings ----

# ends NAME LOWEST HIGHEST: both are taken and shown, and nothing beyond
ends()
{
	setting="$dir/$1"
	before=$(cat "$setting")
	for value in "$2" "$3"; do
		echo "$value" > "$setting"
		echo "$value"
		cat "$setting"
	done | uniq -u > /tmp/wrong
	for value in $(($2 - 1)) $(($3 + 1)) 4294967296 "$3 1" few ""; do
		! echo "$value" > "$setting" || echo "'$value'" >> /tmp/wrong
	done 2>/dev/null
	expect_eq "$1: $2 to $3" "$(cat /tmp/wrong; cat "$setting")" "$3"
	expect_ok "$1 as before" sh -c "echo $before > $setting"
}

ends bad_quarantine_kib 0 65536
ends bad_slow_s 1 86400
ends bad_slow_most 1 1000
ends idle_wait_us 0 3600000000
ends idle_size_kib 64 4096
ends idle_mean_us 0 10000000
ends idle_max_us 1000 60000000
ends max_kib_s 0 4194304
for words in "power respect keep-awake" "idle_only 0 1" "model_force 0 1"; do
	set -- $words
	for word in "$3" "$2"; do
		echo "$word" > "$dir/$1"
		expect_eq "$1: $word" "$(cat "$dir/$1")" "$word"
	done
	expect_fail "$1: another word" sh -c "echo $2$3 > $dir/$1"
done

# ---- counters ----

counters()
{
	numbers "$disk" stats | grep -v '^[a-z_]* .* '
}

# grown NAME: no counter is less than it was in /tmp/before
grown()
{
	counters > /tmp/now
	expect_eq "$1: no counter has shrunk" "$(awk 'NR == FNR { before[$1] = $2; next }
		$2 + 0 < before[$1] + 0 { print $1, before[$1], $2 }' /tmp/before /tmp/now)" ""
	mv /tmp/now /tmp/before
}

# load SECONDS [randwrite]
load()
{
	fio_run load --filename=/dev/"$disk" --direct=1 --ioengine=libaio --iodepth=4 \
		--rw="${2:-randread}" --bs=4k --norandommap --time_based --runtime="$1" --randseed=5 \
		--allrandrepeat=1
}

# without a load and idle reads a scan does not advance, however slow the reader
echo 0 > "$dir/idle_mean_us"
counters > /tmp/before
expect_ok "scan" sh -c "echo start > $dir/scan"
expect_eq "tasks" "$(cat "$dir/tasks") $(state "$disk" tasks)" "1 1"
expect_match "the tasks for people" "$(cat "$debug/tasks")" '^[0-9]+ scan running 0 '
# then as long as it lasts
echo 1000 > "$dir/idle_wait_us"
echo 1024 > "$dir/idle_size_kib"
echo 10000000 > "$dir/idle_mean_us"
requests=$(stats "$disk" fg_requests)
reads=$(stats "$disk" fg_reads)
waited=$(stats "$disk" fg_read_ns)
load 3
requests=$(($(stats "$disk" fg_requests) - requests))
reads=$(($(stats "$disk" fg_reads) - reads))
waited=$(($(stats "$disk" fg_read_ns) - waited))
# one that is merged into another is none of its own
expect_ge "no request but fio's" $(($(fio_ios load) - requests)) 0
expect_le "nearly all that fio did" $(($(fio_ios load) - requests)) 10
expect_eq "of these, reads; none of the scan's" $reads $requests
# fio also counts what it does itself, some 20 us
off=$(awk -v fio="$(fio_field load 40)" -v ns=$waited -v n=$reads \
	'BEGIN { printf "%d", fio - ns / n / 1000 }')
expect_ge "reads: mean latency as fio has it, us longer" "$off" 0
expect_le "reads: mean latency as fio has it, us longer" "$off" 500
expect_eq "no writes" "$(stats "$disk" fg_writes) $(stats "$disk" fg_write_ns)" "0 0"
expect_eq "under a scan" "$(numbers "$disk" scan_stats | grep -Ec '^[a-z_]+ [0-9]+$')" 15
grown "a load"
sleep 2
grown "idle time"
sched_set "$disk" none
sched_set "$disk" freeblock
grown "a switch of scheduler"
load 1 randwrite
grown "another load"
expect_ge "writes that fio did" "$(fio_ios load write)" 50
expect_eq "of these, writes" "$(stats "$disk" fg_writes)" "$(fio_ios load write)"
off=$(awk -v fio="$(fio_field load 81)" -v ns="$(stats "$disk" fg_write_ns)" \
	-v n="$(stats "$disk" fg_writes)" 'BEGIN { printf "%d", fio - ns / n / 1000 }')
expect_ge "writes: mean latency as fio has it, us longer" "$off" 0
expect_le "writes: mean latency as fio has it, us longer" "$off" 500
expect_ge "a scan: free sectors" "$(stats "$disk" free_sectors)" 8
expect_within "the scan ends" 60 wait_for 50 grep -qx finished "$dir/scan"
expect_eq "what the scan did" "$(job "$disk" scan blocks_delivered)" \
	"$(job "$disk" scan blocks_total)"
expect_eq "scan: order" "$(job "$disk" scan order)" near
echo 1 > "$debug/reset"
expect_eq "reset" "$(stats "$disk" mechanical) $(stats "$disk" pred_total)" "0 0"

# ---- uploads: each of one write, for sysfs takes a page at most ----

cat > /tmp/uploads.py << 'EOF2'
import errno, os, sys

name, path, source = sys.argv[1:4]
data = open(source, "rb").read()
half, end = len(data) // 2, len(data)
a, b = (os.open(path, os.O_RDWR) for _ in range(2))


def write(what, fd, first, last, want="ok"):
    """One write, and how it must end."""
    try:
        done = os.pwrite(fd, data[first:last], first)
        got = "ok" if done == last - first else "%d bytes" % done
    except OSError as error:
        got = errno.errorcode[error.errno]
    print("%s %s: %s%s" % ("ok" if got == want else "not ok", name, what,
                           "" if got == want else " - %s, not %s" % (got, want)))
    sys.stdout.flush()


write("one begins", a, 0, half)
write("another begins anew", b, 0, half - 8)
write("the first one may not go on", a, half, end, "EINVAL")
write("one begins", a, 0, half)
write("and is refused", a, half + 1, end, "EINVAL")
write("another begins", b, 0, half)
write("and ends", b, half, end)
write("what nobody has begun", a, half, end, "EINVAL")
EOF2

# uploads NAME PATH SOURCE
uploads()
{
	/usr/bin/python3 /tmp/uploads.py "$@" > /tmp/uploads.out 2> /tmp/uploads.err
	status=$?
	cat /tmp/uploads.out
	tap_count=$((tap_count + $(grep -c "^ok\|^not ok" /tmp/uploads.out)))
	tap_failed=$((tap_failed + $(grep -c "^not ok" /tmp/uploads.out)))
	expect_eq "$1: ends well" "$status $(tail -n 1 /tmp/uploads.err)" "0 "
}

uploads model "$dir/model" "$(model_table tiny.fbmodel)"
expect_match "model: in force" "$(cat "$dir/model_status")" '^loaded'
expect_ok "model: the log says that nobody has begun" \
	sh -c "dmesg | grep -q 'model was refused: .* write it in order'"
echo start > "$dir/scrub"
expect_within "the scrub ends" 60 wait_for 50 grep -qx finished "$dir/scrub"
expect_eq "a scrub" "$(numbers "$disk" scrub_stats | grep -Ec '^[a-z_]+ [0-9]+$')" 17
expect_eq "passes" "$(job "$disk" scrub passes)" 1
cp "$dir/coverage" /tmp/coverage
uploads coverage "$dir/coverage" /tmp/coverage
expect_ok "coverage: as it was" cmp "$dir/coverage" /tmp/coverage

# a scrub in between ends an upload: what it has verified is not overwritten
exec 8> "$dir/coverage"
expect_ok "coverage: one begins" sh -c "head -c 500 /tmp/coverage >&8"
expect_ok "and is scrubbed from" sh -c "echo start resume-coverage > $dir/scrub"
expect_within "that ends" 60 wait_for 50 grep -qx finished "$dir/scrub"
expect_fail "coverage: the first may not go on" sh -c "tail -c +501 /tmp/coverage >&8"
exec 8>&-

# ---- readers while disks come and go ----

# turn NAME VERB: a drive on or off
turn()
{
	if [ "$2" = off ]; then
		drive_off "$1"
		return
	fi
	echo 1 > $M/"$1"/power
	wait_for 30 grep -q 'on sd' $M/"$1"/status || die "drive $1 does not come back"
	disk=$(sed -n 's/.*on \(sd[a-z]*\).*/\1/p' $M/"$1"/status | head -n 1)
	wait_for 30 [ -e /sys/block/"$disk"/queue/scheduler ] || die "no disk $disk"
	sched_set "$disk" freeblock
}

# reader FOLDER: reads all files below until /tmp/enough; a line for each round
reader()
{
	while [ ! -e /tmp/enough ]; do
		find "$1" -type f ! -name reset ! -name policy -exec cat {} + > /dev/null 2>&1
		echo
	done
}

# without a unique id: it goes with its directories
lost=$(drive_new lost tiny.fbdrive "vendor ATA") || exit 1
sched_set "$lost" freeblock
expect_eq "no id" "$(cat "$(fb "$lost")/id")" -
drive_off a
b=$(drive_new b tiny.fbdrive "serial MDb") || exit 1
sched_set "$b" freeblock
expect_eq "another disk has the name" "$b" "$disk"
expect_eq "the first one's: renamed, its values kept" "$(cat "$(fb "$disk")".gone*/state/model)" 1
expect_ok "in debugfs, too" grep -q '^state/model 1' "$debug".gone*/numbers
drive_off b
exec 7< "/sys/kernel/debug/freeblock/$lost/numbers"
reader /sys/kernel/freeblock > /tmp/rounds.sysfs &
readers=$!
reader /sys/kernel/debug/freeblock > /tmp/rounds.debugfs &
readers="$readers $!"
round=0
while [ $round -lt $rounds ]; do
	turn a on
	echo start > "$(fb "$disk")/scan" 2>/dev/null	# or it goes on
	sched_set "$disk" none
	sleep 0.2
	sched_set "$disk" freeblock
	sleep 0.2
	echo 1 > "/sys/block/$disk/device/delete"
	turn a off
	turn b on
	sleep 0.2
	turn b off
	drive_off lost
	turn lost on
	round=$((round + 1))
done
: > /tmp/enough
for reader in $readers; do
	wait "$reader"
done
note "rounds: $(wc -l < /tmp/rounds.sysfs), $(wc -l < /tmp/rounds.debugfs)"
expect_ge "rounds in sysfs" "$(wc -l < /tmp/rounds.sysfs)" $rounds
expect_ge "rounds in debugfs" "$(wc -l < /tmp/rounds.debugfs)" $rounds
expect_fail "a file of a disk that has gone, still open" cat <&7
exec 7<&-
drive_off lost
expect_within "unloads" 30 unload_module freeblock
expect_within "mechdisk unloads" 30 unload_module mechdisk
done_testing
