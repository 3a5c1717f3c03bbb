# SPDX-License-Identifier: GPL-2.0
"""Settings of the simulator, as options of a command."""

import math
import os

from .. import UsageError
from ..formats import arrivals

# Files that a run reads
READ = ("model", "trace")

# option, setting, what stands for its value, help
SETTINGS = (
    ("--preset", "preset", "module|paper", "defaults; paper: sptf-sw, two commands, 400 us of "
     "conservatism, no limit lifted, weights flat, gaps only (module)"),
    ("--drive", "drive", "NAME", "a drive of tools/mechdisk/drives, or a .fbdrive file "
     "(atlas10k)"),
    ("--model", "model", "FILE", "its .fbmodel (that of the same name)"),
    ("--knowledge", "knowledge", "none|rates|map", "what the scheduler knows of the drive: its "
     "model (map), or only its size, and rates as it learns them (map)"),
    ("--noise", "noise", "KIND", "seek noise: off, laplace or gauss, with :US for the standard "
     "deviation (the drive's)"),
    ("--seed", "seed", "N", "of drive and foreground (1)"),
    ("--policy", "policy", "clook|sstf|sptf|sptf-sw|none|auto", "none: the drive's own order; "
     "auto: each request with its free read (auto)"),
    ("--foreground-cost-ppm", "foreground_cost_ppm", "PPM", "what free reads may cost in all "
     "under auto (10000)"),
    ("--max-kib-s", "max_kib_s", "KIB", "free reads are no faster than that; 0: no limit (0)"),
    ("--joint-price", "joint_price", "GAPS", "of a turn under joint, in mean gaps (0: found)"),
    ("--sw-percent", "sw_percent", "N", "of sptf-sw (60)"),
    ("--depth", "depth", "N", "commands at the drive, or auto: two while free reads are wanted, "
     "else its own queue (auto; with policy none as many as it takes)"),
    ("--hold", "hold", "0|1", "keep the second command back until the first is about to end (1)"),
    ("--outstanding", "outstanding", "N", "processes of the closed loop (10)"),
    ("--think", "think_ms", "MS", "their think time (0)"),
    ("--think-spread", "think", "constant|exponential", "(constant)"),
    ("--rate", "rate", "PER_S", "Poisson arrivals instead of the closed loop (0: the closed loop)"),
    ("--reads", "reads", "SHARE", "of all requests, 0 to 1 (2/3)"),
    ("--fua", "fua", "SHARE", "of the writes that have FUA (0)"),
    ("--fsync", "fsync", "SHARE", "of the writes that a flush follows (0)"),
    ("--burst", "burst", "N", "arrivals come in bursts of N on the mean, heavy-tailed (0: singly)"),
    ("--size", "size", "SIZES", "of requests: 4k, exp:8k, or 4k/50:8k/30:64k/20 (exp:8k)"),
    ("--locality", "locality", "WHERE", "uniform, zipf, cylinders:N, streams:N or append:N "
     "(uniform)"),
    ("--arrivals", "trace", "FILE", "arrivals from a file with lines MS LBN SECTORS R|W. Or "
     "another file of requests: " + arrivals.FORMATS),
    ("--read-expire", "read_expire_ms", "MS", "longest wait of a read, 0: none (500)"),
    ("--write-expire", "write_expire_ms", "MS", "longest wait of a write, 0: none (5000)"),
    ("--commit", "commit_us", "US", "how long a free slot waits for an answer (300)"),
    ("--lead", "lead_us", "US", "how early a command must be at the drive (200)"),
    ("--task", "task", "TASK", "none; scan: read every block once; fresh: want again "
     "what was read; trickle:MS: a block every so often (none)"),
    ("--range", "range", "FIRST+COUNT", "sectors that the scan wants (all)"),
    ("--granule", "granule", "BYTES", "coverage granule (the model's)"),
    ("--conservatism", "conservatism_us", "US", "added to each seek of the freeblock decision, "
     "or auto: learnt (auto)"),
    ("--target-slowdown-ppm", "target_slowdown_ppm", "PPM", "what free reads may cost then (5000)"),
    ("--max-sectors", "max_sectors", "N", "longest separate read (auto: as the module's buffers)"),
    ("--max-prepend-sectors", "max_prepend_sectors", "N", "longest prepend (auto: the same)"),
    ("--separate", "separate", "0|1", "separate reads (1)"),
    ("--lift", "lift", "LIMITS", "of the paper's that are lifted: source+dest+several, or all, "
     "or auto: as a probe of the drive's look-ahead allows (auto)"),
    ("--pipe-read", "pipe_read_us", "US", "how soon the drive can begin a read that is sent at a "
     "command's end (auto)"),
    ("--pipe-write", "pipe_write_us", "US", "the same of a write (auto)"),
    ("--weight", "weight", "W", "what a block is worth where it lies: flat, balance, edge or "
     "edge:K (balance)"),
    ("--balance", "balance_s", "S", "disk time between two looks at the balance (5)"),
    ("--value", "value", "count|root", "what a track's blocks are worth (root)"),
    ("--hop-steps", "hop_steps", "N", "search budget for one of several pieces (32; 0: no bound)"),
    ("--steps", "steps", "N", "search budget, tracks (100)"),
    ("--search", "search_us", "US", "how long a search takes (0)"),
    ("--guard", "guard_ppm", "PPM", "turns that free reads may cost, 0: no bound "
     "(auto: as the module lets them)"),
    ("--calibrate", "calibrate", "0|1", "correct seek times by what completions say (1)"),
    ("--destage", "destage", "0|1", "wait while a write cache is written to the medium (1)"),
    ("--idle", "idle", "off|on", "also read in idle time (on)"),
    ("--idle-wait", "idle_wait_us", "US", "idle so long before the first idle read (auto)"),
    ("--idle-size", "idle_size_kib", "KIB", "longest idle read (auto)"),
    ("--idle-mean", "idle_mean_us", "US", "what they may cost a request on the mean (1000)"),
    ("--idle-max", "idle_max_us", "US", "and at most (50000)"),
    ("--order", "order", "ORDER", "of idle reads: near, sequential, staggered, or "
     "staggered:REGIONS (near)"),
    ("--segment", "segment_kib", "KIB", "of a region at a time, staggered (64)"),
    ("--idle-command", "idle_command", "read|verify", "(read)"),
    ("--trial", "trial", "N", "one stretch of N is control: no free reads, and the drive is served "
     "as without a task; auto: as many as are of use (0: no trial)"),
    ("--trial-stretch", "trial_s", "S", "length of a stretch (4)"),
    ("--trial-seed", "trial_seed", "N", "of the moments at which control begins (1)"),
    ("--trial-guard", "trial_guard", "0|1", "stop free reads that cost too much by the trial (0)"),
    ("--trial-most-ppm", "trial_most_ppm", "PPM", "bound of its limit, of what a request takes "
     "alone (1000000; 0: none)"),
    ("--start", "start", "MAP", "what is read already: none, random:SHARE of the blocks, "
     "course:SHARE in reads, or a file of --save (none)"),
    ("--save", "save", "FILE", "write there what is left at the end"),
    ("--log", "log", "FILE", "write there arrival and response of each request, ns"),
    ("--seconds", "seconds", "S", "disk time of a run (60)"),
    ("--requests", "requests", "N", "number of foreground requests after which it ends"),
    ("--whole", "whole", "0|1", "end when the scan is complete (0)"),
)
# Of these, what stands for a number; some may be auto
NUMBERS = ("BYTES", "GAPS", "KIB", "MS", "N", "PER_S", "PPM", "S", "US")


def check(args, settings):
    """Refuse, before anything is built, what can be told without the program: a word that is none
    of a setting's, what is no number, a file that is not there."""
    for option, name, metavar, _ in settings:
        for word in (getattr(args, name) or "").split(",") if getattr(args, name) else ():
            if "|" in metavar and word not in metavar.split("|"):
                raise UsageError("%s: %s is none of %s" % (
                    option, word, metavar.replace("|", ", ")))
            if metavar in NUMBERS and word != "auto" and not is_number(word):
                raise UsageError("%s: %s is not a number" % (option, word))
            if metavar == "FILE" and name in READ:
                os.stat(word)


def is_number(word):
    """Whether it is one, as C has them."""
    try:
        return math.isfinite(float(word))
    except ValueError:
        return False


def with_option(said, settings):
    """What the program says of a setting, said of its option."""
    name, colon, rest = said.partition(": ")
    options = {setting: option for option, setting, _, _ in settings}
    return options.get(name, name) + colon + rest
