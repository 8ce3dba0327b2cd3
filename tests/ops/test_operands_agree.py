"""Primitives whose operands do not belong together are refused before a kernel is given them, whoever calls them: a file, or aten."""
import gradientrows
import pytest

import numtorch as torch
from numtorch.ops.core import primitive as primitives
from numtorch.ops.core.primitive import Primitive, forget_plans, miss, registry

# Rows of functions, and the primitives in their gradients that have one shape for each operand.
ROWS = {
    "softmax": "softmax_grad", "log_softmax": "log_softmax_grad", "logsumexp": "logsumexp_grad", "max_pool2d": "max_pool_grad",
    "avg_pool2d": "avg_pool_grad", "conv2d": "convolution_weight_grad", "conv_transpose2d": "convolution_input_grad",
    "normalize": "normalize_grad", "local_response_norm": "local_response_norm_grad", "pdist": "pdist_grad", "lstm": "lstm", "gru": "gru",
}
# Extents that may be others: those of images whose last window ends within a step, and how long points are.
FREE = {"convolution_input_grad": {"weight": (2, 3)}, "convolution_weight_grad": {"input": (2, 3)}, "pdist_grad": {"input": (1,)}}


def calls_of(key, row, monkeypatch):
    """The calls of a primitive in a row's values and gradients, on tensors without memory."""
    noted, original = [], Primitive.planned_for

    def planned_for(self, layouts, attributes):
        if self.key == key:
            noted.append((layouts, attributes))
        return original(self, layouts, attributes)
    function, shapes, _ = gradientrows.ROWS[row]
    inputs = [torch.empty(shape, dtype=torch.float64, device="meta", requires_grad=True) for shape in shapes]
    monkeypatch.setattr(Primitive, "planned_for", planned_for)
    forget_plans()
    with torch.device("meta"):
        outputs = function(*inputs)
        outputs = outputs if isinstance(outputs, tuple) else (outputs,)
        torch.autograd.grad([o for o in outputs if o.requires_grad], inputs, [torch.ones_like(o) for o in outputs if o.requires_grad],
                            allow_unused=True)
    monkeypatch.undo()
    assert noted, f"{row} does not call {key}"
    return noted


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


@pytest.mark.parametrize("row", ROWS)
def test_operands_that_do_not_belong_together(row, monkeypatch):
    primitive = registry[ROWS[row]]
    for layouts, attributes in calls_of(primitive.key, row, monkeypatch):
        for place, layout in enumerate(layouts):
            free = FREE.get(primitive.key, {}).get(primitive.parameters[place], ())
            for shape, dtype in changed(layout, free) if layout is not None else ():
                tensors = [None if each is None else torch.empty(each.shape, dtype=each.dtype, device="meta") for each in layouts]
                tensors[place] = torch.empty(shape, dtype=dtype, device="meta")
                with torch.no_grad(), pytest.raises((RuntimeError, IndexError)):
                    miss(primitive, tensors, attributes)
                    pytest.fail(f"{primitive.key} takes {list(shape)} of {dtype} for {primitive.parameters[place]}, as {layout}", False)


def test_aten_checks_what_it_is_given():
    """This read beyond the gradient."""
    with pytest.raises(RuntimeError, match=r"softmax_grad: expected grad of shape \[100, 100\], got \[1\]"):
        torch.ops.aten._softmax_backward_data(torch.ones(1), torch.ones(100, 100), 1, torch.float32)


def test_every_plan_is_of_one_device():
    """But of ops that say what goes together themselves."""
    mixing = {key for key, each in registry.items() if each.mixes_devices and type(each).__name__ != "PointwiseOp"}
    assert mixing - {"update"} == {"constant_pad_nd", "reflect_pad", "replicate_pad", "circular_pad"}, mixing
    assert primitives.Primitive.mixes_devices is False
