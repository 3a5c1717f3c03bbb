# SPDX-License-Identifier: GPL-2.0
# The scrubber, from its commands to its end: bad commands; a scrub under a foreground;
# pause, stop; its coverage read, given back after the module was loaded anew, and refused
# where it is not that disk's.
#
# Expected: coverage never counts a block that was not delivered, never shrinks within a
# pass; a scrub that goes on from it delivers what is left and no more; whatever is refused
# has a reason in the log and changes nothing.
#
# Seen to fail with: fb_job_take_piece() that does not compare the length with that of the pass that
# is given back (KASAN: it writes behind the map of another model); a coverage that is made, or
# may be read by anybody, when it is read; maps that memory_mib does not know; a header that is
# refused without something behind it.
#
# lab: kernel=stock clock=icount smp=1 timeout=200
# lab: set=soak kernel=debug clock=icount smp=1 timeout=3000

. /lab/lib.sh

M=/sys/kernel/mechdisk

fresh()
{
	load_module freeblock
	sched_set "$disk" freeblock || die "no freeblock"
	model_load "$disk" tiny.fbmodel
	iosched "$disk" target_slowdown_ppm 1000000
	scrub="$(fb "$disk")/scrub"
	coverage="$(fb "$disk")/coverage"
}

scrub()
{
	echo "$*" > "$scrub"
}

# refused NAME REASON COMMAND...: not done, with this in the log, and nothing has changed
refused()
{
	local name="$1" reason="$2" before

	shift 2
	numbers "$disk" scrub_stats > /tmp/numbers
	before=$(grep -v 'flying\|delivered\|verified\|rate' /tmp/numbers)
	dmesg -c > /dev/null
	expect_fail "$name: refused" "$@"
	expect_match "$name: why" "$(dmesg)" "scrub: .*$reason"
	numbers "$disk" scrub_stats > /tmp/numbers
	expect_eq "$name: nothing has changed" \
		"$(grep -v 'flying\|delivered\|verified\|rate' /tmp/numbers)" "$before"
}

# bits FILE: blocks that a coverage counts
bits()
{
	od -An -v -tu1 -j128 "$1" | awk '
		{ for (i = 1; i <= NF; i++) for (b = $i; b; b = int(b / 2)) n += b % 2 }
		END { print n + 0 }'
}

# within A B: every block of coverage A is in B
within()
{
	cmp -l "$1" "$2" | awk '
		function value(octal,  v, i) {
			for (i = 1; i <= length(octal); i++)
				v = v * 8 + substr(octal, i, 1)
			return v
		}
		$1 > 128 {
			a = value($2); b = value($3)
			for (i = 0; i < 8; i++) {
				if (a % 2 && !(b % 2))
					lost = 1
				a = int(a / 2); b = int(b / 2)
			}
		}
		END { exit lost }'
}

others()
{
	fio --output=/tmp/others --eta=never --name=others --filename=/dev/"$disk" --direct=1 \
		--ioengine=libaio --iodepth=8 --rw=randread --bs=4k --norandommap \
		--time_based --runtime=900 --allow_file_create=0 2>/dev/null &
	fio=$!
	wait_for 30 grep -q '[1-9]' /sys/block/"$disk"/inflight || die "no load"
}

others_end()
{
	kill -INT $fio
	wait $fio
	expect_match "the foreground met no error" "$(cat /tmp/others)" 'err= 0'
}

is()
{
	[ "$(job "$disk" scrub)" = "$1" ]
}

verified()
{
	[ "$(job "$disk" scrub blocks_verified)" -ge "$1" ]
}

load_module mechdisk
disk=$(drive_new d tiny.fbdrive) || exit 1
fresh

# ---- commands ----

