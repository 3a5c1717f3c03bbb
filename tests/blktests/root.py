# SPDX-License-Identifier: GPL-2.0
"""What a guest that runs blktests boots: a small Debian, the kernel's modules, the suite.

The Debian is made by mmdebstrap, once, and kept in the cache under a hash of this file, that is
of the list of packages and of the recipe. None of its packages' scripts is run. The kernel's
modules and the suite, whose programs are compiled here, are appended to it in the build folder.
"""

import fcntl
import glob
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "lab"))

import initramfs  # noqa: E402

SUITE = "bookworm"
PACKAGES = ("bash", "bc", "blktrace", "bsdextrautils", "bsdutils", "busybox-static", "coreutils",
            "dash", "debianutils", "diffutils", "dmsetup", "e2fsprogs", "fdisk", "findutils",
            "fio", "gawk", "grep", "gzip", "hostname", "kmod", "libc-bin", "mdadm", "mount",
            "ncurses-bin", "parted", "pciutils", "procps", "sed", "sg3-utils", "tar", "udev",
            "util-linux", "xfsprogs")
# Nothing of these is run; udev's rules and its data base of hardware only cost time
LEFT_OUT = re.compile(
    r"usr/share/(doc|man|locale|info|lintian|i18n|perl|bash-completion|zoneinfo)/"
    r"|usr/lib/x86_64-linux-gnu/(perl|gconv)/|usr/lib/python3|usr/share/python3"
    r"|usr/bin/(python3|perl)|lib/udev/(hwdb\.d|rules\.d)/|var/(cache|lib/apt|lib/dpkg)/"
    r"|dev/(?!console$|null$)")
MODULES = initramfs.KERNEL_MODULES + (
    "brd", "configfs", "dm-dust", "linear", "loop", "raid0", "sr_mod", "xfs")
# Programs of the suite's src/ that a test of a group that we run may ask for
PROGRAMS = ("bio-bounce-read", "bio-full-trim", "dio-offsets", "loblksize", "loop_change_fd",
            "loop_get_status_null", "openclose", "sg/dxfer-from-dev", "sg/syzkaller1", "zbdioctl")


def cache():
    return os.environ.get("FREEBLOCK_CACHE") or os.path.join(
        os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "freeblock")


# --- the Debian ---

def _convert(archive, cpio):
    """Debian's files out of a tar into an initramfs."""
    for member in archive:
        name = os.path.normpath(member.name)
        if name == "." or LEFT_OUT.match(name):
            continue
        if member.isdir():
            cpio.directory(name)
        elif member.issym():
            cpio.link(name, member.linkname)
        elif member.isreg() or member.islnk():
            cpio.data(name, archive.extractfile(member).read(),
                      0o755 if member.mode & 0o100 else 0o644)


def _finish(cpio):
    """What the packages' scripts would have made, and what the lab's init looks for."""
    cpio.node("dev/console", 5, 1)
    cpio.node("dev/null", 1, 3)
    for folder in ("proc", "sys", "tmp", "out", "lab", "root", "run", "etc/udev/rules.d",
                   "var/tmp", "mnt"):
        cpio.directory(folder)
    cpio.link("bin/sh", "dash")
    cpio.link("usr/bin/awk", "gawk")
    cpio.link("sbin/reboot", "/bin/busybox")
    cpio.link("etc/mtab", "/proc/self/mounts")
    cpio.data("etc/passwd", b"root:x:0:0:root:/root:/bin/bash\n")
    cpio.data("etc/group", b"root:x:0:\ndisk:x:6:\n")


