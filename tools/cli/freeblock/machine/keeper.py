# SPDX-License-Identifier: GPL-2.0
"""Keeps a scrub of the kernel's going, and what it has verified on stable storage."""

import sys
import time

from .. import ToolError
from ..base import advice
from ..tasks import scrub_state
from ..tasks.scrub_port import ACTIVE, Coverage
from . import badblocks, waits

# Of five seconds that an interruption may cost: two between saves, and the save itself
SAVE_S = 2.0
STOP_LOOKS = 20                 # within that time a scrub that is stopped should end


def say(text):
    """A line about what happens."""
    print("freeblock: " + text, file=sys.stderr, flush=True)


class Keeper:
    """Keeps a scrub going and its journal up to date, through whatever happens to disk,
    module and scheduler."""

    def __init__(self, port, journal, piece, deadline=None, gate=None):
        self.port, self.journal, self.piece = port, journal, piece
        self.deadline = deadline        # seconds since 1970; None: no matter
        self.gate = gate                # machine/gate.py; None: always open
        self.held = False               # paused, for that is closed
        self.blocks = piece.blocks
        if gate:
            gate.share = lambda: self.verified() / self.blocks
        self.waiting = None
        self.bad = None                 # how many blocks could not be read, when last looked
        self.stopped = False

    def verified(self):
        """How many blocks of the piece are on record."""
        return scrub_state.count_some(self.journal.bits, self.piece.first, self.blocks)

    def is_verified(self, sector):
        """Whether the block with this sector of the disk is on record."""
        block = sector * 512 // self.journal.identity["block_bytes"]
        return bool(self.journal.bits[block // 8] >> block % 8 & 1)

    def kernel(self):
        """What the kernel's map says, and whether it is of the pass that is on record."""
        covered = self.port.coverage(self.journal.identity)
        if covered is None:
            return None, False
        ours = scrub_state.contains(covered.bits, self.journal.bits) and \
            self.journal.began in (0, covered.began)
        return covered, ours

    def begin(self):
        """Have the scrub run, and tell the kernel when it should be over."""
        self.join()
        if self.deadline is None or self.port.state() not in ACTIVE:
            return
        left = max(round(self.deadline - time.time()), 1)
        try:
            self.port.command("deadline %d" % left)
        except ToolError as error:
            # it has just ended; or the module is older than this: the scrub goes on all the same
            if self.port.state() in ACTIVE:
                say("it goes on without a deadline: %s" % error)

    def join(self):
        """Join the scrub that runs, or was finished while nobody looked; else start one with
        what is left of the pass on record."""
        state, journal = self.port.state(), self.journal
        covered, ours = self.kernel()
        if state in ACTIVE or state == "finished" and ours and journal.began and \
                not journal.finished:
            self.check_range()
            self.save(state)
            # by one that was killed meanwhile: nobody else would resume it
            self.held = bool(self.gate) and state == "paused"
            return
        if journal.finished or self.verified() == self.blocks:
            journal.begin_pass()
            say("pass %d begins" % journal.number)
        if covered and ours and journal.began:
            journal.save(covered.bits, covered.began)
        saved = scrub_state.count(journal.bits)
        if not saved:
            journal.save(bytes(journal.bits), 0)
            self.port.command(self.piece.words)
            return
        say("%d of %d blocks were verified before" % (self.verified(), self.blocks))
        journal.save(bytes(journal.bits), journal.began)
        self.port.restore(journal.identity, Coverage(journal.began, bytes(journal.bits)))
        self.port.command(self.piece.words + " resume-coverage")

    def check_range(self):
        """A scrub that is joined must be of the same piece."""
        values = self.port.values()
        if (values["first"], values["sectors"]) != self.piece.range:
            raise ToolError("sectors %s+%s of %s are being scrubbed, not %d+%d; run: %s" % (
                values["first"], values["sectors"], self.port.disk.name, *self.piece.range,
                advice.stop_tasks(self.port.disk)))

    def save(self, state):
        """Bring the kernel's map to stable storage. One of another pass, which somebody else
        began, takes the place of what is on record."""
        covered, ours = self.kernel()
        if covered is None:
            return
        if not ours:
            self.journal.begin_pass()
            say("somebody began another scrub: what was saved of the last one does not count "
                "for it")
        self.journal.save(covered.bits, covered.began, state == "finished")

    def wait(self, why):
        """Say once what is waited for."""
        if why != self.waiting:
            say("waiting: " + why)
        self.waiting = why

    def step(self):
        """Look what became of it, and save. False: it is over."""
        state = self.port.state() if self.port.find(self.journal.identity) else None
        if state is None:
            self.wait("no disk %s" % self.journal.identity["id"])
            return True
        if state == "idle":
            # the module was loaded anew, or the disk came back under another one
            self.begin()
            return True
        self.save(state)
        self.note_bad()
        self.hold(state)
        return state in ACTIVE

    def note_bad(self):
        """Put blocks that could not be read on record."""
        bad = self.port.disk.value("state/bad_blocks")
        if bad and bad != self.bad:
            badblocks.note(self.port.disk, self.journal.identity["id"])
        self.bad = bad

    def hold(self, state):
        """Pause it while the gate is closed; only what was paused here is resumed here."""
        why = self.gate.why() if self.gate and state in ACTIVE else None
        if self.gate:
            waits.note(self.port.disk.name, why)
        if why:
            self.wait(why)
            if state == "running":
                self.tell("pause")
                self.held = True
            return
        self.waiting = None
        if self.held and state == "paused":
            self.tell("resume")
        self.held = False

    def tell(self, word):
        """Give the kernel a command, unless the scrub has just ended by itself."""
        try:
            self.port.command(word)
        except ToolError:
            if self.port.state() in ACTIVE:
                raise

    def stop(self):
        """End the scrub, and save what the reads under way brought."""
        if self.port.state() in ACTIVE:
            self.tell("stop")
        for _ in range(STOP_LOOKS):
            state = self.port.state()
            if state in (None, "idle"):
                break
            self.save(state)
            if state not in ACTIVE:
                break
            time.sleep(SAVE_S / STOP_LOOKS)

    def run(self, progress, remark):
        """Until it is over, or a signal comes."""
        self.begin()
        while not self.stopped and self.step():
            progress.set(self.verified())
            progress.tell(remark)
            time.sleep(SAVE_S)
        if self.stopped:
            self.stop()
        progress.set(self.verified())
        progress.end()
