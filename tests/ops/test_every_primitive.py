"""Every primitive that is not elementwise, from the samples in its record: on the meta device, in every dtype, under transforms, in
graphs, and with operands that do not belong together. Elementwise ops have a row each in `optable`."""
from __future__ import annotations

import functools
import io

import pytest
from daily import in_turn

import numtorch as torch
from numtorch.autograd import gradcheck
from numtorch.commands.reference import orders, others
from numtorch.func import batching, vmap
from numtorch.ops.core.primitive import Draw
from numtorch.ops.core.status import NoValues
from numtorch.ops.samples import calls_of, dtypes_of, run

PRIMITIVES = {op.key: op for op in others() if op.samples}
SAMPLES = [f"{key} {number}" for key, each in sorted(PRIMITIVES.items()) for number in range(len(each.samples))]


def sample(name, dtype=None, device="cpu"):
    """A primitive, and the tensors and attributes of one of its samples: of float64, or what it takes of that or the next."""
    key, number = name.split()
    primitive = PRIMITIVES[key]
    return primitive, *calls_of(primitive, dtype or dtypes_of(primitive)[0], device)[int(number)]


def tensors_of(result):
    if isinstance(result, torch.Tensor):
        return [result]
    return [t for each in result for t in tensors_of(each)] if isinstance(result, (tuple, list)) else []


def outline(result):
    """Shapes, dtypes and strides of results."""
    return [(tuple(t.shape), t.dtype, is_dense(t) and t.stride()) for t in tensors_of(result)]


def test_every_primitive_has_a_sample():
    """But names of nodes alone, which nothing calls."""
    assert {op.name for op in others()} - set(PRIMITIVES) == {"steps", "linalg_cofactors_grad"}
    assert all(any(calls_of(each)) and dtypes_of(each) for each in PRIMITIVES.values())


@pytest.mark.parametrize("name", SAMPLES)
def test_results_lie_on_meta_as_on_the_host(name):
    wanted = outline(run(*sample(name)))
    try:
        found = run(*sample(name, device="meta"))
    except NoValues:
        return
    assert outline(found) == wanted and all(t.is_meta for t in tensors_of(found))


def outcome(primitive, tensors, attributes):
    """What a call gives, then the operands that it writes to."""
    results = tensors_of(run(primitive, tensors, attributes))
    return [*results, *[tensors[i] for i in written(primitive) if not any(tensors[i] is r for r in results)]]


@functools.cache
def written(primitive):
    """The places of the operands that a primitive writes to."""
    tensors, attributes = calls_of(primitive, dtypes_of(primitive)[0])[0]
    before = [None if t is None or not is_dense(t) else t.tolist() for t in tensors]
    run(primitive, tensors, attributes)
    return [i for i, (t, old) in enumerate(zip(tensors, before)) if old is not None and t.tolist() != old]


WIDEST = torch.bool, torch.int64, torch.float64, torch.complex128        # by category


@pytest.mark.parametrize("name", SAMPLES)
def test_a_dtype_that_is_planned_is_computed(name):
    """One each day, or all with NUMTORCH_TEST_ALL=1: what a kernel gives is that of the widest dtype, but for rounding."""
    primitive = PRIMITIVES[name.split()[0]]
    dtypes = dtypes_of(primitive)
    for dtype in in_turn(dtypes, name):
        found, narrow = outcome(*sample(name, dtype)), sample(name, dtype)[1]
        if draws(primitive) or dtype.category == 0 or WIDEST[dtype.category] not in dtypes:
            continue
        _, tensors, attributes = sample(name, WIDEST[dtype.category])
        wide = [t if t is None or not is_dense(t) else n.to(t.dtype) for n, t in zip(narrow, tensors)]
        for one, other in zip(found, outcome(primitive, wide, attributes), strict=True):
            tolerance = torch.finfo(one.dtype).eps ** 0.5 if one.dtype.category >= 2 else 0
            torch.testing.assert_close(one.to(other.dtype), other.to(one.dtype).to(other.dtype), rtol=tolerance, atol=tolerance,
                                       msg=f"{name} of {dtype}: {one}, not {other}")


def is_dense(tensor):
    return tensor.layout.kind == "strided"


def draws(primitive):
    return isinstance(primitive, Draw) or primitive.name in ("dropout", "alpha_dropout")


