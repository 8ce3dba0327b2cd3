"""vmap: every batching rule beside PyTorch's and beside a loop, over which arguments have samples and where, and one vmap in another."""
from __future__ import annotations

import functools
import itertools
import warnings

import numpy as np
import pytest

import numtorch
import numtorch.tree

theirs = pytest.importorskip("torch", reason="PyTorch is not installed to compare with")


def arrays(*shapes, seed=0):
    rng = np.random.default_rng(seed)
    return [rng.integers(0, 3, s[1:]).astype(np.int64) if s and s[0] == "i" else
            rng.uniform(0.2, 1.7, s[1:]).astype(np.float32) if s and s[0] == "+" else rng.normal(size=s).astype(np.float32) for s in shapes]


def compared(found, wanted, tolerance=2e-5):
    if isinstance(wanted, (tuple, list)):
        assert len(found) == len(wanted)
        for f, w in zip(found, wanted):
            compared(f, w, tolerance)
        return
    assert tuple(found.shape) == tuple(wanted.shape)
    assert str(found.dtype) == str(wanted.dtype)
    np.testing.assert_allclose(found.detach().numpy(), wanted.detach().numpy(), rtol=tolerance, atol=tolerance)


def sampled(array, dim, size, seed):
    """Samples of an array along a dimension of them: each its own floats, the same integers in another order."""
    rng = np.random.default_rng(seed)
    each = [array if i == 0 else np.where(array > 0, rng.permutation(array.reshape(-1)).reshape(array.shape), array)
            if array.dtype.kind == "i" else array * (1 + 0.3 * i) for i in range(size)]
    return np.stack(each, dim)


