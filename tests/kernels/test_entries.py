"""Kernels as C functions, whose calls go through another function while they are written down."""
from __future__ import annotations

import sys
import threading

import pytest

from numtorch.kernels import compiler, entries, program

pytestmark = pytest.mark.skipif(compiler.DISABLE_JIT, reason="kernels are Python with NUMBA_DISABLE_JIT")


def test_kernels_are_made_while_calls_begin_and_end_to_be_written_down():
    """As a thread that compiles in the background makes them."""
    prepared = program.stores_words()
    address = prepared.call.__self__
    definition = entries._definitions[address]
    stop, made = threading.Event(), []

    def make():
        while not stop.is_set() and len(made) < 20_000:
            made.append(entries.python_entry("again", definition.entry, definition.native))
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    thread = threading.Thread(target=make)
    try:
        thread.start()
        for _ in range(300):
            calls = entries.Calls(lambda native, words: None)
            assert calls.start()
            calls.stop()
    finally:
        stop.set()
        thread.join()
        sys.setswitchinterval(interval)
    assert made and all(each.method == each.entry for each in list(entries._definitions.values()))
    for each in made:                                    # nobody runs them
        del entries._definitions[each.__self__]
