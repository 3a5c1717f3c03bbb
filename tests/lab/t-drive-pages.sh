# SPDX-License-Identifier: GPL-2.0
# What the simulated drive tells about itself, and what of it can be changed, as
# Linux's own tools see it: mode pages, caching and flush ordering, defect lists,
# translated addresses, capacity, VERIFY from the medium and from the cache.
#
# Expectations: tools/mechdisk/drives/toy.fbdrive, SCSI-2 9.3.3, SBC-3.
#
# Seen to fail: FUA not handed to the engine; SYNCHRONIZE CACHE always, and never,
# at once; MODE SELECT that does not wait for the flush; saved pages forgotten,
# and kept for another description; no sense with a substituted defect list; 4 KiB
# sectors copied from 512 * LBN; a longest transfer of 512-byte sectors; commands
# that wait for room in the cache begun before there was any (lateness).
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

# put_notch DISK NUMBER LPN
put_notch()
{
	local now

	now="$(page $1 0 0c)"
	put_page $1 0 "0c 16 $3 00 $(echo "$now" | bytes 4 2) 00 0$2 \
$(echo "$now" | bytes 8 16)" >/dev/null
}

# translate DISK FROM TO ADDRESS: the answer from its flags on
translate()
{
	give $1 "40 00 00 0a 0$2 0$3 $4" 1d 10 00 00 0e 00 >/dev/null &&
		raw $1 64 1c 01 40 00 40 00 | bytes 5 9
}

# write DISK LBN FLAGS: one sector; a burst of them leaves the cache dirty
write()
{
	sg_raw -s 512 -i /tmp/sector /dev/$1 2a $3 $(printf %08x $2 |
		sed 's/../& /g') 00 00 01 00 >/dev/null 2>&1
}

# Milliseconds that a command takes, in steps of 10
took()
{
	local from

	from="$(cat /proc/uptime)"
	"$@" >/dev/null 2>&1 || echo failed
	echo "$from" "$(cat /proc/uptime)" | awk '{ printf "%d", ($3 - $1) * 1000 + 0.5 }'
}

stat_of()
{
	drive_stat $1 $2
}

head -c 512 /dev/urandom > /tmp/sector

### Capacity and vital product data

