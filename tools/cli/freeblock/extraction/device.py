# SPDX-License-Identifier: GPL-2.0
"""A drive that can be timed, real or simulated, through a probe program.

The program does the timing (tools/probe/ at a real drive, tools/mechdisk/host/ at a
simulated one) and is spoken to in the records of tools/probe/probe_protocol.h. All
positions are in units: the larger of a logical and a physical block.
"""

import os
import signal
import stat
import struct
import subprocess
import tempfile
import threading

import numpy

from .. import ToolError
from ..base import helpers
from ..drive import names

READ, WRITE, VERIFY = 0, 1, 2
FUA, OVERLAP = 1, 2
OP = numpy.dtype([("op", "u1"), ("flags", "u1"), ("pad", "<u2"), ("count", "<u4"),
                  ("block", "<u8"), ("wait", "<u8")])
RESULT = numpy.dtype([("submit", "<u8"), ("done", "<u8"), ("status", "<i4"), ("asc", "<u4")])
# status of a result: 0, a sense key, 0x100 + SCSI status, or what the host says
GOOD, MEDIUM, ILLEGAL = 0, 3, 5
NOT_ALLOWED, NOT_VALID, GONE = -1, -22, -19
CHECK_CONDITION = 2

_MAGIC, _VERSION = 0x42525046, 1
_RUN, _CDB = 1, 2
_MOST_OPS = 1 << 20
_MOST_DATA = 1 << 20
_HELLO = struct.Struct("<IIQIIII")
_REQUEST = struct.Struct("<II")
_TAIL = struct.Struct("<QQ")
_COMMAND = struct.Struct("<16sIIII")
_ANSWER = struct.Struct("<QQiIII64s")

# folder of the tree, folder in the build, name
_SIMULATOR = ("tools/mechdisk/host", "mechdisk-host", "mechdisk-host")
_PROBE = ("tools/probe", "extract", "extract-probe")


class _Patient:
    """While the program owes an answer, signals that would raise something are passed on to
    it, which then ends its batch, and are raised when the answer is there."""

    def __init__(self, process):
        self._process = process
        self._handlers = {}
        self._came = []

    def _note(self, number, _):
        self._came.append(number)
        self._process.send_signal(signal.SIGINT)

    def __enter__(self):
        # only there are handlers run, and may be set
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                handler = signal.getsignal(number)
                if callable(handler):
                    self._handlers[number] = handler
                    signal.signal(number, self._note)

    def __exit__(self, *error):
        for number, handler in self._handlers.items():
            signal.signal(number, handler)
        for number in self._came:
            self._handlers[number](number, None)


