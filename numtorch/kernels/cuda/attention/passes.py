"""What the passes of attention by tensor cores do (tensorcores.py), as source that is written out for each matrix (see
../gemm/tiles.py): a pass, the sizes that a kernel of it is compiled for, and the statements from a tile's copies to the result.
"""
from __future__ import annotations

from typing import NamedTuple

from ...cpu.attention.block import HEAD, ROW
from ..environment import SMALL
from ..gemm.tensorcores import CHUNK, LINE, indented, pitch
from .descriptor import GRAD, GRAD_K, GRAD_Q, GRAD_V, OUT, K, Q, V
from .fragments import places

ROWS = 64 if SMALL else 128                              # of a block


class Pass(NamedTuple):
    """What a kernel adds up: where in the descriptor the strides of its rows and columns are, whether rows are keys, and where the
    strides of the sums of probabilities and of slopes are."""
    first_rows: int
    second_rows: int
    first_columns: int
    second_columns: int
    keys_are_rows: bool
    probabilities: int = 0
    slopes: int = 0


PASSES = dict(forward=Pass(Q, Q, K, V, False, OUT), grad_q=Pass(Q, GRAD, K, V, False, slopes=GRAD_Q),
              grad_kv=Pass(K, V, Q, GRAD, True, GRAD_V, GRAD_K),
              grad_k=Pass(K, V, Q, GRAD, True, slopes=GRAD_K), grad_v=Pass(K, K, Q, GRAD, True, GRAD_V))


