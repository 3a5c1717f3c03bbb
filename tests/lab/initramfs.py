# SPDX-License-Identifier: GPL-2.0
"""Write initramfs archives: cpio "newc", without cpio and without root.

The kernel unpacks any number of archives one after the other, so the part
that never changes (busybox, fio and its libraries, the kernel's own modules)
is made once per kernel and each run's part is appended to a copy of it.
"""

import lzma
import os
import stat
import subprocess

# Modules a guest may ask for, beyond what those depend on.
KERNEL_MODULES = (
    "scsi_mod", "sd_mod", "sg", "scsi_debug", "null_blk", "mq-deadline",
    "kyber-iosched", "bfq", "libcrc32c", "crc32c_generic", "crc32_generic",
    "crct10dif_generic", "crc64_rocksoft_generic", "dm-mod", "dm-multipath",
    "dm-round-robin",
    "dm-delay", "dm-flakey", "dm-snapshot", "ext4", "btrfs", "raid1", "raid456",
)

PROGRAMS = (
    "/usr/bin/chrt", "/usr/bin/fio", "/usr/sbin/blktrace", "/usr/bin/blkparse", "/usr/bin/btt",
    "/usr/bin/sg_inq", "/usr/bin/sg_verify", "/usr/bin/sg_read",
    "/usr/bin/sg_dd", "/usr/bin/sg_raw", "/usr/bin/sg_reset",
    "/usr/bin/sg_modes", "/usr/bin/sg_readcap", "/usr/bin/sg_turs",
    "/usr/bin/sg_sync", "/usr/bin/sg_start", "/usr/bin/sg_reassign",
    "/usr/bin/sg_requests", "/usr/bin/sg_senddiag", "/usr/bin/sg_vpd",
    "/usr/bin/sg_write_long", "/usr/bin/sg_decode_sense", "/usr/bin/sg_map",
    "/usr/bin/sginfo", "/usr/bin/sg_opcodes", "/usr/bin/sg_rdac",
    "/usr/sbin/mkfs.ext4", "/usr/sbin/mkfs.btrfs", "/usr/bin/btrfs", "/usr/sbin/mdadm",
    "/usr/bin/addpart", "/usr/sbin/dmsetup", "/usr/sbin/e2fsck",
)


class Cpio:
    """One archive, written to a file object."""

    def __init__(self, out):
        self.out = out
        self.inode = 1
        self.names = set()

    def _entry(self, name, mode, data=b"", rdev=(0, 0)):
        if name in self.names:
            return
        self.names.add(name)
        raw = name.encode() + b"\0"
        fields = (self.inode, mode, 0, 0, 1, 0, len(data), 0, 0,
                  rdev[0], rdev[1], len(raw), 0)
        head = b"070701" + b"".join(b"%08x" % f for f in fields) + raw
        self.out.write(head + b"\0" * (-len(head) % 4))
        self.out.write(data + b"\0" * (-len(data) % 4))
        self.inode += 1

    def _parents(self, name):
        parts = name.split("/")[:-1]
        for depth in range(1, len(parts) + 1):
            self._entry("/".join(parts[:depth]), stat.S_IFDIR | 0o755)

    def directory(self, name):
        name = name.strip("/")
        self._parents(name)
        self._entry(name, stat.S_IFDIR | 0o755)

    def data(self, name, data, mode=0o644):
        name = name.strip("/")
        self._parents(name)
        self._entry(name, stat.S_IFREG | mode, data)

    def file(self, name, source, mode=None):
        with open(source, "rb") as src:
            data = src.read()
        # not the mode itself: that of a checkout is its owner's umask's
        self.data(name, data, mode or (0o755 if os.stat(source).st_mode & stat.S_IXUSR else 0o644))

    def program(self, source):
        """A program in /bin, and the libraries it needs."""
        self.file("bin/" + os.path.basename(source), source, 0o755)
        for library in libraries(source):
            self.file(library.replace("/usr/lib/", "/lib/").replace("/lib64/", "/lib/"),
                      os.path.realpath(library), 0o755)

    def link(self, name, target):
        name = name.strip("/")
        self._parents(name)
        self._entry(name, stat.S_IFLNK | 0o777, target.encode())

    def node(self, name, major, minor):
        name = name.strip("/")
        self._parents(name)
        self._entry(name, stat.S_IFCHR | 0o600, rdev=(major, minor))

    def close(self):
        self._entry("TRAILER!!!", 0)


