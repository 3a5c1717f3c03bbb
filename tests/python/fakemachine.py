# SPDX-License-Identifier: GPL-2.0
"""A machine of files for the tests of setup and off: sysfs below a folder, with a disk, and a
kernel whose module comes and goes; and a way to end a process at each change that it makes.
"""

import contextlib
import io
import os
import signal
import tempfile
import unittest
from unittest import mock

import fakedisk
import taptest
from taptest import TOP
from fakescsi import Drive, vpd
from freeblock import cli, fbstate
from freeblock.drive import sgio
from freeblock.formats import fbmodel
from freeblock.machine import kernel

# as it is when a test counts the changes that others make
REMOVE = os.unlink
WWN = "naa.5000c500a1b2c3d4"
TINY = os.path.join(TOP, "tests", "lab", "files", "tiny.fbmodel")


def model(**more):
    """A model's sealed text: the tiny one's, with these records."""
    with open(TINY, encoding="ascii") as file:
        lines = file.read().splitlines()
    given = {"vendor": "ACME", "product": "DISK 9", "wwn": WWN, "revision": "0001", **more}
    lines = [line for line in lines if line.split(" ")[0] not in given]
    lines[1:1] = ["%s %s" % (word, value) for word, value in given.items() if value is not None]
    return fbmodel.seal("\n".join(lines).encode())


def table(**more):
    """The same, compiled."""
    with tempfile.NamedTemporaryFile() as file:
        file.write(model(**more))
        file.flush()
        return fbmodel.table(file.name)


def missing_options(args, *words):
    """What the parser of a subcommand would have given it, and these do not have."""
    return set(vars(cli.make_parser(words[0]).parse_args(words))) - set(vars(args)) - {
        "command", "run", "json"}


