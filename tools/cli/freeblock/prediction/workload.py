# SPDX-License-Identifier: GPL-2.0
"""A workload's attributes: table 2 of the paper, and what it leaves out (variances,
closed arrivals with several processes, where the data lie)."""

import dataclasses
from dataclasses import dataclass

from .. import ToolError

ARRIVALS = ("poisson", "bursty", "constant-open", "constant-closed", "closed")

MOST_BYTES = 1e18       # more than drives have, which have at most 2^48 sectors of 4096
MOST_CV2 = 1e6
LONGEST = 1e6           # requests; those of longer bursts would need very long distributions

# attribute: unit, least, most, whether the least itself is too little
_RANGES = {
    "request_rate": ("requests/s", 1e-9, 1e9, False),
    "request_size": ("bytes", 0, MOST_BYTES, True),
    "request_size_cv2": ("a squared coefficient of variation", 0, MOST_CV2, False),
    "read_fraction": ("a fraction", 0, 1, False),
    "data_span": ("bytes", 0, MOST_BYTES, True),
    "data_start": ("bytes", 0, MOST_BYTES, False),
    "run_length": ("bytes", 0, MOST_BYTES, True),
    "run_stride": ("bytes", 0, MOST_BYTES, False),
    "locality_fraction": ("a fraction", 0, 1, False),
    "requests_per_sparse_run": ("requests", 1, 1e4, False),
    "sparse_run_length": ("bytes", 0, MOST_BYTES, True),
    "sparse_run_fraction": ("a fraction", 0, 1, False),
    "requests_per_burst": ("requests", 1, LONGEST, False),
    "burst_cv2": ("a squared coefficient of variation", 0, MOST_CV2, False),
    "bursty_fraction": ("a fraction", 0, 1, False),
    "burst_rate": ("requests/s", 1e-9, 1e12, False),
    "bursts_meet": ("a fraction", 0, 1, False),
    "outstanding": ("processes", 1, 1e9, False),
    "think_time": ("s", 0, 1e9, False),
    "think_cv2": ("a squared coefficient of variation", 0, MOST_CV2, False),
    "effective_request_rate": ("requests/s", 1e-9, 1e9, False),
}
LARGEST = 2 ** 28       # bytes; those of larger requests would need very long distributions
_OPTIONAL = ("run_length", "run_stride", "requests_per_sparse_run", "sparse_run_length",
             "burst_rate", "outstanding", "effective_request_rate")


def _wrong(name, value, why):
    unit = _RANGES[name][0] if name in _RANGES else "a word"
    return ToolError("workload: %s %r (%s): %s" % (name, value, unit, why))


def unit_of(name):
    """An attribute's unit; None of those that are words."""
    return _RANGES[name][0] if name in _RANGES else None


def check_value(name, value):
    """ToolError if a number is not one of the attribute's."""
    _, least, most, above = _RANGES[name]
    if value is None:
        if name not in _OPTIONAL:
            raise _wrong(name, value, "is required")
        return
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value != value:
        raise _wrong(name, value, "not a number")
    if value < least or above and value == least:
        raise _wrong(name, value, "must be %s %g" % ("over" if above else "at least", least))
    if value > most:
        raise _wrong(name, value, "must be at most %g" % most)


