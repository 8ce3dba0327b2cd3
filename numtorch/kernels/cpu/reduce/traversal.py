"""How a reduction walks its input: dimensions merged, a form chosen, work split, and all of it written down.

Every reduction kernel is one nest of four levels, and reads the same descriptor:

    kept outer (by division)  >  columns (x_step, out_step)  >  reduced outer (by division)  >  n (step)

The *rows* form reduces n elements at a time into a scalar. The *columns* form runs along the columns and adds n rows
into an accumulator per column; it is chosen when the columns, not the reduced elements, are neighbours in memory.

Descriptor, in elements: what the names below say, of which KEPT and REDUCED are the outer counts, and the last two are the
reduction's float64 parameters as bits; then per kept outer dimension (innermost first) its extent, out_step and x_step; then per
reduced outer dimension its extent and step.

`fold` rows that lie one after another are taken as one long row, so that few columns still fill vectors.
"""
from __future__ import annotations

import math
from typing import NamedTuple

from ...binding import ScalarBody
from ...loopnest import merge, merge_neighbours
from ...program import STACK, STACK_BYTES, Program
from ...threads import Prepared, get_num_threads, prepare
from ..shared.elements import bits

LENGTH, STEP, COLUMNS, X_STEP, OUT_STEP, KEPT, KEPT_DIMS, REDUCED, REDUCED_DIMS, FOLD, PARAMETER, COUNT = range(12)
HEADER = COUNT + 1
BLOCK_COLUMNS = 512              # columns that are accumulated together; their accumulators live on the stack, in L1
SHORT = 12                       # reduced elements that make a short row
FOLDED = 256                     # what few columns are widened to
PARTIALS = STACK_BYTES // 24     # results of the first of two stages, 24 bytes each at most
THREAD_WORK = 50_000             # elements that make a thread worth waking
WORTH_RELEASING = 30_000         # elements above which other Python threads may run during a call


def _position(index, descriptor, entry, dims, width, column):
    """Offset of the outer dimensions' index; their extents stand at `entry` in the descriptor, `width` apart."""
    at = 0
    for d in range(dims):
        e = entry + d * width
        rest = index // descriptor[e]
        at += (index - rest * descriptor[e]) * descriptor[e + column]
        index = rest
    return at


position = ScalarBody(_position, "int64", "float")       # as a scalar body it is compiled once for all kernels


