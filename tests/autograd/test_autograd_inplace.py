"""In-place operations under the tape: the gradients of what was written, and the writes that are refused. Views are in
test_autograd_written_views.py."""
from __future__ import annotations

import re

import numpy as np
import pytest
from tape import close, leaf

import numtorch

# ---------------------------------------------------------------- in place on a result
# (what is done to y = x * 1 for x = (2, -3) in place, the values of y then, the gradient of (y * weights).sum() by x)
WEIGHTS = (1.0, 10.0)
WRITES = {
    "add_": (lambda torch, y: y.add_(1), (3, -2), (1, 10)),
    "add_ alpha": (lambda torch, y: y.add_(torch.ones(2, dtype=y.dtype), alpha=3), (5, 0), (1, 10)),
    "sub_": (lambda torch, y: y.sub_(1), (1, -4), (1, 10)),
    "mul_": (lambda torch, y: y.mul_(3), (6, -9), (3, 30)),
    "mul_ tensor": (lambda torch, y: y.mul_(torch.tensor([3.0, 4.0], dtype=y.dtype)), (6, -12), (3, 40)),
    "div_": (lambda torch, y: y.div_(2), (1, -1.5), (0.5, 5)),
    "neg_": (lambda torch, y: y.neg_(), (-2, 3), (-1, -10)),
    "pow_": (lambda torch, y: y.pow_(2), (4, 9), (4, -60)),
    "relu_": (lambda torch, y: y.relu_(), (2, 0), (1, 0)),
    "exp_": (lambda torch, y: y.exp_(), (np.exp(2), np.exp(-3)), (np.exp(2), 10 * np.exp(-3))),
    "sigmoid_": (lambda torch, y: y.sigmoid_(), (0.8807971, 0.0474259), (0.1049936, 0.451767)),
    "clamp_": (lambda torch, y: y.clamp_(min=0), (2, 0), (1, 0)),
    "clamp_ max": (lambda torch, y: y.clamp_(max=0), (0, -3), (0, 10)),
    "fill_": (lambda torch, y: y.fill_(5), (5, 5), (0, 0)),
    "zero_": (lambda torch, y: y.zero_(), (0, 0), (0, 0)),
    "copy_": (lambda torch, y: y.copy_(torch.tensor([5.0, 6.0], dtype=y.dtype)), (5, 6), (0, 0)),
    "masked_fill_": (lambda torch, y: y.masked_fill_(y < 0, 7), (2, 7), (1, 0)),
    "setitem": (lambda torch, y: y.__setitem__(0, 7), (7, -3), (0, 10)),
    "setitem slice": (lambda torch, y: y.__setitem__(slice(1, None), torch.tensor([7.0], dtype=y.dtype)), (2, 7), (1, 0)),
    "setitem mask": (lambda torch, y: y.__setitem__(y < 0, 7), (2, 7), (1, 0)),
    "setitem index": (lambda torch, y: y.__setitem__(torch.tensor([1]), 7), (2, 7), (1, 0)),
    "view": (lambda torch, y: y.view(2, 1).mul_(3), (6, -9), (3, 30)),
    "select": (lambda torch, y: y[1].mul_(3), (2, -9), (1, 30)),
    "narrow": (lambda torch, y: y.narrow(0, 1, 1).exp_(), (2, np.exp(-3)), (1, 10 * np.exp(-3))),
    "two writes": (lambda torch, y: y.mul_(3).add_(1).mul_(2), (14, -16), (6, 60)),
    "view of a view": (lambda torch, y: y.view(2, 1)[1][0].mul_(3), (2, -9), (1, 30)),
    "operator": (lambda torch, y: y.__imul__(3), (6, -9), (3, 30)),
}


@pytest.mark.parametrize("name", WRITES)
def test_writes(torch, name):
    write, values, expected = WRITES[name]
    x = leaf(torch, 2, -3)
    y = x * 1
    returned = write(torch, y)
    assert returned is y or returned is None or returned._base is y
    close(y.detach(), values)
    (y * torch.tensor(WEIGHTS)).sum().backward()
    close(x.grad, expected)


