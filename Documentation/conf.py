# SPDX-License-Identifier: GPL-2.0
"""Sphinx: the documents as HTML, and some of them as manual pages."""

import os
import re

_TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
with open(os.path.join(_TOP, "tools", "cli", "freeblock", "__init__.py"),
          encoding="utf-8") as _file:
    release = version = re.search(r'__version__ = "(.*)"', _file.read()).group(1)
project = "freeblock"
author = "the freeblock authors"
copyright = "2026, the freeblock authors"  # noqa: A001 - its name in Sphinx
master_doc = "index"
html_theme = "alabaster"
html_theme_options = {"page_width": "60em", "description":
                      "background disk reads in the gaps of a busy disk"}
html_sidebars = {"**": ["about.html", "searchbox.html", "navigation.html"]}
html_copy_source = False
highlight_language = "none"
man_pages = [
    ("module", "freeblock", "I/O scheduler that reads in the gaps of a busy disk", "", 4),
    ("model-format", "freeblock.fbmodel", "what freeblock believes about a drive", "", 5),
    ("drive-format", "freeblock.fbdrive", "what a simulated drive is", "", 5),
    ("conf-format", "freeblock.conf", "what is wanted of which disks", "", 5),
    ("digest-format", "freeblock.digests", "digests that freeblock scan writes", "", 5),
    ("coverage-format", "freeblock.coverage", "which blocks of a disk are done", "", 5),
    ("trace-format", "freeblock.traces", "traces that freeblock reads", "", 5),
]


def _escaped(text):
    return re.sub(r"([*`|_\\])", r"\\\1", text)


def _entry(names, fields, rest):
    """One file, from the ABI's text, as an item of a definition list."""
    lines = [", ".join("``%s``" % name for name in names)]
    told = "; ".join("%s %s" % (name.lower(), _escaped(fields[name]))
                     for name in ("Access", "Unit", "Range", "Default") if name in fields)
    if told:
        lines += ["    (%s)" % told, ""]
    for paragraph in re.split(r"\n[\t ]*\n", rest.strip("\n")):
        text = [line[2:] if line.startswith("\t\t") else line.strip("\t")
                for line in paragraph.splitlines()]
        # a table of words, or a formula
        if any(re.search(r"\t|^ |  ", line.rstrip()) for line in text):
            lines += ["    ::", ""] + ["        " + line.expandtabs() for line in text] + [""]
        elif text:
            lines += ["    " + _escaped(line) for line in text] + [""]
    return "\n".join(lines) + "\n"


def _abi(folder):
    """What Documentation/ABI says of the module's files. (tests/lab/test_abi.py checks that.)"""
    found = []
    for name, title in (("sysfs-module-freeblock", "Parameter of the module"),
                        ("sysfs-block-freeblock", "Tunables of the scheduler"),
                        ("sysfs-kernel-freeblock", "Model, tasks and settings of a disk"),
                        ("sysfs-kernel-freeblock-state", "State of a disk"),
                        ("debugfs-freeblock", "Numbers, and tables for people")):
        with open(os.path.join(folder, "ABI", "testing", name), encoding="ascii") as file:
            said = re.sub(r"^#.*\n", "", file.read(), flags=re.M)
        found += ["", ".. _%s:" % name, "", title, "-" * len(title), ""]
        for part in re.split(r"\n(?=What:)(?<!\S\n)", "\n" + said)[1:]:
            head, _, description = part.partition("\nDescription:\n")
            first, _, rest = description.partition("\n\n")
            fields = dict(re.findall(r"^\t\t(\w+):\s+(\S.*)$", first, re.M))
            found.append(_entry(re.findall(r"^What:\s+(\S+)$", head, re.M), fields,
                                rest if fields else description))
    return "\n".join(found)


def _complete(app, name, source):
    if name == "module":
        source[0] += _abi(app.srcdir)


def setup(app):
    """module.rst ends in what the ABI's files say."""
    app.connect("source-read", _complete)
