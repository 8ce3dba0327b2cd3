"""Every family of ops over memory orders, forward and backward, in sizes on both sides of what its kernels take at once.

The sizes come from the kernels' own constants, so that they move with them. Orders, rows and the comparison are in orders.py.
"""
from __future__ import annotations

import numpy as np
import pytest
from gradientrows import ROWS as PUBLIC
from gradientrows import values
from optable import ROWS as FORMULAS
from optable import samples
from orders import ORDERS, SHARING, Case, arrange, below, compare, flags, orders_of, permuted
from test_pointwise import OPS, SMOOTH

import numtorch as torch
from numtorch.kernels import loopnest
from numtorch.kernels.cpu.gemm import tiny
from numtorch.kernels.cpu.index import gather, mask
from numtorch.kernels.cpu.micro.tile import host_tile
from numtorch.kernels.cpu.move import words
from numtorch.kernels.cpu.norm import channel_norm, norm, unit_norm
from numtorch.kernels.cpu.pointwise import pointwise, total
from numtorch.kernels.cpu.pool import window
from numtorch.kernels.cpu.reduce import reduce, traversal
from numtorch.kernels.cpu.scan import scan
from numtorch.kernels.cpu.softmax import softmax
from numtorch.kernels.cpu.sort import sort, topk

TILE = host_tile(4)


# ---------------------------------------------------------------- sizes
def alike(count, *shapes):
    """Each of the shapes for all of so many operands."""
    return [(shape,) * count for shape in shapes]


