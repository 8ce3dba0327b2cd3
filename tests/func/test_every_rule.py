"""Every primitive under `vmap`: it is elementwise, has a batching rule, draws for each sample, or is one of few that are made for one
sample after another, which warns of it once. The recurrent layers, whose weights may be each sample's."""
import warnings

import numpy as np
import pytest

import numtorch as torch
import numtorch.nn.functional as F
from numtorch.commands.reference import others
from numtorch.func import batching, grad, jacfwd, jacrev, vmap
from numtorch.ops.core.primitive import Draw, registry
from numtorch.ops.samples import calls_of, run


def numbers(*shape, seed=0):
    return torch.from_numpy(np.random.default_rng(seed).uniform(0.2, 1.7, shape))


def clipped(x):
    """A tensor as a gradient that is scaled to a norm of 1."""
    weight = torch.nn.Parameter(torch.zeros_like(x))
    weight.grad = x
    torch.nn.utils.clip_grad_norm_([weight], 1.0)
    return weight.grad


# What is made for one sample after another.
SAMPLE_BY_SAMPLE = {"bins_of_range", "histogram", "lobpcg"}
# What no sample reaches: backward kernels that only run where nothing is recorded, and a transform records; and ops of integers that
# others make. A function of a sample whose value, gradient and Jacobians would come by them.
UNREACHED = {
    "logsumexp_grad": (lambda x: x.logsumexp(0), (3, 4)), "norm_grad": (lambda x: F.layer_norm(x, (4,)) ** 2, (3, 4)),
    "batch_norm_grad": (lambda x: F.batch_norm(x, None, None, training=True) ** 3, (3, 4)), "normalize_grad": (lambda x: F.normalize(x, dim=0), (3, 4)),
    "local_response_norm_grad": (lambda x: F.local_response_norm(x, 3), (2, 4, 3)), "pdist_grad": (lambda x: F.pdist(x), (4, 3)),
    "check_probabilities": (lambda x: F.binary_cross_entropy(x / 2, x / 3), (3, 4)), "count": (lambda x: x * torch.linspace(0, 1, 4), (3, 4)),
    "powers": (lambda x: x * torch.logspace(0, 1, 4), (3, 4)), "triangle_indices": (lambda x: x[tuple(torch.triu_indices(3, 3))], (3, 3)),
    "total_norm": (lambda x: x.cumsum(0) * torch.nn.utils.get_total_norm([torch.ones(2).double(), 2 * torch.ones(3).double()]), (3,)),
    "scale_down_": (lambda x: x * clipped(torch.ones(3).double()), (3,)),
    "linalg_substitute_": (lambda x: torch.linalg.solve_triangular(x + torch.eye(3), x, upper=False), (3, 3)),
}
# The same of functions that draw.
DRAWING = {"attention_kept": (lambda x: F.scaled_dot_product_attention(x, x, x, dropout_p=0.5), (2, 4, 3))}
# What is asked of indices that no sample has a part in, or after a refusal.
REFUSED = {
    "count_bytes": lambda x: x.to(torch.uint8).unique(), "rank_bytes": lambda x: x.to(torch.uint8).unique(return_inverse=True),
    "sparse_keys": lambda x: torch.sparse_coo_tensor([[0, 1]], x[:2], (2,)).coalesce(), "sum_segments": lambda x: torch.sparse_coo_tensor([[0, 0]], x[:2], (2,)).coalesce(),
    "sparse_pointers": lambda x: torch.diag(x).to_sparse_csr(), "sparse_rows": lambda x: torch.sparse_csr_tensor([0, 1, 2], [0, 1], x[:2]),
    "sampled_product": lambda x: torch.sparse.sampled_addmm(torch.eye(3).double().to_sparse_csr(), torch.diag(x), torch.diag(x)),
}