# A row: the function of (library, *tensors), and the shapes of one sample; "i" in front means integers, "+" positive numbers.
ELEMENTWISE = {
    "add": (lambda torch, x, y: x + y, (2, 3), (3,)), "broadcast": (lambda torch, x, y: x * y, (2, 1), (4, 1, 3)),
    "numbers": (lambda torch, x, y: x * 2 - y / 3, (3,), ()), "0-dim": (lambda torch, x, y: torch.atan2(x, y), (), ()),
    "where": (lambda torch, x, y: torch.where(x > 0, x, y), (2, 3), (3,)), "exp": (lambda torch, x: x.exp(), (2, 3)),
    "clamp": (lambda torch, x: x.clamp(-0.5, 0.5), (2, 3)), "gelu": (lambda torch, x: torch.nn.functional.gelu(x), (3,)),
    "compare": (lambda torch, x, y: (x > y) & (x < 2), (2, 3), (2, 3)), "promotion": (lambda torch, x, n: x + n.double(), (2, 3), ()),
    "promoted": (lambda torch, x, n: x * n, (2, 3), ("i", 3)), "pow": (lambda torch, x, y: x ** y, ("+", 2, 3), (3,)),
    "lerp": (lambda torch, x, y: torch.lerp(x, y, 0.3), (2, 3), (2, 3)), "addcmul": (lambda torch, x, y: torch.addcmul(x, x, y), (3,), (2, 3)),
}
PRODUCTS = {
    "mm": (lambda torch, a, b: a @ b, (2, 3), (3, 4)), "mv": (lambda torch, a, v: a @ v, (2, 3), (3,)),
    "vm": (lambda torch, v, a: v @ a, (3,), (3, 2)), "dot": (lambda torch, a, b: torch.dot(a, b), (3,), (3,)),
    "bmm": (lambda torch, a, b: torch.bmm(a, b), (2, 3, 4), (2, 4, 2)), "matmul": (lambda torch, a, b: torch.matmul(a, b), (5, 2, 3), (3, 4)),
    "matmul of batches": (lambda torch, a, b: torch.matmul(a, b), (2, 1, 2, 3), (4, 3, 2)), "outer": (lambda torch, a, b: torch.outer(a, b), (2,), (3,)),
    "einsum": (lambda torch, a, b: torch.einsum("ij,kj->ik", a, b), (2, 3), (4, 3)),
    "linear": (lambda torch, x, w, b: torch.nn.functional.linear(x, w, b), (2, 3), (4, 3), (4,)),
    "linear of a vector": (lambda torch, x, w, b: torch.nn.functional.linear(x, w, b), (3,), (4, 3), (4,)),
    "linear without bias": (lambda torch, x, w: torch.nn.functional.linear(x, w), (2, 2, 3), (4, 3)),
    "addmm": (lambda torch, c, a, b: torch.addmm(c, a, b, beta=0.5, alpha=2), (2, 4), (2, 3), (3, 4)),
    "addmv": (lambda torch, c, a, b: torch.addmv(c, a, b), (2,), (2, 3), (3,)),
    "baddbmm": (lambda torch, c, a, b: torch.baddbmm(c, a, b), (4,), (2, 2, 3), (2, 3, 4)),
    "cdist": (lambda torch, a, b: torch.cdist(a, b), (2, 3), (4, 3)), "cross": (lambda torch, a, b: torch.linalg.cross(a, b), (2, 3), (2, 3)),
}
REDUCTIONS = {
    "sum": (lambda torch, x: x.sum(), (2, 3)), "sum of 0-dim": (lambda torch, x: x.sum(), ()), "mean": (lambda torch, x: x.mean(-1, True), (2, 3)),
    "prod": (lambda torch, x: x.prod(0), (2, 3)), "var": (lambda torch, x: x.var(1), (2, 3)), "std": (lambda torch, x: x.std(), (2, 3)),
    "amax": (lambda torch, x: x.amax((0, 1)), (2, 3, 2)), "any": (lambda torch, x: (x > 1).any(0), (2, 3)), "norm": (lambda torch, x: x.norm(), (2, 3)),
    "logsumexp": (lambda torch, x: x.logsumexp(0), (2, 3)), "softmax": (lambda torch, x: x.softmax(0), (2, 3)),
    "log_softmax": (lambda torch, x: x.log_softmax(-1), (2, 3)), "softmax of 0-dim": (lambda torch, x: x.softmax(0), ()),
    "cumsum": (lambda torch, x: x.cumsum(0), (3, 2)), "cumprod": (lambda torch, x: x.cumprod(-1), (3, 2)),
    "cummax": (lambda torch, x: tuple(x.cummax(0)), (3, 2)), "sort": (lambda torch, x: tuple(x.sort(0, descending=True)), (4, 2)),
    "topk": (lambda torch, x: tuple(x.topk(2)), (2, 4)), "kthvalue": (lambda torch, x: tuple(x.kthvalue(2, 0)), (4, 2)),
    "median": (lambda torch, x: x.median(), (3, 3)), "median along": (lambda torch, x: tuple(x.median(0)), (3, 2)),
    "argsort": (lambda torch, x: x.argsort(1), (2, 4)), "count_nonzero": (lambda torch, x: (x > 0).count_nonzero(), (2, 3)),
    "mse": (lambda torch, x, y: torch.nn.functional.mse_loss(x, y), (2, 3), (2, 3)),
    "mse of itself": (lambda torch, x, y: torch.nn.functional.mse_loss(x, x) + y.sum(), (2, 3), (2, 3)),
}
VIEWS = {
    "permute": (lambda torch, x: x.permute(2, 0, 1), (2, 3, 4)), "transpose": (lambda torch, x: x.transpose(0, -1), (2, 3, 4)),
    "t": (lambda torch, x: x.t(), (2, 3)), "movedim": (lambda torch, x: x.movedim(0, -1), (2, 3, 4)),
    "expand": (lambda torch, x: x.expand(4, -1, 3), (2, 1)), "view": (lambda torch, x: x.view(-1), (2, 3)),
    "reshape": (lambda torch, x: x.t().reshape(2, 3), (2, 3)), "flatten": (lambda torch, x: x.flatten(1), (2, 3, 4)),
    "unflatten": (lambda torch, x: x.unflatten(0, (2, -1)), (4, 3)), "squeeze": (lambda torch, x: x.squeeze(), (1, 3, 1)),
    "squeeze dim": (lambda torch, x: x.squeeze(1), (1, 3, 1)), "unsqueeze": (lambda torch, x: x.unsqueeze(-1), (2, 3)),
    "select": (lambda torch, x: x.select(-1, 1), (2, 3)), "narrow": (lambda torch, x: x.narrow(1, 1, 2), (2, 3)),
    "index": (lambda torch, x: x[1:, None, ..., 0], (3, 2, 4)), "int": (lambda torch, x: x[-1], (3, 2)),
    "unfold": (lambda torch, x: x.unfold(0, 2, 1), (4, 2)), "diagonal": (lambda torch, x: x.diagonal(1), (3, 4)),
    "unbind": (lambda torch, x: x.unbind(1), (2, 3)), "split": (lambda torch, x: x.split(2, -1), (2, 3)), "chunk": (lambda torch, x: x.chunk(2), (3, 2)),
    "iteration": (lambda torch, x: sum(list(x)), (3, 2)), "contiguous": (lambda torch, x: x.t().contiguous(), (2, 3)),
    "clone": (lambda torch, x: x.clone(), (2, 3)), "to": (lambda torch, x: x.double(), (2, 3)),
    "cat": (lambda torch, x, y: torch.cat([x, y], 1), (2, 3), (2, 1)), "stack": (lambda torch, x, y: torch.stack([x, y], -1), (2, 3), (2, 3)),
    "pad": (lambda torch, x: torch.nn.functional.pad(x, (1, 2)), (2, 3)), "full": (lambda torch, x: torch.stack([x, x]).expand(2, 2), ()),
}
LAYERS = {
    "conv1d": (lambda torch, x, w, b: torch.nn.functional.conv1d(x, w, b, padding=1), (2, 3, 5), (4, 3, 3), (4,)),
    "conv2d": (lambda torch, x, w, b: torch.nn.functional.conv2d(x, w, b, stride=2), (1, 2, 5, 6), (4, 2, 3, 3), (4,)),
    "grouped conv2d": (lambda torch, x, w: torch.nn.functional.conv2d(x, w, groups=2), (2, 4, 5, 5), (6, 2, 3, 3)),
    "conv of one image": (lambda torch, x, w: torch.nn.functional.conv2d(x, w), (2, 5, 5), (4, 2, 3, 3)),
    "conv_transpose2d": (lambda torch, x, w, b: torch.nn.functional.conv_transpose2d(x, w, b), (2, 3, 4, 4), (3, 2, 3, 3), (2,)),
    "max_pool2d": (lambda torch, x: torch.nn.functional.max_pool2d(x, 2), (2, 3, 4, 4)),
    "avg_pool2d of one image": (lambda torch, x: torch.nn.functional.avg_pool2d(x, 2), (3, 4, 4)),
    "adaptive_avg_pool2d": (lambda torch, x: torch.nn.functional.adaptive_avg_pool2d(x, 2), (2, 3, 5, 5)),
    "interpolate": (lambda torch, x: torch.nn.functional.interpolate(x, scale_factor=2.0), (2, 3, 4, 4)),
    "layer_norm": (lambda torch, x, w, b: torch.nn.functional.layer_norm(x, (3,), w, b), (2, 3), (3,), (3,)),
    "group_norm": (lambda torch, x, w, b: torch.nn.functional.group_norm(x, 2, w, b), (2, 4, 3), (4,), (4,)),
    "batch_norm": (lambda torch, x, w, b: torch.nn.functional.batch_norm(x, None, None, w, b, True), (4, 3), (3,), (3,)),
    "batch_norm of statistics": (lambda torch, x, m, v: torch.nn.functional.batch_norm(x, m, v), (4, 3, 2), (3,), ("+", 3)),
    "instance_norm": (lambda torch, x: torch.nn.functional.instance_norm(x), (2, 3, 4)),
    "cross_entropy": (lambda torch, x, y: torch.nn.functional.cross_entropy(x, y), (4, 3), ("i", 4)),
    "cross_entropy of one": (lambda torch, x, y: torch.nn.functional.cross_entropy(x, y), (3,), ("i",)),
    "cross_entropy none": (lambda torch, x, y: torch.nn.functional.cross_entropy(x, y, reduction="none", label_smoothing=0.1), (4, 3), ("i", 4)),
    "cross_entropy ignoring": (lambda torch, x, y: torch.nn.functional.cross_entropy(x, y, ignore_index=1), (6, 3), ("i", 6)),
    "nll_loss": (lambda torch, x, y: torch.nn.functional.nll_loss(x, y, reduction="sum"), (4, 3), ("i", 4)),
    "embedding": (lambda torch, i, w: torch.nn.functional.embedding(i, w), ("i", 4), (3, 5)),
    "one_hot": (lambda torch, i: torch.nn.functional.one_hot(i, 3), ("i", 4)),
    "inv": (lambda torch, x: torch.linalg.inv(x + 5 * torch.eye(3)), (3, 3)), "det": (lambda torch, x: torch.linalg.det(x), (3, 3)),
    "solve": (lambda torch, a, b: torch.linalg.solve(a + 5 * torch.eye(3), b), (3, 3), (3, 2)),
    "cholesky": (lambda torch, x: torch.linalg.cholesky(x @ x.mT + torch.eye(3)), (3, 3)),
    "rfft": (lambda torch, x: torch.fft.rfft(x, dim=0).abs(), (4, 2)),
}
SELECTION = {
    "x[i]": (lambda torch, x, i: x[i], (3, 4), ("i", 5)), "x[:, i]": (lambda torch, x, i: x[:, i], (2, 3, 2), ("i", 4)),
    "x[i, :, j]": (lambda torch, x, i, j: x[i, :, j], (3, 4, 3), ("i", 2), ("i", 2)), "x[i, j]": (lambda torch, x, i, j: x[i, j], (3, 3), ("i", 2, 1), ("i", 3)),
    "gather": (lambda torch, x, i: x.gather(1, i), (2, 3), ("i", 2, 4)), "take_along_dim": (lambda torch, x, i: x.take_along_dim(i, 0), (3, 2), ("i", 2, 2)),
    "index_select": (lambda torch, x, i: x.index_select(-1, i), (2, 3), ("i", 4)), "scatter": (lambda torch, x, i, s: x.scatter(1, i, s), (2, 3), ("i", 2, 1), (2, 1)),
    "scatter_add": (lambda torch, x, i, s: x.scatter_add(0, i, s), (3, 2), ("i", 4, 2), (4, 2)),
    "scatter_reduce": (lambda torch, x, i, s: x.scatter_reduce(0, i, s, "amax"), (3, 2), ("i", 4, 2), (4, 2)),
    "index_add": (lambda torch, x, i, s: x.index_add(0, i, s), (3, 2), ("i", 4), (4, 2)),
    "index_put": (lambda torch, x, i, s: x.index_put((i,), s, accumulate=True), (3, 2), ("i", 4), (4, 2)),
    "index_fill": (lambda torch, x, i: x.index_fill(0, i, 2.0), (3, 2), ("i", 4)),
    "max along": (lambda torch, x: tuple(x.max(1)), (2, 3)), "argmax": (lambda torch, x: x.argmax(), (2, 3)), "argmin": (lambda torch, x: x.argmin(0), (2, 3)),
    "flip": (lambda torch, x: x.flip(0), (3, 2)), "roll": (lambda torch, x: x.roll(1, -1), (2, 3)), "repeat": (lambda torch, x: x.repeat(2, 1, 2), (2, 3)),
    "repeat_interleave": (lambda torch, x: x.repeat_interleave(2, 1), (2, 3)), "tril": (lambda torch, x: x.tril(), (3, 3)),
    "diag_embed": (lambda torch, x: torch.diag_embed(x), (2, 3)), "trace": (lambda torch, x: x.trace(), (3, 3)),
    "attention": (lambda torch, q, k, v: torch.nn.functional.scaled_dot_product_attention(q, k, v), (2, 3, 4), (2, 5, 4), (2, 5, 4)),
    "attention of heads": (lambda torch, q: torch.nn.functional.scaled_dot_product_attention(q, q, q, is_causal=True), (2, 2, 3, 4)),
    "complex": (lambda torch, x, y: torch.view_as_real(torch.complex(x, y)), (2, 3), (3,)), "unfold": (lambda torch, x: torch.nn.functional.unfold(x, 2), (1, 2, 3, 3)),
    "fold": (lambda torch, x: torch.nn.functional.fold(x, 3, 2), (1, 8, 4)), "pinv": (lambda torch, x: torch.linalg.pinv(x), (3, 2)),
    "bce": (lambda torch, x, y: torch.nn.functional.binary_cross_entropy(x.sigmoid(), y.sigmoid()), (2, 3), (2, 3)),
}
def filled(x, made):
    """A new tensor that a sample is written into."""
    made[1:].add_(x[0])
    made[0] = x[1]
    return made


