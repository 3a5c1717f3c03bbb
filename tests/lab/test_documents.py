#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
# needs: modules
"""Are the documents the code's? (Documentation/ABI: test_abi.py.) The examples of api.rst are
short and are modules. Sphinx makes all of it without a warning: links lead somewhere, and the
index names each document. The files and functions that documents name are there; commands are
taken by what they call (doccommands.py), as are those of the lab's scripts, and those of the quick
start are run (t-quickstart.sh).
troubleshooting.rst has each word of the module's state, each line of its log and each reason to
refuse a disk. Half a minute. Prints TAP.

Seen to fail: an example that calls no function, or one that is not exported, with
a callback of another type, of 60 lines; a document that the index does not name, a link to one
that is not there; a document named by its file; a file that has moved and a function that was
renamed since a document named them; a line of the log that was reworded; a command without its
subcommand, with an option that there is not, in a document and in a script.
"""

import glob
import os
import re
import shutil
import subprocess
import tempfile

import csource
import doccommands
import otherkernel
import treetest
from treetest import TOP, read, report
from freeblock import ToolError
from freeblock.commands import metrics
from bench import figures

EXAMPLE_LINES = 60


def sources():
    """The module's sources, one after the other."""
    folders = (".", "core", "core/cost", "core/engine", "core/idle", "disk", "sched", "tasks")
    return "\n".join(read(path) for folder in folders
                     for path in sorted(glob.glob(os.path.join(TOP, folder, "*.c"))))


def names_missing(text, words):
    """Files and functions that a document names and that are not there."""
    paths = re.findall(r"(?<![\w./<-])(?:core|disk|include|models|sched|tasks|tests|tools)/"
                       r"[\w./-]*\w\.(?:[ch]|py|rst|sh)\b", text)
    names = re.findall(r"``(?:struct )?((?:fb|FB|dm|DM|freeblock|FREEBLOCK)_\w+)", text)
    return sorted({path for path in paths if not os.path.exists(os.path.join(TOP, path))} |
                  set(names) - words)


def compile_example(number, code, kernel, symbols):
    """What is wrong with a module, as a list."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(os.path.join(TOP, "include"), os.path.join(folder, "include"))
        with open(os.path.join(folder, "Kbuild"), "w", encoding="ascii") as file:
            file.write("obj-m := example%d.o\nccflags-y := -I$(src) -Werror\n" % number)
        with open(os.path.join(folder, "example%d.c" % number), "w", encoding="ascii") as file:
            file.write("// SPDX-License-Identifier: GPL-2.0\n" + code)
        done = subprocess.run(["make", "-C", kernel["KDIR"], "M=" + folder, "W=1",
                               "CONFIG_DEBUG_INFO_BTF_MODULES=",
                               "KBUILD_EXTRA_SYMBOLS=" + symbols, "modules"],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              check=False)
        if not done.returncode:
            return []
        return [line for line in done.stdout.splitlines() if re.match(r"ERROR:|.* error: ", line)] \
            or ["make fails"]


def check_sphinx():
    """Sphinx's warnings: dead links, pages that no index has, markup."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(["/usr/bin/sphinx-build", "-q", "-n", "-W", "--keep-going", "-b",
                               "dummy", os.path.join(TOP, "Documentation"), folder], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    report("Sphinx has no warning", done.stdout.splitlines() if done.returncode else [])


def check_commands(path, text, makefile):
    """Of a document."""
    report("commands of %s" % path, doccommands.wrong_commands(text, path.endswith(".md")) +
           doccommands.wrong_targets(text, makefile))


def check_figures():
    """Documents give the figures of Documentation/figures.json (test_figures.py plants others)."""
    try:
        wrong = figures.differences()
    except ToolError as error:
        wrong = [str(error)]
    report("figures in several documents are those of figures.json", wrong)