def test_every_primitive_has_a_rule_or_is_known_to_have_none():
    without = {op.key for op in others() if op.execute is not None and not isinstance(op, Draw)
               and op.key not in batching.rules and op.key not in batching.writes}
    known = {*SAMPLE_BY_SAMPLE, *UNREACHED, *DRAWING, *REFUSED}
    assert without == known
    assert set(batching.rules) | set(batching.writes) <= {p.name for p in registry.values()}, "a rule of no primitive"


@pytest.mark.parametrize("name", sorted(SAMPLE_BY_SAMPLE))
def test_what_has_no_rule_warns_once(name):
    """Results are compared in tests/ops/test_every_primitive.py."""
    (x, *rest), attributes = calls_of(registry[name])[0]
    batching._warned.discard(name)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        for _ in range(2):
            vmap(lambda x: run(registry[name], [x, *rest], attributes))(torch.stack([x, x * 2]))
    assert [name in str(w.message) for w in seen if "performance drop" in str(w.message)] == [True]


@pytest.mark.parametrize("name", UNREACHED)
@pytest.mark.filterwarnings("error:There is a performance drop")
def test_what_no_sample_reaches_falls_back_nowhere(name):
    function, shape = UNREACHED[name]
    x = numbers(3, *shape)
    for transformed in (function, grad(lambda x: function(x).sum()), jacrev(function), jacfwd(function)):
        torch.testing.assert_close(vmap(transformed)(x), torch.stack([transformed(sample) for sample in x]))


@pytest.mark.parametrize("randomness", ["same", "different"])
@pytest.mark.parametrize("name", DRAWING)
@pytest.mark.filterwarnings("error:There is a performance drop")
def test_what_draws_falls_back_nowhere(name, randomness):
    function, shape = DRAWING[name]
    x = numbers(1, *shape).expand(3, *shape)
    slope = grad(lambda x: function(x).square().sum())
    for transformed in (function, slope, jacrev(function), grad(lambda x: slope(x).square().sum())):
        found = vmap(transformed, randomness=randomness)(x)
        assert found.isfinite().all() and torch.equal(found[0], found[1]) == (randomness == "same")


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.filterwarnings("error:There is a performance drop")
def test_what_is_refused_says_so(name):
    with pytest.raises(RuntimeError, match=r"dynamic shape|batch or a dual number"):
        vmap(REFUSED[name])(numbers(2, 3))


# ---------------------------------------------------------------- recurrent layers
GATES = {"lstm": 4, "gru": 3, "rnn_tanh": 1, "rnn_relu": 1}


def network(kind, reverse=True, packed=False):
    """A layer, in both directions, as a function of (input, state, weights of one direction), that gives a tuple of tensors."""
    def run(x, h, w, u, b):
        states = torch.stack([h] * (1 + reverse))
        weights = [w, u, b, b * 0.5] + [w * 0.9, u * 0.8, b, b] * reverse
        given = (states, states * 0.5) if kind == "lstm" else states
        if packed:
            sequence = torch.nn.utils.rnn.pack_padded_sequence(x, [4, 2, 1])
            return getattr(torch, kind)(sequence.data, sequence.batch_sizes, given, weights, True, 1, 0.0, True, reverse)
        return getattr(torch, kind)(x, given, weights, True, 1, 0.0, True, reverse, False)
    return run


def cell(kind):
    def run(x, h, w, u, b):
        found = getattr(torch, kind + "_cell")(x[0], (h, h * 0.5) if kind == "lstm" else h, w, u, b, b * 0.5)
        return found if isinstance(found, tuple) else (found,)
    return run


def shapes_of(kind):
    return (4, 3, 2), (3, 5), (GATES[kind] * 5, 2), (GATES[kind] * 5, 5), (GATES[kind] * 5,)


LAYERS = {"network": network, "one direction": lambda kind: network(kind, False), "packed": lambda kind: network(kind, packed=True), "cell": cell}
MAPPED = {"sequences": (0, 0, None, None, None), "weights": (None, None, 0, 0, 0), "all": (1, 0, 0, 1, 0), "one weight": (0, None, None, 0, None)}


