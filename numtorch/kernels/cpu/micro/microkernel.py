"""The LLVM vector IR of the matrix kernels: register tiles of C and in-register transposes.

LLVM's vectorisers reach 70 of 115 GF/s on a matrix product, because no loop keeps 28 vector accumulators in registers;
so the innermost loops are written as IR. Their Python twins and the choice of tile are in `tile.py`, the loops around
them in `gemm/gemm.py`. This module imports Numba and is itself imported only when a kernel must be compiled.
"""
from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from .blocks_ir import when
from .tile import ACCUMULATE, ASK_ROWS, COLUMN_BIAS, RELU, ROW_BIAS, SCALE

I1, I32, I64 = ir.IntType(1), ir.IntType(32), ir.IntType(64)


def _index(value):
    return ir.Constant(I64, value)


def _no_unrolling(module):
    """A loop's metadata. Its first operand is itself, by LLVM's convention."""
    disable = module.add_metadata([ir.MetaDataString(module, "llvm.loop.unroll.disable")])
    loop = module.add_metadata([ir.Constant(I32, len(module.metadata)), disable])
    loop.operands = loop, disable
    return loop


def _prefetch(builder, pointer, write, level=1):
    byte = ir.IntType(8).as_pointer()
    kind = ir.FunctionType(ir.VoidType(), [byte, I32, I32, I32])
    prefetch = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
    builder.call(prefetch, [builder.bitcast(pointer, byte), *(ir.Constant(I32, x) for x in (write, 4 - level, 1))])


class _Vectors:
    """Loads, stores and arithmetic on <width x element> at a builder, of floats or of integers, which wrap around."""

    def __init__(self, builder, element, width):
        self.builder, self.element, self.width = builder, element, width
        self.integer = isinstance(element, ir.IntType)
        self.bytes = element.width // 8 if self.integer else 4 if isinstance(element, ir.FloatType) else 8
        self.type = ir.VectorType(element, width)
        self.zero = ir.Constant(self.type, [0 if self.integer else 0.0] * width)
        self.suffix = f"v{width}{'i' if self.integer else 'f'}{8 * self.bytes}"

    def declare(self, name, result, arguments):
        return cgutils.get_or_insert_function(self.builder.module, ir.FunctionType(result, arguments), name)

    def splat(self, scalar, kind=None):
        kind = kind or self.type
        undefined = ir.Constant(kind, ir.Undefined)
        one = self.builder.insert_element(undefined, scalar, ir.Constant(I32, 0))
        return self.builder.shuffle_vector(one, undefined, ir.Constant(ir.VectorType(I32, self.width), [0] * self.width))

    def fma(self, x, y, z):
        if self.integer:
            return self.builder.add(self.builder.mul(x, y), z)
        return self.builder.call(self.declare(f"llvm.fma.{self.suffix}", self.type, [self.type] * 3), [x, y, z])

    def multiply(self, x, y):
        return self.builder.mul(x, y) if self.integer else self.builder.fmul(x, y)

    def add(self, x, y):
        return self.builder.add(x, y) if self.integer else self.builder.fadd(x, y)

    def negative(self, x):
        """Whether x < 0: not where it is NaN."""
        return self.builder.icmp_signed("<", x, self.zero) if self.integer else self.builder.fcmp_ordered("<", x, self.zero)

    def first(self, count, start):
        """The mask of the lanes that hold columns below `count`, when lane 0 holds column `start`."""
        lanes = ir.VectorType(I32, self.width)
        numbers = ir.Constant(lanes, list(range(start, start + self.width)))
        return self.builder.icmp_signed("<", numbers, self.splat(self.builder.trunc(count, I32), lanes))

    def load(self, pointer, mask=None):
        pointer = self.builder.bitcast(pointer, self.type.as_pointer())
        if mask is None:
            value = self.builder.load(pointer)
            value.align = self.bytes
            return value
        masked = self.declare(f"llvm.masked.load.{self.suffix}.p0", self.type,
                              [pointer.type, I32, ir.VectorType(I1, self.width), self.type])
        return self.builder.call(masked, [pointer, ir.Constant(I32, self.bytes), mask, self.zero])

    def store(self, value, pointer, mask=None):
        pointer = self.builder.bitcast(pointer, self.type.as_pointer())
        if mask is None:
            self.builder.store(value, pointer).align = self.bytes
            return
        masked = self.declare(f"llvm.masked.store.{self.suffix}.p0", ir.VoidType(),
                              [self.type, pointer.type, I32, ir.VectorType(I1, self.width)])
        self.builder.call(masked, [value, pointer, ir.Constant(I32, self.bytes), mask])


