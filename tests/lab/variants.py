# SPDX-License-Identifier: GPL-2.0
"""Models of the guests that differ from a file in a record or two: made here, not kept."""

import re
import zlib

import treetest

PRODUCT = r"(?m)^(product .*)"
DISTRUSTED = r"\1\nrevision 1\ndistrusted 60 % of the reads within 50 us, 97 % are needed"
# name: (file, pattern and replacement, ...)
VARIANTS = {
    "bad-granule": ("models/toy", "granule_sectors 8", "granule_sectors 4"),
    "bad-product": ("models/toy", PRODUCT, "product NOTHING"),
    "bad-record": ("models/toy", "(?m)^heads", "wobble 3\nheads"),
    "bad-revision": ("models/toy", PRODUCT, r"\1\nrevision 9"),
    "bad-value": ("models/toy", "(?m)^heads 4", "heads 0"),
    "bad-vendor": ("models/toy", "vendor MECHDISK", "vendor NOBODY"),
    "bad-wwn": ("models/toy", PRODUCT, r"\1\nrevision 1\nwwn naa.5000c500a1b2c3d4"),
    "distrusted": ("models/toy", PRODUCT, DISTRUSTED,
                   "(?m)^seek_spread .*", r"\g<0>\nseek_spread 1000 40000"),
    "distrusted-tiny": ("tests/lab/files/tiny", PRODUCT, DISTRUSTED),
    "qemu-ata": ("tests/lab/files/qemu-scsi", "vendor QEMU", "vendor ATA"),
    "tiny-ata": ("tests/lab/files/tiny", "vendor MECHDISK", "vendor ATA"),
    # another drive of the same size
    "slow-skewed": ("tests/lab/files/slow", "track_skew 0.10?", "track_skew 0.15"),
    "swift-skewed": ("tests/lab/files/swift", "track_skew 0.10?", "track_skew 0.15"),
    # more than the least buffer of a reader holds
    "tiny-coarse": ("tests/lab/files/tiny", "granule_sectors 8", "granule_sectors 256"),
    "tiny-skewed": ("tests/lab/files/tiny", "track_skew 0.10?", "track_skew 0.15"),
    "tiny-swift": ("tests/lab/files/tiny", r"(?m)^(seek \d+) (\d+)",
                   lambda seek: "%s %d" % (seek[1], int(seek[2]) // 2)),
    "tiny-wide": ("tests/lab/files/tiny", "granule_sectors 8", "granule_sectors 16"),
}


def models():
    """(file's name, bytes) of each, with its end record (model-format.rst)."""
    for name, (file, *changes) in VARIANTS.items():
        body = treetest.read(file + ".fbmodel").rpartition("end ")[0]
        for pattern, by in zip(changes[::2], changes[1::2]):
            body, times = re.subn(pattern, by, body)
            if not times:
                raise ValueError("%s: nothing in %s to change" % (name, file))
        body = body.encode()
        yield name + ".fbmodel", body + b"end %d %08x\n" % (len(body), zlib.crc32(body))
