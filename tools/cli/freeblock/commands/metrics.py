# SPDX-License-Identifier: GPL-2.0
"""The module's state and counters in Prometheus' text format, as its node_exporter takes them
from a file (Documentation/monitoring.rst).

Base units; a counter ends in _total and falls only when it is reset. What the kernel does not
say is left out, as a counter is while the disk has another scheduler and counters stand still.
"""

import os
import re
import sys

from .. import ToolError, __version__, fbstate
from ..base import safe_file
from ..machine import alarms
from ..state import costs, health, latencies

SECTOR = 512
JOB_STATES = ("idle", "running", "paused", "stopping", "stopped", "finished")
# name, type, help
FAMILIES = [line.split("|") for line in """\
tools_info|gauge|The version of the command freeblock, always 1.
module_loaded|gauge|Whether the module freeblock is loaded.
disk_info|gauge|The disk's state in words, always 1.
disk_size_bytes|gauge|Capacity of the disk.
attached|gauge|Whether freeblock is the disk's scheduler.
scheduling|gauge|Whether the disk is served; otherwise requests are handled as by mq-deadline.
map|gauge|Whether a map of the drive is used; otherwise the disk is read in idle time only.
alarm|gauge|Whether this alarm is active; see Documentation/monitoring.rst.
tasks|gauge|Tasks that have not ended.
foreground_requests_total|counter|Foreground requests completed, without free reads.
foreground_bytes_total|counter|Length of the foreground's reads and writes.
foreground_latency_seconds|histogram|Latency of foreground reads and writes, without free reads.
foreground_pending_requests|gauge|Foreground requests in the scheduler.
background_pending_requests|gauge|Reads of the idle I/O class in the scheduler.
free_read_bytes_total|counter|Wanted blocks that free reads have read without error.
free_reads_total|counter|Free reads sent, each in one kind.
free_read_sent_bytes_total|counter|Length of the free reads sent, wanted or not.
free_read_errors_total|counter|Free reads that ended with an error.
idle_seconds_total|counter|Time without foreground requests.
idle_read_seconds_total|counter|Duration of the reads in idle time.
idle_collisions_total|counter|Reads in idle time that delayed a foreground request.
idle_longest_wait_seconds|gauge|Longest wait of a foreground request for an idle read.
idle_threshold_seconds|gauge|Time without requests before the first idle read.
lost_revolutions_total|counter|Commands that ended a revolution or more later than predicted.
revolution_seconds|gauge|One revolution of the platters.
predictions_total|counter|Completed commands whose end had been predicted.
predictions_within_50us_total|counter|Completed commands within 50 us of their prediction.
guard_trips_total|counter|Times that the guard stopped free reads.
cost_known|gauge|Whether the cost of free reads is known; see Documentation/cost.rst.
cost_seconds|gauge|Latency that free reads add to a read, or to any request if reads are few.
cost_error_seconds|gauge|Standard error of cost_seconds.
cost_ratio|gauge|Ratio of cost_seconds to the latency without free reads.
bad_blocks_total|counter|Blocks that could not be read.
slow_recovery_alarms_total|counter|Times that tasks were paused for slow reads of bad blocks.
quarantine_bytes|gauge|Length of the ranges around bad blocks that are not read in gaps.
job_state|gauge|Whether the scan or scrub is in this state.
job_size_bytes|gauge|Size of the present scan or scrub, or of the last one.
job_verified_bytes|gauge|Part of the scan or scrub that was found good.
job_remaining_bytes|gauge|Part of the scan or scrub that is not read yet.
job_bad_blocks|gauge|Blocks of the scan or scrub that could not be read.
job_rate_bytes_per_second|gauge|Mean rate of the scan or scrub since its start.
job_remaining_seconds|gauge|Time to the end of the scan or scrub at its mean rate, while it runs.
scrub_pass_start_timestamp_seconds|gauge|Start of the scrub's pass.
scrub_deadline_timestamp_seconds|gauge|Deadline of the scrub, if it has one.
scrub_passes_total|counter|Completed passes of the scrub.
task_size_bytes|gauge|Size of the blocks that a task asked for; for root only.
task_done_bytes|gauge|Size of the blocks that a task has got; for root only.
task_failed_blocks|gauge|Blocks of a task that could not be read; for root only.""".splitlines()]
# metric: what is multiplied into it, its file, further labels
COUNTERS = [
    ("foreground_requests_total", 1, "fg_requests", {}),
    ("foreground_bytes_total", SECTOR, "fg_read_sectors", {"operation": "read"}),
    ("foreground_bytes_total", SECTOR, "fg_write_sectors", {"operation": "write"}),
    ("free_read_bytes_total", SECTOR, "free_sectors", {}),
    *((name, factor, file, {"kind": kind}) for kind, reads, sectors in (
        ("prepended", "prepends", "prepend_sectors"),
        ("separate", "separates", "separate_sectors"), ("idle", "idle_reads", "idle_sectors"),
        ("hurried", "hurried", "hurried_sectors"),
        ("promoted", "promoted", "promoted_sectors"))
      for name, factor, file in (("free_reads_total", 1, reads),
                                 ("free_read_sent_bytes_total", SECTOR, sectors))),
    ("free_read_errors_total", 1, "free_errors", {}),
    ("idle_seconds_total", 1e-6, "idle_us", {}),
    ("idle_read_seconds_total", 1e-6, "idle_used_us", {}),
    ("idle_collisions_total", 1, "idle_collisions", {}),
    ("idle_longest_wait_seconds", 1e-6, "idle_max_us", {}),
    *(("lost_revolutions_total", 1, file, {"of": of}) for file, of in (
        ("miss_fg", "foreground"), ("miss_prepend", "prepended"), ("miss_separate", "separate"),
        ("miss_after", "behind_separate"))),
    ("predictions_total", 1, "pred_total", {}),
    ("predictions_within_50us_total", 1, "pred_within_50us", {}),
    ("guard_trips_total", 1, "guard_trips", {}),
]
# of what holds whatever the scheduler is
VALUES = [
    ("disk_size_bytes", SECTOR, "sectors"), ("tasks", 1, "tasks"),
    ("attached", 1, "state/attached"), ("bad_blocks_total", 1, "state/bad_blocks"),
    ("slow_recovery_alarms_total", 1, "state/alarms"),
]
# the same, of debugfs' numbers
NUMBERS = [
    ("foreground_pending_requests", 1, "state/pending"),
    ("background_pending_requests", 1, "state/background_pending"),
    ("idle_threshold_seconds", 1e-6, "state/idle_wait_us"),
    ("revolution_seconds", 1e-12, "state/period_ps"),
    ("quarantine_bytes", SECTOR, "state/quarantine_sectors"),
]