# a tile's least side, its sides, a vector, a buffer, and many short rows, which are walked as one or in blocks
PLANES = [(pointwise.WIDTH // 4 - 1, 9), (pointwise.WIDTH // 4, pointwise.WIDTH // 4), (9, pointwise.VECTOR + 1),
          (pointwise.HEIGHT + 1, pointwise.WIDTH + 1), (3, pointwise.BLOCK + 1), (loopnest.LEAST_REPEATED // 5 + 1, 5),
          (4 * loopnest.SHORT, loopnest.SHORT - 1), (2, 9, pointwise.WIDTH // 4 + 1), (2, 9, 3, 9)]
REDUCED = [(traversal.SHORT, 17), (traversal.SHORT + 1, reduce.STRIP + 1), (reduce.CARRY_ROWS + 1, reduce.HALF_STRIP + 1),
           (3, reduce.SHORT_ROW + 1), (2, reduce.BLOCK + 1), (reduce.FEW_COLUMNS, 3), (3, traversal.COLUMNS + 1), (4, 13, 9), (2, 9, 3, 5)]
SCANNED = [(scan.SHORT - 1, 9), (scan.EIGHT + 1, scan.FEW + 1), (scan.ROWS + 1, scan.FEW - 1), (3, scan.BLOCK + 1), (4, 9, 5)]
NORMALISED = [(softmax.TOGETHER + 1, 9), (3, softmax.SHORT + 1), (softmax.SHORT + 1, softmax.NARROW + 1), (9, softmax.NARROW - 1), (3, 9, 5)]
IMAGES = [(2, 3, 5, 7), (2, 9, 8, 9), (1, 17, 3, window.LANES + 1)]
ROWS_OF = [(2, norm.ROWS, 9), (norm.ROWS + 1, 3, unit_norm.COLUMNS + 1)]
PLANES_OF = [(3, 4, 5, 7), (2, 4, channel_norm.SHORT + 1), (9, 4), (2, 4, 3, channel_norm.BLOCK // 3 + 1), (channel_norm.BLOCK_ROWS + 1, 8, 3)]
MOVED = [(9, words.LONGEST_STEP * 4 + 1), (3, words.LONGEST_ROW // 4 + 1), (loopnest.LONGEST_BLOCK + 1, 3), (3, 9, 8), (2, 3, 5, 9)]
SORTED = [(9, sort.RANKED + 1), (sort.TILE + 1, sort.LONGEST + 1), (3, sort.RANKED), (sort.RANKED + 1, sort.TILE + 1), (3, 9, 5)]
# (rows, depth, columns): vectors, tiny ones, tiles and panels
PRODUCTS = [(tiny.LARGEST, tiny.LARGEST, tiny.LARGEST - 1), (TILE.rows + 1, 9, TILE.columns + 1), (3, tiny.LONGEST_DOT + 1, TILE.width),
            (4 * TILE.rows + 1, 33, 2 * TILE.columns + 3), (1, 19, 21), (19, 21, 1)]
PICKED = [(9, gather.TILE + 1), (gather.TILE + 1, 9), (3, mask.COLUMNS + 1), (5, 9, 7)]

F = "nn.functional."


def to(name, *arguments, **options):
    """A function of either library by its name, called with the operands first."""
    def function(torch, *operands):
        found = torch
        for part in name.split("."):
            found = getattr(found, part)
        return found(*operands, *arguments, **options)
    return function


def last(name, *arguments, **options):
    """A reduction over each dimension, and over all, as one row."""
    def function(torch, x):
        results = [getattr(torch, name)(x, *arguments, dim=d, **options) for d in range(x.dim())]
        return [r[0] if isinstance(r, tuple) else r for r in results]
    return function


def matrices(*which):
    """Shapes of products: "mk", "kn" and so on, b for a batch."""
    return [tuple(tuple({"m": m, "k": k, "n": n, "b": 3}[letter] for letter in word) for word in which) for m, k, n in PRODUCTS]


def where_larger(torch, x, y):
    return torch.where(x > y, x * 2, y * 3)


def with_indices(function, sizes, extent, shape_of, **options):
    """Cases whose last operand is of indices, one for each size since their limit differs."""
    return [Case(function, [(*shapes, shape_of(shapes))], draws={len(shapes): below(extent(shapes))}, **options) for shapes in sizes]


CASES = {
    # elementwise: bodies that are short and long, of one to three operands, results of another dtype, and in place
    "add": Case(to("add"), alike(2, *PLANES), few=True), "add half": Case(to("add"), alike(2, *PLANES[1:4]), "float16", few=True),
    "mul": Case(to("mul"), alike(2, *PLANES), few=True), "mul complex": Case(to("mul"), alike(2, *PLANES[2:4]), "complex64", few=True),
    "atan2": Case(to("atan2"), alike(2, *PLANES[1:5]), few=True),
    "exp": Case(to("exp"), alike(1, *PLANES)),
    "where": Case(where_larger, alike(2, *PLANES[1:4]), few=True), "addcmul": Case(to("addcmul"), alike(3, *PLANES[1:4]), few=True),
    "bitwise_and": Case(to("bitwise_and"), alike(2, *PLANES[1:5]), "uint8", few=True),
    "lt": Case(to("lt"), alike(2, *PLANES[1:4]), gradient=False),
    "mul_": Case(lambda torch, x, y: x.clone().mul_(y), alike(2, *PLANES[1:5]), few=True),
    "row": Case(to("mul"), [((400, 10), (10,)), ((9, 17), (9, 1)), ((3, 9, 17), (9, 17)), ((65, 33), (1, 33)), ((2, 9, 8, 9), (9, 1, 1))]),
    # reductions
    "sum": Case(last("sum"), alike(1, *REDUCED)), "sum half": Case(last("sum"), alike(1, *REDUCED[:5]), "bfloat16"),
    "amax": Case(last("amax"), alike(1, *REDUCED)), "argmax": Case(last("argmax"), alike(1, *REDUCED), distinct=True, gradient=False),
    "prod": Case(last("prod"), alike(1, *REDUCED[:2], (4, 13, 9)), "float64"),
    "var": Case(last("var"), alike(1, *REDUCED)), "norm": Case(last("norm", 2), alike(1, *REDUCED)),
    "any": Case(last("any"), alike(1, *REDUCED), "bool"), "sum uint8": Case(last("sum"), alike(1, *REDUCED), "uint8"),
    "mean of all": Case(to("mean"), alike(1, *REDUCED, (3, reduce.BLOCK, 3))), "sum of two": Case(to("sum", (0, -1)), alike(1, *REDUCED)),
    "logsumexp": Case(last("logsumexp"), alike(1, *NORMALISED)),
    # scans
    "cumsum": Case(last("cumsum"), alike(1, *SCANNED)), "cumprod": Case(last("cumprod"), alike(1, *SCANNED), "float64"),
    "cummax": Case(last("cummax"), alike(1, *SCANNED), distinct=True), "logcumsumexp": Case(last("logcumsumexp"), alike(1, *SCANNED)),
    # softmax and norms
    "softmax": Case(last("softmax"), alike(1, *NORMALISED)), "log_softmax": Case(last("log_softmax"), alike(1, *NORMALISED)),
    "layer_norm": Case(lambda torch, x, w, b: torch.nn.functional.layer_norm(x, x.shape[-1:], w, b),
                       [(s, s[-1:], s[-1:]) for s in ROWS_OF + NORMALISED[:2]]),
    "batch_norm": Case(lambda torch, x, w, b: torch.nn.functional.batch_norm(x, None, None, w, b, True),
                       [(s, s[1:2], s[1:2]) for s in PLANES_OF], tolerance=2e-3),
    "group_norm": Case(lambda torch, x, w, b: torch.nn.functional.group_norm(x, 2, w, b), [(s, s[1:2], s[1:2]) for s in PLANES_OF]),
    "instance_norm": Case(to(F + "instance_norm"), alike(1, *PLANES_OF[:2]), tolerance=2e-3),
    "rms_norm": Case(lambda torch, x, w: torch.nn.functional.rms_norm(x, x.shape[-1:], w), [(s, s[-1:]) for s in ROWS_OF]),
    "normalize": Case(to(F + "normalize"), alike(1, *ROWS_OF, (unit_norm.BLOCK_ROWS + 1, 9))),
    "local_response_norm": Case(to(F + "local_response_norm", 3), alike(1, *IMAGES)),
    # losses
    "mse_loss": Case(to(F + "mse_loss"), alike(2, *PLANES[:4], (3, total.BLOCK + 1)), few=True), "l1_loss": Case(to(F + "l1_loss"), alike(2, *PLANES[2:4]), few=True),
    "cross_entropy": Case(to(F + "cross_entropy"), [(s, s[:1]) for s in [(17, 7), (3, softmax.SHORT + 1), (9, softmax.NARROW + 1)]],
                          draws={1: below(7)}),
    "cross_entropy of planes": Case(to(F + "cross_entropy"), [((2, 7, 5, 9), (2, 5, 9)), ((3, 7, 17), (3, 17))], draws={1: below(7)}),
    "soft cross_entropy": Case(to(F + "cross_entropy"), alike(2, (17, 7), (2, 7, 5))),
    "nll_loss": Case(to(F + "nll_loss"), [((17, 7), (17,)), ((2, 7, 5, 9), (2, 5, 9))], draws={1: below(7)}),
    # products
    "mm": Case(to("mm"), matrices("mk", "kn")),
    "mm half": Case(to("mm"), matrices("mk", "kn")[:3], "bfloat16"), "bmm": Case(to("bmm"), matrices("bmk", "bkn")),
    "matmul": Case(to("matmul"), matrices("bmk", "kn")), "mv": Case(to("mv"), matrices("mk", "k")), "dot": Case(to("dot"), matrices("k", "k")),
    "linear": Case(to(F + "linear"), matrices("bmk", "nk", "n")), "addmm": Case(to("addmm"), matrices("mn", "mk", "kn")),
    "baddbmm": Case(to("baddbmm"), matrices("bmn", "bmk", "bkn")), "outer": Case(to("outer"), matrices("m", "n")),
    "addmv": Case(to("addmv"), matrices("m", "mk", "k")), "einsum": Case(lambda torch, x, y: torch.einsum("bij,bkj->bik", x, y),
                                                                        matrices("bmk", "bnk")[:3]),
    "cdist": Case(to("cdist"), matrices("mk", "nk")[:3], distinct=True, tolerance=2e-3), "mm complex": Case(to("mm"), matrices("mk", "kn")[:2], "complex64"),
    "attention": Case(lambda torch, q, k, v: torch.nn.functional.scaled_dot_product_attention(q, k, v),
                      [((2, 3, m, 8), (2, 3, n, 8), (2, 3, n, 8)) for m, n in ((5, 7), (33, 65))], tolerance=2e-3),
    # convolutions and windows
    "conv2d": Case(to(F + "conv2d", padding=1), [((2, 3, 5, 7), (4, 3, 3, 3), (4,)), ((2, 16, 9, 17), (17, 16, 3, 3), (17,)),
                                                  ((2, 17, 8, 8), (32, 17, 1, 1), (32,))], tolerance=2e-3),
    "conv2d strided": Case(to(F + "conv2d", stride=2), [((2, 3, 9, 11), (5, 3, 3, 3)), ((1, 16, 9, 17), (16, 16, 5, 5))], tolerance=2e-3),
    "conv2d depthwise": Case(to(F + "conv2d", padding=1, groups=6), [((2, 6, 5, 17), (6, 1, 3, 3)), ((2, 6, 5, 7), (12, 1, 3, 3))], tolerance=2e-3),
    "conv1d": Case(to(F + "conv1d"), [((2, 3, 17), (4, 3, 3), (4,)), ((3, 8, 33), (17, 8, 2), (17,))], tolerance=2e-3),
    "conv3d": Case(to(F + "conv3d"), [((1, 3, 4, 5, 6), (4, 3, 2, 3, 3))], tolerance=2e-3),
    "conv_transpose2d": Case(to(F + "conv_transpose2d", stride=2), [((2, 3, 5, 7), (3, 4, 3, 3), (4,))], tolerance=2e-3),
    "max_pool2d": Case(to(F + "max_pool2d", 2), alike(1, *IMAGES), distinct=True),
    "max_pool1d": Case(to(F + "max_pool1d", 3, 2, 1), alike(1, (2, 9, 17), (3, window.SPAN // 8 + 1, 5)), distinct=True),
    "avg_pool2d": Case(to(F + "avg_pool2d", 3, 2, 1), alike(1, *IMAGES)), "avg_pool1d": Case(to(F + "avg_pool1d", 2), alike(1, (2, 9, 17))),
    "adaptive_avg_pool2d": Case(to(F + "adaptive_avg_pool2d", 2), alike(1, *IMAGES)),
    "adaptive_max_pool2d": Case(to(F + "adaptive_max_pool2d", 2), alike(1, *IMAGES), distinct=True),
    "interpolate": Case(to(F + "interpolate", scale_factor=2, mode="bilinear"), alike(1, *IMAGES)),
    "unfold": Case(to(F + "unfold", 2), alike(1, *IMAGES)), "fold": Case(to(F + "fold", (4, 5), 2), alike(1, (2, 12, 12))),
    "grid_sample": Case(to(F + "grid_sample", align_corners=False), [((2, 3, 5, 7), (2, 4, 3, 2))], tolerance=2e-3),
    "pixel_shuffle": Case(to(F + "pixel_shuffle", 2), alike(1, (2, 8, 3, 5))),
    # copies
    "clone": Case(lambda torch, x: x.clone(), alike(1, *MOVED)), "contiguous": Case(lambda torch, x: x.contiguous(), alike(1, *MOVED)),
    "bytes": Case(lambda torch, x: x.contiguous(), alike(1, *MOVED), "uint8"), "halves": Case(lambda torch, x: x.contiguous(), alike(1, *MOVED), "float16"),
    "pairs": Case(lambda torch, x: x.contiguous(), alike(1, *MOVED), "complex128"),
    "to": Case(lambda torch, x: x.to(torch.float64) * 2, alike(1, *PLANES)), "to int": Case(lambda torch, x: (x * 8).to(torch.int32), alike(1, *PLANES[:5]), gradient=False),
    "cat": Case(lambda torch, x, y: (torch.cat([x, y], 0), torch.cat([x, y], -1)), alike(2, *MOVED)),
    "stack": Case(lambda torch, x, y: torch.stack([x, y], 1), alike(2, *MOVED)), "flip": Case(to("flip", (0, -1)), alike(1, *MOVED)),
    "roll": Case(to("roll", (1, 2), (0, -1)), alike(1, *MOVED)), "repeat": Case(lambda torch, x: x.repeat(*[2] * x.dim()), alike(1, *MOVED)),
    "permute": Case(lambda torch, x: x.permute(*range(x.dim())[::-1]).contiguous(), alike(1, *MOVED)), "tril": Case(to("tril"), alike(1, *MOVED)),
    "reshape": Case(lambda torch, x: x.reshape(-1, x.shape[0]), alike(1, *MOVED)), "diagonal": Case(lambda torch, x: x.diagonal() * 2, alike(1, *MOVED)),
    "windows": Case(lambda torch, x: x.unfold(-1, 3, 2) * 2, alike(1, *MOVED)), "half of it": Case(lambda torch, x: x[1:, ..., ::2] * 2, alike(1, *MOVED)),
    "split": Case(lambda torch, x: x.split(2, -1), alike(1, *MOVED[3:])), "pad": Case(to(F + "pad", (1, 2)), alike(1, *MOVED)),
    "pad reflect": Case(to(F + "pad", (1, 2), mode="reflect"), alike(1, *MOVED[1:4])),
    "repeat_interleave": Case(to("repeat_interleave", 3, 0), alike(1, *MOVED)),
    # sorting
    "sort": Case(last("sort"), alike(1, *SORTED), distinct=True), "argsort": Case(last("argsort"), alike(1, *SORTED), distinct=True, gradient=False),
    "topk": Case(lambda torch, x: torch.topk(x, 3)[0], alike(1, *SORTED, (9, topk.BLOCK + 1)), distinct=True),
    "kthvalue": Case(lambda torch, x: torch.kthvalue(x, 2)[0], alike(1, *SORTED), distinct=True),
    "median": Case(last("median"), alike(1, *SORTED), distinct=True), "unique": Case(lambda torch, x: torch.unique(x), alike(1, *SORTED), "int64"),
    "searchsorted": Case(lambda torch, x, y: torch.searchsorted(torch.sort(x)[0], y), alike(2, *SORTED), gradient=False),
    # indexing
    "masked_fill": Case(lambda torch, x, m: x.masked_fill(m, 2.0), alike(2, *PICKED), draws={1: flags}),
    "masked_select": Case(to("masked_select"), alike(2, *PICKED), draws={1: flags}), "nonzero": Case(to("nonzero"), alike(1, *PICKED), "bool"),
    "gather": Case(lambda torch, x, i: torch.gather(x, -1, i), alike(2, *PICKED), draws={1: below(7)}),
    "gather of rows": Case(lambda torch, x, i: torch.gather(x, 0, i), alike(2, *PICKED), draws={1: below(3)}),
    "take_along_dim": Case(lambda torch, x, i: torch.take_along_dim(x, i, -1), alike(2, *PICKED), draws={1: permuted}),
    "scatter": Case(lambda torch, x, i, y: x.scatter(-1, i, y), alike(3, *PICKED), draws={1: permuted}, distinct=True),
    "scatter_add": Case(lambda torch, x, i, y: x.scatter_add(0, i, y), alike(3, *PICKED), draws={1: below(3)}),
    "index_select": Case(lambda torch, x, i: (torch.index_select(x, 0, i), torch.index_select(x, -1, i)), [(s, (11,)) for s in PICKED], draws={1: below(3)}),
    "index": Case(lambda torch, x, i: (x[i], x[..., i], x[i, i]), [(s, (11,)) for s in PICKED], draws={1: below(3)}),
    "index_add": Case(lambda torch, x, i, y: x.index_add(0, i, y), [(s, (3,), (3, *s[1:])) for s in PICKED], draws={1: below(3)}),
    "index_copy": Case(lambda torch, x, i, y: x.index_copy(0, i, y), [(s, (3,), (3, *s[1:])) for s in PICKED], draws={1: permuted}, distinct=True),
    "index_put": Case(lambda torch, x, i, y: x.index_put((i,), y, accumulate=True), [(s, (3,), (3, *s[1:])) for s in PICKED], draws={1: below(3)}),
    "take": Case(to("take"), [(s, (4, 5)) for s in PICKED], draws={1: below(27)}),
    "embedding": Case(lambda torch, w, i: torch.nn.functional.embedding(i, w), [(s, (4, 5)) for s in PICKED[:3]], draws={1: below(3)}),
    "bincount": Case(to("bincount"), alike(1, (5,), (300,)), draws={0: below(7)}),
}


@pytest.mark.parametrize("name", CASES)
def test_families_of_ops(name):
    compare(name, CASES[name])


# ---------------------------------------------------------------- every elementwise record
def _signature(name):
    """What the loops around a formula depend on."""
    row, op = FORMULAS[name], OPS[name]
    return op.kind, len(row.domain), op.bool_operands, row.constants, len(row.numbers)


# Three of each kind, since the loops around a formula are written from one template; test_public_functions has every op.
RECORDS = [name for name in SMOOTH if name in [other for other in SMOOTH if _signature(other) == _signature(name)][:3]]


@pytest.mark.parametrize("name", RECORDS)
def test_elementwise_records(name):
    """Once with its operands in different orders, on tiles' sides of the least extent; each record in others."""
    row, op, turn = FORMULAS[name], OPS[name], RECORDS.index(name)
    shape = (pointwise.WIDTH // 4 + 1, pointwise.VECTOR + 1)
    arrays = samples(row, "float32", shape)
    names = [order for order in orders_of(2) if order != "contiguous"]
    chosen = [names[(turn + 3 * i) % len(names)] for i in range(len(arrays))]
    chosen[turn % len(chosen)] = "transposed" if len(arrays) > 1 else chosen[0]
    results = []
    for orders in (chosen, ["contiguous"] * len(arrays)):
        operands = [arrange(order, np.ascontiguousarray(arrange(c, a).numpy())) for order, c, a in zip(orders, chosen, arrays)]
        wanted = [a.dtype.kind == "f" and i not in row.constants for i, a in enumerate(arrays)]
        operands = [x.requires_grad_() if w else x for x, w in zip(operands, wanted)]
        found = op.function(*operands, **row.numbers)
        (found * torch.tensor(np.cos(np.arange(found.numel(), dtype=np.float32))).view(found.shape)).sum().backward()
        results.append([found.detach().numpy(), *[x.grad.numpy() for x, w in zip(operands, wanted) if w]])
    for found, wanted in zip(*results):
        np.testing.assert_allclose(found, wanted, 1e-5, 1e-6 * np.abs(wanted).max(), err_msg=f"{name} in {chosen}")


# ---------------------------------------------------------------- every public function
def _tensors(results):
    return [r for each in results for r in _tensors(each)] if isinstance(results, (tuple, list)) else [results]


OF_MEMORY = frozenset(("as_strided", "as_strided_copy", "as_strided_scatter", "view", "view_as", "view_as_complex", "view_as_complex_copy",
                       "view_copy"))                                                # which say what lies where
RANDOM = frozenset(("dropout", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout", "feature_dropout", "feature_alpha_dropout",
                    "rrelu", "gumbel_softmax", "fractional_max_pool2d", "fractional_max_pool3d", "svd_lowrank", "pca_lowrank"))


@pytest.mark.parametrize("name", [name for name in PUBLIC if name not in RANDOM | OF_MEMORY])
@pytest.mark.filterwarnings("ignore")
def test_public_functions(name):
    """The rows whose gradients are compared with finite differences: the same results and gradients in other orders, bit for bit but
    for the order of additions."""
    function, shapes, _ = PUBLIC[name]
    arrays = [values(shape, seed) for seed, shape in enumerate(shapes)]
    expected, turn = None, list(PUBLIC).index(name)
    names = [order for order in ORDERS if order not in SHARING]
    mixed = [[names[(5 * turn + 3 * i) % len(names)] for i in range(len(shapes))], [names[(turn + k) % len(names)] for k in range(len(shapes))]]
    for orders in [["contiguous"] * len(shapes), [names[turn % len(names)]] * len(shapes), *mixed]:
        operands = [arrange(order if order in orders_of(a.ndim) else "contiguous", a).requires_grad_() for order, a in zip(orders, arrays)]
        torch.manual_seed(3)
        results = [r for r in _tensors(function(*operands)) if isinstance(r, torch.Tensor)]
        total = sum((r * torch.arange(1.0, r.numel() + 1, dtype=torch.float64).view(r.shape)).sum() for r in results if r.requires_grad)
        total = total.real if total.is_complex() else total
        slopes = torch.autograd.grad(total, operands, allow_unused=True)
        found = [r.detach().numpy() for r in results] + [s.numpy() for s in slopes if s is not None]
        expected = expected or found
        assert len(found) == len(expected)
        for f, e in zip(found, expected):
            np.testing.assert_allclose(f, e, 1e-9, 1e-10, err_msg=f"{name} in {orders}")


# ---------------------------------------------------------------- writes
N = 9
INDEX = np.array([3, 0, 7])
# what is done to x (N, 17), given y of its shape: numtorch's function and what NumPy does
WRITES = {
    "add_": (lambda x, y: x.add_(y), lambda x, y: np.add(x, y, out=x)), "exp_": (lambda x, y: x.exp_(), lambda x, y: np.exp(x, out=x)),
    "addcmul_": (lambda x, y: x.addcmul_(y, y), lambda x, y: np.add(x, y * y, out=x)),
    "copy_": (lambda x, y: x.copy_(y), lambda x, y: np.copyto(x, y)), "fill_": (lambda x, y: x.fill_(2), lambda x, y: x.fill(2)),
    "zero_": (lambda x, y: x.zero_(), lambda x, y: x.fill(0)),
    "masked_fill_": (lambda x, y: x.masked_fill_(y > 1, 0), lambda x, y: np.copyto(x, 0, where=y > 1)),
    "out": (lambda x, y: torch.mul(y, y, out=x), lambda x, y: np.multiply(y, y, out=x)),
    "sum out": (lambda x, y: torch.sum(torch.stack([y, y]), 0, out=x), lambda x, y: np.copyto(x, y + y)),
    "setitem": (lambda x, y: x.__setitem__((slice(1, None), slice(None, None, 2)), y[1:, ::2]),
                lambda x, y: x.__setitem__((slice(1, None), slice(None, None, 2)), y[1:, ::2])),
    "cumsum_": (lambda x, y: x.cumsum_(0), lambda x, y: np.copyto(x, np.cumsum(x, 0))),
    "index_put_": (lambda x, y: x.index_put_((torch.tensor(INDEX),), y[:3]), lambda x, y: x.__setitem__(INDEX, y[:3])),
    "index_add_": (lambda x, y: x.index_add_(1, torch.tensor(INDEX), y[:, :3]), lambda x, y: np.add.at(x, np.s_[:, INDEX], y[:, :3])),
    "index_fill_": (lambda x, y: x.index_fill_(0, torch.tensor(INDEX), 5), lambda x, y: x.__setitem__(INDEX, 5)),
    "scatter_": (lambda x, y: x.scatter_(0, torch.arange(N).flip(0)[:, None].expand(N, 17), y), lambda x, y: np.copyto(x, y[::-1])),
    "masked_scatter_": (lambda x, y: x.masked_scatter_(y > 1, y), lambda x, y: x.__setitem__(y > 1, y.reshape(-1)[:int((y > 1).sum())])),
    "tril_": (lambda x, y: x.tril_(), lambda x, y: np.copyto(x, np.tril(x))),
    "fill_diagonal_": (lambda x, y: x.fill_diagonal_(3), lambda x, y: np.fill_diagonal(x, 3)),
    "addmm_": (lambda x, y: x.addmm_(y[:, :5], y[:5]), lambda x, y: np.add(x, y[:, :5] @ y[:5], out=x)),
    "clamp_": (lambda x, y: x.clamp_(y, y + 0.1), lambda x, y: np.clip(x, y, y + 0.1, out=x)),
    "sort out": (lambda x, y: torch.sort(y, 1, out=(x, torch.empty(0, dtype=torch.int64))), lambda x, y: np.copyto(x, np.sort(y, 1))),
    "cat out": (lambda x, y: torch.cat([y[:4], y[4:]], out=x), lambda x, y: np.copyto(x, y)),
}


@pytest.mark.parametrize("name", WRITES)
def test_writes(name):
    """Into memory of every order, of an operand in another: the elements, and nothing between and beside them."""
    write, reference = WRITES[name]
    names = [order for order in orders_of(2) if order not in SHARING]
    for place, order in enumerate(names):
        rng = np.random.default_rng(place)
        other = orders_of(2)[(place + list(WRITES).index(name)) % len(orders_of(2))]
        target = ORDERS[order][1](rng.uniform(0.5, 1.5, (N, 17)).astype(np.float32))
        block = target
        while isinstance(block.base, np.ndarray):
            block = block.base
        y, expected, around = arrange(other, rng.uniform(0.5, 1.5, (N, 17)).astype(np.float32)), target.copy(), block.copy()
        reference(expected, y.numpy())
        write(torch.from_numpy(target), y)
        np.testing.assert_allclose(target, expected, 1e-5, err_msg=f"{name} into {order} from {other}")
        inside = np.zeros(block.nbytes, bool)
        offset = (target.__array_interface__["data"][0] - block.__array_interface__["data"][0])
        view = np.lib.stride_tricks.as_strided(inside[offset:offset + 1], target.shape, target.strides)
        view[...] = True                                 # the first byte of each element
        outside = ~inside[::4].reshape(block.shape)
        np.testing.assert_array_equal(block[outside], around[outside], f"{name} into {order}: beside it")


# ---------------------------------------------------------------- optimisers
@pytest.mark.parametrize("rule", ["SGD", "Adam", "Adagrad", "RMSprop"])
def test_optimisers(rule):
    """Parameters in dense orders, their gradients in others."""
    for order in ("transposed", "channels last", "first dim last"):
        arrays = [spread_of(shape) for shape in ((3, 9, 17, 9), (2, 8, 33))]
        steps = []
        for each in (order, "contiguous"):
            parameters = [arrange(each, a).requires_grad_() for a in arrays]
            optimiser = getattr(torch.optim, rule)(parameters, lr=0.1)
            for step in range(2):
                for p, a in zip(parameters, arrays):
                    p.grad = arrange("backward" if step and each != "contiguous" else "contiguous", np.cos(a + step))
                optimiser.step()
            steps.append([p.detach().numpy() for p in parameters])
        for found, wanted in zip(*steps):
            np.testing.assert_allclose(found, wanted, 1e-6, err_msg=f"{rule} of {order}")


def spread_of(shape):
    return np.random.default_rng(0).uniform(0.5, 1.5, shape).astype(np.float32)