expect_eq "idle at first" "$(job "$disk" scrub)" idle
expect_eq "no numbers yet" "$(numbers "$disk" scrub_stats)" ""
expect_fail "no coverage, and reading makes none" cat "$coverage"
expect_eq "nobody else may" "$(stat -c %a "$coverage")" 600
refused "no command" "'' is none of" scrub
refused "unknown" "'begin' is none of start" scrub begin
refused "unknown word" "'fast' is none of" scrub start fast
refused "one number" "FIRST must be followed by COUNT" scrub start 0
refused "three numbers" "'8' is none of" scrub start 0 8 8
refused "no sectors" "COUNT, which must not be 0" scrub start 0 0
refused "not whole blocks" "not whole blocks of 8" scrub start 4 8
refused "no deadline" "SECONDS must be a number" scrub deadline
refused "no number" "'deadline soon': SECONDS must be" scrub deadline soon
refused "too long" "SECONDS must be" scrub deadline 4294967296
refused "nothing has a deadline" "'deadline': it is not running" scrub deadline 9
refused "beyond the end" "the disk, which has 50129" scrub start 50128 16
refused "no regions" "REGIONS must be a number" scrub start staggered=0
refused "regions in words" "REGIONS must be a number" scrub start staggered=many
refused "too many regions" "more regions than blocks" scrub start staggered=10000
refused "segment alone" "only for staggered" scrub start segment=64
refused "regions of another order" "not for near" scrub start staggered=4 near
refused "segment not of blocks" "not whole blocks of 4 KiB" scrub start staggered=4 segment=6
refused "a segment too large" "KIB must be a number" scrub start staggered=4 segment=4294967295
refused "pause of nothing" "it is not running" scrub pause
refused "resume of nothing" "it is not running" scrub resume
refused "stop of nothing" "it is not running" scrub stop

# ---- under a foreground; pause, stop ----

others
expect_ok "starts" scrub start
expect_eq "order" "$(job "$disk" scrub order)" near
expect_eq "no deadline" "$(job "$disk" scrub deadline)" 0
expect_ok "in a hundred days" scrub deadline 8640000
expect_mean "a deadline: seconds from now" 8639990 8640000 \
	$(($(job "$disk" scrub deadline) - $(date +%s)))
expect_ok "none any more" scrub deadline 0
expect_eq "no deadline again" "$(job "$disk" scrub deadline)" 0
refused "a second one" "it is running" scrub start near
refused "resume of a running one" "it is already running" scrub resume
cp "$coverage" /tmp/now
refused "coverage while running" "it is running" cp /tmp/now "$coverage"
expect_ok "it goes on" wait_for 60 verified 200
cp "$coverage" /tmp/one
expect_ok "goes on further" wait_for 60 verified 600
cp "$coverage" /tmp/two
expect_ge "coverage: at least what it counted" "$(bits /tmp/two)" 600
expect_ok "coverage never shrinks" within /tmp/one /tmp/two
expect_ok "pauses" scrub pause
expect_ok "says so" is paused
refused "pause of a paused one" "it is already paused" scrub pause
sleep 1
before=$(job "$disk" scrub blocks_verified)
sleep 2
expect_eq "reads nothing then" "$(job "$disk" scrub blocks_verified)" "$before"
expect_ok "resumes" scrub resume
expect_ok "goes on after it" wait_for 60 verified $((before + 100))
expect_ok "stops" scrub stop
expect_ok "is stopped" wait_for 60 is stopped
kept=$(job "$disk" scrub blocks_verified)
cp "$coverage" /tmp/kept
expect_eq "coverage is what it counted" "$(bits /tmp/kept)" "$kept"
expect_ge "read from the medium" "$(drive_stat d verifies)" 20
expect_eq "none is bad" "$(job "$disk" scrub blocks_bad)" 0
others_end

# ---- coverage given back ----

