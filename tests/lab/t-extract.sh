# SPDX-License-Identifier: GPL-2.0
# extract-probe, which times commands at a real drive for freeblock extract, over /dev/sgX at
# the simulated disk; beside it the same drive's description behind the same records in user
# space (mechdisk-host probe), with exact times.
#
# Expected: what the other says: angles, statuses, mode pages, identity; the drive's own
# counters; the refusals by name.
#
# Seen to fail with: reads sent one block further on than meant; a disk held that is not
# opened exclusively; an end of standard input that is not noticed in a batch; SIGINT that
# does not end one; refused commands whose data are taken for theirs.
#
# lab-programs: extract mechdisk-host
# lab-python: freeblock.extraction.device freeblock.extraction.phase
# lab: kernel=stock clock=icount smp=1 timeout=180

. /lab/lib.sh

M=/sys/kernel/mechdisk
QUIET="noise off
jitter_ns 0"

cat > /tmp/head.py <<'EOF2'
import os, signal, sys, time
sys.path.insert(0, "/bin/cli")
import numpy
from freeblock import ToolError
from freeblock.extraction.device import *
from freeblock.extraction.phase import Phase


def check(name, right, said=""):
    print("ok " + name if right else "not ok %s - %s" % (name, str(said).replace("\n", " ")))
    sys.stdout.flush()


def same(name, got, want):
    got, want = (x.tolist() if hasattr(x, "tolist") else x for x in (got, want))
    check(name, got == want, "got %r, want %r" % (got, want))


def angles(dev, blocks, turn, **options):
    """Where reads end, of a turn from where block 0 does."""
    r = dev.run(dev.ops(numpy.concatenate([[0], numpy.repeat(blocks, 2)]), **options))
    done = (r["done"] - r["done"][0]).astype("f8")
    return r["status"], done[2::2] / turn % 1
EOF2

# py NAME: a Python script's checks count as ours
py()
{
	cat /tmp/head.py - > "/tmp/$1.py"
	/usr/bin/python3 "/tmp/$1.py" $sg > "/tmp/$1.out" 2> "/tmp/$1.err"
	status=$?
	cat "/tmp/$1.out"
	tap_count=$((tap_count + $(grep -c "^ok\|^not ok" "/tmp/$1.out")))
	tap_failed=$((tap_failed + $(grep -c "^not ok" "/tmp/$1.out")))
	expect_eq "$1: ends well" "$status $(tail -n 1 "/tmp/$1.err")" "0 "
}

# fresh DRIVE [LINES]: sets $disk and $sg
fresh()
{
	[ -d $M/d ] && echo d > $M/delete
	disk=$(drive_new d "$1.fbdrive" "$2") || exit 1
	sg=/dev/$(ls "/sys/block/$disk/device/scsi_generic")
	wait_for 10 [ -c "$sg" ] || die "no $sg"
	echo 1 > $M/d/stats_reset
}

load_module mechdisk
began=$(cut -d ' ' -f 1 /proc/uptime)

# ---- beside the other one

fresh toy "$QUIET
medium_error 5000 3 recovery_ms=5"
py beside << 'EOF2'
real = Device.open(sys.argv[1])
sim = Device.simulated("/lab/files/toy.fbdrive",
                       lines=["noise off", "jitter_ns 0", "medium_error 5000 3 recovery_ms=5"])
for what in ("blocks", "unit_bytes", "logical_bytes", "longest", "inquiry"):
    same("beside: " + what, getattr(real, what), getattr(sim, what))
turn = 6e6
blocks = numpy.random.default_rng(5).integers(0, real.blocks, 40)
blocks[:8] = [4999, 5000, 5002, 5003, 1, real.blocks - 1, 100, 300000]
for kind, options in (("READ", {}), ("VERIFY", {"op": VERIFY})):
    (status, at), (want, want_at) = (angles(d, blocks, turn, **options) for d in (real, sim))
    same("%s: statuses" % kind, status, want)
    check("%s: two bad sectors" % kind, (want != 0).sum() == 4, want)
    # those that fail end when the drive gives up; late, if not the same
    late = (at - want_at + 0.5)[want[2::2] == 0] % 1 - 0.5
    print("# %s: late by %.1f to %.1f us" % (kind, late.min() * turn / 1e3, late.max() * turn / 1e3))
    check("%s: angles within 0.2 %% of a turn" % kind, numpy.abs(late).max() < 0.002, late)
