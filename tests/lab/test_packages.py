#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
# needs: modules
"""What `make deb` makes: is all in the packages that must be, nothing that must not, and does
the command run from them without a tree and without a compiler? A minute. Prints TAP.

Seen to fail: a source of core/ left out of the module's package; a compiler that
freeblock-tools depends on; a helper that is not packed (the command says which is missing);
a command or a format without a manual page; no example of freeblock.conf; another version in
debian/changelog; dkms-check that compiles nothing, or for every kernel.
"""

import glob
import os
import re
import shutil
import subprocess
import tempfile

import otherkernel
import treetest
from treetest import TOP, read, report

COMPILERS = re.compile(r"\b(?:gcc|clang|make|cc|c-compiler|build-essential|libc6-dev|dkms)\b")
HELPERS = ("extract-probe", "freeblock-judge", "freeblock-model", "freeblock-sg",
           "freeblock-sim", "mechdisk-host", "replay.so")
# packages that are installed together, in one folder
TOGETHER = {"python3-freeblock": "freeblock-tools"}
FORMATS = ("conf", "coverage", "digests", "fbdrive", "fbmodel", "traces")


def run(*words, **more):
    """(status, what it said)"""
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False, **more)
    return done.returncode, done.stdout


def missing(root, names):
    """Of these files below a folder, those that are not there."""
    return [name for name in names if not os.path.exists(os.path.join(root, name))]


def version():
    """The package's, of Python, of Debian and of the module."""
    python = re.search(r'__version__ = "(.*)"', read("tools/cli/freeblock/__init__.py")).group(1)
    others = (("debian/changelog", r"freeblock \((.*?)\)"),
              ("freeblock_main.c", r'^MODULE_VERSION\("(.*)"\);'),
              ("rpm/freeblock.spec", r"^Version: *(.*)$"))
    found = [(name, re.search(said, read(name), re.M).group(1)) for name, said in others]
    report("one version", ["%s, and %s in %s" % (python, other, name) for name, other in found
                           if other != python])
    return python


def module_package(root, number):
    """freeblock-dkms: Kbuild has all that it names, and the check of the kernel is there."""
    top = os.path.join(root, "usr/src/freeblock-" + number)
    objects = re.findall(r"([\w/]+)\.o\b", read("Kbuild").partition("\nfreeblock-y")[2])
    wanted = [name + ".c" for name in objects] + \
        [os.path.relpath(os.path.join(folder, name), TOP) for part in
         ("core", "disk", "sched", "tasks", "include") for folder, _, files in
         os.walk(os.path.join(TOP, part)) for name in files if name.endswith(".h")]
    report("the module's sources", missing(top, wanted + [
        "Kbuild", "dkms.conf", "tools/build/check-btf", "tools/build/dkms-check"]))
    with open(os.path.join(top, "dkms.conf"), encoding="ascii") as file:
        text = file.read()
    pattern = re.compile(re.search(r'^BUILD_EXCLUSIVE_KERNEL="(.*)"', text, re.M).group(1))
    report("kernels that DKMS builds for", [release for release, known in (
        ("6.1.0-40-amd64", True), ("6.12.57+deb13-amd64", True), ("7.2.13+deb14-amd64", True),
        ("6.2.16-20-pve", True), ("6.8.0-45-generic", True), ("6.19.10-amd64", True),
        ("7.0.2-amd64", True), ("6.0.19-amd64", False), ("7.3.1-amd64", False),
        ("7.20.1-amd64", False), ("5.10.0-36-amd64", False))
        if bool(pattern.search(release)) != known])
    report("a manual page of the module",
           missing(root, ["usr/share/man/man4/freeblock.4.gz"]))
    report("its version in dkms.conf", [] if '="%s"' % number in text else [text[:100]])
    with tempfile.TemporaryDirectory() as folder:
        check_kernels(top, os.path.join(folder, "source"), pattern.pattern)


