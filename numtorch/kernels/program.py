"""Programs: lists of launches as tables of 64-bit words, which one kernel walks without coming back to Python.

A launch is the native entry of a kernel and its words. Some words are constants (descriptors, other addresses), some start from an
argument of the program and add an offset. A *segment* is a list of launches that is repeated for a number of steps, each word
moving on by so much a step: the time loop of a recurrent layer, or the images of a batch. A *check* among the launches ends the
program where a word in memory is not zero: a kernel that finds a bad index leaves one.

The table is only read, so any number of threads may run one program; what they write stands in the words that they give it. Each
run has some memory of its own too, on its thread's stack, which launches take as the argument `STACK`: for partial results.

    program = Program("x", "out")
    program.add([program.launch(square, program.word("x"), program.word("out")), ...])
    prepared = program.prepare()
    prepared.call(x, out, prepared.descriptor)

Recurrent layers (`cpu/rnn/rnn.py`), convolutions in several launches (`sequence`), products whose depth is shared and reductions
in two stages are programs.
"""
from __future__ import annotations

import functools
from itertools import chain

from numpy import int64

from . import compiler, threads
from .intrinsics import address_of, as_pointer, call_native, local_array, local_like, offset
from .planning import planning
from .sources import compile_source

STACK = "stack"                                          # the name of a program's own scratch memory
STACK_BYTES = 24 << 10
CONSTANT = -1                                            # the argument of a word that starts from none
MOST_WORDS = 24                                          # of a launch
SEGMENTS, TABLE = range(2)                               # where the descriptor says how many there are, and where these begin


# ---------------------------------------------------------------- the kernel
def run_segments(arguments, descriptor):
    """descriptor: segments, and for each its steps, its launches, and for each launch its entry, how many words it has and how many
    of them start from an argument; the words, which are read where they stand unless some do; and for each that does its place,
    the argument, and what it moves on by in each step. A check's entry is 0."""
    words = local_like(descriptor, MOST_WORDS)
    at = TABLE
    for _segment in range(descriptor[SEGMENTS]):
        steps, launches = descriptor[at], descriptor[at + 1]
        start = at + 2
        for step in range(steps):
            at = start
            for _launch in range(launches):
                entry, count, moving = descriptor[at], descriptor[at + 1], descriptor[at + 2]
                given = offset(descriptor, at + 3)
                at += 3 + count
                if moving > 0:
                    for w in range(count):
                        words[w] = given[w]
                    given = words
                    for _word in range(moving):
                        words[descriptor[at]] += arguments[descriptor[at + 1]] + step * descriptor[at + 2]
                        at += 3
                if entry != 0:
                    call_native(entry, given, count)
                elif as_pointer(given[0], descriptor)[0] != 0:
                    return


def launches_of(table):
    """What `run_segments` does with a table, launch by launch.

    Args:
        table: the words of a descriptor.

    Yields:
        The entry and the words, each as a pair of an argument, or None, and what is added to it.
    """
    at = TABLE
    for _segment in range(table[SEGMENTS]):
        steps, launches = table[at:at + 2]
        start = at + 2
        for step in range(steps):
            at = start
            for _launch in range(launches):
                entry, count, moving = table[at:at + 3]
                at += 3
                words: list = [(None, word) for word in table[at:at + count]]
                at += count
                for _word in range(moving):
                    place, argument, stride = table[at:at + 3]
                    words[place] = argument, words[place][1] + step * stride
                    at += 3
                yield entry, words


def _source(count, stack):
    names = [f"a{i}" for i in range(count)]
    lines = [f"def program({', '.join(names)}, descriptor):", f"    arguments = local_like(descriptor, {count + 1})",
             *(f"    arguments[{i}] = {name}" for i, name in enumerate(names))]
    if stack:
        lines += [f"    stack = local_array(int64, {STACK_BYTES // 8})", f"    arguments[{count}] = address_of(stack)"]
    return "\n".join([*lines, "    run_segments(arguments, descriptor)\n"])


@functools.cache
def program_kernel(arguments, nogil=False, stack=False):
    """The kernel that runs programs of so many arguments: `program(*arguments, descriptor)`.

    With `stack` it has memory for `STACK`, which Numba clears at each call: for as long as five small launches take.
    """
    scope = dict(local_like=local_like, local_array=local_array, address_of=address_of, int64=int64, run_segments=run_segments)
    compile_source(_source(arguments, stack), "program", scope)
    return compiler.compile_kernel(scope["program"], ("int64",) * arguments + ("int64*",), nogil=nogil)


def run_block(arguments, descriptor):
    """A program whose arguments stand in a block, however many there are."""
    run_segments(arguments, descriptor)


@functools.cache
def _block_kernel(nogil):
    return compiler.compile_kernel(run_block, ("int64*", "int64*"), nogil=nogil)


def store_word(target, value, descriptor):
    """Write a word: an address into a table that a later launch reads, or 0 to a status."""
    target[0] = value


@functools.cache
def stores_words():
    """`store_word(target, value)`, prepared."""
    return threads.prepare(compiler.compile_kernel(store_word, ("int64*", "int64", "int64*")), [(0,)])


def find_other(byte, value, status, descriptor):
    """Leave in a status whether a byte is another one than a value, for a check."""
    status[0] = byte[0] != value


@functools.cache
def finds_other():
    """`find_other(byte, value, status)`, prepared."""
    return threads.prepare(compiler.compile_kernel(find_other, ("uint8*", "int64", "int64*", "int64*")), [(0,)])


