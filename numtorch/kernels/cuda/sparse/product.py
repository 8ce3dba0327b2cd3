"""Products of compressed rows on a GPU: a thread a column of a row; of few columns, and of products sampled at elements, a line of
threads each (../shared/lines.py)."""
from __future__ import annotations

from numpy import float32, int64

from ...cpu.sparse import product as host
from ...cpu.sparse.product import A_STEP, B_STEP, LENGTH, STEP, STOP, WIDTH
from ...intrinsics import offset
from ..compiler import cuda
from ..environment import THREADS
from ..parallel import Form, in_parallel
from ..shared.lines import FEW, joined

T = float32
LANES = 1


def multiply_elements(pointers, columns, values, table, out, descriptor):
    width, step = descriptor[WIDTH], descriptor[STEP]
    e = int64(cuda.blockIdx.x) * THREADS + cuda.threadIdx.x
    while e < descriptor[STOP] * width:
        row = e // width
        column, total = offset(table, e - row * width), T(0)
        for i in range(pointers[row], pointers[row + 1]):
            total += values[i] * column[columns[i] * step]
        out[e] = total
        e += int64(cuda.gridDim.x) * THREADS


def multiply_lines(pointers, columns, values, table, out, descriptor):
    cells = cuda.shared.array(THREADS, T)
    width, step = descriptor[WIDTH], descriptor[STEP]
    me = int64(cuda.threadIdx.x)
    lane, first = me % LANES, int64(cuda.blockIdx.x) * (THREADS // LANES)
    while first < descriptor[STOP] * width:
        e = first + me // LANES
        total = T(0)
        if e < descriptor[STOP] * width:
            row = e // width
            column = offset(table, e - row * width)
            for i in range(pointers[row] + lane, pointers[row + 1], LANES):
                total += values[i] * column[columns[i] * step]
        total = joined(cells, total, me, lane)
        if lane == 0 and e < descriptor[STOP] * width:
            out[e] = total
        first += int64(cuda.gridDim.x) * (THREADS // LANES)


def sample_lines(rows, columns, a, b, out, descriptor):
    cells = cuda.shared.array(THREADS, T)
    me = int64(cuda.threadIdx.x)
    lane, first = me % LANES, int64(cuda.blockIdx.x) * (THREADS // LANES)
    while first < descriptor[STOP]:
        i = first + me // LANES
        total = T(0)
        if i < descriptor[STOP]:
            x, y = offset(a, rows[i] * descriptor[A_STEP]), offset(b, columns[i] * descriptor[B_STEP])
            for k in range(lane, descriptor[LENGTH], LANES):
                total += x[k] * y[k]
        total = joined(cells, total, me, lane)
        if lane == 0 and i < descriptor[STOP]:
            out[i] = total
        first += int64(cuda.gridDim.x) * (THREADS // LANES)


# ---------------------------------------------------------------- planners
def _line(row, bound):
    return dict(LANES=FEW)


def _multiplying(function, lanes):
    form = Form(function, lambda row: row[STOP] * row[WIDTH] * lanes, _line)
    return in_parallel(host.plan_multiply_rows, dict.fromkeys(
        (host.multiply_rows, host.multiply_vector, host.multiply_rows_plainly), form))


_by_elements, _by_lines = _multiplying(multiply_elements, 1), _multiplying(multiply_lines, FEW)
_sampled = in_parallel(host.plan_sample_products, {host.sample_products: Form(sample_lines, lambda row: row[STOP] * FEW, _line)})


def plan_multiply_rows(dtype: str, index_dtype: str, edges, width: int, step: int, nnz: int, device: int = 0):
    """The rows are not cut into parts."""
    plan = _by_lines if width < FEW else _by_elements
    return plan(dtype, index_dtype, (edges[0], edges[-1]), width, step, nnz, device=device)


def plan_sample_products(dtype: str, parts, length: int, a_step: int, b_step: int, device: int = 0):
    """The elements are not cut into parts."""
    return _sampled(dtype, [(parts[0][0], parts[-1][1])], length, a_step, b_step, device=device)
