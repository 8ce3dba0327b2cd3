"""Where stored elements are: coordinates in order, rows and columns compressed.

What is found out about an indices tensor is remembered on it, as long as nobody writes to it: the adjacency matrix of a graph
is sorted once, however often it is multiplied with.
"""
from __future__ import annotations

import numpy as np

from ..devices import cpu
from ..dtypes import int32, int64
from ..exchange.arrays import raw_array
from ..kernels.threads import get_num_threads
from ..layout import Layout
from ..ops.core.backends import kernels
from ..ops.core.primitive import Primitive
from ..ops.core.status import run_finding
from ..ops.index.index_select import index_select
from ..ops.memory.copies import to_device, to_dtype
from ..ops.sort.order import sort
from ..ops.sort.scan import cumsum
from ..ops.sort.unique import unique_consecutive
from ..tensor import Tensor, empty

KEYS = Primitive("sparse_keys", "The row-major place of each stored element, and whether they are in order.",
                 samples="int64([[0, 1, 1], [2, 0, 2]]); (3, 1)")
POINTERS = Primitive("sparse_pointers", "Where the elements of each row begin among sorted row numbers.",
                     samples="int64([0, 0, 2]); 3")
ROWS = Primitive("sparse_rows", "The row of each element of compressed rows.", samples="int64([0, 2, 3]); 3")


def vector(count, device, dtype=int64) -> Layout:
    return Layout.of(dtype, (count,), None, device)


def remembered(indices: Tensor, key, find, beside=None):
    """`find()`, kept on an indices tensor until somebody writes to it, or to the indices beside it."""
    known = indices.__dict__.setdefault("_pattern", {})
    version = indices.memory.version, None if beside is None else beside.memory.version
    entry = known.get(key)
    if entry is None or entry[0] != version:
        entry = known[key] = version, find()
    return entry[1]


# ---------------------------------------------------------------- kernels
@KEYS.planned
def _plan_keys(indices, steps):
    return kernels(indices.device, "sparse.coalesce").plan_keys(indices.shape[1], steps) if indices.shape[1] else (None, 0)


@KEYS.run
def _keys(plan, indices: Tensor, steps):
    prepared, parts = plan
    keys = empty(vector(indices.layout.shape[1], indices.layout.device))
    return keys, prepared is not None and run_finding(prepared, parts, indices, keys)


@POINTERS.planned
def _plan_pointers(rows, count):
    return kernels(rows.device, "sparse.coalesce").plan_pointers(rows.numel, count)


@POINTERS.run
def pointers_of(prepared, rows: Tensor, count):
    """For each of `count` rows, how many of the sorted row numbers are below it; and how many there are."""
    out = empty(vector(count + 1, rows.layout.device))
    prepared.call(rows.address, out.address, prepared.descriptor)
    return out


@ROWS.planned
def _plan_rows(pointers, count):
    return kernels(pointers.device, "sparse.coalesce").plan_rows(count, pointers.numel - 1) if count else None


@ROWS.run
def _rows_of(prepared, pointers: Tensor, count):
    out = empty(vector(count, pointers.layout.device))
    if prepared is not None:
        prepared.call(pointers.address, out.address, prepared.descriptor)
    return out


def rows_of(pointers: Tensor, count) -> Tensor:
    """The row of each of `count` elements of compressed rows."""
    return remembered(pointers, "rows", lambda: _rows_of(pointers, count))


# ---------------------------------------------------------------- coordinates in order
def keys_of(indices: Tensor, shape):
    """The row-major places of coordinates within a shape, and whether they are out of order or repeated."""
    steps = Layout.of(int64, tuple(shape)).strides if shape else ()
    if not shape:                                        # all stored elements of a 0-dim tensor share its one place
        keys = empty(vector(indices.layout.shape[1], indices.layout.device)).zero_()
        return keys, indices.layout.shape[1] > 1
    return remembered(indices, ("keys", steps), lambda: _keys(indices, steps))


class Order:
    """Coordinates in order: `indices` distinct and sorted; element `order[k]` of the given ones is the k-th in order, and those of
    the s-th place begin at `starts[s]` of these."""

    __slots__ = ("indices", "order", "starts")

    def __init__(self, indices, shape):
        keys, _ = keys_of(indices, shape)
        ordered, self.order = sort(keys, stable=True)
        _, counts = unique_consecutive(ordered, return_counts=True)
        self.starts = cumsum(counts, 0) - counts
        self.indices = index_select(indices, 1, index_select(self.order, 0, self.starts)).contiguous()


def order_of(indices: Tensor, shape) -> Order:
    """How coordinates within a shape are put in order."""
    return remembered(indices, ("order", tuple(shape)), lambda: Order(indices, shape))


# ---------------------------------------------------------------- compressed rows
class Rows:
    """A matrix's elements row by row: element `places[i]` of its values is the i-th, in column `columns[i]`. Where the values are
    in this order, `places` is None. Columns are 32-bit where these suffice: what a product with a vector takes is reading them."""

    __slots__ = ("pointers", "columns", "places", "shape", "plans")

    def __init__(self, pointers, columns, places, shape):
        self.pointers, self.places, self.shape = pointers, places, shape
        self.columns = to_dtype(columns, int32) if shape[1] < 1 << 31 else columns
        self.plans: dict = {}

    def edges(self, work):
        """The rows at which the shares of threads begin, of about as many elements each, and their end; a device has no shares."""
        if self.pointers.layout.device is not cpu:
            return 0, self.shape[0]
        ends = raw_array(to_device(self.pointers, cpu))
        parts = max(1, min(get_num_threads(), self.shape[0], work // 20_000))
        wanted = np.arange(1, parts) * (int(ends[-1]) / parts)
        return (0, *np.searchsorted(ends, wanted).clip(0, self.shape[0]).tolist(), self.shape[0])


def coordinate_rows(indices: Tensor, shape, transposed=False) -> Rows:
    """The elements of a COO matrix row by row, or of its transpose; coordinates may repeat."""
    def find():
        across = 0 if not transposed else 1
        numbers, others = indices[across].contiguous(), indices[1 - across].contiguous()
        in_order = not transposed and not keys_of(indices, shape)[1]
        places = None
        if not in_order:
            numbers, places = sort(numbers, stable=True)
            others = index_select(others, 0, places)
        size = (shape[1], shape[0]) if transposed else tuple(shape)
        return Rows(pointers_of(numbers, size[0]), others, places, size)
    return remembered(indices, ("rows", tuple(shape), transposed), find)


def compressed_rows(pointers: Tensor, columns: Tensor, shape) -> Rows:
    """The elements of a CSR matrix row by row."""
    return remembered(pointers, ("compressed", tuple(shape)), lambda: Rows(pointers, columns, None, tuple(shape)), columns)


def compressed_columns(pointers: Tensor, columns: Tensor, shape) -> Rows:
    """The elements of a CSR matrix column by column: the rows of its transpose."""
    def find():
        numbers, places = sort(columns, stable=True)
        rows = index_select(rows_of(pointers, columns.layout.numel), 0, places)
        return Rows(pointers_of(numbers, shape[1]), rows, places, (shape[1], shape[0]))
    return remembered(pointers, ("transposed", tuple(shape)), find, columns)
