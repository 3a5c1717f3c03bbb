# SPDX-License-Identifier: GPL-2.0
"""Commands in the documents: which there are, and whether the programs would take them.

A command is a line of a literal block, after a prompt or without one, that begins with freeblock,
freeblock-bench or make; argparse has to take it as it stands, but for shell that follows (comment,
a pipe, a redirection). What an inline literal mentions, and a synopsis (with [ ], |, ... or a
variable), may lack arguments: its subcommand and options must be there.
"""

import contextlib
import io
import re
import shlex

import treetest     # noqa: F401 where the packages are
import freeblock.cli
import bench.cli

PARSERS = {"freeblock": freeblock.cli.make_parser(), "freeblock-bench": bench.cli.make_parser()}
SYNOPSIS = re.compile(r"\[|\w\|\w|\.\.\.|\$|\bSETTINGS\b")
PROGRAM = r"(?:\./)?(?:tools/)?(freeblock(?:-bench)?)"
# of prose, "freeblock stays off", the first word is no subcommand
BLOCK = re.compile(r"^(?:[ \t]+)(?:[#$] )?%s (?=[a-z][\w-]*|-)(.*)$" % PROGRAM, re.M)
INLINE = re.compile(r"(?<!`)``%s (?=[a-z-])([^`]*)``" % PROGRAM)
INLINE_MARKDOWN = re.compile(r"(?<!`)`%s (?=[a-z-])([^`]*)`(?!`)" % PROGRAM)
SCRIPT = re.compile(r"(?<![\w./-])(freeblock|freeblock-bench) ([a-z][^\n|;&<>]*)")
MAKE = re.compile(r"(?:^[ \t]+(?:[#$] )?|`)make ((?:[A-Z][A-Z_]*=\S* )*[a-z][^`\n]*)", re.M)


def commands(text, markdown=False):
    """(program, the words behind it as they stand, whether it is only mentioned) of each command
    of a document."""
    text = text.replace("\\\n", " ")
    for match in BLOCK.finditer(text):
        yield (*match.groups(), SYNOPSIS.search(match.group(2)) is not None)
    # an inline literal may be broken
    flat = re.sub(r"[ \t]*\n[ \t]*", " ", text)
    for match in (INLINE_MARKDOWN if markdown else INLINE).finditer(flat):
        yield (*match.groups(), True)


def _subcommands(program):
    return PARSERS[program]._subparsers._group_actions[0].choices


def _options(parser):
    """All options of a subcommand and of what is below it."""
    found = set()
    for action in parser._actions:
        found |= set(action.option_strings)
        if action.nargs == "A...":
            for below in action.choices.values():
                found |= _options(below)
    return found


def cut(line):
    """The words of the first command of a line of shell."""
    words = shlex.shlex(line, posix=True, punctuation_chars="|&;<>")
    words.whitespace_split = True
    words.commenters = "#"
    found = []
    for word in words:
        if word in ("|", "&", "&&", ";", ">", ">>", "<", "2>"):
            break
        found.append(word)
    return found


def wrong(program, line, mentioned):
    """Why the command would not be taken, or ""."""
    name = line.split()[0]
    if name.startswith("-"):
        return "" if name in ("--help", "--version") else "no option " + name
    below = _subcommands(program).get(name.rstrip(",.:"))
    if below is None:
        return "no command '%s'" % name
    if mentioned:
        told = set(re.findall(r"(?<![\w-])--?[a-z][\w-]*", line)) - _options(below)
        return "no option %s" % ", ".join(sorted(told)) if told else ""
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(said):
            PARSERS[program].parse_args(cut(line))
    except SystemExit as error:
        return said.getvalue().strip().splitlines()[-1] if error.code else ""
    return ""


def is_sentence(program, line):
    """Whether it is prose or what a program prints, such as "freeblock stays off"."""
    name = line.split()[0].rstrip(",.:")
    return name in ("stays", "is", "with", "response") and name not in _subcommands(program)


def wrong_commands(text, markdown=False):
    """Each command of a document that would not be taken, and why."""
    return sorted({"%s %s: %s" % (program, " ".join(line.split()), why)
                   for program, line, mentioned in commands(text, markdown)
                   if not is_sentence(program, line)
                   for why in [wrong(program, line, mentioned)] if why})


def wrong_in_script(text):
    """The same of a script, as far as it can be told there: options that a command has not."""
    text = re.sub(r"^\s*#.*", "", text, flags=re.M).replace("\\\n", " ")
    found = ((program, line, wrong(program, line, True))
             for program, line in SCRIPT.findall(text)
             if line.split()[0] in _subcommands(program))
    return sorted("%s %s: %s" % (program, " ".join(line.split()), why)
                  for program, line, why in found if why)


def wrong_targets(text, makefile):
    """make targets and variables that a document names and the Makefile has not."""
    found = []
    for line in MAKE.findall(text.replace("\\\n", " ")):
        # without values in quotes, and what a table has in its next column
        line = re.split(r"  |\s#", re.sub(r"'[^']*'|\$\([^)]*\)", "", line))[0]
        targets = re.findall(r"(?<!\S)[a-z][a-z-]*(?!\S)", line)
        if len(targets) > 2:
            continue        # prose
        found += ["make %s: no %s" % (line, name) for name in targets if not re.search(
            r"^(?:[\w -]* )?%s(?: [\w -]*)?:" % name, makefile, re.M)]
        found += ["make %s: no %s" % (line, name) for name in re.findall(r"\b([A-Z_]+)=", line)
                  if not re.search(r"\b%s\b" % name, makefile)]
    return sorted(set(found))
