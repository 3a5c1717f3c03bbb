# SPDX-License-Identifier: GPL-2.0
"""Put back the modes of disks whose extraction was killed: mode pages, and features of SATA disks.

What they were is journaled before they are changed (drive/journal.py); this does what the
extraction itself would have done at its end. It is run at boot and when a disk appears, if
`freeblock models enable` was, and whenever somebody likes.
"""

from .. import ToolError, fbstate
from ..base import sealed
from ..base.streams import one_line
from ..drive import ata, journal, modes, names, sgio
from ..machine import mdcheck


def called(identity):
    """A disk's name for people."""
    return " ".join(identity[field] for field in ("vendor", "product", "serial", "wwn")
                    if identity[field])


def restore_one(book, look):
    """Put back what one journal says; (whether that is done or has to wait, a line about it)."""
    try:
        book.lock()
    except journal.Busy as error:
        return True, "%s: left alone: %s" % (book.name, error)
    try:
        content = book.read()
        if content is None:
            return True, "%s: nothing to put back" % book.name
        who = "%s, changed %s by process %d%s" % (
            called(content["identity"]), content["time"], content["pid"],
            "" if content["boot_id"] == sealed.boot_id() else ", before this boot")
        dev = look(content["identity"])
        if dev is None:
            return True, "%s: the disk is not here; the journal is kept: %s" % (who, book.path)
        try:
            written = modes.put_back(ata.Settings(dev), content["pages"])
        finally:
            dev.close()
        book.remove()
        return True, "%s: %s" % (who, "put back" if written else
                                 "had its values already: a reset has put them back")
    except (ToolError, OSError) as error:
        return False, "%s: not put back: %s; the journal is kept" % (book.name, error)
    finally:
        book.unlock()


def restore(books, look=sgio.find, say=print):
    """Put back what journals say; whether none failed."""
    fine = True
    for book in books:
        done, line = restore_one(book, look)
        say(one_line(line))
        fine = fine and done
    return fine


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
    fine = restore(books, look)
    windows = [] if args.device else mdcheck.put_back_all()
    for done, line in windows:
        print(one_line(line))
        fine = fine and done
    if not books and not windows:
        print("nothing to put back%s" % (" for " + args.device if args.device else ""))
    return 0 if fine else 1
