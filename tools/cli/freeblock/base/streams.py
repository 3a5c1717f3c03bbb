# SPDX-License-Identifier: GPL-2.0
"""Standard output and standard error while a command runs. A disk that is full, or a descriptor
that was closed, keeps nobody from the work: `off` puts everything back, whether or not somebody
can be told. What was lost is told at the end.
"""

import contextlib
import io
import os
import select
import sys


def one_line(text):
    """A text that is one line, whatever names of files, drives or tasks are in it: what moves a
    cursor, or ends a line, is written escaped."""
    return "".join(char if char.isprintable() else
                   char.encode("unicode_escape").decode("ascii") for char in text)


def drop_results():
    """Who read standard output has enough of it: what is left of it goes nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class _Patient(io.RawIOBase):
    """A descriptor that remembers the first error of a write, and takes everything behind it: what
    is printed has no holes. A reader of results that is gone is an error as ever: it wants no more.
    One of errors and progress is not: Ctrl-C ends the tee of `2>&1 | tee`, too, and what is then
    put back is put back to the last, with the exit status that it has otherwise."""

    def __init__(self, number, results):
        self._number = number
        self._results = results
        self.error = None

    def fileno(self):
        """As of any file."""
        return self._number

    def isatty(self):
        """Whether a person reads it."""
        return os.isatty(self._number)

    def writable(self):
        """It is."""
        return True

    def write(self, data):
        """How much of it was written, or will never be."""
        while not self.error:
            try:
                return os.write(self._number, data)
            except BrokenPipeError as error:
                if self._results:
                    raise
                self.error = error
            except BlockingIOError:
                # somebody who shares the pipe or the terminal wants no waiting: nothing is lost yet
                select.select((), (self._number,), ())
            except OSError as error:
                self.error = error
        return len(data)

    def text(self, before):
        """A text file of it, like `before`, which is None if Python found the descriptor closed.
        What its encoding does not have, as a name in another one, is written escaped."""
        return io.TextIOWrapper(
            io.BufferedWriter(self), encoding=before.encoding if before else "utf-8",
            errors="backslashreplace",
            line_buffering=bool(before and (before.line_buffering or before.write_through)))


def _hold():
    """Descriptors that are closed are held: the next file that is opened would be called standard
    output, and would get what others print."""
    # what is written to the second is to fail, and nobody asks about the third
    for number, flags in enumerate((os.O_RDONLY, os.O_RDONLY, os.O_WRONLY)):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, flags)
            os.set_inheritable(number, True)
    if sys.stdin is None:
        # pylint: disable-next=consider-using-with
        sys.stdin = open(0, encoding="utf-8", closefd=False)


class Standard:
    """Both of them, within a `with`; those that somebody else has put in their place are left
    alone."""

    def __init__(self):
        self._out, self._err = _Patient(1, True), _Patient(2, False)
        self._before = None

    def __enter__(self):
        _hold()
        self._before = sys.stdout, sys.stderr
        if sys.stdout is sys.__stdout__:
            sys.stdout = self._out.text(sys.stdout)
        if sys.stderr is sys.__stderr__:
            sys.stderr = self._err.text(sys.stderr)
        return self

    def lost(self):
        """Why what was printed has not arrived; None if it has."""
        with contextlib.suppress(BrokenPipeError):
            sys.stdout.flush()
        return self._out.error and self._out.error.strerror

    def __exit__(self, *_):
        for file in (sys.stdout, sys.stderr):
            with contextlib.suppress(BrokenPipeError):
                file.flush()
        sys.stdout, sys.stderr = self._before
