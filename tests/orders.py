"""Memory orders that tests put tensors in, and the comparison that every table of ops is run through over them.

`arrange(name, array)` makes a tensor of an array's values whose elements lie in memory as the name says. What lies between and beside
them is NaN (a large number in other dtypes), so that a kernel that reads it shows. `compare` runs an op, and its gradients, on
operands in one order after another and in mixed ones, and takes what PyTorch says of contiguous float64 operands for right, or,
where PyTorch is not installed, what numtorch does.
"""
from __future__ import annotations

import itertools
import zlib

import numpy as np

import numtorch

try:
    import torch as pytorch
except ImportError:
    pytorch = None


# ---------------------------------------------------------------- orders
def _within(array, shape, index):
    """The array's values in a part of a larger block."""
    block = np.full(shape, np.nan if array.dtype.kind in "fc" else array.dtype.type(113), array.dtype)
    block[index] = array
    return block[index]


def _swapped(array, a, b):
    return np.ascontiguousarray(array.swapaxes(a, b)).swapaxes(a, b)


def _flipped(array, index):
    return np.ascontiguousarray(array[index])[index]


# name: (fewest dimensions, the array in that order)
ORDERS = {
    "contiguous": (0, np.array),
    "offset": (1, lambda a: _within(a.reshape(-1), (a.size + 2,), np.s_[1:-1]).reshape(a.shape)),
    "stepped": (1, lambda a: _within(a, (*a.shape[:-1], 2 * a.shape[-1] + 1), np.s_[..., 1::2])),
    "backward": (1, lambda a: _flipped(a, (np.s_[::-1],) * a.ndim)),
    "expanded": (1, lambda a: np.broadcast_to(a[..., :1].copy(), a.shape)),
    "transposed": (2, lambda a: _swapped(a, -1, -2)),
    "gapped": (2, lambda a: _within(a, (*a.shape[:-2], a.shape[-2] + 1, a.shape[-1] + 3), np.s_[..., 1:, 1:-2])),
    "expanded rows": (2, lambda a: np.broadcast_to(a[:1].copy(), a.shape)),
    "backward rows": (2, lambda a: _flipped(a, np.s_[::-1])),
    "backward columns": (2, lambda a: _flipped(a, np.s_[..., ::-1])),
    "channels last": (3, lambda a: np.moveaxis(np.ascontiguousarray(np.moveaxis(a, 1, -1)), -1, 1)),
    "first dim last": (3, lambda a: np.ascontiguousarray(a.T).T),
}
SHARING = frozenset(("expanded", "expanded rows"))       # whose elements share memory: equal, and not to be written to


def orders_of(ndim, distinct=False) -> list[str]:
    """The names of the orders for tensors of so many dimensions; of distinct values only, if so asked."""
    return [name for name, (fewest, _) in ORDERS.items() if ndim >= fewest and not (distinct and name in SHARING)]


def _over(array):
    """A tensor over an array's memory, which may be read-only because its elements share it."""
    if array.flags.writeable:
        return numtorch.from_numpy(array)
    kept = tuple([np.s_[:1] if stride == 0 else np.s_[:] for stride in array.strides])
    return numtorch.from_numpy(array[kept].copy()).expand(array.shape)


def arrange(name, array, dtype=None):
    """A tensor of an array's values in memory order `name`; of another dtype than the array's where NumPy has none, which is
    bfloat16. Those that share memory have the values of the first ones."""
    if dtype != "bfloat16":
        return _over(ORDERS[name][1](array if dtype is None else array.astype(dtype)))
    bits = numtorch.tensor(array).bfloat16().view(numtorch.int16).numpy()
    return _over(ORDERS[name][1](bits)).view(numtorch.bfloat16)


# ---------------------------------------------------------------- rows of tables
def spread(rng, shape, dtype):
    """Numbers between 0.5 and 1.5 of which no two are equal; integers from 0 to 6; conditions."""
    if dtype == "bool":
        return rng.random(shape) < 0.5
    if "int" in dtype:
        return rng.integers(0, 7, shape).astype(dtype)
    count = int(np.prod(shape))
    values = (0.5 + (rng.permutation(count) + 0.5) / max(count, 1)).reshape(shape)
    return values + 1j * rng.permutation(values.reshape(-1)).reshape(shape) if dtype.startswith("complex") else values


def below(limit):
    """Indices below a limit."""
    return lambda rng, shape, dtype: rng.integers(0, limit, shape)


def permuted(rng, shape, dtype):
    """Indices of which each occurs once along the last dimension."""
    return np.argsort(rng.random(shape), -1)


