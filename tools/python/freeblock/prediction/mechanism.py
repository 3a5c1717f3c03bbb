# SPDX-License-Identifier: GPL-2.0
"""The disk mechanism (4.1): the time of a request that no cache answers, from its arrival at
an idle drive to its report, as a distribution: (1) to (5) with what the paper leaves out."""

import numpy as np

from .access import Access, Tracks
from .device import SECTOR
from .distribution import STEP, Dist, nice_length
from .runs import CELLS, Run
from .seek import Move, Span

ALIGNED = 4096          # bytes
SIZES = 4               # sizes that stand for a distribution of sizes
MOVES = 8               # slices of the seek's distribution, where data may be late
ZONES_OF_RUNS = 3


def gamma_nodes(mean, cv2, count=SIZES):
    """(values, weights) with the first 2 * count - 1 moments of the gamma distribution with
    that mean and squared coefficient of variation: Gauss's rule from the recurrence of
    Laguerre's polynomials (Golub and Welsch, 1969)."""
    if cv2 <= 0:
        return np.array([float(mean)]), np.ones(1)
    alpha = 1 / cv2 - 1
    i = np.arange(count)
    beside = np.sqrt(i[1:] * (i[1:] + alpha))
    values, vectors = np.linalg.eigh(np.diag(2 * i + alpha + 1) + np.diag(beside, 1) +
                                     np.diag(beside, -1))
    return values * cv2 * mean, vectors[0] ** 2


def _slices(rows, step):
    """(means, widths) [row, slice] of MOVES slices, equally likely, of rows of probabilities."""
    share = np.linspace(0, 1, MOVES * 4 + 1)
    edges = (np.arange(rows.shape[1] + 1) - 0.5).clip(0) * step
    at = np.stack([np.interp(share, np.append(0, np.cumsum(row)), edges) for row in rows])
    means = ((at[:, 1:] + at[:, :-1]) / 2).reshape(len(rows), MOVES, 4).mean(axis=2)
    return means, at[:, 4::4] - at[:, :-4:4]


def _convolve_rows(weights, first, second):
    """Probabilities of the sum of two times that are independent given the row."""
    length = first.shape[1] + second.shape[1] - 1
    size = nice_length(length)
    p = np.fft.irfft(weights @ (np.fft.rfft(first, size) * np.fft.rfft(second, size)), size)
    return np.maximum(p[:length], 0.0)


