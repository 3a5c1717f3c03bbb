# SPDX-License-Identifier: GPL-2.0
# One bad sector below libata, of each kind that the error register knows: unreadable (UNC), not
# found (IDNF), aborted (ABRT); met by a scan or a scrub, under NCQ and with one command at a time,
# on an idle disk; and beside a foreground that never reads it, in cells of a table: interface, commands
# at the drive (off: NCQ switched off by libata's error handler), place, kind, task. All of them with
# make soak; interfaces=, queues=, kinds=, places=, tasks= choose there. At a depth of one freeblock
# leaves gaps alone: the places are where the sector lies, and idle reads meet it. At last a pass that begins soon after one that has met an ABRT, and two such sectors.
#
# libata's error handler deals with each such error: it aborts the whole queue, and after four in
# ten minutes that are not UNC it switches NCQ off. None of them comes as BLK_STS_MEDIUM on 6.1.
#
# Expected: the sector is found once and reported once, by at most two errors (UNC: one); no
# request of the foreground fails, and it stalls for one error's handling; NCQ stays on; the pass
# ends, and all other blocks are verified. The next pass reads all else at once, and that block when
# ten minutes are over, by one error and without an alarm. Of two in adjacent blocks each is known by
# an error more, and the third error has what lies around them wait for ten minutes.
#
# Seen to fail with: an error's place taken from the request alone where the SCSI layer does not
# complete what lies before it (IDNF: 13 bad blocks); blocks in doubt read among others in idle time
# (ABRT: three errors, the pass stops); zones that wait for ten minutes after two errors (ABRT);
# a failed request retried with what was prepended (ABRT: seven errors, NCQ switched off); FUA for
# what READ is to tell of (ABRT, prepended to a foreground read or adjacent: an error more).
#
# lab: kernel=stock clock=icount smp=1 timeout=600
# lab: set=soak kernel=stock clock=icount smp=1 timeout=2400
# lab-kernel-modules: libata

. /lab/lib.sh

M=/sys/kernel/mechdisk

# The load: 4 KiB at each 64 KiB of two megabytes
LOAD="--filename=/dev/DISK --direct=1 --ioengine=libaio --offset=4m --size=2m --verify=crc32c
	--verify_fatal=1"
RECOVERY_MS=20

# drive INTERFACE QUEUE: "d" under a freeblock that knows nothing; sets $disk
drive()
{
	local depth="$2"

	if [ -d $M/d ]; then
		sched_set "$disk" none
		# it knows a bad block of a disk for ever
		unload_module freeblock
		load_module freeblock
		echo d > $M/delete
	fi
	[ "$depth" = off ] && depth=32
	disk=$(drive_new d tiny.fbdrive "interface $1") || exit 1
	echo "$depth" > /sys/block/"$disk"/device/queue_depth
	[ "$2" != off ] || ncq_off
}

# four errors in ten minutes, and as many others as that takes
ncq_off()
{
	local i

	echo "add 40000 1 error=abrt recovery_ms=1" > $M/d/medium_errors || die "no bad sector"
	for i in 1 2 3 4 5 6; do
		dd if=/dev/"$disk" of=/dev/null bs=4k skip=5000 count=1 iflag=direct 2> /dev/null
		dmesg | grep -q 'NCQ disabled' && break
	done
	dmesg | grep -q 'NCQ disabled' || die "NCQ stays on: $(dmesg | tail -n 20)"
	echo clear > $M/d/medium_errors
}

