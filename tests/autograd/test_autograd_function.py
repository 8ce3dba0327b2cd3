"""Custom `Function`s: what the context offers, what backward may return, double backward, writes in place."""
from __future__ import annotations

import importlib
import re

import numpy as np
import pytest
from tape import close, leaf

import numtorch


def function(torch, forward, backward, **more):
    """A Function subclass of two plain functions."""
    parts = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    return type("Custom", (torch.autograd.Function,), {**parts, **{k: staticmethod(v) for k, v in more.items()}}).apply


def twice(torch, backward):
    return function(torch, lambda ctx, x, *rest: x * 2, backward)


# ---------------------------------------------------------------- what the context keeps
def test_saved_inputs(torch):
    def forward(ctx, x, y):
        ctx.save_for_backward(x, None, y)
        return x * y

    def backward(ctx, grad):
        x, nothing, y = ctx.saved_tensors
        assert nothing is None and x.requires_grad
        return grad * y, grad * x

    x, y = leaf(torch, 2, 3), leaf(torch, 5, 7)
    function(torch, forward, backward)(x, y).sum().backward()
    close(x.grad, (5, 7))
    close(y.grad, (2, 3))


def test_saved_outputs_and_intermediate_results(torch):
    def forward(ctx, x):
        out, half = x.exp(), x * 0.5
        ctx.save_for_backward(out, half)
        return out

    def backward(ctx, grad):
        out, half = ctx.saved_tensors
        assert out.requires_grad == torch.is_grad_enabled() or out.requires_grad
        return grad * out + half * 0

    x = leaf(torch, 2, 3)
    out = function(torch, forward, backward)(x)
    first, = torch.autograd.grad(out.sum(), x, create_graph=True)
    close(first, np.exp([2, 3]))
    close(torch.autograd.grad(first.sum(), x)[0], np.exp([2, 3]))      # through the saved output, which leads back here


def test_attributes_and_arguments_that_are_no_tensors(torch):
    def forward(ctx, x, factor, options, *, unused=None):
        ctx.factor, ctx.options = factor, options
        return x * factor

    def backward(ctx, grad):
        assert ctx.options == {"a": 1} and ctx.needs_input_grad == (True, False, False)
        return grad * ctx.factor, None, None

    x = leaf(torch, 2, 3)
    function(torch, forward, backward)(x, 5, {"a": 1}).sum().backward()
    close(x.grad, (5, 5))


def test_needs_input_grad(torch):
    seen = []

    def forward(ctx, x, y, z):
        seen.append(ctx.needs_input_grad)
        return x * y + z

    def backward(ctx, grad):
        seen.append(ctx.needs_input_grad)
        return None, grad, grad                          # a gradient for z, which needs none, is ignored

    x, y = torch.ones(2), leaf(torch, 2, 3)
    function(torch, forward, backward)(x, y, torch.ones(2)).sum().backward()
    assert seen == [(False, True, False)] * 2
    close(y.grad, (1, 1))
    assert x.grad is None


def test_no_gradient_for_an_input_that_has_one_from_elsewhere(torch):
    x = leaf(torch, 2, 3)
    y = x * 2
    function(torch, lambda ctx, a, b: a + b, lambda ctx, grad: (None, grad))(y, y * 3).sum().backward()
    close(x.grad, (6, 6))


def test_forward_runs_unrecorded_and_backward_as_asked(torch):
    seen = []

    def forward(ctx, x):
        seen.append((torch.is_grad_enabled(), (x * 2).requires_grad))
        return x * 2

    def backward(ctx, grad):
        seen.append(torch.is_grad_enabled())
        return grad * 2

    x = leaf(torch, 2, 3)
    apply = function(torch, forward, backward)
    apply(x).sum().backward()
    torch.autograd.grad(apply(x).sum(), x, create_graph=True)
    assert seen == [(False, False), False, (False, False), True]


