# SPDX-License-Identifier: GPL-2.0
"""DiskSim's parameter texts (libparam), read into blocks.

    disksim_disk NAME { Parameter name = value, ... }

Values are numbers, words, lists [a, b] and blocks. `source FILE` stands for
that file's text. `#` starts a comment. Every parameter remembers its file and
line, and whether anybody asked for it, so that an importer can tell what it
left aside.
"""

import re
from fractions import Fraction

from freeblock import ToolError

MAX_DEPTH = 16          # of files within files
MAX_NESTING = 32        # of blocks and lists within each other
MAX_NAMES = 10000       # that 'disk0 .. disk3' may stand for
# No quantity needs more; computing with a billion digits takes for ever
MAX_DIGITS = 40
MAX_EXPONENT = 30

_TOKEN = re.compile(r"[ \t\r\f]+|#[^\n]*|(?P<newline>\n)|(?P<mark>[{}\[\],=;?])|"
                    r"(?P<word>[^ \t\r\n\f;{},\[\]?=#]+)")
_INTEGER = re.compile(r"-?\d+$|-?0x[0-9a-fA-F]+$")
_DECIMAL = re.compile(r"-?\d+\.\d+(?:e[+-]?\d+)?$", re.I)


class Place:
    """A line of a file."""

    def __init__(self, file, line):
        self.file = file
        self.line = line

    def __str__(self):
        return "%s:%d" % (self.file, self.line)

    def error(self, reason):
        """The error to raise for what stands there."""
        return ToolError("%s: %s" % (self, reason))


def exact(text):
    """A decimal number as a Fraction; ValueError if it is none or excessive."""
    match = _DECIMAL.match(text) or _INTEGER.match(text)
    if not match or "x" in text:
        raise ValueError("no decimal number")
    digits, _, exponent = text.lower().partition("e")
    if len(digits) > MAX_DIGITS or len(exponent) > 4 or abs(int(exponent or 0)) > MAX_EXPONENT:
        raise ValueError("more than %d digits or an exponent beyond %d" %
                         (MAX_DIGITS, MAX_EXPONENT))
    return Fraction(text)


class Number:
    """A number exactly as written; ValueError if it is excessive."""

    def __init__(self, text):
        self.text = text
        self.integer = bool(_INTEGER.match(text))
        if len(text) > MAX_DIGITS + 5:
            raise ValueError("more than %d digits" % MAX_DIGITS)
        self.value = Fraction(int(text, 0)) if "x" in text else exact(text)

    def __str__(self):
        return self.text


class Param:
    """One parameter of a block."""

    def __init__(self, name, value, place):
        self.name = name
        self.value = value
        self.place = place
        self.override = None    # why the value is not the file's

    def error(self, reason):
        """The error to raise for this parameter's value."""
        return self.place.error("%s: %s" % (self.name, reason))


class Block:
    """A block: its type, its name (None within a parameter) and parameters."""

    def __init__(self, kind, name, place):
        self.kind = kind
        self.name = name
        self.place = place
        self.params = {}

    def add(self, param):
        """Add a parameter, which must be new."""
        if param.name in self.params:
            raise param.error("given twice, first at %s" % self.params[param.name].place)
        self.params[param.name] = param


class Topology:
    """A component and what hangs on it."""

    def __init__(self, kind, name, children):
        self.kind = kind
        self.name = name
        self.children = children


class Text:
    """All that a parameter text says."""

    def __init__(self):
        self.blocks = []
        self.instances = {}     # component -> name of the block it is made from
        self.topology = None
        self.files = []


def text_of(value):
    """A value as it would be written."""
    if isinstance(value, list):
        return "[%s]" % ", ".join(text_of(v) for v in value)
    if isinstance(value, Block):
        return "%s { .. }" % value.kind
    if isinstance(value, Topology):
        return "%s %s [ .. ]" % (value.kind, value.name)
    return str(value)


def read_file(path):
    """A text file's contents."""
    try:
        with open(path, encoding="latin-1") as file:
            return file.read()
    except OSError as error:
        raise ToolError("%s: %s" % (path, error.strerror)) from error


