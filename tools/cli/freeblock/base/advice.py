# SPDX-License-Identifier: GPL-2.0
"""What commands advise: for a state that hinders, the command that ends it, complete, so that it
can be copied as it stands. It follows "run: " wherever it is printed, and ends the line.
tests/lab/t-advice.sh brings a disk into each of these states, runs what is advised, and checks that
the state has ended.
"""

import contextlib
import os

from .. import ToolError

RUN = "run: "
SETUP = "freeblock setup /dev/%s"
ENABLE = "freeblock enable /dev/%s"
CHOOSE = "echo %s > /sys/block/%s/queue/scheduler"
FORCE = "echo 1 > /sys/kernel/freeblock/%s/model_force"
DEBUGFS = "mount -t debugfs none /sys/kernel/debug"
LOG = "dmesg | grep freeblock"
ALLOW = "freeblock guard allow"
# state/scheduling: nothing but another scheduler helps such a disk
UNFIT = ("solid state", "multipath member")
ANOTHER = "another scheduler"
CAPACITY = "the disk's capacity has changed"
# state/knowledge, behind the level: what may be as it is
PLAIN = ("no model", "idle_only is set", "zoned", "multi-actuator", "USB bridge",
         "not a SCSI or SATA disk")
DISTRUSTED = "the model is distrusted: "
# it is another drive's
MEASURE = ("reads end at no angle of the model",)
# setup measures for the new firmware, and tries a model again that was given up
MODEL = ("completions do not fit the model", "the drive's firmware is no longer")


def scheduling(why, disk):
    """What ends `why` of state/scheduling; None: no command does."""
    if why == ANOTHER:
        return CHOOSE % ("freeblock", disk)
    if why == CAPACITY:
        return "%s; %s" % (CHOOSE % ("mq-deadline", disk), CHOOSE % ("freeblock", disk))
    return CHOOSE % ("mq-deadline", disk) if why in UNFIT else None


def knowledge(why, disk):
    """What ends `why` of state/knowledge, the reason that no map is used; None: no command does,
    or none need to, since work goes on in idle time."""
    if why.startswith(MODEL):
        return SETUP % disk
    if why.startswith(DISTRUSTED):
        return FORCE % disk
    return SETUP % disk + " --measure" if why in MEASURE else None


def with_run(text, command):
    """The text with the command, if there is one."""
    return "%s; %s%s" % (text, RUN, command) if command else text


def enable(names):
    """How the first of these disks gets the scheduler; words and a command, if there are disks."""
    if not names:
        return "there is no rotating disk that could have it"
    others = " (or %s)" % ", ".join(names[1:]) if names[1:] else ""
    return "for %s%s %s%s" % (names[0], others, RUN, ENABLE % names[0])


def load_module(modules_dep, checkout, built, has_dnf):
    """How the module is loaded. modules_dep: of the running kernel, text; built: where the checkout
    has, or would have, the module for it; "" if there is no checkout; has_dnf: the
    distribution is Fedora, or like it."""
    if "/freeblock.ko" in modules_dep:
        return RUN + "modprobe freeblock"
    if built and os.path.exists(built):
        return RUN + "insmod " + built
    if built:
        return RUN + "make -C %s modules KDIR=/lib/modules/$(uname -r)/build && insmod %s" % (
            checkout, built)
    return RUN + ("dnf install freeblock-dkms kernel-devel" if has_dnf else
                  "apt install freeblock-dkms linux-headers-amd64")


def stop_tasks(disk):
    """What ends all tasks of a fbstate.Disk."""
    jobs = {job: command for job, command in (
        ("scrub", "freeblock scrub /dev/%s stop"),
        ("scan", "echo stop > /sys/kernel/freeblock/%s/scan")) if disk.is_active(job)}
    found = [command % disk.name for command in jobs.values()]
    with contextlib.suppress(ToolError):
        for number, task in disk.tasks().items():
            # the kernel's own has a line, too
            if not jobs.pop(task["name"], None):
                found.append("echo stop %d > /sys/kernel/freeblock/%s/tasks" % (
                    number, disk.name))
    return "; ".join(found) or "freeblock status " + disk.name


def memory(mib):
    """How tasks get more than `mib`, what they may take now."""
    return "echo %d > /sys/module/freeblock/parameters/memory_mib" % max(2 * mib, 1024)
