# SPDX-License-Identifier: GPL-2.0
"""/etc/freeblock.conf, and /etc/freeblock.conf.d/*.conf after it, by name: what is wanted of which
disks. Documentation/conf-format.rst.

INI files; a section says by a pattern which disks it is about, and what holds for a disk is what
the last of its sections says of it.
"""

import configparser
import fnmatch
import functools
import os
import re
import string
from dataclasses import dataclass, field

from .. import ToolError, fbstate
from ..base.streams import one_line
from ..drive import store
from . import enabled, kinds, window

FILE = "etc/freeblock.conf"
MORE = FILE + ".d"              # files in there whose names end with .conf, but hidden ones
DAYS = 3650                     # more is a mistake
PACE_DAYS, PACE_PCT = 30, 90    # of a pass, if nothing says it; of the days until it has to be over
LEAST_MB_S, MOST_MB_S = 0.1, 4294       # the module takes 4 GiB/s at most


def _whole(least, most, word=None):
    """A reader of whole numbers within bounds, or of one word, which is None."""
    def read(text):
        if word and text == word:
            return None
        if not re.fullmatch(r"\d{1,12}", text, re.ASCII) or not least <= int(text) <= most:
            raise ValueError("a whole number from %d to %d%s" % (
                least, most, ", or " + word if word else ""))
        return int(text)
    return read


def _window(text):
    """Hours of local time."""
    return None if text == "always" else window.Windows(text)


def _rate(text):
    """MB/s; 0: no limit."""
    if not re.fullmatch(r"\d{1,4}(\.\d{1,3})?", text, re.ASCII) or float(text) > MOST_MB_S:
        raise ValueError("MB/s, 0 to %d, as in 6.5; 0: no limit" % MOST_MB_S)
    if 0 < float(text) < LEAST_MB_S:
        raise ValueError("at least %g MB/s, or 0 for no limit" % LEAST_MB_S)
    return float(text)


def _order(text):
    """As freeblock scrub takes it."""
    if not re.fullmatch(r"sequential|near|staggered=[1-9]\d{0,8}", text, re.ASCII):
        raise ValueError("sequential, near or staggered=REGIONS")
    return text


def _yes(text):
    """Whether or not."""
    if text not in ("yes", "no"):
        raise ValueError("yes or no")
    return text


def _command(text):
    """For a shell."""
    if not text or "\0" in text:
        raise ValueError("a command")
    return text


def _power(text):
    """As the module's file takes it."""
    if text not in ("respect", "keep-awake"):
        raise ValueError("respect or keep-awake")
    return text


# key: (reader, what holds if no section says it)
KEYS = {
    "scrub_every_days": (_whole(1, DAYS, "never"), None),
    "deadline_days": (_whole(1, DAYS, "never"), None),
    # None: see _pace()
    "pace_days": (_whole(1, DAYS, "none"), None),
    "max_tb_per_year": (_whole(1, 1000000, "none"), None),
    "window": (_window, None),
    "order": (_order, None),
    "idle_mean_us": (_whole(0, 10000000), None),
    "idle_max_us": (_whole(1000, 60000000), None),
    "target_slowdown_ppm": (_whole(0, 1000000), None),
    "foreground_cost_ppm": (_whole(1, 500000), None),
    "max_mb_s": (_rate, None),
    "power": (_power, None),
    "idle_only": (_whole(0, 1), None),
    "enable": (_yes, None),
    "max_concurrent": (_whole(1, 10000), None),
    "max_disks": (_whole(0, 10000), None),
    "max_bad_blocks": (_whole(1, 500, "none"), 50),
    "max_bad_disks": (_whole(1, 10000, "none"), 3),
    "max_celsius": (_whole(20, 100), None),
    "inhibit": (_command, None),
    "on_error": (_command, None),
}
DEFAULTS = {key: default for key, (_, default) in KEYS.items()}
# Of the machine
MACHINE = ("max_disks", "max_bad_disks")
# What [all] says of disks only that may be meant without being named
FLEET = ("enable", "scrub_every_days")
# key: where the module has it
SETTINGS = {"idle_mean_us": fbstate.KERNEL + "/%s/idle_mean_us",
            "idle_max_us": fbstate.KERNEL + "/%s/idle_max_us",
            "target_slowdown_ppm": "sys/block/%s/queue/iosched/target_slowdown_ppm",
            "foreground_cost_ppm": "sys/block/%s/queue/iosched/foreground_cost_ppm",
            "max_mb_s": fbstate.KERNEL + "/%s/max_kib_s",
            "power": fbstate.KERNEL + "/%s/power",
            "idle_only": fbstate.KERNEL + "/%s/idle_only"}