class Mechanism:
    """A device under a workload. Times are Dists or s. read: True, False, or None for the
    workload's mixture."""

    def __init__(self, device, workload, step=STEP):
        self.device, self.workload, self.step = device, workload, step
        self.span = Span(device, workload)
        self.zone_weights = device.zone_weights(workload)
        self.sizes = gamma_nodes(workload.request_size, workload.request_size_cv2)
        self._tracks, self._move, self._kept = {}, {}, {}

    def _once(self, key, make):
        if key not in self._kept:
            self._kept[key] = make()
        return self._kept[key]

    def _either(self, read, make):
        """make(True), make(False), or their mixture."""
        if read is not None:
            return make(bool(read))
        share = self.workload.read_fraction
        if share in (0, 1):
            return make(bool(share))
        return Dist.mix((share, 1 - share), (make(True), make(False)))

    # the host's side

    def _overheads(self, read):
        """(behind a read, behind a write), s."""
        device = self.device
        usual, other = (device.read_overhead, device.read_overhead_after_write) if read else \
            (device.write_overhead, device.write_overhead_after_write)
        return usual, usual if other is None else other

    def overhead(self, read=True):
        """s, mean: from the arrival at an idle drive until the arm moves."""
        usual, other = self._overheads(read)
        return self.workload.read_fraction * usual + (1 - self.workload.read_fraction) * other

    def report(self, read=True):
        """s, mean: from the last sector's end to the report."""
        return self.device.read_report if read else self.device.write_report + self.read_first

    @property
    def read_first(self):
        """s: a write that covers a physical block in part reads it before, and writes it a turn
        later. Who asks for less than a block, or always for parts of one, is taken to do so each
        time; else requests are aligned(). Not in the paper."""
        load, block = self.workload, self.device.block
        parts = not load.request_size_cv2 and load.request_size % block
        return self.device.revolution_time if load.request_size < block or parts else 0.0

    # seeks

    def move(self, read=True):
        """seek.Move, prepared."""
        if read not in self._move:
            self._move[read] = Move(self.device, self.span, read, self.step)
        return self._move[read]

    def seek(self, n=1, read=None):
        """Dist of the move to one of n random requests, (2) and (4), settling included."""
        return self._either(read, lambda r: self._once(
            ("seek", n, r), lambda: self.move(r).dist(n)))

    @property
    def continuing(self):
        """Share of the requests that continue a run: what (3) is 1 less of, with the locality
        fraction that the paper mentions below it."""
        return self.workload.locality_fraction * (1 - 1 / self.workload.requests_per_run)

    @property
    def pending_of_stride(self):
        """The n of (4) whose mean distance C / (n + 2) is the workload's run stride less the
        run; 1 if it has none. The reading of 4.5's run_stride_D in both directions; a mean
        over C / 2 is n = 0."""
        stride = self.workload.run_stride
        if stride is None:
            return 1.0
        run = self.workload.run_length or self.workload.request_size
        # a stride backwards, over the run it begins with, is as long a seek
        gap = max(abs(stride - run), self.workload.request_size)
        return max(self.workload.data_span / gap - 2, 0.0)

    def mean_seek(self, n=None, read=None):
        """E[ST_seq] in s, (3): over all requests, those that continue a run included."""
        n = self.pending_of_stride if n is None else n
        return (1 - self.continuing) * self.seek(n, read).mean()

    # rotation and transfer

    def tracks(self, read=True):
        """access.Tracks, prepared."""
        if read not in self._tracks:
            self._tracks[read] = Tracks(self.device, self.zone_weights, self.span.groups, read,
                                        self.aligned)
        return self._tracks[read]

    @property
    def aligned(self):
        """Bytes that requests begin at multiples of, as file systems have it: 4096 if their size
        is a multiple of that, else of the disk's blocks. Not in the paper."""
        whole = self.workload.request_size % ALIGNED == 0 and not self.workload.request_size_cv2
        return ALIGNED if whole else self.device.block

    def _sizes(self, size, cv2):
        if size is None:
            return self.sizes
        return gamma_nodes(size, cv2)

    def access(self, read=True, size=None, cv2=0, landing=None):
        """Dist of the time from the head's landing on the track to the last sector's end:
        rotational latency (5) and transfer jointly. landing: None: anywhere; else the angle in
        turns past the first wanted sector's beginning."""
        def make():
            values, weights = self._sizes(size, cv2)
            return Dist.mix(weights, [
                Access(self.tracks(read), value / SECTOR).dist(self.step, landing)
                for value in values])
        return self._once(("access", read, size, cv2, landing), make)

    def transfer(self, size=None, cv2=0, read=True):
        """Dist of TT[size]: the sectors, and switches of track and cylinder amid them, from the
        instant the first is under the head; a zone as likely as its bytes."""
        return self.access(read, size, cv2, landing=0.0)

    def rotation(self, read=True, size=None):
        """Dist of the rotational latency RL of a random request, (5): even over a turn; with
        zero-latency access what a landing in the transfer saves of it (the time from the
        landing to the end, less the transfer's) is taken off."""
        turn = self.device.revolution_time
        if not self.device.zero_latency:
            return Dist.uniform(0, turn, self.step)
        left = self.access(read, size).mean() - self.transfer(size, 0, read).mean()
        # if a share of a turn is wanted, (1 - share^2) / 2 are left of a turn, on the mean
        inside = np.sqrt(min(max(1 - 2 * left / turn, 0.0), 1.0))
        part = [Dist.uniform(0, (1 - inside) * turn, self.step),
                Dist.constant((1 - inside) * turn, self.step)]
        return Dist.mix((1 - inside, inside), part)

    # whole requests

    def _arrived(self, move, read, access):
        """Rows of moves, or of the wait for a write's data where that is longer."""
        tracks = self.tracks(read)
        wait = tracks.bus * access.count if tracks.zero_latency else access.late()
        if read or wait * tracks.turn < self.step:
            return move
        return np.stack([Dist(self.step, row).at_least(wait * tracks.turn).p for row in move])

    def _one_size(self, n, read, size):
        """Probabilities of move, rotation and transfer together. Zone by zone, since those
        that are far from the others are also slower or faster."""
        tracks, access = self.tracks(read), Access(self.tracks(read), size / SECTOR)
        move = self._once(("moves", n, read), lambda: self.move(read).rows(n))
        if tracks.slow_bus and not (read or tracks.zero_latency or access.mostly_one_track):
            return tracks.weights @ access.rows(self.step, None, _slices(move, self.step))
        return _convolve_rows(tracks.weights, self._arrived(move, read, access),
                              access.rows(self.step))

    def _host(self, dist, read):
        """With overhead and report: the overhead is that behind a read or a write."""
        share, report = self.workload.read_fraction, self.report(read)
        usual, other = self._overheads(read)
        if usual == other or share in (0, 1):
            return dist.shift(self.overhead(read) + report)
        return Dist.mix((share, 1 - share), (dist.shift(usual + report),
                                             dist.shift(other + report)))

    def random(self, n=1, read=None, size=None, cv2=0):
        """Dist of Mech_Service_Time, (1), of a randomly placed request of n pending ones, from
        its arrival at an idle drive to its report."""
        def make(r):
            values, weights = self._sizes(size, cv2)
            dist = Dist.mix(weights, [Dist(self.step, self._one_size(n, r, value))
                                      for value in values])
            return self._host(dist, r).cut()
        return self._either(read, lambda r: self._once(("random", n, r, size, cv2),
                                                       lambda: make(r)))

    def within_run(self, read=True, gap=0.0, size=None, cv2=0):
        """Dist of the service time of the next request of a run, without a cache hit: what has
        passed under the head since the last sector (its report, `gap` s or a Dist of them,
        the overhead) must come round again, nearly a whole turn, NOT (5). gap None: the
        angle is even over a turn. Not in the paper."""
        read = bool(read)
        before, own = self.report(read), self._overheads(read)[not read]
        return self._once(("within", read, gap, size, cv2), lambda: self._continued(
            read, gap, before + own, size, cv2).shift(before + own).cut())

    def _tracks_of_runs(self, read):
        """With fewer zones where many angles are told apart."""
        groups = self.span.groups
        if not self.device.zero_latency or groups[-1] < ZONES_OF_RUNS:
            return self.tracks(read)
        return self._once(("few", read), lambda: Tracks(
            self.device, self.zone_weights, groups * ZONES_OF_RUNS // (groups[-1] + 1), read,
            self.aligned))

    def _continued(self, read, gap, passed, size, cv2):
        """From when the head may go on, `passed` s and the gap after the last sector, to the
        end."""
        turn = self.device.revolution_time
        if gap is None:
            return self.access(read, size, cv2)
        values, weights = self._sizes(size, cv2)
        if isinstance(gap, Dist):
            at = ((gap.times + passed) / turn * CELLS).astype(np.int64) % CELLS
            angle = np.bincount(at, gap.p, CELLS)
        else:
            angle = (gap + passed) / turn % 1
        run = Run(self._tracks_of_runs(read), values / SECTOR, weights, angle)
        return Dist(self.step, run.probabilities(max(self.workload.requests_per_run, 2), self.step))

    def service(self, n=None, read=None, gap=None):
        """Dist of the service time of a request of the workload that no cache answers: the
        first of a run, or one of none, or one that continues a run (`gap` as for
        within_run())."""
        n = self.pending_of_stride if n is None else n
        share = self.continuing
        if not share:
            return self.random(n, read)
        return self._either(read, lambda r: Dist.mix(
            (1 - share, share), (self.random(n, r), self.within_run(r, gap))))

    # for who asks what is on its way already (eq. 9)

    def positioning(self, read=True):
        """Dist of the time from the arm's start to a random request's first sector (with
        zero-latency access: of seek and rotation() ), the arm being at a random request."""
        return self._once(("position", read), lambda: self.seek(1, read).convolve(
            self.rotation(read)).cut())
