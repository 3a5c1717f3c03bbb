#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Does Documentation/ABI tell of each file of the module, and of no other? Each file in sysfs
and debugfs that a source defines, and each parameter, has one entry with a contact, a date,
access, unit, and in sysfs range and default; of several files in one entry each is named in
its text. The ranges of numbers are those of the sources; keys of debugfs' tables are told.
Prints TAP.

Seen to fail: each field left out of an entry; a file, a number or a key more, less or twice; other
ranges in an entry, in sysfs.c and in sched/tunables.c.
"""

import glob
import os
import re

import abi
import treetest
from treetest import read, report

DISK = "/sys/kernel/freeblock/<disk>/"
SCHED = "/sys/block/<disk>/queue/iosched/"
DEBUG = "/sys/kernel/debug/freeblock/<disk>/"
PARAMETER = "/sys/module/freeblock/parameters/"
# In sysfs a file has all of them; in debugfs, and of what is only written, there is no range
FIELDS = ("Date", "KernelVersion", "Contact", "Access", "Unit", "Range", "Default")
ATTRIBUTE = r"__ATTR(?:_RO|_RW|_WO)?\((\w+)[,)]"


def sources():
    """{path: text} of the module's sources, without definitions of macros."""
    return {os.path.relpath(path, abi.TOP):
            re.sub(r"^#define (?:.*\\\n)*.*\n", "", read(os.path.relpath(path, abi.TOP)),
                   flags=re.M)
            for folder in ("", "core", "disk", "sched", "tasks")
            for path in sorted(glob.glob(os.path.join(abi.TOP, folder, "*.c")))}


def files_made(texts):
    """What the module makes, by the macros that define files."""
    everything = "\n".join(texts.values())
    table = re.search(r"fb_tunables_attrs\[\] = \{(.*?)\n\};", everything, re.S).group(1)
    made = [SCHED + name for name in re.findall(ATTRIBUTE, table)]
    made += [DISK + name for name in
             re.findall(ATTRIBUTE, everything.replace(table, "")) +
             re.findall(r"^(?:static BIN_ATTR\w*|\t?FB_SYSFS_\w+)\((\w+),", everything, re.M)]
    made += [DISK + "state/" + name for name in
             re.findall(r"^\tFB_SNAPSHOT_FILE\((\w+)\)", everything, re.M)]
    made += [DEBUG + name for name in re.findall(r'debugfs_create_file\("(\w+)"', everything)]
    return made + [PARAMETER + name
                   for name in re.findall(r"^module_param(?:_named)?\((\w+),", everything, re.M)]


def number(expression, constants):
    """What an expression of C is, if it is one of numbers and constants."""
    expression = re.sub(r"(\d)U\b", r"\1", expression)
    expression = re.sub(r"\b[A-Z][A-Z_]+\b", lambda m: str(constants[m.group()]), expression)
    return eval(expression.replace("/", "//"))


def ranges_made(texts):
    """{file: (lowest, highest, whether "auto")} of numbers, as the sources check them."""
    headers = "".join(read(path) for path in ("core/idle/state.h", "sched/sched.h"))
    constants = {name: value.rstrip("U") for name, value in
                 re.findall(r"^#define (\w+) (\d+U?)\b", headers, re.M)}
    constants.update(USEC_PER_SEC=10 ** 6, NSEC_PER_USEC=10 ** 3, NSEC_PER_MSEC=10 ** 6)
    found = {}
    for name, low, high, auto in re.findall(
            r"^\tFB_SYSFS_SETTING\((\w+), [\w.]+,(?:\s+\.lowest = ([^,]+),)?\s+\.highest = ([^,)]+)"
            r"(,\s+\.may_be_auto = true)?\),$", texts["sysfs.c"], re.M):
        found[DISK + name] = (number(low or "0", constants), number(high, constants), bool(auto))
    for name, low, high, auto in re.findall(
            r"^FB_TUNABLES_NUMBER\((\w+), [^,]+, \w+, \w+, (\d+), (\d+)(,\s+true)?",
            texts["sched/tunables.c"], re.M):
        found[SCHED + name] = (int(low), int(high), bool(auto))
    return found


