# SPDX-License-Identifier: GPL-2.0
# /dev/freeblock: records against the content of the disk; several readers, in threads and
# processes, 64-bit and 32-bit; partitions; every call that is wrong; arrays of ranges; events;
# coverage; random calls; readers that do not read, and whose partition or disk goes. Readers that
# are killed and go on are t-lib.sh's.
#
# Expected: what include/uapi/freeblock.h says. Nothing is delivered twice, torn, wrong or
# from outside of the block device; two readers cost one read of the medium; nothing
# of a reader is left when it is gone (the list of tasks, and the debug kernel's kmemleak).
# Under the real clock the drive is slow and so are the ranges small; there four CPUs race.
#
# Seen to fail with: the first range of a bad array added; user_data of the next block; a block
# covered when it is queued; ranges entered one at a time, with reads in between (blocks that
# several of them name came twice); a read() that returns ERESTARTSYS as a number of bytes; a
# progress without its count of failed blocks; EINVAL as a positive number from a buffer that holds
# no block (a task without room, which is never told why).
# Not noticed: freeblock_task.behind never set, for all that is added here is entered at once. With
# FB_COOKIE_MAX 3000 the step "values" needs the sweep.
#
# lab-compile: fbread.c fbread.c@32 user-device.rst
# lab-python: signal struct types
# lab-host-programs: delpart
# lab: kernel=stock clock=icount smp=1 timeout=500
# lab: set=soak kernel=stock clock=icount smp=1 timeout=3000
# lab: set=soak kernel=debug clock=real smp=4 timeout=3000

. /lab/lib.sh

kind=tiny
range=16000	# sectors that are read at once in most steps
part=$((range + 6))	# of the partition
kills=25
reader=fbread
random=3000
if [ "$LAB_CLOCK" = real ]; then
	kind=slow
	range=64
	# not read in one piece, nor before eight readers are killed
	part=8006
	random=1500
fi
if [ "${SET-}" = soak ]; then
	kills=1000
	random=100000
fi
M=/sys/kernel/mechdisk
load_module mechdisk
load_module freeblock

# drive NAME: a drive under freeblock with a model; sets $disk
drive()
{
	disk=$(drive_new "$1" $kind.fbdrive "serial MD$1") || exit 1
	freeblock_on "$disk" || die "no freeblock"
	[ -s "$(fb "$disk")/model" ] || model_load "$disk" $kind.fbmodel
}

# the subject is not cost: idle time may be used, whatever it costs others
freeblock_on()
{
	sched_set "$1" freeblock && iosched "$1" target_slowdown_ppm 1000000 &&
		echo 1000 > "$(fb "$1")/idle_wait_us" &&
		echo 10000000 > "$(fb "$1")/idle_mean_us" &&
		echo 60000000 > "$(fb "$1")/idle_max_us"
}

load()
{
	fio --output-format=terse --terse-version=3 --eta=never --output=/tmp/load --name=load \
		--filename=/dev/"$disk" --direct=1 --ioengine=libaio --iodepth=6 --rw=randread \
		--bsrange=4k-16k --norandommap --time_based --runtime=3600 --allow_file_create=0 &
	fio=$!
	wait_for 30 grep -q '[1-9]' /sys/block/"$disk"/inflight || die "no load"
}

load_ends()
{
	kill -INT $fio
	wait $fio
}

# copy NAME BLOCKDEV [OPTION=VALUE]...: all of it is there, once, and right
copy()
{
	local name="$1" block="$2" out=/tmp/copy

	shift 2
	"$reader" copy "$block" "$@" >$out 2>&1
	expect_eq "$name: end" "$(kv $out end | sort -u)" 0
	expect_eq "$name: twice, wrong, missing, mixed, bad" "$(grep -E \
		'^(twice|wrong|missing|mixed|unreadable|untried) ' $out | sort -u | tr '\n' ' ')" \
		"missing 0 mixed 0 twice 0 unreadable 0 untried 0 wrong 0 "
	[ "$(kv $out end | sort -u)" = 0 ] || cat $out
	note "$(cut -d' ' -f1 /proc/uptime) s"
}

# medium NAME OPTION...: copies of all of the disk, none else reads; sets $media, the sectors
# that the drive read for them, without those of the comparison
medium()
{
	media=$(drive_stat a sectors_read)
	copy "$@"
	media=$(($(drive_stat a sectors_read) - media - \
		$(grep -c '^end' /tmp/copy) * $(cat /sys/block/"$disk"/size)))
}