# load NAME ARGUMENTS...
load()
{
	local name="$1"

	shift
	# shellcheck disable=SC2086 # words are meant
	fio_run "$name" ${LOAD%%DISK*}"$disk"${LOAD#*DISK} "$@"
}

reads()
{
	load "$1" --rw=randread --bs=4k --blockalign=64k --norandommap --iodepth=8 --time_based \
		--runtime="$2" --randseed=4 --write_lat_log="/tmp/$1"
}

# the longest time in which no request of a load ended, ms; the log has the times at which they did
stall_ms()
{
	cut -d, -f1 "/tmp/$1_clat.1.log" | sort -n |
		awk 'NR > 1 && $1 - t > most { most = $1 - t } { t = $1 } END { print most + 0 }'
}

# the longest wait of a request, us
longest_us()
{
	awk -F';' '{ print int($39) }' "/tmp/$1.terse"
}

write_load()
{
	load written --rw=write --bs=256k --verify_interval=4k --iodepth=4 --do_verify=0
}

begin_freeblock()
{
	sched_set "$disk" freeblock || die "no freeblock"
	model_load "$disk" "tiny$([ "$1" = scsi ] || echo -ata).fbmodel"
	iosched "$disk" target_slowdown_ppm 1000000
	# the policy of idle reads is not the question here
	echo 10000000 > "$(fb "$disk")/idle_mean_us"
}

# put INTERFACE QUEUE PLACE KIND: a drive with the load's data and a bad sector; sets $bad, its block,
# $first and $count, what is to be read
put()
{
	local sector

	drive "$1" "$2"
	write_load
	case $3 in
	first) bad=0 sector=3 first=0 count=2048 ;;
	last) bad=50128 sector=50128 first=48128 count=2001 ;;
	# a block that no gap reaches but by a read of its own
	gap) bad=9792 sector=9795 first=9792 count=8 ;;
	# a block that ends where the load reads
	prepended) bad=9848 sector=9851 first=9848 count=8 ;;
	esac
	begin_freeblock "$1"
	echo "add $sector 1 error=$4 recovery_ms=$RECOVERY_MS" > $M/d/medium_errors ||
		die "no bad sector"
	echo 1 > $M/d/stats_reset
	dmesg -c > /dev/null
}

over()
{
	[ "$(job "$disk" "$job")" = finished ]
}

busy_ms()
{
	awk '{ print $10 }' /sys/block/"$disk"/stat
}

# without INTERFACE QUEUE: sets $quiet_ms, the longest time without an end of a foreground request
# beside a scan that meets nothing, and $handling_ms, how long the disk is busy with one error
without()
{
	local before errors

	put "$1" "$2" last unc
	echo 0 > "$(fb "$disk")/idle_mean_us"
	echo "start 16384 $((bad - 16384))" > "$(fb "$disk")/scan" || die "no scan"
	reads quiet 2
	quiet_ms=$(stall_ms quiet)
	expect_ok "$1, $2: the scan stops" scan_stop "$disk"
	sleep 1
	before=$(busy_ms)
	dd if=/dev/"$disk" of=/dev/null bs=512 skip="$bad" count=1 iflag=direct 2> /dev/null
	errors=$(drive_stat d medium_errors)
	expect_ge "$1, $2: another program meets it" "$errors" 1
	handling_ms=$((($(busy_ms) - before) / errors))
	note "$1, $2: without: longest stall $quiet_ms ms, longest wait $(longest_us quiet) us;" \
		"one error's handling $handling_ms ms"
}

# most_errors INTERFACE PLACE KIND: at the drive
most_errors()
{
	case $1-$3 in
	*-unc|scsi-idnf) echo 1 ;;
	sata-*) echo 2 ;;
	# in doubt, then twice alone; where it was alone at first, once more
	scsi-abrt) [ "$2" = gap ] && echo 2 || echo 3 ;;
	esac
}