# keys, the first of which may not be more than the second, and why
ORDERED = (("pace_days", "deadline_days", "a pass at that pace would miss its deadline"),
           ("deadline_days", "scrub_every_days", "the next pass would be due before the deadline"),
           ("idle_mean_us", "idle_max_us", "no mean is more than the most"))

# What a world-wide name looks like, or its digits alone
WWN = [list(prefix) + [string.hexdigits] * digits for prefix, digits in (
    ("naa.", 16), ("naa.", 32), ("eui.", 16), ("eui.", 24), ("eui.", 32), ("", 16), ("", 32))]
# Of INQUIRY: 16 letters of the product, 8 of the vendor
PRODUCT, VENDOR = 16, 8
MODEL = [[string.printable] * (vendor + product) if not vendor else
         [string.printable] * vendor + [" "] + [string.printable] * product
         for product in range(1, PRODUCT + 1) for vendor in range(VENDOR + 1)]
LINKS = "/dev/disk/"
FOLDERS = ("by-id", "by-path")


@dataclass
class Section:
    """A pattern, and what is said of the disks that it fits."""

    kind: str
    pattern: str
    values: dict
    path: str = field(default="", compare=False)
    # of the file: the section's, and of each key
    line: int = field(default=0, compare=False)
    lines: dict = field(default_factory=dict, compare=False)

    def where(self, key=None):
        """The place of a key, or of the section."""
        return "%s:%d" % (self.path, self.lines[key] if key else self.line)

    def fits(self, names):
        """names: kind -> what a disk is called."""
        return self.kind == "all" or any(fnmatch.fnmatchcase(name, self.pattern)
                                         for name in names[self.kind])

    def covers(self, other):
        """Whether it fits each disk that `other` fits, as far as patterns tell."""
        return self.kind in ("all", other.kind) and self.fits({other.kind: [other.pattern]})


@functools.lru_cache(maxsize=None)
def _takes(token, letters):
    return any(fnmatch.fnmatchcase(letter, token) for letter in letters)


def can_match(pattern, shapes):
    """Whether a pattern matches anything of one of these shapes, which say for each place what
    letters may be there."""
    tokens = re.findall(r"\[!?\]?[^\]]*\]|.", pattern)
    for shape in shapes:
        places = {0}
        for token in tokens:
            places = set(range(min(places, default=len(shape) + 1), len(shape) + 1)) \
                if token == "*" else {
                    place + 1 for place in places
                    if place < len(shape) and _takes(token, shape[place])}
        if len(shape) in places:
            return True
    return False


def _wwn(pattern):
    """As sysfs has it: lsblk and our metrics print 0x, by-id has wwn-0x, hdparm prints digits,
    smartctl digits and blanks."""
    pattern = re.sub(r"^(?:wwn-)?0x", "naa.", "".join(pattern.lower().split()))
    if not can_match(pattern, WWN):
        raise ValueError("it can match no disk: a world-wide name is naa. or 0x and 16 or 32 "
                         "hexadecimal digits, as in naa.5000c500a1b2c3d4")
    return pattern


def _model(pattern):
    if not can_match(pattern, MODEL):
        raise ValueError("it can match no disk: a product has %d letters at most, as in "
                         "/sys/block/sdX/device/model: [model %s*]" % (
                             PRODUCT, pattern[:PRODUCT].rstrip("*")))
    return pattern


def _path(pattern):
    """Without /dev/disk/."""
    pattern = pattern.removeprefix(LINKS)
    folder, slash, name = pattern.rpartition("/")
    if slash and not any(fnmatch.fnmatchcase(one, folder) for one in FOLDERS) or \
            re.fullmatch(r"sd[a-z]+", pattern):
        raise ValueError("it can match no disk: a path is the name of a link in %s%s" % (
            LINKS, (" or " + LINKS).join(FOLDERS)))
    if re.search(r"\s", name):
        raise ValueError("it can match no disk: names of links have _ in place of blanks")
    if re.search(r"-part\d+$", name):
        raise ValueError("it can match no disk, but a partition: leave out " +
                         name[name.rindex("-part"):])
    return pattern


PATTERNS = {"wwn": _wwn, "path": _path, "model": _model}


