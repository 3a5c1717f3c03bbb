# SPDX-License-Identifier: GPL-2.0
"""Traces as other programs write them, made from the same requests; and files that cannot be used,
with what is said of them. All of our own making."""

import collections
import random
import struct

# ns, first sector, sectors, whether it writes, ns
Request = collections.namedtuple("Request", "time sector sectors write response")
# What a format keeps: data; the error of a time and of a response, ns; None where there is none
Sample = collections.namedtuple("Sample", "data time response")
BEGAN = 128166372 * 10 ** 11        # of MSR's clock, ns
EPOCH = 1577808000 * 10 ** 9        # of the others', ns
US, MS, S = 10 ** 3, 10 ** 6, 10 ** 9


def requests(count=200, seed=1):
    """Random ones on a small disk, of which some come while another is outstanding; no sector
    twice."""
    rng, now, found = random.Random(seed), 34 * MS, []
    for sector in rng.sample(range(2 * 10 ** 6), count):
        found.append(Request(now, 8 * sector, rng.choice((8, 16, 64, 256)), rng.random() < 0.4,
                             rng.randrange(3 * MS, 18 * MS)))
        now += int(rng.expovariate(1 / 50) * MS) + 1
    return found


REQUESTS = requests()


def lines(form, base=0, head=""):
    """A text with a line for each; form(request, ns) makes it."""
    return (head + "".join(form(one, one.time + base) + "\n" for one in REQUESTS)).encode("ascii")


def events(actions="QDC"):
    """(ns, action, request) in the order of time."""
    found = []
    for one in REQUESTS:
        found += [(one.time - 20 * US, "Q", one), (one.time, "D", one),
                  (one.time + one.response, "C", one)]
    return sorted(event for event in found if event[1] in actions)


def rw(one, names="RW"):
    """The name of what it does."""
    return names[one.write] if isinstance(names, tuple) else names[int(one.write)]


def blkparse(actions="QDC", took="", head=""):
    """Its text; took: what -t adds."""
    found = [head]
    for number, (at, action, one) in enumerate(events(actions), 1):
        found.append("  8,16  %2d %8d %5d.%09d %5d  %s %3s %d + %d %s[%s]\n" % (
            number % 4, number, at // S, at % S, 1234 * (action != "C"), action,
            rw(one) + "S" * (number % 3 == 0), one.sector, one.sectors,
            took if action != "Q" else "", 0 if action == "C" else "app"))
    return "".join(found).encode("ascii")


SUMMARY = """CPU0 (8,16):
 Reads Queued:           1,        4KiB\t Writes Queued:           1,        8KiB
"""


def kernel(form, head="", names=("block_rq_issue", "block_rq_complete"), tail=""):
    """The kernel's events."""
    found = [head]
    for number, (at, action, one) in enumerate(events("DC")):
        issue = action == "D"
        what = "8,16 %s %s%d + %d %s[%s]" % (
            rw(one), ("%d () " % (512 * one.sectors) if issue else "() ") if "rq" in names[0]
            else "", one.sector, one.sectors, tail, "app" if issue else 0)
        found.append(form % (number % 4, (at + 1000 * S) // S, at % S // US, names[not issue],
                             what) + "\n")
    return "".join(found).encode("ascii")


def biosnoop(queue=False):
    """Of bcc: in the order of completion, from the first on; a name has a blank."""
    found = ["TIME(s)     COMM           PID     DISK      T SECTOR     BYTES   %sLAT(ms)\n" % (
        "QUE(ms) " * queue)]
    done = sorted((one.time + one.response, one) for one in REQUESTS)
    for at, one in done:
        found.append("%-11.6f %-14s %-7d %-9s %-1s %-10d %-7d %s%7.3f\n" % (
            (at - done[0][0]) / S, "Web Content" if one.write else "app", 1234, "sdb", rw(one),
            one.sector, 512 * one.sectors, "%7.3f " % 0.02 * queue, one.response / MS))
    return "".join(found).encode("ascii")


def fio_log(form):
    """In the order of completion; form(request, ms)."""
    return "".join(form(one, at // MS) + "\n" for at, one in sorted(
        (one.time + one.response, one) for one in REQUESTS)).encode("ascii")


def record(at, sector, size, action, pdu=b""):
    """Of blktrace."""
    return struct.pack("<IIQQIIIIIHH", 0x65617407, 1, at, sector, size, action, 1234, 8 << 20 | 16,
                       0, 0, len(pdu)) + pdu


READ, WRITE, FS, PC, DISCARD = 1 << 16, 1 << 17, 1 << 24, 1 << 25, 1 << 29


def blktrace(more=()):
    """Its binary file; more: (ns, bytes) that are no requests."""
    found = list(more)
    for at, action, one in events():
        found.append((at, record(at, one.sector, 512 * one.sectors, {"Q": 1, "D": 7, "C": 8}[
            action] | (WRITE if one.write else READ) | FS)))
    return b"".join(data for _, data in sorted(found))


