# SPDX-License-Identifier: GPL-2.0
"""Drives of real sizes, as .fbdrive text, with the traits that are published of real ones: LBNs
stay on a surface for runs of tracks, surfaces differ in nearly all that they have, no skew is a
round number, and no two units are alike (Documentation/drives.rst, "Published traits").

A drive's traits are drawn by its number, or given; a number gives the same drive for ever.
"""

import dataclasses
import math
import random
from fractions import Fraction

from freeblock.formats.fbmodel import decimal_turn
from . import randomdrive

# What a random drive can be: small, and anything; or as those that are sold; or these, with a tenth
# of their bands
KINDS = ("small", "real", "tenth")
# How LBNs go: by tracks of a run, by surfaces of a band. F: always the same way; A: there and back
ORDERS = ("FF", "AF", "AA", "FA", "size", "irregular")
RPM = (5400, 5700, 5900, 7200, 7200, 7200)
UNIT_PPM = 2640             # a unit's speed is up to so much higher: 7200.0 to 7219 rpm
BLOCK = 8                   # 512-byte sectors of a physical block
POINTS_A_DECADE = 8         # of the seek curve
SKEW_DIGITS = 12
SLIPS_A_LINE = 20
MOST_TRACKS = 750           # of a band, but for the Samsung F3's
LONG_RUN = 9200
REDRAWN = 400               # bands, or so, after which an irregular order is another


@dataclasses.dataclass
class Traits:
    """What a drive is like; how much is drawn.

    tb: capacity, 10^12 bytes; order: one of ORDERS; tracks: of a band; sectors: of the outermost
    track, from and to; lengths, borders, counts,
    skews, displaced: whether surfaces differ in them; half_turn: more where the surface changes;
    round_skew: the skew is k/56 of a turn, no odd fraction; defects: how many; groups: tracks of
    groups that are skipped as a whole; sata: the profile; late_us: reports are that late; ppm: the
    unit is that much faster (-1: drawn); scans: of the medium while idle; slow: share of the
    cylinders to which seeks take a turn longer; share: of the bands that there would be."""

    tb: float
    order: str = "FF"
    tracks: int = 140
    heads: int = 0
    rpm: float = 7200
    sectors: tuple = (2800, 5300)
    lengths: bool = True
    borders: bool = False
    counts: bool = False
    skews: bool = False
    displaced: bool = False
    half_turn: bool = False
    round_skew: bool = False
    defects: int = 0
    groups: tuple = ()
    sata: bool = True
    late_us: int = 20
    ppm: float = -1
    scans: bool = False
    slow: float = 0
    share: Fraction = Fraction(1)

    @classmethod
    def drawn(cls, rng):
        """Of the table."""
        tb = rng.choice((1, 2, 3, 4, 5, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24))
        # at most some 60,000 runs
        least = max(75, 10 * tb)
        tracks = round(math.exp(rng.uniform(math.log(least), math.log(MOST_TRACKS))))
        return cls(
            tb=tb, order=rng.choice(ORDERS), tracks=LONG_RUN if rng.random() < 0.06 else tracks,
            rpm=rng.choice(RPM), lengths=rng.random() < 0.75, borders=rng.random() < 0.5,
            counts=rng.random() < 0.4, skews=rng.random() < 0.4, displaced=rng.random() < 0.5,
            half_turn=rng.random() < 0.3, round_skew=rng.random() < 0.2,
            defects=rng.choice((0, 20, 60, 200)),
            groups=tuple(rng.choice((28, 263)) for _ in range(rng.choice((0, 0, 1, 2)))),
            late_us=rng.choice((10, 20, 60)), scans=rng.random() < 0.2,
            slow=rng.choice((0, 0, 0, 0.02, 0.2)))

    def words(self):
        """A word for each that makes a drive harder to see."""
        said = [self.order, "%g TB" % self.tb, "runs of %d tracks" % self.tracks]
        said += ["unlike " + name for name in ("lengths", "borders", "counts", "skews")
                 if getattr(self, name)]
        said += ["displaced"] * self.displaced + ["half turns"] * self.half_turn
        said += ["%d defects" % self.defects] * bool(self.defects)
        said += ["groups skipped"] * bool(self.groups) + ["scans"] * self.scans
        said += ["slow region"] * bool(self.slow)
        return said + ["SATA" if self.sata else "SCSI"]