def ranges_told(said):
    """The same of the entries "A to B", "A or B", with ", or auto"."""
    found = {}
    for names, fields, _ in abi.entries(said):
        told = re.match(r"(\d+) (?:to|or) (\d+)(, or auto)?$", fields.get("Range", ""))
        if told and fields.get("Access") == "RW":
            for name in names:
                found[name] = (int(told.group(1)), int(told.group(2)), bool(told.group(3)))
    return found


def numbers_made(texts):
    """The names in debugfs' numbers, but for files of sysfs and what a scrub has as a scan."""
    files = {"state/" + name for name in
             re.findall(r"^\tFB_SNAPSHOT_FILE\((\w+)\)", texts["snapshot.c"], re.M)}
    found = set(re.findall(r'^\tFB_SNAPSHOT\("([\w/]+)",', texts["snapshot.c"], re.M)) - files
    found |= set(re.findall(r'"(stats/\w+)"', texts["snapshot.c"]))
    keys = re.findall(r'^\t\t\{ "(\w+)", ', texts["tasks/job.c"], re.M) + \
        re.findall(r'"%s_stats/(\w+)\b', texts["tasks/job.c"])
    return found | {"scan_stats/" + key for key in keys}


def keys_made(texts):
    """The keys of lines "key value" in debugfs."""
    found = set()
    for path in ("debugfs.c",):
        for call in re.findall(r"seq_p\w+\([^;]*;", texts[path]):
            for string in re.findall(r'"((?:[^"\\]|\\.)*)"', call):
                found |= set(re.findall(r"(?:^|\\n)([a-z]\w+)(?= %)", string))
    return found


def problems(texts, said):
    """Everything that does not fit."""
    made, told = files_made(texts), abi.files(said)
    found = ["%s has no entry" % name for name in sorted(set(made) - set(told))]
    found += ["there is no %s" % name for name in sorted(set(told) - set(made))]
    found += ["%s is told twice" % name for name in sorted(set(told)) if told.count(name) > 1]
    for names, fields, text in abi.entries(said):
        folder = names[0].endswith("/")
        want = FIELDS[:3] if folder else FIELDS[:5] if names[0].startswith(DEBUG) else FIELDS
        found += ["%s: no %s" % (names[0], field) for field in want if field not in fields]
        found += ["%s is not in the text" % name for name in names
                  if len(names) > 1 and os.path.basename(name) not in re.findall(r"\w+", text)]
        if not text.strip() and not folder:
            found.append("%s: nothing is told" % names[0])
    ranges = ranges_told(said)
    found += ["%s: range %s, not %s" % (name, ranges.get(name), is_so)
              for name, is_so in ranges_made(texts).items() if ranges.get(name) != is_so]
    numbers = abi.numbers(said)
    found += ["number %s" % name for name in sorted(numbers_made(texts) ^ set(numbers))]
    found += ["number %s is told twice" % name for name in numbers if numbers.count(name) > 1]
    words = set(re.findall(r"\w+", said))
    return found + ["key %s" % key for key in sorted(keys_made(texts) - words)]


def main():
    """All checks."""
    texts, said = sources(), abi.text()
    report("there are files, ranges and keys",
           [] if 45 < len(files_made(texts)) < 60 and len(ranges_made(texts)) > 15 and
           len(numbers_made(texts)) > 90 and len(keys_made(texts)) > 5 else
           ["%d %d %d %d" % (len(files_made(texts)), len(ranges_made(texts)),
                             len(numbers_made(texts)), len(keys_made(texts)))])
    report("Documentation/ABI tells of them", problems(texts, said))
    treetest.finish()


if __name__ == "__main__":
    main()