@pytest.mark.parametrize("materialize", [True, False])
def test_several_outputs(torch, materialize):
    seen = []

    def forward(ctx, x, y):
        ctx.set_materialize_grads(materialize)
        return x * 2, y * 3, 7, x + y

    def backward(ctx, by_first, by_second, by_number, by_sum):
        seen.append([None if g is None else g.tolist() for g in (by_first, by_second, by_number, by_sum)])
        zero = torch.zeros(2)
        a, b, c = (zero if g is None else g for g in (by_first, by_second, by_sum))
        return a * 2 + c, b * 3 + c

    x, y = leaf(torch, 2, 3), leaf(torch, 5, 7)
    first, second, number, total = function(torch, forward, backward)(x, y)
    assert number == 7 and first.requires_grad and second.output_nr == 1 and total.output_nr == 3
    assert first.grad_fn is second.grad_fn
    (first * first).sum().backward(retain_graph=True)
    missing = [0, 0] if materialize else None
    assert seen == [[[8, 12], missing, None, missing]]
    close(x.grad, (16, 24))
    x.grad = y.grad = None
    (total.sum() + second[1] + total[0]).backward()
    close(x.grad, (2, 1))
    close(y.grad, (2, 4))


def test_hooks_and_retained_gradients_of_several_outputs(torch):
    x = leaf(torch, 2, 3)
    first, second = function(torch, lambda ctx, x: (x * 2, x * 3), lambda ctx, a, b: a * 2 + b * 3)(x)
    first.retain_grad()
    second.register_hook(lambda g: g * 10)
    (first * second).sum().backward()
    close(first.grad, (6, 9))
    close(x.grad, (2 * 6 + 30 * 4, 2 * 9 + 30 * 6))


def test_node_hooks_of_several_outputs(torch):
    x = leaf(torch, 2, 3)
    first, second = function(torch, lambda ctx, x: (x * 2, x * 3), lambda ctx, a, b: a * 2 + b * 3)(x)
    seen = []
    first.grad_fn.register_prehook(lambda grads: (grads[0] * 10, grads[1]))
    first.grad_fn.register_hook(lambda inputs, outputs: seen.append([g.tolist() for g in (*inputs, *outputs)]))
    (first.sum() + second.sum()).backward()
    assert seen == [[[23, 23], [10, 10], [1, 1]]]


def test_outputs_without_gradient(torch):
    def forward(ctx, x):
        positive = x > 0
        rounded = x.round()
        ctx.mark_non_differentiable(positive, rounded)
        return x * 2, positive, rounded

    def backward(ctx, grad, *rest):
        assert len(rest) == 2
        return grad * 2

    x = leaf(torch, 2.4, -3.2)
    out, positive, rounded = function(torch, forward, backward)(x)
    assert out.requires_grad and not positive.requires_grad and not rounded.requires_grad
    (out * rounded).sum().backward()
    close(x.grad, (4, -6))


def test_nothing_is_recorded_without_need(torch):
    apply = twice(torch, lambda ctx, grad: grad * 2)
    assert not apply(torch.ones(2)).requires_grad
    with torch.no_grad():
        assert not apply(leaf(torch, 2, 3)).requires_grad