a=$(drive_new a toy.fbdrive "$cache
physical_exponent 3")
said=$(sg_readcap --16 /dev/$a)
expect_match "512e: exponent 3" "$said" 'exponent=3'
expect_match "aligned at 0" "$said" 'Lowest aligned.*=0'
expect_eq "Linux sees 4096 behind 512" "$(cat /sys/block/$a/queue/logical_block_size) \
$(cat /sys/block/$a/queue/physical_block_size)" "512 4096"
said=$(sg_vpd -p bdc /dev/$a)
expect_match "rotation rate" "$said" "10000 rpm"
expect_match "form factor" "$said" "3.5 inch"
expect_match "longest transfer" "$(sg_vpd -p bl /dev/$a)" "Maximum transfer length: 1024 blocks"

### Geometry and notches

expect_eq "all pages, in order" "$(page $a 0 3f | wc -w)" 116
expect_eq "geometry: 1400 cylinders, 4 heads, 10000 rpm" \
	"$(page $a 0 04 | bytes 0 6) $(page $a 0 04 | bytes 20 2)" "04 16 00 05 78 04 27 10"
expect_match "as sg_modes has it" "$(sg_modes -p 4 /dev/$a)" 'Rigid disk geometry'

expect_eq "notch page of the whole drive" "$(page $a 0 0c)" \
	"0c 16 80 00 00 03 00 00 00 00 00 00 00 05 77 03 00 00 00 00 00 00 00 08"
# Zone, boundaries, sectors per track, skews of track and cylinder
for want in "1 00 00 00 00 00 01 f3 03 00 dc 00 16 00 2f" \
	    "2 00 01 f4 00 00 03 e7 03 00 b4 00 12 00 27" \
	    "3 00 03 e8 00 00 05 77 03 00 8c 00 0e 00 1f"; do
	put_notch $a ${want%% *} 80
	expect_eq "notch ${want%% *}" "$(page $a 0 0c | bytes 8 8) \
$(page $a 0 03 | bytes 10 2) $(page $a 0 03 | bytes 16 4)" "${want#* }"
done
put_notch $a 1 c0
expect_eq "its boundaries in LBNs" "$(page $a 0 0c | bytes 8 8)" "00 00 00 00 00 06 b6 5b"
now=$(page $a 0 0c)
said=$(put_page $a 0 "$(echo $now | bytes 0 6) 00 04 $(echo $now | bytes 8 16)")
expect_match "no notch 4" "$said" "Invalid field in parameter list"
expect_eq "the notch is as before" "$(page $a 0 0c)" "$now"

### Defects and addresses

expect_match "primary list" "$(sg_reassign -g -H /dev/$a 2>&1; sginfo -d /dev/$a)" '10 entries'
expect_match "grown list" "$(sg_reassign -g /dev/$a 2>&1)" 'rown defect list: 4'
expect_eq "remapped: cylinder 3, head 1, sector 140" \
	"$(raw $a 64 37 00 0d 00 00 00 00 00 40 00 | bytes 0 12)" \
	"00 0d 00 20 00 00 03 01 00 00 00 8c"
expect_eq "the same in bytes from the index" \
	"$(raw $a 64 37 00 0c 00 00 00 00 00 40 00 | bytes 4 8)" "00 00 03 01 00 01 18 00"
expect_eq "an allocation length cuts the list, not its length" \
	"$(raw $a 64 37 00 0d 00 00 00 00 00 0c 00)" "00 0d 00 20 00 00 03 01 00 00 00 8c"
expect_eq "READ DEFECT DATA (12) from the third on" \
	"$(raw $a 64 b7 0d 00 00 00 02 00 00 00 40 00 00 | bytes 4 12)" \
	"00 00 00 10 00 01 f4 00 00 00 00 b3"
sg_raw -r 64 /dev/$a 37 00 08 00 00 00 00 00 40 00 >/tmp/said 2>&1
expect_match "block format: another, and told so" "$(cat /tmp/said)" "Defect list not found"

expect_eq "LBN 0 is on the first track" \
	"$(translate $a 0 5 "00 00 00 00 00 00 00 00")" "05 00 00 00 00 00 00 00 00"
expect_eq "LBN 2998 lives in a spare" \
	"$(translate $a 0 5 "00 00 0b b6 00 00 00 00")" "45 00 01 f3 03 00 00 00 d2"
expect_eq "and the other way round" \
	"$(translate $a 5 0 "00 01 f3 03 00 00 00 d2")" "40 00 00 0b b6 00 00 00 00"
expect_eq "where it was, nothing lives" \
	"$(translate $a 5 0 "00 00 03 01 00 00 00 8c")" "80"
expect_match "no cylinder 1400" \
	"$(give $a "40 00 00 0a 05 00 00 05 78 00 00 00 00 00" 1d 10 00 00 0e 00)" \
	"Invalid field in parameter list"
expect_match "a list cut short" \
	"$(give $a "40 00 00 0a 00 05 00 00 0b" 1d 10 00 00 09 00)" \
	"Parameter list length error"
expect_ok "the default self-test" sg_senddiag -t /dev/$a
expect_eq "supported diagnostic pages" "$(raw $a 64 1c 01 00 00 40 00)" "00 00 00 02 00 40"

### The caching page, and sd

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
expect_eq "it is one" "$(stat_of b cached_writes)" 1
expect_ge "FUA waits" "$(took write $b 100 08)" 20
expect_eq "and is none" "$(stat_of b cached_writes)" 1
write $b 200000 00
write $b 900000 00
expect_le "IMMED does not wait" "$(took sg_sync --immed /dev/$b)" 40
write $b 100000 00
write $b 600000 00
expect_ge "SYNCHRONIZE CACHE waits" "$(took sg_sync /dev/$b)" 60
expect_eq "both were flushes" "$(stat_of b flushes)" 2
expect_ge "all is on the medium" "$(stat_of b destages)" 5
write $b 100000 00
write $b 600000 00
expect_ge "fsync waits" "$(took sh -c "dd if=/tmp/sector of=/dev/$b bs=512 \
	seek=300000 oflag=direct conv=fsync,notrunc")" 60
expect_eq "by a flush" "$(stat_of b flushes)" 3
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
translate $([ $how = cache ] && echo off || echo on)
serial MD$how")
	dd if=/dev/$v of=/dev/null bs=32k skip=10 count=1 iflag=direct 2>/dev/null
	echo "add 650 1 recovery_ms=1" > $M/$how/medium_errors
	if [ $how = medium ]; then
		expect_fail "an honest VERIFY reads the medium" sg_verify --lba=640 --count=64 /dev/$v
	else
		expect_ok "a dishonest one is content with the cache" \
			sg_verify --lba=640 --count=64 /dev/$v
		expect_eq "translation switched off" "$(raw $v 64 1c 01 00 00 40 00)" "00 00 00 01 00"
		expect_match "is refused" \
			"$(give $v "40 00 00 0a 00 05 00 00 00 00 00 00 00 00" 1d 10 00 00 0e 00)" \
			"Invalid field in parameter list"
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
expect_eq "bytes per physical sector" "$(page $n 0 03 | bytes 12 2)" "10 00"
expect_eq "never written: counts from the start of the disk" \
	"$(dd if=/dev/$n bs=4096 skip=1023759 count=1 iflag=direct 2>/dev/null |
	od -A n -t u8 -N 8 | tr -d ' ')" $((1023759 * 512))
expect_fail "a transfer of 512 bytes" sg_raw -r 512 /dev/$n 28 00 00 00 00 01 00 00 01 00
fio_run ncq --filename=/dev/$n --ioengine=libaio --direct=1 --rw=randwrite \
	--verify=crc32c --bsrange=4k-128k --iodepth=16 --verify_backlog=64 \
	--size=64m --io_size=6m --fsync=16 --randseed=3
expect_eq "fio verifies what it wrote" "$(fio_errors ncq)" 0
expect_ge "flushes between" "$(stat_of n flushes)" 4
expect_ge "cached writes" "$(stat_of n cached_writes)" 10
echo "hw_error_next 2" > $M/n/inject
sg_reset -N --device /dev/$n
fio_run again --filename=/dev/$n --ioengine=libaio --direct=1 --rw=randrw --bs=16k \
	--iodepth=16 --size=64m --io_size=2m --fdatasync=8 --randseed=4
expect_eq "a reset and errors pass" "$(fio_errors again)" 0
if [ "$LAB_CLOCK" = icount ]; then
	note "lateness: mean $(stat_of n late_mean_ns) ns, max $(stat_of n late_max_ns) ns"
	# Here the choice of what comes next is made when a command arrives, too
	expect_le "mean lateness, ns" "$(stat_of n late_mean_ns)" 2000
	expect_le "largest, ns" "$(stat_of n late_max_ns)" 15000
fi
echo 1 > $M/n/stats_reset
dd if=/dev/zero of=/dev/$n bs=4096 seek=77 count=1 oflag=direct 2>/dev/null
expect_eq "the journal names the block" \
	"$(tail -c 24 $M/n/journal | od -A n -t u8 -N 8 | tr -d ' ')" 77
echo n > $M/delete
expect_within "rmmod" 30 unload_module mechdisk
done_testing