# cell INTERFACE QUEUE PLACE KIND TASK: all of it, judged; in one line what was measured
cell()
{
	local name="$1, $2, $3, $4, $5" in_load

	put "$1" "$2" "$3" "$4"
	job=$5
	case $3 in
	gap|prepended) echo 0 > "$(fb "$disk")/idle_mean_us" ;;
	esac
	echo "start $first $count" > "$(fb "$disk")/$job" || die "no $job"
	reads fg 2
	in_load=$(drive_stat d medium_errors)
	echo 10000000 > "$(fb "$disk")/idle_mean_us"
	expect_ok "$name: the pass ends" wait_for 100 over
	expect_eq "$name: bad blocks, all others, the foreground's errors, reports, alarms" \
		"$(job "$disk" "$job" blocks_bad) $(($(job "$disk" "$job" blocks_verified) +
		$(job "$disk" "$job" blocks_unverified))) $(fio_errors fg) $(
		dmesg | grep -c 'cannot be read') $(state "$disk" alarms)" \
		"1 $(((count + 7) / 8 - 1)) 0 1 0"
	expect_match "$name: which" "$(cat "$(debug "$disk")/bad_blocks")" "^$bad 8 "
	expect_le "$name: errors" "$(drive_stat d medium_errors)" "$(most_errors "$1" "$3" "$4")"
	expect_eq "$name: NCQ disabled, links slowed, links reset" "$(
		dmesg | grep -c -i 'ncq disabled\|limiting speed') $(
		[ "$1" = scsi ] && echo 0 || drive_stat d resets)" "0 0"
	# at most one error at a time
	expect_le "$name: the foreground's longest stall, ms" "$(stall_ms fg)" \
		$((quiet_ms + handling_ms))
	note "$name: $(drive_stat d medium_errors) errors, $in_load beside the foreground," \
		"$(stats "$disk" prepends) prepended, $(stats "$disk" separates) in gaps," \
		"$(drive_stat d verifies) VERIFYs, $(drive_stat d fua_reads) with FUA," \
		"longest stall $(stall_ms fg) ms, longest wait $(longest_us fg) us"
}

load_module mechdisk
load_module mechata
load_module freeblock

# fresh DEPTH KIND: a drive with one bad sector
fresh()
{
	drive sata "$1"
	begin_freeblock sata
	echo "add 2403 1 error=$2 recovery_ms=$RECOVERY_MS" > $M/d/medium_errors ||
		die "no bad sector"
	echo 1 > $M/d/stats_reset
	dmesg -c > /dev/null
}

# found NAME MOST: the sector has been, by at most so many errors
found()
{
	expect_ok "$1: the pass ends" wait_for 100 over
	expect_eq "$1: bad blocks" "$(job "$disk" "$job" blocks_bad)" 1
	expect_eq "$1: all others are read" "$(($(job "$disk" "$job" blocks_verified) +
		$(job "$disk" "$job" blocks_unverified)))" 511
	[ "$job" = scan ] || expect_eq "$1: and verified" "$(job "$disk" scrub blocks_unverified)" 0
	expect_match "$1: which" "$(cat "$(debug "$disk")/bad_blocks")" '^2400 8 '
	expect_le "$1: errors" "$(drive_stat d medium_errors)" "$2"
	expect_eq "$1: reported" "$(dmesg | grep -c 'cannot be read')" 1
	expect_eq "$1: NCQ" "$(dmesg | grep -c -i 'ncq disabled\|limiting speed')" 0
	expect_eq "$1: the link was not reset" "$(drive_stat d resets)" 0
	note "$1: $(state "$disk" medium), $(drive_stat d medium_errors) errors," \
		"$(drive_stat d verifies) VERIFYs, $(drive_stat d fua_reads) with FUA"
}

for depth in 32 1; do
	for kind in unc idnf abrt; do
		most=$([ $kind = unc ] && echo 1 || echo 2)
		for job in scan scrub; do
			fresh $depth $kind
			echo "start 0 4096" > "$(fb "$disk")/$job" || die "no $job"
			found "idle, $job, $kind, depth $depth" $most
		done
	done
done

# ---- beside a foreground ----

# table INTERFACE QUEUE "PLACE KIND TASK"...
table()
{
	local interface="$1" queue="$2" each

	shift 2
	without "$interface" "$queue"
	for each in "$@"; do
		# shellcheck disable=SC2086 # words are meant
		cell "$interface" "$queue" $each
	done
}

