# SPDX-License-Identifier: GPL-2.0
# The lab itself: boots, counts, carries files, tells a leak from none.
# Uses null_blk only, so it says whether a broken run is the lab's fault.
#
# lab: kernel=stock clock=icount smp=1 timeout=500
# lab: set=soak kernel=stock clock=real smp=4 timeout=500
# lab: set=soak kernel=debug clock=real smp=4 timeout=900

. /lab/lib.sh

expect_eq "CPUs as asked for" "$(nproc)" "$LAB_SMP"
load_module null_blk nr_devices=1 submit_queues=1 irqmode=2 completion_nsec=1000000
expect_ok "mq-deadline on null_blk" sched_set nullb0 mq-deadline
expect_ok "bfq through its alias" sched_set nullb0 bfq
expect_ok "and back" sched_set nullb0 none

fio_run one --filename=/dev/nullb0 --ioengine=libaio --direct=1 --rw=randrw \
	--rwmixread=67 --iodepth=1 --bs=4k --number_ios=200 --size=100m
expect_eq "fio without errors" "$(fio_errors one)" 0
expect_ge "fio counts its requests" "$(fio_ios one)" 200
if [ "$LAB_CLOCK" = icount ]; then
	# 1 ms per request at the device, and a guest that costs little more
	expect_ge "requests/s under the instruction clock" "$(fio_iops one)" 900
	expect_le "at most one per millisecond" "$(fio_iops one)" 1000
fi

head -c 300000 /dev/urandom > /out/random
sha256sum /out/random | cut -d' ' -f1 > /out/random.sha256

expect_within "rmmod null_blk" 20 unload_module null_blk
expect_ok "sg and sd are there" load_module sg
expect_ok "sd" load_module sd_mod
expect_ok "blktrace runs" blktrace -V
expect_ok "sg_verify runs" sg_verify -V
expect_ok "block events can be traced" test -d /sys/kernel/debug/tracing/events/block
if [ "$LAB_KERNEL" = debug ]; then
	for file in kmemleak failslab fail_make_request fail_io_timeout; do
		expect_ok "debug kernel has $file" test -e /sys/kernel/debug/$file
	done
	expect_ok "debug kernel has lockdep" test -e /proc/lockdep
	expect_ok "debug kernel has KASAN" grep -q kasan_ /proc/kallsyms
fi
done_testing
