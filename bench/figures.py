# SPDX-License-Identifier: GPL-2.0
"""figures: the figures that several documents give, from one file.

Documentation/figures.json has them, with the command that measured each, and when. This command
takes them from the results below --build, where there are any, writes the file, and puts them into
the documents. tests/lab/test_documents.py compares both with `differences()`.
"""

import json
import os
import re
import subprocess
import time

from freeblock import ToolError
from freeblock.base import safe_file
from freeblock.base.helpers import BUILD, TOP

FILE = os.path.join("Documentation", "figures.json")
# Columns of the demo's two tables, as its summary.json has their rows
DEMO = ("alone", "with scan")
MODERN = ("mq-deadline, alone", "mq-deadline, idle class", "freeblock, no model", "freeblock, scan",
          "freeblock, scrub")
PASS = "modern: days for 16 TB at that rate/freeblock, "
RATE = "modern: background reads, MB/s/"
# Where they stand: a document, and the table whose rows are in its literal block, by the first
# line's words; or a text with <FIGURE> or <FIGURE:FORMAT>. Blanks match any
TABLES = (
    ("README.md", "alone with scan", "demo", DEMO),
    ("README.md", "alone idle class no model scan scrub", "modern", MODERN),
)
TEXTS = (
    ("Documentation/results.rst",
     "``make demo`` <demo: requests/s/alone> <demo: requests/s/with scan> "
     "<demo: slowdown, %/with scan> <demo: free MB/s/with scan> "
     "<demo: predictions within 50 us, %/with scan:.1f> %"),
    ("Documentation/results.rst",
     "``make demo`` <" + RATE + "mq-deadline, idle class>, "
     "<modern: reads' mean above, %/mq-deadline, idle class:+.0f> %, "
     "<modern: reads' p99 above, %/mq-deadline, idle class:+.0f> % "
     "<" + RATE + "freeblock, scan>, <modern: reads' mean above, %/freeblock, scan:+.1f> %, "
     "<modern: reads' p99 above, %/freeblock, scan:+.1f> % "
     "<" + RATE + "freeblock, scrub>, <modern: reads' mean above, %/freeblock, scrub:+.1f> %, "
     "<modern: reads' p99 above, %/freeblock, scrub:+.1f> %"),
    ("Documentation/results.rst",
     "A scan without a model gets <" + RATE + "freeblock, no model> MB/s."),
    ("Documentation/troubleshooting.rst", "takes <" + PASS + "scrub> days at the rate that"),
    ("Documentation/troubleshooting.rst", "over a minute, and a scan <" + PASS + "scan> days."),
    ("Documentation/lab.rst", "missed: 0.43 to <demo: slowdown, %/with scan> %"),
    ("Documentation/lab.rst", "of 0.5, <missed: slowdown, model 3 % off, %> with a"),
    ("Documentation/lab.rst", "orders by address: <missed: idle reads at 85 %, mean, ms> ms"),
    ("README.md", "orders by address (C-LOOK) adds <missed: idle reads at 85 %, mean, ms> ms,"),
)
# What a test says of a promise that is missed is measured when that is written
MISSED = (
    ("missed: slowdown, model 3 % off, %", "tests/python/test_sim.py",
     r'@taptest\.missed\("([\d.]+) % of 0\.5, with a model'),
    ("missed: idle reads at 85 %, mean, ms", "tests/python/test_sim_destage.py",
     r'@taptest\.missed\("([\d.]+) ms of 1 '),
)


def _rows(table, rows, columns):
    return {"%s: %s/%s" % (table, row[0].strip(), column): str(cell)
            for row in rows for column, cell in zip(columns, row[1:]) if cell not in ("", "-")}


def of_demo(summary):
    """Of its summary.json."""
    if not summary.get("usual"):
        raise ToolError("demo/summary.json: not of a demo with the defaults")
    modern = summary["modern"]
    found = {**_rows("demo", summary["table"], DEMO), **_rows("modern", modern["table"], MODERN)}
    for name, who in (("mq-deadline, idle class", "peer_"), ("freeblock, scan", "scan_"),
                      ("freeblock, scrub", "")):
        for words, key in (("mean", "read_mean_pct"), ("p99", "read_p99_pct")):
            found["modern: reads' %s above, %%/%s" % (words, name)] = "%g" % modern[who + key]
    return found


def of_missed():
    """Of the promises that are listed as missed."""
    found = {}
    for name, path, pattern in MISSED:
        match = re.search(pattern, _read(path))
        if not match:
            raise ToolError("%s: nothing matches %s" % (path, pattern))
        found[name] = match.group(1)
    return found


def _read(path):
    with open(os.path.join(TOP, path), encoding="utf-8") as file:
        return file.read()


def kept():
    """figures.json: what was measured (a command) -> commit, date, figures."""
    return json.loads(_read(FILE))


def _pattern(text):
    """A regular expression of a text, and [(figure, format)]."""
    parts = re.split(r"<([^<>]+)>", text)
    words = [re.sub(r"(?:\\ )+", r"\\s+", re.escape(part)) for part in parts[::2]]
    named = [re.fullmatch(r"(.*?)(?::([+.]\S*))?", part).groups() for part in parts[1::2]]
    return r"([-+]?\d[\d.]*)".join(words), named