MADE = {
    "zeros_like": (lambda torch, x: filled(x, torch.zeros_like(x)), (2, 3)), "full_like": (lambda torch, x: filled(x, torch.full_like(x, 2)), (2, 3)),
    "ones_like": (lambda torch, x: filled(x, torch.ones_like(x, dtype=torch.float64)), (2, 3)),
    "transposed": (lambda torch, x: filled(x.t(), torch.zeros_like(x.t())), (3, 2)), "empty_like": (lambda torch, x: filled(x, torch.empty_like(x).fill_(1)), (2, 3)),
    "new_zeros": (lambda torch, x: filled(x, x.new_zeros(4, 3)), (2, 3)), "new_ones": (lambda torch, x: filled(x, x.new_ones(2, 3)), (2, 3)),
    "new_empty": (lambda torch, x: filled(x, x.new_empty(2, 3).zero_()), (2, 3)), "new_full": (lambda torch, x: filled(x, x.new_full((3, 3), 7)), (2, 3)),
    "new_empty_strided": (lambda torch, x: filled(x, x.new_empty_strided((3, 3), (1, 4)).zero_()), (2, 3)),
}
ROWS = {f"{kind}: {name}": row for kind, rows in (("made", MADE), ("elementwise", ELEMENTWISE), ("products", PRODUCTS), ("reductions", REDUCTIONS),
                                                  ("views", VIEWS), ("layers", LAYERS),
                                                  ("selection", SELECTION)) for name, row in rows.items()}


