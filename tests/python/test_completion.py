# SPDX-License-Identifier: GPL-2.0
"""What tools/build/command-pages writes: completion in bash, and manual pages with the exit
statuses and examples that each command declares.

Seen to fail: shtab 1.5.5 as it is, which offers the first of a list only; a manual page with the
common exit statuses for all; scrub's status 3 left out of its table; an example with an option
that there is not.
"""

import os
import re
import shlex
import shutil
import subprocess
import tempfile
import unittest

import taptest
import freeblock
from freeblock import cli

TOOLS = os.path.join(taptest.TOP, "tools")

PACKAGE = os.path.dirname(freeblock.__file__)
# Reads lines of words, the last of which is completed; prints a line for each
BASH = r"""
. "$0"
while IFS= read -r line; do
    read -ra COMP_WORDS <<< "$line"
    case $line in *' ') COMP_WORDS+=("") ;; esac
    COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
    _shtab_freeblock
    printf '%s ' "${COMPREPLY[@]}"
    echo
done
"""


def below(parser):
    """The commands below a parser, by name; {} if there are none."""
    for action in parser._actions:
        if action.nargs == "A...":
            return action.choices
    return {}


def wanted(parser, words=("freeblock",)):
    """(line that is typed, words that are to be offered) of a parser and of all below it."""
    options = [action for action in parser._actions
               if action.option_strings]
    yield [*words, "-"], sorted(name for action in options for name in action.option_strings)
    for action in options:
        if action.choices:
            yield [*words, action.option_strings[-1], ""], sorted(action.choices)
    before = list(words)
    for action in parser._actions:
        if action.option_strings:
            continue
        if action.choices:
            yield [*before, ""], sorted(action.choices)
        before.append("x")
    for name, inner in below(parser).items():
        yield from wanted(inner, (*words, name))


class Pages(unittest.TestCase):
    """What is written."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp()
        subprocess.run([os.path.join(TOOLS, "build", "command-pages"), cls.folder], check=True)
        cls.parser = cli.make_parser()

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def complete(self, lines, folder=None):
        """What bash offers for each line."""
        done = subprocess.run(["bash", "-c", BASH, os.path.join(
            self.folder, "completion", "freeblock")], text=True, check=True, cwd=folder,
            input="".join(line + "\n" for line in lines), stdout=subprocess.PIPE)
        return [sorted(line.split()) for line in done.stdout.split("\n")[:-1]]

    def test_bash(self):
        """Each list is offered to its end: commands, options, and values of both."""
        cases = list(wanted(self.parser))
        self.assertGreater(len(cases), 40)
        offered = self.complete(" ".join(words) for words, _ in cases)
        self.assertEqual(len(offered), len(cases))
        for (words, expected), got in zip(cases, offered):
            with self.subTest(" ".join(words)):
                self.assertGreater(len(expected), 1)
                self.assertEqual(got, expected)

    def test_bash_begun(self):
        """What has been typed is completed, behind options and their values, too; files by name."""
        with tempfile.TemporaryDirectory() as folder:
            for name in ("one.fbmodel", "one.conf"):
                with open(os.path.join(folder, name), "wb"):
                    pass
            cases = (("freeblock sc", ["scan", "scrub"]),
                     ("freeblock scrub --order near sda st", ["start", "status", "stop"]),
                     ("freeblock trial sda --o", ["--off", "--on"]),
                     ("freeblock scan --v", ["--verify"]),
                     ("freeblock setup --model on", ["one.conf", "one.fbmodel"]),
                     ("freeblock conf check on", ["one.conf", "one.fbmodel"]))
            self.assertEqual(self.complete([line for line, _ in cases], folder),
                             [offered for _, offered in cases])

    def test_zsh(self):
        """zsh's has the lists, too."""
        with open(os.path.join(self.folder, "completion", "_freeblock"), encoding="utf-8") as file:
            text = file.read()
        for words in ("(blake2b-128 crc32c)", "(ns us ms s)"):
            self.assertIn(words, text)
        for name in below(self.parser):
            self.assertIn('"%s:' % name, text)

    def test_pages(self):
        """The manual page of a command has its exit statuses, those of all commands included, and
        its examples; its help has the same."""
        for name, parser in [("", self.parser), *below(self.parser).items()]:
            path = os.path.join(self.folder, "man", "freeblock%s.1" % (name and "-" + name))
            with open(path, encoding="ascii") as file:
                page = re.sub(r"\\(?:fB|fR|&)|\\(?=-)", "", file.read())
            self.assertLessEqual(set(freeblock.STATUSES), set(parser.statuses))
            shown = dict(re.findall(r"^\.TP\n(\d+)\n(.*)$", page, re.M))
            self.assertEqual(shown, {str(status): text for status, text in parser.statuses.items()},
                             name)
            self.assertTrue(parser.examples, name)
            for command, text in parser.examples:
                self.assertIn(".TP\n%s\n%s\n" % (command, text), page)
                self.assertIn("  %s\n      %s\n" % (command, text), parser.format_help())
            for status in parser.statuses:
                self.assertRegex(parser.format_help(), r"\n  %d +\S" % status)


class Examples(unittest.TestCase):
    """Of manual pages and help."""

    def test_parsed(self):
        """Each is a command line of the command that shows it."""
        parser = cli.make_parser()
        for name, command in below(parser).items():
            for line, text in command.examples:
                with self.subTest(line):
                    words = shlex.split(line)
                    self.assertEqual(words[:2], ["freeblock", name])
                    self.assertTrue(parser.parse_args(words[1:]).run)
                    self.assertRegex(text, r"\A[A-Z].*\.\Z")

    def test_run(self):
        """Those that need no disk do what they say. Seen to fail: an attribute of predict that
        there is not."""
        ran = 0
        for name in ("predict", "sim", "tune"):
            for line, _ in below(cli.make_parser())[name].examples:
                words = shlex.split(line)[1:]
                if "--drive" in words and "," not in line:
                    status, out, err = taptest.freeblock(
                        *words, *(["--seconds", "3"] if name == "sim" else []))
                    self.assertEqual(status, 0, err)
                    self.assertTrue(out)
                    ran += 1
        self.assertEqual(ran, 2)