class _Tokens:
    """The tokens of a text and of the files it sources."""

    def __init__(self, name, text, find):
        self.find = find
        self.depth = 0
        self.nesting = 0
        self.files = [name]
        self.tokens = list(self._scan(name, text))
        self.at = 0

    def _scan(self, name, text):
        line, at, sourcing = 1, 0, None
        while at < len(text):
            match = _TOKEN.match(text, at)
            if not match:
                raise Place(name, line).error("character %r is not understood" % text[at])
            at = match.end()
            if match.group("newline"):
                line += 1
            token = match.group("mark") or match.group("word")
            if not token:
                continue
            if sourcing:
                yield from self._source(token, sourcing)
                sourcing = None
            elif token == "source":
                sourcing = Place(name, line)
            else:
                yield token, Place(name, line)
        if sourcing:
            raise sourcing.error("source of what?")
        self.last = Place(name, line)

    def _source(self, name, place):
        path = self.find(name, place)
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise place.error("files source each other more than %d deep" % MAX_DEPTH)
        self.files.append(path)
        yield from self._scan(path, read_file(path))
        self.depth -= 1

    def peek(self, ahead=0):
        """The next token, or None at the end."""
        at = self.at + ahead
        return self.tokens[at][0] if at < len(self.tokens) else None

    def place(self):
        """Where it stands."""
        return self.tokens[self.at][1] if self.at < len(self.tokens) else self.last

    def next(self):
        """The next token, which must be there."""
        if self.at == len(self.tokens):
            raise self.last.error("the text ends in the midst of a block")
        self.at += 1
        return self.tokens[self.at - 1][0]

    def enter(self, mark):
        """Step over the mark that begins a block or list."""
        self.nesting += 1
        if self.nesting > MAX_NESTING:
            raise self.place().error("blocks and lists within each other, more than %d deep" %
                                     MAX_NESTING)
        self.expect(mark)

    def leave(self, mark):
        """Step over the mark that ends it."""
        self.expect(mark)
        self.nesting -= 1

    def expect(self, mark):
        """Step over a mark that must be next."""
        place = self.place()
        token = self.next()
        if token != mark:
            raise place.error("'%s' where '%s' should be" % (token, mark))


def _is_word(token):
    return token is not None and token not in "{}[],=;?"


def _word(tokens):
    place = tokens.place()
    token = tokens.next()
    if not _is_word(token):
        raise place.error("'%s' where a name should be" % token)
    return token


def _value(tokens):
    """A number, word, list or block."""
    place = tokens.place()
    if tokens.peek() == "[":
        return _list(tokens)
    word = _word(tokens)
    if tokens.peek() == "{":
        return _body(tokens, Block(word, None, place))
    if _is_word(tokens.peek()) and tokens.peek(1) == "{":
        return _body(tokens, Block(word, tokens.next(), place))
    if _is_word(tokens.peek()) and tokens.peek(1) == "[":
        return Topology(word, tokens.next(), _list(tokens))
    if _INTEGER.match(word) or _DECIMAL.match(word):
        try:
            return Number(word)
        except ValueError as error:
            raise place.error("'%.20s..': %s" % (word, error)) from None
    return word


def _list(tokens):
    tokens.enter("[")
    values = []
    while tokens.peek() != "]":
        values.append(_value(tokens))
        if tokens.peek() == "..":
            values += _range(tokens, values.pop())
        if tokens.peek() != "]":
            tokens.expect(",")
    tokens.leave("]")
    return values


def _range(tokens, first):
    """`disk0 .. disk3`: the names from the first to the last."""
    place = tokens.place()
    tokens.expect("..")
    ends = [re.fullmatch(r"(.*?)(\d{1,9})", str(end)) for end in (first, _word(tokens))]
    if not all(ends) or ends[0].group(1) != ends[1].group(1):
        raise place.error("'..' stands between two names that differ in their number")
    if int(ends[1].group(2)) - int(ends[0].group(2)) >= MAX_NAMES:
        raise place.error("'..' stands for more than %d names" % MAX_NAMES)
    return [ends[0].group(1) + str(n)
            for n in range(int(ends[0].group(2)), int(ends[1].group(2)) + 1)]


def _body(tokens, block):
    """`{ name = value, .. }`, a name being any number of words."""
    tokens.enter("{")
    while tokens.peek() != "}":
        place = tokens.place()
        words = [_word(tokens)]
        while _is_word(tokens.peek()):
            words.append(tokens.next())
        tokens.expect("=")
        block.add(Param(" ".join(words), _value(tokens), place))
        if tokens.peek() != "}":
            tokens.expect(",")
    tokens.leave("}")
    return block


def _statement(tokens, text):
    place = tokens.place()
    word = _word(tokens)
    if word == "topology":
        text.topology = _value(tokens)
        if not isinstance(text.topology, Topology):
            raise place.error("a topology is 'TYPE NAME [ .. ]'")
    elif word == "instantiate":
        names = _list(tokens)
        if _word(tokens) != "as":
            raise place.error("'as' is missing")
        name = _word(tokens)
        text.instances.update((n, name) for n in names if isinstance(n, str))
    else:
        text.blocks.append(_body(tokens, Block(word, _word(tokens), place)))


def parse(name, find):
    """The Text of file `name`; find(file, place) says where a sourced one is."""
    tokens = _Tokens(name, read_file(name), find)
    text = Text()
    text.files = tokens.files
    while tokens.peek() is not None:
        _statement(tokens, text)
    return text


def parse_value(words, name):
    """The value that stands alone in the string `words`, called `name`."""
    def find(_file, place):
        raise place.error("a value sources no file")
    tokens = _Tokens(name, words, find)
    value = _value(tokens)
    if tokens.peek() is not None:
        raise tokens.place().error("'%s' after the value" % tokens.peek())
    return value
