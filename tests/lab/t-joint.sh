# SPDX-License-Identifier: GPL-2.0
# Policy auto: requests are chosen together with the free reads before them. The same foreground
# is served by sptf and by auto beside a scan, three times with other requests; what a second task
# gets is judged by the host against the drive's pattern and journal.
#
# Expected: auto reads more for free than sptf, which loses hardly a request; it depends on the
# cost that is allowed; no block is wrong. Three seeds: 961, 986, 995 per mille of the requests, for the
# price is found in the first seconds, and 127, 130, 140 per cent of the sectors.
#
# Seen to fail with: fb_round_settle() that does nothing (auto is sptf).
#
# lab: kernel=stock clock=icount smp=1 timeout=500

. /lab/lib.sh

load_module mechdisk
load_module freeblock
disk=$(drive_new toy toy.fbdrive "journal_records 262144") || exit 1
expect_ok "scheduler freeblock" sched_set "$disk" freeblock
model_load "$disk" toy.fbmodel
# what reads and turns cost is to be compared, not to be limited
iosched "$disk" target_slowdown_ppm 1000000
echo 0 > "$(fb "$disk")/idle_mean_us"

# phase POLICY SEED: sets ios_POLICY and free_POLICY
phase()
{
	local free

	iosched "$disk" policy "$1"
	free=$(stats "$disk" free_sectors)
	fio_run "$1-$2" --filename=/dev/"$disk" --direct=1 --ioengine=libaio --iodepth=10 \
		--rw=randrw --rwmixread=67 --bssplit=4k/50:8k/25:16k/25 --norandommap \
		--time_based --runtime=6 --randseed="$2" --allrandrepeat=1
	free=$(($(stats "$disk" free_sectors) - free))
	expect_eq "$1, seed $2: errors" "$(fio_errors "$1-$2")" 0
	echo "# $1, seed $2: $(fio_ios "$1-$2") requests, $free sectors"
	eval "ios_$1=$(fio_ios "$1-$2") free_$1=$free"
}

expect_ok "a task begins" consumer_start "$disk" toy
requests='' blocks=''
for seed in 1 2 3; do
	phase sptf $seed
	phase auto $seed
	# shellcheck disable=SC2154
	requests="$requests $((ios_auto * 1000 / ios_sptf))"
	# shellcheck disable=SC2154
	blocks="$blocks $((free_auto * 100 / free_sptf))"
done
expect_mean "requests of auto, per mille of those of sptf" 940 998 "$requests"
expect_mean "free reads of auto, per cent of those of sptf" 115 165 "$blocks"
expect_within "the task stops" 60 consumer_stop
consumer_keep "$disk" toy
unload_module fbconsumer
expect_eq "no free read failed" "$(stats "$disk" free_errors)" 0
sched_set "$disk" none
drive_off toy
expect_within "unload freeblock" 30 unload_module freeblock
expect_within "unload mechdisk" 30 unload_module mechdisk
done_testing