fbcalls()
{
	python3 /lab/files/fbcalls.py "$@"
}

no_tasks()
{
	[ "$(cat "$(fb "$disk")/tasks")" = 0 ]
}

task_id()
{
	cut -d' ' -f1 "$(debug "$disk")/tasks" | head -n 1
}

# hold [poll]: a reader that starts and reads late; its words in /tmp/hold
hold()
{
	: > /tmp/hold
	fbread hold /dev/"$disk" "$@" > /tmp/hold 2>&1 &
	holder=$!
	wait_for 30 grep -q holds /tmp/hold || die "no holder: $(cat /tmp/hold)"
}

other=$(drive_new o $kind.fbdrive "serial MDo") || exit 1
drive a
D=/dev/$disk
expect_ok "the device is there" [ -c /dev/freeblock ]
expect_eq "its mode" "$(stat -c %a /dev/freeblock)" 600
# begins and ends within blocks
expect_ok "a partition" addpart "$D" 1 1003 $part
P=${D}1
wait_for 10 [ -b "$P" ] || die "no $P"

# ---- content ----

if [ "$LAB_CLOCK" = icount ]; then
	medium "whole disk, one file" "$D" threads=3
	one=$media
	medium "whole disk, two files" "$D" files=2 threads=2 forks=1
	note "sectors read from the medium: one file $one, two $media"
	expect_le "two cost one read of the medium (1/1000)" $((media * 1000 / one)) 1100
fi
copy "partition" "$P" threads=2 forks=1
copy "small buffers, now" "$D" count=$range buf=4128 threads=2 promote=1
copy "poll" "$D" first=$((range / 2)) count=$range nonblock=1 threads=2 kib=64
copy "without data" "$D" count=$range flags=2
copy "small ring, slow" "$D" count=$((range / 4)) kib=64 slow_us=2000 buf=65536
copy "ranges that overlap" "$D" first=0 count=$((range / 2)) first=16 count=$((range / 2)) \
	first=0 count=8
expect_ok "nothing is left" no_tasks

expect_ok "the documented example" user-device "$P" /tmp/image
expect_eq "its copy" "$(md5sum < /tmp/image)" "$(md5sum < "$P")"

# ---- programs of 32 bits ----

reader=fbread32
# where it is no program the shell takes it for a script, and ends with 2, too
if fbread32 2>&1 | grep -q '^fbread: see'; then
	copy "32 bits" "$P" count=509 threads=2
	copy "32 bits, ranges" "$D" first=0 count=800 first=1600 count=800 files=2 nonblock=1
else
	skip "32 bits" "this kernel runs no 32-bit programs (CONFIG_IA32_EMULATION)"
fi
reader=fbread

# ---- calls ----

calls fbcalls versions "$D"
calls fbcalls arrays "$D"
[ "$LAB_CLOCK" = real ] || calls fbcalls values "$D"
calls fbcalls events "$D"
# half a second, in which a slow drive may not come to it
[ "$LAB_CLOCK" = real ] || calls fbcalls stopped "$D"
calls fbcalls coverage "$D" "$P"
calls fbcalls gone /dev/"$other"
expect_ok "calls: nothing is left" no_tasks

# ---- what it takes counts towards the limit of all tasks ----

echo 32 > /sys/module/freeblock/parameters/memory_mib
expect_fail "no memory for a buffer of 64 MiB" fbread copy "$D" count=8 kib=65536
expect_match "why" "$(fbread copy "$D" count=8 kib=65536 2>&1)" "65536 KiB in what tasks may take"
expect_ok "but for one of 16 MiB" fbread copy "$D" count=8 kib=16384
echo 1024 > /sys/module/freeblock/parameters/memory_mib
expect_ok "memory: nothing is left" no_tasks

# ---- partitioned anew ----

mkfifo /tmp/go
fbread moved "$P" "$D" < /tmp/go > /tmp/moved 2>&1 &
holder=$!
exec 8> /tmp/go
wait_for 30 grep -q holds /tmp/moved || die "nobody holds"
expect_ok "the partition is removed" delpart "$D" 1
expect_ok "another one has its name" addpart "$D" 1 2000 128
echo go >&8
exec 8>&-
wait $holder
expect_eq "the task keeps its sectors" "$(tr '\n' ' ' < /tmp/moved)" \
	"holds missing 0 wrong 0 outside 0 end 0 "
delpart "$D" 1
addpart "$D" 1 1003 $part

# ---- wrong calls ----

load
calls fbcalls errors "$D" "$P"
fbread fuzz "$D" 1 "$random"
expect_eq "random calls" $? 0
expect_ok "random calls: nothing is left" no_tasks

