# SPDX-License-Identifier: GPL-2.0
# freeblock extract of a SATA disk in service: mounted, and read at random by others. How much of
# it is mapped, an hour, and what that costs the others, against the same requests without it; what
# was found is gone on from. The default of what idle reads may cost holds.
# LEARN_S, LEARN_BANDS and LEARN_RATE make it longer.
#
# Expected: the description of the drive (mechdisk-host locate, by way of the tests' own judge): of
# what is mapped nothing is elsewhere; the mean read of others within what idle_mean_us allows, and
# what chance adds; no mode of the drive changed, no command but reads of theirs and ours.
#
# Seen to fail with: reads that were not alone taken for answers of a cache (it ends at once).
#
# lab-programs: extract judge mechdisk-host
# lab-python: freeblock.extraction.pipeline _pydecimal bench.extractmap
# lab-freeblock: extract enable
# lab-kernel-modules: libata
# lab-host-programs: hdparm
# lab: kernel=stock clock=icount smp=1 timeout=900

. /lab/lib.sh

SECONDS_=${LEARN_S:-50}	# of each run
BANDS=${LEARN_BANDS:-80}
RATE=${LEARN_RATE:-25}	# reads of others, a second

# drive: a description; surfaces differ in the length of their tracks, in skew and number of tracks
drive()
{
	awk -v bands="$BANDS" 'BEGIN {
		print "fbdrive 1\nproduct LEARN\nserial LEARN\ninterface sata\nphysical_exponent 3"
		print "period_ps 8333333333\nrpm_error_ppm 41\nheads 3\nhead_switch_ns 600000"
		print "write_settle_ns 100000\nzero_latency on\nnoise laplace 50000"
		print "overhead_ns read_miss 100000 100000\ncompletion_overhead_ns 20000\njitter_ns 20000"
		print "queueing ncq\ncache 16 2048 8\nread_ahead segment\nwrite_cache back"
		print "seek 1 700000\nseek 100 1000000\nseek 100000 9000000"
		split("140 133 151", tracks); split("1800 1768 1704", spt)
		split("0.061 0.0625 0.061", skew)
		angle = 0.1
		for (band = 0; band < bands; band++)
			for (s = 1; s <= 3; s++) {
				angle = (angle + 0.57) % 1
				printf "run %d %d in %d %d %.9f %.9f\n", s - 1, at[s], tracks[s],
					spt[s] - (band > bands / 2 ? 200 : 0), angle, skew[s]
				at[s] += tracks[s]
				angle += (tracks[s] - 1) * skew[s]
			}
	}'
}

# features: look-ahead and write cache, as hdparm reads them of the drive
features()
{
	hdparm -A -W "$D" | sed -n 's/.*= *\([01]\) .*/\1/p' | tr '\n' ' '
}

# others NAME: they read for a while; their mean read, us, as the scheduler counts it: $mean
others()
{
	local reads ns

	reads=$(stats "$disk" fg_reads)
	ns=$(stats "$disk" fg_read_ns)
	fio_run "$1" --filename="$D" --readonly --direct=1 --ioengine=libaio --iodepth=32 --rw=randread \
		--bs=8k --norandommap --time_based --runtime="$SECONDS_" --rate_iops="$RATE" \
		--rate_process=poisson --randseed=7 --allrandrepeat=1
	reads=$(($(stats "$disk" fg_reads) - reads))
	mean=$((($(stats "$disk" fg_read_ns) - ns) / reads / 1000))
	note "$1: $reads reads, mean $mean us"
}

# mapped: the share of LBNs in runs, per mille, and how many of 2000 are elsewhere
mapped()
{
	cat > /tmp/mapped.py <<'EOF2'
import json, os, sys
sys.path[:0] = ["/bin/cli", "/bin"]
import numpy as np
from freeblock.extraction.runmap import RunMap
from bench import extractmap, replay

replay.HOST, replay.build_host = "/bin/mechdisk-host", lambda: None
folder = os.path.join("/tmp/state", os.listdir("/tmp/state")[0])
stage, path = {}, os.path.join(folder, "extract.json")
if os.path.exists(path):
    with open(path) as file:
        stage = json.load(file)["stages"].get("layout", {})
part = stage.get("whole") or stage.get("part") or {}
part = part.get("runs") or part.get("map") or {}
part = part.get("map", part)
if not part:
    print("0 0 0")
    sys.exit()
found = RunMap.from_dict(part)
runs = [run for run in found.runs if run.count]
rng, units = np.random.default_rng(1), []
for _ in range(2000):
    run = runs[rng.integers(len(runs))]
    units.append(run.first + int(rng.integers(run.count)))
units = np.unique(units)
truth = extractmap.located("/tmp/learn.fbdrive", units * 8 + 7)
ends = np.array([float(run.ends(unit)) for unit in units for run in runs
                 if run.first <= unit < run.end])
off = (ends - truth) % 1
middle = np.angle(np.mean(np.exp(2j * np.pi * off))) / (2 * np.pi)
wrong = np.abs((off - middle + 0.5) % 1 - 0.5) * 8333 > 50
print(1000 * found.mapped // found.blocks, int(wrong.sum()), len(runs))
EOF2
	/usr/bin/python3 /tmp/mapped.py 2> /out/mapped.err
}

# learn NAME: an extraction in the background; its words in /out/NAME
learn()
{
	freeblock extract "$D" --no-translation --json --state-dir /tmp/state -o /tmp/learnt.fbmodel \
		> "/out/$1" 2>&1 &
	learner=$!
}

load_module mechdisk
load_module ext4
load_module freeblock
drive > /tmp/learn.fbdrive
disk=$(drive_new d /tmp/learn.fbdrive) || exit 1
D=/dev/$disk
addpart "$D" 1 2048 65536 || die "no partition"
wait_for 10 [ -b "${D}1" ] || die "no partition"
expect_ok "mkfs" mkfs.ext4 -q -E lazy_itable_init=0,lazy_journal_init=0 -J size=4 "${D}1"
mkdir -p /mnt
mount -t ext4 "${D}1" /mnt || die "no mount"

sched_set "$disk" mq-deadline
expect_fail "without freeblock it is not measured" freeblock extract "$D" --state-dir /tmp/state
sched_set "$disk" freeblock || die "no freeblock"
features > /tmp/before
others alone
alone=$mean
learn first
others learning
with=$mean
kill -TERM $learner 2> /dev/null
wait $learner
first=$(mapped)
note "mapped, per mille; LBNs elsewhere; runs: $first"
note "coverage: $((${first%% *} * 360 / SECONDS_)) % an hour; a read of others: $((with - alone)) us more"
expect_ge "mapped, per mille" "${first%% *}" 50
expect_eq "nothing is elsewhere" "$(echo "$first" | cut -d ' ' -f 2)" 0
expect_le "a read of others takes longer by, us" $((with - alone)) 1500
expect_eq "no mode was changed" "$(features)" "$(cat /tmp/before)"

### it goes on where it was

learn second
others resumed
kill -TERM $learner 2> /dev/null
wait $learner
second=$(mapped)
note "then: $second"
more=$((${first%% *} * 3 / 2))
expect_ge "it goes on: mapped, per mille" "${second%% *}" $((more < 1000 ? more : 1000))
expect_eq "nothing is elsewhere, still" "$(echo "$second" | cut -d ' ' -f 2)" 0
[ "${first%% *}" -lt 1000 ] ||
	expect_no_match "what was mapped is not mapped anew" "$(cat /out/second)" "layout: "
expect_no_match "no error" "$(cat /out/first /out/second)" "Traceback|is not measured"
umount /mnt
done_testing