# ---------------------------------------------------------------- the register tile
_PREFETCH_CYCLES = 400                                   # B is asked for so long before it is used: the L3 cache's latency
_SHORT_PANEL = 96                                        # steps
_LAST_STEPS = 25                                         # before which the last row of C is asked for, some 350 cycles
_TALL = 8                                                # rows from which the steps before those have a loop of their own


class _Tile:
    """Emits C[rows, vectors * width] = epilogue(A @ B) with all of C in registers, for one height."""

    def __init__(self, builder, element, rows, vectors, width, masked, operands):
        self.b, self.rows, self.vectors, self.width = builder, rows, vectors, width
        self.last = builder.sub(operands[0], _index(1))
        self.v = _Vectors(builder, element, width)
        (self.depth, self.left, self.left_row, self.left_column, self.right, self.right_row, self.out, self.out_row,
         self.columns, self.alpha, self.beta, self.bias, self.flags) = operands[1:]
        self.asks = bool(masked & ASK_ROWS)
        self.masks = [self.v.first(self.columns, j * width) if masked & 1 else None for j in range(vectors)]

    def emit(self):
        self.out_rows = [self.b.gep(self.out, [self.b.mul(self.out_row, self._row(i))]) for i in range(self.rows)]
        sums = self._products()
        plain = self.b.append_basic_block("plain")
        more = self.b.append_basic_block("more")
        done = self.b.append_basic_block("stored")
        self.b.cbranch(self.b.icmp_signed("==", self.flags, _index(0)), plain, more)
        self.b.position_at_end(plain)
        self._store(sums)
        self.b.branch(done)
        self.b.position_at_end(more)
        self._store(self._epilogue(sums))
        self.b.branch(done)
        self.b.position_at_end(done)

    def _row(self, i):
        """The row of A and C behind row i of the tile: an odd height repeats its last row, and stores it twice."""
        return _index(i) if i < self.rows - 1 else self.last

    def _opaque(self, value):
        """The same value, about which LLVM knows nothing: it would turn the rows' addresses into one chain of additions,
        as long as the multiply-adds it feeds (157 instead of 172 GF/s)."""
        return self.b.asm(ir.FunctionType(value.type, [value.type]), "", "=r,0", [value], False)

    def _row_addresses(self):
        """Every seventh row has a pointer; those between are small multiples of the stride on, which addressing modes add."""
        b = self.b
        stride = self._opaque(b.mul(self.left_row, _index(self.v.bytes)))
        base = b.ptrtoint(self.left, I64)
        odd = {1: stride, 3: self._opaque(b.mul(stride, _index(3))), 5: self._opaque(b.mul(stride, _index(5)))}
        multiples = [_index(0), *(b.shl(odd[k], _index(shift)) for k, shift in ((1, 0), (1, 1), (3, 0), (1, 2), (5, 0), (3, 1)))]
        offsets = [multiples[i % 7] for i in range(self.rows)]
        offsets[-1] = self._opaque(b.mul(stride, b.sub(self.last, _index((self.rows - 1) // 7 * 7))))
        return offsets, [self._opaque(b.add(base, b.mul(stride, _index(i)))) for i in range(0, self.rows, 7)]

    def _broadcast(self, base, offset):
        at = self.b.gep(self.b.inttoptr(base, ir.IntType(8).as_pointer()), [offset])
        return self.v.splat(self.b.load(self.b.bitcast(at, self.v.element.as_pointer())))

    def _products(self):
        """The sums over the depth. Before the last steps the rows of C are asked for, one a step; they would otherwise come as late
        as a tenth of the products take. Few steps ask for those of the tile to the right: 1000x16x1000 takes 1.14 times as long
        without. Until then steps leave that out, 51 instructions instead of 59: 1024^3 takes 2 % longer with one loop for all, and
        up to 20 % where other work shares the processor. All rows at once, before the first step, cost 256^3 of float64 4 %."""
        b = self.b
        self.offsets, bases = self._row_addresses()
        self.step = b.mul(self.left_column, _index(self.v.bytes))
        self.ahead = self._panel_to_come()
        rows_to_come = b.gep(self.left, [b.mul(b.add(self.last, _index(1)), self.left_row)]) if self.asks else self.left
        few = b.icmp_signed("<", self.depth, _index(_LAST_STEPS + self.rows))
        self.last_steps = b.select(few, _index(0), _index(_LAST_STEPS))
        out = b.select(few, b.gep(self.out, [_index(self.vectors * self.width)]), self.out)
        state = [*bases, self.right, out, rows_to_come, *[self.v.zero] * (self.rows * self.vectors)]
        count = self.depth
        if self.rows >= _TALL:
            before = b.sub(self.depth, _index(_LAST_STEPS + self.rows))
            state = when(b, b.icmp_signed(">", before, _index(0)), state, lambda: self._steps(before, state, False))
            count = b.select(few, self.depth, _index(_LAST_STEPS + self.rows))
        sums = when(b, b.icmp_signed(">", count, _index(0)), state, lambda: self._steps(count, state, True))[len(bases) + 3:]
        return [sums[i * self.vectors:(i + 1) * self.vectors] for i in range(self.rows)]

    def _steps(self, count, start, last):
        """`count` steps of the depth: one broadcast of A and `vectors` multiply-adds a row and step. The last ones ask for C."""
        b, v = self.b, self.v
        entry, loop, done = b.block, b.append_basic_block("depth"), b.append_basic_block("stepped")
        b.branch(loop)
        b.position_at_end(loop)
        start = [*start, count]
        phis = [b.phi(value.type) for value in start]
        groups = (self.rows + 6) // 7
        bases, (right, out, coming), sums, remaining = phis[:groups], phis[groups:groups + 3], phis[groups + 3:-1], phis[-1]
        row = [v.load(b.gep(right, [_index(j * self.width)])) for j in range(self.vectors)]
        for j in range(self.vectors):
            _prefetch(b, b.gep(right, [b.add(self.ahead, _index(j * self.width))]), 0)
            if last:
                _prefetch(b, b.gep(out, [_index(j * self.width)]), 1)
        if self.asks:                                    # a line a step: 14 rows of float32 are 7/8 of one, of float64 two
            _prefetch(b, coming, 0)
            coming = b.gep(coming, [_index(self.width)])
        new = []
        for i in range(self.rows):
            factor = self._broadcast(bases[i // 7], self.offsets[i])
            new += [self._step(factor, row[j], sums[i * self.vectors + j]) for j in range(self.vectors)]
        following = b.sub(remaining, _index(1))
        if last:
            asking = b.icmp_unsigned("<", b.sub(remaining, self.last_steps), self.last)
            out = b.gep(out, [b.select(asking, self.out_row, _index(0))])
        ends = [*(b.add(base, self.step) for base in bases), b.gep(right, [self.right_row]), out, coming, *new, following]
        for phi, first, value in zip(phis, start, ends):
            phi.add_incoming(first, entry)
            phi.add_incoming(value, loop)
        again = b.cbranch(b.icmp_signed("!=", following, _index(0)), loop, done)
        again.set_metadata("llvm.loop", _no_unrolling(b.module))
        b.position_at_end(done)
        return ends[:-1]

    def _step(self, factor, x, total):
        return self.v.fma(factor, x, total)

    def _panel_to_come(self):
        """How far ahead in B to ask: some steps of this panel, or the same step of the panel to the right when this one is short.
        In place, one row is in another page than the next. A packed panel is followed by the next."""
        b = self.b
        far = b.mul(_index(_PREFETCH_CYCLES // self.rows), self.right_row)
        short = b.icmp_signed("<", self.depth, _index(_SHORT_PANEL))
        packed = b.icmp_signed("==", self.right_row, _index(self.vectors * self.width))
        return b.select(b.and_(short, b.not_(packed)), _index(self.vectors * self.width), far)

    def _epilogue(self, sums):
        sums = self._when(SCALE, sums, self._scale)
        sums = self._when(ACCUMULATE, sums, self._add_output)
        sums = self._when(COLUMN_BIAS, sums, self._add_column_bias)
        sums = self._when(ROW_BIAS, sums, self._add_row_bias)
        return self._when(RELU, sums, self._rectify)

    def _when(self, flag, sums, change):
        def flat(rows):
            return [x for row in rows for x in row]
        there = self.b.icmp_signed("!=", self.b.and_(self.flags, _index(flag)), _index(0))
        merged = when(self.b, there, flat(sums), lambda: flat(change(sums)))
        return [merged[i * self.vectors:(i + 1) * self.vectors] for i in range(self.rows)]

    def _out(self, i, j):
        return self.b.gep(self.out_rows[i], [_index(j * self.width)])

    def _scale(self, sums):
        alpha = self.v.splat(self.alpha)
        return [[self.v.multiply(alpha, x) for x in row] for row in sums]

    def _add_output(self, sums):
        beta = self.v.splat(self.beta)
        return [[self.v.fma(beta, self.v.load(self._out(i, j), self.masks[j]), x) for j, x in enumerate(row)]
                for i, row in enumerate(sums)]

    def _add_column_bias(self, sums):
        bias = [self.v.load(self.b.gep(self.bias, [_index(j * self.width)]), self.masks[j]) for j in range(self.vectors)]
        return [[self.v.add(x, y) for x, y in zip(row, bias)] for row in sums]

    def _add_row_bias(self, sums):
        bias = [self.v.splat(self.b.load(self.b.gep(self.bias, [self._row(i)]))) for i in range(self.rows)]
        return [[self.v.add(x, bias[i]) for x in row] for i, row in enumerate(sums)]

    def _rectify(self, sums):
        return [[self.b.select(self.v.negative(x), self.v.zero, x) for x in row] for row in sums]

    def _store(self, sums):
        for i, row in enumerate(sums):
            for j, x in enumerate(row):
                self.v.store(x, self._out(i, j), self.masks[j])


def tile_intrinsic(tile):
    """The intrinsic that multiplies by a class of tile."""
    @intrinsic(prefer_literal=True)
    def multiply_tile(typing_context, max_rows, vectors, width, masked, rows, depth, left, left_row, left_column, right,
                      right_row, out, out_row, columns, alpha, beta, bias, flags):
        shape = [t.literal_value for t in (vectors, width, masked)]
        tallest = max_rows.literal_value

        def codegen(context, builder, signature, values):
            element = context.get_value_type(out.dtype)
            done = builder.append_basic_block("tile_done")
            switch = builder.switch(values[4], done)
            for height in range(tallest, 0, -2):             # even heights; code for all takes twice as long to compile
                block = builder.append_basic_block(f"rows{height}")
                switch.add_case(_index(height), block)
                switch.add_case(_index(height - 1), block)
                builder.position_at_end(block)
                tile(builder, element, height, *shape, values[4:]).emit()
                builder.branch(done)
            builder.position_at_end(done)
            return context.get_dummy_value()

        integer, scalar = types.int64, out.dtype
        return types.void(max_rows, vectors, width, masked, integer, integer, out, integer, integer, out, integer, out,
                          integer, integer, scalar, scalar, out, integer), codegen

    return multiply_tile


multiply_tile = tile_intrinsic(_Tile)


@intrinsic(prefer_literal=True)
def copy_row(typing_context, vectors, width, masked, source, present, out):
    size, lanes = vectors.literal_value, width.literal_value

    def codegen(context, builder, signature, values):
        v = _Vectors(builder, context.get_value_type(signature.args[3].dtype), lanes)
        _, _, _, source, present, out = values
        for j in range(0, size * lanes, lanes):
            mask = v.first(present, j) if masked.literal_value else None
            v.store(v.load(builder.gep(source, [_index(j)]), mask), builder.gep(out, [_index(j)]))
        return context.get_dummy_value()

    return types.void(vectors, width, masked, source, types.int64, source), codegen


SETS = 4                                                 # of sums, for rows in turn: a multiply-add's latency


@intrinsic(prefer_literal=True)
def sum_rows(typing_context, vectors, width, weights, rows, stride, depth, columns, sums):
    size, lanes = vectors.literal_value, width.literal_value

    def codegen(context, builder, signature, values):
        _, _, weights, rows, stride, depth, columns, sums = values
        v = _Vectors(builder, context.get_value_type(signature.args[7].dtype), lanes)
        masks = [v.first(columns, j * lanes) for j in range(size)]
        totals = [[cgutils.alloca_once_value(builder, v.zero) for _ in masks] for _ in range(SETS)]

        def add(k, some):
            row, weight = builder.gep(rows, [builder.mul(k, stride)]), v.splat(builder.load(builder.gep(weights, [k])))
            for j, (mask, total) in enumerate(zip(masks, some)):
                builder.store(v.fma(weight, v.load(builder.gep(row, [_index(j * lanes)]), mask), builder.load(total)), total)

        whole = builder.and_(depth, _index(-SETS))
        with cgutils.for_range_slice(builder, _index(0), whole, _index(SETS), I64) as (k, _):
            for r, some in enumerate(totals):
                add(builder.add(k, _index(r)), some)
        with cgutils.for_range_slice(builder, whole, depth, _index(1), I64) as (k, _):
            add(k, totals[0])
        for j, mask in enumerate(masks):
            a, b, c, d = (builder.load(some[j]) for some in totals)
            v.store(v.add(v.add(a, b), v.add(c, d)), builder.gep(sums, [_index(j * lanes)]), mask)
        return context.get_dummy_value()

    integer = types.int64
    return types.void(vectors, width, weights, weights, integer, integer, integer, weights), codegen


@intrinsic
def prefetch(typing_context, where):
    def codegen(context, builder, signature, values):
        _prefetch(builder, values[0], 0, level=2)
        return context.get_dummy_value()

    return types.void(where), codegen


# ---------------------------------------------------------------- transposes
def _unpack(v, x, y, group, high):
    """Interleave groups of `group` elements of the low or high half of every 16-byte lane of x and y."""
    lane = 16 // v.bytes
    picks = []
    for start in range(0, v.width, lane):
        for place in range(0, lane // 2, group):
            source = start + place + (lane // 2 if high else 0)
            picks += range(source, source + group)
            picks += range(v.width + source, v.width + source + group)
    return v.builder.shuffle_vector(x, y, ir.Constant(ir.VectorType(I32, v.width), picks))


def _transpose_lanes(v, rows):
    """A 4x4 (float64: 2x2) transpose inside every 16-byte lane."""
    if len(rows) == 2:
        return [_unpack(v, rows[0], rows[1], 1, False), _unpack(v, rows[0], rows[1], 1, True)]
    low = [_unpack(v, rows[i], rows[i + 1], 1, False) for i in (0, 2)]
    high = [_unpack(v, rows[i], rows[i + 1], 1, True) for i in (0, 2)]
    return [_unpack(v, low[0], low[1], 2, False), _unpack(v, low[0], low[1], 2, True),
            _unpack(v, high[0], high[1], 2, False), _unpack(v, high[0], high[1], 2, True)]


def _concatenate(builder, parts):
    while len(parts) > 1:
        width = 2 * parts[0].type.count
        picks = ir.Constant(ir.VectorType(I32, width), list(range(width)))
        parts = [builder.shuffle_vector(parts[i], parts[i + 1], picks) for i in range(0, len(parts), 2)]
    return parts[0]


@intrinsic(prefer_literal=True)
def transpose_tile(typing_context, rows, width, source, source_row, present, out):
    """Lanes are put together by 16-byte loads, which the load ports do; only the transpose inside lanes needs shuffles."""
    pitch, columns = rows.literal_value, width.literal_value

    def codegen(context, builder, signature, values):
        _, _, source, stride, present, out = values
        v = _Vectors(builder, context.get_value_type(signature.args[5].dtype), columns)
        lane = _Vectors(builder, v.element, 16 // v.bytes)
        starts = []
        for r in range(pitch):                           # rows that are absent are read as row 0, which exists
            row = builder.select(builder.icmp_signed("<", _index(r), present), builder.mul(stride, _index(r)), _index(0))
            starts.append(builder.gep(source, [row]))
        undefined = ir.Constant(lane.type, ir.Undefined)
        for chunk in range(0, columns, lane.width):
            groups = []
            for first in range(0, pitch, columns):
                parts = [[lane.load(builder.gep(starts[r], [_index(chunk)])) if r < pitch else undefined
                          for r in range(first + t, first + columns, lane.width)] for t in range(lane.width)]
                groups.append(_transpose_lanes(v, [_concatenate(builder, p) for p in parts]))
            for u in range(lane.width):                  # row by row: the excess of a row is overwritten by the next
                for group, first in zip(groups, range(0, pitch, columns)):
                    v.store(group[u], builder.gep(out, [_index((chunk + u) * pitch + first)]))
        return context.get_dummy_value()

    return types.void(rows, width, source, types.int64, types.int64, source), codegen