def names_of(disk):
    """What a disk (as of store.disk_of()) is called: kind -> names."""
    paths, wwn = [], disk["wwn"]
    for kind in FOLDERS:
        folder = fbstate.path(LINKS, kind)
        for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else ():
            link = os.path.join(folder, name)
            if os.path.islink(link) and os.path.basename(os.readlink(link)) == disk["name"]:
                paths += [name, kind + "/" + name]
    return {"wwn": [wwn, wwn.partition(".")[2]] if wwn else [], "path": paths,
            "model": [disk["product"], "%s %s" % (disk["vendor"], disk["product"])]}


def _pace(said):
    """The pace of a pass, where nothing sets it. Disks that wait for each other are to be read one
    after the other, each as fast as it may be."""
    every, deadline = said.get("scrub_every_days"), said.get("deadline_days")
    if "pace_days" in said or every is None or "max_concurrent" in said:
        return {}
    return {"pace_days": max(min(PACE_DAYS, *(days * PACE_PCT // 100 for days in (every, deadline)
                                              if days is not None)), 1)}


class Conf:
    """What the file says."""

    def __init__(self, sections):
        self.sections = sections

    def of(self, disk):
        """All keys, for a disk."""
        names, left_out = names_of(disk), kinds.by_name_only(disk["name"])
        said = {}
        for section in self.sections:
            if section.fits(names):
                said.update((key, value) for key, value in section.values.items()
                            if not (left_out and section.kind == "all" and key in FLEET))
        return {**DEFAULTS, **said, **_pace(said)}


    def names_for_scrub(self, disk):
        """Whether a section of its own, not [all], has it scrubbed."""
        called = names_of(disk)
        return any(section.kind != "all" and section.fits(called) and
                   section.values.get("scrub_every_days") for section in self.sections)


class _Ini(configparser.ConfigParser):
    """Of one kind of lines. No section has the default's name."""

    # what stands behind a section is not passed over
    SECTCRE = re.compile(r"\[(?P<header>.+)\]$")

    def __init__(self):
        super().__init__(delimiters=("=",), comment_prefixes=(";",), interpolation=None,
                         default_section="\n")

    def optionxform(self, optionstr):
        return optionstr


def _lines(text):
    """Without comments, and without blanks before them, which would have them go on the line
    before."""
    return [re.sub(r"(^|\s)#.*", "", line).strip() for line in text.split("\n")]


def _places(lines):
    """Where sections and their keys stand: configparser forgets that."""
    found: dict = {}
    section = None
    for number, line in enumerate(lines, 1):
        header = _Ini.SECTCRE.match(line)
        key = re.match(r"([^=;][^=]*?)\s*=", line)
        if header:
            section = header.group("header")
            found[section, None] = number
        elif key:
            found[section, key.group(1)] = number
    return found


def _syntax(parser, lines, path):
    """Have them parsed; what is to be said of those that are none of an INI file."""
    try:
        parser.read_string("\n".join(lines), path)
    except configparser.ParsingError as error:
        numbers = [number for number, _ in getattr(error, "errors", ())] or \
            [getattr(error, "lineno", 1)]
        return ["%s:%d: neither [section] nor key = value: %s" % (path, number, lines[number - 1])
                for number in numbers]
    except configparser.DuplicateSectionError as error:
        return ["%s:%d: [%s] is there twice" % (path, error.lineno, error.section)]
    except configparser.DuplicateOptionError as error:
        return ["%s:%d: %s is said twice in [%s]" % (path, error.lineno, error.option,
                                                     error.section)]
    return []


def _section(name):
    """(kind, pattern) of a section's name. ValueError."""
    kind, _, pattern = name.partition(" ")
    if name == "all":
        return name, ""
    if kind not in PATTERNS or not pattern.strip():
        raise ValueError("[%s]: a section is [all], [wwn PATTERN], [path PATTERN] or "
                         "[model PATTERN]" % name)
    try:
        return kind, PATTERNS[kind](pattern.strip())
    except ValueError as error:
        raise ValueError("[%s]: %s" % (name, error)) from error


def contradictions(said):
    """Of values by key, those that cannot both hold: (key, other key, why)."""
    return [(one, other, why) for one, other, why in ORDERED
            if None not in (said.get(one), said.get(other)) and said[one] > said[other]]