def dims_of(count, ndims):
    """Which arguments have samples, and where: each subset, and for the whole set the last place too."""
    for has in itertools.product((True, False), repeat=count):
        if any(has):
            yield tuple([0 if h else None for h in has])
    yield tuple(ndims)


# where PyTorch's rule raises, for samples of one argument alone or for two levels of which each argument has another: there its
# function in a loop is what is compared with
THEIR_DEFECTS = ("layers: cross_entropy none", "reductions: mse")


@pytest.mark.parametrize("name", ROWS)
def test_rules(name):
    function, *shapes = ROWS[name]
    one = arrays(*shapes)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for in_dims in dims_of(len(one), [a.ndim for a in one]):
            given = [a if d is None else sampled(a, d, 3, i) for i, (a, d) in enumerate(zip(one, in_dims))]
            found = numtorch.func.vmap(lambda *x: function(numtorch, *x), in_dims)(*map(numtorch.tensor, given))
            loop = [function(numtorch, *[numtorch.tensor(a if d is None else a.take(i, d)) for a, d in zip(given, in_dims)]) for i in range(3)]
            if isinstance(found, (tuple, list)):
                compared(found, [numtorch.stack(column) for column in zip(*loop)])
            else:
                compared(found, numtorch.stack(loop))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                if name in THEIR_DEFECTS:
                    compared(found, theirs.stack([function(theirs, *[theirs.tensor(a if d is None else a.take(i, d)) for a, d in zip(given, in_dims)])
                                                  for i in range(3)]))
                else:
                    compared(found, theirs.func.vmap(lambda *x: function(theirs, *x), in_dims)(*map(theirs.tensor, given)))