def names():
    """All metrics that there are, with the parts of histograms."""
    return ["freeblock_" + name + part for name, kind, _ in FAMILIES
            for part in ("", "_bucket", "_sum", "_count")[:4 if kind == "histogram" else 1]]


class Page:
    """Samples by metric."""

    def __init__(self):
        self.samples = {name: [] for name, _, _ in FAMILIES}

    def add(self, name, value, labels, part=""):
        """One sample, or a part of a histogram's; none if the value is not a number."""
        if isinstance(value, (int, float)):
            self.samples[name].append((part, labels, value))

    def text(self):
        """As it is exposed."""
        lines = []
        for name, kind, text in FAMILIES:
            if self.samples[name]:
                lines += ["# HELP freeblock_%s %s" % (name, text),
                          "# TYPE freeblock_%s %s" % (name, kind)]
            lines += ["freeblock_%s%s%s %s" % (name, part, _labels(labels), _number(value))
                      for part, labels, value in self.samples[name]]
        return "\n".join(lines) + "\n"


def _labels(labels):
    escaped = [(key, str(value).replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n"))
               for key, value in labels.items()]
    return "{%s}" % ",".join('%s="%s"' % pair for pair in escaped) if escaped else ""


def _number(value):
    return "%d" % value if isinstance(value, int) else "%.12g" % value


def whose(disk):
    """The labels of a disk: its name, and its WWN as lsblk has it."""
    found = re.fullmatch(r"naa\.([0-9a-f]+)", disk.read("id") or "")
    return {"disk": disk.name, **({"wwn": "0x" + found.group(1)} if found else {})}


def add_disk(page, disk, scrub_days, said):
    """All of a disk. said: by freeblock.conf."""
    labels = whose(disk)
    words = {"scheduler": disk.scheduler() or "", "scheduling": disk.state("scheduling") or "",
             "knowledge": disk.state("knowledge") or "",
             "free_reads": disk.state("free_reads") or "", "idle": disk.state("idle") or ""}
    page.add("disk_info", 1, {**labels, **words})
    page.add("scheduling", int(disk.stuck() is None), labels)
    if words["knowledge"]:
        page.add("map", int(words["knowledge"] == "map"), labels)
    numbers, counters = disk.numbers(), disk.counters()
    found: list = [(name, factor, disk.value(file), {}) for name, factor, file in VALUES]
    found += [(name, factor, numbers.get(key), {}) for name, factor, key in NUMBERS]
    found += [(name, factor, counters.get(key), more) for name, factor, key, more in COUNTERS]
    for name, factor, value, more in found:
        # what is no whole number says something in words
        if isinstance(value, int):
            page.add(name, value * factor, {**labels, **more})
    add_latency(page, disk, counters, labels)
    add_cost(page, disk, labels)
    for name, why in alarms.of_disk(disk, scrub_days, said).items():
        page.add("alarm", int(bool(why)), {**labels, "alarm": name})
    for job in fbstate.JOBS:
        add_job(page, job, disk.job(job), labels)
    add_tasks(page, disk, labels)


def add_latency(page, disk, counters, labels):
    """How long the foreground's requests took."""
    name = "foreground_latency_seconds"
    for operation, counts in (latencies.of(disk) if counters else {}).items():
        # later kernels have them among the writes
        if operation == "fua":
            continue
        more = {**labels, "operation": operation}
        total = sum(counts.values())
        for edge, count in latencies.up_to(counts):
            page.add(name, count, {**more, "le": "%.12g" % edge}, "_bucket")
        page.add(name, total, {**more, "le": "+Inf"}, "_bucket")
        page.add(name, counters.get("fg_%s_ns" % operation, 0) / 1e9, more, "_sum")
        page.add(name, total, more, "_count")


def add_cost(page, disk, labels):
    """What free reads cost, as every command has it."""
    cost = costs.cost(disk)
    page.add("cost_known", int(cost["known"]), labels)
    if cost["known"]:
        labels = {**labels, "of": cost["of"]}
        page.add("cost_seconds", cost["added_ms"] / 1e3, labels)
        page.add("cost_error_seconds", cost["error_ms"] / 1e3, labels)
        page.add("cost_ratio", cost["added_pct"] / 100, labels)


def add_job(page, name, job, labels):
    """The scan, or the scrub."""
    disk, labels = labels, {**labels, "work": name}
    if "state" in job:
        for state in JOB_STATES:
            page.add("job_state", int(state == job["state"]), {**labels, "state": state})
    left = health.remaining_blocks(job)
    if left is None or "sectors" not in job:
        return
    block, size = job["block_sectors"] * SECTOR, job["sectors"] * SECTOR
    page.add("job_size_bytes", size, labels)
    # the last block may be a piece of one
    page.add("job_verified_bytes", min(job.get("blocks_verified", 0) * block, size), labels)
    page.add("job_remaining_bytes", min(left * block, size), labels)
    page.add("job_bad_blocks", job.get("blocks_bad"), labels)
    page.add("job_rate_bytes_per_second", job.get("rate_kib_s", 0) * 1024, labels)
    page.add("job_remaining_seconds", health.remaining_s(job), labels)
    if name == "scrub":
        page.add("scrub_pass_start_timestamp_seconds", job.get("began") or None, disk)
        page.add("scrub_deadline_timestamp_seconds", job.get("deadline") or None, disk)
        page.add("scrub_passes_total", job.get("passes"), disk)


def add_tasks(page, disk, labels):
    """Those of debugfs, which is for root."""
    try:
        found = disk.tasks()
    except fbstate.Hidden:
        return
    for number, task in found.items():
        more = {**labels, "task": number, "name": task["name"]}
        page.add("task_size_bytes", task["total"] * task["granule"] * SECTOR, more)
        page.add("task_done_bytes", task["done"] * task["granule"] * SECTOR, more)
        page.add("task_failed_blocks", task["failed"], more)


def page_of(named, scrub_days):
    """The text. A module that is not loaded is a state, too, and no error."""
    page = Page()
    page.add("tools_info", 1, {"version": __version__})
    loaded = os.path.isdir(fbstate.path(fbstate.KERNEL))
    page.add("module_loaded", int(loaded), {})
    said = alarms.wanted()
    for disk in health.watched(named) if loaded or named else ():
        add_disk(page, disk, scrub_days, said)
    return page.text()


def write(path, text):
    """The file, whole at each moment. Who collects it may be another user, and takes *.prom."""
    if os.path.exists(path) and not os.path.isfile(path):
        raise ToolError("%s: not a file that can be replaced" % path)
    with safe_file.whole_file(path) as file:
        file.write(text.encode())


EXAMPLES = (
    ("freeblock metrics", "Print the metrics of all disks that have the scheduler."),
    ("freeblock metrics -o /var/lib/prometheus/node-exporter/freeblock.prom",
     "Write them for node_exporter."),
)


def add_parser(subparsers):
    """Add `metrics`."""
    parser = subparsers.add_parser(
        "metrics", help="print state and counters for Prometheus",
        description="Print state and counters in Prometheus' text format, of all disks with the "
        "scheduler or with tasks, or of the named ones. freeblock_module_loaded is 0 without "
        "the module.")
    parser.add_argument("device", nargs="*", metavar="DEVICE", help="a disk or partition")
    parser.add_argument("-o", "--output", metavar="FILE",
                        help="replace FILE atomically, for node_exporter's textfile collector "
                        "(*.prom)")
    health.add_days(parser)
    parser.set_defaults(run=run)


def run(args):
    """Look, print or write."""
    health.need_days(args.scrub_days)
    text = page_of(args.device, args.scrub_days)
    if args.output:
        write(args.output, text)
    else:
        sys.stdout.write(text)
    return os.EX_OK
