# SPDX-License-Identifier: GPL-2.0
# Foregrounds that leave nothing to gain, beside a scan, with depth auto: a stream behind
# the drive's look-ahead is as fast as under mq-deadline, and what the drive orders and
# answers from its cache does not cost the model its trust; nor do cached writes. Without
# a scan the drive has all requests, beside one two of them, and the second is held back.
#
# Seen to fail: completions without a prediction judged (cached writes); depth auto always
# two commands (the stream, 925 per mille; the order without a task); nothing held back
# (mean response, 944 per mille).
#
# lab: kernel=stock clock=icount smp=1 timeout=300

. /lab/lib.sh

# load NAME SECONDS ARGUMENTS; sets $ios
load()
{
	local name="$1" seconds="$2"

	shift 2
	fio_run "$name" --filename="/dev/$disk" --direct=1 --ioengine=libaio \
		--time_based --runtime="$seconds" --randseed="${seed:-1}" --allrandrepeat=1 "$@"
	ios=$(fio_ios "$name")
	expect_eq "$name: no errors" "$(fio_errors "$name")" 0
}

# mean response of a load of reads
fio_mean_us()
{
	fio_field "$1" 40 | cut -d. -f1
}

load_module mechdisk
load_module freeblock

disk=$(drive_new d nearline16.fbdrive "") || exit 1
sched_set "$disk" mq-deadline
# at several places, since one run may lose a turn more or less
places="13 18 26 31 39 44 52 57"
for place in $places; do
	load before$place 5 --iodepth=32 --rw=read --bs=1m --offset=${place}g
done
sched_set "$disk" freeblock
model_load "$disk" nearline16.fbmodel
echo start > "$(fb "$disk")/scan"
load settle 2 --iodepth=32 --rw=read --bs=1m
ratios=
for place in $places; do
	load stream$place 5 --iodepth=32 --rw=read --bs=1m --offset=${place}g
	ratios="$ratios $((ios * 1000 / $(fio_ios before$place)))"
done
# shellcheck disable=SC2086
expect_mean "stream beside a scan, per mille of mq-deadline" 975 1020 $ratios
# shellcheck disable=SC2086
promise "a stream beside a scan, per mille of mq-deadline" "$(mean_of $ratios)" ge 980
expect_eq "stream: the model is believed" "$(state "$disk" knowledge)" map
drive_off d

disk=$(drive_new e atlas10k.fbdrive "cache 10 400 0
read_ahead track") || exit 1
sched_set "$disk" freeblock
model_load "$disk" atlas10k.fbmodel
echo 1 > /sys/kernel/mechdisk/e/stats_reset
load deep 3 --iodepth=10 --rw=randread --bs=8k
expect_eq "no task: whose order" "$(state "$disk" order)" drive
expect_ge "no task: commands at the drive" "$(drive_stat e max_outstanding)" 8
echo start > "$(fb "$disk")/scan"
load hits 15 --iodepth=32 --rw=read --bs=64k
expect_eq "cache hits: the model is believed" "$(state "$disk" knowledge)" map
load random 8 --iodepth=10 --rw=randread --bs=8k
expect_ge "gaps again: free sectors" "$(stats "$disk" free_sectors)" 50000
expect_eq "a scan: whose order" "$(state "$disk" order)" policy
expect_eq "a scan: most commands scheduled" "$(stats "$disk" max_in_flight)" 2
expect_within "scan stops" 20 scan_stop "$disk"

# Poisson arrivals, 86 % of what the drive can do. The simulator (freeblock sim --preset paper --rate 110
# --reads 1 --size 8k --policy sptf --hold 0,1 --seconds 10) has 12 % less with hold_back.
iosched "$disk" depth 2
ratios=
for seed in 1 2 3; do
	for hold in 0 1; do
		iosched "$disk" hold_back $hold
		load hold$hold 10 --iodepth=64 --rw=randread --bs=8k --rate_iops=110 \
			--rate_process=poisson
		note "hold_back $hold: $ios reads, mean $(fio_mean_us hold$hold) us"
	done
	ratios="$ratios $(($(fio_mean_us hold1) * 1000 / $(fio_mean_us hold0)))"
done
# shellcheck disable=SC2086
expect_mean "held back: mean response, per mille of that at once" 780 930 $ratios
drive_off e

disk=$(drive_new f nearline16-wc.fbdrive "") || exit 1
sched_set "$disk" freeblock
model_load "$disk" nearline16.fbmodel
echo start > "$(fb "$disk")/scan"
load writes 8 --iodepth=1 --rw=randwrite --bs=4k --size=64m
expect_eq "cached writes: the model is believed" "$(state "$disk" knowledge)" map
drive_off f

expect_within "unload freeblock" 20 unload_module freeblock
done_testing
