"""Every primitive, from the samples in its record: on the meta device, in every dtype, under transforms, in graphs.

What elementwise ops compute is in `optable`; they are called here as the others are, with samples made of their operands.
"""
from __future__ import annotations

import datetime
import functools
import importlib
import io
import pkgutil
import zlib

import numpy as np
import pytest

import numtorch as torch
from numtorch import ops, sparse
from numtorch.autograd import gradcheck
from numtorch.func import batching, vmap
from numtorch.ops.core.primitive import Draw, is_ours, registry
from numtorch.ops.core.status import NoValues
from numtorch.ops.samples import calls_of, run

for _package in (ops, sparse):                           # some primitives are made when their file is first needed
    for _found in pkgutil.walk_packages(_package.__path__, _package.__name__ + "."):
        importlib.import_module(_found.name)

PRIMITIVES = {key: each for key, each in registry.items() if is_ours(each.module) and each.samples}
SAMPLES = [f"{key} {number}" for key, each in sorted(PRIMITIVES.items()) for number in range(len(each.samples))]
DTYPES = tuple(torch.dtypes.dtype.by_name.values())
DAY = datetime.date.today().toordinal()
META = torch.device("meta")


def sample(name, dtype=None, device="cpu"):
    """A primitive, and the tensors and attributes of one of its samples: of float64, or what it takes of that or the next."""
    key, number = name.split()
    primitive = PRIMITIVES[key]
    return primitive, *calls_of(primitive, dtype or taken(primitive)[0], device)[int(number)]


@functools.cache
def taken(primitive):
    """The dtypes that a primitive's planner takes, float64 first."""
    found = []
    for dtype in (torch.float64, torch.complex128, *DTYPES):
        try:
            with torch.no_grad():
                for tensors, attributes in calls_of(primitive, dtype, META):
                    run(primitive, tensors, attributes)
        except NoValues:
            pass
        except (RuntimeError, TypeError, ValueError):
            continue
        found.append(dtype)
    return found


def tensors_of(result):
    if isinstance(result, torch.Tensor):
        return [result]
    return [t for each in result for t in tensors_of(each)] if isinstance(result, (tuple, list)) else []


def outline(result):
    """Shapes, dtypes and strides of results."""
    return [(tuple(t.shape), t.dtype, t.stride()) for t in tensors_of(result)]


@pytest.mark.parametrize("name", SAMPLES)
def test_results_lie_on_meta_as_on_the_host(name):
    primitive, tensors, attributes = sample(name)
    given = sample(name, device="meta")[1:]
    wanted = outline(run(primitive, tensors, attributes))
    try:
        found = run(primitive, *given)
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
    tensors, attributes = calls_of(primitive, taken(primitive)[0])[0]
    before = [t if t is None else t._version for t in tensors]
    run(primitive, tensors, attributes)
    return [i for i, (t, version) in enumerate(zip(tensors, before)) if t is not None and t._version != version]


def widened(value, dtype):
    """The same elements in the widest dtype of their kind, where they are of a dtype or of that of its parts."""
    if not isinstance(value, torch.Tensor) or value.dtype not in (dtype, dtype.to_real()):
        return value
    return value.to((torch.bool, torch.int64, torch.float64, torch.complex128)[value.dtype.category])


@pytest.mark.parametrize("name", SAMPLES)
def test_a_dtype_that_is_planned_is_computed(name):
    """One each day: what a kernel gives is that of the widest dtype, but for rounding. Of integers none is too large for int8."""
    primitive = PRIMITIVES[name.split()[0]]
    dtypes = taken(primitive)
    dtype = dtypes[(DAY + zlib.crc32(name.encode())) % len(dtypes)]
    _, tensors, attributes = sample(name, dtype)
    found = outcome(primitive, tensors, attributes)
    if isinstance(primitive, Draw) or dtype.category == 0:
        return
    _, tensors, attributes = sample(name, dtype)
    wanted = outcome(primitive, [widened(t, dtype) for t in tensors], attributes)
    for one, other in zip(found, wanted, strict=True):
        tolerance = torch.finfo(one.dtype).eps ** 0.5 if one.dtype.category >= 2 else 0
        np.testing.assert_allclose(one.to(other.dtype).numpy(), other.numpy(), tolerance, tolerance, err_msg=f"{name} of {dtype}")


def differentiable(name):
    """A sample as a function of its operands of floating point that gives a tuple of real numbers, and these operands."""
    primitive, tensors, attributes = sample(name)
    moving = [i for i, t in enumerate(tensors) if t is not None and t.dtype.category >= 2]

    def function(*operands):
        given = [None if t is None else t.clone() for t in tensors]
        for i, operand in zip(moving, operands, strict=True):
            given[i] = operand * 1
        found = [t for t in outcome(primitive, given, attributes) if t.dtype.category >= 2]
        return tuple([torch.view_as_real(t) if t.is_complex() else t for t in found])
    return function, [tensors[i] for i in moving]


@pytest.mark.parametrize("name", [name for name in SAMPLES if PRIMITIVES[name.split()[0]].vjp is not None])
def test_gradients_tangents_and_maps_of_gradients(name):
    function, operands = differentiable(name)
    operands = [t.requires_grad_() for t in operands]
    if any(t.requires_grad for t in function(*operands)):
        assert gradcheck(function, operands, fast_mode=True, check_forward_ad=True, check_batched_grad=True)


@pytest.mark.parametrize("name", [name for name in SAMPLES if not isinstance(PRIMITIVES[name.split()[0]], Draw)])
def test_maps_over_samples(name, recwarn):
    """Of all operands that may be of any dtype, times 1 and 1.25. What has no rule is made one after another, or refused."""
    primitive, tensors, attributes = sample(name)
    has_rule = primitive.execute is None or primitive.name in batching.rules or primitive.name in batching.writes
    dtype = taken(primitive)[0]
    mapped = [i for i, t in enumerate(tensors) if t is not None and t.dtype is dtype and dtype.category >= 2]
    if not mapped:
        return

    def function(*operands):
        given = [None if t is None else t.clone() for t in tensors]
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


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", SAMPLES)
def test_graphs_are_read_back_and_travel(name):
    primitive, tensors, attributes = sample(name)
    places = [i for i, t in enumerate(tensors) if t is not None]

    def function(*operands):
        given = list(tensors)
        for i, operand in zip(places, operands, strict=True):
            given[i] = operand.clone()
        return tuple(outcome(primitive, given, attributes))
    traced = torch.jit.trace(function, tuple([tensors[i] for i in places]), check_trace=False)
    graph = torch.jit.parse(str(traced.graph))
    graph.verify()
    assert str(graph) == str(traced.graph)
    if not isinstance(primitive, Draw):
        file = io.BytesIO()
        torch.jit.save(traced, file)
        file.seek(0)
        operands = [tensors[i] for i in places]
        torch.testing.assert_close(torch.jit.load(file)(*operands), function(*operands))