def _shown(figures, name, form):
    if name not in figures:
        raise ToolError("%s: no figure '%s'" % (FILE, name))
    return format(float(figures[name]), form) if form else figures[name]


def _put(text, start, end, value):
    """A text with a value in place of that from `start` to `end`; columns behind it stay, but words
    of a sentence move up."""
    more = len(value) - (end - start)
    room = len(re.match(r" *", text[end:]).group())
    if room > 1 or (more < 0 < room and not text[end + room].isalpha()):
        more = min(more, room - 1)
        return text[:start] + value + " " * (room - more) + text[end + room:]
    return text[:start] + value + text[end:]


def in_text(text, place, figures):
    """A document with the figures of one of TEXTS."""
    pattern, named = _pattern(place)
    found = list(re.finditer(pattern, text))
    if len(found) != 1:
        raise ToolError("found %d times: %s" % (len(found), place))
    for number, (name, form) in reversed(list(enumerate(named, 1))):
        text = _put(text, *found[0].span(number), _shown(figures, name, form))
    return text


def in_table(text, place, figures):
    """A document with the figures of one of TABLES: of each line of its block that is a row."""
    head, table, columns = place
    match = re.search(r"^ +%s\n((?: .*\n)+)" % head.replace(" ", " +"), text, re.M)
    if not match:
        raise ToolError("no table '%s'" % head)
    lines = match.group(1).splitlines(keepends=True)
    known = {name.rpartition("/")[0] for name in figures}
    for at, line in enumerate(lines):
        row = "%s: %s" % (table, re.split(r"\s{2,}", line.strip())[0])
        if row not in known:
            raise ToolError("the table '%s' has no row '%s'" % (head, row))
        title = re.match(r" *\S+(?: \S+)*", line).end()
        numbers = list(re.compile(r"(?<=  )[-+]?\d[\d.]*(?=\s)").finditer(line, title))
        names = [column for column in columns if "%s/%s" % (row, column) in figures]
        if len(numbers) != len(names):
            raise ToolError("%s: %d figures, not %d" % (row, len(numbers), len(names)))
        for cell, name in reversed(list(zip(numbers, names))):
            value = figures["%s/%s" % (row, name)]
            # cells end at the same place
            line = line[:cell.start()].rstrip(" ").ljust(cell.end() - len(value)) + value + \
                line[cell.end():]
        lines[at] = line
    return text[:match.start(1)] + "".join(lines) + text[match.end(1):]


def documents(figures):
    """{path: text with these figures} of all documents that have any."""
    texts = {}
    for path, *place in TABLES:
        texts[path] = in_table(texts.get(path) or _read(path), place, figures)
    for path, place in TEXTS:
        try:
            texts[path] = in_text(texts.get(path) or _read(path), place, figures)
        except ToolError as error:
            raise ToolError("%s: %s" % (path, error)) from error
    return texts


def all_of(groups):
    """{name: value} of figures.json."""
    return {name: value for group in groups.values() for name, value in group["figures"].items()}


def differences():
    """Lines of documents that give another figure than the file."""
    found = ["%s: %s" % (path, ours.strip()) for path, text in
             documents({**all_of(kept()), **of_missed()}).items()
             for ours, theirs in zip(_read(path).splitlines(), text.splitlines()) if ours != theirs]
    return found + ["%s: %s" % (FILE, name) for name, value in of_missed().items()
                    if all_of(kept()).get(name) != value]


def _group(command, when, figures):
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=TOP, text=True,
                            check=False, stdout=subprocess.PIPE,
                            stderr=subprocess.DEVNULL).stdout.strip()
    return {"command": command, "commit": commit,
            "date": time.strftime("%Y-%m-%d", time.gmtime(when)), "figures": figures}


def _write(path, text):
    with safe_file.whole_file(os.path.join(TOP, path)) as file:
        file.write(text.encode())


def add_parser(subparsers):
    """Add `figures`."""
    parser = subparsers.add_parser(
        "figures", help="put measured figures into the documents that give them",
        description="Take the figures of the last results below --build (make demo) and of "
        "promises that tests list as missed, write Documentation/figures.json, and put them into "
        "the documents. --check writes nothing, and ends with 1 if a document gives another figure "
        "than the file.")
    parser.add_argument("--build", metavar="DIR", default=BUILD, help="where results are (build)")
    parser.add_argument("--check", action="store_true", help="compare only")
    parser.set_defaults(run=run)


def run(args):
    """The subcommand."""
    if args.check:
        wrong = differences()
        print("\n".join(wrong) or "all figures are those of " + FILE)
        return 1 if wrong else 0
    groups = kept()
    path = os.path.join(args.build, "demo", "summary.json")
    if os.path.exists(path):
        with open(path, encoding="ascii") as file:
            groups["demo"] = _group("make demo", os.stat(path).st_mtime, of_demo(json.load(file)))
    else:
        print("%s is not there: make demo; its figures stay" % path)
    if groups["missed"]["figures"] != of_missed():
        groups["missed"] = _group("make check ONLY='test_sim|test_sim_destage'", time.time(),
                                  of_missed())
    texts = documents(all_of(groups))
    _write(FILE, json.dumps(groups, indent=1) + "\n")
    for path, text in texts.items():
        if text != _read(path):
            _write(path, text)
            print("changed: " + path)
    return 0