def flags(rng, shape, dtype):
    return rng.random(shape) < 0.5


class Case:
    """A row: `function(torch, *operands)` and how to try it.

    Args:
        sizes: a list of what the operands' shapes are at once.
        dtype: of operands without a draw of their own, which are differentiated where it is a floating-point one.
        draws: by position, what draws an operand of another kind.
        distinct: whether values must differ, because equal ones may be ordered either way.
        gradient: whether there is one.
        few: fewer mixed orders, of each of which a kernel is compiled.
    """

    def __init__(self, function, sizes, dtype="float32", draws=None, distinct=False, gradient=True, tolerance=None,
                 few=False):
        self.function, self.sizes, self.dtype, self.draws, self.distinct = function, sizes, dtype, draws or {}, distinct
        self.few, self.gradient = few, gradient and ("float" in dtype or "complex" in dtype)
        self.tolerance = tolerance or {"float16": 2e-2, "bfloat16": 6e-2}.get(dtype, 3e-4)


def combinations_of(shapes, distinct, turn, alike, mixed):
    """For each of the operands the name of an order: so many times one for all of them, in turn, and so many times a mix."""
    count = max([len(s) for s in shapes], default=0)
    fit = lambda name, shape: name if name in orders_of(len(shape), distinct) else "contiguous"
    names = orders_of(count, distinct)
    rng = np.random.default_rng(turn)
    chosen = [names[(turn + i) % len(names)] for i in range(min(alike, len(names)))]
    found = [[fit(name, s) for s in shapes] for name in chosen]
    if len(shapes) > 1:
        found += [[str(rng.choice(orders_of(len(s), distinct))) for s in shapes] for _ in range(mixed)]
    return list(dict.fromkeys(map(tuple, found)))


def _flat(results):
    return list(itertools.chain.from_iterable(map(_flat, results))) if isinstance(results, (tuple, list)) else [results]


def _plain(tensor):
    tensor = tensor.detach()
    return (tensor.float() if str(tensor.dtype).endswith("bfloat16") else tensor).numpy()


def _weights(result):
    """What a result is multiplied by before it is summed: numbers without a symmetry that could hide a mistake."""
    return np.cos(1 + 3 * np.arange(int(np.prod(tuple(result.shape))), dtype=np.float64)).reshape(tuple(result.shape))


def outcome(torch, function, operands, differentiated):
    """The results of a function and the gradients of operands, as arrays."""
    operands = [x.requires_grad_() if d else x for x, d in zip(operands, differentiated)]
    results = _flat(function(torch, *operands))
    total = None
    for result in results:
        if result.requires_grad:
            weights = torch.tensor(_weights(result)).to(result.dtype)
            part = (result * weights).sum()
            total = part if total is None else total + part
    if total is not None:
        (total.real if total.is_complex() else total).backward()
    return [_plain(r) for r in results] + [_plain(x.grad) for x, d in zip(operands, differentiated) if d and x.grad is not None]


def compare(name, case):
    """Run a row in its sizes over orders: few of each size, and others of the next one."""
    for turn, shapes in enumerate(case.sizes):
        rng = np.random.default_rng(turn)
        arrays = [case.draws.get(i, spread)(rng, shape, case.dtype) for i, shape in enumerate(shapes)]
        kinds = [None if i in case.draws else case.dtype for i in range(len(shapes))]
        differentiated = [case.gradient and kind is not None for kind in kinds]
        for orders in combinations_of(shapes, case.distinct, 4 * turn + zlib.crc32(name.encode()), 4, 1 if case.few else 2):
            operands = [arrange(order, array, kind) for order, array, kind in zip(orders, arrays, kinds)]
            wide = [_plain(x) for x in operands]
            wide = [np.ascontiguousarray(a, {"f": np.float64, "c": np.complex128}.get(a.dtype.kind, a.dtype)) for a in wide]
            library = pytorch or numtorch
            wanted = outcome(library, case.function, [library.tensor(a) for a in wide], differentiated)
            found = outcome(numtorch, case.function, operands, differentiated)
            assert len(found) == len(wanted), (name, shapes, orders)
            for place, (f, w) in enumerate(zip(found, wanted)):
                what = f"{name}, part {place} of {shapes} in {orders}"
                assert f.shape == w.shape, what
                if w.dtype.kind in "fc":
                    scale = np.abs(w[np.isfinite(w)]).max(initial=0.1)       # elements that are all equal have variances of 0
                    np.testing.assert_allclose(f.astype(w.dtype), w, case.tolerance, case.tolerance * scale, err_msg=what)
                else:
                    np.testing.assert_array_equal(f, w, what)