class _Surface:
    """A surface's tracks. lengths: [(first band, sectors)]."""

    def __init__(self, tracks, skew, lengths, displaced):
        self.tracks, self.skew, self.lengths, self.displaced = tracks, skew, lengths, displaced

    def sectors(self, band):
        """Of its tracks in a band."""
        return [sectors for first, sectors in self.lengths if first <= band][-1]


class Drive:
    """One drive. number: names it; traits: drawn if there are none; text(): its description;
    features: words for what it has."""

    def __init__(self, number, traits=None, share=Fraction(1)):
        self.number = number
        self.rng = random.Random("real drive %s" % number)
        # numbers that are even and odd are extracted in different modes
        self.traits = traits or dataclasses.replace(
            Traits.drawn(self.rng), sata=number // 2 % 2 == 0, share=share)
        self.features = set(self.traits.words())
        self._draw_mechanics()
        self._draw_surfaces()
        self._lay_out()
        self._draw_slips()

    # ---- drawn

    def _draw_mechanics(self):
        rng, traits = self.rng, self.traits
        self.period_ps = 60 * 10 ** 12 // traits.rpm
        # a region somewhere, in 2^-16 of the stroke
        self.slow_at = rng.randrange(2 ** 16) / 2 ** 16
        self.first_ns = rng.randint(350, 700) * 1000
        self.noise_ns = rng.choice((15000, 25000, 40000, 60000))
        self.switch_ns = round(self.first_ns * rng.uniform(1, 1.6))
        self.full_ns = rng.uniform(14e6, 21e6)

    def _draw_surfaces(self):
        rng, traits = self.rng, self.traits
        heads = traits.heads or min(max(round(traits.tb / rng.uniform(0.55, 1.2)), 2), 20)
        outer, inner = rng.uniform(*traits.sectors), rng.uniform(0.42, 0.54)
        whole = traits.tb * 1e12 / 512 / heads / (outer * (1 + inner) / 2) / traits.tracks
        zones = min(rng.randint(14, 28), max(int(whole), 2))
        # zones and runs are real, the bands of each zone maybe fewer
        wide = [rng.uniform(0.6, 1.4) for _ in range(zones)]
        wide = [max(round(whole * float(traits.share) * part / sum(wide)), 1) for part in wide]
        self.bands = sum(wide)
        skews = self._skews()
        self.change = self._turns(self.switch_ns + 4 * self.noise_ns) + \
            (Fraction(1, 2) if traits.half_turn else 0)
        self.surfaces = []
        for _ in range(heads):
            longer = 1 + rng.uniform(-0.05, 0.05) * traits.lengths
            lengths, band = [], 0
            for zone, bands in enumerate(wide):
                shrunk = outer * longer * (1 - (1 - inner) * (zone / (zones - 1)) ** 1.13)
                moved = rng.randint(-(bands // 3), bands // 3) * traits.borders
                lengths.append((max(band + moved, 0) if zone else 0, round(shrunk / BLOCK) * BLOCK))
                band += bands
            counts = round(traits.tracks * rng.uniform(0.9, 1)) if traits.counts else traits.tracks
            self.surfaces.append(_Surface(
                counts, rng.choice(skews), lengths,
                rng.randint(0, 63) if traits.displaced else 0))

    def _turns(self, ns):
        """A time as a part of a turn, of so many digits."""
        return Fraction(round(ns * 1000 / self.period_ps * 10 ** SKEW_DIGITS), 10 ** SKEW_DIGITS)

    def _skews(self):
        """One, or two that surfaces have."""
        least = self._turns(self.first_ns + 4 * self.noise_ns)
        if self.traits.round_skew:
            eighths = math.ceil(least * 56)
            found = [Fraction(round(Fraction(eighths + i, 56) * 10 ** SKEW_DIGITS),
                              10 ** SKEW_DIGITS) for i in (0, 1)]
        else:
            # a little beside a fraction with a small denominator
            near = Fraction(math.ceil(least * 64), 64) - Fraction(8, 10 ** 6)
            found = [near, near + self._turns(self.rng.uniform(5e3, 90e3))]
        return found if self.traits.skews else found[:1]

    # ---- the layout

    def _order(self, band):
        """[(surface, inwards)] of a band."""
        heads = range(len(self.surfaces))
        kind = self.traits.order
        if kind == "size":
            return [(head, True) for head in sorted(
                heads, key=lambda head: (-self.surfaces[head].sectors(band), head))]
        if kind == "irregular":
            rng = random.Random("order %s %d" % (self.number, band // REDRAWN))
            found = [(head, rng.random() < 0.5) for head in heads]
            rng.shuffle(found)
            return found
        found = [(head, kind[0] == "F" or head % 2 == 0) for head in heads]
        return found[::-1] if kind[1] == "A" and band % 2 else found

    def _steps(self):
        """Bands that come again together: [[(band, surface, inwards)]]."""
        size = 2 if self.traits.order in ("FA", "AA") else 1
        for first in range(0, self.bands - size + 1, size):
            # what holds at the first holds for all of them
            yield first, [(first + i, *one) for i in range(size)
                          for one in self._order(first + i)]

    def _lay_out(self):
        """lines: the run and repeat records; runs: [(tracks, sectors)]."""
        self.lines, self.runs = [], []
        wide = max(surface.tracks for surface in self.surfaces)
        pattern, before, pending = None, {}, None
        turn = Fraction(0)
        for first, step in self._steps():
            again = [(head, inwards) for _, head, inwards in step]
            lengths = {head: surface.sectors(first) for head, surface in enumerate(self.surfaces)}
            changed = {head: n for head, n in lengths.items() if before.get(head) != n}
            if again == pattern:
                if pending is None or changed:
                    self._flush(pattern, pending)
                    pending = [0, changed]
                pending[0] += 1
                turn += self._advance(pattern)
            else:
                self._flush(pattern, pending)
                pattern, pending = again, None
            for band, head, inwards in step:
                surface = self.surfaces[head]
                self.runs.append((surface.tracks, lengths[head]))
                if pending is None:
                    at = band * wide if inwards else band * wide + surface.tracks - 1
                    self.lines.append("run %d %d %s %d %d %s %s" % (
                        head, at, "in" if inwards else "out", surface.tracks, lengths[head],
                        decimal_turn(turn % 1), decimal_turn(surface.skew)))
                    turn += surface.tracks * surface.skew + self.change
            before = lengths
        self._flush(pattern, pending)

    def _advance(self, pattern):
        """How far the platters are on from one time of a pattern to the next, turns."""
        return sum(self.surfaces[head].tracks * self.surfaces[head].skew + self.change
                   for head, _ in pattern)

    def _flush(self, pattern, pending):
        if pending:
            times, changed = pending
            self.lines.append(" ".join(["repeat %d %d %s" % (
                len(pattern), times, decimal_turn(self._advance(pattern) % 1))] + [
                    "%d=%d" % one for one in sorted(changed.items())]))

    # ---- defects

    def _draw_slips(self):
        """slips: {run: [(index, count)]}, whole blocks."""
        rng, self.slips = self.rng, {}
        for tracks in self.traits.groups:
            run = rng.randrange(len(self.runs))
            of, sectors = self.runs[run]
            tracks = min(tracks, of - 2)
            self._slip(run, rng.randrange(of - tracks) * sectors, tracks * sectors)
        for _ in range(self.traits.defects):
            run = rng.randrange(len(self.runs))
            tracks, sectors = self.runs[run]
            at = rng.randrange(tracks * sectors // BLOCK) * BLOCK
            kind = rng.random()
            if kind < 0.7:
                self._slip(run, at, BLOCK * rng.choice((1, 1, 1, 2, 5)))
            elif kind < 0.9:        # a scratch: at about one angle of neighbouring tracks
                for track in range(rng.randint(2, 9)):
                    self._slip(run, at + track * sectors, BLOCK * rng.randint(1, 4))
            else:                   # tracks that are mostly holes
                at -= at % sectors
                for track in range(rng.randint(1, 3)):
                    self._slip(run, at + track * sectors + BLOCK, sectors - 9 * BLOCK)

    def _slip(self, run, index, count):
        tracks, sectors = self.runs[run]
        there = self.slips.setdefault(run, [])
        if index + count < tracks * sectors and \
                sum(n for _, n in there) + count < (tracks - 1) * sectors and \
                all(index + count < at or at + n < index for at, n in there):
            there.append((index, count))
            there.sort()

    def _slip_lines(self):
        for run, found in sorted(self.slips.items()):
            words = ["%d+%d" % slip for slip in found]
            for i in range(0, len(words), SLIPS_A_LINE):
                yield "slip %d %s" % (run, " ".join(words[i:i + SLIPS_A_LINE]))

    # ---- as text

    def _arm(self):
        """What depends on how far the arm goes."""
        most = self.bands * max(surface.tracks for surface in self.surfaces)
        if self.traits.slow:
            first = int(most * (1 - self.traits.slow) * self.slow_at)
            yield "slow_region %d %d" % (first, first + int(most * self.traits.slow) - 1)
        yield from self._seeks(most + 63)

    def _seeks(self, most):
        slope = (self.full_ns - self.first_ns) / math.sqrt(
            most / float(self.traits.share))
        points = {1, most} | {round(10 ** (i / POINTS_A_DECADE)) for i in range(
            math.ceil(math.log10(most) * POINTS_A_DECADE))}
        return ["seek %d %d" % (d, self.first_ns + slope * (math.sqrt(d) - 1))
                for d in sorted(points)]

    def text(self):
        """The description."""
        rng, traits = random.Random("text %s" % self.number), self.traits
        lines = ["fbdrive 1", "product REAL-LIKE", "serial %s" % self.number,
                 "physical_exponent 3", "period_ps %d" % self.period_ps,
                 "rpm_error_ppb %d" % (1000 * traits.ppm if traits.ppm >= 0 else
                                       rng.randint(0, UNIT_PPM * 1000)),
                 "seed %d" % rng.randrange(2 ** 32), "heads %d" % len(self.surfaces)]
        lines += ["interface sata", "queueing ncq"] if traits.sata else \
            ["translate %s" % rng.choice(("on", "off"))]
        lines += ["head_switch_ns %d" % self.switch_ns, "write_settle_ns 150000",
                  "zero_latency on", "noise laplace %d" % self.noise_ns,
                  "command_overhead_ns %d 90000" % rng.randint(40000, 150000),
                  "completion_overhead_ns %d" % (traits.late_us * 1000),
                  "jitter_ns %d" % rng.choice((5000, 20000, 30000)), "bus_ns 853",
                  "cache 32 4096 16", "write_cache back", "read_ahead segment 2048",
                  "read_ahead_on_hit on", "keep_passing on"]
        lines += ["medium_scan 500 1000 4000"] * traits.scans + list(self._arm())
        if traits.displaced:
            lines.append("displacement " + " ".join(
                str(surface.displaced) for surface in self.surfaces))
        return "\n".join(lines + self.lines + list(self._slip_lines())) + "\n"


def drawn(kind, number):
    """A random drive of one of KINDS."""
    if kind == "small":
        return randomdrive.Drive(number)
    return Drive(number, share=Fraction(1, 10) if kind == "tenth" else Fraction(1))