class Device:
    """A drive: what it says it is, and how long commands take.

    `disk_ns` is the time spent at the drive so far: what was spent before, in the runs
    that this one resumes, may be put into `disk_before_ns`. `clock_ns`: the phase is anchored anew
    when it has gone on by `refresh_ns`."""

    refresh_ns = 3e9

    def __init__(self, command, name):
        self.name = name
        self.disk_before_ns = 0
        self._counted_ns = 0
        self._clock_ns = 0
        # pylint: disable-next=consider-using-with
        self._errors = tempfile.TemporaryFile()
        # pylint: disable-next=consider-using-with
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                         stderr=self._errors, start_new_session=True)
        try:
            self._greet()
            self.inquiry = names.inquire(self)
        except BaseException:
            self.close()
            raise

    @classmethod
    def simulated(cls, drive, *, lines=(), seed=None, host_ns=None, host_jitter_ns=None):
        """The drive of a description, in simulated time; `lines` are appended to it. The
        host needs `host_ns` between what it learns and what it sends, and learns of a
        command's end up to `host_jitter_ns` late."""
        words = [helpers.program(*_SIMULATOR), "probe", drive]
        for line in lines:
            words += ["--set", line]
        for option, value in (("--seed", seed), ("--host-ns", host_ns),
                              ("--host-jitter-ns", host_jitter_ns)):
            words += [option, str(value)] if value is not None else []
        return cls(words, drive)

    @classmethod
    def open(cls, path, *, in_use=False):
        """The drive behind /dev/sgX or /dev/sdX; `in_use`: even if others use it, too."""
        return cls([helpers.program(*_PROBE), generic(path)] + ["--in-use"] * in_use, path)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()

    def close(self):
        """Let go of the drive."""
        process = self._process
        for pipe in (process.stdin, process.stdout):
            try:
                pipe.close()
            except BrokenPipeError:
                pass
        process.wait()
        self._errors.close()

    # ---- records

    def _fail(self):
        """The program has ended: say why."""
        self._process.wait()
        self._errors.seek(0)
        said = self._errors.read().decode("utf-8", "replace").strip()
        said = said.partition(": ")[2] or said
        raise ToolError(said or "%s: the probe ended with status %d" %
                        (self.name, self._process.returncode))

    def _send(self, *parts):
        try:
            for part in parts:
                self._process.stdin.write(part)
            self._process.stdin.flush()
        except BrokenPipeError:
            self._fail()

    def _read(self, size):
        data = self._process.stdout.read(size)
        if len(data) < size:
            self._fail()
        return data

    def _exchange(self, request, size, more=None):
        """Send the parts of a request; the answer of `size` bytes, and `more` of them (a
        function of it) more. What an interrupt raises is raised when the answer is complete,
        so that the program can be asked again, to put things back."""
        with _Patient(self._process):
            self._send(*request)
            head = self._read(size)
            rest = self._read((more(head) if more else 0) + _TAIL.size)
            self._clock_ns, self._counted_ns = _TAIL.unpack_from(rest, len(rest) - _TAIL.size)
        return head, rest[:len(rest) - _TAIL.size]

    def _greet(self):
        magic, version, self.blocks, unit, self.logical_bytes, self.longest, _ = \
            _HELLO.unpack(self._read(_HELLO.size))
        if (magic, version) != (_MAGIC, _VERSION):
            raise ToolError("%s: the probe speaks another language: build it anew" % self.name)
        self.unit_bytes = unit
        self.unit_sectors = unit // 512

    # ---- commands

    @staticmethod
    def ops(blocks, count=1, flags=FUA, wait=0, op=READ):
        """Ops for run(); each argument is one number or as many as there are ops."""
        fields = numpy.broadcast_arrays(*(numpy.atleast_1d(numpy.asarray(x, dtype="i8"))
                                          for x in (blocks, count, flags, wait, op)))
        ops = numpy.zeros(fields[0].shape, dtype=OP)
        for name, values in zip(("block", "count", "flags", "wait", "op"), fields):
            if len(values) and values.min() < 0:
                raise ValueError("%s %d: less than 0" % (name, values.min()))
            ops[name] = values
        return ops

    def run(self, ops):
        """Have a batch carried out; a RESULT for each op. A command that fails is a result
        too, but a drive that is gone is a ToolError."""
        if len(ops) > _MOST_OPS:
            return numpy.concatenate([self.run(ops[i:i + _MOST_OPS])
                                      for i in range(0, len(ops), _MOST_OPS)])
        ops = numpy.ascontiguousarray(ops, dtype=OP)
        data, _ = self._exchange((_REQUEST.pack(_RUN, len(ops)), ops.tobytes()),
                                 len(ops) * RESULT.itemsize)
        results = numpy.frombuffer(data, dtype=RESULT).copy()
        if (results["status"] == GONE).any():
            raise ToolError("%s: the disk is gone" % self.name)
        return results

    def cdb(self, cdb, data_out=b"", data_in=0):
        """Send a command as such: its SCSI status (or a negative one of those above),
        sense data and data."""
        cdb, data_out = bytes(cdb), bytes(data_out)
        if len(cdb) not in (6, 10, 12, 16) or max(len(data_out), data_in) > _MOST_DATA:
            raise ValueError("no such command: %d bytes, %d out, %d in" %
                             (len(cdb), len(data_out), data_in))
        command = _COMMAND.pack(cdb, len(cdb), len(data_out), data_in, 0)
        head, data = self._exchange((_REQUEST.pack(_CDB, 0), command, data_out), _ANSWER.size,
                                    lambda head: _ANSWER.unpack(head)[5])
        status, sense_len, sense = (_ANSWER.unpack(head)[i] for i in (2, 4, 6))
        if status == GONE:
            raise ToolError("%s: the disk is gone" % self.name)
        return status, sense[:sense_len], bytes(data)

    def now(self):
        """The probe's clock at its last answer, ns."""
        return self._clock_ns

    @property
    def disk_ns(self):
        """Time at the drive, waits included, but not the host's own between batches."""
        return self.disk_before_ns + self._counted_ns

    clock_ns = disk_ns


def generic(path):
    """The SCSI generic device of a block device; another path as it is."""
    try:
        found = os.stat(path)
    except OSError as error:
        raise ToolError("%s: %s" % (path, error.strerror)) from error
    if not stat.S_ISBLK(found.st_mode):
        return path
    folder = "/sys/dev/block/%d:%d" % (os.major(found.st_rdev), os.minor(found.st_rdev))
    if os.path.exists(os.path.join(folder, "partition")):
        raise ToolError("%s: a partition: name the whole disk" % path)
    try:
        return "/dev/" + os.listdir(os.path.join(folder, "device", "scsi_generic"))[0]
    except (OSError, IndexError) as error:
        raise ToolError("%s: no SCSI generic device belongs to it (modprobe sg; see lsscsi -g)"
                        % path) from error
