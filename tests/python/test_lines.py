# SPDX-License-Identifier: GPL-2.0
# reads: *
"""Tests of tools/build/lines."""

import os
import subprocess
import tempfile
import unittest

import treetest

LINES = treetest.program("tools/build/lines")

SOURCE = """// SPDX-License-Identifier: GPL-2.0
/*
 * Three lines, and 4 is no constant.
 */
#include "core/one.h"
#include <linux/types.h>

/* 5 */ int six = 6;	/* code */
#define SEVEN (7 * 010)
#define TWO 2
#define LONG(x) \\
	((x) + 0x11ULL)
static const char *text = "/* 9 */ 9";
int u16_of(int a9) { return a9 + '9' + 1 + 2; }
"""


class Lines(unittest.TestCase):
    """Counts of a small tree, and of this one."""

    def test_tree(self):
        """What is compiled, with its headers, and what goes later. Seen to fail: a header's own
        headers are left out; a line of Kbuild that goes on is cut off; user space's headers
        count."""
        files = {
            "Kbuild": "obj-m := x.o\nx-y := main.o \\\n\tcore/one.o\nx-y += core/model_text.o\n",
            "main.c": "int a;\n",
            "core/one.c": SOURCE,
            "core/one.h": '#include "small.h"\n'
                          '#else /* user space */\n#include "include/user.h"\n#endif\n',
            "include/small.h": "/* small */\n#define EIGHT 8\n",
            "include/user.h": "int not_of_the_kernel;\n",
            "core/model_text.c": "int b = 1234;\n",
            "core/other.c": "int not_compiled;\n",
        }
        with tempfile.TemporaryDirectory() as top:
            for name, text in files.items():
                os.makedirs(os.path.join(top, os.path.dirname(name)), exist_ok=True)
                with open(os.path.join(top, name), "w", encoding="ascii") as file:
                    file.write(text)
            found = LINES.facts(top)
        self.assertEqual({name: row["files"] for name, row in found["folders"].items()},
                         {".": 1, "core": 3, "include": 1})
        self.assertEqual((found["total"]["lines"], found["without_later"]), (22, 21))
        self.assertEqual(found["core"], {"constants": 4, "named": 2})

    def test_parts(self):
        """What git knows, each file in one part. Seen to fail: links, data or files that git does
        not know count; the module's count twice."""
        files = {"Kbuild": "x-y := main.o\n", "main.c": "a\n" * 2, "tools/a": "a\n" * 3,
                 "bench/a.py": "a\n" * 4, "tests/a.c": "a\n" * 5, "README.md": "a\n" * 6,
                 "tests/fuzz/corpus/x/1": "a\n" * 7, "models/a.fbmodel": "a\n" * 8}
        with tempfile.TemporaryDirectory() as top:
            for name, text in files.items():
                os.makedirs(os.path.join(top, os.path.dirname(name)), exist_ok=True)
                with open(os.path.join(top, name), "w", encoding="ascii") as file:
                    file.write(text)
            os.symlink("a", os.path.join(top, "tools", "b"))
            self.assertEqual(LINES.parts(top), {})
            for command in (["init", "-q"], ["add", "-A"]):
                subprocess.run(["git", *command], cwd=top, check=True)
            with open(os.path.join(top, "tools/new"), "w", encoding="ascii") as file:
                file.write("a\n")
            self.assertEqual(LINES.parts(top), {
                "kernel": 2, "bench": 4, "documentation": 6, "tests": 5, "tools": 4, "total": 21})