def check_kernels(top, source, series):
    """Which kernels dkms-check takes, and what it says of the others. Nothing is compiled for one
    that is refused anyway, nor for one of a series that was tried: DKMS does that, as ever."""
    stock = otherkernel.stock()
    elf = otherkernel.image(stock["KIMAGE"])
    for name, release, fits, spoilt, words in (
            ("a kernel without an image is refused", "6.1.0-none", None, True,
             "there is no image of 6.1.0-none"),
            ("one of a series that is not known", "7.3.1-amd64", True, True,
             "its series is not known"),
            ("one of a series that was tried is not compiled", "6.1.999-amd64", True, True, ""),
            ("one between those is compiled", "6.13.5-amd64", True, False, ""),
            ("and refused if that fails", "6.13.5-amd64", True, True,
             "it does not compile: small.c:4:1: error: "),
            ("or if its structures differ", "6.13.5-amd64", False, False,
             "struct elevator_queue differs")):
        shutil.rmtree(source, ignore_errors=True)
        shutil.copytree(top, source)
        otherkernel.small_module(source, spoilt)
        kdir = os.path.join(os.path.dirname(source), "headers")
        shutil.rmtree(kdir, ignore_errors=True)
        otherkernel.headers(kdir, release, stock["KDIR"])
        if fits is not None:
            otherkernel.give_image(kdir, elf, fits)
        status, said = run(os.path.join(source, "tools/build/dkms-check"), release, kdir, series)
        beginning = "freeblock is not built for Linux %s, which works as before: " % release
        report(name, [] if status == bool(words) and words in said and said.count("\n") == status
               and said.startswith(beginning if words else "") else ["%d: %s" % (status, said)])


def tools_package(root, number, package):
    """freeblock-tools: the command works from it, and all that it starts is there."""
    depends = run("dpkg-deb", "-f", package, "Depends")[1]
    report("freeblock-tools needs no compiler",
           COMPILERS.findall(depends) or ([] if "python3" in depends else [depends]))
    report("helpers", missing(os.path.join(root, "usr/lib/freeblock"), HELPERS))
    # neither a tree nor a compiler in reach
    empty = os.path.join(root, "bin")
    os.makedirs(empty, exist_ok=True)
    environment = {"PATH": empty, "HOME": "/nonexistent", "PYTHONDONTWRITEBYTECODE": "1",
                   "PYTHONPATH": os.path.join(root, "usr/lib/python3/dist-packages")}
    command = ("/usr/bin/python3", os.path.join(root, "usr/bin/freeblock"))

    def freeblock(*words):
        return run(*command, *words, env=environment, cwd=root)

    status, said = freeblock("--version")
    report("freeblock --version", [] if (status, said) == (0, "freeblock %s\n" % number)
           else [said])
    status, said = freeblock("--help")
    commands = re.findall(r"^    ([a-z][\w-]*)(?: |$)", said, re.M)
    report("commands of the product only", [] if not status and "scrub" in commands and
           not {"bench", "peers", "yardstick"} & set(commands) else [said])
    report("a manual page for each command and for each format", missing(
        os.path.join(root, "usr/share/man"), ["man1/freeblock.1.gz"] +
        ["man1/freeblock-%s.1.gz" % name for name in commands] +
        ["man5/freeblock.%s.5.gz" % name for name in FORMATS]))
    report("an example of freeblock.conf", missing(
        os.path.join(root, "usr/share/doc/freeblock-tools/examples"), ["freeblock.conf"]))
    report("what journalctl explains", missing(root, ["usr/lib/systemd/catalog/freeblock.catalog"]))
    folder = os.path.join(root, "usr/share/bash-completion/completions")
    status, said = run("bash", "-c", ". ./freeblock && complete -p freeblock && COMP_CWORD=3 && "
                       "COMP_WORDS=(freeblock scrub sda sta) && _shtab_freeblock && "
                       "echo ${COMPREPLY[*]}", cwd=folder)
    report("completion in bash", [] if said.endswith("\nstart status\n") else [said])
    status, said = freeblock("sim", "--drive", "toy", "--seconds", "2", "--json")
    report("freeblock sim", [said[-300:]] if status else [])
    status, said = freeblock("extract", "--help")
    report("freeblock extract", [said[-300:]] if status else [])
    each = ("from freeblock.tuning import policy; policy.library(); "
            "from freeblock.commands import sg; sg.build_host(); "
            "from freeblock.extraction import device, validate; "
            "device.helpers.program(*device._PROBE); device.helpers.program(*device._SIMULATOR); "
            "device.helpers.program('tools/judge', 'judge', 'freeblock-judge')")
    status, said = run("/usr/bin/python3", "-c", each, env=environment, cwd=root)
    report("each helper is found", [said[-300:]] if status else [])
    status, said = freeblock("models", "enable", "--root", root, "--program", "/usr/bin/freeblock")
    report("freeblock models enable", ([said] if status else []) + missing(
        root, ["etc/udev/rules.d/90-freeblock.rules"]))


