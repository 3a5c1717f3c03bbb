# SPDX-License-Identifier: GPL-2.0
"""Tests of freeblock metrics and of freeblock status --check against a made-up sysfs; what is
printed is read by Prometheus' own parser. Takes a second.
"""

import json
import os
import re
import stat
from unittest import mock

import fakedisk
import taptest
from taptest import TOP
from freeblock import fbstate
from freeblock.base import advice
from freeblock.commands import metrics
from freeblock.machine import alarms
from freeblock.state import health, latencies
from prometheus_client import parser

SYSFS = fakedisk.KERNEL + "sda/"
DAY = 86400
NOW = 1.7e9
SDA = (("disk", "sda"), ("wwn", "0x5000c50012345678"))
# Grafana's names of units, as powers of a byte and of a second
BOARD_UNITS = {"none": (0, 0), "percentunit": (0, 0), "s": (0, 1), "Bps": (1, -1),
               "reqps": (0, -1)}
UNITS = ("_bytes", "_seconds", "_info", "_ratio", "_per_second")
# gauges that count things, or say yes or no
COUNTS = {"module_loaded", "attached", "scheduling", "map", "cost_known", "alarm", "tasks",
          "job_state", "foreground_pending_requests", "background_pending_requests",
          "job_bad_blocks", "task_failed_blocks"}


class Unit:
    """The unit of an expression of the dashboard's, which Python works out."""

    def __init__(self, byte, second):
        self.powers = byte, second

    @classmethod
    def of(cls, metric):
        """What a metric's name promises."""
        name = metric.removesuffix("_total")
        return cls(int(name.endswith("_bytes")), int(name.endswith("_seconds")))

    def __mul__(self, other):
        return Unit(*(a + b for a, b in zip(self.powers, other.powers)))

    def __truediv__(self, other):
        return Unit(*(a - b for a, b in zip(self.powers, other.powers)))

    def __rsub__(self, number):
        if any(self.powers):
            raise ValueError("%s is taken from %s" % (self.powers, number))
        return self

    @classmethod
    def rate(cls, one):
        """Of rate() and deriv()."""
        return one / cls(0, 1)

    @classmethod
    def quantile(cls, _share, counts):
        """Of histogram_quantile(), of what came into buckets of seconds in a second."""
        if counts.powers != (0, -1):
            raise ValueError("no rate of buckets: %s" % (counts.powers,))
        return cls(0, 1)


class Disks(fakedisk.Case):
    """One disk being scrubbed, one that another scheduler has."""

    def setUp(self):
        super().setUp()
        self.tree.disk("sda", 8000004, 65536, {"id": "naa.5000c50012345678", "tasks": 2})
        self.tree.disk("sdb", 1000, "", {"id": "-", "state/attached": 0, "tasks": 0,
                                         "state/scheduling": "another scheduler"})
        self.tree.values(SYSFS + "state", {
            "idle": "reading", "idle_mean_ns": 41250, "free_reads": "on", "pending": 3,
            "period_ps": 8333333333, "quarantine_sectors": 4096,
            "idle_wait_us": 20000, "cost": "free reads add -0.61 +- 0.20 ms (-3.1 %) to a read"})
        self.tree.counters("sda", fg_requests=1000, miss_prepend=1, miss_separate=2, miss_after=1,
                           miss_fg=9, guard_trips=0, alarms=0, idle_max_us=900, pred_total=900,
                           pred_within_50us=880, free_sectors=12345, idle_sectors=4096,
                           prepends=40, separates=50, idle_reads=6, hurried=1, promoted=2,
                           prepend_sectors=800, separate_sectors=1600, hurried_sectors=64,
                           promoted_sectors=128, idle_us=2500000,
                           idle_used_us=1000000)
        self.scrub("running")
        self.tree.write(fakedisk.DEBUG + "sda/tasks", '3 my "scan" \\ running 4 62500 200 2 128\n'
                        "7 scrub running 1 62501 50 0 128")
        self.patch(mock.patch.object(alarms.time, "time", lambda: NOW))

    def scrub(self, state, began=NOW - 3 * DAY, delivered=20001, rate=100):
        """A scrub of all 62501 blocks, 10000 of them before."""
        self.tree.write(SYSFS + "scrub", state)
        self.tree.values(SYSFS + "scrub_stats", {
            "order": "sequential", "first": 0, "sectors": 8000004, "block_sectors": 128,
            "blocks_total": 62501, "blocks_before": 10000, "blocks_delivered": delivered,
            "blocks_verified": 10000 + delivered - 1, "blocks_bad": 1, "blocks_skipped": 0,
            "rate_kib_s": rate, "began": int(began), "passes": 4})

    def page(self, *words):
        """name -> {labels: value}, as Prometheus understands it."""
        code, out, err = taptest.freeblock("metrics", *words)
        self.assertEqual((code, err), (0, ""))
        return self.read(out)

    @staticmethod
    def read(text):
        """What the text says; no sample twice."""
        found = {}
        for family in parser.text_string_to_metric_families(text):
            for sample in family.samples:
                labels = tuple(sorted(sample.labels.items()))
                assert labels not in found.setdefault(sample.name, {}), sample
                found[sample.name][labels] = sample.value
        return found

    def one(self, page, metric, /, **more):
        """The value of sda with these further labels."""
        return page["freeblock_" + metric][tuple(sorted([*SDA, *more.items()]))]


