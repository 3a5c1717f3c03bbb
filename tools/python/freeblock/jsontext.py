# SPDX-License-Identifier: GPL-2.0
"""JSON from files that somebody else may have written."""

import json


def parse(text):
    """What a text or bytes say; a ValueError, and nothing else, if that is not JSON.

    The standard reader's own limit is Python's stack, which it answers with a RecursionError."""
    try:
        return json.loads(text)
    except RecursionError as error:
        raise json.JSONDecodeError("nested too deeply", "", 0) from error