bad = real.run(real.ops([5001, 5001], op=[READ, VERIFY]))
same("beside: sense", [bad["status"].tolist(), bad["asc"].tolist()], [[3, 3], [0x1100, 0x1100]])
for cdb in ("1a083f00ff00", "5a083f000000000000ff00"[:20], "1a08bf00ff00", "120180000ff0",
            "1b0000000100", "3700 1d 00000000 0100 00".replace(" ", ""), "a3" + "00" * 11,
            "28" + "ff" * 5 + "00000100"):
    cdb = bytes.fromhex(cdb)
    got, want = (d.cdb(cdb, data_in=255) for d in (real, sim))
    same("beside: command %02x: data" % cdb[0], got[2], want[2])
    same("beside: command %02x: status and sense" % cdb[0], [got[0], got[1][:14]],
         [want[0], want[1][:14]])
# a page that is changed, and back
page = bytearray(real.cdb(bytes((0x5a, 8, 0x0a, 0, 0, 0, 0, 0, 64, 0)), data_in=64)[2])
page[:2] = b"\0\0"
same("MODE SELECT, not saved", real.cdb(bytes((0x55, 0x10, 0, 0, 0, 0, 0, 0, len(page), 0)),
                                        data_out=page)[0], 0)
same("MODE SELECT, saved", real.cdb(bytes((0x55, 0x11, 0, 0, 0, 0, 0, 0, len(page), 0)),
                                    data_out=page)[0], -1)
r = real.run(real.ops([1, 2], op=[WRITE, READ]))
same("a write is refused", r["status"], [-1, 0])
same("WRITE(10) is refused", real.cdb(bytes.fromhex("2a000000000000000100"),
                                      data_out=bytes(512))[0], -1)
r = real.run(real.ops([real.blocks, 1, 1, 1], count=[1, 0, 1, real.longest + 1], op=[0, 0, 7, 0]))
same("no such op", r["status"], [-22] * 4)
r = real.run(real.ops([9, 9, 9], wait=[0, 20000000, 0], flags=[FUA, FUA, FUA | OVERLAP]))
check("a wait", 0 <= int(r["submit"][1] - r["done"][0]) - 20000000 < 100000, r)
check("overlap", r["submit"][2] < r["done"][1], r)
phase = Phase.measure(real, seconds=2)
check("phase: the turn", abs(phase.local_ns / turn - 1) < 1e-4, phase.local_ns)
check("phase: the rotation is seen", phase.late_ns < 50000, phase.late_ns)
check("disk time", 0 < real.disk_ns < real.now(), real.disk_ns)
real.close()
EOF2
expect_eq "writes the drive saw" "$(drive_stat d writes)" 0
expect_eq "most commands the drive saw at once" "$(drive_stat d max_outstanding)" 2

# ---- what is refused

py refused << 'EOF2'
import re, subprocess
def refused(name, pattern, path=sys.argv[1], **options):
    try:
        Device.open(path, **options).close()
        check("refused: " + name, False, "it was not")
    except ToolError as error:
        check("refused: " + name, re.search(pattern, str(error)), error)
disk = "/dev/" + os.listdir("/sys/class/scsi_generic/%s/device/block" %
                            os.path.basename(sys.argv[1]))[0]
Device.open(disk).close()
check("the block device will do, too", True)
refused("no SCSI device", "not a SCSI generic device", "/dev/null")
with open(sys.argv[1]) as held:
    refused("another program's", "another program has it open")
def say(*words):
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
say("mkswap", disk)
say("swapon", disk)
refused("a disk in use", "is in use: unmount it")
with Device.open(sys.argv[1], in_use=True) as dev:
    same("a disk in use, nevertheless", dev.run(dev.ops([5]))["status"], [0])
