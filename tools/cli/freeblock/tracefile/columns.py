# SPDX-License-Identifier: GPL-2.0
"""Tables: a request a line, a column for each thing that is known of it.

FORMS are those that are published, or that other programs write; headers of columns are obeyed
whatever their order. What a column is for:

time, end       when the request came, when it was completed; end: less the response it came
response        from one to the other
op              read or write; others are left out
byte, size      first byte and number of bytes
sector, count   the same in sectors of 512 bytes
device, part    which device: one column or two
name            a program's, which may have blanks
-               nothing that is wanted here
"""

import collections
import io
import re

import numpy as np

from . import NS, make_chunk, take
from .text import BLOCK, Devices, shown
from .text import MOST_NS as MOST_RESPONSE_NS

SECTOR = 512
MOST = (1 << 63) - 1
# 1990 to 2100 since 1970 in s; the first of them in the clock of Windows, which counts from 1601
YEARS_S = (631152000, 4102444800)
WINDOWS_S = 11644473600

READ, WRITE = b"r", b"w"
# What stands in a column of operations: words, or a program's numbers; None: no read and no write
NAMED = {b"read": READ, b"write": WRITE, b"": None, b"-": None, b"n": None, b"none": None}
DIGITS = {b"0": READ, b"1": WRITE}
FIO = {**DIGITS, b"2": None}
RWBS = re.compile(rb"F?([RW])[A-Z]*\Z|F?D[A-Z]*\Z|F[A-Z]*\Z|N[A-Z]*\Z", re.I)

# sep: b",", or None for blanks; dated: times are those of a calendar
Form = collections.namedtuple("Form", "name columns unit response sep ops device dated words",
                              defaults=(b",", NAMED, "%s", False, ""))
MSR = Form("MSR Cambridge CSV", "time device part op byte size response", "100ns", "100ns",
           device="%s.%s", dated=True,
           words="TIMESTAMP,HOSTNAME,DISK,Read|Write,OFFSET,SIZE,RESPONSE")
SYSTOR = Form("SYSTOR '17", "time response op device byte size", "s", "s", dated=True,
              words="TIMESTAMP,RESPONSE,R|W,LUN,OFFSET,SIZE")
ALIBABA = Form("Alibaba", "device op byte size time", "us", None, dated=True,
               words="DEVICE,R|W,OFFSET,LENGTH,TIMESTAMP")
TENCENT = Form("Tencent CBS", "time sector count op device", "s", None, ops=DIGITS, dated=True,
               words="TIMESTAMP,OFFSET,SIZE,0|1,VOLUME")
SPC = Form("SPC", "device sector size op time", "s", None, words="ASU,LBA,SIZE,R|W,TIMESTAMP")
FIO_LOG = Form("fio's log of latencies", "end response op size byte", "ms", "ns", ops=FIO,
               words="MS, NS, 0|1|2, BYTES, OFFSET")
FIU = Form("FIU", "time - - sector count op device part", "ns", None, None, device="%s,%s",
           words="NS PID PROCESS LBA SECTORS R|W MAJOR MINOR")
DISKSIM = Form("DiskSim ASCII", "time device sector count op", "ms", None, None, ops=None,
               words="MS DEVICE BLOCK BLOCKS FLAGS")
ARRIVALS = Form("sim --arrivals", "time sector count op", "ms", None, None,
                words="MS LBN SECTORS R|W")


def kind_of(word, ops):
    """READ, WRITE, None for what is neither; KeyError for an unknown word."""
    if ops is None:
        # DiskSim's flags in hex, of which the first is that of a read
        return READ if int(word, 16) & 1 else WRITE
    word = word.lower()
    if word in ops:
        return ops[word]
    match = ops is NAMED and RWBS.match(word)
    if not match:
        raise KeyError(word)
    return match.group(1)


def named(device, part):
    """Whether these can be a device's columns, of which the second is a number."""
    return bool(device) and part.isdigit()


def number(word):
    """Of a word: an int, or a float where it has decimals; ValueError."""
    if word.isdigit() and len(word) <= 19:
        return int(word)
    if not re.fullmatch(rb"\d{1,19}\.\d{0,12}", word):
        raise ValueError(word)
    return float(word)


