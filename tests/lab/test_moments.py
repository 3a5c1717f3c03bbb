#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Does make moments count what its guests say, and run until enough has happened? Guests that are
made up, of which one crashes and one finds something; models that a drive is given; a run that is
cut off. Prints TAP.

Seen to fail: with refused events counted; with a guest that crashed taken for a good one; with the
results of another number of events taken for those asked for.
"""

import contextlib
import importlib.machinery
import importlib.util
import io
import os
import stat
import sys
import tempfile
import types

HERE = os.path.dirname(os.path.abspath(__file__))
MOMENTS = os.path.join(os.path.dirname(HERE), "moments")
sys.dont_write_bytecode = True
sys.path.insert(0, HERE)
sys.path.insert(0, MOMENTS)

import treetest  # noqa: E402
import verdict  # noqa: E402
from treetest import report  # noqa: E402

EVENTS = ["mo begin 1 lun reset", "mo event 1 lun reset|happened|", "mo begin 2 busy",
          "mo event 2 busy|refused|nobody met it"]
GOOD = EVENTS + ["mo total longest_ms 7", "mo total reads 5 writes 2 wrong 0", "mo end ok",
                 "ok the program", "1..1"]

# name, lines, the lab's problems, counts that are not 0
JUDGED = (
    ("nothing", GOOD, [], {}),
    ("wrong bytes", GOOD[:-4] + ["mo found wrong 3 sectors", "mo total wrong 1536", "mo end ok"],
     [], {"bytes_wrong": 1536}),
    ("wrong bytes, and no totals", EVENTS + ["mo found wrong 1 sector", "mo end hang"],
     ["kernel log: Oops (line 3)"], {"bytes_wrong": 512, "reports": 1}),
    ("an error of the foreground", ["mo found error read"] + GOOD, [], {"foreground_errors": 1}),
    ("a state that is not true", ["mo found untrue scan is stopped"] + GOOD, [],
     {"untrue_states": 1}),
    ("a hang that it noticed", EVENTS + ["mo found hang an event", "mo end hang"], [],
     {"hangs": 1}),
    ("a crash", EVENTS, [], {"hangs": 1}),
    ("a hang that only the kernel noticed", GOOD,
     ["kernel log: hung task (line 9)\nINFO: task"], {"hangs": 1}),
    ("a module that stays", GOOD, ["module freeblock cannot be removed: busy"], {"leaks": 1}),
    ("kmemleak", GOOD, ["kmemleak: 3 objects"], {"leaks": 1}),
    ("lockdep", GOOD, ["kernel log: lockdep (line 9)"], {"reports": 1}),
    ("a check of the script", GOOD + ["not ok the drive goes - not in time"], [],
     {"untrue_states": 1}),
)

GUEST = """#!/usr/bin/python3
import json, sys, time
out = sys.argv[sys.argv.index("--out") + 1]
seed = int(sys.argv[sys.argv.index("--seed") + 1])
for i in range(3):
    print("mo begin %d busy" % i)
    print("mo event %d busy|happened|" % i)
print("mo event 4 busy|refused|why 12", flush=True)
if seed == 2:
    sys.exit(1)
if seed == 3:
    print("mo found error write of 1 blocks")
if seed == 4:
    print("mo found hang an event does not end")
    print("mo end hang", flush=True)
    time.sleep(600)
print("mo end ok")
json.dump({"problems": []}, open(out + "/result.json", "w"))
"""


def judged():
    problems = []
    for name, lines, said, want in JUDGED:
        outcome = verdict.new(1, "real")
        over = sum(verdict.hear(outcome, line) for line in lines)
        outcome["problems"] += said
        got = {key: n for key, n in verdict.counts(outcome).items() if n}
        if got != want or verdict.is_good(outcome) == bool(want) or over != 2:
            problems.append("%s: %s, want %s" % (name, got, want))
        if verdict.happened([outcome]) != 1:
            problems.append("%s: %d events" % (name, verdict.happened([outcome])))
    return problems


def run_module():
    loader = importlib.machinery.SourceFileLoader("run", os.path.join(MOMENTS, "run"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("run", loader))
    loader.exec_module(module)
    return module


def guests():
    """Guests until seven events have happened; one crashes, one finds an error; then no more."""
    problems = []
    run = run_module()
    run.Runner.say = lambda self, text: None
    with tempfile.TemporaryDirectory() as folder:
        run.LAB = os.path.join(folder, "lab")
        with open(run.LAB, "w") as file:
            file.write(GUEST)
        os.chmod(run.LAB, stat.S_IRWXU)
        args = types.SimpleNamespace(out=folder, build=folder, through="", scale=1, only=None,
                                     models=[], events=7, per_guest=4, seed=1, report=False,
                                     summary=os.path.join(folder, "s", "summary.json"))
        results = run.Results(folder, "key", 4, None)
        outcomes = run.Runner(args, "debug", results).run()
        row = verdict.row("debug", outcomes)
        want = {"events": 9, "hangs": 1, "foreground_errors": 1, "refused": 3, "guests": 3,
                "failed_seeds": [2, 3], "seeds": [1, 2, 3], "leaks": 0}
        problems += ["%s: %s, want %s" % (key, row[key], value)
                     for key, value in want.items() if row[key] != value]
        run.LOST_S = 1
        lost = run.Runner(args, "debug", results).one(4)
        if verdict.counts(lost)["hangs"] != 1 or verdict.happened([lost]) != 3:
            problems.append("after a hang: %s" % verdict.counts(lost))
        if row["refused_why"] != {"busy: why N": 3}:
            problems.append("why: %s" % row["refused_why"])
        with contextlib.redirect_stdout(io.StringIO()):
            status = run.report(args, {"debug": outcomes})
        if status != 1:
            problems.append("status 0 though something was found")
        os.unlink(run.LAB)
        again = run.Runner(args, "debug", results).run()
        if again != outcomes:
            problems.append("kept results are not those that were had")
        if run.Results(folder, "key", 5, None).get(1) or run.Results(folder, "key", 4, "x").get(1):
            problems.append("results of other guests are taken for these")
    return problems


def models():
    """What fits is the file itself; the others are well-formed and differ."""
    run = run_module()
    problems = []
    for name in run.FILES:
        with open(os.path.join(HERE, "files", name)) as file:
            text = file.read()
        found = run.variants(text)
        if found["right"] != text or run.sealed(text.splitlines()[:-1]) != text:
            problems.append("%s: the right one is another" % name)
        if len(set(found.values())) != 3:
            problems.append("%s: models are the same" % name)
    return problems


report("what guests say", judged())
report("guests until enough has happened", guests())
report("models", models())
treetest.finish()