say("swapoff", disk)
EOF2

# ---- beyond 2^32 blocks, in blocks of 4096 bytes; with a cache

fresh nearline24 "$QUIET"
py large << 'EOF2'
real = Device.open(sys.argv[1])
sim = Device.simulated("/lab/files/nearline24.fbdrive", lines=["noise off", "jitter_ns 0"])
same("large: blocks", [real.blocks, real.unit_bytes], [sim.blocks, sim.unit_bytes])
turn = numpy.median(numpy.diff(sim.run(sim.ops([7] * 20))["done"].astype("f8")))
blocks = numpy.array([real.blocks - 1, 1, 4000000000, 5000000000, 77])
(status, at), (_, want_at) = (angles(d, blocks, turn) for d in (real, sim))
same("large: statuses", status, [0] * 11)
late = (at - want_at + 0.5) % 1 - 0.5
check("large: angles within 0.2 % of a turn", numpy.abs(late).max() < 0.002, late)
phase = Phase.measure(real, seconds=2)
check("large: the turn", abs(phase.local_ns / turn - 1) < 1e-4, phase.local_ns)
check("large: the rotation is seen", phase.late_ns < 50000, phase.late_ns)
EOF2

# ---- ends

fresh tiny
py ends << 'EOF2'
dev = Device.open(sys.argv[1])
pid = dev._process.pid
with open("/sys/kernel/mechdisk/d/inject", "w") as file:
    file.write("hang_next 1\n")
r = dev.run(dev.ops([5, 6]))
same("a command that hangs is a result", r["status"], [-110, 0])
with open("/sys/kernel/mechdisk/d/inject", "w") as file:
    file.write("hw_error_next 1\n")
r = dev.run(dev.ops([5, 6]))
check("a hardware error is a result, or tried again", r["status"][0] in (0, 4), r)
signal.setitimer(signal.ITIMER_REAL, 1)
signal.signal(signal.SIGALRM, lambda *_: os.kill(os.getpid(), signal.SIGINT))
before = dev.now()
try:
    dev.run(dev.ops([5] * 3000))
    check("interrupted", False, "it was not")
except KeyboardInterrupt:
    check("interrupted: at once", dev.now() - before < 1500000000, dev.now() - before)
same("interrupted: it can be used on", dev.run(dev.ops([5, 6]))["status"], [0, 0])
if not os.fork():
    time.sleep(0.5)
    with open("/sys/kernel/mechdisk/d/power", "w") as file:
        file.write("0\n")
    os._exit(0)
try:
    dev.run(dev.ops([5] * 100000))
    check("gone", False, "it is not")
except ToolError as error:
    check("gone: the reason", "the disk is gone" in str(error), error)
os.wait()
try:
    dev.run(dev.ops([5]))
    check("gone: for good", False, "it is not")
except ToolError as error:
    check("gone: for good", "the disk is gone" in str(error), error)
dev.close()
check("gone: the probe has ended", not os.path.exists("/proc/%d" % pid))
EOF2

# who asked is killed in the midst of a long batch
fresh tiny
cat /tmp/head.py - > /tmp/killed.py << 'EOF2'
dev = Device.open(sys.argv[1])
print(dev._process.pid, flush=True)
dev.run(dev.ops([5] * 100000))
EOF2
/usr/bin/python3 /tmp/killed.py $sg > /tmp/killed.out &
asked=$!
wait_for 20 [ -s /tmp/killed.out ] || die "no probe"
sleep 0.5
kill -9 $asked
wait_for 5 [ ! -d "/proc/$(cat /tmp/killed.out)" ]
expect_eq "killed: the probe ends" $? 0
expect_eq "killed: commands left" "$(drive_stat d outstanding)" 0
expect_ge "killed: it was under way" "$(drive_stat d fua_reads)" 10
note "guest time: from $began to $(cut -d ' ' -f 1 /proc/uptime)"
done_testing
