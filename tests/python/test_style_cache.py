#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Tests of what tools/check-style keeps of checkpatch and coccinelle. Prints TAP."""

import contextlib
import importlib.machinery
import importlib.util
import io
import os
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import taptest  # noqa: E402

LOADER = importlib.machinery.SourceFileLoader(
    "check_style", os.path.join(taptest.TOP, "tools", "check-style"))
STYLE = importlib.util.module_from_spec(importlib.util.spec_from_loader("check_style", LOADER))
LOADER.exec_module(STYLE)


def once(folder):
    """What once() says of a file in which there is a fault."""
    return STYLE.once(folder, "words", [__file__], lambda: (["a fault"], True))


class Cache(unittest.TestCase):
    """It saves time, and changes nothing."""

    def test_kept(self):
        """For the same files, and not for others, nor when nothing could be said; and not for ever.
        Seen to fail: kept by name; entries that stay."""
        looks = []

        def said(text, words="", could=True):
            with open(source, "w", encoding="ascii") as file:
                file.write(text)
            return STYLE.once(kept, words, [source], lambda: (looks.append(text) or [text], could))

        with tempfile.TemporaryDirectory() as folder:
            kept, source = os.path.join(folder, "kept"), os.path.join(folder, "source.c")
            os.mkdir(kept)
            self.assertEqual([said("a"), said("a"), said("b"), said("a", "other")],
                             [["a"], ["a"], ["b"], ["a"]])
            self.assertEqual(looks, ["a", "b", "a"])
            for _ in range(2):
                said("c", could=False)
            self.assertEqual(looks[3:], ["c", "c"])
            for entry in os.scandir(kept):
                os.utime(entry, (1, 1))
            said("a")
            STYLE.drop_unused(kept)
            self.assertEqual((len(os.listdir(kept)), len(looks)), (1, 5))

    def test_spoiled(self):
        """What is kept but spoiled, by a crash say, is looked for again, and kept anew. Seen to
        fail: JSONDecodeError; {} and "" taken for a pass."""
        for spoiled in (b"", b"\0" * 9, b'["a fa', b"{}", b'""', b"null", b"[1]", b"\xff"):
            with tempfile.TemporaryDirectory() as folder:
                once(folder)
                path, = (entry.path for entry in os.scandir(folder))
                with open(path, "rb") as file:
                    whole = file.read()
                with open(path, "wb") as file:
                    file.write(spoiled)
                self.assertEqual(once(folder), ["a fault"], spoiled)
                with open(path, "rb") as file:
                    self.assertEqual(file.read(), whole)

    def test_no_folder(self):
        """One that cannot be made or written does without. Seen to fail: NotADirectoryError."""
        with tempfile.NamedTemporaryFile() as file, \
                mock.patch.dict(os.environ, XDG_CACHE_HOME=file.name):
            folder = STYLE.cache("checkpatch")
            self.assertEqual(once(folder), ["a fault"])
            STYLE.drop_unused(folder)

    def test_two_at_once(self):
        """Another run may drop the same. Seen to fail: FileNotFoundError of its stat()."""
        with tempfile.TemporaryDirectory() as folder:
            # there by its name only, as what is dropped between two looks
            os.symlink("gone", os.path.join(folder, "entry"))
            STYLE.drop_unused(folder)

    def test_killed(self):
        """A checkpatch that did not come to its end has failed, and is asked again, though it
        printed lines that are allowed. Seen to fail: a pass, kept for a month."""
        for status in (-9, 255):
            done = subprocess.CompletedProcess((), status, "x.c:1: an allowed line\n")
            with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
                stack.enter_context(mock.patch.dict(os.environ, XDG_CACHE_HOME=folder))
                stack.enter_context(mock.patch.object(STYLE, "run", return_value=done))
                stack.enter_context(mock.patch.object(
                    STYLE, "allowed", lambda _, line: line.startswith("x.c:")))
                out = stack.enter_context(contextlib.redirect_stdout(io.StringIO()))
                with open(os.path.join(folder, "checkpatch.pl"), "wb"):
                    pass
                STYLE.checkpatch([__file__], folder)
                self.assertIn("checkpatch failed: status %d\nnot ok" % status, out.getvalue())
                self.assertEqual(os.listdir(STYLE.cache("checkpatch")), [])


if __name__ == "__main__":
    taptest.main()