def libraries(program):
    """The shared objects `program` needs, by the names it needs them under."""
    out = subprocess.run(["ldd", program], stdout=subprocess.PIPE,
                         stderr=subprocess.DEVNULL, text=True, check=False).stdout
    for line in out.splitlines():
        for word in line.split():
            if word.startswith("/"):
                yield word
                break


def _modinfo(path, field):
    return subprocess.run(["/sbin/modinfo", "-F", field, path], text=True, check=True,
                          stdout=subprocess.PIPE).stdout.split("\n")


def find_modules(tree):
    """{module: its file}"""
    found = {}
    for folder, _, files in os.walk(tree):
        for name in files:
            for end in (".ko", ".ko.xz"):
                if name.endswith(end):
                    found[name[:-len(end)].replace("-", "_")] = os.path.join(folder, name)
    return found


def _unpacked(path):
    """A module's content: busybox unpacks none."""
    with (lzma.open if path.endswith(".xz") else open)(path, "rb") as file:
        return file.read()


def module_closure(available, names):
    """{module: modules that it depends on}, of those named that there are, and of theirs."""
    depends, queue = {}, [m.replace("-", "_") for m in names]
    while queue:
        name = queue.pop()
        if name in depends or name not in available:
            continue
        depends[name] = [n.replace("-", "_") for n in
                         _modinfo(available[name], "depends")[0].split(",") if n]
        queue.extend(depends[name])
    return depends


def kernel_modules(tree, names):
    """(name, content) of modules of the kernel's, and of what they depend on that every guest
    has not."""
    available = find_modules(tree)
    had = module_closure(available, KERNEL_MODULES)
    for name in sorted(module_closure(available, names)) if names else ():
        if name not in had:
            yield name, _unpacked(available[name])


def _before(depends, name, seen):
    """What a module needs, each behind what that needs itself, added to a list of such."""
    for need in depends.get(name, ()):
        if need in depends and need not in seen:
            _before(depends, need, seen)
            seen.append(need)
    return seen


def load_order(depends, names):
    """Modules and what they need, as they can be loaded; not those that the kernel has built in."""
    order = []
    for name in (n.replace("-", "_") for n in names):
        _before(depends, name, order)
        if name in depends and name not in order:
            order.append(name)
    return order


def drivers(tree, names):
    """(name, content) of modules of the kernel's in the order in which they can be loaded; no
    content: every guest has it."""
    available = find_modules(tree)
    had = module_closure(available, KERNEL_MODULES)
    for name in load_order(module_closure(available, names), names):
        yield name, None if name in had else _unpacked(available[name])


def _add_modules(cpio, release, tree):
    """The modules and their dependencies, flat, with what modprobe reads."""
    available = find_modules(tree)
    folder = "lib/modules/" + release
    depends, aliases = module_closure(available, KERNEL_MODULES), []
    for name in depends:
        cpio.data("%s/%s.ko" % (folder, name), _unpacked(available[name]))
        for alias in _modinfo(available[name], "alias"):
            if alias:
                aliases.append("alias %s %s\n" % (alias, name))
    lines = ["%s.ko:%s\n" % (name, "".join(" %s.ko" % n
                                           for n in reversed(_before(depends, name, []))))
             for name in sorted(depends)]
    cpio.data(folder + "/modules.dep", "".join(lines).encode())
    cpio.data(folder + "/modules.alias", "".join(sorted(aliases)).encode())


def write_base(path, release, tree):
    """The part that is the same for all runs of one kernel."""
    with open(path, "wb") as out:
        cpio = Cpio(out)
        for folder in ("proc", "sys", "dev", "tmp", "out", "lab", "root", "bin"):
            cpio.directory(folder)
        for link in ("sbin", "usr/bin", "usr/sbin"):
            cpio.link(link, "/bin")
        cpio.link("lib64", "/lib")
        cpio.link("usr/lib", "/lib")
        cpio.node("dev/console", 5, 1)
        cpio.node("dev/null", 1, 3)
        cpio.file("bin/busybox", "/bin/busybox", 0o755)
        listed = subprocess.run(["/bin/busybox", "--list"], text=True, check=True,
                                stdout=subprocess.PIPE).stdout.split()
        for applet in listed:
            if applet != "busybox":
                cpio.link("bin/" + applet, "busybox")
        for program in PROGRAMS:
            if not os.path.exists(program):
                continue
            cpio.program(program)
        # Where the loader looks besides its built-in places
        cpio.data("etc/ld.so.conf", b"/lib/x86_64-linux-gnu\n")
        cpio.data("etc/passwd", b"root:x:0:0:root:/root:/bin/sh\n")
        cpio.data("etc/group", b"root:x:0:\n")
        _add_modules(cpio, release, tree)
        cpio.close()