def test_name(torch):
    class Squared(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * x

    assert Squared.apply(leaf(torch, 2, 3)).grad_fn.name() == "SquaredBackward"


# ---------------------------------------------------------------- other forms
def test_setup_context(torch):
    def forward(x, scale):
        return x.exp() * scale, x + 1

    def setup_context(ctx, inputs, output):
        x, ctx.scale = inputs
        ctx.save_for_backward(x, output[0])

    def backward(ctx, by_out, by_sum):
        x, out = ctx.saved_tensors
        return by_out * out + by_sum, None

    x = leaf(torch, 2, 3)
    out, total = function(torch, forward, backward, setup_context=setup_context)(x, 4.0)
    first, = torch.autograd.grad(out.sum() + total.sum(), x, create_graph=True)
    close(first, 4 * np.exp([2, 3]) + 1)
    close(torch.autograd.grad(first.sum(), x)[0], 4 * np.exp([2, 3]))


@pytest.mark.filterwarnings("ignore:.*should not be instantiated:DeprecationWarning")        # PyTorch's
def test_classes_are_called_through_apply(torch):
    with pytest.raises(RuntimeError):
        type("Old", (torch.autograd.Function,), {})()(torch.ones(2))
    Empty = type("Empty", (torch.autograd.Function,), {})
    with pytest.raises(NotImplementedError, match="forward"):
        Empty.apply(torch.ones(2))
    Half = type("Half", (torch.autograd.Function,), {"forward": staticmethod(lambda ctx, x: x * 2)})
    with pytest.raises(NotImplementedError, match="backward"):
        Half.apply(leaf(torch, 2, 3)).sum().backward()


def test_functions_use_functions(torch):
    inner = twice(torch, lambda ctx, grad: grad * 2)

    def backward(ctx, grad):
        return inner(grad) * 1.5                         # differentiable in turn

    x, start = leaf(torch, 2, 3), leaf(torch, 1, 1)
    out = function(torch, lambda ctx, x: inner(x) * 1.5, backward)(x)
    first, = torch.autograd.grad(out, x, start, create_graph=True)
    close(first, (3, 3))
    close(torch.autograd.grad(first.sum(), start)[0], (3, 3))


def test_backward_inside_backward(torch):
    def backward(ctx, grad):
        with torch.enable_grad():
            inner = torch.ones(2, requires_grad=True)
            (inner * inner).sum().backward()
        return grad * inner.grad

    x = leaf(torch, 2, 3)
    twice(torch, backward)(x * 3).sum().backward()
    close(x.grad, (6, 6))


# ---------------------------------------------------------------- what backward returns
RETURNED = [
    (lambda torch: (lambda ctx, grad: (grad * 2, None)), (2, 2)),
    (lambda torch: (lambda ctx, grad: (grad * 2, None, None, None)), (2, 2)),      # surplus Nones are fine
    (lambda torch: (lambda ctx, grad: (None, None)), None),
    (lambda torch: (lambda ctx, grad: (torch.ones(3, 2), None)), (3, 3)),          # broadcasting is undone
    (lambda torch: (lambda ctx, grad: (grad.double() * 2, None)), (2, 2)),         # and so is a change of dtype
    (lambda torch: (lambda ctx, grad: (grad.expand(2), None)), (1, 1)),
    (lambda torch: (lambda ctx, grad: (grad, None)), (1, 1)),
]


@pytest.mark.parametrize("backward, expected", RETURNED)
def test_returned_gradients(torch, backward, expected):
    x = leaf(torch, 2, 3)
    twice(torch, backward(torch))(x * 1, "text").sum().backward()
    if expected is None:
        assert x.grad is None or x.grad.tolist() == [0, 0]
    else:
        close(x.grad, expected)
        assert x.grad.dtype is torch.float32


def test_a_real_input_gets_a_real_gradient():
    x = leaf(numtorch, 2, 3)
    twice(numtorch, lambda ctx, grad: grad * (2 + 5j))(x * 1).sum().backward()
    close(x.grad, (2, 2))


def test_gradients_of_the_same_memory(torch):
    x, y = leaf(torch, 2, 3), leaf(torch, 5, 7)
    function(torch, lambda ctx, x, y: x + y, lambda ctx, grad: (grad, grad))(x, y).sum().backward()
    x.grad.add_(1)
    close(y.grad, (1, 1))


def test_a_gradient_kept_elsewhere_is_not_changed():
    kept = []

    def backward(ctx, grad):
        kept.append(grad * 2)
        return kept[-1]

    x = leaf(numtorch, 2, 3)
    apply = twice(numtorch, backward)
    (apply(x).sum() + (x * 3).sum()).backward()
    (x * 5).sum().backward()
    close(kept[0], (2, 2))
    close(x.grad, (10, 10))


@pytest.mark.parametrize("error, backward, words", [
    (RuntimeError, lambda ctx, grad: grad, "returned an incorrect number of gradients (expected 2, got 1)"),
    (RuntimeError, lambda ctx, grad: (grad, None, grad), "returned an incorrect number of gradients (expected 2, got 3)"),
    (RuntimeError, lambda ctx, grad: (grad.sum().expand(3), None), "returned an invalid gradient at index 0 - got [3] but expected "
                                                                   "shape compatible with [2]"),
    (RuntimeError, lambda ctx, grad: (grad.sum(), None), "returned an invalid gradient at index 0 - got [] but expected shape"),
    ((TypeError, RuntimeError), lambda ctx, grad: (1.0, None), "xpected"),
])
def test_wrong_gradients(torch, error, backward, words):
    with pytest.raises(error, match=re.escape(words)):
        twice(torch, backward)(leaf(torch, 2, 3) * 1, 5).sum().backward()


def test_other_errors(torch):
    def save_a_number(ctx, x):
        ctx.save_for_backward(3)
        return x * 2

    with pytest.raises(TypeError, match="save_for_backward can only save variables, but argument"):
        function(torch, save_a_number, None)(leaf(torch, 2, 3))

    def saves(ctx, x):
        ctx.save_for_backward(x)
        return x * 2

    def reads(ctx, grad):
        x, = ctx.saved_tensors
        return grad * x

    apply = function(torch, saves, reads)
    out = apply(leaf(torch, 2, 3)).sum()
    out.backward()
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
        out.backward()
    y = leaf(torch, 2, 3) * 1
    out = apply(y)
    y.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        out.sum().backward()


def test_exceptions_pass_through(torch):
    with pytest.raises(ZeroDivisionError):
        twice(torch, lambda ctx, grad: 1 / 0)(leaf(torch, 2, 3)).sum().backward()


# ---------------------------------------------------------------- second derivatives
def cube(torch, once=False):
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x * x

    def backward(ctx, grad):
        x, = ctx.saved_tensors
        return grad * 3 * x * x

    if once:
        backward = importlib.import_module(f"{torch.__name__}.autograd.function").once_differentiable(backward)
    return function(torch, forward, backward)


def test_double_backward(torch):
    x = leaf(torch, 2, 3)
    y = cube(torch)(x).sum()
    for expected in ((12, 27), (12, 18), (6, 6)):
        first, = torch.autograd.grad(y, x, create_graph=True)
        close(first, expected)
        y = first.sum()


def test_gradcheck():
    x = leaf(numtorch, 2, 3, dtype=numtorch.float64)
    assert numtorch.autograd.gradcheck(cube(numtorch), x) and numtorch.autograd.gradgradcheck(cube(numtorch), x)


def test_once_differentiable(torch):
    x = leaf(torch, 2, 3)
    apply = cube(torch, once=True)
    apply(x).sum().backward()
    close(x.grad, (12, 27))
    first, = torch.autograd.grad((apply(x) * x).sum(), x, create_graph=True)
    with pytest.raises(RuntimeError, match="trying to differentiate twice a function that was marked with @once_differentiable"):
        first.sum().backward()


# ---------------------------------------------------------------- inputs returned and written
def test_an_input_returned_as_it_is(torch):
    apply = function(torch, lambda ctx, x: x, lambda ctx, grad: grad * 5)
    x = leaf(torch, 2, 3)
    y = apply(x)
    assert y is not x and x.is_leaf and y.grad_fn is not None and y.data_ptr() == x.data_ptr()
    y.sum().backward()
    close(x.grad, (5, 5))
    plain = torch.ones(2)
    assert not apply(plain).requires_grad


def test_a_returned_input_is_not_written(torch):
    x = leaf(torch, 2, 3) * 1
    y = function(torch, lambda ctx, x: x, lambda ctx, grad: grad * 5)(x)
    with pytest.raises(RuntimeError, match="This view was created inside a custom Function"):
        y.add_(1)
    z = function(torch, lambda ctx, x: x.view(2, 1), lambda ctx, grad: grad.view(2) * 5)(x)
    with pytest.raises(RuntimeError, match="This view was created inside a custom Function"):
        z.mul_(2)
    z.sum().backward()


def test_writing_what_a_function_returned_a_view_of(torch):
    x = leaf(torch, 2, 3) * 1
    y = function(torch, lambda ctx, x: x, lambda ctx, grad: grad * 5)(x)
    x.mul_(2)
    with pytest.raises(RuntimeError, match="custom Function"):
        y.sum().backward()


def doubled_in_place(torch):
    def forward(ctx, x):
        x.mul_(2)
        ctx.mark_dirty(x)
        return x

    return function(torch, forward, lambda ctx, grad: grad * 2)


def test_mark_dirty(torch):
    x = leaf(torch, 2, 3)
    y = x * 1
    before = y._version
    z = doubled_in_place(torch)(y)
    assert z is y and y._version > before and "Custom" in y.grad_fn.name()
    close(y.detach(), (4, 6))
    (y * y).sum().backward()
    close(x.grad, (16, 24))


def test_mark_dirty_makes_saved_values_stale(torch):
    x = leaf(torch, 2, 3)
    y = x * 1
    z = y * y
    doubled_in_place(torch)(y)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.sum().backward()


def test_mark_dirty_of_a_leaf(torch):
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        doubled_in_place(torch)(leaf(torch, 2, 3))


def test_mark_dirty_of_a_plain_tensor(torch):
    x = torch.tensor([2.0, 3.0])
    assert doubled_in_place(torch)(x) is x and not x.requires_grad
    close(x, (4, 6))


def test_mark_dirty_and_views(torch):
    x = leaf(torch, 2, 3)
    y = x * 1
    view = y[:1]
    doubled_in_place(torch)(y)
    close(torch.autograd.grad(view.sum(), x)[0], (2, 0))
    y = x * 1
    view, other = y[:1], y.view(2, 1)
    doubled_in_place(torch)(view)
    close(torch.autograd.grad((y * 1).sum(), x, retain_graph=True)[0], (2, 1))
    close(torch.autograd.grad(other.sum(), x)[0], (2, 1))


def test_mark_dirty_of_a_later_argument():
    """PyTorch takes the first argument to be the written one."""
    def forward(ctx, w, x):
        ctx.save_for_backward(w)
        x.mul_(2)
        ctx.mark_dirty(x)
        return x

    def backward(ctx, grad):
        return grad * 0 + 7, grad * 2

    x, w = leaf(numtorch, 2, 3), leaf(numtorch, 5)
    for part in (slice(None), slice(1, None)):
        y = x * 1
        function(numtorch, forward, backward)(w.expand(2) if part == slice(None) else w.expand(1), y[part] if part.start else y)
        by_x, by_w = numtorch.autograd.grad(y.sum(), [x, w])
        close(by_x, (2, 2) if part == slice(None) else (1, 2))
        close(by_w, 14 if part == slice(None) else 7)


def test_mark_dirty_must_be_returned(torch):
    def forward(ctx, x):
        x.mul_(2)
        ctx.mark_dirty(x)
        return x * 1

    with pytest.raises(RuntimeError, match="Some elements marked as dirty during the forward method were not returned as output"):
        function(torch, forward, lambda ctx, grad: grad)(leaf(torch, 2, 3) * 1)


def test_mark_dirty_of_a_view_with_several_outputs(torch):
    def forward(ctx, x):
        x.mul_(2)
        ctx.mark_dirty(x)
        return x, x * 1

    with pytest.raises(RuntimeError, match="your Function cannot return more than one Tensor"):
        function(torch, forward, lambda ctx, a, b: a)((leaf(torch, 2, 3) * 1)[:1])


# ---------------------------------------------------------------- defaults and names of arguments
@pytest.mark.parametrize("kind", [staticmethod, classmethod])
def test_setup_context_sees_defaults_of_forward(torch, kind):
    first = () if kind is staticmethod else ("cls",)
    parts = {}
    exec("\n".join([f"def forward({', '.join([*first, 'x', 'n=3'])}): return x ** n",
                    f"def setup_context({', '.join([*first, 'ctx', 'inputs', 'output'])}): ctx.x, ctx.n = inputs",
                    f"def backward({', '.join([*first, 'ctx', 'grad'])}): return grad * ctx.n * ctx.x ** (ctx.n - 1), None"]), parts)
    power = type("Power", (torch.autograd.Function,), {name: kind(parts[name]) for name in ("forward", "setup_context", "backward")})
    for arguments, named, wanted in (((), {}, 12), ((2,), {}, 4)):
        x = leaf(torch, 2)
        power.apply(x, *arguments, **named).backward()
        assert x.grad.item() == wanted


def test_backward_and_vjp_are_one_method(torch):
    both = function(torch, lambda ctx, x: x * 2, lambda ctx, grad: grad, vjp=lambda ctx, grad: grad)
    with pytest.raises(RuntimeError, match="Implementing both 'backward' and 'vjp'"):
        both(leaf(torch, 1)).backward()
