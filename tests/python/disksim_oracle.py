# SPDX-License-Identifier: GPL-2.0
"""Where DiskSim places an LBN, worked out one LBN at a time.

A second telling of diskmodel/layout_g1.c for tests: slow, with DiskSim's own
32-bit angles, and sharing nothing with the importer, which turns whole zones
into runs. Two things are told as DiskSim means them, not as it computes them:
slips of scheme 2 push data into the spares of their own cylinder (its
place-to-LBN direction says so; the other wraps them onto the next cylinder),
and a place is given by its angle, whatever number the sector has.
"""

import random

TURN = 1 << 32


class Refused(Exception):
    """DiskSim would leave the zone, or have two LBNs in one place."""


class Zone:
    """A zone of the .model file; skews in whole sectors."""

    def __init__(self, first, last, spt, **more):
        self.first, self.last, self.spt = first, last, spt
        self.offset = more.get("offset", 0)
        self.track_skew = more.get("track_skew", 0)
        self.cyl_skew = more.get("cyl_skew", 0)
        self.dead = more.get("dead", 0)
        self.spares = more.get("spares", 0)
        self.slips = more.get("slips", [])
        self.defects = more.get("defects", [])


class Disk:
    """A drive, asked for places."""

    def __init__(self, heads, cylinders, mapping, scheme, range_size, zones):
        self.heads, self.cylinders, self.mapping = heads, cylinders, mapping
        self.scheme, self.range_size, self.zones = scheme, range_size, zones

    def zone_lbns(self, zone):
        """LBNs in a zone."""
        cyls = zone.last - zone.first + 1
        n = cyls * self.heads * zone.spt - zone.dead
        if self.scheme == 1:
            return n - zone.spares * zone.spt
        if self.scheme == 2:
            return n - zone.spares * cyls
        if self.scheme == 3:
            return n - zone.spares * cyls * self.heads
        if self.scheme == 4:
            return n - zone.spares * cyls - len(zone.slips)
        if self.scheme == 7:
            return n - len(zone.slips)
        if self.scheme == 8:
            return n - zone.spares * (cyls // self.range_size)
        return n - zone.spares - (len(zone.slips) if self.scheme == 10 else 0)

    def lbns(self):
        """LBNs of the drive."""
        return sum(self.zone_lbns(zone) for zone in self.zones)

    def locate(self, lbn):
        """(cylinder, head, angle as a fraction of a turn)."""
        for zone in self.zones:
            if lbn < self.zone_lbns(zone):
                break
            lbn -= self.zone_lbns(zone)
        index = self._index(zone, lbn + zone.dead)
        if index >= (zone.last - zone.first + 1) * self.heads * zone.spt:
            raise Refused
        cyl, rest = divmod(index, self.heads * zone.spt)
        track, sector = divmod(rest, zone.spt)
        head = track
        if (self.mapping == 1 and cyl % 2) or (self.mapping == 2 and (zone.first + cyl) % 2):
            head = self.heads - 1 - track
        return zone.first + cyl, head, self._angle(zone, cyl, track, head, sector) / TURN

    def _index(self, zone, at):
        """Physical index of what is the at-th data sector."""
        spt, cyl = zone.spt, zone.spt * self.heads
        if self.scheme == 1:
            track = at // spt
            for slip in zone.slips:
                track += slip <= track
            for bad, spare in zone.defects:
                if bad == track:
                    track = spare
                    break
            return track * spt + at % spt
        if self.scheme in (2, 3, 8):
            unit = {2: cyl, 3: spt, 8: cyl * self.range_size}[self.scheme]
            number, at = divmod(at, unit - zone.spares)
            base = number * unit
            for slip in zone.slips:
                at += base <= slip <= base + at
            if at >= unit:
                raise Refused
            index = base + at
        elif self.scheme == 4:
            number, at = divmod(at, cyl - zone.spares)
            pushed = 0
            for slip in zone.slips:
                pushed += slip // cyl < number or \
                    number * cyl <= slip <= number * cyl + at + pushed
            number, at = divmod(number * (cyl - zone.spares) + at + pushed, cyl - zone.spares)
            index = number * cyl + at
        else:
            index = at
            for slip in zone.slips:
                index += slip <= index
        for bad, spare in zone.defects:
            if bad == index and self.scheme == 8:
                return base + spare % (cyl * self.range_size)
            if bad == index:
                return spare
        return index

    def _angle(self, zone, cyl, track, head, sector):
        """DiskSim's 32-bit angle."""
        width, rest = divmod(TURN, zone.spt)
        slips = 0
        if self.scheme in (2, 3, 4):
            cutoff = (cyl * self.heads + (head if self.scheme == 3 else 0)) * zone.spt
            slips = sum(slip < cutoff for slip in zone.slips)
        angle = zone.offset * width % TURN
        for times, step in ((track + (self.heads - 1) * cyl, zone.track_skew * width % TURN),
                            (cyl, zone.cyl_skew * width % TURN), (slips, width),
                            (sector, width)):
            far = angle + times * step
            angle = (far + far // TURN * rest) % TURN
        return angle

    def text(self, seeks="1, 1.0\n"):
        """(.model text, .seek text)."""
        zones = ",\n".join("""dm_layout_g1_zone {
    First cylinder number = %d, Last cylinder number = %d, Blocks per track = %d,
    Offset of first block = %d.0, Empty space at zone front = %d,
    Skew for track switch = %d.7, Skew for cylinder switch = %d,
    Number of spares = %d, slips = %s, defects = %s }""" % (
            z.first, z.last, z.spt, z.offset, z.dead, z.track_skew, z.cyl_skew, z.spares,
            z.slips, [n for pair in z.defects for n in pair]) for z in self.zones)
        return """# made by a test
dm_disk TEST {
  Block count = %d, Number of data surfaces = %d, Number of cylinders = %d,
  Layout Model = dm_layout_g1 {
    LBN-to-PBN mapping scheme = %d, Sparing scheme used = %d, Rangesize for sparing = %d,
    Zones = [ %s ]
  },
  Mechanical Model = dm_mech_g1 {
    Access time type = trackSwitchPlusRotation, Seek type = extracted,
    Full seek curve = test.seek, Add. write settling delay = 0.5,
    Head switch time = 0.8, Rotation speed (in rpms) = 7200, Percent error in rpms = 0.0
  }
}
""" % (self.lbns(), self.heads, self.cylinders, self.mapping, self.scheme, self.range_size,
            zones), seeks


def random_disk(seed, scheme, mapping, defects):
    """A small drive with a bit of everything that the scheme can have."""
    rnd = random.Random(seed)
    heads, range_size = rnd.randint(1, 5), rnd.randint(1, 4)
    zones, cyl = [], rnd.choice((0, 0, 2) if mapping == 1 else (0, 1, 2))
    for _ in range(rnd.randint(1, 3)):
        cyls, spt = rnd.randint(6, 16), rnd.randint(7, 40)
        zone = Zone(cyl, cyl + cyls - 1, spt, offset=rnd.randrange(spt),
                    track_skew=rnd.randrange(spt), cyl_skew=rnd.randrange(spt))
        _sparing(rnd, zone, scheme, heads, range_size, defects)
        zones.append(zone)
        cyl += cyls + rnd.choice((0, 0, 1, 2))
    return Disk(heads, zones[-1].last + 1 + rnd.choice((0, 0, 3)), mapping, scheme, range_size,
                zones)


def _sparing(rnd, zone, scheme, heads, range_size, defects):
    """Spares, slips, defects and dead sectors of a zone."""
    cyls, spt = zone.last - zone.first + 1, zone.spt
    cyl, total = spt * heads, spt * heads * cyls
    units = {1: total, 2: cyl, 3: spt, 4: cyl, 8: cyl * range_size}
    zone.dead = rnd.choice((0, 0, rnd.randrange(2 * cyl)))
    zone.spares = {1: rnd.randint(3, 4), 3: rnd.randint(2, 4), 7: 0}.get(scheme,
                                                                      rnd.randint(3, 6))
    if scheme == 1:
        tracks = cyls * heads - zone.spares
        zone.slips = sorted(rnd.sample(range(tracks), rnd.randint(0, min(2, tracks // 2))))
        if defects:
            zone.defects = [(rnd.choice([t for t in range(tracks) if t not in zone.slips]),
                             cyls * heads - 1)]
        return
    unit = units.get(scheme, total)
    for slip in rnd.sample(range(total), rnd.randint(0, 5)):
        in_unit = sum(s // unit == slip // unit for s in zone.slips)
        # a last range that is none has no spares
        whole = scheme != 8 or slip // unit < cyls // range_size
        if scheme in (4, 7) or (whole and in_unit + 2 < zone.spares):
            zone.slips.append(slip)
    zone.slips.sort()
    if rnd.random() < 0.2:
        rnd.shuffle(zone.slips)
    if defects and scheme != 7:
        number = rnd.randrange(total // unit)
        if scheme == 3:         # spares elsewhere than at a cylinder's end cannot be said
            number = number // heads * heads + heads - 1
        bad = number * unit + rnd.randrange(unit - zone.spares)
        if bad not in zone.slips:
            zone.defects = [(bad, (number + 1) * unit - 1)]
