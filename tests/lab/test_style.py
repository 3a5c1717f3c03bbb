#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
# needs: modules-debug
"""Can tools/check-style fail? A small tree with a module, first as it should
be, then with one fault of each kind planted. Prints TAP."""

import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
COPIED = ("tools/check-style", "tools/build-modules", "tools/check-btf", "tools/floors",
          "tools/stack-depth", "tests/lab/kernel", "tests/lab/debug.config",
          "include/compat/fb_elevator.h",
          "pyproject.toml", "tools/lint.txt")
PACKAGES = ("tools/python/freeblock", "tools/research")

GOOD = """\
// SPDX-License-Identifier: GPL-2.0
#include <linux/module.h>

/* twice as much */
static int toy_double(int n)
{
	return 2 * n;
}

static int __init toy_init(void)
{
	return toy_double(0);
}
module_init(toy_init);

MODULE_LICENSE("GPL");
"""


def long_function(name, lines):
    return "static void %s(void)\n{\n%s}\n" % (name, "\tbarrier();\n" * (lines - 2))


# Not of the module: 80 lines are allowed
TEST = "// SPDX-License-Identifier: GPL-2.0\n\n" + long_function("toy_test", 80)

# name of the check that must fail, the part of check-style that it is of, what is put before
# toy_init(). The planted words are spelled apart here, for this file is checked too.
PLANTED = (
    ("sparse and W=1", "modules", "static __le32 toy_le(void)\n{\n\treturn 1;\n}\n"
     "static int toy_use(void)\n{\n\treturn toy_le() == 0;\n}\n"),
    ("sparse and W=1", "modules", "static void toy_unused(void)\n{\n\tint n;\n\n\tn = 1;\n}\n"),
    ("sparse and W=1", "modules", "int toy_not_static;\n"),
    ("checkpatch sysfs.c", "checkpatch", "static int toy_space( int n)\n{\n\treturn n;\n}\n"),
    ("kernel-doc sysfs.c", "kernel-doc",
     "/**\n * toy_doc() - has an argument nobody describes\n */\n"
     "static int toy_doc(int n)\n{\n\treturn n;\n}\n"),
    ("no unfinished business", "words", "/* TO" "DO: later */\n"),
    ("no unfinished business", "words", '#define TOY_PATH "/wo' 'rk/main"\n'),
    ("papers and files", "words", "/* hold back (DES" "IGN 4) */\n"),
    ("papers and files", "words", "/* as the KERNEL-" "NOTES say */\n"),
    ("papers and files", "words", "/* what iss" "ue 6 asks */\n"),
    ("kernel-doc for what other files call", "kernel-doc",
     "/**\n * toy_own() - known to this file alone\n */\nstatic int toy_own(void)\n{\n"
     "\treturn 0;\n}\n"),
    ("no file over 1500", "sizes", long_function("toy_long", 61)),
    ("no file over 1500", "sizes", "/* much to say */\n" * 1500),
    ("calls and includes go down", "modules", '#include "stray.h"\n'),
    ("kernel versions", "words", "#if LINUX_VERSION_" "CODE < 1\n#endif\n"),
    ("coccinelle", "modules coccinelle",
     "static bool toy_sign(int n)\n{\n\treturn n < 0 ? true : false;\n}\n"),
)

# name of the check that must fail, its part, the file that grows, by what
GROWN = (
    # a test that another one of its name hides
    ("ruff", "python", "tests/test_toy.py", "\n\ndef test_toy():\n    pass\n" * 2),
    ("ruff", "python", "tools/floors", "import json\n"),
    ("imports go down", "imports", "tools/python/freeblock/plot.py",
     "from research import model\n"),
    ("imports go down", "imports", "tools/python/freeblock/fbmodel.py", "from . import cli\n"),
    ("imports go down", "imports", "tools/python/freeblock/extraction/onebit.py",
     "def late():\n    from . import pipeline\n"),
    ("imports go down", "imports", "tools/python/freeblock/newcomer.py", "\n"),
    ("shellcheck, scripts", "shell", "tools/build-modules", '[ "$1" == --toy ] || exit 1\n'),
    ("shellcheck, parts", "shell", "tests/lab/toy.sh", "for f in $(ls *.toy); do echo $f; done\n"),
)

