# SPDX-License-Identifier: GPL-2.0
# Ten minutes of disk time: what a scan costs the foreground in the long run
# (freeblock paper, 5.3: less than 2 % at 0.3 ms of conservatism), and what it
# gets while the map fills. The workload is that of make demo.
#
# lab: kernel=stock clock=icount smp=1 timeout=1200

. /lab/lib.sh

RUNTIME=${RUNTIME-600}
SIZES=4k/50:8k/25:12k/12:16k/7:20k/3:24k/1:28k/1:32k/1

oltp()
{
	fio_run "$1" --filename="/dev/$disk" --direct=1 --ioengine=libaio \
		--iodepth=10 --rw=randrw --rwmixread=67 --bssplit=$SIZES \
		--norandommap --random_generator=tausworthe64 --randseed=1 \
		--allrandrepeat=1 --time_based --runtime="$RUNTIME"
	ios=$(fio_ios "$1")
	expect_eq "$1: no errors" "$(fio_errors "$1")" 0
}

load_module mechdisk
load_module freeblock
disk=$(drive_new d atlas10k.fbdrive '') || exit 1
sched_set "$disk" freeblock
model_load "$disk" atlas10k.fbmodel
iosched "$disk" conservatism_us 300

oltp alone
alone=$ios
echo 1 > "/sys/kernel/debug/freeblock/$disk/reset"
echo start > "$(fb "$disk")/scan" || die "no scan"
oltp scan
numbers "$disk" state stats > /out/status
free=$(($(kv /out/status free_sectors) * 512 / RUNTIME / 1000))
note "alone $alone requests, with the scan $ios; free $free kB/s"
expect_le "slowdown in the long run, per mille" $(((alone - ios) * 1000 / alone)) 19
expect_ge "free kB/s" $free 6000
expect_le "drive late, ns" "$(drive_stat d late_max_ns)" 10000
echo stop > "$(fb "$disk")/scan"
drive_off d
done_testing
