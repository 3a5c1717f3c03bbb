# SPDX-License-Identifier: GPL-2.0
"""A drive's modes while it is measured: caches and reordering off, and back again.

Only current values are changed, never saved ones, and only what MODE SENSE declares changeable.
Those of a SATA disk that mode pages do not reach are changed by SET FEATURES (ata.py).
What was there before is journaled first (journal.py). It is put back when the work ends,
whether well, by an error or by a signal; after SIGKILL, a panic or a loss of power
`freeblock restore` does it.

    with modes.quiet(dev, state_dir) as switched:
        ...
    switched.report         # lines for people: what was switched, and what could not be
    switched.off("RCD")     # True: as it should be while measuring

Bits: SBC-3 6.4.5 (caching, 08h), SPC-4 7.5.8 (control, 0Ah). A drive that is reset puts its
saved values back by itself; so what is there is read before anything is written.
"""

import atexit
import collections
import contextlib
import signal
import threading

from .. import ToolError
from . import ata, journal, names, sgio, sysfs
from .pages import CHANGEABLE, Refused, command

# how: by what it is switched, for people
Bit = collections.namedtuple("Bit", "name page byte mask quiet what how")
WCE = 0x04
# bits of pages with which a disk has a write cache that wants flushes
CACHED = {0x08: WCE, ata.PAGE: ata.WRITE_CACHE}
# in the order in which they are switched; off means as `quiet`
BITS = (
    Bit("WCE", 0x08, 2, WCE, 0x00, "write cache", "WCE"),
    Bit("RCD", 0x08, 2, 0x01, 0x01, "read cache", "RCD"),
    Bit("DRA", 0x08, 12, 0x20, 0x20, "read-ahead", "DRA"),
    # the queue algorithm modifier: restricted reordering
    Bit("QAM", 0x0a, 3, 0xf0, 0x00, "unrestricted reordering", "QAM"),
)
# the same of a SATA disk that SET FEATURES reaches
ATA_BITS = (
    Bit("WCE", ata.PAGE, ata.BYTE, ata.WRITE_CACHE, 0x00, "write cache", "SET FEATURES 82h"),
    BITS[1],
    Bit("DRA", ata.PAGE, ata.BYTE, ata.LOOK_AHEAD, 0x00, "look-ahead", "SET FEATURES 55h"),
    BITS[3],
)
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class ModeError(ToolError):
    """The drive's modes are not what they should be."""


class Stopped(KeyboardInterrupt):
    """A signal asked the process to end: everything on the way out is put back. Like an
    interrupt, which Device passes on when the answer that it waits for is complete."""


def _merge(page, before, mask):
    """A page with those bits of another one that a mask names."""
    return bytes(p & ~m & 0xff | b & m for p, b, m in zip(page, before, mask))


def _fields(code, mask):
    """A page's mask, and then the masks of each of our bits in it."""
    yield mask
    for bit in sorted({*BITS, *ATA_BITS}):
        if bit.page == code and bit.byte < len(mask) and mask[bit.byte] & bit.mask:
            one = bytearray(len(mask))
            one[bit.byte] = bit.mask
            if one != mask:
                yield bytes(one)


def _change(pages, code, wanted, mask):
    """Make the bits of a page that a mask names what they are in another: all at once, or one by
    one where that is too much for the drive. (the page now, the refusal or None, whether anything
    was written)."""
    refused, written = None, False
    for part in _fields(code, mask):
        now = pages.read(code)
        if now is None or len(now) != len(wanted):
            raise ModeError("page %02xh is not the one that was changed" % code)
        goal, word = _merge(now, wanted, part), "written"
        if goal == now:
            continue
        written = True
        try:
            pages.write(goal)
        except Refused as error:
            refused, goal, word = error, now, "refused"
        now = pages.read(code)
        if now != goal:
            raise ModeError("page %02xh was %s, and reads back otherwise: %s instead of %s" % (
                code, word, now.hex(" ") if now else "nothing", goal.hex(" ")))
    return now, refused, written


def put_back(pages, journaled):
    """Make the bits that the journal names what they were, and see that they are; whether
    anything had to be written."""
    wrote = False
    for code, (before, mask) in sorted(journaled.items()):
        now, refused, written = _change(pages, code, before, mask)
        if now != _merge(now, before, mask):
            raise refused
        wrote = wrote or written
    if any(code in journaled and journaled[code][0][2] & bit for code, bit in CACHED.items()):
        _flush_from_now_on(pages.dev)
    return wrote


def _flush_from_now_on(dev):
    """A kernel that looked at the disk while its write cache was off (which it does at boot)
    does not flush it: it has to look again. What came in between is flushed here."""
    where = sysfs.of_node(dev.name)
    if where and sysfs.look_again(where):
        command(dev, "SYNCHRONIZE CACHE", [0x35] + [0] * 9)


