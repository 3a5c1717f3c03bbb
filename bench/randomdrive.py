# SPDX-License-Identifier: GPL-2.0
"""Small drives drawn at random, as .fbdrive text: what a layout can have that is hard to find
by timing, each with a chance that makes it common.

The text names what was drawn in its comments; a number gives the same drive for ever.
"""

import math
import random

PERIODS_PS = (4000000000, 6000000000, 8333333333, 11111111111)
ORDERS = ("plain", "plain", "serpentine", "serpentine-disk")
NEAR_SLOTS = 0.5        # of angle between a home and a spare that are nearly alike
MOST_BLOCKS = 260000    # LBNs or so: an extraction takes seconds
# Of those whose LBNs stay on a surface, for so many cylinders: one in so many, and how many tracks
# or so, all of which --quick has the time to look at
STAYING, STAYING_TRACKS = 6, 4000
RUNS = (2, 3, 6, 12, 24, 40, 60, 100, 150)


class _Zone:
    """A zone as it is drawn; slots count from its first."""

    def __init__(self, rng, first, cylinders, longest, heads, step):
        self.first, self.last = first, first + cylinders - 1
        self.spt = longest
        self.heads = [longest] * heads
        self.angle = 0.0
        self.track = self.cylinder = 0.0
        self.spares = self.dead = 0
        self.slips, self.remaps = [], []
        self.run = 1
        if heads > 1 and rng.random() < 0.25:
            self.heads = [longest - step * rng.randint(0, max(longest // (30 * step), 1))
                          for _ in range(heads)]
            self.heads[rng.randrange(heads)] = longest

    @property
    def cylinder_slots(self):
        """Slots of a cylinder."""
        return sum(self.heads)

    @property
    def slots(self):
        """All slots."""
        return (self.last - self.first + 1) * self.cylinder_slots

    def _turns_of_runs(self, slot):
        """turns() where LBNs stay on a surface, all of whose tracks are as long as each other."""
        track, rest = divmod(slot, self.spt)
        bands, within = divmod(track, self.run * len(self.heads))
        last = (self.last - self.first + 1) // self.run
        width = self.run if bands < last else (self.last - self.first + 1) % self.run
        runs = bands * len(self.heads) + within // max(width, 1)
        return self.angle + runs * self.track + (track - runs) * self.cylinder + rest / self.spt

    def turns(self, slot, backwards):
        """The angle at which a slot begins, turns, any number of them."""
        if self.run > 1:
            return self._turns_of_runs(slot)
        cyl, rest = divmod(slot, self.cylinder_slots)
        heads = self.heads[::-1] if backwards(self, cyl) else self.heads
        track = 0
        while rest >= heads[track]:
            rest -= heads[track]
            track += 1
        skew = (cyl * (len(heads) - 1) + track) * self.track + cyl * self.cylinder
        return self.angle + skew + rest / heads[track]

    def text(self, number):
        """Its records."""
        lines = ["zone %d %d %d %.15f %.15f %.15f %d dead=%d" % (
            self.first, self.last, self.spt, self.angle, self.track, self.cylinder, self.spares,
            self.dead)]
        if len(set(self.heads)) > 1:
            lines.append("zone_heads %d %s" % (number, " ".join(map(str, self.heads))))
        return lines


class Drive:
    """One drive: number names it; text: its description; features: words for what it has; sata:
    whether it has a SATA drive's profile (None: every other two numbers)."""

    def __init__(self, number, sata=None):
        self.rng = rng = random.Random("drive %d" % number)
        self.number = number
        # numbers that are even and odd are extracted in different modes
        self.sata = number // 2 % 2 == 0 if sata is None else sata
        self.features = {"SATA" if self.sata else "SCSI"}
        self.heads = rng.randint(1, 6)
        self.order = rng.choice(ORDERS) if self.heads > 1 else "plain"
        # LBNs of a physical block
        self.exponent = 3 if rng.random() < 0.25 else 0
        self.step = 1 << self.exponent
        if self.exponent and rng.random() < 0.4:
            self.step = 1
            self._note("blocks across tracks")
        # of its own, so that the others stay what they were
        staying = random.Random("staying %d" % number)
        self.run = staying.choice(RUNS) if not staying.randrange(STAYING) else 1
        # half of them have nothing that makes it harder to see
        self.spoilt = self.run == 1 or staying.random() < 0.5
        if not self.spoilt:
            self.step = 1 << self.exponent
            self.features = {"SATA" if self.sata else "SCSI"}
        self.zones = self._draw_zones() if self.run == 1 else self._draw_bands()
        self._draw_angles()
        for zone in self.zones if self.spoilt else ():
            self._spoil(zone)
        # whole physical blocks in all: an extraction counts these
        held = sum(zone.slots - zone.spares - zone.dead for zone in self.zones)
        self.zones[-1].spares += held % (1 << self.exponent)
        self.unreadable = rng.random() < 0.08
        if self.unreadable:
            self._note("unreadable first block")
        for name, there in (("512e", self.exponent), ("order " + self.order, True)):
            if there:
                self._note(name)

    def _note(self, feature):
        self.features.add(feature)

    # ---- zones

    def _draw_zones(self):
        rng, zones, first = self.rng, [], 0
        unit = 1 << self.exponent
        longest = rng.randint(60, 300) if not self.exponent else rng.randint(40, 70) * unit
        left, count = MOST_BLOCKS * unit // 2, rng.randint(1, 4)
        for number in range(count):
            if rng.random() < 0.25:
                cylinders = rng.randint(2, 12)
                self._note("short zone")
            else:
                most = max(left // (count - number) // (longest * self.heads), 40)
                cylinders = rng.randint(min(30, most), min(most, 600))
            spt = longest - longest % self.step
            zones.append(_Zone(rng, first, cylinders, spt, self.heads, self.step))
            if len(set(zones[-1].heads)) > 1:
                self._note("surfaces differ")
            left -= zones[-1].slots
            first += cylinders
            longest -= rng.choice((unit, 2 * unit, 5 * unit, longest // 10))
        return zones

    def _draw_bands(self):
        """Zones of a drive whose LBNs stay on a surface; tracks are of one length."""
        rng, zones, first = self.rng, [], 0
        unit = 1 << self.exponent
        self._note("LBNs stay on a surface")
        self.heads = max(self.heads, 2)
        self.order = "plain" if self.order == "plain" else "serpentine"
        spt, count = (rng.randint(60, 200) * unit) // self.step * self.step, rng.randint(1, 3)
        most = STAYING_TRACKS // (count * self.heads)
        for _ in range(count):
            cylinders = rng.randint(3, max(most // self.run, 6)) * self.run
            cylinders = min(cylinders, max(most, 4 * self.run))
            if rng.random() < 0.5:
                cylinders += rng.randrange(self.run)
            zones.append(_Zone(rng, first, cylinders, spt, self.heads, self.step))
            zones[-1].run, zones[-1].heads = self.run, [spt] * self.heads
            first += cylinders
            spt -= rng.choice((self.step, 2 * self.step, spt // 10 // self.step * self.step))
        return zones

    def _draw_angles(self):
        rng = self.rng
        track, cylinder = rng.uniform(0.06, 0.2), rng.uniform(0.1, 0.35)
        before = None
        for zone in self.zones:
            if rng.random() < 0.5:
                track, cylinder = rng.uniform(0.06, 0.2), rng.uniform(0.1, 0.35)
            whole = rng.random() < 0.3
            zone.track = round(track * zone.spt) / zone.spt if whole else track
            zone.cylinder = round(cylinder * zone.spt) / zone.spt if whole else cylinder
            zone.angle = rng.random()
            if before and rng.random() < 0.3:
                self._note("no skew at a zone's border")
                zone.angle = before.turns(before.slots - 1, self._backwards) + \
                    1 / self._last_track(before)
            zone.angle %= 1
            before = zone

    def _backwards(self, zone, cylinder):
        """Whether heads run from the last to the first on a zone's cylinder."""
        if self.order == "serpentine-disk":
            cylinder += zone.first
        return self.order != "plain" and cylinder % 2 == 1

    def _last_track(self, zone):
        back = self._backwards(zone, zone.last - zone.first)
        return zone.heads[0] if back else zone.heads[-1]

    # ---- defects

    def _spoil(self, zone):
        """Spares, slips and remaps."""
        rng, unit = self.rng, 1 << self.exponent
        room = zone.slots // 4
        if rng.random() < 0.75:
            zone.spares = min(rng.choice((3, 7, zone.spt // 2, zone.spt, 2 * zone.spt)), room)
            zone.spares -= zone.spares % unit
        if rng.random() < 0.15:
            zone.dead = min(rng.choice((1, 3, zone.spt // 3, zone.spt)), room)
            zone.dead -= zone.dead % unit
        wanted = rng.choice((0, 0, 1, 3, 6)) if zone.spares > 2 * unit else 0
        for _ in range(wanted):
            size = unit * rng.choice((1, 1, 1, 2))
            at = rng.randrange(zone.dead, zone.slots - zone.spares)
            at -= at % unit
            if size + sum(n for _, n in zone.slips) < zone.spares and \
                    all(at + size <= a or at >= a + n for a, n in zone.slips):
                zone.slips.append((at, size))
        zone.slips.sort()
        if zone.slips:
            self._note("slips")
        if rng.random() < 0.5:
            self._remap(zone, rng.choice((1, 1, 2, 3)))

    def _remap(self, zone, count):
        rng, unit = self.rng, 1 << self.exponent
        slipped = sum(n for _, n in zone.slips)
        spares = list(range(zone.slots - zone.spares + slipped, zone.slots - unit + 1, unit))
        rng.shuffle(spares)
        homes = {}
        for spare in spares[:count]:
            near = rng.random() < 0.4
            home = self._near(zone, spare) if near else None
            if home is None:
                home = rng.randrange(zone.dead, zone.slots - zone.spares)
                home -= home % unit
                near = False
            taken = [(at, n) for at, n in zone.slips if at < home + unit and home < at + n]
            if home not in homes and not taken:
                homes[home] = spare
                self._note("remap at nearly the angle" if near else "remap")
        zone.remaps = sorted(homes.items())

    def _near(self, zone, spare):
        """A home whose angle is nearly a spare's."""
        rng, unit = self.rng, 1 << self.exponent
        want = zone.turns(spare, self._backwards)
        for _ in range(200):
            at = rng.randrange(zone.dead, zone.slots - zone.spares)
            off = want - zone.turns(at, self._backwards)
            at += round((off - math.floor(off)) * zone.spt)
            at -= at % unit
            if not zone.dead <= at < zone.slots - zone.spares:
                continue
            off = want - zone.turns(at, self._backwards)
            if abs(off - round(off)) * zone.spt <= NEAR_SLOTS * unit:
                return at
        return None

    # ---- as text

    def _mechanics(self):
        rng, last = self.rng, self.zones[-1].last
        settle, far = rng.uniform(400e3, 1200e3), rng.uniform(2e6, 6e6)
        distances = sorted({1, 2, 4, 8, 16, 64, 256, max(last, 2)})
        lines = ["seek %d %d" % (d, settle + far * math.sqrt(d / max(last, 2)) * 0.7)
                 for d in distances if d <= max(last, 2)]
        return lines + [
            "head_switch_ns %d" % rng.uniform(300e3, min(settle, 800e3)),
            "write_settle_ns 200000",
            "zero_latency %s" % rng.choice(("on", "off")),
            rng.choice(("noise off", "noise laplace 20000", "noise laplace 60000")),
            "command_overhead_ns %d 90000" % rng.uniform(30e3, 150e3),
            "completion_overhead_ns %d" % rng.uniform(5e3, 30e3),
            "jitter_ns %d" % rng.choice((0, 5000, 20000, 30000)),
            "bus_ns %d" % rng.choice((800, 1500, 3200))]

    def text(self):
        """The description."""
        rng = self.rng
        lines = ["# Drawn at random, number %d: %s" % (
            self.number, ", ".join(sorted(self.features)))]
        lines += ["fbdrive 1", "product RANDOM", "serial R%d" % self.number,
                  "period_ps %d" % rng.choice(PERIODS_PS),
                  "rpm_error_ppm %d" % rng.randint(-200, 200), "seed %d" % self.number,
                  "physical_exponent %d" % self.exponent, "heads %d" % self.heads,
                  "order " + self.order, *["surface_run %d" % self.run] * (self.run > 1),
                  # drawn for all, so that their mechanics are the same
                  "translate %s" % rng.choice(("on", "off"))]
        lines += ["interface sata"] * self.sata
        lines += self._mechanics()
        for number, zone in enumerate(self.zones):
            lines += zone.text(number)
        for number, zone in enumerate(self.zones):
            lines += ["slip %d %d+%d" % (number, at, n) for at, n in zone.slips]
        unit = 1 << self.exponent
        for number, zone in enumerate(self.zones):
            lines += ["remap %d %d %d" % (number, home + i, spare + i)
                      for home, spare in zone.remaps for i in range(unit)]
        if self.unreadable:
            lines.append("medium_error 0 1 recovery_ms=50")
        return "\n".join(lines) + "\n"