def debian(say):
    """Path of the Debian's archive, made if it is not in the cache. Raises OSError."""
    os.makedirs(cache(), exist_ok=True)
    with open(__file__, "rb") as file:
        recipe = hashlib.sha256(file.read()).hexdigest()[:12]
    path = os.path.join(cache(), "blktests-root-%s.cpio" % recipe)
    with open(os.path.join(cache(), "blktests-root.lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if os.path.exists(path):
            return path
        say("making a Debian (%s) for the guests, once, about a minute: %s" % (SUITE, path))
        with tempfile.TemporaryDirectory(dir=cache()) as folder:
            tar = os.path.join(folder, "root.tar")
            done = subprocess.run(["mmdebstrap", "--quiet", "--variant=extract",
                                   "--include=" + ",".join(PACKAGES), SUITE, tar],
                                  stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                                  check=False)
            if done.returncode:
                raise OSError("mmdebstrap failed: " + done.stderr.strip()[-300:])
            half = os.path.join(folder, "cpio")
            with open(half, "wb") as out, tarfile.open(tar) as archive:
                cpio = initramfs.Cpio(out)
                _convert(archive, cpio)
                _finish(cpio)
                cpio.close()
            for old in glob.glob(os.path.join(cache(), "blktests-root-*.cpio")):
                os.unlink(old)
            os.rename(half, path)
    return path


# --- the suite ---

def _unpack_package(folder):
    """Debian's own blktests in `folder`, if there is such a package."""
    listed = subprocess.run(["apt-cache", "madison", "blktests"], stdout=subprocess.PIPE,
                            stderr=subprocess.DEVNULL, check=False)
    if listed.returncode or not listed.stdout:
        return
    subprocess.run(["apt-get", "-q", "download", "blktests"], cwd=folder, check=True,
                   stdout=subprocess.DEVNULL)
    for package in glob.glob(os.path.join(folder, "*.deb")):
        subprocess.run(["dpkg", "-x", package, folder], check=True)


def suite(given, build):
    """(folder of the suite with its programs built, its name), or (None, why there is none).
    OSError: the one that was `given` is none."""
    found = [given] if given else sorted(
        glob.glob(os.path.join(os.path.dirname(TOP), "shared", "blktests", "*.tar.gz")))
    name = os.path.basename(found[-1])[:-len(".tar.gz")] if found else "blktests of Debian"
    folder = os.path.join(build, "suite")
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    if found:
        try:
            with tarfile.open(found[-1]) as archive:
                archive.extractall(folder)
        except tarfile.TarError:
            raise OSError("%s: not a tar.gz" % found[-1]) from None
    else:
        _unpack_package(folder)
    tops = [here for here, _, files in os.walk(folder)
            if "check" in files and os.path.exists(os.path.join(here, "tests", "block", "rc"))]
    if given and not tops:
        raise OSError("%s: no blktests are in it" % given)
    if not tops:
        return None, "no blktests: neither ../shared/blktests/*.tar.gz nor a package of Debian's"
    if os.path.exists(os.path.join(tops[0], "src", "Makefile")):
        subprocess.run(["make", "-s", "-C", os.path.join(tops[0], "src"), *PROGRAMS], check=True,
                       stdout=subprocess.DEVNULL)
    return tops[0], name


# --- kernel and suite behind the Debian ---

def kernel():
    """The stock kernel, as tests/lab/kernel says it."""
    said = subprocess.run([os.path.join(os.path.dirname(HERE), "lab", "kernel"), "stock"],
                          stdout=subprocess.PIPE, text=True, check=True).stdout
    return dict(line.split("=", 1) for line in said.splitlines())


def _add_modules(cpio, kern):
    """The modules and what those need, where the suite looks for them, with their indexes."""
    version = kern["KVER"]
    available = initramfs.find_modules(kern["KMODULES"])
    with tempfile.TemporaryDirectory() as stage:
        target = os.path.join(stage, "lib", "modules", version)
        os.makedirs(os.path.join(target, "kernel"))
        for name in ("modules.builtin", "modules.builtin.modinfo", "modules.order"):
            if os.path.exists(os.path.join(kern["KMODULES"], name)):
                shutil.copy(os.path.join(kern["KMODULES"], name), target)
        for name in initramfs.module_closure(available, MODULES):
            shutil.copy(available[name], os.path.join(target, "kernel"))
        subprocess.run(["/sbin/depmod", "-b", stage, version], check=True)
        for here, _, files in os.walk(stage):
            for name in sorted(files):
                path = os.path.join(here, name)
                cpio.file(os.path.relpath(path, stage), path, 0o644)


def archive(kern, folder, build, say):
    """The whole base archive of a guest, for lab --root."""
    path = os.path.join(build, "root.cpio")
    shutil.copyfile(debian(say), path)
    with open(path, "ab") as out:
        cpio = initramfs.Cpio(out)
        _add_modules(cpio, kern)
        cpio.file("boot/config-" + kern["KVER"], os.path.join(kern["KDIR"], ".config"), 0o644)
        for here, _, files in sorted(os.walk(folder)):
            for name in sorted(files):
                source = os.path.join(here, name)
                cpio.file(os.path.join("blktests", os.path.relpath(source, folder)), source)
        cpio.close()
    return path
