"""Pointwise loops around an op's scalar body.

One template serves every op: three nested levels (outer, middle, inner) over any number of operands, written for the
operands' number and dtypes. What differs is how an operand steps along the innermost dimension, its *pattern*: `c` (stride
1), `b` (the same element throughout), `s` (a stride from the descriptor), `t` (stride 1 along the middle dimension
instead), `r` (one short row for all). With `c` and `b` alone LLVM vectorises the loop. An operand that is also written has no
output of its own, so that LLVM sees one address and still vectorises. A row is walked in one of four forms:

- direct: one loop. Where all is bfloat16 and the body long, it takes two elements a 32-bit word, which are one instruction each way
  from being floats: widening and narrowing whole vectors cost exp another fifth.
- in blocks, where an operand is strided and the body long: a block of each operand passes through a buffer, so that the
  body is computed in whole vectors. Element by element, exp of every other element takes 7 times as long.
- in tiles, where an operand is transposed: a tile of it is read along its own rows into a buffer, 8 x 8 elements at a time in
  registers, and an output's tile is written to a buffer and goes back the same way. A column at a time, each element of a large
  matrix would be a cache miss (2048 x 1024 would take 6 times as long to copy).
- in periods, where rows are short and an operand is one row for all of them: it is written over and over into a buffer, beside
  which the others are walked as long rows (10000 x 10 and a bias take 0.3 of the time so). One element a row is not: writing its
  rows side by side takes as long as the loop for each row, and vectors are slow to read across what was just written.

The descriptor is that of `loopnest.py`.
"""
from __future__ import annotations

import functools

import numpy as np

from ...binding import SCALAR_MATH, ScalarBody
from ...compiler import compile_kernel
from ...conversions import CONVERSION_NAMES, load_source, store_source
from ...elementtypes import numpy_type
from ...intrinsics import (
    address_of,
    as_pointer,
    bits_of,
    float_of,
    local_array,
    local_like,
    offset,
    select,
    transpose_block,
)
from ...loopnest import (
    HEADER,
    INNER,
    MIDDLE,
    OUTER,
    OUTER_DIMS,
    lengthened,
    merge,
    pattern_of,
    repeated,
    split,
    transposed,
)
from ...pointers import element_type
from ...sources import compile_source
from ...threads import Prepared, prepare

# ---------------------------------------------------------------- two bfloat16 in a word
SIXTEEN, ONE, JUST_BELOW_HALF = np.int32(16), np.int32(1), np.int32(0x7FFF)
LOWER, UPPER, QUIET_NAN = np.int32(0xFFFF), np.int32(-0x10000), np.int32(0x7FC00000)


def first_of_pair(word):
    return float_of(np.int32(word << SIXTEEN))


def second_of_pair(word):
    return float_of(np.int32(word & UPPER))


def _rounded(x):
    """The bits of x, of which the upper half is the nearest bfloat16's, ties to even."""
    bits = bits_of(x)
    return select(x == x, np.int32(np.int32(bits + JUST_BELOW_HALF) + np.int32(np.int32(bits >> SIXTEEN) & ONE)), QUIET_NAN)


def pair_of(first, second):
    return np.int32(np.int32(np.int32(_rounded(first) >> SIXTEEN) & LOWER) | np.int32(_rounded(second) & UPPER))


VECTOR = 16                                              # elements in the longest vector of float32
BLOCK = 256                                              # elements in a buffer
WIDTH, HEIGHT = 32, 64                                   # of a tile, as the output sees it
_FLOATS = frozenset(("float32", "float64"))
LONG = 3.0                                               # the cost from which a body is long
# Long bodies wait for themselves: two vectors side by side take 0.85 to 0.95 of the time of one (float64 exp, log, sin, atan), four
# no less. The longest ones have enough to do, and would take twice as long to compile.
SIDE_BY_SIDE, LONGEST = 2, 12.0


