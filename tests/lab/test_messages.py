#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Does the module print nothing while it holds a spinlock? A console may take milliseconds for a
line, with interrupts off. Followed are all calls by name, from the functions that lock, or assert
that a lock is held, to those that print. Prints TAP.

Seen to fail: a message in a function that asserts its lock, in one that is called with the lock
held, in the scope of a guard, in a guarded block or statement, behind a macro.
"""

import os
import re

import treetest
from treetest import TOP, read, report

FOLDERS = ("", "core", "disk", "sched", "tasks")
PRINTS = re.compile(r"\b(?:pr_(?:emerg|alert|crit|err|warn|notice|info|cont|debug)(?:_\w+)?"
                    r"|printk\w*|dev_(?:err|warn|notice|info)\w*|sdev_printk)\(")
LOCKS = re.compile(r"\b(?:raw_)?spin_(un)?lock(?:_irq(?:save|restore)?|_bh)?\(")
# What the end of a scope releases: the rest of its block, or the statement or block behind it
GUARDS = re.compile(r"\b(scoped_)?guard\((?:raw_)?spinlock(?:_irq(?:save)?|_bh)?\b[^;{}\n]*\)")
ASSERTS = re.compile(r"\blockdep_assert_held\(&[\w>.()-]*\b(?:lock|cookie_lock|words)\)")


def sources():
    """{path: text} of the module's C."""
    return {os.path.join(folder, name): read(os.path.join(folder, name))
            for folder in FOLDERS for name in sorted(os.listdir(os.path.join(TOP, folder)))
            if name.endswith(".c")}


def functions(text):
    """{name: body}, without comments and strings; a macro that prints is a function, too."""
    text = re.sub(r'/\*.*?\*/|"(?:\\.|[^"\\\n])*"', "", text, flags=re.S)
    found = {}
    for name, body in re.findall(r"^#define (\w+)\(.*?\)((?:.*\\\n)*.*)", text, re.M):
        found[name] = body
    for name, body in re.findall(r"^[a-z][\w \t*]*?\b(\w+)\([^;{}]*\)\s*\n\{\n(.*?)^\}", text,
                                 re.M | re.S):
        found[name] = body
    return found


def block_end(body, at):
    """Where the block that is open at `at` ends."""
    depth = 0
    for match in re.finditer(r"[{}]", body[at:]):
        depth += 1 if match.group() == "{" else -1
        if depth < 0:
            return at + match.start()
    return len(body)


def guarded(body):
    """[(begin, end)] of what guard() and scoped_guard() have done under a spinlock."""
    found = []
    for match in GUARDS.finditer(body):
        end = match.end()
        if not match.group(1):
            found.append((end, block_end(body, end)))
        elif body[end:].lstrip().startswith("{"):
            found.append((end, block_end(body, body.index("{", end) + 1)))
        else:
            found.append((end, body.index(";", end)))
    return found


def calls(body, names):
    """[(whether a lock is held, what is called)] in the order of the text. A lock that was taken
    before the function is held until it is given back, too."""
    held = bool(ASSERTS.search(body))
    guards = guarded(body)
    found = []
    for match in re.finditer(r"\b(\w+)\(", body):
        lock = LOCKS.match(body, match.start())
        if lock:
            held = not lock.group(1)
        elif match.group(1) in names or PRINTS.match(body, match.start()):
            inside = any(begin < match.start() < end for begin, end in guards)
            found.append((held or inside, match.group(1)))
    return found


def problems(texts):
    """Each call under a lock that prints, or leads to one that does."""
    known = {}
    for text in texts.values():
        known.update(functions(text))
    graph = {name: calls(body, known) for name, body in known.items()}
    prints = {name for name, made in graph.items() if any(to not in known for _, to in made)}
    more = True
    while more:
        before = len(prints)
        prints |= {name for name, made in graph.items() if any(to in prints for _, to in made)}
        more = len(prints) > before
    return sorted("%s: %s is called with a lock held, and prints" % (name, to)
                  for name, made in graph.items() for held, to in made
                  if held and (to in prints or to not in known))


def main():
    """All checks."""
    texts = sources()
    report("the module has functions that print",
           [] if sum(len(PRINTS.findall(text)) for text in texts.values()) > 10 else ["too few"])
    report("nothing is printed under a spinlock", problems(texts))
    treetest.finish()


if __name__ == "__main__":
    main()