class Metrics(Disks):
    """What is exposed."""

    def test_values(self):
        """Base units, and labels.

        Seen to fail: sectors for bytes, microseconds for seconds; the signed ones left out;
        labels that were changed after they were used."""
        page = self.page("--scrub-days", "7")
        for name, value, more in (
                ("disk_size_bytes", 8000004 * 512, {}), ("scheduling", 1, {}),
                ("free_read_bytes_total", 12345 * 512, {}),
                ("free_read_sent_bytes_total", 4096 * 512, {"kind": "idle"}),
                ("free_reads_total", 50, {"kind": "separate"}),
                ("free_reads_total", 2, {"kind": "promoted"}),
                ("cost_known", 1, {}), ("cost_seconds", -6.1e-4, {"of": "read"}),
                ("cost_error_seconds", 2e-4, {"of": "read"}),
                ("cost_ratio", -.031, {"of": "read"}), ("idle_longest_wait_seconds", 9e-4, {}),
                ("idle_read_seconds_total", 1, {}), ("idle_seconds_total", 2.5, {}),
                ("idle_threshold_seconds", 0.02, {}),
                ("revolution_seconds", 0.008333333333, {}),
                ("quarantine_bytes", 2 << 20, {}),
                ("lost_revolutions_total", 9, {"of": "foreground"}),
                ("lost_revolutions_total", 1, {"of": "behind_separate"}),
                ("job_size_bytes", 8000004 * 512, {"work": "scrub"}),
                ("job_verified_bytes", 30000 * 65536, {"work": "scrub"}),
                ("job_remaining_bytes", 32500 * 65536, {"work": "scrub"}),
                ("job_rate_bytes_per_second", 102400, {"work": "scrub"}),
                ("job_remaining_seconds", 32500 * 64 / 100, {"work": "scrub"}),
                ("job_state", 1, {"work": "scrub", "state": "running"}),
                ("job_state", 0, {"work": "scrub", "state": "paused"}),
                ("scrub_pass_start_timestamp_seconds", NOW - 3 * DAY, {}),
                ("scrub_passes_total", 4, {}), ("alarm", 0, {"alarm": "scrub_late"}),
                ("task_done_bytes", 200 * 65536, {"task": "3", "name": 'my "scan" \\'})):
            with self.subTest(name, labels=more):
                self.assertAlmostEqual(self.one(page, name, **more), value, delta=1e-9 * abs(value))
        self.assertEqual(page["freeblock_module_loaded"], {(): 1})
        self.assertEqual(dict(next(iter(page["freeblock_disk_info"])))["idle"], "reading")

    def test_latency(self):
        """A histogram by Prometheus' conventions: cumulative, with a bucket of all, a sum in
        seconds and a count. Seen to fail: counts of each bucket alone; nanoseconds."""
        self.tree.counters("sda", fg_read_ns=5 * 10 ** 9, fg_read_sectors=8)
        self.tree.write(fakedisk.DEBUG + "sda/latency", "81920 1 0 0\n131072 2 0 9\n163840 4 9 0\n"
                        "68719476736 8 0 0\n")
        page = self.page()
        read = {"operation": "read"}
        for le, count in (("0.000131072", 3), ("0.000262144", 7), ("34.359738368", 7),
                          ("+Inf", 15)):
            self.assertEqual(self.one(page, "foreground_latency_seconds_bucket", le=le, **read),
                             count, le)
        self.assertEqual(self.one(page, "foreground_latency_seconds_sum", **read), 5)
        self.assertEqual(self.one(page, "foreground_latency_seconds_count", **read), 15)
        self.assertEqual(self.one(page, "foreground_latency_seconds_count", operation="write"), 9)
        self.assertEqual(self.one(page, "foreground_bytes_total", **read), 4096)
        buckets = [value for labels, value in page["freeblock_foreground_latency_seconds_bucket"]
                   .items() if ("operation", "read") in labels]
        self.assertEqual((buckets, len(buckets)), (sorted(buckets), 20))

    def test_percentiles(self):
        """Of a histogram, within a quarter; none of too few. Seen to fail: the bucket's upper
        edge; counters that were reset."""
        counts = {81920: 500, 1 << 20: 490, 5 << 20: 9, 6 << 20: 1}
        self.assertEqual(latencies.summary(counts), {
            "n": 1000, "p50_ms": .082, "p99_ms": 1.049, "p999_ms": 5.243})
        self.assertEqual(latencies.percentile_ns({6 << 20: 1000}, 500), 5.5 * (1 << 20))
        self.assertEqual(latencies.summary({1 << 20: 999})["p999_ms"], None)
        self.assertEqual(latencies.summary({}), {"n": 0, "p50_ms": None, "p99_ms": None,
                                                       "p999_ms": None})
        for before, n in (({"read": {81920: 400}}, 600), ({}, 1000), ({"read": {81920: 501}}, 1000),
                          ({"read": {81920: 0, 7 << 20: 1}}, 1000)):
            found = latencies.since({"read": counts}, before)
            self.assertEqual(sum(found["read"].values()), n)

    def test_conventions(self):
        """Names say the unit, counters end in _total and no label is one that Prometheus sets.

        Seen to fail: a label called job, which a scrape gives its own value."""
        self.tree.write(fakedisk.DEBUG + "sda/latency", "81920 1 0")
        out = taptest.freeblock("metrics")[1]
        for name, kind, text in metrics.FAMILIES:
            with self.subTest(name):
                self.assertEqual(kind == "counter", name.endswith("_total"))
                self.assertTrue(kind == "counter" or name.endswith(UNITS) or name in COUNTS)
                self.assertRegex(text, r"^[A-Z].*\.$")
                self.assertRegex(name, r"^[a-z][a-z0-9_]*$")
        self.assertFalse(re.findall(r'[{,](?:job|instance|quantile|__\w*)="', out))
        told = re.findall(r"^# (HELP|TYPE) (\w+)", out, re.M)
        self.assertEqual(len(told), len(set(told)))
        histogram = "freeblock_foreground_latency_seconds"
        for sample in re.findall(r"^(freeblock\w+)", out, re.M):
            sample = histogram if sample.startswith(histogram) else sample
            self.assertIn(("HELP", sample), told)
            self.assertIn(("TYPE", sample), told)

    def test_which(self):
        """By default those with the scheduler or with tasks; else those named.

        Seen to fail: all that the module remembers."""
        def disks(*words):
            return {dict(labels)["disk"] for labels in
                    self.page(*words)["freeblock_attached"]}

        self.assertEqual(disks(), {"sda"})
        self.assertEqual(disks("sdb"), {"sdb"})
        self.assertEqual(disks("sda", "sdb"), {"sda", "sdb"})
        self.tree.write(fakedisk.KERNEL + "sdb/tasks", 1)
        page = self.page()
        sdb = (("alarm", "scheduling"), ("disk", "sdb"))
        self.assertEqual(page["freeblock_alarm"][sdb], 1)
        # counters stand still
        self.assertEqual({dict(labels)["disk"] for labels in
                          page["freeblock_foreground_requests_total"]}, {"sda"})

    def test_little(self):
        """Files that are not there, debugfs that is not for us, a module that is not loaded."""
        self.tree.remove("sys/kernel/debug")
        page = self.page()
        self.assertNotIn("freeblock_task_done_bytes", page)
        self.assertNotIn("freeblock_free_read_bytes_total", page)
        self.assertNotIn("freeblock_job_size_bytes", page)
        self.assertEqual(self.one(page, "attached"), 1)
        self.assertEqual(taptest.freeblock("metrics", "sdz")[0], 2)
        self.tree.remove("sys/kernel/freeblock")
        self.assertEqual(self.page(), {
            "freeblock_module_loaded": {(): 0},
            "freeblock_tools_info": {(("version", metrics.__version__),): 1}})

    def test_output(self):
        """The file is replaced whole, others may read it, and nothing else is left.

        Seen to fail: written in place, which leaves half of it when the disk is full."""
        path = os.path.join(self.folder, "fb.prom")
        os.umask(0o022)
        self.assertEqual(taptest.freeblock("metrics", "--output", path), (0, "", ""))
        with open(path, encoding="utf-8") as file:
            first = file.read()
        self.assertEqual(self.read(first), self.page())
        self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o644)
        before = os.stat(path).st_ino
        seen = []
        really = os.replace

        def replace(new, old):
            seen.append(new)
            really(new, old)

        with mock.patch.object(metrics.os, "replace", replace):
            taptest.freeblock("metrics", "--output", path)
        self.assertNotEqual(os.stat(path).st_ino, before)
        # the collector takes all that ends so
        self.assertFalse(seen[0].endswith(".prom"))
        self.assertEqual(os.path.dirname(seen[0]), self.folder)
        with mock.patch.object(metrics.os, "fsync", side_effect=OSError(28, "No space left")):
            code, _, err = taptest.freeblock("metrics", "--output", path)
        self.assertEqual((code, err), (1, "freeblock: %s: No space left\n" % path))
        with open(path, encoding="utf-8") as file:
            self.assertEqual(file.read(), first)
        self.assertEqual(sorted(os.listdir(self.folder)), ["fb.prom", "root"])
        self.assertRegex(taptest.freeblock("metrics", "--output", "/dev/null")[2],
                         "/dev/null: not a file that can be replaced")

    def board(self):
        """Panel and target of each expression of the dashboard."""
        with open(os.path.join(TOP, "Documentation", "monitoring", "freeblock-dashboard.json"),
                  encoding="utf-8") as file:
            for panel in json.load(file)["panels"]:
                for target in panel["targets"]:
                    yield panel, target

    def test_board(self):
        """What each panel asks for is printed of a disk that is scrubbed, with the labels that it
        names, and in the unit that it shows.

        Seen to fail: a rate shown in bytes; a quotient upside down; a label that there is not."""
        self.scrub("running")
        self.tree.write(fakedisk.DEBUG + "sda/latency", "81920 1 0")
        page = self.page("--scrub-days", "7")
        for panel, target in self.board():
            expr = target["expr"]
            found = re.findall(r"freeblock_\w+", expr)
            self.assertEqual([name for name in found if name not in page], [], panel["title"])
            labels = re.findall(r"by \((.*?)\)", expr)
            kept = set(labels[0].split(", ")) if labels else {
                name for key in page[found[0]] for name, _ in key}
            asked = set(re.findall(r"{{(\w+)}}", target["legendFormat"]))
            self.assertLessEqual(asked, kept, panel["title"])
            text = re.sub(r"\{.*?\}|\[.*?\]|(?:sum|max) by \(.*?\) ", "", expr)
            text = re.sub(r"freeblock_\w+", lambda name: "of('%s')" % name[0], text)
            # the file is ours
            unit = eval(text, {"of": Unit.of, "rate": Unit.rate, "deriv": Unit.rate,
                               "increase": lambda one: one,
                               "histogram_quantile": Unit.quantile})
            self.assertEqual(unit.powers, BOARD_UNITS[panel["fieldConfig"]["defaults"]["unit"]],
                             panel["title"])

    def test_examples(self):
        """The alerts and the document name what there is.

        Seen to fail: a metric renamed."""
        folder = os.path.join(TOP, "Documentation")
        known = set(metrics.names())
        for name in ("monitoring/freeblock-alerts.yml", "monitoring.rst"):
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                named = set(re.findall(r"\bfreeblock_[a-z_0-9]+", file.read()))
            self.assertTrue(named)
            self.assertEqual(named - known, set())