def others(kind, size, took):
    """Commands that move no data, for 20 times longer than the requests."""
    for n in range(20):
        at = n * S // 2
        for when, action in ((at, 7), (at + took, 8)):
            yield when, record(when, 10 ** 9 * (kind == DISCARD | WRITE), size, action | kind)


def msr(form="{t},{h},{d},{o},{a},{s},{r}", head=""):
    """MSR Cambridge, or what has become of it."""
    return lines(lambda one, ns: form.format(
        t=ns // 100, h="usr", d=1, o=rw(one, ("Read", "Write")), a=512 * one.sector,
        s=512 * one.sectors, r=one.response // 100), BEGAN, head)


def iolog(unit):
    """fio's, version 3."""
    return lines(lambda one, ns: "%d /dev/sdb %s %d %d" % (
        ns // unit, rw(one, ("read", "write")), 512 * one.sector, 512 * one.sectors),
        head="fio version 3 iolog\n0 /dev/sdb add\n0 /dev/sdb open\n")


def table(form, base=0, head="", names="RW", size=512):
    """A line of each with %(name)."""
    return lines(lambda one, ns: form % {
        "s": ns // S, "us": ns // US, "ns": ns, "frac": ns % S, "ms": ns / MS, "lba": one.sector,
        "byte": 512 * one.sector, "n": one.sectors, "size": size * one.sectors,
        "rw": rw(one, names), "took": one.response / S}, base, head)


SPC = table("3,%(lba)d,%(size)d,%(rw)s,%(s)d.%(frac)09d", names="rw")
READABLE = {
    "arrivals": Sample(table("%(ms).6f %(lba)d %(n)d %(rw)s"), 1, None),
    "alibaba": Sample(table("419,%(rw)s,%(byte)d,%(size)d,%(us)d", EPOCH), US, None),
    "alibaba with names": Sample(table(
        "419,%(rw)s,%(byte)d,%(size)d,%(us)d", EPOCH,
        "device_id,opcode,offset,length,timestamp\n"), US, None),
    "biosnoop": Sample(biosnoop(), 3 * US, US),
    "biosnoop -Q": Sample(biosnoop(True), 3 * US, US),
    "blkparse": Sample(blkparse() + SUMMARY.encode(), 0, 0),
    "blkparse of several files": Sample(
        b"Input file sdb.blktrace.0 added\n" + blkparse() + b"Input file sdb.blktrace.1 added\n",
        0, 0),
    "blkparse -t": Sample(blkparse(took="( 7574000) "), 0, 0),
    "blkparse, C": Sample(blkparse("C"), 18 * MS, None),
    "blkparse, D": Sample(blkparse("D"), 0, None),
    "blkparse, Q": Sample(blkparse("Q"), 0, None),
    "blktrace": Sample(blktrace(), 0, 0),
    "blktrace with discards": Sample(
        blktrace(others(DISCARD | WRITE | FS, 1 << 30, 400 * MS)), 0, 0),
    "blktrace with passthrough commands": Sample(
        blktrace(others(PC | READ, 512, 400 * MS)), 0, 0),
    "disksim": Sample(table("%(ms).6f 0 %(lba)d %(n)d %(rw)s", names="10"), 1, None),
    "fio clat": Sample(fio_log(lambda one, ms: "%d, %d, %d, %d, %d" % (
        ms, one.response, one.write, 512 * one.sectors, 512 * one.sector)), MS, 0),
    "fio clat, 3.28": Sample(fio_log(lambda one, ms: "%d, %d, %d, %d, %d, 0x0000" % (
        ms, one.response, one.write, 512 * one.sectors, 512 * one.sector)), MS, 0),
    "fio iolog": Sample(iolog(US), US, None),
    "fiu": Sample(table("%(ns)d 1234 app %(lba)d %(n)d %(rw)s 6 0 " + 32 * "a"), 0, None),
    "ftrace": Sample(kernel("          <idle>-0       [%03d] d.h1. %6d.%06d: %s: %s",
                            "# tracer: nop\n#\n"), US, 2 * US),
    "ftrace of 6.10": Sample(kernel("     Web Content-12    [%03d] ..... %6d.%06d: %s: %s",
                                    "# tracer: nop\n#\n", tail="none,0,0 "), US, 2 * US),
    "msr": Sample(msr(), 100, 100),
    "msr with names": Sample(msr(
        head="Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime\n"), 100, 100),
    "msr with blanks": Sample(msr("{t}, {h}, {d}, {o}, {a}, {s}, {r} "), 100, 100),
    "msr with CR": Sample(msr("{t},{h},{d},{o},{a},{s},{r}\r"), 100, 100),
    "msr with a BOM": Sample(b"\xef\xbb\xbf" + msr(), 100, 100),
    "msr with dates": Sample(msr("{t},2007-02-22 17:00:00.1,{h},{d},{o},{a},{s},{r}"), 100, 100),
    "msr with dates and names": Sample(msr(
        "{t},2007-02-22 17:00:00.1,{h},{d},{o},{a},{s},{r}",
        "timestamp,datetime,hostname,disk_number,type,offset,size,response_time\n"), 100, 100),
    "msr in another order": Sample(msr(
        "{o},{a},{s},{t},{r},{h},{d}",
        "Type,Offset,Size,Timestamp,ResponseTime,Hostname,DiskNumber\n"), 100, 100),
    "msr with a column more": Sample(msr("{t},{h},{d},{o},{a},{s},{r},x"), 100, 100),
    "perf script": Sample(kernel("app  1234 [%03d] %6d.%06d: block:%s: %s"), US, 2 * US),
    "spc": Sample(SPC, 1, None),
    "spc with blanks": Sample(SPC.replace(b",", b" , "), 1, None),
    "systor": Sample(table(
        "%(s)d.%(frac)09d,%(took).6f,%(rw)s,4,%(byte)d,%(size)d", EPOCH,
        "Timestamp,Response,IOType,LUN,Offset,Size\n"), US, US),
    "systor without names": Sample(table(
        "%(s)d.%(frac)09d,%(took).6f,%(rw)s,4,%(byte)d,%(size)d", EPOCH), US, US),
    "systor, neither read nor write": Sample(table(
        "%(s)d.%(frac)09d,%(took).6f,%(rw)s,4,%(byte)d,%(size)d\n1577808001.5,,,4,0,512",
        EPOCH), US, US),
    "tencent": Sample(table("%(s)d,%(lba)d,%(n)d,%(rw)s,1063", EPOCH, names="01"), S, None),
    "trace-cmd report": Sample(kernel("             app-1234  [%03d] %6d.%06d: %-22s %s",
                                      "cpus=4\n", ("block_rq_issue:", "block_rq_complete:")),
                               US, 2 * US),
}

# data, what is said of it
REFUSED = {
    "nothing": (b"", "neither blktrace"),
    "a configuration": (b"[all]\nenable yes\n", "neither blktrace"),
    "bytes": (bytes(range(256)) * 40, "neither blktrace"),
    "zeros": (bytes(10000), "neither blktrace"),
    "biosnoop of bpftrace": (
        b"TIME(ms)     DISK          COMM             PID    LAT(ms)\n611 sdb app 4179 10\n",
        "prints no sectors"),
    "blkparse -f": (table("%(s)d.%(frac)09d Q %(lba)d %(n)d"), "blkparse -i NAME > FILE"),
    "blkparse -f, a table": (table("   %(s)d.%(frac)09d, 12, app, Q, %(lba)d, %(n)d, %(size)d"),
                             "blkparse -i NAME > FILE"),
    "a stacked device": (blkparse("QC"), "trace its members"),
    "a stacked device's events": (
        kernel("  app-12 [%03d] ..... %6d.%06d: %s: %s", "# tracer: nop\n",
               ("block_bio_queue", "block_bio_complete")), "trace its members"),
    "another disk in between": (
        blkparse() + blkparse(head="").replace(b"8,16", b"8,32"), "--device"),
    "fio's log without offsets": (
        fio_log(lambda one, ms: "%d, %d, %d, %d" % (ms, one.response, one.write, 4096)),
        "log_offset=1"),
    "fio's log without offsets, 3.28": (
        fio_log(lambda one, ms: "%d, %d, %d, %d, 0x0000" % (ms, one.response, one.write, 4096)),
        "log_offset=1"),
    "iolog in ms": (iolog(MS), "--unit"),
    "iolog in ns": (iolog(1), "--unit"),
    "alibaba in ms": (table("419,%(rw)s,%(byte)d,%(size)d,%(us)d", EPOCH // 1000), "--unit ms"),
    "fiu in us": (table("%(us)d 1234 app %(lba)d %(n)d %(rw)s 6 0 aa"), "--unit"),
    "disksim in ns": (table("%(ns)d 0 %(lba)d %(n)d %(rw)s", names="10"), "--unit"),
    "a header without sizes": (b"timestamp,type,offset\n1,Read,512\n", "no column of size"),
    "UTF-16": (msr().decode().encode("utf-16"), "iconv"),
    "perf.data": (b"PERFILE2" + bytes(100), "perf script"),
    "trace.dat": (b"\x17\x08\x44tracing6" + bytes(100), "trace-cmd report"),
    "zstd": (b"\x28\xb5\x2f\xfd" + bytes(100), "zstd -d"),
    "zip": (b"PK\x03\x04" + bytes(100), "unzip"),
    "tar": (b"usr_1.csv".ljust(257, b"\0") + b"ustar\0" + bytes(300), "tar -xf"),
}
