# SPDX-License-Identifier: GPL-2.0
"""What killed extractions have left of disks' modes, put back from their journals."""

from .. import ToolError
from ..base import sealed
from ..base.streams import one_line
from . import ata, journal, modes, sgio


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
