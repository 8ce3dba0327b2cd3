"""What the compiler did in this process, and what is said while it works."""
from __future__ import annotations

import logging
import sys

from . import store


class Statistics:
    """What the compiler did in this process: kernels compiled, loaded, and seconds spent compiling."""
    compiled = loaded = 0
    seconds = 0.0


statistics = Statistics()


class Progress:
    """What is said while kernels are compiled. On a terminal and in a notebook it is one line, there while a kernel is compiled,
    and once in a process where kernels are kept; always a record of the logger "numtorch" at level INFO for each kernel."""

    QUIET = 1.0                                          # seconds of compiling of which nothing is said

    def __init__(self):
        self.explained, self.length, self.doing = False, 0, ""

    def compiling(self, name, number_to_come):
        """A kernel is about to be compiled; `number_to_come()` says how many more are known to be needed."""
        if statistics.seconds > self.QUIET and _is_watched(sys.stderr):
            more = number_to_come()
            self._write(f"numtorch: {self.doing}compiling {name} (kernel {statistics.compiled + 1}, {statistics.seconds:.0f} s"
                        + (f", at least {more} to come)" if more else ")"))

    def compiled(self, name, seconds, kept):
        """A kernel was compiled, and kept or not."""
        logging.getLogger("numtorch").info("compiled %s in %.2f s", name, seconds)
        self.clear()
        if statistics.seconds > self.QUIET and not self.explained and _is_watched(sys.stderr):
            self.explained = True
            print(f"numtorch: compiling kernels on first use; they are kept in {store.directory()}" if kept else
                  f"numtorch: compiling kernels for this process alone, since {store.trouble()}; "
                  f"$NUMTORCH_CACHE_DIR names another place", file=sys.stderr)

    def begin(self, doing):
        """What the kernels that follow are for, to be said with each; where they are kept is known then."""
        self.doing, self.explained = doing, True

    def _write(self, text):
        text = text[:79]
        print("\r" + text.ljust(self.length), end="", file=sys.stderr, flush=True)
        self.length = len(text)

    def clear(self):
        """Take the line away: what the program prints begins where it was."""
        if self.length:
            print("\r" + " " * self.length + "\r", end="", file=sys.stderr, flush=True)
            self.length = 0


def _is_watched(stream):
    """Whether somebody sees a line that is written over."""
    return stream is not None and not stream.closed and (stream.isatty() or type(stream).__module__.startswith("ipykernel"))


progress = Progress()
