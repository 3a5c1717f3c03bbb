# SPDX-License-Identifier: GPL-2.0
"""JSON from files that somebody else may have written."""

import collections
import json
import re

MOST_DIGITS = 300       # of a whole number; larger ones than floats can be are of no use


class Refused(json.JSONDecodeError):
    """JSON, but not taken."""


def _whole(digits):
    if len(digits) > MOST_DIGITS:
        raise Refused("a number of %d digits" % len(digits), digits, 0)
    return int(digits)


def _object(pairs):
    """An object whose names are all different."""
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = collections.Counter(name for name, _ in pairs).most_common(1)[0][0]
        raise Refused("%r is there twice" % twice, json.dumps(twice), 0)
    return found


def _placed(refused, text):
    """The same with the place in the text: of the number, or of the name's second value."""
    word = re.escape(refused.doc)
    places = [found.start() for found in re.finditer(word + r"\s*:", text)][1:] or \
        [found.start() for found in re.finditer(word, text)] or [0]
    return Refused(refused.msg, text, places[0])


def parse(text):
    """What a text or bytes say; a ValueError, and nothing else, if that is not JSON, or has a
    name twice in an object.

    The standard reader's own limit is Python's stack, which it answers with a RecursionError."""
    if isinstance(text, bytes):
        text = text.decode(json.detect_encoding(text), "surrogatepass")
    try:
        return json.loads(text, object_pairs_hook=_object, parse_int=_whole)
    except Refused as refused:
        raise _placed(refused, text) from None
    except RecursionError as error:
        raise json.JSONDecodeError("nested too deeply", "", 0) from error
