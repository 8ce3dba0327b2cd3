"""The LLVM vector IR that convolution needs beside the matrix micro-kernel of `micro/microkernel.py`.

The Python twins are in `image.py`, `window.py`, `channels.py`, `depthwise_last.py`, `columns.py`, `unfold.py`
and `winograd.py`.
Imported only when a kernel must be compiled.
"""
from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from ..micro.blocks_ir import repeat
from ..micro.microkernel import I1, I32, _index, _Vectors


def _by_vectors(emit, out, width):
    """The code of an intrinsic: what `emit(v, *values)` emits, `v` being vectors of `width` elements of `out`."""
    def codegen(context, builder, signature, values):
        emit(_Vectors(builder, context.get_value_type(out.dtype), width.literal_value), *values)
        return context.get_dummy_value()
    return codegen


@intrinsic(prefer_literal=True)
def copy_vector(typing_context, width, source, out):
    return types.void(width, source, out), _by_vectors(lambda v, _, source, out: v.store(v.load(source), out), out, width)


@intrinsic(prefer_literal=True)
def gather_pairs(typing_context, width, source, out, count):
    def emit(v, _, source, out, count):
        b, lanes = v.builder, v.width
        present = b.sub(b.mul(count, _index(2)), _index(1))
        low, high = [v.load(b.gep(source, [_index(start)]), v.first(present, start)) for start in (0, lanes)]
        evens = ir.Constant(ir.VectorType(I32, lanes), list(range(0, 2 * lanes, 2)))
        v.store(b.shuffle_vector(low, high, evens), out, v.first(count, 0))
    return types.void(width, source, out, types.int64), _by_vectors(emit, out, width)


