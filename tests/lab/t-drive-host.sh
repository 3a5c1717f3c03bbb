# SPDX-License-Identifier: GPL-2.0
# The simulated drive as a SCSI host when things go wrong: commands over before
# anybody looks, buffers of the wrong direction, lengths; aborts, resets, the
# write cache's switch and removal while flushes and cached writes wait.
#
# Seen to fail: mdh_pop() without mdh_hand_out() (commands time out); data
# copied whatever their direction; VERIFY of any length.
#
# lab: kernel=stock clock=icount smp=1 timeout=300

. /lab/lib.sh

load_module mechdisk
M=/sys/kernel/mechdisk

cache="noise off
jitter_ns 0
cache 8 256 4
write_cache back"
# A turn takes 100 ms: what goes to the medium shows in any clock
slow="period_ps 100000000000
destage idle"

head -c 1024 /dev/urandom > /tmp/sectors

# Milliseconds that a command takes, in steps of 10
took()
{
	local from

	from="$(cat /proc/uptime)"
	"$@" >/tmp/said 2>&1 || echo failed
	echo "$from" "$(cat /proc/uptime)" | awk '{ printf "%d", ($3 - $1) * 1000 + 0.5 }'
}

# write DISK LBN: one sector
write()
{
	sg_raw -s 512 -i /tmp/sectors /dev/$1 2a 00 $(printf %08x $2 |
		sed 's/../& /g') 00 00 01 00 >/dev/null 2>&1
}

# refused NAME WORDS COMMAND...: it fails, saying so
refused()
{
	local name="$1" words="$2"

	shift 2
	"$@" >/tmp/said 2>&1
	expect_match "$name" "$(cat /tmp/said)" "$words"
}

### Over before anybody looks

a=$(drive_new a toy.fbdrive "$cache
bus_ns 0
timeout_ms 2000
command_overhead_ns 0 0
completion_overhead_ns 0")
sched_set $a none
expect_le "a flush of nothing ends" "$(took sg_sync /dev/$a)" 500
expect_le "so does a cached write" "$(took write $a 4096)" 500
expect_ok "a read" dd if=/dev/$a of=/dev/null bs=4k skip=10 count=1 iflag=direct
expect_le "and one from the cache" "$(took dd if=/dev/$a of=/dev/null bs=4k skip=10 count=1 \
	iflag=direct)" 500
expect_ge "it was" "$(drive_stat a read_hits)" 1
expect_eq "nothing was aborted" "$(drive_stat a aborts)" 0

### Directions and lengths

refused "READ with data to the device" "transport error" \
	sg_raw -s 512 -i /tmp/sectors /dev/$a 28 00 00 00 00 10 00 00 01 00
refused "INQUIRY with data to the device" "transport error" \
	sg_raw -s 96 -i /tmp/sectors /dev/$a 12 00 00 00 60 00
refused "READ DEFECT DATA with data to the device" "transport error" \
	sg_raw -s 96 -i /tmp/sectors /dev/$a 37 00 1d 00 00 00 00 00 60 00
refused "WRITE with data from the device" "transport error" \
	sg_raw -r 512 /dev/$a 2a 00 00 00 00 10 00 00 01 00
refused "MODE SELECT with data from the device" "transport error" \
	sg_raw -r 24 /dev/$a 15 10 00 00 18 00
refused "READ of more than its buffer holds" "Invalid field in cdb" \
	sg_raw -r 512 /dev/$a 28 00 00 00 00 10 00 00 02 00
expect_ok "WRITE of less than its buffer holds" \
	sg_raw -s 1024 -i /tmp/sectors /dev/$a 2a 00 00 00 00 10 00 00 01 00
expect_ok "VERIFY of the longest transfer" sg_verify --16 --lba=0 --count=1024 --bpc=1024 /dev/$a
refused "and of one more" "Invalid field in cdb" \
	sg_raw /dev/$a 8f 00 00 00 00 00 00 00 00 00 00 00 04 01 00 00
refused "the last sector and one more" "Logical block address out of range" \
	sg_raw /dev/$a 8f 00 00 00 00 00 00 0f 9f 0f 00 00 00 02 00 00
expect_ok "no sector at all" sg_raw /dev/$a 88 00 00 00 00 00 00 0f 9f 0f 00 00 00 00 00 00
echo a > $M/delete

### A flush that waits, and a reset

b=$(drive_new b toy.fbdrive "$cache
$slow
timeout_ms 30000
serial MDTOY0002")
sched_set $b none
for lbn in 100000 600000 300000 900000; do write $b $lbn; done
sg_sync /dev/$b >/tmp/sync.said 2>&1 &
flush=$!
sleep 0.05
expect_ok "a reset while a flush waits" sg_reset -N --device /dev/$b
wait $flush
expect_eq "one reset" "$(drive_stat b resets)" 1
sg_sync /dev/$b
expect_ge "the next flush finds the cached writes" "$(drive_stat b destages)" 4
expect_eq "data are right" "$(dd if=/dev/$b bs=512 skip=600000 count=1 iflag=direct 2>/dev/null |
	cmp - /tmp/sectors 2>&1 | grep -c differ)" 0
expect_eq "nothing is left in the drive" "$(drive_stat b outstanding)" 0

### A flush that does not wait keeps its place until it is over

for lbn in 100000 600000 300000 900000; do write $b $lbn; done
for i in $(seq 40); do sg_sync --immed /dev/$b >/dev/null 2>&1 || echo "# immed $i failed"; done
expect_ok "more than the drive has places" dd if=/dev/$b of=/dev/null bs=4k count=1 iflag=direct
sg_sync /dev/$b
expect_eq "nothing is left of them" "$(drive_stat b outstanding)" 0

### The write cache is switched while commands are in flight

type=$(echo /sys/block/$b/device/scsi_disk/*/cache_type)
fio --name=w --filename=/dev/$b --ioengine=libaio --direct=1 --rw=randwrite --bs=4k \
	--iodepth=24 --size=64m --io_size=400k --fdatasync=8 --randseed=5 >/tmp/fio.said 2>&1 &
load=$!
for i in 1 2 3; do
	expect_ok "off, $i" sh -c "echo write through > $type"
	expect_ok "on, $i" sh -c "echo write back > $type"
done
wait $load
expect_eq "the load did not mind" $? 0
expect_eq "no aborts" "$(drive_stat b aborts)" 0

### Removal

for lbn in 100000 600000 300000 900000; do write $b $lbn; done
sg_sync /dev/$b >/dev/null 2>&1 &
fio --name=w --filename=/dev/$b --ioengine=libaio --direct=1 --rw=randrw --bs=4k \
	--iodepth=24 --size=64m --io_size=4m --randseed=6 >/dev/null 2>&1 &
sleep 0.2
expect_within "off while busy" 30 sh -c "echo 0 > $M/b/power"
wait
expect_within "rmmod with a drive that is on" 30 sh -c "echo 1 > $M/b/power; rmmod mechdisk"
load_module mechdisk
unload_module mechdisk
done_testing