class Check(Disks):
    """For monitoring."""

    def check(self, *words):
        """Exit status and the line."""
        code, out, err = taptest.freeblock("status", "--check", *words)
        self.assertEqual((err, out.count("\n")), ("", 1))
        return code, out.strip()

    def alarm(self, name):
        """What metrics says of it."""
        return self.one(self.page("--scrub-days", "7"), "alarm", alarm=name)

    def test_well(self):
        """0, and how far the scrub is."""
        self.assertEqual(self.check(), (0, "FREEBLOCK OK - sda: scrub running, 48.0 %, left "
                                        "5h46m"))
        self.scrub("finished")
        self.assertEqual(self.check("sda"), (0, "FREEBLOCK OK - sda: well"))

    def test_blind(self):
        """Whether a scrub is late is not known without debugfs. Seen to fail: OK then."""
        self.tree.remove("sys/kernel/debug")
        status, line = self.check()
        self.assertEqual(status, 3)
        self.assertRegex(line, "UNKNOWN - how far the scrub is cannot be told: .* mount -t debugfs")
        self.tree.write(SYSFS + "state/bad_blocks", 1)
        self.assertEqual(self.check(), (2, "FREEBLOCK CRITICAL - sda: 1 bad block"))

    def test_wrong(self):
        """The worst counts, and all is said; metrics has the same alarms.

        Seen to fail: the last instead of the worst."""
        self.tree.counters("sda", bad_blocks=2)
        self.tree.write(SYSFS + "state/free_reads", health.GUARD)
        self.assertEqual(self.check(), (2, "FREEBLOCK CRITICAL - sda: 2 bad blocks; sda: the "
                                        "guard stopped free reads"))
        self.assertEqual((self.alarm("bad_blocks"), self.alarm("guard")), (1, 1))
        self.tree.counters("sda", bad_blocks=0)
        self.assertEqual(self.check()[0], 1)
        self.tree.values(SYSFS + "state", {"free_reads": "on", "scheduling": advice.CAPACITY})
        self.assertEqual(self.check(), (
            1, "FREEBLOCK WARNING - sda: not scheduling: the disk's capacity has changed; run: "
            "echo mq-deadline > /sys/block/sda/queue/scheduler; "
            "echo freeblock > /sys/block/sda/queue/scheduler"))
        self.assertEqual((self.alarm("scheduling"), self.alarm("guard")), (1, 0))
        self.tree.values(SYSFS + "state", {"knowledge": "none: " + advice.MEASURE[0],
                                           "scheduling": "yes"})
        self.assertEqual(self.check(), (
            1, "FREEBLOCK WARNING - sda: served in idle time only: reads end at no angle of the "
            "model; run: freeblock setup /dev/sda --measure"))
        self.assertEqual((self.alarm("map"), self.alarm("guard")), (1, 0))
        self.assertEqual(self.alarm("cost"), 0)
        self.tree.values(SYSFS + "state", {"cost": "not known; stopped at 5.10 +- 0.40 ms (9.1 %)"})
        self.assertEqual(self.alarm("cost"), 1)
        self.assertIn("free reads cost too much: stopped at 5.10 +- 0.40 ms (9.1 %)",
                      self.check()[1])
        self.tree.counters("sda", alarms=1)
        self.assertEqual((self.check()[0], self.alarm("slow_recoveries")), (2, 1))

    def test_mapless(self):
        """A disk without a map is as it should be, unless it had one that has proved wrong.

        Seen to fail: an alarm for each disk without a map."""
        for model, why, status in ((0, "no model", 0), (1, "idle_only is set", 0),
                                   (0, "multi-actuator", 0), (0, "USB bridge", 0),
                                   (1, "completions do not fit the model: x", 1),
                                   (1, "the model is distrusted: so noisy", 1)):
            self.tree.values(SYSFS + "state", {"model": model, "knowledge": "none: " + why})
            self.assertEqual((self.check()[0], self.alarm("map")), (status, status), why)
            page = self.page("--scrub-days", "7")
            self.assertEqual((self.one(page, "map"), self.one(page, "scheduling")), (0, 1))
        self.tree.values(SYSFS + "state", {"knowledge": "map"})
        self.assertEqual(self.one(self.page("--scrub-days", "7"), "map"), 1)

    def test_guard_sentence(self):
        """The words by which the guard is known are the kernel's, as are those of the phase."""
        with open(os.path.join(TOP, "Documentation/ABI/testing/sysfs-kernel-freeblock-state"),
                  encoding="utf-8") as file:
            text = re.sub(r"\s+", " ", file.read())
        for words in (health.GUARD, "off: " + advice.MEASURE[0]):
            self.assertIn('"%s"' % words, text)

    def test_late(self):
        """By the rate so far; one that is paused only when its time is over.

        Seen to fail: what was done before this start counted as the rate's."""
        self.assertEqual(self.check("--scrub-days", "3.25")[0], 0)
        self.assertEqual(self.check("--scrub-days", "3.23"),
                         (1, "FREEBLOCK WARNING - sda: the scrub will take more than 3.23 days"))
        self.scrub("paused")
        self.assertEqual(self.check("--scrub-days", "3.01")[0], 0)
        self.assertEqual(self.check("--scrub-days", "2.99")[0], 1)
        self.scrub("finished")
        self.assertEqual(self.check("--scrub-days", "1")[0], 0)
        self.scrub("running", began=0)
        self.assertEqual(self.check("--scrub-days", "1")[0], 0)
        # its own deadline, whether or not --scrub-days is said: of two the earlier one
        for deadline, late in ((NOW + 21000, False), (NOW + 19000, True)):
            self.scrub("running")
            self.tree.write(SYSFS + "scrub_stats/deadline", int(deadline))
            self.assertEqual(self.check(), (1, "FREEBLOCK WARNING - sda: the scrub will take until "
                                            "after its deadline") if late else self.check())
            self.assertEqual(self.check()[0], late)
            self.assertEqual(self.check("--scrub-days", "3.23")[0], 1)
            page = self.page()
            self.assertEqual(self.one(page, "scrub_deadline_timestamp_seconds"), int(deadline))
        self.tree.write(SYSFS + "scrub_stats/deadline", 0)
        self.scrub("running", began=0)
        self.assertNotIn("alarm=\"scrub_late\"", taptest.freeblock("metrics")[1])

    def test_unknown(self):
        """3, on standard output, too."""
        self.assertEqual(self.check("sdz")[1],
                         "FREEBLOCK UNKNOWN - /dev/sdz: no such block device")
        self.assertEqual(self.check("--scrub-days", "0")[0], 3)
        with mock.patch.object(fbstate, "open", create=True,
                               side_effect=PermissionError(13, "Permission denied")):
            self.assertEqual(self.check()[0], 3)
        self.tree.write(SYSFS + "state/attached", 0)
        self.tree.write(SYSFS + "tasks", 0)
        self.assertEqual(self.check(), (3, "FREEBLOCK UNKNOWN - no disk has the scheduler "
                                        "freeblock"))
        self.tree.remove("sys/kernel/freeblock")
        self.assertRegex(self.check()[1], "UNKNOWN - the module freeblock is not loaded")
