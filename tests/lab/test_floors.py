#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Can tools/floors fail? A small module with all floors, first as it should be, then with one
fault of each kind planted, compiled by gcc. Prints TAP."""

import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
FLOORS = os.path.join(os.path.dirname(os.path.dirname(HERE)), "tools", "floors")

GOOD = {
    "freeblock_main.c": '#include "freeblock_iosched.h"\n#include "disk/disk.h"\n'
                        "int main_init(void)\n{\n"
                        "\treturn iosched_init() + disk_init(scan_end);\n}\n",
    "freeblock_iosched.c": '#include "freeblock_iosched.h"\n#include "sched/inflight.h"\n'
                           "int iosched_init(void)\n{\n\treturn inflight_learn();\n}\n",
    "freeblock_iosched.h": '#include "tasks/scan.h"\nint iosched_init(void);\n',
    "sysfs.c": '#include "disk/disk.h"\nint sysfs_show(struct disk *d)\n{\n\treturn d->gap.n;\n}\n',
    "sched/inflight.c": '#include "inflight.h"\n#include "../disk/reader.h"\n'
                        "int inflight_learn(void)\n{\n\treturn reader_due();\n}\n",
    "sched/inflight.h": "int inflight_learn(void);\n",
    "tasks/scan.c": '#include "scan.h"\n#include "disk/disk.h"\n'
                    "int scan_end(struct disk *d)\n{\n\treturn gap_void(d);\n}\n",
    "tasks/scan.h": "struct disk;\nint scan_end(struct disk *d);\n",
    "disk/reader.c": '#include "reader.h"\n#include "disk.h"\n#include <linux/kthread.h>\n'
                     "int reader_due(void)\n{\n\tstruct disk d = { 0 };\n\n"
                     "\treturn gap_void(&d);\n}\n",
    "disk/reader.h": "struct reader {\n\tint n;\n};\nint reader_due(void);\n",
    "disk/gap.c": '#include "gap.h"\n#include "disk.h"\n#include "core/policy.h"\n'
                  "int gap_void(struct disk *d)\n{\n"
                  "\treturn d->gap.n + policy_choose() + disk_on;\n}\n",
    "disk/gap.h": "struct disk;\nstruct gap {\n\tint n;\n};\nint gap_void(struct disk *d);\n",
    # the parts' types are embedded; the end of a scan comes through a table
    "disk/disk.c": '#include "disk.h"\nint disk_on;\n'
                   "int disk_init(int (*end)(struct disk *d))\n{\n\treturn end(0);\n}\n",
    "disk/disk.h": '#include "gap.h"\n#include "reader.h"\n'
                   "struct disk {\n\tstruct gap gap;\n\tstruct reader reader;\n};\n"
                   "extern int disk_on;\n"
                   "int disk_init(int (*end)(struct disk *d));\n",
    "core/policy.c": '#include "policy.h"\n#include "../disk_model.h"\n'
                     "int policy_choose(void)\n{\n\treturn dm_info();\n}\n",
    "core/policy.h": '#include "include/shim.h"\nint policy_choose(void);\n',
    "disk_model.c": '#include "disk_model_private.h"\nint dm_info(void)\n{\n\treturn 1;\n}\n',
    "disk_model.h": '#include "include/shim.h"\nint dm_info(void);\n',
    "disk_model_private.h": '#include "disk_model.h"\n',
    "include/shim.h": "#define SHIM 1\n",
    # what stands for the kernel's
    "linux/kthread.h": "",
}
KERNEL = ("linux/kthread.h",)


def also(name, text):
    return {name: GOOD[name] + text}


# name, files that are others, words of one line that must be said
PLANTED = (
    ("a call up, two floors", also("disk/gap.c", "int scan_end(struct disk *d);\n"
                                   "int gap_end(void)\n{\n\treturn scan_end(0);\n}\n"),
     ("disk/gap.c", "tasks/scan.c", "scan_end")),
    ("a call up a storey of disk/", also("disk/disk.c", "int late(void)\n{\n"
                                           "\treturn gap_void(0);\n}\n"),
     ("disk/disk.c", "disk/gap.c", "gap_void")),
    ("a variable up", also("core/policy.c", "extern int disk_on;\n"
                           "int policy_on(void)\n{\n\treturn disk_on;\n}\n"),
     ("core/policy.c", "disk/disk.c", "disk_on")),
    ("an include up", {"disk/gap.h": '#include "../tasks/scan.h"\n' + GOOD["disk/gap.h"]},
     ("disk/gap.h", "tasks/scan.h", "scan.h")),
    ("an include up a storey", {"disk/gap.c": '#include "reader.h"\n' + GOOD["disk/gap.c"]},
     ("disk/gap.c", "disk/reader.h", "reader.h")),
    ("an embedded header that comes back",
     {"disk/gap.h": "struct gap {\n\tint n;\n};\n"
                    '#include "disk.h"\nint gap_void(struct disk *d);\n'},
     ("disk/disk.h", "disk/gap.h", "gap.h")),
    ("a circle on one floor",
     {**also("sched/inflight.c", "int background_add(void)\n{\n\treturn 0;\n}\n"
             "int background_del(void);\nint inflight_x(void)\n{\n\treturn background_del();\n}\n"),
      "sched/background.c": "int background_add(void);\nint background_del(void)\n"
                            "{\n\treturn background_add();\n}\n"},
     ("circle", "sched/background.c", "sched/inflight.c", "background_add", "background_del")),
    ("a file on no floor", {"stray.c": "int stray(void)\n{\n\treturn 0;\n}\n"},
     ("stray.c", "no floor")),
    ("a folder on no floor", {"misc/stray.h": "struct stray;\n"}, ("misc/stray.h", "no floor")),
)

count = failed = 0


def report(name, good, why=""):
    global count, failed
    count += 1
    failed += not good
    why = str(why).replace("\n", " ")
    print("ok " + name if good else "not ok %s - %s" % (name, why), flush=True)


def build(root, files):
    for name, text in files.items():
        path = os.path.join(root, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as file:
            file.write(("#pragma once\n" if name.endswith(".h") else "") + text)
    for name in files:
        if name.endswith(".c"):
            subprocess.run(["gcc", "-w", "-O0", "-I", root, "-c", os.path.join(root, name),
                            "-o", os.path.join(root, name[:-2] + ".o")], check=True)
    # the linked module, which defines everything
    subprocess.run(["ld", "-r", "-o", os.path.join(root, "freeblock.o"),
                    *(os.path.join(root, n[:-2] + ".o") for n in files if n.endswith(".c"))],
                   check=True)
    for name in set(KERNEL) & set(files):
        os.unlink(os.path.join(root, name))


def floors(root, *words):
    done = subprocess.run([FLOORS, "--objects", root, *words], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)
    return done.returncode, done.stdout


def main():
    with tempfile.TemporaryDirectory() as top:
        root = os.path.join(top, "good")
        build(root, GOOD)
        status, said = floors(root)
        report("a good module", status == 0, said)
        status, said = floors(root, "--json")
        facts = json.loads(said)
        report("its facts", status == 0 and facts["up"] == facts["circles"] == [] and
               facts["lines"]["core"] == 9 and facts["lines"]["sched"] == 8 and
               facts["longest_file"] == ["disk/reader.c", 9] and
               facts["longest_function"] == ["reader_due", "disk/reader.c", 5], said)
        for number, (name, files, words) in enumerate(PLANTED):
            root = os.path.join(top, str(number))
            build(root, {**GOOD, **files})
            status, said = floors(root)
            report("planted: " + name, status == 1 and
                   any(all(word in line for word in words) for line in said.splitlines()), said)
            facts = json.loads(floors(root, "--json")[1])
            report("planted: %s: in the facts" % name,
                   list(words) in facts["up"] or facts["circles"] or facts["unplaced"], facts)
        drive = os.path.join(top, "mechdisk")
        build(drive, {"engine.c": "int queue(void);\nint engine(void)\n{\n\treturn queue();\n}\n",
                      "queue.c": "int engine(void);\nint queue(void)\n{\n\treturn engine();\n}\n"})
        status, said = floors(os.path.join(top, "good"))
        report("planted: a circle of the simulated drive",
               status == 1 and "circle: mechdisk: engine.c -> queue.c: queue" in said, said)
        facts = json.loads(floors(os.path.join(top, "good"), "--json")[1])
        report("planted: a circle of the simulated drive: in the facts",
               facts["circles"] == [["mechdisk/engine.c", "mechdisk/queue.c"]], facts)
        os.unlink(os.path.join(top, "good", "disk", "gap.o"))
        status, said = floors(os.path.join(top, "good"))
        report("a file that was not built",
               status == 2 and "disk/gap.c has no object" in said, said)
        status, said = floors(os.path.join(top, "nowhere"))
        report("nothing there", status == 2, said)
    print("1..%d" % count)
    return 1 if failed else 0


sys.exit(main())
