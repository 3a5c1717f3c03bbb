# SPDX-License-Identifier: GPL-2.0
# sata-bad.sh - what t-sata-bad.sh and s-sata-bad.sh share: one bad sector met by a scan or a scrub,
# beside a foreground that reads what it wrote and never that sector
#
#	drive INTERFACE QUEUE		a drive "d" under a freeblock that knows nothing: sets $disk.
#					QUEUE: the depth, or "off": 32, and libata's error handler
#					has switched NCQ off
#	begin_freeblock INTERFACE	on $disk, whose idle time it may use whatever it costs
#	put INTERFACE QUEUE PLACE KIND	the same with the load's data and a bad sector; sets $bad, its
#					block, $first and $count, what is to be read
#	over				the $job has ended
#	cell INTERFACE QUEUE PLACE KIND TASK	all of it, judged; in one line what was measured
#	without INTERFACE QUEUE		sets $quiet_ms, the longest time without an end of a foreground
#					request, beside a scan that meets nothing, and $handling_ms,
#					how long the disk is busy with one error

M=/sys/kernel/mechdisk

# The load: 4 KiB at each 64 KiB of two megabytes
LOAD="--filename=/dev/DISK --direct=1 --ioengine=libaio --offset=4m --size=2m --verify=crc32c
	--verify_fatal=1"
RECOVERY_MS=20

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