def library_packages(packages, folder):
    """libfreeblock1 and -dev, and freeblock-examples: array_scrub is made and runs without a tree.
    Seen to fail: a library without its link; a .pc file of /usr/local."""
    for name in ("libfreeblock1", "libfreeblock-dev", "freeblock-examples"):
        subprocess.run(["dpkg-deb", "-x", packages[name][0], folder], check=True)
    configs, = glob.glob(os.path.join(folder, "usr/lib/*/pkgconfig"))
    examples = os.path.join(folder, "usr/share/doc/freeblock-examples/examples")
    found = dict(os.environ, PKG_CONFIG_SYSROOT_DIR=folder, PKG_CONFIG_LIBDIR=configs,
                 LD_LIBRARY_PATH=os.path.dirname(configs))
    status, said = run("make", "-s", "-C", os.path.join(examples, "array_scrub"),
                       "BUILD=" + folder, env=found)
    report("array_scrub is made from the packages", [said[-500:]] if status else [])
    status, said = run(os.path.join(folder, "array_scrub/array_scrub"), "/dev/null", env=found)
    report("and runs", [] if (status, said) == (
        1, "array_scrub: /dev/null: not a block device\n") else [said[-500:]])
    path = os.path.join(packages["python3-freeblock"][1], "usr/lib/python3/dist-packages")
    status, said = run("/usr/bin/python3", "-Bc", "from freeblock import background; "
                       "print(background._library()['waiting_for'](0))", env=dict(
                           found, PYTHONPATH=path), cwd=folder)
    report("freeblock.background finds it", [] if said == "b'nothing'\n" else [said[-500:]])
    report("freeblock-backup", missing(examples, ["freeblock-backup", "backup/cli.py"]))


def main():
    """All checks."""
    number = version()
    build = os.environ.get("FREEBLOCK_BUILD") or os.path.join(TOP, "build")
    status, said = run(os.path.join(TOP, "tools", "build", "make-deb"), build)
    report("make deb", [said[-500:]] if status else [])
    steps = r"^make-deb: (?:dh_|debian/rules |sphinx-build|tools/build/command-pages)"
    report("it says how far it is",
           [] if len(re.findall(steps, said, re.M)) > 10 else [said[:500]])
    status_rpm, said_rpm = run("rpmlint", "-c", os.path.join(TOP, "rpm/rpmlint.toml"),
                               os.path.join(TOP, "rpm/freeblock.spec"))
    report("rpmlint", [said_rpm[-500:]] if status_rpm or "0 warnings" not in said_rpm else [])
    tags = [line for line in said.splitlines() if re.match(r"[EWI]: ", line)]
    report("lintian", tags)
    if not status:
        with tempfile.TemporaryDirectory() as folder:
            packages = {}
            for line in re.findall(r"^make-deb: (.*\.deb)$", said, re.M):
                name = os.path.basename(line).partition("_")[0]
                packages[name] = (line, os.path.join(folder, TOGETHER.get(name, name)))
                subprocess.run(["dpkg-deb", "-x", *packages[name]], check=True)
            module_package(packages["freeblock-dkms"][1], number)
            tools_package(packages["freeblock-tools"][1], number, packages["freeblock-tools"][0])
            library_packages(packages, os.path.join(folder, "library"))
            report("the documents", missing(
                packages["freeblock-doc"][1],
                ["usr/share/doc/freeblock-doc/html/%s.html" % name
                 for name in ("index", "admin-guide", "module", "model-format")]))
    treetest.finish()


if __name__ == "__main__":
    main()
