# SPDX-License-Identifier: GPL-2.0
"""Schedule at user level: the scheduler's core over /dev/sgX, in real time.

The program in tools/sg does one run; here it is built, started, and its result
shown. Documentation/sg.rst describes settings and results.
"""

import json
import signal
import subprocess
import sys

from .. import ToolError, UsageError, fbstate, sim
from ..base import helpers
from ..sim import settings
from ..sim.report import table

# of the simulator's settings: what only a simulated drive has, and what is described
# otherwise here
NOT_OURS = ("drive", "model", "noise", "reads", "search_us")
# option, setting, what stands for its value, help
SETTINGS = (
    ("--reads", "reads", "SHARE", "of all requests, 0 to 1 (1)"),
    ("--confirm", "confirm", "SERIAL", "serial number of the drive that may be written to, "
     "or VENDOR PRODUCT if it has none"),
    ("--report-us", "report_us", "US", "delay of reported completions after those of the "
     "model (0)"),
    ("--search-us", "search_us", "US", "what choosing and searching take: a command that is held "
     "back goes so much earlier (500)"),
    ("--timeout", "timeout_ms", "MS", "of a command (30000)"),
    ("--crc", "crc", "FILE", "write a checksum of each block read to this new file"),
)


def build_host():
    """Bring the program up to date; its path."""
    return helpers.program("tools/sg", "sg", "freeblock-sg")


def run_host(words, quiet):
    """A run's result, and what was wrong at its end, "" if nothing.

    An interrupt goes to the program, too, which ends with the results so far."""
    progress = sim.RunsDone(1, quiet)
    said = []
    held = signal.signal(signal.SIGINT, signal.SIG_IGN)
    with subprocess.Popen([build_host(), "--progress", *words], text=True,
                          errors="surrogateescape", stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          preexec_fn=lambda: signal.signal(signal.SIGINT, held)) as process:
        for line in process.stderr:
            word, _, rest = line.partition(" ")
            if word == "progress":
                progress.run(0, float(rest))
            else:
                said.append(line.replace("freeblock-sg: ", "", 1))
        printed = process.stdout.read()
    signal.signal(signal.SIGINT, held)
    progress.end()
    wrong = "".join(said).strip()
    if not printed:
        kind = UsageError if process.returncode == sim.USAGE else ToolError
        raise kind(settings.with_option(wrong, options()) or
                   "freeblock-sg: status %d" % process.returncode)
    return json.loads(printed), wrong


def words_of(args):
    """The program's arguments."""
    words = ["device=" + args.device, "model=" + args.model]
    words += ["%s=%s" % (name, getattr(args, name)) for _, name, _, _ in options()
              if getattr(args, name) is not None]
    words += ["allow_writes=1"] if args.allow_writes else []
    words += ["direct=1"] if args.direct else []
    return words


def options():
    """All settings that have a value."""
    return [s for s in settings.SETTINGS if s[1] not in NOT_OURS] + list(SETTINGS)


def troubles(result):
    """Lines about what should not be."""
    errors, device = result["errors"], result["device"]
    lines = ["%d %s" % (count, text) for count, text in (
        (errors["foreground"], "foreground requests failed"),
        (errors["free"], "free reads met bad sectors"),
        (errors["blocks_skipped"], "blocks cannot be read"),
        (errors["sent_again"], "commands were sent again"),
        (device["timeouts"], "commands took too long"),
        (device["indirect"], "transfers were not direct")) if count]
    return lines


STATUSES = {1: "An error, or the drive was lost or failed requests during the run."}
EXAMPLES = (
    ("freeblock sg /dev/sg1 --model sda.fbmodel --reads 1 --task scan --seconds 60",
     "Read a disk at random for a minute, and scan it in the gaps."),
)


def add_parser(subparsers):
    """Add `sg`."""
    parser = subparsers.add_parser(
        "sg", help="run the scheduler in user space, over /dev/sgX",
        description="Run the scheduler in user space over the SCSI generic interface of an unused "
        "disk: a synthetic foreground or a trace, and a scan in its rotational gaps. Only reads, "
        "unless --allow-writes and --confirm are given.")
    parser.add_argument("device", metavar="/dev/sgX", help="see lsscsi -g")
    parser.add_argument("--model", required=True, metavar="FILE", help="the drive's .fbmodel")
    for option, name, metavar, text in options():
        parser.add_argument(option, dest=name, metavar=metavar, help=text.replace("%", "%%"))
    parser.add_argument("--allow-writes", action="store_true",
                        help="the foreground may write, and destroy what is on the disk; "
                        "needs --confirm")
    parser.add_argument("--direct", action="store_true",
                        help="transfer without copying (needs /sys/module/sg/parameters/allow_dio)")
    parser.add_argument("--json", action="store_true", help="print the result as a JSON object")
    parser.add_argument("--quiet", action="store_true", help="no progress")
    parser.set_defaults(run=run)


def run(args):
    """Make the run and print what came of it."""
    fbstate.need_device(args.device)
    settings.check(args, options())
    build_host()
    result, wrong = run_host(words_of(args), args.quiet)
    if args.json:
        print(json.dumps(result, indent=1))
    else:
        # util% is the drive's own: from outside only the time with commands is seen
        print("\n".join(table([], [result]) + troubles(result)))
    if wrong:
        print("freeblock: " + wrong, file=sys.stderr)
    return 1 if wrong else 0