@pytest.mark.parametrize("name", WRITES)
def test_second_derivatives_of_writes(torch, name):
    """Against finite differences of the first."""
    def slope_at(*point):
        x = leaf(torch, *point, dtype=torch.float64)
        y = x * 1
        WRITES[name][0](torch, y)
        return x, torch.autograd.grad((y * y).sum(), x, create_graph=True)[0].sum()

    x, slope = slope_at(2, -3)
    second = torch.autograd.grad(slope, x, allow_unused=True)[0] if slope.requires_grad else None
    for i, step in enumerate(np.eye(2) * 1e-6):
        numeric = (slope_at(*([2, -3] + step))[1].item() - slope_at(*([2, -3] - step))[1].item()) / 2e-6
        np.testing.assert_allclose(0 if second is None else second[i].item(), numeric, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("exponent", [-1, 0.5, -0.5, 2, 3, 2.5])
def test_the_result_of_a_power_may_be_written(torch, exponent):
    """Its derivative keeps the base."""
    x = leaf(torch, 2, 3)
    y = x ** exponent
    y.mul_(2)
    y.sum().backward()
    close(x.grad, 2 * exponent * np.array([2.0, 3.0]) ** (exponent - 1))


@pytest.mark.parametrize("write, values, by_x, by_w", [
    (lambda y, w: y.add_(w), (7, 2), (1, 10), (1, 10)),
    (lambda y, w: y.mul_(w), (10, -15), (5, 50), (2, -30)),
    (lambda y, w: y.copy_(w), (5, 5), (0, 0), (1, 10)),
    (lambda y, w: y[0].mul_(w[0]), (10, -3), (5, 10), (2, 0)),
    (lambda y, w: y.__setitem__(0, w[1]), (5, -3), (0, 10), (0, 1)),
    (lambda y, w: y.__setitem__(slice(None), w), (5, 5), (0, 0), (1, 10)),
    (lambda y, w: y.addcmul_(w, w), (27, 22), (1, 10), (10, 100)),
    (lambda y, w: y.lerp_(w, 0.5), (3.5, 1), (0.5, 5), (0.5, 5)),
])
def test_writes_with_another_operand(write, values, by_x, by_w):
    x, w = leaf(numtorch, 2, -3), leaf(numtorch, 5, 5)
    y = x * 1
    write(y, w)
    close(y.detach(), values)
    found = numtorch.autograd.grad((y * numtorch.tensor(WEIGHTS)).sum(), [x, w])
    close(found[0], by_x)
    close(found[1], by_w)


def test_a_written_operand_broadcasts(torch):
    x, w = leaf(torch, 2, -3), leaf(torch, 5)
    y = torch.zeros(3, 2) + x
    y.add_(w * 1).copy_(x * w)
    y.sum().backward()
    close(x.grad, (15, 15))
    close(w.grad, -3)


@pytest.mark.parametrize("write, expected", [
    (lambda y: y.mul_(y), (4, -6)),
    (lambda y: y.mul_(y.view(2)), (4, -6)),
    (lambda y: y.mul_(y.detach()), (2, -3)),
    (lambda y: y.add_(y), (2, 2)),
    (lambda y: y.sub_(y), (0, 0)),
    (lambda y: y.div_(y), (0, 0)),
    (lambda y: y[0].mul_(y[1]), (-3, 3)),
    (lambda y: y[:1].mul_(y[1:]), (-3, 3)),
])
def test_a_tensor_written_with_itself(write, expected):
    """PyTorch refuses some of these in backward; here what is needed is copied."""
    for order in (1, 2):
        x = leaf(numtorch, 2, -3)
        y = x * 1
        write(y)
        found, = numtorch.autograd.grad(y.sum(), x, create_graph=order == 2)
        close(found, expected)
    if found.requires_grad:
        second, = numtorch.autograd.grad((found * numtorch.tensor([1.0, 10.0])).sum(), x, allow_unused=True)
        wanted = {(4, -6): (2, 20), (-3, 3): (10, 1)}.get(expected)
        if wanted:
            close(second, wanted)


# ---------------------------------------------------------------- what a write is made of, and of which kind
def test_writing_a_source_that_requires_grad(torch):
    w = leaf(torch, 2, 3)
    x = torch.zeros(3)
    x[0] = w[1]
    x[1:] = w * 2
    assert x.requires_grad and not x.is_leaf
    close(x.detach(), (3, 4, 6))
    (x * torch.tensor([1.0, 10.0, 100.0])).sum().backward()
    close(w.grad, (20, 201))


def test_integers_take_no_gradient(torch):
    w = leaf(torch, 2.5)
    x = torch.zeros(2, dtype=torch.int64)
    x.copy_(w)
    assert not x.requires_grad and x.tolist() == [2, 2]


@pytest.mark.parametrize("name", ["erfinv", "asin", "log1p", "erf", "lgamma", "digamma", "sin", "log"])
def test_results_are_written_whose_gradient_is_by_the_input(torch, name):
    x = torch.tensor([0.25, 0.5]).requires_grad_()
    wanted, = torch.autograd.grad(getattr(torch, name)(x).sum(), x)
    getattr(torch, name)(x).mul_(3).sum().backward()
    close(x.grad / 3, wanted.tolist())


@pytest.mark.parametrize("name", ["eq_", "ne_", "lt_", "ge_", "nextafter_"])
@pytest.mark.parametrize("recorded", ["both", "target", "other"])
def test_results_that_move_in_steps_have_gradients_of_zero(torch, name, recorded):
    a, b = torch.tensor([[0.5, 1.5, 1.0], [2.0, 1.0, -1.0]]).requires_grad_(), torch.tensor([1.0, 3.0, 2.0]).requires_grad_()
    x = a * 2 if recorded != "other" else a.detach() * 2
    getattr(x, name)(b if recorded != "target" else b.detach())
    assert x.requires_grad
    (x * 5).sum().backward()
    if recorded != "other":
        # the next number moves with the one it comes after
        assert a.grad.tolist() == ([[0.0, 0.0, 0.0], [10.0, 10.0, 10.0]] if name == "nextafter_" else [[0.0] * 3] * 2)
    if recorded != "target":
        assert b.grad.tolist() == [0.0, 0.0, 0.0]


def test_writing_under_no_grad_is_not_recorded(torch):
    x = leaf(torch, 2, 3)
    y = x * 1
    with torch.no_grad():
        x.mul_(2)
        y[0] = 100
        x[1].add_(1)
    close(x.detach(), (4, 7))
    y.sum().backward()
    close(x.grad, (1, 1))


# ---------------------------------------------------------------- retain_grad and hooks around a write
def test_retain_grad_follows_a_write(torch):
    x = leaf(torch, 2, 3)
    y = x * 1
    y.retain_grad()
    y.mul_(3)
    assert y.retains_grad
    (y * y).sum().backward()
    close(y.grad, (12, 18))
    close(x.grad, (36, 54))


def test_a_hook_from_before_a_write_gets_the_gradient_of_then(torch):
    x = leaf(torch, 2, 3)
    y = x * 1
    seen = []
    y.register_hook(lambda g: seen.append(("before", g.tolist())))
    y.mul_(3)
    y.register_hook(lambda g: seen.append(("after", g.tolist())))
    y.sum().backward()
    assert seen == [("after", [1, 1]), ("before", [3, 3])]


# ---------------------------------------------------------------- refused writes
def saved_and_changed(torch, op, write):
    x = leaf(torch, 2, 3)
    y = x * 1
    z = op(y)
    write(y, z)
    z.sum().backward()


def other_view_changed(torch):
    x = leaf(torch, 2, 3)
    y = x * 1
    z = y[0] * y[0]
    y[1].add_(1)                                         # views share the version counter
    z.backward()


REFUSED = [
    (lambda torch: leaf(torch, 1, 2).add_(1), "a leaf Variable that requires grad is being used in an in-place operation"),
    (lambda torch: leaf(torch, 1, 2).copy_(torch.ones(2)), "a leaf Variable that requires grad is being used in an in-place"),
    (lambda torch: leaf(torch, 1, 2).zero_(), "a leaf Variable that requires grad is being used in an in-place operation"),
    (lambda torch: leaf(torch, 1, 2).__imul__(2), "a leaf Variable that requires grad is being used in an in-place operation"),
    (lambda torch: leaf(torch, 1, 2).masked_fill_(torch.tensor([True, False]), 1), "a leaf Variable that requires grad"),
    (lambda torch: leaf(torch, 1, 2).__setitem__(torch.tensor([0]), 1.0), "a leaf Variable that requires grad"),
    (lambda torch: leaf(torch, 1, 2)[0].add_(1), "a view of a leaf Variable that requires grad is being used in an in-place"),
    (lambda torch: leaf(torch, 1, 2).view(2, 1)[0].mul_(2), "a view of a leaf Variable that requires grad is"),
    (lambda torch: leaf(torch, 1, 2).__setitem__(0, 1.0), "a view of a leaf Variable that requires grad is being used"),
    (lambda torch: (leaf(torch, 1) * 1).expand(3).add_(1), "more than one element of the written-to tensor refers to a"),
    (lambda torch: saved_and_changed(torch, lambda y: y * y, lambda y, z: y.add_(1)), "modified by an inplace operation: "
                                                                                      "[torch.FloatTensor [2]]"),
    (lambda torch: saved_and_changed(torch, lambda y: y.exp(), lambda y, z: z.add_(1)), "modified by an inplace operation: "
                                                                                        "[torch.FloatTensor [2]]"),
    (lambda torch: saved_and_changed(torch, lambda y: y.double() * y, lambda y, z: y.zero_()), "modified by an inplace operation"),
    (lambda torch: saved_and_changed(torch, lambda y: y * y, lambda y, z: y[0].add_(1)), "modified by an inplace operation"),
    (lambda torch: saved_and_changed(torch, lambda y: y * y, lambda y, z: y.detach().view(-1).add_(1)), "modified by an inplace"),
    (other_view_changed, "modified by an inplace operation"),
]


@pytest.mark.parametrize("function, words", REFUSED)
def test_refused(torch, function, words):
    with pytest.raises(RuntimeError, match=re.escape(words)):
        function(torch)


@pytest.mark.parametrize("op, write, saver, writer", [
    (lambda y: y * y, lambda y, z: y.add_(1), "MulBackward0", "add_"),
    (lambda y: y.exp(), lambda y, z: z.mul_(2), "ExpBackward0", "mul_"),
    (lambda y: y.sin(), lambda y, z: y.copy_(z.detach()), "SinBackward0", "copy_"),
    (lambda y: y.view(1, 2) @ y.view(2, 1), lambda y, z: y.zero_(), "MmBackward0", "zero_"),
    (lambda y: y.norm(), lambda y, z: y[0].exp_(), "LinalgVectorNormBackward0", "exp_"),
])
def test_version_errors_name_both_ops(op, write, saver, writer):
    with pytest.raises(RuntimeError, match=rf"(?s)is at version \d+; expected version \d+ instead\. It was saved by ({saver}) and "
                                           rf"changed by ({writer})\.\nHint: enable anomaly detection"):
        saved_and_changed(numtorch, op, write)


def test_a_write_that_nothing_saved_is_fine(torch):
    x = leaf(torch, 2, 3)
    y = x + 1
    z = y + y
    y.mul_(100)
    z.sum().backward()
    close(x.grad, (2, 2))


def test_a_refused_write_changes_nothing():
    x = leaf(numtorch, 1, 2)
    version = x._version
    for write in (lambda: x.add_(1), lambda: x[0].add_(1), lambda: x.__setitem__(0, 5.0), lambda: x.copy_(numtorch.zeros(2)),
                  lambda: x.__setitem__(numtorch.tensor([True, False]), 5.0), lambda: x.clamp_(min=5), lambda: x.fill_(3)):
        with pytest.raises(RuntimeError):
            write()
    close(x.detach(), (1, 2))
    assert x._version == version


OVERWRITING = {
    "threshold": (lambda t, x: t.nn.functional.threshold(x, 0.1, 2.0, True), lambda t, x: t.nn.functional.threshold(x, 0.1, 2.0)),
    "cumprod": (lambda t, x: x.cumprod_(0), lambda t, x: x.cumprod(0)),
    "renorm": (lambda t, x: x.renorm_(2, 0, 0.5), lambda t, x: x.renorm(2, 0, 0.5)),
    "logit": (lambda t, x: (x / 4 + 0.5).logit_(), lambda t, x: (x / 4 + 0.5).logit()),
    **{name: (lambda t, x, name=name: getattr(t.nn.functional, name)(x, inplace=True), lambda t, x, name=name: getattr(t.nn.functional, name)(x))
       for name in ("leaky_relu", "elu", "silu", "hardsigmoid", "relu6", "rrelu")},
}


@pytest.mark.parametrize("name", OVERWRITING)
def test_what_is_overwritten_is_saved_before(torch, name):
    gradients = []
    for function in OVERWRITING[name]:
        x = torch.tensor([[-1.5, 0.5], [2.0, -0.25]], requires_grad=True)
        found = function(torch, x * 1)
        (found * found).sum().backward()
        gradients.append(x.grad.tolist())
    close(np.array(gradients[0]), np.array(gradients[1]))


@pytest.mark.parametrize("dtype", [numtorch.bool, numtorch.int64], ids=str)
def test_integers_that_hold_a_comparison_require_no_gradient(dtype):
    target = numtorch.ones(2, dtype=dtype)
    assert not target.lt_(leaf(numtorch, 2, -3)).requires_grad
    assert target.tolist() == [True, False]


def test_what_is_copied_to_several_places_is_summed_in_its_own_precision(torch):
    source = torch.tensor([0.5], dtype=torch.float64, requires_grad=True)
    target = torch.zeros(3, 1)
    target.copy_(source)
    target.backward(torch.tensor([[1.0], [2.0 ** -24], [2.0 ** -24]]))          # in float32 each of the small ones would be lost
    assert source.grad.item() == 1 + 2.0 ** -23


def test_what_a_loss_was_made_of_may_be_written_where_only_the_difference_is_kept(torch):
    x = leaf(torch, 2, -3)
    made = x * 1
    loss = torch.nn.functional.gaussian_nll_loss(made, made.detach() * 0, torch.ones(2, dtype=made.dtype), reduction="sum")
    made.mul_(5)
    loss.backward()
    close(x.grad, [2, -3])


def test_what_is_written_to_itself_is_written(torch):
    """`x[i] += y` ends so: the version counts it, and the gradients are those of one addition."""
    for write in (lambda t: t.__setitem__(slice(None), t), lambda t: t.__setitem__(0, t[0]), lambda t: t.copy_(t), lambda t: t[0].copy_(t[0])):
        x = torch.ones(3, 4)
        before = x._version
        write(x)
        assert x._version == before + 1
    x, w = torch.ones(3, requires_grad=True), torch.full((3,), 2.0, requires_grad=True)
    y = x * 1
    y[:2] += w[:2]
    y[0] /= 2.0
    y[1:] *= 3.0
    y.sum().backward()
    assert x.grad.tolist() == [0.5, 3.0, 3.0] and w.grad.tolist() == [0.5, 3.0, 0.0]


@pytest.mark.parametrize("write", [lambda t: t.add_(1), lambda t: t.relu_(), lambda t: t.remainder_(2), lambda t: t.lt_(1), lambda t: t[1:].mul_(2), lambda t: t.add_(t)])
def test_what_has_negative_strides_is_written_in_place(write):
    given = np.arange(-3.0, 5.0, dtype=np.float32)
    x, expected = numtorch.from_numpy(given.copy()[::-1]), numtorch.from_numpy(given[::-1].copy())
    write(x)
    write(expected)
    assert x.tolist() == expected.tolist()
