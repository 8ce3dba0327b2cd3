"""Primitives, and the miss: what calls without a plan go through, and how a new kind of tensor takes them over."""
from __future__ import annotations

import pytest

import numtorch as torch
from numtorch.layout import Layout
from numtorch.ops.core.primitive import Primitive, miss, registry
from numtorch.tensor import Tensor, wrap

F = torch.nn.functional


# ---------------------------------------------------------------- a new kind of tensor: a class of layout and a handler, nothing else
class Handler:
    """Notes what is called, and calls it on ordinary tensors."""

    rank = 1

    def __init__(self):
        self.called = []

    def __call__(self, primitive, tensors, attributes):
        self.called.append((primitive.name, attributes))
        plain = [undone(t) for t in tensors]
        if primitive.execute is None:                    # elementwise
            return noted(primitive.function(*plain))
        return noted(miss(primitive, tuple(plain), attributes))

    def write(self, primitive, tensors):
        self.called.append((primitive.name + "_", ()))
        primitive.inplace(*[undone(t) for t in tensors])
        return tensors[0]


class Noted(Layout):
    __slots__ = ("plain",)
    handler = Handler()


def noted(tensor):
    layout = object.__new__(Noted)
    for slot in Layout.__slots__[:-1]:
        setattr(layout, slot, getattr(tensor.layout, slot))
    layout.plain = tensor.layout
    return wrap(tensor.storage, tensor.address, layout, tensor.node)


def undone(tensor):
    if isinstance(tensor, torch.Tensor) and type(tensor.layout) is Noted:
        return wrap(tensor.storage, tensor.address, tensor.layout.plain, tensor.node)
    return tensor


X, Y, SQUARE = torch.randn(4, 5), torch.randn(4, 5), torch.randn(4, 4)
CALLS = {
    "add": (lambda x: x + Y, "add"), "radd": (lambda x: Y + x, "add"), "number": (lambda x: x * 2.0, "mul"), "exp": (lambda x: x.exp(), "exp"),
    "out": (lambda x: torch.exp(x, out=torch.empty(4, 5)), "exp"), "sum": (lambda x: x.sum(), "sum"), "mean": (lambda x: x.mean(1), "mean"),
    "amax": (lambda x: x.amax(0), "max"), "softmax": (lambda x: x.softmax(1), "softmax"), "log_softmax": (lambda x: x.log_softmax(-1), "log_softmax"),
    "logsumexp": (lambda x: x.logsumexp(1), "logsumexp"), "mm": (lambda x: x.mm(Y.t()), "mm"), "linear": (lambda x: F.linear(Y, x), "linear"),
    "mv": (lambda x: x.mv(Y[0]), "mv"), "addmm": (lambda x: torch.addmm(SQUARE, x, Y.t()), "addmm"), "fft": (lambda x: torch.fft.rfft(x), "fft_r2c"),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_special_layout_is_handed_to_its_handler(name):
    call, primitive = CALLS[name]
    wanted = call(X)                                     # the plan is known from here on, and must not be found
    Noted.handler.called.clear()
    result = call(noted(X))
    assert [n for n, _ in Noted.handler.called] == [primitive]
    assert torch.equal(undone(result), wanted)


def test_writes_are_handed_over():
    x = noted(X.clone())
    Noted.handler.called.clear()
    assert x.add_(Y) is x and torch.equal(undone(x), X + Y) and Noted.handler.called == [("add_", ())]


def test_the_handler_of_the_highest_rank_decides():
    class Higher(Noted):
        __slots__ = ()
        handler = type("First", (Handler,), {"rank": 2})()
    x = noted(X)
    y = noted(Y)
    y.layout.__class__ = Higher
    Noted.handler.called.clear()
    with pytest.raises(Exception):
        x + y                                            # the other handler knows nothing of this layout, and is asked first
    assert Higher.handler.called[0] == ("add", ()) and not Noted.handler.called


# ---------------------------------------------------------------- primitives
def test_the_registry_lists_primitives_alone():
    assert len(registry) > 300 and all(isinstance(p, Primitive) and p.name == name for name, p in registry.items())


@pytest.mark.parametrize("call", [lambda: torch.softmax("x", 0), lambda: torch.mm(None, X), lambda: X.mm(3), lambda: F.linear(None, X)])
def test_what_is_no_tensor_is_named(call):
    with pytest.raises(TypeError, match="must be Tensor, not"):
        call()


def test_arguments_of_what_runs_a_plan():
    primitive = Primitive("of_test")
    try:
        with pytest.raises(TypeError, match="tensors before attributes"):
            @primitive.run
            def wrong(plan, dim, x: Tensor): ...
    finally:
        del registry["of_test"]
