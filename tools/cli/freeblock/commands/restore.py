# SPDX-License-Identifier: GPL-2.0
"""Put back the modes of disks whose extraction was killed: mode pages, and features of SATA disks.

What they were is journaled before they are changed (drive/journal.py); this does what the
extraction itself would have done at its end. It is run at boot and when a disk appears, if
`freeblock models enable` was, and whenever somebody likes.
"""

from .. import fbstate
from ..base.streams import one_line
from ..drive import journal, names, restoring, sgio
from ..machine import mdcheck


STATUSES = {1: "A disk that is present could not be put back; or an error."}
EXAMPLES = (
    ("freeblock restore", "Put back the modes of all disks."),
    ("freeblock restore sda", "Put back those of one disk."),
)


def add_parser(subparsers):
    """Add `restore`."""
    parser = subparsers.add_parser(
        "restore", help="restore drive modes after a killed extraction",
        description="Restore the modes (caches, reordering) of all drives whose extraction was "
        "ended by SIGKILL, a panic or a power cut. An absent drive keeps its journal.")
    parser.add_argument("device", metavar="DEVICE", nargs="?", type=fbstate.device_path,
                        help="only this disk: /dev/sdX or /dev/sgX")
    parser.add_argument("--journals", metavar="DIR", default=journal.DIRECTORY,
                        help="where the journals are (%(default)s)")
    parser.set_defaults(run=run)


def run(args):
    """Put back and say so."""
    if args.device:
        fbstate.need_device(args.device)
    books = journal.all_of(args.journals)
    look = sgio.find
    if args.device:
        dev = sgio.Disk(args.device)
        who = names.inquire(dev)
        books = [book for book in books if names.is_known(who) and book.name == names.key(who)]

        def look(wanted):
            return dev if names.same(who, wanted) else None
    fine = restoring.restore(books, look)
    windows = [] if args.device else mdcheck.put_back_all()
    for done, line in windows:
        print(one_line(line))
        fine = fine and done
    if not books and not windows:
        print("nothing to put back%s" % (" for " + args.device if args.device else ""))
    return 0 if fine else 1
