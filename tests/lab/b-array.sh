# SPDX-License-Identifier: GPL-2.0
# What scrubbing an array costs its foreground: array_scrub beside md's own check, at the rate that
# array_scrub came to, and md's check in the idle class. The members' scheduler is freeblock in
# all cases. The foreground is Poisson, 67 % reads of 4 to 32 KiB all over the array, the same
# requests with each seed; a RAID1 of two and a RAID5 of four Atlas 10K. Then: how fast windows
# of several sizes are read.
#
# Members hold what the simulated drive makes up, the same on each: copies are equal, and
# so is P with four members (--assume-clean).
#
# Expected: array_scrub costs less than md's check on the mean of the seeds.
#
# Leaves /out/array: LEVEL SEED WHO MEAN_US P99_US KIB_PER_S (of each member), and
# /out/windows: MEMORY_MIB KIB_PER_S MEAN_US P99_US.
# Variables: SECONDS_EACH, SEEDS, LEVELS, MEMORIES
#
# lab-programs: load array_scrub
# lab: kernel=stock clock=icount smp=1 timeout=3600

. /lab/lib.sh
. /lab/files/array.sh

SECONDS_EACH=${SECONDS_EACH:-40}
SEEDS=${SEEDS:-1 2 3}
LEVELS=${LEVELS:-1 5}
MEMORIES=${MEMORIES-2 8 32 128}
WARMUP=5

# foreground: sets $mean and $p99, us
foreground()
{
	local n

	# shellcheck disable=SC2086 # words are meant
	load random /dev/md0 depth=1024 rate=$rate reads=67 seed="$seed" warmup=$WARMUP \
		seconds="$SECONDS_EACH" out=/tmp/latencies > /tmp/load ||
		die "no load: $(cat /tmp/load)"
	# the highest bit says that it was a write
	od -An -v -tu4 -w4 /tmp/latencies | awk '{ print $1 % 2147483648 }' | sort -n > /tmp/us
	n=$(wc -l < /tmp/us)
	mean=$(awk '{ s += $1 } END { printf "%d", s / NR }' /tmp/us)
	p99=$(sed -n "$((n * 99 / 100))p" /tmp/us)
}

row()
{
	echo "$level $seed $1 $mean $p99 $2" >> /out/array
	note "$(tail -n 1 /out/array)"
}

alone()
{
	foreground
	row alone 0
}

# ours MEMORY: sets $kib
ours()
{
	array_scrub --json --interval 0 --memory "$1" /dev/md0 > /tmp/said 2> /tmp/errors &
	foreground
	kill -TERM "$(pidof array_scrub | tr ' ' '\n' | sort -n | head -n 1)"
	wait
	kib=$(awk -F'[:,]' '/"sectors_read"/ { r = $2 } /"seconds"/ { s = $2 }
		END { printf "%d", r / 2 / s / '"$n"' }' /tmp/said)
	[ -s /tmp/errors ] && note "$(cat /tmp/errors)"
	expect_match "raid$level, seed $seed: no mismatch" "$(cat /tmp/said)" \
		'"mismatched_sectors": 0,'
	expect_match "raid$level, seed $seed: to the end" "$(cat /tmp/said)" \
		'"state": "(interrupted|complete)"'
}

# KiB of each member that md has checked
checked()
{
	sed -n 's/.* check = .*(\([0-9]*\)\/.*/\1/p' /proc/mdstat
}

# md WHO: at $kib
md()
{
	local began checked

	echo "$kib" > $MD/sync_speed_max
	echo "$kib" > $MD/sync_speed_min
	echo check > $MD/sync_action
	wait_for 5 pidof md0_resync
	[ "$1" = md-idle ] && expect_ok "idle class" ionice -c 3 -p "$(pidof md0_resync)"
	began="$(checked) $(cut -d' ' -f1 /proc/uptime)"
	foreground
	checked="$(checked) $(cut -d' ' -f1 /proc/uptime)"
	row "$1" "$(echo "$began $checked" | awk '{ printf "%d", ($3 - $1) / ($4 - $2) }')"
	echo idle > $MD/sync_action
	wait_for 30 at_rest
}

# begin LEVEL MEMBERS RATE: fresh drives
begin()
{
	level=$1 n=$2 rate=$3
	new_members "$n" atlas10k.fbdrive atlas10k.fbmodel
	create "$level" "$n" --assume-clean
}

end()
{
	expect_ok "raid$level: stop" mdadm --quiet --stop /dev/md0
	for disk in $disks; do
		note "$disk: $(numbers "$disk" stats | grep -E '^(background|miss|order|guard)' |
			tr '\n' ' ')"
	done
	members_off
}

load_module mechdisk
load_module freeblock
load_module raid1
load_module raid456
for seed in $SEEDS; do
	for level in $LEVELS; do
		case $level in
		1) begin 1 2 90000 ;;
		5) begin 5 4 110000 ;;
		esac
		alone
		ours 64
		row ours "$kib"
		md md
		md md-idle
		end
	done
done

seed=1
[ -n "$MEMORIES" ] && begin 1 2 90000
for memory in $MEMORIES; do
	ours "$memory"
	echo "$memory $kib $mean $p99" >> /out/windows
	note "windows: $(tail -n 1 /out/windows)"
done
[ -n "$MEMORIES" ] && end

# what they add to the foreground, us, on the mean of all; and one by the other
awk '$3 == "alone" { mean = $4; p99 = $5; next }
	{ m[$3] += $4 - mean; p[$3] += $5 - p99; k[$3] += $6; n[$3]++ }
	END { for (who in n)
		printf "%s adds to the mean %d us, to the 99th percentile %d us, at %d KiB/s\n",
			who, m[who] / n[who], p[who] / n[who], k[who] / n[who]
	printf "ratio %.3f\nspeed %.3f\n", m["ours"] / m["md"], k["md"] / k["ours"] }' /out/array > /tmp/costs
while read -r line; do
	note "$line"
done < /tmp/costs
ratio=$(kv /tmp/costs ratio)
echo "{\"array_scrub\": {\"cost_ratio_md\": $ratio}}" > /out/examples.json
expect_ge "md is as fast" "$(kv /tmp/costs speed)" 0.9
expect_le "md is not faster" "$(kv /tmp/costs speed)" 1.1
expect_le "it costs less than md's check" "$ratio" 0.999
expect_within "freeblock unloads" 30 unload_module freeblock
expect_within "mechdisk unloads" 30 unload_module mechdisk
done_testing
