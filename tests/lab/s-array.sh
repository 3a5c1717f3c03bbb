# SPDX-License-Identifier: GPL-2.0
# tools/examples/array_scrub on md arrays of simulated drives: sectors are changed beneath md, in
# a RAID1, a RAID5 and a RAID6, data, P and Q, and the array is scrubbed while it is
# written to elsewhere.
#
# Expected: each of them is found, at its sector, as what it is (where P and Q are is worked
# out here anew); what the report calls their sectors of the array is what md reads there; nothing
# else is found, though a first comparison meets blocks that are being written; md's own
# check counts as many. A bad sector is not taken for a mismatch. A scrub that is terminated goes
# on. Writes do not wait for one that is killed, or stopped. Nothing is written to the members.
# Arrays that cannot be scrubbed are refused in words. An array of each layout, as the kernel has
# synchronised it, has no mismatch.
#
# Seen to fail: Q with another generator; no second comparison; a second comparison while writes
# go on.
#
# lab-programs: array_scrub
# lab: kernel=stock clock=icount smp=1 timeout=400

. /lab/lib.sh
. /lab/files/array.sh

# the subject is not cost
eager=1
planted=0 found=0 false=0

# scrub ARGUMENTS...: what it says in /tmp/said and /tmp/errors
scrub()
{
	array_scrub --json /dev/md0 "$@" > /tmp/said 2> /tmp/errors
}

# said KEY: a value of the object that was printed
said()
{
	sed -n "s/^ *\"$1\": \"\{0,1\}\([^\",]*\).*/\1/p" /tmp/said
}

# writers: in the background until writers_end: all of the array but its fifth tenth, where
# sectors are changed. Of two writes of a block at once, which nobody sends but a test, md's
# RAID1 lets each copy keep another one: a real mismatch.
writers()
{
	local tenth=$(($(cat /sys/block/md0/size) / 80 * 4096))

	fio --output-format=terse --terse-version=3 --eta=never --output=/tmp/writers \
		--filename=/dev/md0 --ioengine=libaio --direct=1 --rw=randrw --rwmixread=30 \
		--bsrange=4k-16k --iodepth=2 --norandommap --time_based --runtime=3600 \
		--randseed=7 --refill_buffers --serialize_overlap=1 --name=low --offset=0 --size=$((4 * tenth)) \
		--name=high --offset=$((5 * tenth)) --size=$((5 * tenth)) &
	fio=$!
}

writers_end()
{
	kill -INT $fio
	wait $fio
	expect_eq "$1: writers have no error" \
		"$(awk -F';' '/^3;/ { s += $5; n++ } END { print s, n }' /tmp/writers)" "0 2"
}

# plant KIND REPORTED-SLOT SLOT ROW SECTOR: of the members, in a row of chunks
plant()
{
	local at=$(($4 * chunk + $5))

	beneath "$3" $at
	echo "$at $1 $2 $3" >> /tmp/planted
}

