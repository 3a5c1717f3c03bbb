#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""What tools/build/setup asks of apt-get on a machine that lacks all, some or none of the packages.
dpkg-query, apt-cache, apt-get and sudo are stand-ins that write down their words. Prints TAP.

Seen to fail: no space between the longest package's name and its reason (apt-get was asked for a
package of another name); what begins like --check, or comes after it, not heard, and all installed;
apt-get that does not wait while a new machine's own upgrades have dpkg's lock;
--modules on a machine without apt-get that has all the programs.
"""

import os
import re
import shutil
import subprocess
import tempfile

import treetest
from treetest import TOP, read, report

STAND_INS = {
    # dpkg-query -W -f FORMAT PACKAGE
    "dpkg-query": 'case " $HAVE " in *" $4 "*|" all ") printf installed ;; esac',
    "apt-cache": "echo known",
    # it does not see the variables that setup hands to env
    # somebody else has dpkg's lock: only one that waits for it comes through
    "apt-get": 'echo "$@" >> "$ASKED"; case "$*" in *DPkg::Lock::Timeout=[1-9]*install*)'
               ' exit "${REFUSED-0}" ;; *install*) exit 100 ;; esac',
    "sudo": 'exec "$@"',
}


def packages():
    """Those that tools/build/setup names."""
    table = re.search(r"<<-'END'\n(.*?)\n\tEND", read("tools/build/setup"), re.DOTALL).group(1)
    return [line.split()[0] for line in table.splitlines()]


def setup(folder, have, *words, refused=0, path=None):
    """(status, the packages each call of apt-get was to install, what was said)"""
    asked = os.path.join(folder, "asked")
    open(asked, "w").close()
    done = subprocess.run(
        [os.path.join(TOP, "tools", "build", "setup"), *words], stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, check=False,
        env={"PATH": path or folder + ":/usr/bin:/bin", "HAVE": " ".join(have), "ASKED": asked,
             "REFUSED": str(refused)})
    with open(asked, encoding="utf-8") as file:
        calls = [line.split() for line in file]
    installs = [[word for word in call[call.index("install") + 1:] if not word.startswith("-")]
                for call in calls if "install" in call]
    return done.returncode, installs, done.stdout


def without_apt(folder, *missing):
    """As setup(), with --modules, on a machine whose distribution is another one, and which has all
    that building a module takes but these programs."""
    path = os.path.join(folder, "elsewhere")
    shutil.rmtree(path, ignore_errors=True)
    os.mkdir(path)
    for name in ("sh", "cat", "grep"):
        os.symlink("/bin/" + name, os.path.join(path, name))
    for name in {"gcc", "make", "pahole", "bpftool", "python3"} - set(missing):
        os.symlink("/bin/true", os.path.join(path, name))
    return setup(folder, [], "--modules", path=path)


def differ(name, is_, expected):
    """One line of TAP."""
    report(name, [] if is_ == expected else ["%s, not %s" % (is_, expected)])


def main():
    every = packages()
    # a release of the kernel's headers will do for their meta package, and may be on this machine
    every_but = [name for name in every if name != "linux-headers-amd64"]
    with tempfile.TemporaryDirectory() as folder:
        for name, script in STAND_INS.items():
            path = os.path.join(folder, name)
            with open(path, "w", encoding="utf-8") as file:
                file.write("#!/bin/sh\n%s\n" % script)
            os.chmod(path, 0o755)
        status, installs, said = setup(folder, [])
        differ("nothing there: all is installed, by one call", (status, [
            [name for name in call if name != "linux-headers-amd64"] for call in installs]),
            (0, [every_but]))
        report("each is said with its reason", [
            name for name in every_but if not re.search(r"^  %s +\S" % re.escape(name), said,
                                                        re.MULTILINE)])
        status, installs, _ = setup(folder, [name for name in every if name != "fio"])
        differ("one missing: that one", (status, installs), (0, [["fio"]]))
        differ("all there: no call, no word", setup(folder, every), (0, [], ""))
        status, installs, said = setup(folder, every[1:], "--check")
        differ("--check: only told, and a failure", (status, installs, every[0] in said),
               (1, [], True))
        status, installs, _ = setup(folder, every[1:], refused=100)
        differ("apt-get refuses: tried once more, then a failure", (status, installs),
               (100, [[every[0]]] * 2))
        _, installs, _ = setup(folder, [], "--modules")
        report("--modules: only what a module takes",
               ["%s are asked for" % installs] if len(installs) != 1 or
               not {"gcc", "make", "pahole", "bpftool"} <= set(installs[0]) or
               "fio" in installs[0] else [])
        differ("--modules without apt-get, all programs there: no word", without_apt(folder),
               (0, [], ""))
        status, _, said = without_apt(folder, "gcc", "pahole")
        differ("--modules without apt-get: says which programs are missing",
               (status, re.findall(r"^  (\S+) +\S", said, re.MULTILINE)), (1, ["gcc", "pahole"]))
    treetest.finish()


if __name__ == "__main__":
    main()