@dataclass(frozen=True)
class Workload:
    """Means over a workload's life, unless they are said to be something else."""

    request_rate: float             # 1/s, in the long run
    arrival_process: str            # one of ARRIVALS
    request_size: float             # bytes
    read_fraction: float
    data_span: float                # bytes; requests are uniform over
    data_start: float = 0           # [data_start, data_start + data_span)
    request_size_cv2: float = 0
    run_length: float = None        # bytes of a run of contiguous requests; None: no runs
    run_stride: float = None        # bytes from a run's start to the next's; None: random
    locality_fraction: float = 1    # share of the requests that are in runs, if there are any
    requests_per_sparse_run: float = None
    sparse_run_length: float = None             # bytes
    sparse_run_fraction: float = 0
    requests_per_burst: float = 1
    burst_cv2: float = 0            # of the requests per burst
    bursty_fraction: float = 0
    burst_rate: float = None        # 1/s, within a burst
    bursts_meet: float = 1          # 1: bursts, and what is in none, come by chance; 0: one
                                    # burst is over before the next and what is in none
    outstanding: int = None         # "closed": so many processes, one request each
    think_time: float = 0           # s, between a process's report and its next request
    think_cv2: float = 0
    effective_request_rate: float = None        # 1/s, pauses over 1 s taken out

    def check(self):
        """self; ToolError names the attribute that is wrong, its value, unit and why."""
        if self.arrival_process not in ARRIVALS:
            raise _wrong("arrival_process", self.arrival_process,
                         "not one of " + ", ".join(ARRIVALS))
        for name in _RANGES:
            check_value(name, getattr(self, name))
        self._check_together()
        return self

    def _check_together(self):
        if self.request_size > self.data_span:
            raise _wrong("request_size", self.request_size,
                         "more than data_span, %g bytes" % self.data_span)
        if self.request_size * (1 + self.request_size_cv2) > LARGEST:
            raise _wrong("request_size", self.request_size, "with request_size_cv2 %g: times 1 + "
                         "request_size_cv2 more than %d bytes" % (self.request_size_cv2, LARGEST))
        if self.run_length is not None and self.run_length < self.request_size:
            raise _wrong("run_length", self.run_length,
                         "less than request_size, %g bytes" % self.request_size)
        if self.run_length is not None and self.run_length > self.data_span:
            raise _wrong("run_length", self.run_length,
                         "more than data_span, %g bytes" % self.data_span)
        if self.requests_per_burst * (1 + self.burst_cv2) > LONGEST:
            raise _wrong("requests_per_burst", self.requests_per_burst, "with burst_cv2 %g: times "
                         "1 + burst_cv2 more than %g" % (self.burst_cv2, LONGEST))
        if self.arrival_process == "closed":
            if self.outstanding is None:
                raise _wrong("outstanding", None, "is required for closed arrivals")
            if self.outstanding != int(self.outstanding):
                raise _wrong("outstanding", self.outstanding, "not a whole number")
        if self.arrival_process == "bursty" and not self.bursty_fraction:
            raise _wrong("bursty_fraction", self.bursty_fraction,
                         "must be over 0 for bursty arrivals, as requests_per_burst over 1")
        if self.arrival_process == "bursty" and self.burst_rate is not None and \
                self.burst_rate < self.request_rate:
            raise _wrong("burst_rate", self.burst_rate,
                         "less than request_rate, %g requests/s" % self.request_rate)
        if self.sparse_run_fraction and self.requests_per_sparse_run is None:
            raise _wrong("requests_per_sparse_run", None,
                         "is required for a sparse_run_fraction over 0")

    @property
    def requests_per_run(self):
        """Mean number of requests of a run; 1 if there are none."""
        return 1 if self.run_length is None else self.run_length / self.request_size

    @property
    def has_runs(self):
        """Whether any requests are in runs or sparse runs."""
        return self.requests_per_run > 1 and self.locality_fraction > 0 or \
            self.sparse_run_fraction > 0 and self.requests_per_sparse_run > 1

    @property
    def rate(self):
        """Requests/s while the workload is not idle: effective_request_rate if it is given."""
        return self.request_rate if self.effective_request_rate is None else \
            self.effective_request_rate

    @classmethod
    def from_dict(cls, said):
        """Of attributes by name, as in JSON; checked."""
        if not isinstance(said, dict):
            raise ToolError("workload: attributes by name are expected, not %r" % (said,))
        known = dataclasses.fields(cls)
        odd = sorted(set(said) - {field.name for field in known})
        if odd:
            raise ToolError("workload: no such attribute: " + ", ".join(odd))
        missing = [field.name for field in known
                   if field.default is dataclasses.MISSING and field.name not in said]
        if missing:
            raise ToolError("workload: missing: " + ", ".join(missing))
        return cls(**said).check()

    def to_dict(self):
        """Attributes by name, those at their default left out."""
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)
                if field.default is dataclasses.MISSING or
                getattr(self, field.name) != field.default}
