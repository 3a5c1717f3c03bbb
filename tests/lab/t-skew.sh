# SPDX-License-Identifier: GPL-2.0
# Foregrounds that are not spread evenly, beside a scan, with depth auto: a hot spot of 1 % of the
# disk with a lone reader beside it, Zipf's law, and one that appends beside random reads. Their gaps
# are short, but they are no streams: the policy orders, read_expire is kept, and the scan costs what
# it may. Then a task that wants one block every 50 ms beside a deep foreground, which is not worth
# the policy's order all of the time.
#
# Expected: foreground_cost_ppm is 10000; the lone reader waits for read_expire, 500 ms, and what
# is at the drive then. Each load is made with five seeds, without the scan and with it.
#
# Seen to fail: a stream known by the gaps' mean latency (hot spot: the drive orders in 34 of 60
# samples, the lone reader's median 684 ms); demand for a few blocks that has the policy's order
# without a pause (the trickle, 954 per mille).
#
# lab: kernel=stock clock=icount smp=1 timeout=600

. /lab/lib.sh

tasks=/sys/kernel/debug/fbtasks

# load NAME SECONDS SEED ARGUMENTS
load()
{
	local name="$1" seconds="$2" seed="$3"

	shift 3
	fio_run "$name" --filename="/dev/$disk" --direct=1 --ioengine=libaio --time_based \
		--runtime="$seconds" --randseed="$seed" --allrandrepeat=1 --norandommap "$@"
	ios=$(fio_ios "$name")
}

# skewed NAME LEAST MOST ARGUMENTS: requests beside a scan, per mille of those without, five seeds
skewed()
{
	local name="$1" least="$2" most="$3" alone ratios='' seed

	shift 3
	for seed in 1 2 3 4 5; do
		load "$name-alone$seed" 4 $seed "$@"
		eval "alone$seed=$ios"
	done
	echo start > "$(fb "$disk")/scan"
	# the price of a turn is found
	load "$name-settle" 40 6 "$@"
	for seed in 1 2 3 4 5; do
		load "$name-scan$seed" 4 $seed "$@"
		eval "alone=\$alone$seed"
		ratios="$ratios $((ios * 1000 / alone))"
		expect_eq "$name: who orders" "$(state "$disk" order)" policy
	done
	# shellcheck disable=SC2086
	expect_mean "$name: requests beside a scan, per mille of those without" $least $most $ratios
	# shellcheck disable=SC2086
	promise "$name: foreground_cost_ppm 10000: requests, per mille" "$(mean_of $ratios)" ge 990
	expect_within "$name: the scan stops" 20 scan_stop "$disk"
}

load_module mechdisk
load_module freeblock
load_module fbtasks
disk=$(drive_new d nearline16.fbdrive "") || exit 1
sched_set "$disk" freeblock
model_load "$disk" nearline16.fbmodel

hot="--rw=randread --bs=4k --iodepth=32 --offset=10% --size=1%"
# shellcheck disable=SC2086
skewed hot 980 1030 $hot
skewed zipf 750 1000 --rw=randread --bs=4k --iodepth=32 --random_distribution=zipf:1.1
drive_off d

# One block every 50 ms
disk=$(drive_new e atlas10k.fbdrive "") || exit 1
sched_set "$disk" freeblock
model_load "$disk" atlas10k.fbmodel
granule=$(($(cat "$(fb "$disk")/granule_bytes") / 512))

# trickle SECONDS: during so many seconds
trickle()
{
	local end=$(($(date +%s) + $1)) n=0

	while [ "$(date +%s)" -lt $end ]; do
		n=$((n + 1))
		echo "add k $((n * 7919 % 100000 * granule)) $granule" > $tasks/command
		usleep 50000
	done
}

deep="--rw=randread --bs=4k --iodepth=32"
echo "new k $disk keep" > $tasks/command
echo "start k" > $tasks/command
ratios=
for seed in 1 2 3 4 5; do
	# shellcheck disable=SC2086
	load alone$seed 16 $seed $deep
	alone=$ios
	trickle 16 &
	# shellcheck disable=SC2086
	load trickle$seed 16 $seed $deep
	wait
	ratios="$ratios $((ios * 1000 / alone))"
done
sed 's/^/# /' $tasks/state
# shellcheck disable=SC2086
expect_mean "a block every 50 ms: requests, per mille of those without" 985 1010 $ratios
# shellcheck disable=SC2086
promise "a block every 50 ms: foreground_cost_ppm 10000: requests, per mille" \
	"$(mean_of $ratios)" ge 990
echo "destroy k" > $tasks/command
drive_off e
unload_module fbtasks
expect_within "unload freeblock" 20 unload_module freeblock
done_testing