class _Writer:
    """Writes a kernel's source.

    Args:
        inputs, outputs: dtype names.
        pattern: a letter for each operand.
        written: the input that is also the output (-1: none).
        compute: for each input, the dtype the body takes it in.
        results: the parts of the body's tuple that are stored (None: it returns one value).
        strided: there are outer levels.
        blocks: the operands are strided and the body is long.
        pairs: two elements of bfloat16 at a time.
        part: ".real" where complex results go to a real dtype.
    """

    def __init__(self, inputs, outputs, pattern, written, compute, results, strided, blocks, pairs, part):
        self.inputs, self.outputs, self.pattern, self.written = inputs, outputs, pattern, written
        self.compute, self.results, self.strided, self.blocks, self.pairs = compute, results, strided, blocks, pairs
        self.part = part
        count = len(inputs)
        self.names = [f"x{i}" for i in range(count)] + ([] if written >= 0 else [f"y{i}" for i in range(len(outputs))])
        self.types = [*inputs, *outputs]
        self.targets = [f"x{written}"] if written >= 0 else self.names[count:]
        self.lines: list[str] = []

    def add(self, indent, *lines):
        self.lines += ["    " * indent + line for line in lines]

    def letter(self, name):
        return self.pattern[self.names.index(name)]

    def source(self):
        names, pattern, operands = self.names, self.pattern, len(self.names)
        tiles, periods = "t" in pattern, "r" in pattern
        self.add(0, "def kernel(" + ", ".join(names) + ", descriptor):")
        self.add(1, f"n = descriptor[{INNER}]",
                 *[f"s{k} = descriptor[{HEADER + k}]" for k in range(operands) if pattern[k] in "str"])
        if periods:
            self.add(1, f"m = descriptor[{MIDDLE}]", f"rows = {BLOCK} // n")
        if tiles or self.blocks or periods:
            self._buffers()
        here = {name: name for name in names}
        indent = 1
        if self.strided:
            # the number of dimensions is read in the loop: LLVM makes the loops twice, for 0 and others, of one that stays the same
            self.add(1, f"m = descriptor[{MIDDLE}]", f"outer = descriptor[{OUTER}]",
                     *[f"m{k} = descriptor[{HEADER + operands + k}]" for k in range(operands)],
                     "for o in range(outer):")
            self.add(2, "r = o", *[f"p{k} = 0" for k in range(operands)], f"for d in range(descriptor[{OUTER_DIMS}]):")
            self.add(3, f"e = {HEADER + 2 * operands} + d * {1 + operands}", "q = r // descriptor[e]", "i = r - q * descriptor[e]",
                     "r = q",
                     *[f"p{k} += i * descriptor[e + {1 + k}]" for k in range(operands)])
            indent = self._tiles() if tiles else self._rows()
            here = {name: name + "_" for name in names}
        # what does not change along the row is read before it: the output might alias it for all LLVM knows
        for k in range(len(self.inputs)):
            if pattern[k] == "b" and k != self.written:
                self.add(indent, f"v{k} = {self._loaded(k, here[f'x{k}'] + '[0]')}")
        if self.pairs:
            self._paired_row()
        elif self.blocks and not tiles:
            self._blocked_row(indent, here)
        elif periods:
            self._periods()
        else:
            index = {"s": "i * s{}", "b": "0"}
            at = {name: f"{here[name]}[{index.get(self.letter(name), 'i').format(k)}]" for k, name in enumerate(names)}
            self._loop(indent, "width" if tiles else "n", at)
            for k in range(len(self.inputs), len(self.names)):
                if pattern[k] == "t":
                    self._transposed(k, True)
        return "\n".join(self.lines) + "\n"

    # ------------------------------------------------ levels
    def _rows(self):
        self.add(2, "for j in range(m):")
        self.add(3, *[f"{name}_ = offset({name}, p{k} + j * m{k})" for k, name in enumerate(self.names)])
        return 3

    def _tiles(self):
        """Tiles of the two inner dimensions; transposed operands have them in buffers, of which each row is `x_`."""
        self.add(2, f"for first in range(0, n, {WIDTH}):")
        self.add(3, f"width = min({WIDTH}, n - first)", f"for top in range(0, m, {HEIGHT}):")
        self.add(4, f"height = min({HEIGHT}, m - top)")
        for k in range(len(self.inputs)):
            if self.pattern[k] == "t":
                self._transposed(k, False)
        self.add(4, "for j in range(height):")
        step = {"c": " + first", "b": ""}
        for k, name in enumerate(self.names):
            place = f"offset(b{k}, j * {WIDTH})" if self.pattern[k] == "t" else \
                f"offset({name}, p{k} + (top + j) * m{k}{step[self.pattern[k]]})"
            self.add(5, f"{name}_ = {place}")
        return 5

    def _transposed(self, k, back):
        """A tile of transposed operand k into its buffer, or out of it."""
        name, dtype = self.names[k], self.types[k]
        block = [f"offset(corner, i * s{k} + j), s{k}", f"offset(b{k}, j * {WIDTH} + i), {WIDTH}"]
        element = ["column[j]", f"row[j * {WIDTH}]"]
        if back:
            block.reverse()
            element.reverse()
        self.add(4, f"corner = offset({name}, p{k} + first * s{k} + top)")
        indent = 4
        if element_type(dtype).itemsize in (2, 4, 8) and not dtype.startswith("complex"):
            indent = 5                                   # the last block overlaps the one before
            self.add(4, "if width >= 8 and height >= 8:")
            self.add(5, "for right in range(0, width, 8):")
            self.add(6, "i = min(right, width - 8)", "for low in range(0, height, 8):")
            self.add(7, "j = min(low, height - 8)", f"transpose_block({', '.join(block)})")
            self.add(4, "else:")
        self.add(indent, "for i in range(width):")
        self.add(indent + 1, f"column = offset(corner, i * s{k})", f"row = offset(b{k}, i)", "for j in range(height):")
        self.add(indent + 2, f"{element[1]} = {element[0]}")

    def _buffers(self):
        """A buffer for each operand that needs one. A block holds valid elements throughout; the rest is dropped."""
        for k, name in enumerate(self.names):
            if self.pattern[k] == "t":
                self.add(1, f"b{k} = local_like({name}, {WIDTH * HEIGHT})")
            elif self.pattern[k] == "r":
                self.add(1, f"b{k} = local_like({name}, {BLOCK})", "for top in range(rows):", "    for i in range(n):")
                self.add(3, f"b{k}[top * n + i] = {name}[i * s{k}]")
            elif self.blocks:
                self.add(1, f"b{k} = local_like({name}, {BLOCK})")
                if k < len(self.inputs):
                    self.add(1, f"for i in range({BLOCK}):")
                    self.add(2, f"b{k}[i] = {name}[0]")

    def _periods(self):
        """Blocks of as many short rows as the buffers hold."""
        at = {name: {"c": f"{name}_[i]", "b": f"{name}[0]"}.get(self.pattern[k], f"b{k}[i]") for k, name in enumerate(self.names)}
        self.add(1, "for top in range(0, m, rows):")
        self.add(2, "rest = min(rows, m - top)",
                 *[f"{name}_ = offset({name}, top * n)" for name in self.names if self.letter(name) == "c"])
        self._loop(2, "rest * n", at)

    def _blocked_row(self, indent, here):
        """Blocks of up to BLOCK elements, gathered into the buffers, computed in whole vectors, and scattered."""
        at = {name: f"b{k}[i]" for k, name in enumerate(self.names)}
        place = {name: f"{here[name]}[(first + i) * s{k}]" for k, name in enumerate(self.names)}
        self.add(indent, f"for first in range(0, n, {BLOCK}):")
        self.add(indent + 1, f"rest = min({BLOCK}, n - first)")
        for name in self.names[:len(self.inputs)]:
            self.add(indent + 1, "for i in range(rest):")
            self.add(indent + 2, f"{at[name]} = {place[name]}")
        self._loop(indent + 1, f"(rest + {VECTOR - 1}) & -{VECTOR}", at)
        for name in self.targets:
            self.add(indent + 1, "for i in range(rest):")
            self.add(indent + 2, f"{place[name]} = {at[name]}")

    def _paired_row(self):
        """Two elements at a time, and the one that may be left."""
        target = self.targets[0]
        for name in dict.fromkeys([*self.names[:len(self.inputs)], target]):
            if self.letter(name) == "c":
                self.add(1, f"{name}_ = as_pointer(address_of({name}), local_array(int32, 1))")
        self.add(1, "for i in range(n >> 1):")
        first, second = [", ".join(f"{half}_of_pair(x{k}_[i])" if kind == "c" else f"v{k}"
                                   for k, kind in enumerate(self.pattern[:len(self.inputs)])) for half in ("first", "second")]
        self.add(2, f"{target}_[i] = pair_of(fn({first}), fn({second}))")
        self.add(1, "if n & 1:")
        last = [f"v{k}" if self.pattern[k] == "b" else self._loaded(k, f"x{k}[n - 1]") for k in range(len(self.inputs))]
        self.add(2, f"{target}[n - 1] = " + store_source(f"fn({', '.join(last)})", "bfloat16", "", self.compute))

    # ------------------------------------------------ the loop
    def _loaded(self, k, expression):
        return load_source(expression, self.inputs[k], self.compute[k]).replace("C(", f"C{k}(")

    def _loop(self, indent, count, at):
        values = [f"v{k}" if self.pattern[k] == "b" and k != self.written else self._loaded(k, at[f"x{k}"])
                  for k in range(len(self.inputs))]
        self.add(indent, f"for i in range({count}):")
        self.add(indent + 1, f"r_ = fn({', '.join(values)})")
        for position, (target, dtype) in enumerate(zip(self.targets, self.outputs)):
            value = "r_" if self.results is None else f"r_[{self.results[position]}]"
            self.add(indent + 1, f"{at[target]} = {store_source(value, dtype, self.part, self.compute)}")


