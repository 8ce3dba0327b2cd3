"""The LLVM vector IR of `lane_loops.py`: sums for a few places with features as lanes, and their way back to planes.

The Python twins are in `lane_loops.py`. Imported only when a kernel must be compiled.
"""
from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from ..micro.blocks_ir import repeat, when
from ..micro.microkernel import I32, I64, _concatenate, _index, _transpose_lanes, _Vectors
from .tile_ir import _by_vectors, _for_each_height

_ADDRESSES = ((1, 0), (1, 1), (1, 2), (3, 1), (1, 4), (5, 1), (3, 2))     # place i is so many strides, once, twice or four times


def _opaque(builder, value):
    """The same value, about which LLVM knows nothing: it would keep every multiple of a stride, too many for the registers."""
    return builder.asm(ir.FunctionType(value.type, [value.type]), "", "=r,0", [value], False)


class _Places:
    """Emits sums[run * place][vector] over parts of the depth, all in registers."""

    def __init__(self, v, run, runs, vectors, operands):
        self.v, self.b, self.run, self.runs, self.vectors = v, v.builder, run, runs, vectors
        (self.parts, self.part_step, self.depth, image, starts, stride, self.offsets, self.right, self.first, self.first_row,
         self.lowest, self.out, self.out_row, rows, self.result, self.plane, self.span) = operands
        b, size = self.b, v.bytes
        self.bases = [b.ptrtoint(b.gep(image, [b.load(b.gep(starts, [_index(r)]))]), I64) for r in range(runs)]
        self.rows = [b.load(b.gep(rows, [_index(r)])) for r in range(runs)]
        one = b.mul(stride, _index(size))
        self.strides = {n: _opaque(b, b.mul(one, _index(n))) for n in {_ADDRESSES[i][0] for i in range(run)}}

    def emit(self):
        b, v = self.b, self.v
        first = []
        for number in self.rows:
            row = b.gep(self.first, [b.mul(number, self.first_row)])
            for _ in range(self.run):
                first += [v.load(b.gep(row, [_index(j * v.width)])) for j in range(self.vectors)]
                row = b.gep(row, [self.first_row])
        sums = when(b, b.icmp_signed(">", self.parts, _index(0)), first, lambda: repeat(
            b, self.parts, "part", first, lambda part, sums: self._depth(b.mul(part, self.part_step), sums)))
        floor = v.splat(self.lowest)
        for i, value in enumerate(sums):
            value = b.select(b.fcmp_ordered("<", value, floor), v.zero, value)       # NaN passes through
            place, j = divmod(i, self.vectors)
            if j == 0:
                r, within = divmod(place, self.run)
                to = b.gep(self.out, [b.mul(self.out_row, b.add(self.rows[r], _index(within)))])
            v.store(value, b.gep(to, [_index(j * v.width)]))

    def _depth(self, first, start):
        return repeat(self.b, self.depth, "depth", start, lambda k, sums: self._step(self.b.add(first, k), k, sums))

    def _step(self, at, k, sums):
        b, v = self.b, self.v
        panel = b.gep(self.right, [b.mul(at, _index(self.vectors * v.width))])
        row = [v.load(b.gep(panel, [_index(j * v.width)])) for j in range(self.vectors)]
        if self.vectors > 1:                             # one vector's loads are as many as its multiply-adds
            self._ask_for_result(k)
        shift = b.mul(b.load(b.gep(self.offsets, [at])), _index(v.bytes))
        new = []
        for base in self.bases:
            place = b.inttoptr(b.add(base, shift), ir.IntType(8).as_pointer())
            for i in range(self.run):
                stride, times = _ADDRESSES[i]
                to = b.gep(place, [b.mul(self.strides[stride], _index(times))]) if times else place
                factor = v.splat(b.load(b.bitcast(to, v.element.as_pointer())))
                new += [v.fma(factor, x, sums[len(new) + j]) for j, x in enumerate(row)]
        return new

    def _ask_for_result(self, k):
        """Ask for the lines to which the sums will go, one of a feature at each step: first where its places begin, then where they
        end."""
        b, v = self.b, self.v
        lanes = self.vectors * v.width
        feature = b.mul(b.and_(k, _index(lanes - 1)), self.plane)
        end = b.and_(self.span, b.sub(_index(0), b.and_(b.lshr(k, _index(lanes.bit_length() - 1)), _index(1))))
        byte = ir.IntType(8).as_pointer()
        prefetch = v.declare("llvm.prefetch.p0", ir.VoidType(), [byte, I32, I32, I32])
        b.call(prefetch, [b.bitcast(b.gep(self.result, [b.add(feature, end)]), byte), *(ir.Constant(I32, x) for x in (1, 3, 1))])