# Operands whose gradients are not there, as in PyTorch.
WITHOUT_GRADIENT = {"batch_norm 1": (3, 4), "cross_entropy 0": (2,), "linalg_ldl_solve 0": (0,), "recurrence 1": (0, 1, 2)}
# What a derivative is that of: matrices of which one triangle is read, and logarithms of probabilities.
PREPARED = {**dict.fromkeys(("linalg_cholesky", "linalg_eigh", "lobpcg"), lambda x: (x + x.mT) / 2), "ctc_loss": lambda x: x.log_softmax(-1)}
# Derivatives of a distribution, which those of one stream of numbers are not, and of what others record under the name.
OF_OTHERS = {"_standard_gamma", "_sample_dirichlet", "scatter_reduce"}


def differentiable(name):
    """A sample as a function of its operands of floating point that gives a tuple of real numbers, and these operands."""
    primitive, tensors, attributes = sample(name)
    moving = [i for i, t in enumerate(tensors) if t is not None and is_dense(t) and t.dtype is dtypes_of(primitive)[0]
              and t.dtype.category >= 2 and i not in WITHOUT_GRADIENT.get(name, ())]

    def function(*operands):
        torch.manual_seed(0)
        given = [t.clone() if i in written(primitive) else t for i, t in enumerate(tensors)]
        for i, operand in zip(moving, operands, strict=True):
            given[i] = PREPARED.get(primitive.name, torch.clone)(operand)
        found = [t for t in outcome(primitive, given, attributes) if t.dtype.category >= 2]
        return tuple([torch.view_as_real(t) if t.is_complex() else t for t in found])
    return function, [tensors[i] for i in moving]


@pytest.mark.parametrize("name", [name for name in SAMPLES if orders(PRIMITIVES[name.split()[0]]) != "none"
                                  and name.split()[0] not in OF_OTHERS])
def test_gradients_tangents_and_maps_of_gradients(name):
    function, operands = differentiable(name)
    operands = [t.requires_grad_() for t in operands]
    if operands:
        assert any(t.requires_grad for t in function(*operands))
        assert gradcheck(function, operands, fast_mode=True, check_forward_ad=True, check_batched_grad=True)


@pytest.mark.parametrize("name", [name for name in SAMPLES if not draws(PRIMITIVES[name.split()[0]])])
def test_maps_over_samples(name, recwarn):
    """Of all operands that may be of any dtype, times 1 and 1.25. What has no rule is made one after another, or refused."""
    primitive, tensors, attributes = sample(name)
    has_rule = primitive.execute is None or primitive.name in batching.rules or primitive.name in batching.writes
    dtype = dtypes_of(primitive)[0]
    mapped = [i for i, t in enumerate(tensors) if t is not None and is_dense(t) and t.dtype is dtype and dtype.category >= 2]
    if not mapped:
        return

    def function(*operands):
        given = [t.clone() if i in written(primitive) else t for i, t in enumerate(tensors)]
        for i, operand in zip(mapped, operands, strict=True):
            given[i] = operand.clone()
        return tuple(outcome(primitive, given, attributes))
    batches = [torch.stack([tensors[i], tensors[i] * 1.25]) for i in mapped]
    try:
        found = vmap(function)(*batches)
    except RuntimeError as refusal:
        assert not has_rule or "vmap over" in str(refusal)
        return
    assert not (has_rule and any("performance drop" in str(w.message) for w in recwarn))
    for one, wanted in zip(found, zip(*[function(*[b[j] for b in batches]) for j in range(2)], strict=True), strict=True):
        torch.testing.assert_close(one, torch.stack(wanted))


# Only where nothing is recorded are they called, with what a plan knows: graphs have the derivatives that call them.
NOT_IN_GRAPHS = {"norm_grad", "batch_norm_grad"}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", [name for name in SAMPLES if name.split()[0] not in NOT_IN_GRAPHS])
def test_graphs_are_read_back_and_travel(name):
    primitive, tensors, attributes = sample(name)
    places = [i for i, t in enumerate(tensors) if t is not None]
    if not all(is_dense(tensors[i]) for i in places):
        return                                           # graphs have no sparse tensors

    def function(*operands):
        given = list(tensors)
        for i, operand in zip(places, operands, strict=True):
            given[i] = operand.clone()
        return tuple(outcome(primitive, given, attributes))
    traced = torch.jit.trace(function, tuple([tensors[i] for i in places]), check_trace=False)
    graph = torch.jit.parse(str(traced.graph))
    graph.verify()
    assert str(graph) == str(traced.graph)
    if not draws(primitive):
        file = io.BytesIO()
        torch.jit.save(traced, file)
        file.seek(0)
        operands = [tensors[i] for i in places]
        torch.testing.assert_close(torch.jit.load(file)(*operands), function(*operands))
