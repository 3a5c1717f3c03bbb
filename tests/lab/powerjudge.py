# SPDX-License-Identifier: GPL-2.0
"""Judge a chain of boots whose power was cut (tests/lab/power).

Witness is the drive: what its head read, or verified, before the power went. Against it stand
the kernel's map of verified blocks, at the instant of the cut, and the file that the scrub had
saved, as the next boot finds it. Its format is that of coverage-format.rst, read anew here.
"""

import json
import os
import re
import struct
import zlib

import numpy as np

import powerdisk

BLOCK = powerdisk.BLOCK
KERNEL = struct.Struct("<8sIIQQII88s")
COVERAGE_HEAD = 512
WORDS = struct.Struct("<4sII")


def bits_of(raw, blocks):
    """A map of bits as an array of booleans."""
    return np.unpackbits(np.frombuffer(raw, np.uint8), bitorder="little")[:blocks].astype(bool)


def header(raw, mark):
    """What a file says at its beginning, up to its line "end"; None if that is damaged."""
    body, _, rest = raw.partition(b"\nend ")
    body += b"\n"
    if not body.startswith(mark + b" 1\n") or rest[:8] != b"%08x" % zlib.crc32(body):
        return None
    return dict(line.split(b" ", 1) for line in body.splitlines())


def coverage_of(raw):
    """(map, bytes that are no record) of a file of coverage; None if its header is damaged."""
    head = header(raw[:COVERAGE_HEAD], b"fbcoverage")
    if head is None:
        return None
    blocks, nonce = int(head[b"blocks"]), bytes.fromhex(head[b"nonce"].decode())
    bits = np.zeros((blocks + 63) // 64 * 64, bool)
    at, ignored = COVERAGE_HEAD, 0
    while at < len(raw):
        end = at
        if raw[at:at + 4] == b"fbco" and at + 16 <= len(raw):
            _, first, words = WORDS.unpack_from(raw, at)
            end = at + 16 + 8 * words
            data = raw[at + 16:end]
            if end > len(raw) or struct.unpack_from("<I", raw, at + 12)[0] != \
                    zlib.crc32(data, zlib.crc32(nonce + raw[at:at + 12])):
                end = at
        if end == at:
            at, ignored = at + 1, ignored + 1
            continue
        bits[first * 64:(first + words) * 64] |= bits_of(data, words * 64)
        at = end
    return bits[:blocks], ignored


class Files:
    """What the writer was promised, against what there is."""

    def __init__(self):
        self.synced = {}        # (name, block or None) -> generation, and what else was noted
        self.tried = {}         # the same -> [those tried since]
        self.count = 0

    def note(self, text):
        """What a boot noted."""
        for line in text.splitlines():
            word, name, generation, number = line.split(" ")
            generation, number = int(generation), int(number)
            key = (name, number if name[0] in "bd" else None)
            value = (generation, number)
            if word == "try":
                self.tried.setdefault(key, []).append(value)
                continue
            self.count += 1
            self.synced[key] = value
            self.tried[key] = []

    def wrong(self, found):
        """What is not as promised; the rest becomes what is known to be there."""
        bad = []
        for name in sorted({key[0] for key in self.synced}):
            if name not in found:
                bad.append("%s: gone" % name)
        for name, value in found.items():
            if name[0] == "f":
                size, generation = value
                if (generation, size) not in self._allowed((name, None)):
                    bad.append("%s: generation %s of %d bytes, not one of %s" % (
                        name, generation, size, self._allowed((name, None))))
            else:
                bad += self._placed(name, value)
        return bad

    def _allowed(self, key):
        return ([self.synced[key]] if key in self.synced else []) + self.tried.get(key, [])

    def _placed(self, name, sectors):
        per = BLOCK // powerdisk.SECTOR
        for block in range(len(sectors) // per):
            key = (name, block)
            allowed = {one[0] for one in self._allowed(key)}
            if key not in self.synced:
                allowed.add(0)
            wrong = [one for one in sectors[block * per:(block + 1) * per] if one not in allowed]
            if wrong:
                yield "%s block %d: generations %s, not of %s" % (
                    name, block, sorted(set(map(str, wrong))), sorted(allowed))


class Judge:
    """One chain."""

    def __init__(self, name):
        self.name = name
        self.lines = []
        self.files = Files()
        self.read = None            # by sector: the head has passed over it to read
        self.saved_bits = None      # what the tools were told is durable
        self.found_bits = None      # what this boot's scrub had to go on with
        self.totals = {"looks": 0, "blocks_read": 0, "blocks_claimed": 0,
                       "files_synced": 0, "flushes": 0, "early": 0}

    def summary(self):
        """Figures of the chain."""
        return dict(self.totals, files_synced=self.files.count,
                    passed=sum(line.startswith("ok") for line in self.lines),
                    failed=[line for line in self.lines if line.startswith("not ok")])

    def say(self, what, problem=""):
        """One line of TAP."""
        self.lines.append("not ok %s: %s - %s" % (self.name, what, problem) if problem else
                          "ok %s: %s" % (self.name, what))

    def boot(self, number, folder, dump):
        """A boot has ended: judge what it found first, then what it claimed at its end."""
        def given(name):
            path = os.path.join(folder, name)
            if not os.path.exists(path):
                return None
            with open(path, "rb") as file:
                return file.read()

        what = "boot %d: " % number
        self.found_bits = None
        lost = int(given("cut").split()[3])
        self.say(what + "the drive's log is complete", "%d records lost" % lost if lost else "")
        found = given("list")
        if found is not None:
            self.totals["looks"] += 1
            self._found(what, json.loads(found), given)
        else:
            self.totals["early"] += 1
        dump.roll_back()
        self._witness(what, dump, given)
        self.files.note((given("notes") or b"").decode())

    def _witness(self, what, dump, given):
        self.totals["flushes"] += sum(job.kind == powerdisk.FLUSH for job in dump.jobs)
        late = dump.flushes_disobeyed()
        self.say(what + "the drive obeyed each flush", "%d of them not" % len(late) if late else "")
        for name in ("scrub", "write"):
            ended = given(name + ".ended")
            if ended is not None:
                self.say(what + name + " runs until the power goes", "status %s: %s" % (
                    ended.decode().strip(), (given(name + ".said") or b"").decode()[-300:]))
        raw = given("kernel_coverage")
        if raw and len(raw) > KERNEL.size:
            _, _, granule, blocks, _, _, _, _ = KERNEL.unpack_from(raw)
            if self.read is None:
                self.read = np.zeros(blocks * granule, bool)
            self._saw(dump)
            bits = bits_of(raw[KERNEL.size:], blocks)
            self._claims(what + "what the kernel calls verified was read", bits)
            if self.found_bits is not None and given("saved_coverage") is not None:
                lacking = int((self.found_bits & ~bits).sum())
                self.say(what + "the scrub goes on with what its file says",
                         "%d blocks are missing" % lacking if lacking else "")
        raw = given("saved_coverage")
        if raw is not None:
            self.saved_bits = bits_of(raw, len(raw) * 8)

    def _saw(self, dump):
        for lbn, count in dump.was_read():
            self.read[lbn:lbn + count] = True
        self.totals["blocks_read"] = int(self._read_blocks().sum())

    def _read_blocks(self):
        return self.read.reshape(-1, BLOCK // powerdisk.SECTOR).all(axis=1)

    def _claims(self, what, bits):
        """Claims that the witness does not bear out."""
        read = self._read_blocks()
        wrong = np.flatnonzero(bits & ~read[:len(bits)])
        self.totals["blocks_claimed"] = max(self.totals["blocks_claimed"], int(bits.sum()))
        self.say("%s (%d of %d blocks)" % (what, bits.sum(), len(bits)),
                 "%d were not, such as %s" % (len(wrong), wrong[:5].tolist()) if len(wrong) else "")

    def _found(self, what, listed, given):
        """The state after a cut."""
        wrong = self.files.wrong(listed)
        self.say("%swhat was made durable is there (%d times so far)" % (what, self.files.count),
                 "; ".join(wrong[:5]))
        names = (given("found/names") or b"").decode().split()
        odd = [name for name in names if "damaged" in name]
        self.say(what + "no file was put aside as damaged", " ".join(odd))
        said = (given("scrub.said") or b"").decode()
        refused = re.findall(r"^freeblock: .*(?:damaged|not of this disk|begun for).*$", said, re.M)
        self.say(what + "the tools take what they find", "; ".join(refused))
        self._found_coverage(what, given("found/coverage"))

    def _found_coverage(self, what, raw):
        if raw is None:
            self.say(what + "coverage that was saved is there",
                     "" if self.saved_bits is None else "no file")
            return
        found = coverage_of(raw)
        self.say(what + "the file of coverage is whole", "" if found else "its header is damaged")
        if not found:
            return
        bits, ignored = found
        self.found_bits = bits
        if self.read is not None:
            self._claims(what + "what the scrub has saved was read", bits)
        if self.saved_bits is not None:
            lacking = int((self.saved_bits[:len(bits)] & ~bits).sum())
            self.say("%scoverage that was saved is there (%d bytes ignored)" % (what, ignored),
                     "%d blocks are missing" % lacking if lacking else "")