# judge NAME: compare the report with what was planted
judge()
{
	local name="$1" at kind slot changed n=0 line role

	while read -r at kind slot changed; do
		n=$((n + 1))
		line=$(grep "\"kind\": \"$kind\", \"offset\": $at, \"sectors\": 1, \"slot\": $slot," \
			/tmp/said)
		if [ -z "$line" ]; then
			not_ok "$name: $kind at $at" "not in the report: $(grep "\"offset\": $at," /tmp/said)"
			continue
		fi
		found=$((found + 1))
		# the member that was changed: its sector, and the array's
		role=$(echo "$line" | sed "s/.*{\"slot\": $changed, \([^}]*\)}.*/\1/")
		expect_match "$name: its member" "$role" \
			"\"device\": \"$(disk_of "$changed")\", \"sector\": $((offset + at)),"
		case $role in
		*array_sector*)
			dd if=/dev/md0 bs=512 count=8 iflag=direct 2>/dev/null \
				skip=$((${role##* } / 8 * 8)) > /tmp/above
			dd if=/dev/"$(disk_of "$changed")" bs=512 count=8 iflag=direct 2>/dev/null \
				skip=$((offset + at / 8 * 8)) > /tmp/below
			[ "$level" = 1 ] ||
				expect_ok "$name: its sector of the array" cmp /tmp/above /tmp/below ;;
		esac
	done < /tmp/planted
	planted=$((planted + n))
	line=$(grep -c '"kind": ' /tmp/said)
	expect_eq "$name: as many as were planted" "$line" $n
	false=$((false + (line > n ? line - n : 0)))
	expect_eq "$name: sectors" "$(said mismatched_sectors) $(said not_compared_sectors)" "$n 0"
	expect_ge "$name: seen to be written to" "$(said rewritten_units)" 1
	note "$name: $(said second_comparisons) second comparisons," \
		"$(said longest_suspension_ms) ms at most, $(said seconds) s"
}

written()
{
	local name

	for name in $drives; do
		drive_stat $name sectors_written
	done
}

suspended()
{
	[ "$(cat $MD/suspend_hi)" != 0 ]
}

# catch: a scrub with something suspended; sets $program
catch()
{
	scrub --interval 1 &
	wait_for 5 pidof array_scrub
	# the first is the one that scrubs, the other watches it
	program=$(pidof array_scrub | tr ' ' '\n' | sort -n | head -n 1)
	while ! suspended && [ -d /proc/"$program" ]; do
		sleep 0.01
	done
	kill "$1" "$program"
}

load_module mechdisk
load_module freeblock
load_module raid1
load_module raid456

# ---- RAID1 ----

level=1
chunk=16
new_members 2 tiny.fbdrive tiny.fbmodel
create 1 2
fifth=$(($(cat $MD/component_size) * 2 / 10 * 4 / chunk))
writers
: > /tmp/planted
plant copies -1 0 $((fifth + 1)) 0
plant copies -1 1 $((fifth + 3)) 5
plant copies -1 1 $((fifth + 60)) 15
scrub --memory 2
expect_eq "raid1: status" $? 3
judge raid1
writers_end raid1
expect_eq "raid1: state" "$(said state)" complete
expect_ok "raid1: clean" wait_for 10 grep -q clean $MD/array_state
before=$(written)
scrub --rate 2000 --interval 2
expect_eq "raid1: status, with a rate" $? 3
expect_ge "raid1: seconds, with a rate" "$(said seconds)" 9
expect_eq "raid1: nothing is written" "$(written)" "$before"
expect_eq "raid1: nobody writes, nothing is rewritten" "$(said rewritten_units)" 0
expect_match "raid1: progress" "$(cat /tmp/errors)" "%, .* KiB/s of each member, .* left"
note "$(tail -n 1 /tmp/errors)"
md_check
expect_ge "raid1: md counts them too" "$mismatch_cnt" 3

# killed and stopped while writes are suspended; what was planted is in there
beneath 1 $((fifth * chunk)) 1024
catch -KILL
expect_ok "killed: writes go on" wait_for 2 sh -c "! grep -v '^0' $MD/suspend_hi"
expect_ok "killed: the other ends, too" wait_for 5 sh -c "! pidof array_scrub"
expect_ok "killed: no task is left" wait_for 5 grep -qx 0 "$(fb "$(disk_of 0)")/tasks"
catch -STOP
expect_ok "stopped: writes are suspended" suspended
expect_ok "stopped: and go on" wait_for 11 sh -c "! grep -v '^0' $MD/suspend_hi"
kill -CONT "$program"
wait
expect_match "stopped: is not compared" "$(cat /tmp/said)" '"kind": "unsettled"'
expect_eq "stopped: all else is" "$(($(said mismatched_sectors) + $(said not_compared_sectors)))" \
	1024
expect_ok "a write" dd if=/dev/zero of=/dev/md0 bs=4k count=1 oflag=direct

# refused
echo 8 > $MD/suspend_hi
expect_fail "suspended by others" scrub
expect_match "says why" "$(cat /tmp/errors)" "sectors 0 to 8 are suspended by others"
echo 0 > $MD/suspend_hi
echo 100 > $MD/sync_speed_max
echo 100 > $MD/sync_speed_min
echo check > $MD/sync_action
expect_fail "while md checks" scrub
expect_match "says why" "$(cat /tmp/errors)" "its sync_action is 'check': wait"
echo idle > $MD/sync_action
wait_for 10 at_rest
expect_fail "no array" array_scrub "/dev/$(disk_of 0)"
expect_ok "fail a member" mdadm --quiet /dev/md0 --fail "/dev/$(disk_of 1)"
expect_fail "one copy" scrub
expect_match "says why" "$(cat /tmp/errors)" "fewer than two of its copies are in sync"
expect_ok "raid1: stop" mdadm --quiet --stop /dev/md0
members_off

# ---- RAID5 ----

# row_of_p SLOT: a row of the fifth tenth whose P, left-symmetric, is there
row_of_p()
{
	echo $((fifth / n * n + n + n - 1 - $1))
}

level=5
chunk=32
n=3
new_members $n tiny.fbdrive tiny.fbmodel
create 5 $n --chunk=16
fifth=$(($(cat $MD/component_size) * 2 / 10 * 4 / chunk))
writers
: > /tmp/planted
plant P -1 0 "$(row_of_p 0)" 3
plant P -1 2 "$(row_of_p 1)" 17
plant P -1 0 "$(row_of_p 2)" 31
plant P -1 1 $(($(row_of_p 2) + 3)) 8
scrub --memory 3 --state /tmp/state --interval 1 &
pid=$!
expect_ok "raid5: notes what is done" wait_for 60 [ -s /tmp/state ]
kill -TERM "$(pidof array_scrub | tr ' ' '\n' | sort -n | head -n 1)"
wait $pid
expect_eq "raid5: status when terminated" $? 143
expect_eq "raid5: state" "$(said state)" interrupted
done=$(said windows_done)
expect_ge "raid5: windows done" "$done" 1
sed 's/^array .*/array another/' /tmp/state > /tmp/other
expect_fail "another array's state" scrub --state /tmp/other
expect_match "says why" "$(cat /tmp/errors)" "of another array"
head -n 5 /tmp/state > /tmp/torn
expect_fail "torn state" scrub --state /tmp/torn
expect_match "says why" "$(cat /tmp/errors)" "cut short"
scrub --memory 3 --state /tmp/state
expect_eq "raid5: status" $? 3
expect_eq "raid5: goes on" "$(said resumed) $(said state)" "true complete"
expect_le "raid5: not all is read again" "$(said sectors_read)" \
	$((($(said windows) - done) * $(said window_sectors) * n))
expect_fail "raid5: the state is of no use any more" [ -e /tmp/state ]
judge raid5
writers_end raid5
md_check
expect_eq "raid5: md counts as many" "$mismatch_cnt" $((8 * $(wc -l < /tmp/planted)))
expect_ok "fail a member" mdadm --quiet /dev/md0 --fail "/dev/$(disk_of 1)"
expect_fail "raid5: degraded" scrub
expect_match "says why" "$(cat /tmp/errors)" "it is degraded, 2 of 3 members are in sync"
expect_ok "raid5: stop" mdadm --quiet --stop /dev/md0
members_off

# ---- RAID6 ----

level=6
n=5
new_members $n tiny.fbdrive tiny.fbmodel
create 6 $n --chunk=16
fifth=$(($(cat $MD/component_size) * 2 / 10 * 4 / chunk))
writers
: > /tmp/planted
plant P 4 4 "$(row_of_p 4)" 3
plant Q 0 0 $(($(row_of_p 4) + n)) 9
plant Q 4 4 "$(row_of_p 3)" 30
plant PQ 1 1 "$(row_of_p 2)" 11
plant PQ 0 0 "$(row_of_p 2)" 20
plant PQ 3 3 "$(row_of_p 1)" 0
plant PQ 4 4 "$(row_of_p 0)" 25
scrub --memory 5
expect_eq "raid6: status" $? 3
judge raid6
writers_end raid6
md_check
expect_eq "raid6: md counts as many" "$mismatch_cnt" $((8 * $(wc -l < /tmp/planted)))

# a member that cannot be read: what is there is not compared, and md does not lose it
at=$((($(row_of_p 1) + 2 * n) * chunk))
echo "add $((offset + at)) 1" > /sys/kernel/mechdisk/"$(echo $drives | cut -d' ' -f4)"/medium_errors ||
	die "no bad sector"
scrub
expect_eq "unreadable: status" $? 3
expect_eq "unreadable: it is named" "$(sed -n \
	's/.*"kind": "unreadable", "offset": \([0-9]*\), "sectors": \([0-9]*\), "slot": 3,.*/\1 \2/p' \
	/tmp/said | awk -v at=$at '$1 <= at && at < $1 + $2 { n++ } END { print n, NR }')" "1 1"
expect_eq "unreadable: mismatches" "$(said mismatched_sectors)" "$(wc -l < /tmp/planted)"
note "unreadable: $(said not_compared_sectors) sectors not compared"
expect_match "unreadable: all members" "$(cat /proc/mdstat)" '.UUUUU.'
expect_ok "raid6: stop" mdadm --quiet --stop /dev/md0
members_off

# ---- where the kernel puts what ----

: > /tmp/planted
for level in 5 6; do
	n=$level
	new_members $n tiny.fbdrive tiny.fbmodel
	for layout in left-asymmetric right-asymmetric left-symmetric right-symmetric \
		parity-first parity-last; do
		create $level $n --chunk=4 --size=512 --layout=$layout
		dd if=/dev/urandom of=/dev/md0 bs=64k count=24 oflag=direct 2>/dev/null
		scrub
		expect_eq "raid$level $layout: no mismatch" \
			"$? $(said layout) $(said mismatched_sectors)" "0 $layout 0"
		# the first row of a turn: P, or Q 0 1 2 3 P
		if [ $layout = left-asymmetric ]; then
			beneath 4 $((8 * 2 * n))
			scrub
			case $level in
			5) wrong='"kind": "P", "offset": 80, "sectors": 1, "slot": -1' ;;
			6) wrong='"kind": "PQ", "offset": 96, "sectors": 1, "slot": 4' ;;
			esac
			expect_match "raid$level $layout: its data" "$(cat /tmp/said)" "$wrong"
		fi
		mdadm --quiet --stop /dev/md0
		mdadm --quiet --zero-superblock $(echo $disks | sed 's|sd|/dev/sd|g')
	done
	members_off
done

note "planted $planted, found $found, false $false"
echo "{\"array_scrub\": {\"planted\": $planted, \"found\": $found, \"false\": $false}}" \
	> /out/examples.json
expect_within "freeblock unloads" 30 unload_module freeblock
expect_within "mechdisk unloads" 30 unload_module mechdisk
done_testing