def test_their_defects_are_there():
    """PyTorch's rules still raise, or give other numbers than its functions in a loop."""
    failed = set()
    for name in THEIR_DEFECTS:
        function, *shapes = ROWS[name]
        one = arrays(*shapes)
        for in_dims in dims_of(len(one), [a.ndim for a in one]):
            given = [a if d is None else sampled(a, d, 3, i) for i, (a, d) in enumerate(zip(one, in_dims))]
            loop = [function(theirs, *[theirs.tensor(a if d is None else a.take(i, d)) for a, d in zip(given, in_dims)]) for i in range(3)]
            try:
                compared(theirs.func.vmap(functools.partial(function, theirs), in_dims)(*map(theirs.tensor, given)), theirs.stack(loop))
            except Exception:
                failed.add(name)
    for name in set(THEIR_DEFECTS) - failed:
        with pytest.raises(RuntimeError):
            test_rules_in_each_other(name)


@pytest.mark.parametrize("name", [name for name in ROWS if name not in THEIR_DEFECTS])
def test_rules_in_each_other(name):
    """Two levels: samples of both in the first argument, of the outer in the second and of the inner in the third."""
    function, *shapes = ROWS[name]
    one = arrays(*shapes)
    outer, inner = (0, 1, None)[:len(one)], (0, None, 0)[:len(one)]
    given = []
    for i, (a, o, n) in enumerate(zip(one, outer, inner)):
        a = a if n is None else sampled(a, n, 2, i)
        given.append(a if o is None else sampled(a, min(o, a.ndim), 3, i))
    outer = tuple([None if o is None else min(o, g.ndim - 1) for o, g in zip(outer, given)])
    def nested(torch):
        return torch.func.vmap(torch.func.vmap(lambda *x: function(torch, *x), inner), outer, -1)(*map(torch.tensor, given))
    compared(nested(numtorch), nested(theirs))


