# SPDX-License-Identifier: GPL-2.0
# Drives of another speed than the model's, beside a scan: no phase is ever found, nothing is
# predicted, and so the model is not judged. They are given up, which is said in state/, in status
# and in one line of the log: the drive orders, no gap is used, idle reads go on. It is tried again
# after a pause, without a word, and at once with a model that is loaded or forced. The model's own
# drive is never given up under the same load, nor with its cache in front of half of it.
#
# Expected: 512 reads make a verdict; with this load a drive makes 100 a second and more.
# Pauses are 60 s and 120 s.
#
# Seen to fail: fb_phase_read() not asked (never given up); each verdict said (log); the policy orders
# all the same (order); the phase not begun anew with a model.
#
# lab: kernel=stock clock=icount smp=1 timeout=600
# lab-freeblock: status

. /lab/lib.sh

# load NAME SECONDS SEED ARGUMENTS
load()
{
	local name="$1" seconds="$2" seed="$3"

	shift 3
	fio_run "$name" --filename="/dev/$disk" --direct=1 --ioengine=libaio --iodepth=8 \
		--rw=randread --bs=8k --norandommap --time_based --runtime="$seconds" \
		--randseed="$seed" --allrandrepeat=1 "$@"
	expect_eq "$name: no errors" "$(fio_errors "$name")" 0
}

# attach NAME LINES: with a scan
attach()
{
	disk=$(drive_new "$1" atlas10k.fbdrive "$2") || exit 1
	sched_set "$disk" freeblock
	model_load "$disk" atlas10k.fbmodel
	# idle reads are not what this is about, and may cost more than they do
	echo 100000 > "$(fb "$disk")/idle_mean_us"
	echo 1000000 > "$(fb "$disk")/idle_max_us"
	said=$(lines)
	echo start > "$(fb "$disk")/scan"
}

detach()
{
	expect_within "$1: the scan stops" 30 scan_stop "$disk"
	drive_off "$1"
}

# phase: and what is said of gaps, and who orders
phase()
{
	echo "$(state "$disk" phase), $(state "$disk" free_reads), $(state "$disk" order)"
}

# scanned: blocks so far
scanned()
{
	job "$disk" scan blocks_delivered
}

more_than()
{
	[ "$(scanned)" -gt "$1" ]
}

# lines: of the log
lines()
{
	dmesg | grep -c "freeblock: $disk: reads end at no angle"
}

load_module mechdisk
load_module freeblock
given_up="given-up, off: reads end at no angle of the model, drive"

for seed in 1 2 3; do
	attach "true$seed" "seed $seed"
	load "true-$seed" 12 $seed
	expect_eq "true $seed: the phase is found" "$(phase)" "locked, on, policy"
	load "true-cached-$seed" 12 $seed --random_distribution=zipf:1.1
	expect_eq "true $seed, cached: the phase is not given up" "$(state "$disk" free_reads)" on
	expect_eq "true $seed: nothing is said" $(($(lines) - said)) 0
	detach "true$seed"
done

# turns of 6045 us instead of 5985; 7200 a minute; 15000; each with a seed
for drive in 6045000000:1 8333333333:2 4000000000:3; do
	attach "wrong${drive#*:}" "period_ps ${drive%:*}
seed ${drive#*:}"
	expect_eq "${drive%:*}: looked for at first" "$(phase)" "unknown, on, policy"
	load "wrong-${drive%:*}" 12 "${drive#*:}"
	expect_eq "${drive%:*}: given up" "$(phase)" "$given_up"
	expect_eq "${drive%:*}: still scheduled" "$(state "$disk" scheduling)" yes
	expect_eq "${drive%:*}: said" $(($(lines) - said)) 1
	expect_ok "${drive%:*}: idle reads go on" wait_for 60 more_than $(($(scanned) + 100))
	[ "${drive#*:}" = 3 ] || detach "wrong${drive#*:}"
done

expect_match "status says what to do" "$(freeblock status "$disk")" \
	"knowledge: rates: reads end at no angle of the model; run: freeblock setup /dev/$disk --measure"
iosched "$disk" depth 2
expect_eq "with any depth" "$(phase)" "$given_up"
iosched "$disk" depth auto

# the next tries: after a minute, and two
sleep 62
expect_eq "after a pause it is looked for" "$(phase)" "unknown, on, policy"
load again 12 4
expect_eq "given up again" "$(phase)" "$given_up"
expect_eq "not said again" $(($(lines) - said)) 1
sleep 62
expect_eq "a longer pause" "$(phase)" "$given_up"

echo 1 > "$(fb "$disk")/model_force"
expect_eq "forced: looked for anew" "$(phase)" "unknown, on, policy"
load forced 12 5
expect_eq "forced: given up" "$(phase)" "$given_up"
expect_within "the scan stops" 30 scan_stop "$disk"
expect_eq "without a task" "$(phase)" "$given_up"
model_load "$disk" atlas10k.fbmodel
expect_eq "a model: looked for anew" "$(phase)" "unknown, no task, drive"
drive_off wrong3
expect_within "unload freeblock" 20 unload_module freeblock
done_testing