class Machine:
    """Its files, and what its programs do to them."""

    def __init__(self, root):
        self.root = root
        self.drive = Drive()
        self.drive.close = lambda: None
        self.told = []                  # events that the journal got
        self.smart = 127                # exit status of smartctl; 127: it is not installed
        # what modprobe says of the module if not "there"; "used": it does not unload
        self.module = "there"
        for name in ("etc", "var/lib", "run/units", "sys/module", "sys/kernel"):
            os.makedirs(os.path.join(root, name))
        self.disk("sda")
        self.write("proc/sys/kernel/tainted", "0\n")

    def write(self, name, data):
        """A file; its path."""
        if fakedisk.is_number(name):
            return fakedisk.set_number(self.root, name, data.rstrip("\n"))
        path = os.path.join(self.root, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(data if isinstance(data, bytes) else data.encode())
        return path

    def read(self, name):
        """A file's text."""
        with open(os.path.join(self.root, name), encoding="utf-8") as file:
            return file.read()

    def disk(self, name, wwn=WWN):
        """A disk in sysfs. A file of a scheduler has no brackets here: it is what was written."""
        for what, value in {"device/vendor": "ACME\n", "device/model": "DISK 9  \n",
                            "device/rev": "0001\n", "device/wwid": wwn + "\n", "size": "50129\n",
                            "device/vpd_pg80": vpd(0x80, b"SERIAL01  "),
                            "queue/iosched/target_slowdown_ppm": "5000\n",
                            "queue/iosched/foreground_cost_ppm": "10000\n",
                            "queue/scheduler": "mq-deadline\n"}.items():
            self.write("sys/block/%s/%s" % (name, what), value)

    def command(self, words, text="", seconds=None):
        """What modprobe and rmmod do, each at once."""
        if words[0] == "modprobe":
            if self.module not in ("there", "used"):
                return 1, self.module
            folder = tempfile.mkdtemp(dir=os.path.dirname(self.root))
            self.write(os.path.join(folder, "module", "refcnt"), "0\n")
            for name in os.listdir(os.path.join(self.root, "sys/block")):
                for what, value in {
                        "model": "", "model_status": "loaded: 7 bytes, 'ACME' 'D'\n",
                        "idle_mean_us": "1000\n", "idle_max_us": "50000\n",
                        "power": "respect\n", "idle_only": "0\n",
                        "state/scheduling": "yes\n", "tasks": "0\n", "scan": "idle\n",
                        "scrub": "idle\n"}.items():
                    self.write(os.path.join(folder, "kernel", name, what), value)
            for name in ("module", "kernel"):
                os.rename(os.path.join(folder, name),
                          os.path.join(self.root, "sys", name, "freeblock"))
        elif words[0] == "rmmod":
            if self.module == "used":
                return 1, "Module freeblock is in use"
            self.unload()
        elif words == ["logger", "--journald"]:
            self.told.append(dict(line.split("=", 1) for line in text.splitlines()))
        elif words[0] == "smartctl":
            assert seconds, "it may hang"
            return self.smart, ""
        elif words[0] == "systemctl":
            return self.systemctl(*words[1:])
        else:
            raise AssertionError(words)
        return 0, ""

    def systemctl(self, *words):
        """Units are started and stopped at once; a file for each that runs."""
        path = os.path.join(self.root, "run/units", words[-1])
        action = words[-2]
        if action == "is-active":
            return (0, "active") if os.path.exists(path) else (3, "inactive")
        if action == "start":
            self.write(path, "")
        elif action == "stop":
            with contextlib.suppress(FileNotFoundError):
                REMOVE(path)
        return 0, ""

    def unload(self):
        """The module's files are gone."""
        folder = tempfile.mkdtemp(dir=os.path.dirname(self.root))
        for name in ("module", "kernel"):
            path = os.path.join(self.root, "sys", name, "freeblock")
            if os.path.isdir(path):
                os.rename(path, os.path.join(folder, name))

    def boot(self, enabled=True):
        """The kernel's state goes; what is enabled at boot is done."""
        self.unload()
        self.write("proc/sys/kernel/tainted", "0\n")
        self.write("sys/block/sda/queue/scheduler", "mq-deadline\n")
        if enabled:
            self.command(["modprobe", "freeblock"])
            self.write("sys/block/sda/queue/scheduler", "freeblock\n")


def tree(folder):
    """Everything below a folder: name, and bytes or target."""
    found = {}
    for where, folders, files in os.walk(folder):
        for name in folders + files:
            path = os.path.join(where, name)
            if os.path.islink(path):
                found[os.path.relpath(path, folder)] = os.readlink(path)
            elif os.path.isfile(path):
                with open(path, "rb") as file:
                    found[os.path.relpath(path, folder)] = file.read()
            else:
                found[os.path.relpath(path, folder)] = "dir"
    return found


class Case(unittest.TestCase):
    """With a machine of its own."""

    def setUp(self):
        # a thousand journals are flushed to stable storage: to memory, where there is some
        memory = "/dev/shm"
        self.folder = self.enterContext(tempfile.TemporaryDirectory(
            dir=memory if os.access(memory, os.W_OK) else None))
        self.machine = Machine(os.path.join(self.folder, "root"))
        self.file = os.path.join(self.folder, "given.fbmodel")
        with open(self.file, "wb") as file:
            file.write(model())
        for patch in (mock.patch.object(fbstate, "ROOT", self.machine.root),
                      mock.patch.object(kernel, "command", self.machine.command),
                      mock.patch.object(kernel, "LOOK_S", 0.001),
                      mock.patch.object(sgio, "Disk", lambda path: self.machine.drive)):
            self.enterContext(patch)

    def tree(self):
        """The machine's files."""
        return tree(self.machine.root)

    def do(self, *words):
        """A subcommand's status, and what it said."""
        out = io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out), \
                taptest.built_silently():
            status = cli.main(list(words))
        return status, out.getvalue()

    def set_up(self, *more):
        """The ordinary setup."""
        return self.do("setup", "/dev/sda", "--model", self.file, "--observe", "0", *more)

    # ---- ended at each change

    CHANGES = ("replace", "unlink", "mkdir", "rmdir", "symlink")

    def killed(self, number, *words):
        """Run a subcommand in a process that ends by SIGKILL at its change of this number:
        before it, or, for odd numbers, after it. Whether it was; False: it ended before."""
        child = os.fork()
        if not child:
            self._count(number)
            try:
                self.do(*words)
            finally:
                os._exit(0)
        return os.WIFSIGNALED(os.waitpid(child, 0)[1])

    @staticmethod
    def _count(number):
        """In the child: every change of a name and of the kernel counts."""
        left = [number]

        def counted(really):
            def change(*words, **more):
                for do in (None, really):
                    result = do and do(*words, **more)
                    if not left[0]:
                        os.kill(os.getpid(), signal.SIGKILL)
                    left[0] -= 1
                return result
            return change

        for name in Case.CHANGES:
            setattr(os, name, counted(getattr(os, name)))
        for name in ("switch", "command"):
            setattr(kernel, name, counted(getattr(kernel, name)))

    def each_kill(self, prepare, *words):
        """Numbers of the changes of a subcommand, each ended there, the machine being prepared
        anew each time."""
        number = 0
        while True:
            prepare()
            if not self.killed(number, *words):
                return
            yield number
            number += 1