class Switched:
    """What quiet() did to a drive."""

    def __init__(self, dev):
        self.pages = ata.Settings(dev)
        self.bits = ATA_BITS if ata.reaches(dev) else BITS
        self.report = []
        self._state = {}        # bit's name: value now; missing: the drive has no such bit
        self.before = {}        # page: (bytes, mask of the bits that we may change)

    def off(self, name):
        """Whether what this bit is about is off now; None: the drive does not say."""
        value = self._state.get(name)
        return None if value is None else value == self._bit(name).quiet

    def _bit(self, name):
        return next(bit for bit in self.bits if bit.name == name)

    def can(self, name):
        """Whether the drive lets us switch it."""
        bit = self._bit(name)
        mask = self.before.get(bit.page, (b"", b""))[1]
        return bit.byte < len(mask) and mask[bit.byte] & bit.mask == bit.mask

    def look(self, hands_off=""):
        """See what the drive has, and what of it may be changed.

        hands_off: nothing, for this reason."""
        if hands_off:
            self.report.append("no mode is changed: %s" % hands_off)
        for code in sorted({bit.page for bit in self.bits}):
            try:
                now = self.pages.read(code)
                may = self.pages.read(code, CHANGEABLE) if now and not hands_off else None
            except ToolError as error:
                self.report.append("page %02xh is left alone: %s" % (code, error))
                continue
            bits = [bit for bit in self.bits if bit.page == code]
            if now is None:
                self.report.append("the drive has no mode page %02xh: %s as it finds fit" % (
                    code, " and ".join(bit.what for bit in bits)))
                continue
            self._look_at(bits, now, may if may and len(may) == len(now) else bytes(len(now)))

    def _look_at(self, bits, now, may):
        mask = bytearray(len(now))
        for bit in bits:
            if bit.byte >= len(now):
                continue
            self._state[bit.name] = now[bit.byte] & bit.mask
            if may[bit.byte] & bit.mask == bit.mask:
                mask[bit.byte] |= bit.mask
        if any(mask):
            self.before[bits[0].page] = (now, bytes(mask))

    def set(self, values):
        """Make bits what `values` ({name: value}) says; those that the drive refuses stay, and
        are returned. ModeError if it took something and has another."""
        for code in {self._bit(name).page for name in values}:
            wanted, mask = (bytearray(len(self.before[code][0])) for _ in range(2))
            for bit in self.bits:
                if bit.page == code and bit.name in values:
                    wanted[bit.byte] |= values[bit.name]
                    mask[bit.byte] |= bit.mask
            now, _, _ = _change(self.pages, code, bytes(wanted), bytes(mask))
            for bit in self.bits:
                if bit.page == code and bit.byte < len(now):
                    self._state[bit.name] = now[bit.byte] & bit.mask
        return [name for name, value in values.items() if self._state[name] != value]

    def quieten(self):
        """Switch off what can be; what cannot goes to the report."""
        on = [bit for bit in self.bits if bit.name in self._state and not self.off(bit.name)]
        refused = self.set({bit.name: bit.quiet for bit in on if self.can(bit.name)})
        for bit in self.bits:
            if bit.name not in self._state:
                continue
            if bit not in on:
                self.report.append("%s was off already" % bit.what)
            elif not self.can(bit.name):
                self.report.append("%s stays on: the drive does not let it be changed (%s)" % (
                    bit.what, bit.how))
            elif bit.name in refused:
                self.report.append("%s stays on: the drive says that it can be changed, and "
                                   "refuses (%s)" % (bit.what, bit.how))
            else:
                self.report.append("%s switched off (%s)" % (bit.what, bit.how))


class _Signals:
    """Signals become exceptions while modes are changed, and wait while they are put back."""

    def __init__(self):
        self.main = threading.current_thread() is threading.main_thread()
        self.before = {}

    def catch(self):
        """From now on those that would end the process raise Stopped."""
        for number in SIGNALS[1:] if self.main else ():
            # one that was ignored (nohup) stays so
            if signal.getsignal(number) == signal.SIG_DFL:
                self.before[number] = signal.signal(number, self._stop)

    @staticmethod
    def _stop(number, _frame):
        raise Stopped(number)

    @contextlib.contextmanager
    def held(self):
        """None arrives inside; those that came meanwhile do so afterwards."""
        held = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
        try:
            yield
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, held)

    def release(self):
        """As before catch()."""
        for number, handler in self.before.items():
            signal.signal(number, handler)


def _recover(book, switched):
    """An extraction that was killed has left its journal: put back what it says first."""
    left = book.read()
    if left is None:
        return
    written = put_back(switched.pages, left["pages"])
    switched.report.append("modes that an extraction of %s left behind were put back%s" % (
        left["time"], "" if written else " (the drive had done so itself)"))
    book.remove()


@contextlib.contextmanager
def quiet(dev, state_dir=journal.DIRECTORY):
    """The drive without caches and reordering, as far as it lets us; see above."""
    who = names.inquire(dev)
    switched = Switched(dev)
    if not names.is_known(who):
        # after a crash nobody could put anything back
        switched.look(hands_off=names.UNKNOWN)
        switched.quieten()
        yield switched
        return
    book = journal.Journal(state_dir, names.key(who))
    book.lock()
    try:
        _recover(book, switched)
        with _changed(switched, book, who, dev.name):
            yield switched
    finally:
        book.unlock()


@contextlib.contextmanager
def _changed(switched, book, who, name):
    """Switch off what can be, and put it back whatever happens."""
    signals = _Signals()
    changed = False

    def end():
        nonlocal changed
        if changed:
            with signals.held():
                changed = False
                _finish(switched, book, who, name)

    # an exception between a signal's handler and the "try" would pass it by
    atexit.register(end)
    try:
        switched.look()
        signals.catch()
        if switched.before:
            changed = True
            book.write(who, name, switched.before)
        switched.quieten()
        yield
    finally:
        try:
            end()
        finally:
            atexit.unregister(end)
            signals.release()


def _finish(switched, book, who, name):
    """Put all back and forget about it; ModeError says what to do if that fails."""
    try:
        try:
            put_back(switched.pages, switched.before)
        except (ToolError, OSError):
            # the probe may be what failed, and not the disk
            other = sgio.find(who)
            if not other:
                raise
            with contextlib.closing(other):
                put_back(ata.Settings(other), switched.before)
    except (ToolError, OSError) as error:
        raise ModeError("%s: its modes could not be put back: %s. What they were is in %s: once "
                        "the disk answers again, run: freeblock restore" % (
                            name, error, book.path)) from error
    book.remove()