@intrinsic(prefer_literal=True)
def scatter_pairs(typing_context, width, source, out, count):
    def emit(v, _, source, out, count):
        b, lanes = v.builder, v.width
        value = v.load(source, v.first(count, 0))
        bits = ir.VectorType(I1, lanes)
        evens = ir.Constant(bits, [lane % 2 == 0 for lane in range(lanes)])
        present = b.mul(count, _index(2))
        for start in (0, lanes):
            picks = ir.Constant(ir.VectorType(I32, lanes), [(start + lane) // 2 for lane in range(lanes)])
            spread = b.shuffle_vector(value, v.zero, picks)
            v.store(spread, b.gep(out, [_index(start)]), b.and_(evens, v.first(present, start)))
    return types.void(width, source, out, types.int64), _by_vectors(emit, out, width)


@intrinsic(prefer_literal=True)
def merge_pairs(typing_context, width, even, odd, start, out, count):
    def emit(v, _, even, odd, start, out, count):
        b, lanes = v.builder, v.width
        mask, shift = v.first(count, 0), v.splat(start)
        evens, odds = (b.fadd(v.load(source, mask), shift) for source in (even, odd))
        doubled = b.mul(count, _index(2))
        for first in (0, lanes):
            picks = [(first + lane) // 2 + lane % 2 * lanes for lane in range(lanes)]
            both = b.shuffle_vector(evens, odds, ir.Constant(ir.VectorType(I32, lanes), picks))
            v.store(both, b.gep(out, [_index(first)]), v.first(doubled, first))
    return types.void(width, even, odd, out.dtype, out, types.int64), _by_vectors(emit, out, width)


def _for_each_height(builder, value, tallest, emit):
    """A switch over `value`, 1 to `tallest`, with code of its own for each."""
    done = builder.append_basic_block("tile_done")
    switch = builder.switch(value, done)
    for height in range(1, tallest + 1):
        block = builder.append_basic_block(f"rows{height}")
        switch.add_case(_index(height), block)
        builder.position_at_end(block)
        emit(height)
        builder.branch(done)
    builder.position_at_end(done)


def _emit_window(v, features, lines, most, operands):
    depth, image, distance, offsets, weights, starts, lowest, out, out_feature, out_distance, count = operands
    b = v.builder
    bases = [b.gep(image, [b.mul(distance, _index(i))]) for i in range(lines)]
    first = [v.splat(b.load(b.gep(starts, [_index(f)]))) for f in range(features)]

    def step(k, sums):
        at = b.load(b.gep(offsets, [k]))
        row = [v.load(b.gep(base, [at])) for base in bases]
        factors, new = b.gep(weights, [b.mul(k, _index(most))]), []
        for f in range(features):
            factor = v.splat(b.load(b.gep(factors, [_index(f)])))
            new += [v.fma(factor, x, old) for x, old in zip(row, sums[f * lines:])]
        return new

    sums = repeat(b, depth, "window", [start for start in first for _ in range(lines)], step)
    mask, floor = v.first(count, 0), v.splat(lowest)
    for f in range(features):
        start = b.gep(out, [b.mul(out_feature, _index(f))])
        for i, value in enumerate(sums[f * lines:(f + 1) * lines]):
            value = b.select(b.fcmp_ordered("<", value, floor), v.zero, value)       # NaN passes through
            v.store(value, b.gep(start, [b.mul(out_distance, _index(i))]), mask)


@intrinsic(prefer_literal=True)
def multiply_window(typing_context, most, lines, width, features, depth, image, distance, offsets, weights, starts, lowest, out,
                    out_feature, out_distance, count):
    tallest, number = most.literal_value, lines.literal_value

    def emit(v, _most, _lines, _width, features, *operands):
        _for_each_height(v.builder, features, tallest, lambda height: _emit_window(v, height, number, tallest, operands))

    integer = types.int64
    return types.void(most, lines, width, integer, integer, image, integer, offsets, weights, starts, out.dtype, out, integer,
                      integer, integer), _by_vectors(emit, out, width)


def _emit_rows(v, tall, lines, most, operands):
    image, distance, wide, tap_step, weights, start, lowest, out, out_distance, count = operands
    b = v.builder
    bases = [b.gep(image, [b.mul(distance, _index(r))]) for r in range(lines + tall - 1)]
    places = [b.mul(b.mul(wide, _index(y)), _index(most)) for y in range(tall)]
    first = v.splat(start)

    def step(k, sums):
        factors = [v.splat(b.load(b.gep(weights, [b.add(place, b.mul(k, _index(most)))]))) for place in places]
        at = b.mul(k, tap_step)
        for r, base in enumerate(bases):
            x = v.load(b.gep(base, [at]))
            for y in range(max(r - lines + 1, 0), min(r + 1, tall)):
                sums[r - y] = v.fma(factors[y], x, sums[r - y])
        return sums

    sums = repeat(b, wide, "rows", [first] * lines, step)
    mask, floor = v.first(count, 0), v.splat(lowest)
    for i, value in enumerate(sums):
        value = b.select(b.fcmp_ordered("<", value, floor), v.zero, value)
        v.store(value, b.gep(out, [b.mul(out_distance, _index(i))]), mask)


@intrinsic(prefer_literal=True)
def multiply_rows(typing_context, tall, lines, most, width, image, distance, wide, tap_step, weights, start, lowest, out,
                  out_distance, count):
    height, number, step = [t.literal_value for t in (tall, lines, most)]
    integer = types.int64
    return types.void(tall, lines, most, width, image, integer, integer, integer, weights, start, out.dtype, out, integer,
                      integer), _by_vectors(lambda v, *values: _emit_rows(v, height, number, step, values[4:]), out, width)


def _window_sums(v, bases, depth, offsets, weights, most, first):
    """One feature's sums over k, for a vector at each base."""
    b = v.builder

    def step(k, sums):
        at = b.load(b.gep(offsets, [k]))
        factor = v.splat(b.load(b.gep(weights, [b.mul(k, _index(most))])))
        return [v.fma(factor, v.load(b.gep(base, [at])), old) for base, old in zip(bases, sums)]

    return repeat(b, depth, "half", [first] * len(bases), step)


@intrinsic(prefer_literal=True)
def multiply_pairs(typing_context, most, lines, width, image, distance, depth, offsets, weights, odd_depth, odd_offsets,
                   odd_weights, start, out, out_distance, count):
    step, number = most.literal_value, lines.literal_value

    def emit(v, _most, _lines, _width, image, distance, depth, offsets, weights, odd_depth, odd_offsets, odd_weights, start, to,
             to_distance, count):
        b, lanes = v.builder, v.width
        bases, first = [b.gep(image, [b.mul(distance, _index(i))]) for i in range(number)], v.splat(start)
        evens = _window_sums(v, bases, depth, offsets, weights, step, first)
        odds = _window_sums(v, bases, odd_depth, odd_offsets, odd_weights, step, first)
        for i, (even, odd) in enumerate(zip(evens, odds)):
            for half in range(2):
                picks = [(half * lanes + lane) // 2 + lane % 2 * lanes for lane in range(lanes)]
                both = b.shuffle_vector(even, odd, ir.Constant(ir.VectorType(I32, lanes), picks))
                v.store(both, b.gep(to, [b.add(b.mul(to_distance, _index(i)), _index(half * lanes))]), v.first(count, half * lanes))

    integer = types.int64
    return types.void(most, lines, width, image, integer, integer, offsets, weights, integer, odd_offsets, odd_weights, start, out,
                      integer, integer), _by_vectors(emit, out, width)


def _by_height(emit, out, width, tallest):
    """The same of code for each height, which is the third argument: what `emit(v, height, *values)` emits for the others."""
    def heights(v, _tallest, _width, height, *values):
        _for_each_height(v.builder, height, tallest.literal_value, lambda n: emit(v, n, *values))
    return _by_vectors(heights, out, width)


def _emit_channels(v, run, distance, depth, image, offsets, weights, first, first_row, lowest, out, out_row):
    b = v.builder
    bases = [b.gep(image, [b.mul(distance, _index(r))]) for r in range(run)]
    starts = [v.load(b.gep(first, [b.mul(first_row, _index(r))])) for r in range(run)]

    def step(k, sums):
        at, factor = b.load(b.gep(offsets, [k])), v.load(b.gep(weights, [b.mul(k, _index(v.width))]))
        return [v.fma(factor, v.load(b.gep(base, [at])), old) for base, old in zip(bases, sums)]

    sums, floor = repeat(b, depth, "channels", starts, step), v.splat(lowest)
    for r, value in enumerate(sums):
        value = b.select(b.fcmp_ordered("<", value, floor), v.zero, value)       # NaN passes through
        v.store(value, b.gep(out, [b.mul(out_row, _index(r))]))


@intrinsic(prefer_literal=True)
def multiply_channels(typing_context, longest, width, run, distance, depth, image, offsets, weights, first, first_row, lowest, out,
                      out_row):
    integer = types.int64
    return types.void(longest, width, integer, integer, integer, image, offsets, weights, first, integer, out.dtype, out,
                      integer), _by_height(_emit_channels, out, width, longest)


def _add_in_registers(v, taps, offsets, image, number, sums, factor_of):
    """sums[t] += the products of `number` steps, for each tap's own place of the image. `factor_of(k)` gives a step's factor, how
    far it is along in the image, and the mask of its lanes, if any."""
    b = v.builder
    bases = [b.gep(image, [b.load(b.gep(offsets, [_index(t)]))]) for t in range(taps)]
    ends = [b.gep(sums, [_index(t * v.width)]) for t in range(taps)]

    def step(k, totals):
        factor, at, mask = factor_of(k)
        return [v.fma(factor, v.load(b.gep(base, [at]), mask), old) for base, old in zip(bases, totals)]

    for end, value in zip(ends, repeat(b, number, "taps", [v.load(end) for end in ends], step)):
        v.store(value, end)


def _emit_taps(v, taps, places, image, offsets, step, factors, factors_row, sums):
    b = v.builder
    _add_in_registers(v, taps, offsets, image, places, sums,
                      lambda k: (v.load(b.gep(factors, [b.mul(k, factors_row)])), b.mul(k, step), None))


@intrinsic(prefer_literal=True)
def multiply_taps(typing_context, longest, width, taps, places, image, offsets, step, factors, factors_row, sums):
    integer = types.int64
    return types.void(longest, width, integer, integer, image, offsets, integer, factors, integer, sums), _by_height(
        _emit_taps, sums, width, longest)


def _emit_dots(v, taps, segments, number, grad, image, offsets, sums):
    b = v.builder

    def factor_of(k):
        words = [b.load(b.gep(segments, [b.add(b.mul(k, _index(3)), _index(i))])) for i in range(3)]
        mask = v.first(words[2], 0)
        return v.load(b.gep(grad, [words[0]]), mask), words[1], mask

    _add_in_registers(v, taps, offsets, image, number, sums, factor_of)


@intrinsic(prefer_literal=True)
def multiply_dots(typing_context, most, width, taps, segments, number, grad, image, offsets, sums):
    integer = types.int64
    return types.void(most, width, integer, segments, integer, grad, image, offsets, sums), _by_height(
        _emit_dots, sums, width, most)


def _emit_pieces(v, _, number, pieces, source, start, out, count):
    b = v.builder

    def step(k, totals):
        at, bits = [b.load(b.gep(pieces, [b.add(b.mul(k, _index(2)), _index(i))])) for i in range(2)]
        mask = b.bitcast(b.trunc(bits, ir.IntType(v.width)), ir.VectorType(I1, v.width))
        return [b.fadd(totals[0], v.load(b.gep(source, [at]), mask))]

    total, = repeat(b, number, "pieces", [v.splat(start)], step)
    v.store(total, out, v.first(count, 0))


@intrinsic(prefer_literal=True)
def sum_pieces(typing_context, width, number, pieces, source, start, out, count):
    return types.void(width, types.int64, pieces, source, out.dtype, out, types.int64), _by_vectors(_emit_pieces, out, width)


# ---------------------------------------------------------------- Winograd's transforms
def _transform(v, x, matrix):
    """Rows of a matrix of 0, 1 and -1, and halves, times vectors x."""
    b, results = v.builder, []
    for row in matrix:
        total, scale = None, 1
        for factor, value in zip(row, x):
            if factor == 0:
                continue
            if abs(factor) != 1:
                scale = abs(factor)
            if total is None:
                total = value if factor > 0 else b.fneg(value)
            else:
                total = (b.fadd if factor > 0 else b.fsub)(total, value)
        if scale != 1:
            total = b.fmul(total, ir.Constant(v.type, [scale] * v.width))
        results.append(total)
    return results


def _both_sides(v, matrix, x, columns):
    """matrix @ X @ matrix^T, where x lists the rows of X, of `columns` elements."""
    down = [_transform(v, x[c::columns], matrix) for c in range(columns)]
    return [value for r in range(len(matrix)) for value in _transform(v, [column[r] for column in down], matrix)]


_INPUT = ((1, 0, -1, 0), (0, 1, 1, 0), (0, -1, 1, 0), (0, 1, 0, -1))
_WEIGHT = ((1, 0, 0), (0.5, 0.5, 0.5), (0.5, -0.5, 0.5), (0, 0, 1))
_OUTPUT = ((1, 1, 1, 0), (0, 1, -1, -1))


@intrinsic(prefer_literal=True)
def winograd_input(typing_context, width, image, offsets, out, step, count):
    def emit(v, _, image, offsets, out, step, count):
        b, mask = v.builder, v.first(count, 0)
        x = [v.load(b.gep(image, [b.load(b.gep(offsets, [_index(e)]))])) for e in range(16)]
        for e, value in enumerate(_both_sides(v, _INPUT, x, 4)):
            v.store(value, b.gep(out, [b.mul(step, _index(e))]), mask)
    return types.void(width, image, offsets, out, types.int64, types.int64), _by_vectors(emit, out, width)


@intrinsic(prefer_literal=True)
def winograd_weight(typing_context, width, source, pitch, flipped, out, step):
    def emit(v, _, source, pitch, flipped, out, step):
        b = v.builder
        round_about = b.icmp_signed("!=", flipped, _index(0))
        x = [v.load(b.gep(source, [b.mul(pitch, b.select(round_about, _index(8 - t), _index(t)))])) for t in range(9)]
        for e, value in enumerate(_both_sides(v, _WEIGHT, x, 3)):
            v.store(value, b.gep(out, [b.mul(step, _index(e))]))
    return types.void(width, source, types.int64, types.int64, out, types.int64), _by_vectors(emit, out, width)


@intrinsic(prefer_literal=True)
def winograd_output(typing_context, width, sums, step, bias, lowest, out, out_row, rows, columns):
    def emit(v, _, sums, step, bias, lowest, out, out_row, rows, columns):
        b, lanes = v.builder, v.width
        shift, floor = v.splat(bias), v.splat(lowest)
        masks = [v.first(columns, start) for start in (0, lanes)]
        x = [v.load(b.gep(sums, [b.mul(step, _index(e))])) for e in range(16)]
        values = []
        for value in _both_sides(v, _OUTPUT, x, 4):
            value = b.fadd(value, shift)
            values.append(b.select(b.fcmp_ordered("<", value, floor), v.zero, value))
        for line in range(2):
            with b.if_then(b.icmp_signed(">", rows, _index(line))):
                start = b.gep(out, [b.mul(out_row, _index(line))])
                for half in range(2):
                    picks = [lane // 2 + lane % 2 * lanes + half * lanes // 2 for lane in range(lanes)]
                    both = b.shuffle_vector(values[2 * line], values[2 * line + 1],
                                            ir.Constant(ir.VectorType(I32, lanes), picks))
                    v.store(both, b.gep(start, [_index(half * lanes)]), masks[half])

    integer = types.int64
    return types.void(width, sums, integer, out.dtype, out.dtype, out, integer, integer, integer), _by_vectors(emit, out, width)