expect_ok "none" sched_set "$disk" none
expect_ok "the module goes" unload_module freeblock
fresh
expect_eq "it knows nothing" "$(bits "$coverage")" 0
cat /tmp/kept | sed 's/fbcover/fbother/' > /tmp/wrong
refused "not a coverage" "not a coverage file" cp /tmp/wrong "$coverage"
cat /tmp/kept | sed 's/naa\./nbb./;s/name\./nbme./' > /tmp/wrong
refused "of another disk" "belongs to disk 'nb" cp /tmp/wrong "$coverage"
{ head -c 12 /tmp/kept; printf '\020'; tail -c +14 /tmp/kept; } > /tmp/wrong
refused "of other blocks" "it has 6267 blocks of 16 sectors" cp /tmp/wrong "$coverage"
{ head -c 16 /tmp/kept; printf '\001'; tail -c +18 /tmp/kept; } > /tmp/wrong
refused "of another size" "blocks of 8 sectors, the disk has 6267" cp /tmp/wrong "$coverage"
{ head -c 36 /tmp/kept; printf '\001'; tail -c +38 /tmp/kept; } > /tmp/wrong
refused "a reserved field" "its reserved field is 1, not 0" cp /tmp/wrong "$coverage"
cat /tmp/kept /tmp/kept > /tmp/wrong
refused "too long" "bytes follow the header, the map has" cp /tmp/wrong "$coverage"
expect_eq "nothing was taken" "$(bits "$coverage")" 0
echo 0 > /sys/module/freeblock/parameters/memory_mib
expect_fail "no memory for a map" cp /tmp/kept "$coverage"
expect_match "no memory: why" "$(dmesg | tail -n 3)" "coverage needs .* than memory_mib=0"
expect_fail "no memory for a model's table" cp "$(model_table tiny.fbmodel)" "$(fb "$disk")/model"
expect_match "no memory: the status says so" "$(cat "$(fb "$disk")/model_status")" memory_mib
echo 1024 > /sys/module/freeblock/parameters/memory_mib
model_load "$disk" tiny-wide.fbmodel
{ head -c 12 /tmp/kept; printf '\020\000\000\000\076\014'; tail -c +19 /tmp/kept; } > /tmp/wide
half=$((128 + 392 - 8))
exec 4> "$coverage"
expect_ok "nearly all, of a model with fewer blocks" sh -c "head -c $half /tmp/wide >&4"
model_load "$disk" tiny.fbmodel
refused "and the rest, of one with more" "in order, from the start" \
	sh -c "tail -c +$((half + 1)) /tmp/kept >&4"
exec 4> "$coverage"
head -c 300 /tmp/kept > /tmp/short
expect_ok "half of it" sh -c "cat /tmp/short >&4"
expect_le "is no more than that" "$(bits "$coverage")" "$(bits /tmp/short)"
refused "and goes on where it ended only" "in order, from the start" \
	sh -c "dd if=/tmp/kept bs=200 skip=2 seek=1 >&4"
exec 4>&-
expect_ok "all of it" cp /tmp/kept "$coverage"
expect_ok "is" cmp /tmp/kept "$coverage"
exec 4> "$coverage"
expect_ok "its header by itself" sh -c "head -c 128 /tmp/kept >&4"
expect_ok "and the rest" sh -c "tail -c +129 /tmp/kept >&4"
exec 4>&-
expect_ok "is all of it" cmp /tmp/kept "$coverage"

others
range="16384 4096"
had=$(bits /tmp/kept)
expect_ok "goes on from there" scrub start $range staggered=4 segment=64 resume-coverage
expect_eq "order, regions, segment" "$(job "$disk" scrub order) $(job "$disk" scrub regions) $(job \
	"$disk" scrub segment_kib)" "staggered 4 64"
before=$(job "$disk" scrub blocks_before)
expect_ge "some of it was done" "$before" 1
expect_ok "finishes" wait_for 300 is finished
expect_eq "all verified" "$(job "$disk" scrub blocks_verified)" 512
expect_eq "and read what was left, no more" "$(job "$disk" scrub blocks_delivered)" $((512 - before))
expect_eq "coverage has both" "$(bits "$coverage")" $((had + 512 - before))
expect_eq "a pass" "$(job "$disk" scrub passes)" 1
refused "nothing is left" "all of it has already been verified" scrub start $range resume-coverage
expect_ok "a new pass" scrub start 0 8192 near
expect_le "begins with nothing" "$(bits "$coverage")" 100
others_end

# ---- going ----

expect_ok "none" sched_set "$disk" none
expect_within "the module goes, with a scrub at work" 60 unload_module freeblock
drive_off d
expect_within "mechdisk unloads" 30 unload_module mechdisk
done_testing