class _SlidingPlaces(_Places):
    """The same for one vector of features and groups of three neighbouring k that find neighbouring elements, as neighbouring
    places do: an element loaded for one place and k serves two others (the gradient of 2 x 16 x 16 x 28 x 28 by 3 x 3 x 3 takes
    0.88 of the time)."""

    def _depth(self, first, start):
        b = self.b
        return repeat(b, self.depth, "depth", start, lambda k, sums: self._taps(b.add(first, b.mul(k, _index(3))), sums))

    def _taps(self, at, sums):
        b, v, taps = self.b, self.v, 3
        panel = b.gep(self.right, [b.mul(at, _index(v.width))])
        row = [v.load(b.gep(panel, [_index(tap * v.width)])) for tap in range(taps)]
        shift = b.mul(b.load(b.gep(self.offsets, [at])), _index(v.bytes))
        for r, base in enumerate(self.bases):
            place = b.inttoptr(b.add(base, shift), v.element.as_pointer())
            for j in range(self.run + taps - 1):
                factor = v.splat(b.load(b.gep(place, [_index(j)])))
                for tap in range(taps):
                    if 0 <= j - tap < self.run:
                        i = r * self.run + j - tap
                        sums[i] = v.fma(factor, row[tap], sums[i])
        return sums


@intrinsic(prefer_literal=True)
def multiply_sliding(typing_context, longest, runs, width, run, parts, part_step, groups, image, starts, offsets, right, first,
                     lowest, out, out_row, rows):
    tallest, number = longest.literal_value, runs.literal_value

    def emit(v, _longest, _runs, _width, run, parts, part_step, groups, image, starts, offsets, right, first, lowest, to, to_row,
             numbers):
        operands = [parts, part_step, groups, image, starts, _index(1), offsets, right, first, _index(0), lowest, to, to_row,
                    numbers, None, None, None]
        _for_each_height(v.builder, run, tallest, lambda height: _SlidingPlaces(v, height, number, 1, operands).emit())

    integer = types.int64
    return types.void(longest, runs, width, integer, integer, integer, integer, image, starts, offsets, right, first, out.dtype,
                      out, integer, rows), _by_vectors(emit, out, width)


@intrinsic(prefer_literal=True)
def multiply_places(typing_context, longest, runs, vectors, width, run, parts, part_step, depth, image, starts, stride, offsets,
                    right, first, first_row, lowest, out, out_row, rows, result, plane, span):
    tallest, number, columns = [t.literal_value for t in (longest, runs, vectors)]

    def emit(v, _longest, _runs, _vectors, _width, run, *operands):
        _for_each_height(v.builder, run, tallest, lambda height: _Places(v, height, number, columns, operands).emit())

    integer = types.int64
    return types.void(longest, runs, vectors, width, integer, integer, integer, integer, image, starts, integer, offsets, right,
                      first, integer, out.dtype, out, integer, rows, result, integer, integer), _by_vectors(emit, out, width)


@intrinsic(prefer_literal=True)
def store_transposed(typing_context, width, runs, pitch, source, run, features, out, plane, targets, ends):
    number, distance = runs.literal_value, pitch.literal_value

    def emit(v, _width, _runs, _pitch, source, run, features, out, plane, targets, ends_of_rows):
        b, lanes = v.builder, v.width
        lane = _Vectors(b, v.element, 16 // v.bytes)
        ends = [b.mul(run, _index(r)) for r in range(number + 1)]
        below = [v.first(count, 0) for count in ends]
        masks = [b.and_(high, b.xor(low, ir.Constant(low.type, [1] * lanes))) for low, high in zip(below, below[1:])]
        places = [b.sub(b.load(b.gep(targets, [_index(r)])), count) for r, count in enumerate(ends[:number])]
        room = [b.sub(b.load(b.gep(ends_of_rows, [_index(r)])), place) for r, place in enumerate(places)]
        masks = [b.and_(mask, v.first(lanes_left, 0)) for mask, lanes_left in zip(masks, room)]
        together = b.and_(b.icmp_signed(">=", room[0], _index(lanes)), b.icmp_signed(">=", features, _index(lanes)))
        for place in places[1:]:
            together = b.and_(together, b.icmp_signed("==", place, places[0]))
        step = _opaque(b, b.mul(plane, _index(v.bytes)))
        thrice = _opaque(b, b.mul(step, _index(3)))

        def transposed(there, store):
            """Give `store` every feature with its places, which go to as many pointers."""
            byte = ir.IntType(8).as_pointer()
            there = [b.ptrtoint(start, I64) for start in there]
            for chunk in range(0, lanes, lane.width):
                parts = [[lane.load(b.gep(source, [_index(r * distance + chunk)])) for r in range(t, lanes, lane.width)]
                         for t in range(lane.width)]
                values = _transpose_lanes(v, [_concatenate(b, p) for p in parts])
                skips = [_index(0), step, b.mul(step, _index(2)), thrice][:lane.width]
                for u, value in enumerate(values):
                    store(_index(chunk + u), value, [b.inttoptr(b.add(start, skips[u]), byte) for start in there])
                there = [_opaque(b, b.add(start, b.mul(step, _index(lane.width)))) for start in there]

        def store_parts(feature, value, there):
            with b.if_then(b.icmp_signed("<", feature, features), likely=True):
                for mask, start in zip(masks, there):
                    v.store(value, start, mask)

        with b.if_else(together, likely=True) as (whole, parted):
            with whole:                                  # what goes beyond the places, the next tile overwrites
                transposed([b.gep(out, [places[0]])], lambda feature, value, there: v.store(value, there[0]))
            with parted:
                transposed([b.gep(out, [place]) for place in places], store_parts)

    integer = types.int64
    return types.void(width, runs, pitch, source, integer, integer, out, integer, targets, ends), _by_vectors(emit, out, width)