def words_of(line, sep):
    """A line's words."""
    if sep is None:
        return line.split(b"#")[0].split()
    return [word.strip() for word in line.split(sep)] if line.strip() else []


class Table:
    """Reads the lines of one form. unit_ns, response_ns: of its times."""

    def __init__(self, source, form, unit_ns, response_ns, header=False, width=0):
        self.source, self.form = source, form
        self.unit_ns, self.response_ns = unit_ns, response_ns
        self.header = header
        self.roles = form.columns.split()
        # how many columns the first line has: most have as many
        self.width = max(width, len(self.roles))
        self.wanted = {role: n for n, role in enumerate(self.roles) if role not in ("-", "name")}
        self.devices = Devices(source)
        self.began, self.before = None, None

    def error(self, place, reason):
        """Of a line."""
        return self.source.error(place, reason)

    def row(self, line, place):
        """A line's values by role; None if it is no request."""
        words = words_of(line, self.form.sep)
        if not words:
            return None
        if "name" in self.roles and len(words) > len(self.roles):
            at = self.roles.index("name")
            words[at:at + len(words) - len(self.roles) + 1] = [b"-"]
        if len(words) < len(self.roles) or (self.form.name not in LOOSE and
                                            len(words) != self.width):
            raise self.error(place, "not %s: %s" % (self.form.words, shown(line)))
        found = {role: words[n] for role, n in self.wanted.items()}
        try:
            found["op"] = kind_of(found["op"], self.form.ops)
            if found["op"] is None:
                return None
            if not named(found.get("device", b"-"), found.get("part", b"0")):
                raise ValueError(words)
            for role in found.keys() - {"op", "device", "part"}:
                found[role] = -1 if role == "response" and not found[role] else number(found[role])
        except (KeyError, ValueError) as error:
            raise self.error(place, "not %s: %s" % (self.form.words, shown(line))) from error
        self.check(found, place)
        return found

    def check(self, found, place):
        """Error for what no request can have."""
        size, at = (found["size"], found["byte"]) if "byte" in found else \
            (found.get("count", found.get("size")), found["sector"])
        if not size:
            raise self.error(place, "a request of no bytes")
        if max(at + size, found.get("time", 0), found.get("end", 0)) > MOST:
            raise self.error(place, "a number above %d" % MOST)
        response = found.get("response", 0) * (self.response_ns or 1)
        if response > MOST_RESPONSE_NS:
            raise self.error(place, "a response of %d s" % (response // 10 ** 9))

    def slowly(self, block):
        """A block's columns, and its lines' numbers: line by line, which finds what is wrong."""
        rows, places = [], []
        for place, line in enumerate(block.data.split(b"\n"), block.first):
            row = self.row(line, place)
            if row:
                rows.append(row)
                places.append(place)
        return {role: np.array([row[role] for row in rows]) for role in self.wanted}, \
            np.array(places, np.int64)

    def quickly(self, block):
        """The same; None for a block that has anything out of the ordinary."""
        sep = self.form.sep
        lines = block.data.count(b"\n")
        if lines * (self.width - (sep is not None)) != (
                block.data.count(sep) if sep else len(block.data.split())) or b"#" in block.data:
            return None
        try:
            # large, and nothing else wants it
            import pandas  # pylint: disable=import-outside-toplevel
            found = pandas.read_csv(
                io.BytesIO(block.data), header=None, names=range(self.width),
                usecols=list(self.wanted.values()), sep="," if sep else r"\s+", quoting=3,
                dtype={n: "category" for role, n in self.wanted.items()
                       if role in ("op", "device", "part")}, index_col=False, na_filter=False,
                skipinitialspace=True, skip_blank_lines=False, engine="c",
                float_precision="high")
        except (ImportError, ValueError, OverflowError):
            return None
        found = {role: found[n] for role, n in self.wanted.items()}
        return self.checked(found, block.first)

    def checked(self, found, first):
        """The columns as arrays with those left out that are no requests; None if slowly() has to
        tell what is wrong."""
        columns = {}
        for role, column in found.items():
            if role == "op":
                try:
                    kinds = [kind_of(str(word).strip().encode(), self.form.ops)
                             for word in column.cat.categories]
                except (KeyError, ValueError):
                    return None
                columns[role] = np.array(kinds + [None], object)[column.cat.codes.to_numpy()]
            elif role in ("device", "part"):
                names = [str(name).strip().encode() for name in column.cat.categories]
                if not all(named(name, name if role == "part" else b"0") for name in names):
                    return None
                columns[role] = np.array(names, object)[column.cat.codes.to_numpy()]
            elif column.dtype.kind not in "if" or (column < 0).any() or (column > 2 ** 62).any():
                return None
            else:
                columns[role] = column.to_numpy()
        size = columns["size" if "size" in columns else "count"]
        if (size < 1).any() or size.dtype.kind == "f" or (
                "response" in columns and
                (columns["response"] > MOST_RESPONSE_NS // self.response_ns).any()):
            return None
        moves = columns["op"] != None  # noqa: E711 pylint: disable=singleton-comparison
        places = first + np.flatnonzero(moves)
        return {role: column[moves] for role, column in columns.items()}, places

    def mine(self, columns, places):
        """Which rows are of the device that is wanted."""
        if "device" not in columns:
            return np.ones(len(places), dtype=bool)
        parts = [columns[role] for role in ("device", "part") if role in columns]
        found = np.zeros(len(places), dtype=bool)
        rest = np.ones(len(places), dtype=bool)
        while rest.any():
            at = int(np.argmax(rest))
            same = np.logical_and.reduce([part == part[at] for part in parts])
            name = self.form.device % tuple(part[at].decode("utf-8", "replace") for part in parts)
            if self.devices.takes(name, int(places[at])):
                found |= same
            rest &= ~same
        return found

    def extent(self, columns):
        """(first sector, sectors) of each row."""
        if "byte" in columns:
            ends = -(-(columns["byte"] + columns["size"]) // SECTOR)
            return columns["byte"] // SECTOR, ends - columns["byte"] // SECTOR
        return columns["sector"], columns["count"] if "count" in columns else \
            -(-columns["size"] // SECTOR)

    def chunk(self, block):
        """A block's requests."""
        if self.header and block.first == 1:
            block = block._replace(data=block.data[block.data.index(b"\n") + 1:], first=2)
        if not block.data.strip():
            return make_chunk((), (), (), (), ())
        columns, places = self.quickly(block) or self.slowly(block)
        when = columns["time" if "time" in columns else "end"]
        if not len(when):
            return make_chunk((), (), (), (), ())
        if block.cut and self.before is not None and when[0] < self.before:
            raise self.error(block.first, "a time before the one before")
        if self.began is None:
            # nanoseconds since 1601 would not fit
            self.began = when[0]
        self.before = when[-1]
        time_ns = self.source.nanoseconds(when - self.began, self.unit_ns, block.first)
        if self.form.columns == TENCENT.columns and self.unit_ns == NS["s"]:
            time_ns = self.spread(time_ns)
        response_ns = np.full(len(when), -1)
        if "response" in columns:
            response_ns = self.source.nanoseconds(columns["response"], self.response_ns,
                                                  block.first)
            response_ns[response_ns < 0] = -1
        if "time" not in columns:
            time_ns -= np.maximum(response_ns, 0)
        found = make_chunk(time_ns, *self.extent(columns), columns["op"] == WRITE, response_ns)
        return take(found, self.mine(columns, places))

    def spread(self, time_ns):
        """Times in whole seconds: what comes within one is spread over it."""
        starts = np.flatnonzero(np.diff(time_ns, prepend=time_ns[0] - 1))
        counts = np.diff(np.append(starts, len(time_ns)))
        if counts.max() > 1:
            self.source.note("times in whole seconds: the requests of each are spread over it")
        place = np.arange(len(time_ns)) - np.repeat(starts, counts)
        return time_ns + place * 10 ** 9 // np.repeat(counts, counts)


# What has columns behind the ones that are wanted as it likes
LOOSE = (SPC.name, FIO_LOG.name, FIU.name, ARRIVALS.name)
# What a header may call a column, without the unit that may follow it
HEADS = {
    "time": "time timestamp ts arrival arrivaltime issuetime start starts",
    "end": "end ends endtime completiontime",
    "response": "response responsetime latency lat resp elapsed duration",
    "op": "op opcode type iotype rw t rwbs operation readwrite io ddir",
    "byte": "offset byteoffset",
    "sector": "sector lba lbn block blkno startlba startsector blocknumber",
    "size": "size bytes length len iosize",
    "count": "sectors blocks nsectors bcount blkcount count",
    "device": "hostname host disk deviceid volumeid lun device dev devno asu diskid volume",
    "part": "disknumber",
    "name": "comm command process",
}
ROLES = {word: role for role, words in HEADS.items() for word in words.split()}
UNITS = re.compile(r"^(.*?)[\s_(\[]*(ns|us|ms|s)[\])]*$")
HEAD = re.compile(rb"\s*\"?[A-Za-z_]")


def role_of(word):
    """(role or -, unit or None) of a header's word."""
    text = word.decode("ascii", "replace").strip("\" #").lower()

    def plain(name):
        return ROLES.get(re.sub(r"[^a-z0-9]", "", name), "-")

    match = UNITS.match(text)
    if plain(text) == "-" and match and plain(match.group(1)) in ("time", "end", "response"):
        return plain(match.group(1)), match.group(2)
    return plain(text), None


def of_header(line):
    """The form that a line of names stands for; None if it is none of columns."""
    sep = b"," if b"," in line else None
    found = [role_of(word) for word in words_of(line.replace(b"#", b""), sep)]
    roles = [role for role, _ in found]
    names = {re.sub(rb"[^a-z]", b"", word.lower()) for word in words_of(line, sep)}
    if "op" not in roles and not {"byte", "sector"} & set(roles):
        return None
    units = {role: unit for role, unit in found if unit}
    if {"name", "response", "time"} <= set(roles) and "end" not in roles:
        # biosnoop prints when a request has ended
        roles[roles.index("time")] = "end"
        units["end"] = units.get("time")
    if "device" not in roles and "part" in roles:
        roles[roles.index("part")] = "device"
    form = Form("a table", " ".join(roles), units.get("time") or units.get("end"),
                units.get("response"), sep, words=line.strip().decode("ascii", "replace"))
    if {b"hostname", b"disknumber"} & names:
        form = form._replace(unit=MSR.unit, response=MSR.response, dated=True)
    elif b"lun" in names:
        form = form._replace(unit=SYSTOR.unit, response=SYSTOR.response, dated=True)
    elif b"deviceid" in names:
        form = form._replace(unit=ALIBABA.unit, dated=True)
    elif b"volumeid" in names:
        columns = form.columns.replace("byte", "sector").replace("size", "count")
        form = form._replace(columns=columns, unit=TENCENT.unit, ops=DIGITS, dated=True)
    elif b"asu" in names:
        form = form._replace(unit=SPC.unit)
    if roles.count("part") and roles.count("device"):
        form = form._replace(device=MSR.device)
    return form


INTEGER = rb"\d{1,19}"
DECIMAL = rb"\d{1,19}(?:\.\d*)?"
OP = rb"(?:[rRwW]|[rR][eE][aA][dD]|[wW][rR][iI][tT][eE])"


def _line(*words, sep=rb"\s*,\s*", more=rb"(?:\s*,.*)?"):
    return re.compile(rb"\s*" + sep.join(words) + more + rb"\s*\Z")


BLANKS = {"sep": rb"\s+", "more": rb"(?:\s+\S.*)?"}
NO_OFFSETS = "fio's log has no offsets: have fio write them, with log_offset=1"
# What a first line without names looks like; a text in place of a form: why it is none
LINES = (
    (_line(INTEGER, rb"[^,\s]+", rb"\d{1,9}", OP, INTEGER, INTEGER, INTEGER), MSR),
    (_line(DECIMAL, rb"(?:" + DECIMAL + rb")?", rb"[RWrw]?", rb"\d+", INTEGER, INTEGER, more=b""),
     SYSTOR),
    (_line(INTEGER, OP, INTEGER, INTEGER, DECIMAL, more=b""), ALIBABA),
    (_line(rb"\d{1,9}", INTEGER, rb"\d{1,9}", OP, DECIMAL), SPC),
    (_line(rb"[1-3]\d{9}(?:\.\d+)?", INTEGER, rb"\d{1,9}", rb"[01]", INTEGER, more=b""), TENCENT),
    (_line(INTEGER, INTEGER, rb"[012]", rb"\d{1,12}", more=rb"(?:\s*,\s*(?:0x\w+|1))?"),
     NO_OFFSETS),
    (_line(INTEGER, INTEGER, rb"[012]", rb"\d{1,12}", INTEGER), FIO_LOG),
    (_line(INTEGER, rb"\d+", rb"\S+", INTEGER, rb"\d{1,9}", OP, rb"\d+", rb"\d+", **BLANKS), FIU),
    (_line(DECIMAL, rb"\d{1,9}", INTEGER, rb"\d{1,9}", rb"(?:0x)?[0-9a-fA-F]{1,8}", sep=rb"\s+",
           more=b""), DISKSIM),
    (_line(DECIMAL, INTEGER, rb"\d{1,9}", OP, sep=rb"\s+", more=rb"(?:\s*#.*)?"), ARRIVALS),
)
# MSR's columns with others among them: the operation tells where they are
OTHERS = re.compile(rb"\s*\d{1,19}\s*,(?P<before>(?:[^,]*,)*?)\s*[^,\s]+\s*,\s*\d{1,9}\s*,\s*"
                    rb"(?:read|write)\s*,\s*\d+\s*,\s*\d+\s*,\s*\d+\s*(?:,.*)?\Z", re.I)


def of_line(line):
    """The form of a first line without names, a text why it is none, or None."""
    found = next((form for pattern, form in LINES if pattern.match(line)), None)
    if found is None and OTHERS.match(line):
        columns = MSR.columns.split()
        extra = OTHERS.match(line).group("before").count(b",")
        found = MSR._replace(columns=" ".join(columns[:1] + ["-"] * extra + columns[1:]))
    return found


def in_years(value, unit_ns):
    """Whether a time is one of these years."""
    seconds = value * unit_ns / 1e9
    return YEARS_S[0] < (seconds - WINDOWS_S * (unit_ns == NS["100ns"])) < YEARS_S[1]


def unit_of(source, form, line, place):
    """The ns of a table's unit of time; Error if it is not that of the form."""
    if source.unit_ns:
        return source.unit_ns
    columns = form.columns.split()
    at = columns.index("time" if "time" in columns else "end")
    words = words_of(line, form.sep)
    try:
        first = number(words[at])
    except (IndexError, ValueError) as error:
        raise source.error(place, "not %s: %s" % (form.words, shown(line))) from error
    others = [name for name, ns in NS.items() if in_years(first, ns)]
    if form.unit and not (form.dated and others and form.unit not in others):
        source.sure = form.dated and bool(others)
        return NS[form.unit]
    if not form.unit and len(others) == 1:
        return NS[others[0]]
    if not form.unit and isinstance(first, float):
        source.sure = False
        return NS["s"]
    raise source.error(place, "in which unit is the time %s?%s" % (
        words[at].decode("ascii"), " it is one of our years with --unit %s" % others[0] if others
        else " say --unit ns, us, ms or s"))


class Reader(collections.namedtuple("Reader", "form line place header")):
    """Reads tables of a form; `line` is the first with a request, `place` its number."""

    def __call__(self, source, size=BLOCK):
        """Chunks of a source."""
        form = self.form
        roles = form.columns.split()
        for choice in (("time", "end"), ("op",), ("byte", "sector"), ("size", "count")):
            if sum(roles.count(role) for role in choice) != 1:
                raise source.error(1, "%s column of %s among %s" % (
                    "no" if not set(choice) & set(roles) else "more than one", " or ".join(choice),
                    form.words))
        unit_ns = unit_of(source, form, self.line, self.place)
        # who says of the times what they are means responses in the same unit
        response_ns = unit_ns if form.response in (None, form.unit) else NS[form.response]
        table = Table(source, form, unit_ns, response_ns, self.header,
                      0 if self.header else len(words_of(self.line, form.sep)))
        return source.each(table.chunk, size)