count = failed = 0


def report(name, good, why=""):
    global count, failed
    count += 1
    failed += not good
    print("ok " + name if good else "not ok %s - %s" % (name, why), flush=True)


def check_style(tree, source, parts=()):
    # on no floor
    stray = os.path.join(tree, "stray.h")
    if "stray.h" in source:
        with open(stray, "w") as file:
            file.write("/* SPDX-License-Identifier: GPL-2.0 */\n")
    elif os.path.exists(stray):
        os.unlink(stray)
    with open(os.path.join(tree, "sysfs.c"), "w") as file:
        file.write(source)
    done = subprocess.run([os.path.join(tree, "tools/check-style"), "--build",
                           os.path.join(tree, "build"),
                           *(("--parts", parts) if parts else ())], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)
    return done.returncode, re.findall(r"^not ok (.*) - ", done.stdout, re.M), done.stdout


def check_grown(tree, name, parts, path, text):
    """One file more, or a longer one."""
    path = os.path.join(tree, path)
    before = None
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            before = file.read()
    with open(path, "a", encoding="utf-8") as file:
        file.write(text)
    status, bad, _ = check_style(tree, GOOD, parts)
    report("planted: %s: %s: %s" % (name, os.path.relpath(path, tree), text.strip().split("\n")[0]),
           status != 0 and any(b.startswith(name) for b in bad), bad)
    os.unlink(path)
    if before is not None:
        with open(path, "w", encoding="utf-8") as file:
            file.write(before)


def check_no_tools(tree):
    """A linter that is not to be had is a failure, not a pass."""
    with open(os.path.join(tree, "tools/lint.txt"), "w", encoding="ascii") as file:
        file.write("ruff==0.0.0\n")
    os.environ["XDG_CACHE_HOME"] = os.path.join(tree, "build")
    status, bad, said = check_style(tree, GOOD, "python")
    report("planted: no ruff", status == 1 and bad == ["ruff"] and
           "ruff cannot be installed" in said, said[-300:].replace("\n", " "))


def main():
    with tempfile.TemporaryDirectory() as tree:
        for name in COPIED:
            os.makedirs(os.path.dirname(os.path.join(tree, name)), exist_ok=True)
            shutil.copy(os.path.join(TOP, name), os.path.join(tree, name))
        for name in PACKAGES:
            shutil.copytree(os.path.join(TOP, name), os.path.join(tree, name),
                            ignore=shutil.ignore_patterns("__pycache__"))
        with open(os.path.join(tree, "Kbuild"), "w") as file:
            file.write("# SPDX-License-Identifier: GPL-2.0\nobj-m := sysfs.o\n")
        with open(os.path.join(tree, ".gitignore"), "w") as file:
            file.write("build/\n")
        os.makedirs(os.path.join(tree, "tests/unit"))
        with open(os.path.join(tree, "tests/unit/test_sysfs.c"), "w") as file:
            file.write(TEST)
        with open(os.path.join(tree, "tests/lab/toy.sh"), "w") as file:
            file.write("# SPDX-License-Identifier: GPL-2.0\n")
        subprocess.run(["git", "init", "-q", tree], check=True)
        status, bad, said = check_style(tree, GOOD)
        report("a clean tree", status == 0 and not bad, said[-300:].replace("\n", " "))
        for name, parts, text in PLANTED:
            planted = GOOD.replace("static int __init", text + "\nstatic int __init")
            status, bad, said = check_style(tree, planted, parts)
            report("planted: %s: %s" % (name, text.split("\n")[0]),
                   status != 0 and any(b.startswith(name) for b in bad), bad)
        for name, parts, path, text in GROWN:
            check_grown(tree, name, parts, path, text)
        check_no_tools(tree)
    print("1..%d" % count)
    return 1 if failed else 0


sys.exit(main())