# ---------------------------------------------------------------- random numbers
DRAWS = {
    "randn": lambda torch, x: x + torch.randn(4), "rand_like": lambda torch, x: torch.rand_like(x), "randperm": lambda torch, x: torch.randperm(6),
    "dropout": lambda torch, x: torch.nn.functional.dropout(x + 1), "normal_": lambda torch, x: x.clone().normal_(),
    "feature dropout": lambda torch, x: torch.nn.functional.dropout2d((x + 1).reshape(1, 4, 1, 1)), "randint": lambda torch, x: torch.randint(9, (4,)),
    "poisson of the same": lambda torch, x: torch.poisson(torch.ones(4) * 9), "dropout of the same": lambda torch, x: torch.nn.functional.dropout(torch.ones(9)),
    "bernoulli of the same": lambda torch, x: torch.bernoulli(torch.full((9,), 0.5)), "multinomial of the same": lambda torch, x: torch.multinomial(torch.ones(9), 5),
    "gamma of the same": lambda torch, x: torch._standard_gamma(torch.ones(4)), "of samples of samples": lambda torch, x: torch.func.vmap(
        lambda y: torch.poisson(torch.ones(2) * 9), randomness="different")(x),
    "bernoulli": lambda torch, x: torch.bernoulli(x + 0.5), "in place": lambda torch, x: x + torch.empty(4).normal_(),
}


@pytest.mark.parametrize("randomness", ["error", "different", "same"])
@pytest.mark.parametrize("name", DRAWS)
def test_random_numbers(name, randomness):
    def outcome(torch):
        torch.manual_seed(0)
        try:
            rows = torch.func.vmap(lambda x: DRAWS[name](torch, x), randomness=randomness)(torch.zeros(8, 4)).tolist()
        except RuntimeError as error:
            return str(error)[:60]
        return "same" if all(row == rows[0] for row in rows) else "different"
    if (name, randomness) != ("bernoulli", "same"):      # which PyTorch has not
        assert outcome(numtorch) == outcome(theirs)


def test_draws_are_as_they_were_afterwards():
    numtorch.manual_seed(3)
    before = numtorch.randn(2).tolist()
    with pytest.raises(RuntimeError):
        numtorch.func.vmap(lambda x: x + numtorch.randn(2))(numtorch.zeros(3, 2))
    numtorch.manual_seed(3)
    assert numtorch.randn(2).tolist() == before


# ---------------------------------------------------------------- errors, in PyTorch's words
def written(torch, x):
    total = torch.zeros(3)
    return total.add_(x)


WRONG = {
    "no samples": lambda torch, f: f(lambda x: x, None)(torch.ones(3)), "no inputs": lambda torch, f: f(lambda: 1)(),
    "sizes": lambda torch, f: f(torch.add)(torch.ones(3), torch.ones(2)), "in_dims": lambda torch, f: f(torch.add, (0,))(torch.ones(3), torch.ones(3)),
    "kind of in_dims": lambda torch, f: f(torch.add, [0, 0])(torch.ones(3), torch.ones(3)),
    "a number": lambda torch, f: f(torch.add)(torch.ones(3), 2), "out of range": lambda torch, f: f(torch.sin, 1)(torch.ones(3)),
    "float in_dim": lambda torch, f: f(torch.sin, (0.5,))(torch.ones(3)), "result": lambda torch, f: f(lambda x: 3)(torch.ones(3)),
    "out_dims": lambda torch, f: f(torch.sin, 0, (0, 1))(torch.ones(3)), "no out_dim": lambda torch, f: f(torch.sin, 0, None)(torch.ones(3)),
    "kind of out_dims": lambda torch, f: f(torch.sin, 0, "x")(torch.ones(3)), "item": lambda torch, f: f(lambda x: x * x.item())(torch.ones(3)),
    "randomness": lambda torch, f: f(torch.sin, randomness="other")(torch.ones(3)), "chunks": lambda torch, f: f(torch.sin, chunk_size=0)(torch.ones(3)),
    "written": lambda torch, f: f(lambda x: written(torch, x))(torch.ones(2, 3)),
    **{f"{name} of {a} and {b} dimensions": lambda torch, f, name=name, a=a, b=b: f(getattr(torch, name))(torch.ones((2,) * (1 + a)), torch.ones((2,) * (1 + b)))
       for name, a, b in (("mm", 1, 2), ("mm", 2, 3), ("bmm", 3, 2), ("mv", 1, 2), ("mv", 2, 2), ("dot", 1, 2))},
}


