#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Every bound that a lab script asserts is in the list `bounds`, with what it is and how far
what it bounds was seen to vary; and nothing else is. Prints TAP.

--update rewrites the list after scripts have changed: lines whose check is gone go, those of new
ones get the kind "?", which the test does not take. Columns, separated by " | ":
script, kind, bound, name, and for those that vary the spread. Kinds:

count     how often something happened that the script brings about, or how much was done of what
          there is to do: a test that tests nothing, or does too much, is noticed
apart     right and wrong lie far from each other, and the bound far from both
measured  it varies from draw to draw (tests/lab/draws). Both sides are asserted, or the spread
          begins with "one side" and says why
promise   of the documents: asserted by promise() and never loosened

What would have to be noticed is planted in a small list of its own.
"""

import os
import re
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
LIST = os.path.join(HERE, "bounds")
KINDS = ("count", "apart", "measured", "promise")
HEAD = """\
# SPDX-License-Identifier: GPL-2.0
# Bounds that lab scripts assert; test_bounds.py says what the columns are and keeps the list.
"""
CHECK = re.compile(r"^[^#\n]*?(?:^|[\s;&|])(expect_le|expect_ge|expect_mean|promise) ", re.M)


def words(text):
    """The words of the command that `text` begins with, as a shell parts them."""
    found, word, inside = [], "", []        # inside: what ends the quotes and brackets we are in
    for match in re.finditer(r"\\?.", text, re.S):
        part, end = match[0], inside[-1] if inside else ""
        if end == "'":
            inside[-1:] = [] if part == end else [end]
        elif part == end:
            inside.pop()
        elif part == '"' or part == "'" and end != '"':
            inside.append(part)
        elif part == "(":
            inside.append(")")
        elif not inside and part in (" ", "\t", "\n", ";", "\\\n"):
            if word:
                found.append(word)
            word = ""
            if part in ("\n", ";"):
                break
            continue
        elif not inside and not word and part == "#":
            break
        word += part
    return found


def assertions(path):
    """(script, bound, name) of each check in a script, in its order."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    for match in CHECK.finditer(text):
        check, name, *rest = words(text[match.start(1):])
        if check == "expect_mean":
            bound = "%s to %s" % tuple(rest[:2])
        elif check == "promise":
            bound = "%s %s" % ({"le": "<=", "ge": ">="}[rest[1]], rest[2])
        else:
            bound = "%s %s" % ("<=" if check == "expect_le" else ">=", rest[-1])
        bound = re.sub(r"\\?\s+", " ", bound).replace('"', "")
        yield os.path.basename(path)[:-3], bound, name.strip('"'), check == "promise"


def in_scripts():
    """All of them."""
    return [found for name in sorted(os.listdir(HERE))
            if re.fullmatch(r"[st]-.*\.sh", name) for found in assertions(os.path.join(HERE, name))]


def in_list():
    """[(script, kind, bound, name, spread)]"""
    with open(LIST, encoding="utf-8") as file:
        return [tuple(line.rstrip("\n").split(" | ")) for line in file
                if line.strip() and not line.startswith("#")]


def update():
    """Rewrite the list."""
    known = {}
    for script, kind, bound, name, *spread in in_list() if os.path.exists(LIST) else ():
        known[script, name, bound.split()[0]] = kind, "".join(spread)
    with open(LIST, "w", encoding="utf-8") as out:
        out.write(HEAD)
        for script, bound, name, promised in in_scripts():
            kind, spread = known.get((script, name, bound.split()[0]),
                                     ("promise" if promised else "?", ""))
            columns = (script, kind, bound, name) + ((spread,) if spread else ())
            out.write(" | ".join(columns) + "\n")


def wrong_with(lines, found):
    """What is wrong with the list, line by line."""
    for line in lines:
        if len(line) not in (4, 5):
            yield "not five columns: %s" % " | ".join(line)
    lines = [(line + ("",))[:5] for line in lines if len(line) in (4, 5)]
    listed = [(script, bound, name, kind == "promise") for script, kind, bound, name, _ in lines]
    for one in found:
        if one not in listed:
            yield "not listed: %s | %s | %s%s" % (*one[:3], " (promise)" if one[3] else "")
    for one in listed:
        if one not in found:
            yield "no such check: %s | %s | %s%s" % (*one[:3], " (promise)" if one[3] else "")
    for script, kind, bound, name, spread in lines:
        sides = {b.split()[0] if b[0] in "<>" else "both" for s, _, b, n, _ in lines
                 if (s, n) == (script, name)}
        if kind not in KINDS:
            yield "no kind '%s': %s | %s" % (kind, script, name)
        elif kind in ("measured", "promise") and not spread:
            yield "no spread: %s | %s" % (script, name)
        elif kind == "measured" and "both" not in sides and len(sides) == 1 and \
                not spread.startswith("one side"):
            yield "one side only, and no word why: %s | %s %s" % (script, bound, name)


SCRIPT = """\
expect_ge "counted" "$(kv "$(fb "$disk")/scan" blocks)" 5
	expect_le "low; $name" $((a + $(drive_stat d x) * \\
		2)) 9		# expect_le "no" 1 2
expect_ge "low; $name" "$x" "$(one "2 3")"; expect_eq "else" 1 1
[ $a = b ] || expect_mean "mean" 1 \\
	2 $x $y
# expect_le "a comment" 1 2
promise "kept" $(mean_of $x) le 5 "by two"
"""
GOOD = (("t-x", "count", ">= 5", "counted"), ("t-x", "measured", "<= 9", "low; $name", "1 to 2"),
        ("t-x", "measured", ">= $(one 2 3)", "low; $name", "1 to 2"),
        ("t-x", "measured", "1 to 2", "mean", "1"), ("t-x", "promise", "<= 5", "kept", "4"))
PLANTED = (
    ("another bound", 0, ("t-x", "count", ">= 6", "counted")),
    ("another side", 0, ("t-x", "count", "<= 5", "counted")),
    ("another name", 0, ("t-x", "count", ">= 5", "count")),
    ("one that is not listed", 0, None),
    ("no such kind", 0, ("t-x", "?", ">= 5", "counted")),
    ("measured, without a spread", 3, ("t-x", "measured", "1 to 2", "mean")),
    ("measured, one side", 0, ("t-x", "measured", ">= 5", "counted", "5 to 6")),
    ("a promise called measured", 4, ("t-x", "measured", "<= 5", "kept", "one side: 4")),
    ("measured, called a promise", 3, ("t-x", "promise", "1 to 2", "mean", "1")),
    ("columns", 0, ("t-x", "count")),
)


def planted():
    """(what, whether it is as it should be)"""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "t-x.sh")
        with open(path, "w", encoding="utf-8") as out:
            out.write(SCRIPT)
        found = list(assertions(path))
    yield "a list that is right", not list(wrong_with(GOOD, found))
    for what, at, line in PLANTED:
        lines = [*GOOD[:at], *([line] if line else []), *GOOD[at + 1:]]
        yield "planted: " + what, bool(list(wrong_with(lines, found)))


def main():
    """Test, or update."""
    if sys.argv[1:] == ["--update"]:
        update()
        return 0
    count = failed = 0
    problems = list(wrong_with(in_list(), in_scripts()))
    for problem in problems:
        print("# " + problem)
    for what, good in (*planted(), ("the bounds of lab scripts are listed (or --update)",
                                    not problems)):
        count += 1
        failed += not good
        print("%s %s" % ("ok" if good else "not ok", what))
    print("1..%d" % count)
    return 1 if failed else 0


sys.exit(main())