# ---- readers that are killed, or do not read ----

expect_ok "killed readers" fbread kill "$D" 1 "$kills" 400000
expect_ok "killed readers: nothing is left" no_tasks
copy "after them" "$D" count=$((range / 4))
hold poll
expect_fail "a module in use cannot be unloaded" unload_module freeblock
expect_ok "a model of the same blocks is taken" sh -c "cat $(model_table $kind.fbmodel) > $(fb "$disk")/model"
echo "stop $(task_id)" > "$(fb "$disk")/tasks"
expect_within "a reader whose task is stopped" 30 wait_for 30 [ ! -d /proc/$holder ]
wait $holder
expect_eq "hears of it" "$(tr '\n' ' ' < /tmp/hold)" "holds poll hangup read ECANCELED "

# ---- other schedulers, and no disk ----

fbread copy "$D" count=$range > /tmp/copy 2>&1 &
holder=$!
for away in none mq-deadline none; do
	sched_set "$disk" $away
	freeblock_on "$disk"
done
wait $holder
expect_eq "a reader and other schedulers" "$(grep -E '^(twice|wrong|missing|end) ' /tmp/copy |
	tr '\n' ' ')" "twice 0 wrong 0 missing 0 end 0 "

fbread hold /dev/"$disk" > /tmp/paused 2>&1 &
paused=$!
wait_for 30 grep -q holds /tmp/paused || die "nobody to pause"
echo "pause $(task_id)" > "$(fb "$disk")/tasks"
sleep 2	# what was in flight is read
hold poll
old=$disk
echo 1 > /sys/block/"$disk"/device/delete
wait $fio
expect_within "a reader whose disk goes" 30 wait_for 30 [ ! -d /proc/$holder ]
wait $holder
expect_eq "hears of it, too" "$(tr '\n' ' ' < /tmp/hold)" "holds poll hangup read ENODEV "
expect_within "a paused one" 30 wait_for 30 [ ! -d /proc/$paused ]
wait $paused
expect_eq "hears of it as well" "$(tr '\n' ' ' < /tmp/paused)" "holds read ENODEV "
drive_off a
drive b
expect_eq "another disk has that name" "$disk" "$old"
echo "add 813 1 recovery_ms=20 asc=11" > $M/b/medium_errors
calls fbcalls unreadable /dev/"$disk" 800
b=$disk
echo 1 > $M/a/power
wait_for 30 grep -q 'on sd' $M/a/status || die "no return"
disk=$(sed -n 's/.*on \(sd[a-z]*\).*/\1/p' $M/a/status)
wait_for 30 [ -b /dev/"$disk" ]
freeblock_on "$disk"
expect_ne "back under a new name" "$disk" "$b"
load
copy "back again" /dev/"$disk" count=$((range / 4))
load_ends

# ---- blocks of another size than a reader's buffer ----

if [ "$LAB_CLOCK" = icount ]; then
	model_load "$b" tiny-coarse.fbmodel
	fbread copy /dev/"$b" kib=64 > /tmp/small 2>&1
	expect_match "a buffer smaller than a block: refused, and why" "$(cat /tmp/small)" \
		"a buffer of 64 KiB holds no block of 256 sectors"
	expect_ok "nothing is left of it" [ "$(cat "$(fb "$b")/tasks")" = 0 ]
fi

# ---- another capacity ----

if [ "$LAB_CLOCK" = icount ]; then
	load_module scsi_debug dev_size_mb=16 ndelay=5000000
	expect_ok "another kind of disk" wait_for 30 \
		sh -c 'grep -l scsi_debug /sys/block/sd*/device/model'
	c=$(grep -l scsi_debug /sys/block/sd*/device/model | head -n 1 | cut -d/ -f4)
	echo 1 > /sys/block/"$c"/queue/rotational
	freeblock_on "$c"
	model_load "$c" scsi-debug.fbmodel
	calls fbcalls resized /dev/"$c" /sys/block/"$c"/device/rescan \
		/sys/bus/pseudo/drivers/scsi_debug/virtual_gb
	sched_set "$c" none
	expect_within "scsi_debug unloads" 30 unload_module scsi_debug
fi

sched_set "$disk" none
sched_set "$b" none
expect_within "unloads" 30 unload_module freeblock
expect_ok "and takes its device along" [ ! -e /dev/freeblock ]
drive_off a
drive_off b
drive_off o
expect_within "mechdisk unloads" 30 unload_module mechdisk
done_testing