@functools.cache
def _source(*arguments):
    return _Writer(*arguments).source()


_NAMES = dict(CONVERSION_NAMES, offset=offset, local_like=local_like, as_pointer=as_pointer, address_of=address_of,
              local_array=local_array, int32=np.int32, first_of_pair=first_of_pair, second_of_pair=second_of_pair, pair_of=pair_of,
              transpose_block=transpose_block)


def _kernel(body, inputs, outputs, pattern, compute, written, results, strided, part, blocks=False, pairs=False,
            interleave=0):
    scope = dict(_NAMES, fn=body)
    for k, name in enumerate(compute):
        scope[f"C{k}"] = numpy_type(name)
    source = _source(inputs, outputs, pattern, written, compute, results, strided, blocks, pairs, part)
    compile_source(source, "pointwise kernel", scope)
    signature = [d + "*" for d in inputs] + ([] if written >= 0 else [d + "*" for d in outputs]) + ["int64*"]
    kernel = scope.pop("kernel")                         # a function among the names it sees would wait for the garbage collector
    kernel.__name__ = "pointwise"
    return compile_kernel(kernel, signature, compute=body.compute, fastmath=SCALAR_MATH, interleave=interleave)


def plan_pointwise(body: ScalarBody, inputs: tuple, outputs: tuple, shape: tuple, strides: list, *, compute: tuple,
                   written: int = -1, results: tuple | None = None, cost: float = 1.0, real_part: bool = False) -> Prepared:
    """Prepare `body` to run over memory, called with the operands' addresses.

    Args:
        body: the scalar function.
        inputs, outputs: dtype names.
        shape: the extents walked, none of them 0.
        strides: for each input and then each output, its strides along `shape` in elements.
        compute: for each input, the dtype it is converted to for the body; a 16-bit one stands for float32, rounded to it.
        written: the input that is overwritten with the one result (its strides are the output's too), or -1.
        results: which members of the tuple the body returns are stored, or None for a single value.
        cost: work of an element relative to an addition.
        real_part: store the real parts of complex results into real outputs.
    """
    if written >= 0:
        strides = [*strides, strides[written]]
    extents, steps = merge(shape, strides)
    if written >= 0:
        steps = [s[:-1] for s in steps]
    operands = len(inputs) + (0 if written >= 0 else len(outputs))
    output = written if written >= 0 else operands - 1
    pattern = repeated(extents, steps, output, BLOCK // 4)
    if not pattern:
        extents, steps = lengthened(extents, steps)
        pattern = pattern_of(steps[-1] if steps else (1,) * operands, output)
    if "s" in pattern:
        extents, steps, pattern = transposed(extents, steps, output, WIDTH // 4) or (extents, steps, pattern)
    itemsizes = [element_type(d).itemsize for d in (inputs if written >= 0 else inputs + outputs)]
    periods = "r" in pattern
    keep = 1 if periods else len(extents) - 2 if "t" in pattern else None
    rows, offsets = split(extents, steps, itemsizes, cost, keep)
    strided = (not periods and len(extents) > 1) or "s" in pattern
    blocks = cost >= LONG and body.compute in _FLOATS and "s" in pattern
    together = LONG <= cost <= LONGEST and body.compute in _FLOATS and not strided
    pairs = together and {*inputs, *outputs} == {"bfloat16"} and {*compute} == {"float32"} and results is None and \
        {*pattern} <= {"c", "b"} and pattern[output] == "c"
    interleave = (1 if pairs else SIDE_BY_SIDE) if together else 0
    kernel = _kernel(body, inputs, outputs, pattern, compute, written, results, strided, ".real" if real_part else "", blocks,
                     pairs, interleave)
    elements = 1
    for extent in extents:
        elements *= extent
    return prepare(kernel, rows, offsets, release_lock=elements * cost > 1 << 15)