# ---------------------------------------------------------------- writing one down
class Program:
    """Launches being written down.

    Args:
        names: of the arguments, in order.

    Attributes:
        workspace: the most scratch memory that a launch wants.
        stack: whether a word is in `STACK`.
    """

    def __init__(self, *names):
        self.names = {name: i for i, name in enumerate((*names, STACK))}
        self.segments, self.keep, self.workspace, self.stack = [], [], 0, False

    def word(self, name, offset=0):
        """The argument `name` moved on by bytes."""
        self.stack |= name == STACK
        return [self.names[name], offset, 0]

    def constant(self, value=0):
        """A word that starts from no argument; a null address by default."""
        return [CONSTANT, value, 0]

    def launch(self, prepared, *words):
        """The launch of a prepared kernel; the words but the descriptor's are given."""
        self.keep.append(prepared)
        self.workspace = max(self.workspace, prepared.workspace)
        return [prepared.entry.address, *words, self.constant(prepared.descriptor)]

    def check(self, word):
        """What ends the program where the int64 at an address is not 0."""
        return [0, word]

    def add(self, launches):
        """Append launches; they join the last segment when they are the same ones one stride further on.

        Raises:
            ValueError: a launch of more than MOST_WORDS words, which the kernel has no room for.
        """
        for launch in launches:
            _check(launch)
        if self.segments:
            segment = self.segments[-1]
            if _follows(segment[1], launches, segment[0]):
                segment[0] += 1
                return
        self.segments.append([1, launches])

    def append(self, launch):
        """Append one launch, which is no step of others: it is not compared with them.

        Raises:
            ValueError: a launch of more than MOST_WORDS words.
        """
        _check(launch)
        if self.segments and self.segments[-1][0] == 1:
            self.segments[-1][1].append(launch)
        else:
            self.segments.append([1, [launch]])

    def row(self):
        """The table."""
        words = [len(self.segments)]
        for steps, launches in self.segments:
            words += [steps, len(launches)]
            for entry, *given in launches:
                moving = [(place, argument, stride) for place, (argument, _, stride) in enumerate(given) if argument != CONSTANT]
                words += [entry, len(given), len(moving), *[first for _, first, _ in given], *chain.from_iterable(moving)]
        return words

    def prepare(self, workspace=0, keep=None):
        """The program as one call, `prepared.call(*arguments, prepared.descriptor)`, with the workspace that its caller has to
        bring.

        Other Python threads run meanwhile if they do during one of its launches.
        """
        if planning.does_nothing:
            return threads.NOTHING
        nogil = any(prepared.entry.nogil for prepared in self.keep)
        prepared = threads.prepare(program_kernel(len(self.names) - 1, nogil, self.stack), [self.row()])
        return prepared.with_workspace(workspace, self.keep, keep)

    def prepare_block(self):
        """The program as `prepared.call(block, prepared.descriptor)`: its arguments are read from a block of words."""
        nogil = any(prepared.entry is not None and prepared.entry.nogil for prepared in self.keep)
        return threads.prepare(_block_kernel(nogil), [self.row()]).with_workspace(0, self.keep)


def prepare_parts(programs, offsets=None, *, workspace=0, release_lock=False):
    """Programs of one set of arguments, one for each part of a call, as `threads.prepare` runs parts."""
    if planning.does_nothing:
        return threads.NOTHING
    count = len(programs[0].names) - 1
    rows = [program.row() for program in programs]
    longest = max(len(row) for row in rows)
    kernel = program_kernel(count, stack=any(program.stack for program in programs))
    prepared = threads.prepare(kernel, [row + [0] * (longest - len(row)) for row in rows],
                               [(0,) * count for _ in rows] if offsets is None else offsets, workspace=workspace,
                               release_lock=release_lock)
    return prepared.with_workspace(prepared.workspace, [program.keep for program in programs])


def _check(launch):
    if len(launch) > MOST_WORDS + 1:
        raise ValueError(f"a program's launch has at most {MOST_WORDS} words, got {len(launch) - 1}")


def _follows(first, launches, steps):
    """Whether `launches` are `first`, `steps` steps on. The second step of a segment decides the strides."""
    if [(c[0], len(c)) for c in first] != [(c[0], len(c)) for c in launches]:
        return False
    pairs = [(a, b) for one, other in zip(first, launches) for a, b in zip(one[1:], other[1:])]
    if any(a[0] != b[0] for a, b in pairs):
        return False
    if steps == 1:
        if any(a[0] == CONSTANT and a[1] != b[1] for a, b in pairs):
            return False
        for a, b in pairs:
            a[2] = b[1] - a[1]
        return True
    return all(a[1] + steps * a[2] == b[1] for a, b in pairs)


# ---------------------------------------------------------------- the common case
def sequence(arguments, launches, workspace, keep=None):
    """Launches, one after the other, as one call.

    Args:
        arguments: the call's, such as `"x, out, workspace"`.
        launches: pairs of a `Prepared` and the text of its own arguments, each a number, or an argument of the call and bytes that
            are added to it: `"x, workspace + 64, 0"`.
        workspace: bytes of scratch memory that the call wants.
        keep: what must live as long as the call.
    """
    program = Program(*arguments.split(", "))
    for prepared, given in launches:
        program.add([program.launch(prepared, *[_parse(program, text) for text in given.split(", ")])])
    return program.prepare(workspace, keep)


def _parse(program, text):
    first, *added = text.split(" + ")
    offset = sum(int(number) for number in added)
    return program.word(first, offset) if first in program.names else program.constant(int(first) + offset)