class Sizes(NamedTuple):
    """What a kernel is compiled for: padded depth and width, bytes of an element, columns of a tile, and matrices of 16 rows of a
    warp."""
    depth: int
    width: int
    itemsize: int
    tile: int
    rows: int = 1

    @property
    def warps(self):
        return ROWS // 16 // self.rows

    @property
    def threads(self):
        return 32 * self.warps

    def steps(self, size):
        """Steps of eight words along the depth."""
        return size * self.itemsize // 32

    def panels(self, size):
        return max(size * self.itemsize // LINE, 1)

    def nbytes(self, size):
        return self.panels(size) * self.tile * LINE

    @property
    def stage(self):
        """Bytes of a tile of both operands, and of two numbers of each column."""
        return self.nbytes(self.depth) + self.nbytes(self.width) + 8 * self.tile

    def columns(self):
        return range(self.tile // 8)


class Side(NamedTuple):
    """One operand of the columns: its name, its padded size, its real one's place, and where its tile begins in a stage."""
    name: str
    size: int
    end: str
    start: int


def _sides(sizes):
    return Side("first", sizes.depth, "DEPTH", 0), Side("second", sizes.width, "WIDTH", sizes.nbytes(sizes.depth))


def _tuple(items):
    """A tuple's text, in parts: Python makes one of more than 30 items by way of a list, which Numba does not follow."""
    items = list(items)
    return " + ".join(f"({', '.join(items[k:k + 28])},)" for k in range(0, len(items), 28))


def _chunks(sizes, side):
    """Chunks of 16 bytes of a line, and lines that all threads bring at a time."""
    count = min(side.size * sizes.itemsize, LINE) // CHUNK
    return count, sizes.threads // count


def _places(sizes):
    """Where a lane copies to and loads from, in the first stage."""
    per = CHUNK // sizes.itemsize
    for side in _sides(sizes):
        name, (count, _) = side.name, _chunks(sizes, side)
        at = f"{name.upper()}_COLUMNS"
        yield f"{name}_heads, {name}_step = descriptor[{at} + {HEAD}], descriptor[{at} + {ROW}]"
        yield f"{name}_line, {name}_chunk = int32(me // {count}), int32(me % {count})"
        yield f"{name}_into = further(base, {side.start} + {name}_line * {LINE} + (({name}_chunk ^ ({name}_line & 7)) << 4))"
        for p in range(sizes.panels(side.size)):
            inside = f"int32(descriptor[{side.end}]) - {p * LINE // sizes.itemsize} - {name}_chunk * {per}"
            yield f"{name}_bytes{p} = bytes_within(({inside}) * {sizes.itemsize})"
        for j in range(min(4, sizes.steps(side.size))):
            place = f"{side.start} + ((matrix >> 1) * 8 + eight) * {LINE} + (((2 * {j} + (matrix & 1)) ^ eight) << 4)"
            yield f"{name}_lines{j} = further(base, {place})"
        for j in range(min(4, side.size // (16 if sizes.itemsize == 2 else 8))):
            if sizes.itemsize == 2:
                place = f"{side.start} + ((matrix & 1) * 8 + eight) * {LINE} + (((2 * {j} + (matrix >> 1)) ^ eight) << 4)"
                yield f"{name}_across{j} = further(base, {place})"
            else:
                for odd in range(2):
                    line, chunk = f"(2 * word + {odd})", f"((2 * {j} + (group >> 2)) ^ (2 * word + {odd}))"
                    place = f"{side.start} + {line} * {LINE} + ({chunk} << 4) + (group & 3) * 4"
                    yield f"{name}_across{2 * j + odd} = further(base, {place})"


def _sources(sizes, shape):
    """Where a thread copies from: the first line of the first head."""
    per = CHUNK // sizes.itemsize
    head = "head * descriptor[GROUP]" if shape.keys_are_rows else "head // descriptor[GROUP]"
    for side in _sides(sizes):
        name, at = side.name, f"{side.name.upper()}_COLUMNS"
        yield (f"{name}_source = offset({name}_columns, batch * descriptor[{at}] + {head} * descriptor[{at} + {HEAD}] "
               f"+ int64({name}_line) * {name}_step + {name}_chunk * {per})")
    if shape.keys_are_rows:
        yield f"numbers = (batch * descriptor[HEADS] + {head}) * column_count + me"


def _copies(sizes, shape, column, which):
    """Tile number `column` of both operands of the columns, of their head number `which`, to the stage that begins at `fill`."""
    yield f"far = int32(begin + {column} * {sizes.tile})"
    for side in _sides(sizes):
        name, (_, apart) = side.name, _chunks(sizes, side)
        yield f"into, left = further({name}_into, fill), int32(column_count - far - {name}_line)"
        heads = f" + int64({which}) * {name}_heads" if shape.keys_are_rows else ""
        yield f"source = offset({name}_source, int64(far) * {name}_step{heads})"
        for i in range(0, sizes.tile, apart):
            guard = f"if {name}_line < {sizes.tile}: " if apart > sizes.tile else ""
            for p in range(sizes.panels(side.size)):
                place = f"offset(source, {i} * {name}_step + {p * LINE // sizes.itemsize})"
                yield (f"{guard}copy_async(further(into, {(p * sizes.tile + i) * LINE}), {place}, "
                       f"{name}_bytes{p} if left > {i} else int32(0))")
    if shape.keys_are_rows:                              # what belongs to each query
        yield f"if me < {sizes.tile}:"
        yield f"    some, number = int32(4) if far + me < column_count else int32(0), numbers + int64({which}) * column_count + far"
        for k, name in enumerate(("lse", "dots") if shape.slopes else ("lse",)):
            to = f"further(base, fill + {sizes.stage - 8 * sizes.tile + 4 * k * sizes.tile} + me * 4)"
            yield f"    copy_word_async({to}, offset({name}, number), some)"


def _scores(sizes, sums, rows, side):
    """Products of the rows' words and a tile's columns, which lie along the depth."""
    load = "rounded_to_tf32({})" if sizes.itemsize == 4 else "{}"
    yield f"{sums} = SCORES"
    for step in range(sizes.steps(side.size)):
        panel, within = divmod(step, 4)
        at = f"further({side.name}_lines{within}, now)"
        b = [load.format(f"load_matrices(further({at}, {(panel * sizes.tile + 8 * n) * LINE}))") for n in sizes.columns()[::2]]
        a = [f"{rows}{step}_{r}" for r in range(sizes.rows)]
        yield f"{sums} = add_products({_tuple(a)}, {_tuple(b)}, {sums})"


def _added(sizes, sums, factors, side):
    """Products of what is in place of scores and a tile's columns, whose sums are those of the result. In tf32 a step of the depth
    has four even columns and then four odd ones, which is where a thread has its own."""
    halves, count = sizes.itemsize == 2, sizes.tile // 8
    for j in range(0, count, 2 if halves else 1):
        a, b = [], []
        for r in range(sizes.rows):
            at = lambda n, i, r=r: f"{factors}[{4 * (r * count + n) + i}]"
            if halves:
                a.append(_tuple(f"packed({at(n, i)}, {at(n, i + 1)})" for n in (j, j + 1) for i in (0, 2)))
            else:
                a.append(f"rounded_to_tf32({_tuple(f'uint32(bits_of({at(j, i)}))' for i in (0, 2, 1, 3))})")
        for e in range(0, side.size // 8, 2):
            if halves:
                panel, within = divmod(e // 2, 4)
                place = (panel * sizes.tile + 8 * j) * LINE
                b.append(f"load_matrices_transposed(further({side.name}_across{within}, now + {place}))")
            else:
                words = []
                for c in (e, e + 1):
                    panel, within = divmod(c, 4)
                    place = (panel * sizes.tile + 8 * j) * LINE
                    words += [f"shared_word(further({side.name}_across{2 * within + odd}, now + {place}))" for odd in range(2)]
                b.append(f"rounded_to_tf32({_tuple(words)})")
        yield f"{sums} = add_products({_tuple(a)}, {_tuple(b)}, {sums})"


def _rows(sizes, text):
    """A tuple with a number of each row of a thread; `@` is the row's place."""
    return _tuple(text.replace("@", str(i)) for i in range(2 * sizes.rows))


def _each(sizes, text):
    """The numbers of a thread, of which `#` is the place, `@` that of its row and `$` its column from the thread's first one on."""
    return _tuple(text.replace("#", str(place)).replace("@", str(row)).replace("$", str(column))
                  for place, (row, column) in enumerate(places(sizes.rows * sizes.tile // 2, sizes.rows)))


def _hidden(sizes, shape, has_mask):
    """Scores without those that the query does not see; with a mask they are of base 2 from here on."""
    if has_mask:
        query, key = ("at + $ + 2 * word", "top + 8 * @") if shape.keys_are_rows else ("top + 8 * @", "at + $ + 2 * word")
        yield f"x = {_each(sizes, f'shown(T(x[#] * scale2), mask, first_rows, descriptor, batch, query_head, {query}, {key})')}"
        return
    yield "if edge:"
    if shape.keys_are_rows:
        yield f"    x = seen_above(x, {_rows(sizes, 'int32(top + 8 * @ - at - 2 * word)')})"
    else:
        yield "    last = int32(column_count - at - 2 * word)"
        yield f"    x = seen_below(x, {_rows(sizes, 'int32(min(last, top + 8 * @ + 1 - at - 2 * word) if causal else last)')})"


def _probabilities(sizes):
    """Of the forward pass: exponentials, and what was added up before in their scale."""
    lines = range(2 * sizes.rows)
    yield f"highest = maxima_of_rows(x, {sizes.rows})"
    for i in lines:
        yield f"highest{i} = fmax(best{i}, largest_of_row(highest[{i}]))"
        yield f"grown{i} = T(T(highest{i} - best{i}) * unit) > GROWTH"
    yield f"if {' or '.join(f'grown{i}' for i in lines)}:"
    for i in lines:
        yield f"    shrink{i} = exponential2(T(T(best{i} - highest{i}) * unit)) if grown{i} else T(1)"
        yield f"    best{i} = highest{i} if grown{i} else best{i}"
        yield f"    total{i} = T(total{i} * shrink{i})"
    yield f"    o = times_rows(o, {_rows(sizes, 'shrink@')})"
    for i in lines:
        yield f"shift{i} = T(0) if best{i} == T(-inf) else T(best{i} * unit)"               # -inf - -inf would be NaN
    yield f"x = exponentials_of_rows(x, unit, {_rows(sizes, 'shift@')})"
    yield f"added = sums_of_rows(x, {sizes.rows})"
    yield from (f"total{i} = T(total{i} + added[{i}])" for i in lines)


def _of_columns(sizes, start):
    """The tuple of a number of each column that a thread has, from a place of the stage on."""
    return _tuple(f"shared_pair(further(base, now + {start + 32 * n} + word * 8))[{i}]" for n in sizes.columns() for i in range(2))


def _again(sizes, shape):
    """Of the gradients: the same probabilities."""
    if shape.keys_are_rows:
        yield f"lses = times_rows({_of_columns(sizes, sizes.stage - 8 * sizes.tile)}, (LOG2E, LOG2E))"
        yield "x = exponentials_of_columns(x, unit, lses)"
    else:
        yield f"x = exponentials_of_rows(x, unit, {_rows(sizes, 'lse@')})"


def _slopes(sizes, shape):
    if shape.keys_are_rows:
        yield f"x = slopes_of_columns(x, t, {_of_columns(sizes, sizes.stage - 4 * sizes.tile)})"
    else:
        yield f"x = slopes_of_rows(x, t, {_rows(sizes, 'dot@')})"


def _written(sizes, sums, factor, size, end, out, place, itemsize):
    """A result through shared memory, 16 rows of a warp at a time; a lane writes 16 bytes of neighbouring columns where it can."""
    row, each, count = pitch(size // 8), CHUNK // itemsize, size // 2
    lanes = size // each
    rows = ", ".join(factor.replace("@", str(i)) for i in range(2 * sizes.rows))
    yield f"{sums} = times_rows({sums}, ({rows}))"
    whole = " and ".join(f"descriptor[{place + k}] % {each} == 0" for k in range(3))
    yield f"lean = {whole} and address_of({out}) % {CHUNK} == 0"
    for r in range(sizes.rows):
        yield f"put_rows(further(staged, (group * {row} + 2 * word) * 4), {sums}[{r * count}:{(r + 1) * count}], {row})"
        yield from (
            "warp_barrier()", f"edge_row = int32(first + (warp * {sizes.rows} + {r}) * 16)",
            f"for row in range(lane // {lanes}, 16, {max(32 // lanes, 1)}):",
            "    if edge_row + row < row_count:",
            f"        line = line_of({out}, descriptor, {place}, batch, head, edge_row + row)",
            f"        chunk = int32(lane % {lanes} * {each})",
            f"        left = int32(descriptor[{end}]) - chunk",
            f"        put_line(offset(line, chunk), further(staged, row * {4 * row} + chunk * 4), left, lean)",
            "warp_barrier()")


def _start(sizes, shape, forward):
    """What a warp has in registers before the first tile."""
    for (name, letter), side in zip((("first", "f"), ("second", "g"))[:1 + (shape.slopes > 0)], _sides(sizes)):
        at, sign = f"{name.upper()}_ROWS", "sign" if name == "first" else "uint32(0)"
        yield f"start = batch * descriptor[{at}] + head * descriptor[{at} + {HEAD}]"
        for step in range(sizes.steps(side.size)):
            for r in range(sizes.rows):
                words = (f"fragment({name}_rows, start, descriptor[{at} + {ROW}], top + {16 * r}, row_count, word + {8 * step}, "
                         f"descriptor[{side.end}], {sign})")
                yield f"{letter}{step}_{r} = " + (f"rounded_to_tf32({words})" if sizes.itemsize == 4 else words)
    if shape.probabilities:
        yield "o = WIDE"
    if shape.slopes:
        yield "u = DEEP"
    for i in range(2 * sizes.rows):
        if forward:
            yield f"best{i}, total{i} = T(-inf), T(0)"
        elif not shape.keys_are_rows:
            yield f"lse{i} = T(of_query(lse, descriptor, batch, head, top + {8 * i}, inf) * LOG2E)"
            yield f"dot{i} = of_query(dots, descriptor, batch, head, top + {8 * i}, 0)"


def _end_of_forward(sizes):
    for i in range(2 * sizes.rows):
        yield from (f"total{i} = sum_of_row(total{i})", f"inverse{i} = T(0) if total{i} == T(0) else T(T(1) / total{i})",
                    f"if word == 0 and top + {8 * i} < row_count:",
                    f"    lse[place * row_count + top + {8 * i}] = T(inf) if total{i} == T(0) else "
                    f"T(T(best{i} * unit) * LN2 + log(total{i}))")


def _tile(sizes, shape, forward, has_mask):
    """What is done with a tile."""
    first, second = _sides(sizes)
    yield from _scores(sizes, "x", "f", first)
    yield from _hidden(sizes, shape, has_mask)
    yield from _probabilities(sizes) if forward else _again(sizes, shape)
    if shape.probabilities:
        yield from _added(sizes, "o", "x", second)
    if shape.slopes:
        yield from _scores(sizes, "t", "g", second)
        yield from _slopes(sizes, shape)
        yield from _added(sizes, "u", "x", first)


def source(sizes, shape, forward, has_mask, itemsize):
    """The kernel of a pass, with what is done for each matrix written out (see ../gemm/tiles.py)."""
    keys = shape.keys_are_rows
    rows, columns = ("KEYS", "QUERIES") if keys else ("QUERIES", "KEYS")
    copies = lambda column, which: list(_copies(sizes, shape, column, which))
    outside = ("at < first + ROW_COUNT - 1" if keys else f"at + {sizes.tile - 1} > first").replace("ROW_COUNT", str(ROWS))
    written = [(sums, factor, size, end, out, place) for sums, factor, size, end, out, place in (
        ("o", "inverse@" if forward else "T(1)", sizes.width, "WIDTH", "out", shape.probabilities),
        ("u", "scale", sizes.depth, "DEPTH", "slopes", shape.slopes)) if place]
    return "\n".join([
        "def attend(first_rows, second_rows, first_columns, second_columns, mask, lse, dots, out, slopes, descriptor):",
        "    base = shared_address(cuda.shared.array(0, uint32, 1024), 0)",
        "    me = int32(cuda.threadIdx.x)",
        "    lane, warp = int32(me & 31), int32(me >> 5)",
        "    eight, matrix, group, word = int32(lane & 7), int32(lane >> 3), int32(lane >> 2), int32(lane & 3)",
        f"    staged = further(base, warp * {64 * pitch(max(sizes.depth, sizes.width) // 8)})",
        f"    row_count, column_count = int32(descriptor[{rows}]), int32(descriptor[{columns}])",
        "    causal = descriptor[CAUSAL] != 0",
        "    scale = float_of(INT(descriptor[SCALE]))",
        # scores are of rows whose sign is that of the scale, so that the largest score is the largest exponent
        "    sign = SIGN if scale < T(0) else uint32(0)",
        "    scale2 = max(T(abs(scale) * LOG2E), LEAST)",
        f"    unit = {'T(1)' if has_mask else 'scale2'}",
        *indented(_places(sizes), 4),
        f"    heads = descriptor[HEADS]{' // descriptor[GROUP]' if keys else ''}",
        f"    blocks = (row_count + {ROWS - 1}) // {ROWS}",
        "    item = int64(cuda.blockIdx.x)",
        "    while item < descriptor[BATCH] * heads * blocks:",
        "        place, block = item // blocks, item % blocks",
        "        if causal:",                            # the longest first
        "            block = item // (descriptor[BATCH] * heads)",
        "            place = item - block * descriptor[BATCH] * heads",
        *([] if keys else ["            block = blocks - 1 - block"]),
        "        batch, head = place // heads, place % heads",
        f"        first = int32(block * {ROWS})",
        f"        top = int32(first + warp * {16 * sizes.rows} + group)",
        "        begin, end = int32(0), column_count",
        "        if causal:",
        *([f"            begin = int32(first // {sizes.tile} * {sizes.tile})"] if keys else [
            f"            end = int32(min(end, first + {ROWS}))"]),
        f"        per = int32(max((end - begin + {sizes.tile - 1}) // {sizes.tile}, int32(0)))",
        f"        count = int32(per{' * descriptor[GROUP]' if keys else ''})",
        "        column, which, fill, now = int32(0), int32(0), int32(0), int32(0)",
        *indented(_sources(sizes, shape), 8),
        "        if count > 0:",
        *indented(copies("column", "which"), 12),
        "        commit_copies()",
        *indented(_start(sizes, shape, forward), 8),
        "        for number in range(count):",
        "            await_groups(0)",
        "            cuda.syncthreads()",
        f"            now, fill, ahead, following = fill, int32({sizes.stage} - fill), int32(column + 1), which",
        "            if ahead == per:",
        "                ahead, following = int32(0), int32(which + 1)",
        "            if number + 1 < count:",
        *indented(copies("ahead", "following"), 16),
        "            commit_copies()",
        f"            at = int32(begin + column * {sizes.tile})",
        f"            query_head = {'head * descriptor[GROUP] + which' if keys else 'head'}",
        # whether some score of the block and the tile is not seen
        f"            edge = {'' if keys else f'at + {sizes.tile} > column_count or '}(causal and {outside})",
        *indented(_tile(sizes, shape, forward, has_mask), 12),
        "            column, which = ahead, following",
        "        cuda.syncthreads()",                    # tiles have been read, and results go there
        *indented(_end_of_forward(sizes) if forward else (), 8),
        *indented((line for each in written for line in _written(sizes, *each, itemsize)), 8),
        "        cuda.syncthreads()",                    # before the next tiles go where results were
        "        item += cuda.gridDim.x"]) + "\n"