@pytest.mark.parametrize("name", WRONG)
def test_errors(name):
    with pytest.raises(Exception) as theirs_error:
        WRONG[name](theirs, theirs.func.vmap)
    with pytest.raises(Exception) as error:
        WRONG[name](numtorch, numtorch.func.vmap)
    assert type(error.value) is type(theirs_error.value)
    assert str(error.value)[:40] == str(theirs_error.value)[:40] or name in ("in_dims", "written", "no samples", "dot of 1 and 2 dimensions")


# ---------------------------------------------------------------- arguments, results, chunks
CALLS = {
    "dicts": lambda torch, f, x: f(lambda d: {"s": d["a"] + d["b"][0], "n": (d["a"] * 2,)}, ({"a": 0, "b": None},))({"a": x, "b": [x[0]]}),
    "out_dims": lambda torch, f, x: f(lambda a: (a, a.sum()), out_dims=(1, 0))(x), "one for all": lambda torch, f, x: f(lambda a: (a, a * 2), out_dims=-1)(x),
    "keywords": lambda torch, f, x: f(lambda a, b=None: a * b.sum())(x, b=x), "chunks": lambda torch, f, x: f(lambda a: (a.exp(), a.sum()), chunk_size=2)(x),
    "chunks of another dim": lambda torch, f, x: f(lambda a: a.exp(), 1, 1, chunk_size=2)(x),
    "a constant": lambda torch, f, x: f(lambda a: torch.ones(2))(x), "in place": lambda torch, f, x: f(lambda a: a.clone().add_(1).mul_(a))(x),
    "assigned": lambda torch, f, x: f(lambda a: assigned(a.clone()))(x),
}


def assigned(x):
    x[1:] = x[0] * 2
    x[0] += 1
    return x


@pytest.mark.parametrize("name", CALLS)
def test_arguments_and_results(name):
    x = arrays((5, 3))[0]
    found, wanted = [CALLS[name](torch, torch.func.vmap, torch.tensor(x)) for torch in (numtorch, theirs)]
    for f, w in zip(*[numtorch.tree.flatten(r)[0] for r in (found, wanted)]):
        compared(f, w)


def test_what_has_no_rule_is_a_loop_and_warns_once():
    from numtorch.func import batching
    batching._warned.discard("bins_of_range")
    x = numtorch.tensor(arrays((3, 8))[0])
    with pytest.warns(UserWarning, match="batching rule"):
        found = numtorch.func.vmap(lambda x: x.histc(4))(x)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        numtorch.func.vmap(lambda x: x.histc(4))(x)
    compared(found, numtorch.stack([row.histc(4) for row in x]))


def test_a_write_through_a_view_of_what_an_op_makes_reaches_all_of_it():
    """Of a target that no sample knows, the op's own, when what is written is each sample's: also of a view, also two levels deep."""
    base, rows = numtorch.zeros(4, 3), numtorch.arange(12.0).reshape(2, 2, 3)
    found = numtorch.func.vmap(numtorch.func.vmap(lambda r: base.select_scatter(r, 0, 1)))(rows)
    assert found.shape == (2, 2, 4, 3) and numtorch.equal(found[:, :, 1], rows) and not found[:, :, 2:].any() and not base.any()
    number = numtorch.func.vmap(lambda i, s: numtorch.tensor(1.0).index_add(0, i, s))(numtorch.zeros(3, 1, dtype=numtorch.int64), rows[0, 0])
    assert number.tolist() == (rows[0, 0] + 1).tolist()


@pytest.mark.parametrize("name, args", [("t_", ()), ("transpose_", (0, 1)), ("unsqueeze_", (0,)), ("squeeze_", ())])
def test_views_that_change_the_tensor_itself(name, args):
    x = numtorch.arange(8.0).reshape(2, 4, 1)
    found = numtorch.func.vmap(lambda row: getattr(row.clone(), name)(*args))(x)
    assert numtorch.equal(found, numtorch.stack([getattr(row.clone(), name)(*args) for row in x]))


