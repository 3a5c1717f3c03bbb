# SPDX-License-Identifier: GPL-2.0
"""Small bugs to plant into a C file: where its syntax tree, as clang sees it, has a place for one.

The standard operators of the field: relational, arithmetic, logical and bitwise operators
replaced, constants one more and one less, conditions negated, statements deleted. The constants
of a macro are twice and half as large, as they are parameters: of many of them one more is as
good. What comes out of a macro that is defined elsewhere is left alone; its arguments are not.
"""

import collections
import ctypes
import re

from clang import cindex

REPLACED = {
    "relational": {"<": ("<=", ">="), "<=": ("<", ">"), ">": (">=", "<="), ">=": (">", "<"),
                   "==": ("!=",), "!=": ("==",)},
    "arithmetic": {"+": ("-",), "-": ("+",), "*": ("/",), "/": ("*",), "%": ("*",),
                   "+=": ("-=",), "-=": ("+=",), "*=": ("/=",), "/=": ("*=",)},
    "logical": {"&&": ("||",), "||": ("&&",)},
    "bitwise": {"&": ("|",), "|": ("&",), "^": ("&",), "<<": (">>",), ">>": ("<<",),
                "&=": ("|=",), "|=": ("&=",), "^=": ("&=",), "<<=": (">>=",), ">>=": ("<<=",)},
}
UNARY = {"++": "--", "--": "++", "!": "", "-": "", "~": ""}
INTEGER = re.compile(r"(0[xX][0-9a-fA-F]+|0[0-7]*|[1-9][0-9]*)([uUlL]*)$")
DELETED = {"CALL_EXPR", "BINARY_OPERATOR", "COMPOUND_ASSIGNMENT_OPERATOR", "UNARY_OPERATOR",
           "BREAK_STMT", "CONTINUE_STMT", "RETURN_STMT"}
CONDITION_AT = {"IF_STMT": 0, "WHILE_STMT": 0, "DO_STMT": 1, "CONDITIONAL_OPERATOR": 0}
BODIES_FROM = {"COMPOUND_STMT": 0, "IF_STMT": 1, "WHILE_STMT": 1, "SWITCH_STMT": 1,
               "CASE_STMT": 1, "DEFAULT_STMT": 0}

# Bytes start..end of the file become `after`; `where` is the function or variable around
Edit = collections.namedtuple("Edit", "start end after operator where")

_file_location = cindex.conf.lib.clang_getFileLocation
_file_location.argtypes = [cindex.SourceLocation, ctypes.POINTER(cindex.c_object_p)] + \
    [ctypes.POINTER(ctypes.c_uint)] * 3
_file_location.restype = None


def _place(location):
    """(file, offset) of a location; that of a macro's argument is where it is written."""
    file, line, column, offset = cindex.c_object_p(), *(ctypes.c_uint() for _ in range(3))
    _file_location(location, ctypes.byref(file), ctypes.byref(line), ctypes.byref(column),
                   ctypes.byref(offset))
    return (cindex.File(file).name if file else None), offset.value


