# SPDX-License-Identifier: GPL-2.0
# freeblock extract of a whole SATA disk below the kernel's own libata, and of one in an enclosure
# that gives it a vendor of its own: caches off by SET FEATURES while it measures, and back as they
# were after success, an error, SIGTERM and SIGKILL; what the way to the disk cannot do is said before
# anything is changed.
#
# Expected: word 85 of IDENTIFY DEVICE as hdparm shows it, not our tool; what the drive answers from
# its cache; the description of the drive: each LBN on its track, angles within 0.002 turn, the
# period within 1 ppm, seeks within 40 us.
#
# Seen to fail with: mode pages alone, as before (look-ahead stays on); put_back() that leaves page
# 85h out (look-ahead stays off); way() without its read with FUA (the extraction begins, and fails);
# an enclosure known by its vendor alone (look-ahead stays on).
#
# lab-programs: extract judge mechdisk-host
# lab-python: freeblock.extraction.pipeline _pydecimal bench.extractscore
# lab-freeblock: extract restore
# lab-kernel-modules: libata
# lab-host-programs: hdparm
# lab: kernel=stock clock=icount smp=1 timeout=600

. /lab/lib.sh

M=/sys/kernel/mechdisk
modes=/var/lib/freeblock/modes
load_module mechdisk
load_module mechata

# fresh LINES: a drive "d"; what was there is removed
fresh()
{
	[ ! -d $M/d ] || echo d > $M/delete
	disk=$(drive_new d wee.fbdrive "$1") || exit 1
	wait_for 30 [ -d /sys/block/"$disk"/device/scsi_generic ] || die "no sg"
	rm -rf /tmp/state
}

# look-ahead and write cache, as hdparm reads them of the drive: "1 1": both are on
features()
{
	hdparm -A -W /dev/"$disk" | sed -n 's/.*= *\([01]\) .*/\1/p' | tr '\n' ' '
}

# look-ahead and write cache of an enclosure, whose IDENTIFY DEVICE hdparm asks for otherwise
raw_features()
{
	sg_raw -r 512 -o /tmp/identify /dev/"$disk" 85 08 0e 00 00 00 01 00 00 00 00 00 00 40 ec 00 \
		> /tmp/said 2>&1 || cat /tmp/said
	od -A n -t u2 -j 170 -N 2 /tmp/identify | awk '{ print int($1 / 64) % 2, int($1 / 32) % 2 " " }'
}

# whether the drive answers a block that follows one that it has read, without its platters
reads_ahead()
{
	local hits

	place=$((place + 40))
	dd if=/dev/"$disk" of=/dev/null bs=512 skip=$place count=1 iflag=direct 2> /dev/null
	sleep 0.1
	hits=$(drive_stat d read_hits)
	dd if=/dev/"$disk" of=/dev/null bs=512 skip=$((place + 1)) count=1 iflag=direct 2> /dev/null
	echo $(($(drive_stat d read_hits) - hits))
}

extract()
{
	freeblock extract /dev/"$disk" --state-dir /tmp/state -o /tmp/found.fbmodel "$@" \
		> /tmp/out 2> /tmp/err
}

# is_off HOW: both features are off
is_off()
{
	[ "$($1)" = "0 0 " ]
}

# ended NAME HOW: all is as before
ended()
{
	expect_eq "$1: look-ahead and write cache are on" "$($2)" "1 1 "
	expect_eq "$1: the drive reads ahead" "$(reads_ahead)" 1
	expect_ok "$1: the kernel flushes" wait_for 10 grep -qx "write back" \
		/sys/block/"$disk"/queue/write_cache
	expect_eq "$1: no journal is left" "$(ls $modes)" ""
}

# interrupted HOW: an extraction in its midst, by SIGTERM, and by SIGKILL
interrupted()
{
	local signal

	for signal in TERM KILL; do
		extract &
		expect_ok "$signal: both features go off" wait_for 60 is_off "$1"
		# the write cache goes first: what follows is measured with both
		sleep 1
		expect_eq "$signal: the drive does not read ahead" "$(reads_ahead)" 0
		kill -$signal "$(cat $modes/*.lock)"
		wait $!
		status=$?
		if [ $signal = TERM ]; then
			expect_eq "TERM: status" $status 130
		else
			expect_eq "KILL: both are off still" "$($1)" "0 0 "
			expect_match "KILL: restore" "$(freeblock restore)" "WEE.*: put back$"
		fi
		ended $signal "$1"
	done
}

# fails HOW: an extraction that ends with an error, when it has seen what FUA is worth
fails()
{
	expect_fail "an error: it ends with one" extract --no-translation
	expect_match "an error: which, and what to do" "$(tr '\n' ' ' < /tmp/err)" \
		'SET FEATURES.*reads with FUA are answered by a cache.*switch caches off where they are'
	ended "an error" "$1"
}

