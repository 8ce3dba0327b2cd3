"""Primitives whose operands do not belong together are refused before a kernel is given them, whoever calls them: a file, or aten."""
import pytest

import numtorch as torch
from numtorch.commands.reference import others
from numtorch.ops.core import primitive as primitives
from numtorch.ops.core.primitive import miss, registry
from numtorch.ops.samples import calls_of

# Primitives that have one shape and dtype for each operand, given the others.
FIXED = """add_into convolution_input_grad convolution_weight_grad avg_pool_grad max_pool_grad pad_grad cross_entropy dot equal gru lstm
    rnn_relu rnn_tanh linalg_cross local_response_norm_grad log_softmax_grad softmax_grad logsumexp_grad normalize_grad masked_select
    pdist_grad recurrence sampled_product count""".split()
# Extents that may be others: those of images whose last window ends within a step, how long points are, and how many.
PRIMITIVES = {op.key: op for op in others()}
FREE = {"convolution_weight_grad": {"input": (2,)}, "pdist_grad": {"input": (1,)}, "sampled_product": {"a": (0,), "b": (0,)}}


def changed(layout, free):
    """Shapes and dtypes like a layout's, and none of them the same."""
    shape = tuple(layout.shape)
    yield (2, *shape), layout.dtype
    if shape:
        yield shape[1:], layout.dtype
    for dim, extent in enumerate(shape):
        if dim not in free:
            yield (*shape[:dim], extent + 1, *shape[dim + 1:]), layout.dtype
    for dtype in (torch.float32, torch.int64, torch.complex128):
        if dtype is not layout.dtype:
            yield shape, dtype


@pytest.mark.parametrize("key", FIXED)
def test_operands_that_do_not_belong_together(key):
    primitive = PRIMITIVES[key]
    for given, attributes in calls_of(primitive, device="meta"):
        for place, tensor in enumerate(given):
            free = FREE.get(key, {}).get(primitive.parameters[place], ())
            for shape, dtype in changed(tensor.layout, free) if tensor is not None else ():
                tensors = [*given[:place], torch.empty(shape, dtype=dtype, device="meta"), *given[place + 1:]]
                with torch.no_grad(), pytest.raises((RuntimeError, IndexError, ValueError)):
                    miss(primitive, tensors, attributes)
                    pytest.fail(f"{key} takes {list(shape)} of {dtype} for {primitive.parameters[place]}, as {tensor.layout}", False)


def test_aten_checks_what_it_is_given():
    """This read beyond the gradient."""
    with pytest.raises(RuntimeError, match=r"softmax_grad: expected grad of shape \[100, 100\], got \[1\]"):
        torch.ops.aten._softmax_backward_data(torch.ones(1), torch.ones(100, 100), 1, torch.float32)


def test_a_region_lies_in_its_base():
    """This wrote to memory of others."""
    (grad,), (base, layout, offset) = calls_of(PRIMITIVES["place"])[0]
    for outside in (-1, offset + base.numel):
        with pytest.raises(RuntimeError, match="place: expected a region of a base of 6 elements"):
            miss(PRIMITIVES["place"], (grad,), (base, layout, outside))


def test_every_plan_is_of_one_device():
    """But of ops that say what goes together themselves."""
    mixing = {key for key, each in registry.items() if each.mixes_devices and type(each).__name__ != "PointwiseOp"}
    assert mixing - {"update"} == {"constant_pad_nd", "reflect_pad", "replicate_pad", "circular_pad"}, mixing
    assert primitives.Primitive.mixes_devices is False