if [ "${SET-}" = soak ]; then
	cells=$(for place in ${places-first last gap prepended}; do
		for kind in ${kinds-unc idnf abrt}; do
			for task in ${tasks-scan scrub}; do echo "'$place $kind $task'"; done
		done
	done)
	for interface in ${interfaces-scsi sata}; do
		for queue in ${queues-1 2 32 off}; do
			[ "$interface-$queue" = scsi-off ] ||
				eval "table $interface $queue $(echo $cells)"
		done
	done
else
	table sata 1 "first unc scan" "last abrt scrub"
	table sata 2 "prepended unc scrub" "gap idnf scan"
	table sata 32 "prepended abrt scrub" "gap unc scrub" "last idnf scrub" "first abrt scrub"
	table sata off "prepended idnf scan"
	table scsi 32 "prepended abrt scan" "gap idnf scrub"
fi

# ---- a known bad block ----

all_else()
{
	[ "$(job "$disk" scrub blocks_verified)" = 511 ]
}

fresh 32 abrt
job=scrub
echo "start 0 4096" > "$(fb "$disk")/scrub" || die "no scrub"
expect_ok "known: the first pass ends" wait_for 100 over
echo "start 0 4096" > "$(fb "$disk")/scrub" || die "no scrub"
expect_ok "known: the next one reads all else at once" wait_for 30 all_else
sleep 60
expect_eq "known: and waits" "$(job "$disk" scrub)" running
expect_eq "known: without another error" "$(drive_stat d medium_errors)" 2
sleep 480
# a disk that has been silent for so long is left to fall asleep (t-power.sh)
dd if=/dev/"$disk" of=/dev/null bs=4k count=1 skip=3000 iflag=direct 2> /dev/null
found "known" 3
expect_eq "known: no alarm" "$(state "$disk" alarms)" 0

# ---- two of them, in adjacent blocks ----

fresh 32 abrt
echo "add 2408 1 error=abrt recovery_ms=$RECOVERY_MS" > $M/d/medium_errors || die "no bad sector"
echo "start 0 4096" > "$(fb "$disk")/scrub" || die "no scrub"
sleep 580
dd if=/dev/"$disk" of=/dev/null bs=4k count=1 skip=3000 iflag=direct 2> /dev/null
expect_eq "two: all around them waits for ten minutes" "$(job "$disk" scrub)" running
expect_ok "two: the pass ends" wait_for 100 over
expect_eq "two: bad blocks, verified, reports, alarms, errors" "$(job "$disk" scrub blocks_bad) $(
	job "$disk" scrub blocks_verified) $(dmesg | grep -c 'cannot be read') $(
	state "$disk" alarms) $(drive_stat d medium_errors)" "2 510 2 0 3"
expect_eq "two: NCQ" "$(dmesg | grep -c -i 'ncq disabled\|limiting speed')" 0

# ---- FUA comes back with NCQ ----

fresh 1 unc
job=scrub
echo "start 0 2048" > "$(fb "$disk")/scrub" || die "no scrub"
expect_ok "depth 1: the pass ends" wait_for 100 over
expect_match "depth 1: by VERIFY" "$(state "$disk" medium)" "^verify "
expect_match "depth 1: why" "$(state "$disk" medium)" 'no fua: refused: NCQ is off'
expect_eq "depth 1: the log says nothing of a refusal" "$(dmesg | grep -c -i 'illegal\|critical')" 0
echo 32 > /sys/block/"$disk"/device/queue_depth
echo "start 0 2048" > "$(fb "$disk")/scrub" || die "no scrub"
expect_ok "depth 32: the pass ends" wait_for 100 over
expect_match "depth 32: by FUA" "$(state "$disk" medium)" "^fua "
drive_off d
expect_within "unload freeblock" 20 unload_module freeblock
done_testing