def said_by_module():
    """What it may say to a person: words of state/, lines of the log, why a model is refused."""
    found = re.findall(r'return "([^"]+)"', read("snapshot.c") + read("disk/disk.c"))
    found += re.findall(r'\] = "([^"]+)"', read("core/idle_policy.c"))
    found += re.findall(r'pr_(?:err|warn|notice)\w*\("freeblock: (?:%s: )?([^"]*?)\\n"', sources())
    for function in ("fb_upload_refuse", "fb_job_refuse"):
        found += re.findall(r'\b%s\(\w+, [\w-]+,\s*"(.*?)"' % function, sources())
    return [words for words in found if re.search(r"[a-z]{2}", re.sub(r"%\S*", "", words))]


def said_by_tools():
    """Why a disk is refused, and a model distrusted."""
    refuse = read("tools/cli/freeblock/extraction/refuse.py")
    setup = read("tools/cli/freeblock/commands/setup.py")
    return re.findall(r'Refusal\(\s*"([\w -]+)"', refuse + setup) + [
        "shingled", "multi-actuator"] + [said.strip() for said in re.findall(
            r'return "(.*?)%? ?" %', read("tools/cli/freeblock/extraction/validate.py"))]


def not_told(page, said):
    """What of it the page does not have; what stands for a name or number may be anything."""
    page = re.sub(r"\s+", " ", page)
    missing = []
    for words in said:
        parts = [re.escape(part) for part in re.split(r"%(?:[\d.*]*[lz]*[a-z]|%)", words) if part]
        if not re.search(r"[^`]{0,40}?".join(parts), page):
            missing.append(words)
    return missing


def check_symptoms():
    """troubleshooting.rst has them all."""
    page, module, tools = read("Documentation/troubleshooting.rst"), said_by_module(), \
        said_by_tools()
    report("symptoms are found in the sources", [] if len(module) > 50 and len(tools) > 15 else
           ["%d, %d" % (len(module), len(tools))])
    report("troubleshooting.rst has what the module says", not_told(page, module))
    report("troubleshooting.rst has why a disk is refused", not_told(page, tools))


def check_examples():
    """The examples of api.rst, with the headers and symbols of the stock kernel's modules."""
    kernel = otherkernel.stock()
    build = os.environ.get("FREEBLOCK_BUILD") or os.path.join(TOP, "build")
    symbols = os.path.join(build, "kernel-" + kernel["KVER"], "freeblock", "Module.symvers")
    if not os.path.exists(symbols):
        report("examples of api.rst", ["no %s: make modules" % symbols])
        return
    examples = csource.examples(read("Documentation/api.rst"))
    report("api.rst has two examples", [] if len(examples) == 2 else ["%d" % len(examples)])
    for number, code in enumerate(examples, 1):
        lines = code.count("\n")
        report("example %d is short" % number,
               ["%d lines" % lines] if lines >= EXAMPLE_LINES else [])
        report("example %d is a module" % number,
               compile_example(number, code, kernel, symbols))


def main():
    """All checks."""
    text = sources()
    makefile = read("Makefile")
    check_sphinx()
    check_symptoms()
    words = set(re.findall(r"\w+", text + "".join(
        read(path) for path in glob.glob("**/*.h", root_dir=TOP, recursive=True)
        if not path.startswith("build/"))))
    words |= {os.path.splitext(os.path.basename(path))[0]
              for path in glob.glob("**/*.[ch]", root_dir=TOP, recursive=True)
              if not path.startswith("build/")}
    words |= set(metrics.names())
    # fields of the journal
    words |= set(re.findall(r"\bFREEBLOCK_\w+", read("tools/cli/freeblock/machine/events.py")))
    for path in ["README.md"] + sorted(glob.glob("Documentation/*.rst", root_dir=TOP)):
        report("%s names what is there" % path, names_missing(read(path), words))
        check_commands(path, read(path), makefile)
        report("%s links to documents" % path, [] if path == "README.md" else re.findall(
            r"``(?:Documentation/)?[a-z-]+\.rst``", read(path)))
    report("commands of the lab's scripts", [
        "%s: %s" % (path, why) for path in sorted(glob.glob("tests/lab/*.sh", root_dir=TOP))
        for why in doccommands.wrong_in_script(read(path))])
    check_figures()
    check_examples()
    treetest.finish()


if __name__ == "__main__":
    main()