class Source:
    """One file's syntax tree and tokens."""

    def __init__(self, path, arguments):
        with open(path, "rb") as file:
            self.text = file.read()
        self.path = path
        self.unit = cindex.Index.create().parse(
            path, args=arguments,
            options=cindex.TranslationUnit.PARSE_DETAILED_PROCESSING_RECORD)
        bad = [one for one in self.unit.diagnostics if one.severity >= cindex.Diagnostic.Error]
        if bad:
            raise ValueError("%s: %s" % (path, bad[0].spelling))
        self.tokens = [(one.extent.start.offset, one.spelling)
                       for one in self.unit.get_tokens(extent=self.unit.cursor.extent)
                       if one.kind != cindex.TokenKind.COMMENT]
        self.uses = {self.span(one) for one in self.unit.cursor.get_children()
                     if one.kind == cindex.CursorKind.MACRO_INSTANTIATION}
        self.edits = set()
        self.functions = {}

    def span(self, cursor):
        """Where a node is in this file; all of a macro's use for what the macro wrote."""
        name, start = _place(cursor.extent.start)
        _, end = _place(cursor.extent.end)
        return (start, end) if name == self.path and start < end else None

    def written(self, cursor):
        """Whether it is written here, and not by a macro that is used here."""
        span = self.span(cursor)
        return span is not None and span not in self.uses

    def between(self, left, right):
        """The one token between two nodes: (offset, text), or None."""
        left, right = self.span(left), self.span(right)
        if not left or not right:
            return None
        found = [one for one in self.tokens if left[1] <= one[0] < right[0]]
        return found[0] if len(found) == 1 else None

    def add(self, start, end, after, operator, where):
        self.edits.add(Edit(start, end, after, operator, where))

    def replace(self, token, operators, where):
        """All that an operator may become."""
        for operator in operators:
            for after in REPLACED[operator].get(token[1], ()):
                self.add(token[0], token[0] + len(token[1]), after, operator, where)

    def constant(self, start, text, where, parameter=False):
        """A number's neighbours, or its double and half."""
        found = INTEGER.match(text)
        if not found:
            return
        digits, suffix = found.groups()
        form = "%#x" if digits[:2] in ("0x", "0X") else "%d"
        value = int(digits, 8) if re.match(r"0[0-7]", digits) else int(digits, 0)
        values = (2 * value, value // 2) if parameter and value else (value + 1, value - 1)
        for changed in values:
            after = form % changed + suffix if changed >= 0 else "(-1)"
            self.add(start, start + len(text), after, "parameter" if parameter else "constant",
                     where)

    def unary(self, cursor, where):
        span = self.span(cursor)
        token = next((one for one in self.tokens if span and one[0] == span[0]), None)
        if token and token[1] not in UNARY:     # x++
            inside = self.span(next(cursor.get_children()))
            token = inside and next((one for one in self.tokens
                                     if inside[1] <= one[0] < span[1]), None)
        if token and token[1] in UNARY:
            kind = "arithmetic" if token[1] in ("++", "--", "-") else \
                "logical" if token[1] == "!" else "bitwise"
            self.add(token[0], token[0] + len(token[1]), UNARY[token[1]], kind, where)

    def bodies(self, cursor, children, where):
        """Statements of a block, and those that are a branch of their own."""
        kind = cursor.kind.name
        first = len(children) - 1 if kind == "FOR_STMT" else BODIES_FROM.get(kind)
        if first is None or not self.written(cursor):
            return
        for child in children[first:]:
            value = child.kind.name == "RETURN_STMT" and any(True for _ in child.get_children())
            span = self.span(child)
            if child.kind.name in DELETED and span and not value:
                self.add(*span, "(void)0", "deletion", where)

    def condition(self, cursor, children, where):
        """An if, a loop or a choice does the opposite."""
        at = CONDITION_AT.get(cursor.kind.name)
        span = self.span(children[at]) if at is not None and len(children) > at else None
        if span and self.written(cursor):
            text = self.text[span[0]:span[1]].decode()
            self.add(*span, "!(%s)" % text, "negation", where)

    def walk(self, cursor, where):
        """Edits of this node and of all below."""
        kind, children = cursor.kind.name, list(cursor.get_children())
        if kind == "FUNCTION_DECL":
            self.functions[where] = (cursor.extent.start.line, cursor.extent.end.line)
        if kind in ("BINARY_OPERATOR", "COMPOUND_ASSIGNMENT_OPERATOR") and len(children) == 2:
            token = self.between(*children)
            if token:
                self.replace(token, REPLACED, where)
        elif kind == "UNARY_OPERATOR" and children:
            self.unary(cursor, where)
        elif kind == "INTEGER_LITERAL":
            span = self.span(cursor)
            if span:
                self.constant(span[0], self.text[span[0]:span[1]].decode(), where)
        self.bodies(cursor, children, where)
        self.condition(cursor, children, where)
        for child in children:
            self.walk(child, where)

    def macro(self, cursor):
        """Constants of a macro of this file."""
        for token in list(cursor.get_tokens())[1:]:
            if token.kind == cindex.TokenKind.LITERAL:
                self.constant(token.extent.start.offset, token.spelling, cursor.spelling,
                              parameter=True)


def read(path, arguments):
    """A C file with all its edits."""
    source = Source(path, arguments)
    for cursor in source.unit.cursor.get_children():
        if not cursor.location.file or cursor.location.file.name != path:
            continue
        if cursor.kind == cindex.CursorKind.MACRO_DEFINITION:
            source.macro(cursor)
        elif cursor.kind in (cindex.CursorKind.FUNCTION_DECL, cindex.CursorKind.VAR_DECL):
            source.walk(cursor, cursor.spelling)
    # that of a kernel's file has tens of MB
    del source.unit, source.tokens, source.uses
    return source