def test_gradients_of_each_sample_lie_as_the_weights_do():
    """A layer's weights are multiplied as one matrix with all samples; their gradients are products of a column and a row, in order."""
    weight, x, g = [numtorch.from_numpy(np.random.default_rng(0).standard_normal(shape)) for shape in ((4, 3), (7, 3), (4,))]
    found = numtorch.func.vmap(numtorch.func.grad(lambda w, x: numtorch.nn.functional.linear(x, w) @ g), (None, 0))(weight, x)
    assert found.is_contiguous()
    numtorch.testing.assert_close(found, g[:, None] * x[:, None, :])


@pytest.mark.parametrize("dims", [(0, None, None), (None, 0, None), (None, None, 0)])
@pytest.mark.parametrize("channels", [1, 3])
def test_running_statistics_of_what_is_the_same_for_all_move(dims, channels):
    """Those that samples share are moved once, whatever else has samples."""
    x, = arrays((5, channels))
    each = [np.ones((4, channels) if d == 0 else channels, np.float32) for d in dims]
    found = []
    for library in (numtorch, theirs):
        weight, mean, var = [library.from_numpy(e.copy()) for e in each]
        run = lambda w, m, v, library=library: library.nn.functional.batch_norm(library.from_numpy(x), m, v, w, None, True, 0.5)
        if library is numtorch:
            out = library.func.vmap(run, dims)(weight, mean, var)
        else:
            pick = lambda t, d, i: t if d is None else t[i]
            shared = [t.clone() for t in (mean, var)]
            for i in range(4):
                for t, kept, d in zip((mean, var), shared, dims[1:]):
                    if d is None:
                        t.copy_(kept)
                each_out = run(*[pick(t, d, i) for t, d in zip((weight, mean, var), dims)])
                out = each_out[None] if i == 0 else library.cat([out, each_out[None]])
        found.append((out.numpy(), mean.numpy(), var.numpy()))
    for ours, wanted in zip(*found):
        np.testing.assert_allclose(ours, wanted, atol=1e-5)


@pytest.mark.parametrize("name, options", [("max_pool1d", (2,)), ("max_pool2d", (3, 2, 1)), ("max_pool2d", (2, 1, 0, 2)), ("avg_pool1d", (2,)),
                                           ("avg_pool2d", (3, 2, 1)), ("avg_pool2d", (2, 2, 0, False, False, 3)), ("adaptive_avg_pool2d", (3,)), ("adaptive_max_pool2d", (2,))])
@pytest.mark.filterwarnings("error:There is a performance drop")
def test_jacobians_of_pooling_are_one_call(name, options):
    """The gradients of many vectors go back through pooling as further planes, of one sample and of each in a map."""
    x, = arrays((3, 2, 3, *(7,) * int(name[-2])))
    last = numtorch.from_numpy(x[0]).contiguous(memory_format=numtorch.channels_last) if name[-2] == "2" else numtorch.from_numpy(x[0])
    found = []
    for library in (numtorch, theirs):
        jacobian = library.func.jacrev(lambda x, library=library: getattr(library.nn.functional, name)(x, *options) ** 2)
        found.append([r.numpy() for r in (jacobian(library.from_numpy(x[0])), library.func.vmap(jacobian)(library.from_numpy(x)))])
        if library is numtorch:
            np.testing.assert_allclose(jacobian(last).numpy(), found[0][0], atol=1e-5)
    for ours, wanted in zip(*found):
        np.testing.assert_allclose(ours, wanted, atol=1e-5)


@pytest.mark.parametrize("name", ["scatter", "scatter_add"])
def test_a_number_of_each_sample_is_scattered_in_another_map(name):
    x, places, numbers = np.ones(3, np.float32), np.zeros(2, np.int64), np.arange(3, dtype=np.float32)
    found = [library.func.vmap(library.func.vmap(lambda x, i, s, library=library: getattr(library, name)(x, 0, i, s), (None, 0, None)), (0, None, 0))(
        *[library.from_numpy(each) for each in (x, places, numbers)]).numpy() for library in (numtorch, theirs)]
    np.testing.assert_array_equal(*found)
