# SPDX-License-Identifier: GPL-2.0
# The guest's part of make demo: one foreground, first alone, then with a scan
# of the whole disk. tools/demo starts it and makes sense of what it leaves in
# /out: fio's JSON, status before and after, samples over time, checksums.
#
# Variables: DRIVE MODEL POLICY CONSERVATISM_US RUNTIME_S NOISE SEED BSSPLIT
# and SCAN=0 to leave out the second phase.
#
# lab-kernel-modules: libata

. /lab/lib.sh

phase()
{
	local name="$1" elapsed=0 pid

	echo 1 > "/sys/kernel/debug/freeblock/$disk/reset"
	fio --name="$name" --filename="/dev/$disk" --direct=1 --ioengine=libaio \
		--iodepth=10 --rw=randrw --rwmixread=67 --bssplit="$BSSPLIT" \
		--norandommap --random_generator=tausworthe64 --randseed="$SEED" \
		--allrandrepeat=1 --time_based --runtime="$RUNTIME_S" \
		--write_iops_log="/out/$name" --log_avg_msec=1000 \
		--lat_percentiles=1 --eta=never --output-format=json+ \
		--output="/out/$name.json" &
	pid=$!
	# fio logs its own rate. The scan's state costs next to nothing to
	# read; the scheduler's status is formatted with interrupts off, which
	# would make the simulated drive late.
	while kill -0 $pid 2>/dev/null; do
		echo "$name $(cut -d' ' -f1 /proc/uptime) $(consumer "done")" >> /out/samples
		if [ $((elapsed % 10)) = 0 ]; then
			echo "@demo $name $elapsed of $RUNTIME_S s"
		fi
		sleep 1
		elapsed=$((elapsed + 1))
	done
	if wait $pid; then ok "$name: fio"; else not_ok "$name: fio" "status $?"; fi
	numbers "$disk" state stats > "/out/$name.status"
	cat "/sys/kernel/mechdisk/demo/stats" > "/out/$name.drive"
	cat "/sys/kernel/debug/freeblock/$disk/prediction_error" > "/out/$name.errors"
}

load_module mechdisk
load_module freeblock
extra="seed $SEED
journal_records $((RUNTIME_S * 600 + 65536))"
[ -n "$NOISE" ] && extra="$extra
noise $NOISE"
disk=$(drive_new demo "$DRIVE.fbdrive" "$extra") || exit 1
expect_ok "scheduler freeblock" sched_set "$disk" freeblock
model_load "$disk" "$MODEL.fbmodel"
cat "/sys/kernel/freeblock/$disk/model_status" > /out/model_status
expect_ok "policy $POLICY" iosched "$disk" policy "$POLICY"
[ "$POLICY" = sptf-sw ] && expect_ok "sw_percent 60" iosched "$disk" sw_percent 60
expect_ok "conservatism $CONSERVATISM_US us" iosched "$disk" conservatism_us "$CONSERVATISM_US"
# the same order with and without the scan, so that what differs is the scan's price
expect_ok "depth 2" iosched "$disk" depth 2
echo 1 > /sys/kernel/mechdisk/demo/stats_reset

phase baseline
if [ "${SCAN-1}" = 1 ]; then
	# A scan by a test module, which notes a checksum of each block for tools/demo to judge.
	# Nothing is in flight here, so this is the state it starts from.
	verify_folder=/out/judged
	load_module fbconsumer records=$((RUNTIME_S * 6000 + 65536))
	expect_ok "scan starts" consumer_start "$disk" demo
	phase freeblock
	expect_ok "scan stops" consumer_stop
	cat /sys/kernel/debug/fbconsumer/state > /out/scan
	consumer_keep "$disk" demo
	unload_module fbconsumer
fi
cat /sys/kernel/mechdisk/demo/stats > /out/drive
sched_set "$disk" none
drive_off demo
expect_within "unload freeblock" 30 unload_module freeblock
expect_within "unload mechdisk" 30 unload_module mechdisk
done_testing