def _contradictions(sections):
    """The same of each section with those that fit all of its disks, too; lines about it."""
    found = {}
    for section in sections:
        said, by = {}, {}
        for number, other in enumerate(sections):
            if other.covers(section):
                said.update(other.values)
                by.update(dict.fromkeys(other.values, (number, other)))
        for one, other, why in contradictions(said):
            key = max(one, other, key=lambda key: (by[key][0], by[key][1].lines[key]))
            number, last = by[key]
            found[number, last.lines[key], one] = "%s: %s = %d and %s = %d: %s" % (
                last.where(key), one, said[one], other, said[other], why)
    return [found[key] for key in sorted(found)]


def parse(text, path):
    """(sections, what is wrong) of a file's text; lines that are wrong are named."""
    parser, lines, sections = _Ini(), _lines(text), []
    wrong, places = _syntax(parser, lines, path), _places(lines)
    for name in parser.sections() if not wrong else ():
        try:
            kind, pattern = _section(name)
            section = Section(kind, pattern, {}, path, places[name, None])
        except ValueError as error:
            wrong.append("%s:%d: %s" % (path, places[name, None], error))
            continue
        for key, value in parser.items(name):
            section.lines[key] = places[name, key]
            try:
                if key in MACHINE and section.kind != "all":
                    raise ValueError("a number for the machine, in [all]")
                if key not in KEYS:
                    raise ValueError("no such key; there are " + ", ".join(KEYS))
                section.values[key] = KEYS[key][0](value)
            except ValueError as error:
                wrong.append("%s: %s = %s: %s%s" % (
                    section.where(key), key, value, "" if key not in KEYS else "want ", error))
        sections.append(section)
    return sections, wrong


def _read(path):
    """(sections, what is wrong) of a file."""
    try:
        with open(path, "rb") as file:
            data = file.read()
    except OSError as error:
        return [], ["%s: %s" % (one_line(path), error.strerror)]
    try:
        # utf-8 and its mark: "utf-8-sig" is a codec that a small Python may lack
        return parse(data.decode("utf-8").removeprefix("\ufeff"), path)
    except UnicodeDecodeError as error:
        return [], ["%s:%d: not UTF-8" % (path, data[:error.start].count(b"\n") + 1)]


def files():
    """Those of the machine that are there, in the order in which they count; a link that leads
    nowhere is one."""
    folder = fbstate.path(MORE)
    more = sorted(name for name in os.listdir(folder) if name.endswith(".conf") and
                  name[0] != ".") \
        if os.path.isdir(folder) else []
    found = [fbstate.path(FILE)] + [os.path.join(folder, name) for name in more]
    return [path for path in found if os.path.lexists(path)]


def load(path=None):
    """The machine's, or another; without one nothing is wanted. ToolError names all lines that are
    wrong."""
    sections, wrong = [], []
    for one in [path] if path else files():
        found, mistakes = _read(one)
        sections += found
        wrong += mistakes
    if not wrong:
        wrong = _contradictions(sections)
    if wrong:
        raise ToolError("\n".join(wrong))
    return Conf(sections)


def settings(disk, conf):
    """What the module's files of a disk are to have: by the file, and by how it was enabled."""
    said = conf.of(disk)
    found = {key: said[key] for key in SETTINGS if said[key] is not None}
    if "max_mb_s" in found:
        found["max_mb_s"] = int(found["max_mb_s"] * 1e6 / 1024)
    max_cost_us = enabled.max_cost_us(disk)
    if max_cost_us is not None:
        found["idle_mean_us"] = max_cost_us
    idle_only = enabled.is_idle_only(disk, said)
    # an older module has no such file, nor need of it
    if idle_only or idle_only == 0 and os.path.exists(
            fbstate.path(SETTINGS["idle_only"] % disk["name"])):
        found["idle_only"] = idle_only
    return found


@dataclass
class Change:
    """A file of the module whose value is to be another."""

    key: str
    file: str
    old: str                        # None: it cannot be read
    new: str


def changes(disk, conf):
    """What differs from settings()."""
    found = []
    for key, value in settings(disk, conf).items():
        file = SETTINGS[key] % disk["name"]
        found.append(Change(os.path.basename(file), file, fbstate.read(file), str(value)))
    return [change for change in found if change.old != change.new]


def write(name, change):
    """Have it changed. ToolError if the kernel refuses."""
    path = fbstate.path(change.file)
    try:
        with open(path, "w", encoding="utf-8") as file:
            file.write(change.new + "\n")
    except OSError as error:
        raise ToolError(fbstate.refusal(name, "%s > %s" % (change.new, path), error)) from error


def apply(name, conf):
    """Set what is said of a disk that has the scheduler, where it differs; what was changed."""
    found = changes(store.disk_of(name), conf)
    for change in found:
        write(name, change)
    return found
