# SPDX-License-Identifier: GPL-2.0
# The simulated drive as a SCSI host: its caching page as sd has it, flushes and FUA, VERIFY from the
# medium and from the cache, sectors of 4096 bytes; and when things go wrong: commands over before
# anybody looks, buffers of the wrong direction, lengths, resets, the write cache's switch and removal
# while flushes and cached writes wait. Mode pages, defects and addresses as bytes are
# tests/unit/mechdisk's.
#
# Expectations: tools/mechdisk/drives/toy.fbdrive, SCSI-2 9.3.3, SBC-3.
#
# Seen to fail: FUA not handed to the engine; SYNCHRONIZE CACHE always, and never, at once; MODE SELECT
# that does not wait for the flush; saved pages forgotten, and kept for another description; 4 KiB
# sectors copied from 512 * LBN; commands that wait for room in the cache begun before there was any
# (lateness); mdh_pop() without mdh_hand_out() (commands time out); data copied whatever their
# direction; VERIFY of any length.
#
# lab: kernel=stock clock=icount smp=1 timeout=300

. /lab/lib.sh

load_module mechdisk
M=/sys/kernel/mechdisk

cache="noise off
jitter_ns 0
cache 8 256 4"
# A turn takes 100 ms: what goes to the medium shows in any clock
slow="period_ps 100000000000"

# raw DISK ROOM CDB...: what the command returns, as hex
raw()
{
	local disk="$1" room="$2"

	shift 2
	rm -f /tmp/raw
	sg_raw -o /tmp/raw -r $room /dev/$disk "$@" >/tmp/raw.said 2>&1 || return
	od -A n -v -t x1 /tmp/raw | tr -d '\n' | sed 's/^ //'
}

# bytes FROM COUNT: of the hex on standard input
bytes()
{
	cut -d ' ' -f $(($1 + 1))-$(($1 + $2))
}

# give DISK HEX CDB...: a command with a parameter list
give()
{
	local disk="$1" list="$2"

	shift 2
	printf "$(echo " $list" | sed 's/ \+/\\x/g; s/\\x$//')" > /tmp/list
	sg_raw -s $(wc -c < /tmp/list) -i /tmp/list /dev/$disk "$@" 2>&1
}

# page DISK CONTROL CODE: a mode page without its header
page()
{
	raw $1 252 1a 08 $(printf %02x $(($2 * 64 + 0x$3))) 00 fc 00 |
		cut -d ' ' -f 5-
}

# put_page DISK SAVE HEX: MODE SELECT (6) of a page
put_page()
{
	local len=$(($(echo "$3" | wc -w) + 4))

	give $1 "00 00 00 00 $3" 15 1$2 00 00 $(printf %02x $len) 00
}

# write DISK LBN [FLAGS]: one sector; a burst of them leaves the cache dirty
write()
{
	sg_raw -s 512 -i /tmp/sectors /dev/$1 2a ${3:-00} $(printf %08x $2 |
		sed 's/../& /g') 00 00 01 00 >/dev/null 2>&1
}

# Milliseconds that a command takes, in steps of 10
took()
{
	local from

	from="$(cat /proc/uptime)"
	"$@" >/tmp/said 2>&1 || echo failed
	echo "$from" "$(cat /proc/uptime)" | awk '{ printf "%d", ($3 - $1) * 1000 + 0.5 }'
}

# refused NAME WORDS COMMAND...: it fails, saying so
refused()
{
	local name="$1" words="$2"

	shift 2
	"$@" >/tmp/said 2>&1
	expect_match "$name" "$(cat /tmp/said)" "$words"
}

head -c 1024 /dev/urandom > /tmp/sectors
head -c 512 /tmp/sectors > /tmp/sector

### The caching page, and sd

