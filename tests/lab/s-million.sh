# SPDX-License-Identifier: GPL-2.0
# A million requests (REQUESTS=N) of a checked foreground on a drive of a millisecond a turn, with
# free reads beside: random reads, and writes that are read back and compared. Meanwhile, drawn at
# random by SEED: the scheduler switched, the queue frozen, unit and host reset, commands that hang,
# are refused or fail, bad sectors in front of what the foreground reads.
#
# Expected: no request is wrong, lost or stuck; free reads go on after each event, and are made in
# gaps.
#
# In make soak: a million take some twenty minutes.
#
# Seen to fail: fb_free_read_prepend() without RQF_MIXED_MERGE (the foreground meets an error).
#
# lab: kernel=stock clock=icount smp=1 timeout=6000

. /lab/lib.sh

requests=${REQUESTS:-1000000}
M=/sys/kernel/mechdisk

freeblock_on()
{
	sched_set "$disk" freeblock && iosched "$disk" target_slowdown_ppm 1000000
}

served()
{
	drive_stat d commands
}

scan_goes_on()
{
	case $(job "$disk" scan) in
	running|stopping) ;;
	# three slow recoveries in a row pause it: a command that hung is one
	paused) echo resume > "$(fb "$disk")/scan" ;;
	*) echo start > "$(fb "$disk")/scan" ;;
	esac
	[ "$(stats "$disk" free_sectors)" -gt "$free" ]
}

load_alive()
{
	[ -d /proc/$fio ] && ! grep -q '^State:.Z' /proc/$fio/status
}

event()
{
	case $1 in
	0)	sched_set "$disk" none && sched_set "$disk" mq-deadline && freeblock_on ;;
	1)	echo $((4 + random % 120)) > /sys/block/"$disk"/queue/nr_requests ;;
	2)	sg_reset -d -N /dev/"$disk" ;;
	3)	sg_reset -H -N /dev/"$disk" ;;
	4)	echo hang_next 1 > $M/d/inject ;;
	5)	echo fail_next busy $((1 + random % 6)) > $M/d/inject ;;
	6)	echo fail_next full $((1 + random % 6)) > $M/d/inject ;;
	7)	echo attention_next 1 > $M/d/inject ;;
	8)	echo hw_error_next $((1 + random % 3)) > $M/d/inject ;;
	9)	# just before what is read; the foreground asks for none of these
		for n in 1 2 3 4 5 6 7 8; do
			echo "add $((16000 + (random % 60 + n * 7) % 60 * 128 + 122 + n % 3)) 1 recovery_ms=2 asc=11"
		done > $M/d/medium_errors ;;
	esac
}

seed=${LAB_SEED:-1}
draw()
{
	# Park and Miller's
	seed=$((seed * 48271 % 2147483647))
	random=$seed
}

load_module mechdisk
load_module freeblock
disk=$(drive_new d swift.fbdrive "timeout_ms 1000") || exit 1
freeblock_on || die "no freeblock"
model_load "$disk" swift.fbmodel
echo 0 > "$(fb "$disk")/bad_quarantine_kib"

begun=$(served)
fio --output-format=terse --terse-version=3 --eta=never --output=/tmp/load --filename=/dev/"$disk" \
	--direct=1 --ioengine=libaio --time_based --runtime=100000 --allow_file_create=0 \
	--randseed="${LAB_SEED:-1}" \
	--name=reads --rw=randread --offset=8000k --size=3840k --bsrange=4k-28k --blockalign=64k \
	--norandommap --iodepth=6 \
	--name=verify --rw=randwrite --bsrange=4k-16k --offset=12m --size=10m --iodepth=4 \
	--verify=crc32c --verify_backlog=64 --verify_fatal=1 &
fio=$!
stuck=0 events=0
while [ $(($(served) - begun)) -lt "$requests" ] && load_alive; do
	draw
	event $((random / 16 % 10))
	events=$((events + 1))
	free=$(stats "$disk" free_sectors)
	wait_for 60 scan_goes_on || stuck=$((stuck + 1))
	sleep 1
done
expect_ok "the foreground lives" load_alive
kill -INT $fio
expect_ok "the foreground ends" wait_for 60 sh -c "! grep -q '^State:.[^Z]' /proc/$fio/status"
wait $fio
expect_eq "no error reaches the foreground, and no wrong byte" \
	"$(awk -F';' '/^3;/ { n++; s += $5 } END { print n + 0, s + 0 }' /tmp/load)" "2 0"
expect_ge "commands served" $(($(served) - begun)) "$requests"
expect_eq "events behind which no free read came" $stuck 0
expect_ge "events" $events 10
note "$events events, $(($(served) - begun)) commands, $(stats "$disk" prepends) prepended and $(stats "$disk" separates) separate reads since the last switch"
scan_stop "$disk"
expect_within "back to none" 30 sched_set "$disk" none
expect_within "unload freeblock" 30 unload_module freeblock
drive_off d
expect_within "unload mechdisk" 30 unload_module mechdisk
done_testing
