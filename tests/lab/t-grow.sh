# SPDX-License-Identifier: GPL-2.0
# A map that grows while it is used. First the model has 40 % of the drive, beside a shallow
# foreground, then a deep one. Then it is replaced a hundred times, by one with more of the drive
# mapped, or less, beside a foreground and tasks that read all of the disk. At last the model has a
# third of the drive elsewhere, which freeblock models check finds and mends beside tasks.
#
# Expected: gaps are used with 40 % mapped, and not beside the deep foreground, which the drive orders;
# each task gets each block once, and right; each model is taken; nothing is left; what was measured
# anew is found right by a second check, and shown.
#
# Seen to fail: no map used with less than 95 % mapped; a deep foreground ordered by such a map; a check that keeps
# what is elsewhere; one whose model is not loaded.
#
# lab-compile: fbread.c
# lab-python: freeblock.machine.checks freeblock.formats.fbmodel _pydecimal
# lab-freeblock: models status
# lab: kernel=stock clock=icount smp=1 timeout=400

. /lab/lib.sh

times=${GROW_TIMES:-100}
load_module mechdisk
load_module freeblock
disk=$(drive_new g tiny.fbdrive "serial MDG") || exit 1
D=/dev/$disk
grep -q '^zone 200' /lab/files/tiny.fbmodel || die "tiny.fbmodel has other zones"

# seal: a model's text with an end record
seal()
{
	/usr/bin/python3 -c 'if True:
		import sys
		sys.path.insert(0, "/bin/cli")
		from freeblock.formats import fbmodel
		sys.stdout.buffer.write(fbmodel.seal(sys.stdin.buffer.read()))
		'
}

# holes NAME ZONES: the model, with these zones (by their first cylinders) not mapped
holes()
{
	sed -E "/^zone ($2) /s/\$/ unmapped/" /lab/files/tiny.fbmodel |
		awk -v holes="|$2|" '$1 == "zone" { hole = index(holes, "|" $2 "|") }
			(!hole || $1 == "zone") && $1 != "end"' | seal > "/tmp/$1.fbmodel"
	model_table "/tmp/$1.fbmodel" > "/tmp/$1.name" || die "no model $1"
}

holes first '100|200'
holes more '200'
holes other '0'
holes whole 'none'
sched_set "$disk" freeblock || die "no freeblock"
iosched "$disk" target_slowdown_ppm 1000000
echo 1000 > "$(fb "$disk")/idle_wait_us"
echo 10000000 > "$(fb "$disk")/idle_mean_us"
echo 60000000 > "$(fb "$disk")/idle_max_us"
cat "$(cat /tmp/first.name)" > "$(fb "$disk")/model" || die "no model"
expect_eq "sectors that are mapped" "$(state "$disk" mapped_sectors)" 20169

# gaps DEPTH: free reads beside so many outstanding requests for three seconds
gaps()
{
	local before=$(($(stats "$disk" separates) + $(stats "$disk" prepends)))

	fbread copy "$D" files=1 forks=0 > /tmp/copy 2>&1 &
	copy=$!
	fio --output-format=terse --eta=never --output=/tmp/load --name=load --filename="$D" --direct=1 \
		--ioengine=libaio --iodepth="$1" --rw=randread --bs=4k --norandommap --time_based \
		--runtime=3 --allow_file_create=0
	wait $copy
	free=$(($(stats "$disk" separates) + $(stats "$disk" prepends) - before))
}

gaps 2
expect_ge "gaps are used with 40 % mapped" "$free" 20
gaps 8
expect_le "but not beside a deep foreground" "$free" 5

fio --output-format=terse --eta=never --output=/tmp/load --name=load --filename="$D" --direct=1 --ioengine=libaio \
	--iodepth=4 --rw=randread --bs=4k --norandommap --time_based --runtime=3600 \
	--allow_file_create=0 &
fio=$!
: > /tmp/copies
(while [ ! -e /tmp/enough ]; do
	fbread copy "$D" files=2 forks=1 >> /tmp/copies 2>&1
	echo "exit $?" >> /tmp/copies
done) &
copies=$!
taken=0
n=0
while [ $n -lt "$times" ]; do
	for next in first more whole other; do
		cat "$(cat /tmp/$next.name)" > "$(fb "$disk")/model" && taken=$((taken + 1))
		n=$((n + 1))
		usleep 60000
	done
done
touch /tmp/enough
# the last copy has idle time
kill -INT $fio
wait $fio
wait $copies
note "$(grep -c ^exit /tmp/copies) copies of two, $taken models"
expect_eq "each model is taken" "$taken" "$n"
expect_ge "copies under way meanwhile" "$(grep -c ^exit /tmp/copies)" 1
expect_eq "each block came once, and right" "$(grep -E \
	'^(twice|wrong|missing|mixed|unreadable|untried|end|exit) ' /tmp/copies | sort -u | tr '\n' ' ')" \
	"end 0 exit 0 missing 0 mixed 0 twice 0 unreadable 0 untried 0 wrong 0 "
expect_ge "gaps were used" "$(($(stats "$disk" separates) + $(stats "$disk" prepends)))" 1
expect_ok "nothing is left" [ "$(cat "$(fb "$disk")/tasks")" = 0 ]

### a drive that is no longer as its model says

sed -E '/^zone 100 /s/ angle 0.25 / angle 0.4 /' /lab/files/tiny.fbmodel | seal > /tmp/spoilt.fbmodel
expect_ok "the model is kept" freeblock models install --disk "$disk" /tmp/spoilt.fbmodel
expect_ok "and loaded" freeblock models load "$disk"
rm /tmp/enough
: > /tmp/copies
(while [ ! -e /tmp/enough ]; do
	fbread copy "$D" files=2 forks=1 >> /tmp/copies 2>&1
done) &
copies=$!
expect_match "a run that is elsewhere is measured anew" "$(freeblock models check "$disk" 2>&1)" \
	": 1 runs were elsewhere, 16[0-9]{3} LBNs mapped again; 99[.]"
# its last track is too short to be found
mapped=$(state "$disk" mapped_sectors)
expect_ok "the kernel has it: $mapped sectors" [ "$mapped" -ge 50000 -a "$mapped" -lt 50129 ]
expect_match "then all is as the model says" "$(freeblock models check "$disk" 2>&1)" \
	"reads: as the model says; 99[.]"
touch /tmp/enough
wait $copies
expect_match "both are shown" "$(freeblock status "$disk" | tr '\n' ' ')" \
	"map checked 2.* as the model says; .* map changed 2.* 1 runs were elsewhere"
expect_eq "each block still came once, and right" "$(grep -E \
	'^(twice|wrong|missing|mixed|unreadable|untried|end) ' /tmp/copies | sort -u | tr '\n' ' ')" \
	"end 0 missing 0 mixed 0 twice 0 unreadable 0 untried 0 wrong 0 "
done_testing