def of_each(function, dims, tensors):
    """A function in a loop over the samples."""
    each = [function(*[t if d is None else t.select(d, i) for t, d in zip(tensors, dims)]) for i in range(3)]
    return tuple([torch.stack(column) for column in zip(*each)])


@pytest.mark.parametrize("kind", GATES)
@pytest.mark.parametrize("layer", LAYERS)
@pytest.mark.filterwarnings("error:There is a performance drop")
def test_recurrent_layers_of_samples(layer, kind):
    function = LAYERS[layer](kind)
    for dims in MAPPED.values():
        tensors = []
        for place, (shape, d) in enumerate(zip(shapes_of(kind), dims)):
            shape = list(shape)
            if d is not None:
                shape.insert(d, 3)
            tensors.append(numbers(*shape, seed=place) - 0.9)
        torch.testing.assert_close(vmap(function, dims)(*tensors), of_each(function, dims, tensors))
        slopes = grad(lambda *x: sum([(r ** 2).sum() for r in function(*x)]), tuple(range(5)))
        torch.testing.assert_close(vmap(slopes, dims)(*tensors), of_each(slopes, dims, tensors))


@pytest.mark.parametrize("kind", GATES)
@pytest.mark.filterwarnings("error:There is a performance drop")
def test_recurrent_layers_in_maps_of_maps(kind):
    """The weights are of the outer samples, the sequences of the inner ones, and so are both of both."""
    function, shapes = network(kind), shapes_of(kind)
    x, h, w, u, b = [numbers(2, 3, *shape, seed=place) - 0.9 for place, shape in enumerate(shapes)]
    for outer, inner, given in (((None, None, 0, 0, 0), (0, 0, None, None, None), (x[0], h[0], w[:, 0], u[:, 0], b[:, 0])),
                                ((0,) * 5, (0,) * 5, (x, h, w, u, b))):
        found = vmap(vmap(function, inner), outer)(*given)
        for i in range(2):
            for j in range(3):
                one = [t if o is None else t[i] for t, o in zip(given, outer)]
                one = [t if n is None else t[j] for t, n in zip(one, inner)]
                for f, wanted in zip(found, function(*one)):
                    torch.testing.assert_close(f[i, j], wanted)


TABLES = {"padding": {"padding_idx": 1}, "by frequency": {"scale_grad_by_freq": True}, "both": {"padding_idx": 0, "scale_grad_by_freq": True}, "plain": {}}


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("dims", [(0, 0), (0, None), (None, 0)])
@pytest.mark.filterwarnings("error:There is a performance drop")
def test_tables_of_samples(name, dims):
    """The row of the padding index has no gradient in any sample, and a frequency is that in one sample."""
    indices, weights = torch.tensor([[0, 1, 1, 2], [2, 2, 2, 0], [1, 0, 0, 0]]), numbers(3, 3, 5)
    given = weights if dims[0] == 0 else weights[0], indices if dims[1] == 0 else indices[0]

    def loss(weight, places):
        return (F.embedding(places, weight, **TABLES[name]) ** 3).sum()
    for function in (lambda w, i: F.embedding(i, w, **TABLES[name]), grad(loss), lambda w, i: torch.func.jvp(lambda w: loss(w, i), (w,), (w * 2,))[1]):
        each = torch.stack([function(*[t if d is None else t[j] for t, d in zip(given, dims)]) for j in range(3)])
        torch.testing.assert_close(vmap(function, dims)(*given), each)
    if dims == (0, None):                                # a tangent has the row of the padding index, beside of a gradient
        tangent = torch.func.jvp(lambda w: vmap(loss, dims)(w, given[1]), (weights,), (weights * 2,))[1]
        torch.testing.assert_close(tangent, torch.stack([torch.func.jvp(lambda w: loss(w, given[1]), (w,), (w * 2,))[1] for w in weights]))