# exact: the model is the drive
exact()
{
	cat > /tmp/exact.py << 'EOF2'
import json, sys
sys.path[:0] = ["/bin/cli", "/bin"]
from bench import extractscore, replay
replay.HOST, replay.build_host = "/bin/mechdisk-host", lambda: None
with open("/tmp/out") as file, open("/tmp/found.fbmodel", "rb") as model:
    report = json.load(file)
    found = extractscore.score("/lab/files/wee.fbdrive", model.read(), report["layout"]["how"])
print("trusted", int(report["validation"]["trusted"]))
print("within", int(10 * report["validation"]["shares"][-1]["within_50us_pct"]))
print("lbns", found["compared"])
print("wrong", found["lbn_mismatches"] + found["track_boundaries_wrong"])
print("angle", int(1e6 * found["angle_err_p99_turn"]))
print("period", int(1000 * found["rotation_err_ppm"]))
print("seek", int(found["seek_err_max_us"]))
EOF2
	/usr/bin/python3 /tmp/exact.py > /tmp/exact || die "no score"
	note "$1: $(tr '\n' ' ' < /tmp/exact), $(sed -n 's/.*disk_time_s": //p' /tmp/out) s"
	expect_eq "$1: trusted" "$(kv /tmp/exact trusted)" 1
	expect_ge "$1: reads within 50 us of the prediction, per mille" "$(kv /tmp/exact within)" 985
	expect_eq "$1: LBNs" "$(kv /tmp/exact lbns)" 9969
	expect_eq "$1: LBNs and tracks that are elsewhere" "$(kv /tmp/exact wrong)" 0
	expect_le "$1: angles, 10^-6 turn" "$(kv /tmp/exact angle)" 2000
	expect_le "$1: period, 10^-3 ppm" "$(kv /tmp/exact period)" 1000
	expect_le "$1: seeks, us" "$(kv /tmp/exact seek)" 40
}

# whole NAME HOW OPTION: an extraction to its end
whole()
{
	extract --json $3
	expect_eq "$1: it ends" $? 0
	exact "$1"
	expect_match "$1: said" "$(cat /tmp/out)" 'look-ahead switched off \(SET FEATURES 55h\)'
	expect_match "$1: said at the start" "$(head -n 1 /tmp/err)" \
		'^/dev/sd.: a SATA disk \(VPD page 89h\): look-ahead and write cache .* SET FEATURES'
	ended "$1" "$2"
}

### What the way cannot do is said first

# refused NAME WORDS: nothing is changed, and no journal was written
refused()
{
	dmesg -c > /dev/null
	expect_fail "$1: refused" extract --force
	expect_match "$1: why, and what to do" "$(tr '\n' ' ' < /tmp/err)" "$2"
	expect_eq "$1: nothing was changed" "$(dmesg | grep -c 'Write cache')" 0
	expect_eq "$1: nor journaled" "$(ls $modes 2> /dev/null)" ""
}

fresh "interface sata"
began=$(cut -d ' ' -f 1 /proc/uptime)
expect_eq "both are on" "$(features)" "1 1 "
expect_eq "it reads ahead" "$(reads_ahead)" 1
echo 1 > /sys/block/"$disk"/device/queue_depth
refused "depth 1" "queue depth is 1.*two at the drive.*echo 32 > .*/queue_depth.*FUA are refused"
echo 32 > /sys/block/"$disk"/device/queue_depth
echo "add 9000 1 error=abrt recovery_ms=1 times=12" > $M/d/medium_errors || die "no bad sector"
for _ in 1 2 3 4; do
	dd if=/dev/"$disk" of=/dev/null bs=512 skip=9000 count=1 iflag=direct 2> /dev/null
done
expect_match "after errors libata has NCQ off" "$(dmesg)" 'NCQ disabled due to excessive errors'
expect_eq "which the queue depth does not say" "$(cat /sys/block/"$disk"/device/queue_depth)" 32
refused "NCQ off" "FUA are refused.*under NCQ only.*switched NCQ off.*boot again"

### Ends, and a whole one

fresh "interface sata"
interrupted features
whole libata features
fresh "interface sata
fua cache"
fails features

### An enclosure that renames

fresh "vendor ACME
translated on"
expect_eq "enclosure: vendor" "$(tr -d ' ' < /sys/block/"$disk"/device/vendor)" ACME
expect_eq "enclosure: both are on" "$(raw_features)" "1 1 "
interrupted raw_features
whole enclosure raw_features
fresh "vendor ACME
translated on
fua cache"
fails raw_features
note "guest time: from $began to $(cut -d ' ' -f 1 /proc/uptime)"
done_testing