class Nest(NamedTuple):
    """A merged descriptor: kept dimensions (extent, out_step, x_step) and reduced ones (extent, step), outermost first."""
    kept: list
    reduced: list

    @property
    def outputs(self):
        return math.prod(k[0] for k in self.kept)

    @property
    def reduction(self):
        return math.prod(r[0] for r in self.reduced)

    def columns_form(self, abreast=False) -> bool:
        """Whether neighbouring columns are nearer in memory than neighbouring reduced elements, or rows are so short that a row at
        a time costs more than gathering: 5 times at 2 to 4 elements, nothing from 16. Rows that vectors reduce `abreast` never do
        but of two: gathered, rows of 3 take 1.3 times as long, and of 10 5 times."""
        if not self.kept:
            return False
        extent, _, x_step = self.kept[-1]
        step = abs(self.reduced[-1][1]) if self.reduced else math.inf
        short = 2 if abreast and len(self.reduced) == 1 and self.reduced[0][1] == 1 and x_step > 0 else SHORT
        return (extent > 1 and 0 < abs(x_step) < step) or self.reduction <= (short if extent >= BLOCK_COLUMNS // 8 else 1)

    def fold(self) -> int:
        if not self.kept or not self.reduced or self.kept[-1][2] != 1:
            return 1
        columns, (n, step) = self.kept[-1][0], self.reduced[-1]
        return max(1, min(FOLDED // columns, n // 4)) if 0 < columns == step else 1

    def descriptor(self, parameters=(0.0, 0.0)) -> list:
        if 0 in (self.outputs, self.reduction):
            kept = [(0, 0, 0)] if self.outputs == 0 else self.kept
            return Nest(kept, [])._write(parameters, 0 if self.reduction == 0 else 1)
        return self._write(parameters, 1)

    def _write(self, parameters, least):
        kept, reduced = list(self.kept), list(self.reduced)
        columns, out_step, x_step = kept.pop() if kept else (1, 0, 0)
        n, step = reduced.pop() if reduced else (least, 1)
        tail = [word for dim in reversed(kept) for word in dim] + [word for dim in reversed(reduced) for word in dim]
        return [n, step, columns, x_step, out_step, math.prod(k[0] for k in kept), len(kept),
                math.prod(r[0] for r in reduced), len(reduced), self.fold(), *map(bits, parameters), *tail]


def _kept(shape, strides, axes, out_strides):
    kept = [i for i in range(len(shape)) if i not in axes]
    extents, steps = merge([shape[i] for i in kept], [[t[i] for i in kept] for t in (out_strides, strides)])
    return [(n, *s) for n, s in zip(extents, steps)]


def nest(shape, strides, axes, out_strides) -> Nest:
    """The merged loop nest of a reduction over `axes`. Order within the reduced dimensions is lost."""
    reduced, reduced_steps = merge([shape[i] for i in axes], [[strides[i] for i in axes]])
    inside = sorted([(n, *s) for n, s in zip(reduced, reduced_steps)], key=lambda dim: dim[1] != 0)      # repeats go outermost
    return Nest(_kept(shape, strides, axes, out_strides), inside)


def nest_in_order(shape, strides, axes, out_strides) -> Nest:
    """The same of one whose elements keep their order."""
    reduced = merge_neighbours([(shape[a], (strides[a],)) for a in axes])
    return Nest(_kept(shape, strides, axes, out_strides), [(n, *s) for n, s in reduced])


def _cut(dims, axis, parts, grain):
    """Dims with `dims[axis]` cut into parts, and each part's start."""
    extent = dims[axis][0]
    units = -(-extent // grain)
    for part in range(parts):
        start, stop = (min(extent, units * p // parts * grain) for p in (part, part + 1))
        yield start, [*dims[:axis], (stop - start, *dims[axis][1:]), *dims[axis + 1:]]


def split_kept(descriptor: Nest, parts, columns_form):
    """One nest a part and the (out, x) steps it starts at, splitting the outputs; None where they are too few."""
    for axis, (extent, out_step, x_step) in enumerate(descriptor.kept):
        grain = 64 if columns_form and axis == len(descriptor.kept) - 1 else 1
        if extent >= parts * grain:
            return [(Nest(kept, descriptor.reduced), start * out_step, start * x_step)
                    for start, kept in _cut(descriptor.kept, axis, parts, grain)]
    return None


def split_reduced(descriptor: Nest, parts):
    """One nest a part and the x step it starts at, splitting what is reduced; None where no dimension is long."""
    for axis, (extent, step) in enumerate(descriptor.reduced):
        grain = 64 if axis == len(descriptor.reduced) - 1 and abs(step) == 1 else 1
        if extent >= parts * grain:
            return [(Nest(descriptor.kept, reduced), start * step)
                    for start, reduced in _cut(descriptor.reduced, axis, parts, grain)]
    return None


def wanted_parts(elements: int, cost: float = 1.0) -> int:
    return max(1, min(get_num_threads(), int(elements * cost // THREAD_WORK)))


def prepare_stages(first: Prepared, last: Prepared) -> Prepared:
    """Join two stages: `first` (of several parts) writes to the call's stack what `last` reads there."""
    program = Program("x", "out")
    program.add([program.launch(first, program.word("x"), program.word(STACK)),
                 program.launch(last, program.word(STACK), program.word("out"))])
    return program.prepare()


def plan_stages(descriptor: Nest, cost, item, out_item, kernels, parameters=(0.0, 0.0)) -> Prepared:
    """Prepare a reduction: one part, several over the outputs, or two stages over the threads.

    Args:
        descriptor: the nest.
        cost: the work of an element relative to an addition.
        item, out_item: bytes of an input and an output element.
        kernels: `kernels(stage, columns_form, descriptors)` gives the kernel of a stage for all these descriptors: "whole",
            "first" (input to partial results) or "last" (partial results to output); `kernels.abreast(stage)` says whether it
            reduces rows by vectors, and `kernels.partial` the bytes of a partial result.
        parameters: two floats for the kernel.
    """
    elements = descriptor.outputs * descriptor.reduction
    form = descriptor.columns_form(kernels.abreast("whole"))
    parts = wanted_parts(elements, cost)
    busy = elements * cost > WORTH_RELEASING
    shared = split_kept(descriptor, parts, form) if parts > 1 else None
    if shared:
        rows = [part.descriptor(parameters) for part, *_ in shared]
        offsets = [(x * item, out * out_item) for _, out, x in shared]
        return prepare(kernels("whole", form, rows), rows, offsets)
    if parts > 1 and descriptor.outputs * parts <= PARTIALS:
        shape = [k[0] for k in descriptor.kept]
        steps = [math.prod(shape[i + 1:]) for i in range(len(shape))]
        inner = Nest([(n, s, x) for (n, _, x), s in zip(descriptor.kept, steps)], descriptor.reduced)
        shared = split_reduced(inner, parts)
        if shared:
            rows = [part.descriptor(parameters) for part, _ in shared]
            offsets = [(x * item, i * descriptor.outputs * kernels.partial) for i, (_, x) in enumerate(shared)]
            first = prepare(kernels("first", form, rows), rows, offsets)
            last = Nest([(n, out, s) for (n, out, _), s in zip(descriptor.kept, steps)], [(parts, descriptor.outputs)])
            rows = [last.descriptor(parameters)]
            return prepare_stages(first, prepare(kernels("last", last.columns_form(), rows), rows))
    rows = [descriptor.descriptor(parameters)]
    return prepare(kernels("whole", form, rows), rows, release_lock=busy)
