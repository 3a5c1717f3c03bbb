# SPDX-License-Identifier: GPL-2.0
"""The simulated drive's program (tools/mechdisk/host), run in simulated time: what it prints of a
drive, and its response times to a trace of a real one."""

import json
import os
import subprocess

from freeblock import ToolError
from freeblock.base import helpers
from freeblock.base.helpers import BUILD
from . import traces

HOST = os.path.join(BUILD, "mechdisk-host", "mechdisk-host")


def build_host():
    """Bring the simulated drive's program up to date."""
    helpers.build("tools/mechdisk/host", "the simulated drive")


def run_host(subcommand, drive, options=(), lines=()):
    """What the host program prints."""
    ran = subprocess.run([HOST, subcommand, drive, *options], check=False, text=True,
                         input="".join(lines), capture_output=True)
    if ran.returncode:
        raise ToolError(ran.stderr.strip().replace("mechdisk-host: ", "", 1) or
                        "%s %s: status %d" % (HOST, subcommand, ran.returncode))
    return ran.stdout


def settings(lines):
    """Options that append lines to a drive's description."""
    return [word for line in lines for word in ("--set", line)]


def drive_info(drive):
    """Numbers of a drive: sectors, turn_ps and so on."""
    return json.loads(run_host("info", drive))


def located(drive, lbns):
    """Where LBNs lie: of each seven words, the last five of which are cylinder, head, sector,
    sectors of the track, and the angle at which the sector begins, turns."""
    build_host()
    return run_host("locate", drive, lines=["%d\n" % lbn for lbn in lbns]).split()


def responses(drive, records, think):
    """Response time of each record on the simulated drive, ns: wait as the trace says, submit, note
    the response. `think` is "before" or "after"."""
    lines = ["%s %d %d %d\n" % (record.op, record.lbn, record.count, wait)
             for record, wait in zip(records, traces.waits(records, think))]
    return [int(line.split()[0]) for line in run_host("replay", drive, (), lines).splitlines()]