a=$(drive_new a toy.fbdrive "$cache
physical_exponent 3")
expect_eq "Linux sees 4096 behind 512" "$(cat /sys/block/$a/queue/logical_block_size) \
$(cat /sys/block/$a/queue/physical_block_size)" "512 4096"
expect_eq "write cache at power-on" "$(cat /sys/block/$a/queue/write_cache)" "write through"
expect_eq "what can be changed: WCE, RCD, DRA" \
	"$(page $a 1 08 | bytes 0 3) $(page $a 1 08 | bytes 12 1)" "88 12 05 20"
type=$(echo /sys/block/$a/device/scsi_disk/*/cache_type)
expect_ok "sd switches the write cache on" sh -c "echo write back > $type"
expect_match "and reads it back" "$(dmesg | grep "\[$a\] Write cache" | tail -n 1)" \
	'Write cache: enabled, read cache: enabled, supports DPO and FUA'
expect_eq "the queue will flush" "$(cat /sys/block/$a/queue/write_cache)" "write back"
expect_eq "with FUA" "$(cat /sys/block/$a/queue/fua)" 1
expect_eq "current, default, saved" "$(page $a 0 08 | bytes 2 1) \
$(page $a 2 08 | bytes 2 1) $(page $a 3 08 | bytes 2 1)" "04 00 04"
now=$(page $a 0 08)
put_page $a 0 "08 12 01 $(echo $now | bytes 3 17)" >/dev/null
expect_eq "without SP nothing is saved" \
	"$(page $a 0 08 | bytes 2 1) $(page $a 3 08 | bytes 2 1)" "01 04"
expect_match "a page without PF" "$(give $a "00 00 00 00 $now" 15 00 00 00 18 00)" \
	"Invalid field in cdb"
expect_match "a page cut short" "$(give $a "00 00 00 00 08 12 04" 15 10 00 00 07 00)" \
	"Parameter list length error"
expect_match "number of segments" \
	"$(put_page $a 0 "$(echo $now | bytes 0 13) 09 $(echo $now | bytes 14 6)")" \
	"Invalid field in parameter list"
expect_eq "nothing of that was taken" "$(page $a 0 08 | bytes 2 1)" 01
drive_off a
echo 1 > $M/a/power
expect_eq "saved values outlive power" "$(page $a 0 08 | bytes 2 1)" 04
drive_off a
echo "# as delivered" > $M/a/description
echo 1 > $M/a/power
expect_eq "but not another description" "$(page $a 0 08 | bytes 2 1)" 00
expect_match "LONGLBA and short descriptors" "$(raw $a 64 5a 10 0a 00 00 00 00 00 40 00 |
	bytes 4 20)" "^01 00 00 10 00 00 00 00 00 0f 9f 10 00 00 00 00 00 00 02 00$"
echo a > $M/delete

### Write cache, FUA, SYNCHRONIZE CACHE

b=$(drive_new b toy.fbdrive "$cache
$slow
write_cache back
destage idle
serial MDTOY0002")
sched_set $b none
expect_match "sd found it on" "$(dmesg | grep "\[$b\] Write cache" | tail -n 1)" enabled
echo 1 > $M/b/stats_reset
expect_le "a cached write does not wait for the medium" "$(took write $b 500000 00)" 40
expect_eq "it is one" "$(drive_stat b cached_writes)" 1
expect_ge "FUA waits" "$(took write $b 100 08)" 20
expect_eq "and is none" "$(drive_stat b cached_writes)" 1
write $b 200000 00
write $b 900000 00
expect_le "IMMED does not wait" "$(took sg_sync --immed /dev/$b)" 40
write $b 100000 00
write $b 600000 00
expect_ge "SYNCHRONIZE CACHE waits" "$(took sg_sync /dev/$b)" 60
expect_eq "both were flushes" "$(drive_stat b flushes)" 2
expect_ge "all is on the medium" "$(drive_stat b destages)" 5
write $b 100000 00
write $b 600000 00
expect_ge "fsync waits" "$(took sh -c "dd if=/tmp/sector of=/dev/$b bs=512 \
	seek=300000 oflag=direct conv=fsync,notrunc")" 60
expect_eq "by a flush" "$(drive_stat b flushes)" 3
write $b 100000 00
write $b 600000 00
now=$(page $b 0 08)
expect_ge "switching the cache off waits" \
	"$(took put_page $b 0 "08 12 00 $(echo $now | bytes 3 17)")" 60
expect_ge "then a write waits" "$(took write $b 500000 00)" 20
expect_eq "data are right" "$(dd if=/dev/$b bs=512 skip=600000 count=1 iflag=direct 2>/dev/null |
	cmp - /tmp/sector && echo same)" same
expect_fail "no flush past the end" sg_sync --lba=1023760 --count=1 /dev/$b
echo b > $M/delete

### VERIFY: honest or not

for how in medium cache; do
	v=$(drive_new $how toy.fbdrive "$cache
verify $how
serial MD$how")
	dd if=/dev/$v of=/dev/null bs=32k skip=10 count=1 iflag=direct 2>/dev/null
	echo "add 650 1 recovery_ms=1" > $M/$how/medium_errors
	if [ $how = medium ]; then
		expect_fail "an honest VERIFY reads the medium" sg_verify --lba=640 --count=64 /dev/$v
	else
		expect_ok "a dishonest one is content with the cache" \
			sg_verify --lba=640 --count=64 /dev/$v
	fi
	expect_ok "a read hits the cache ($how)" dd if=/dev/$v of=/dev/null bs=32k skip=10 \
		count=1 iflag=direct
	expect_fail "FUA does not ($how)" sg_raw -r 32768 /dev/$v 28 08 00 00 02 80 00 00 40 00
	echo $how > $M/delete
done

### 4096-byte sectors, everything on, SATA's queue

n=$(drive_new n toy.fbdrive "$cache
sector_bytes 4096
bus_ns 25600
journal_records 1
queueing ncq
write_cache back
serial MD4KN")
sched_set $n none
said=$(sg_readcap --16 /dev/$n)
expect_match "4Kn: length of a block" "$said" 'block length=4096'
expect_eq "capacity in units of 512 bytes" "$(cat /sys/block/$n/size)" $((1023760 * 8))
expect_eq "Linux's sectors" "$(cat /sys/block/$n/queue/logical_block_size)" 4096
expect_match "longest transfer in blocks" "$(sg_vpd -p bl /dev/$n)" \
	"Maximum transfer length: 128 blocks"
expect_eq "never written: counts from the start of the disk" \
	"$(dd if=/dev/$n bs=4096 skip=1023759 count=1 iflag=direct 2>/dev/null |
	od -A n -t u8 -N 8 | tr -d ' ')" $((1023759 * 512))
expect_fail "a transfer of 512 bytes" sg_raw -r 512 /dev/$n 28 00 00 00 00 01 00 00 01 00
fio_run ncq --filename=/dev/$n --ioengine=libaio --direct=1 --rw=randwrite \
	--verify=crc32c --bsrange=4k-128k --iodepth=16 --verify_backlog=64 \
	--size=64m --io_size=6m --fsync=16 --randseed=3
expect_eq "fio verifies what it wrote" "$(fio_errors ncq)" 0
expect_ge "flushes between" "$(drive_stat n flushes)" 4
expect_ge "cached writes" "$(drive_stat n cached_writes)" 10
echo "hw_error_next 2" > $M/n/inject
sg_reset -N --device /dev/$n
fio_run again --filename=/dev/$n --ioengine=libaio --direct=1 --rw=randrw --bs=16k \
	--iodepth=16 --size=64m --io_size=2m --fdatasync=8 --randseed=4
expect_eq "a reset and errors pass" "$(fio_errors again)" 0
if [ "$LAB_CLOCK" = icount ]; then
	note "lateness: mean $(drive_stat n late_mean_ns) ns, max $(drive_stat n late_max_ns) ns"
	# Here the choice of what comes next is made when a command arrives, too
	expect_le "mean lateness, ns" "$(drive_stat n late_mean_ns)" 2000
	expect_le "largest, ns" "$(drive_stat n late_max_ns)" 15000
fi
echo 1 > $M/n/stats_reset
dd if=/dev/zero of=/dev/$n bs=4096 seek=77 count=1 oflag=direct 2>/dev/null
expect_eq "the journal names the block" \
	"$(tail -c 24 $M/n/journal | od -A n -t u8 -N 8 | tr -d ' ')" 77
echo n > $M/delete
cache="$cache
write_cache back"
slow="$slow
destage idle"

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
