"""Primitives, and the miss: what calls without a plan go through, and how a new kind of tensor takes them over."""
from __future__ import annotations

import pytest

import numtorch as torch
from numtorch.layout import Layout
from numtorch.ops.core.primitive import Primitive, miss, registry
from numtorch.tensor import Tensor, view_of, wrap

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
    return wrap(tensor.memory, tensor.address, layout, tensor.node)


def undone(tensor):
    if isinstance(tensor, torch.Tensor) and type(tensor.layout) is Noted:
        return wrap(tensor.memory, tensor.address, tensor.layout.plain, tensor.node)
    return tensor


PLACES = torch.tensor([[0, 1, 2, 0, 1], [1, 0, 2, 3, 3], [2, 1, 0, 0, 1], [3, 2, 1, 0, 0]])
X, Y, SQUARE = torch.randn(4, 5), torch.randn(4, 5), torch.randn(4, 4)
CALLS = {
    "add": (lambda x: x + Y, "add"), "radd": (lambda x: Y + x, "add"), "number": (lambda x: x * 2.0, "mul"), "exp": (lambda x: x.exp(), "exp"),
    "out": (lambda x: torch.exp(x, out=torch.empty(4, 5)), "exp copy"), "sum": (lambda x: x.sum(), "sum"), "mean": (lambda x: x.mean(1), "mean"),
    "amax": (lambda x: x.amax(0), "max"), "softmax": (lambda x: x.softmax(1), "softmax"), "log_softmax": (lambda x: x.log_softmax(-1), "log_softmax"),
    "logsumexp": (lambda x: x.logsumexp(1), "logsumexp"), "mm": (lambda x: x.mm(Y.t()), "mm"), "linear": (lambda x: F.linear(Y, x), "linear"),
    "mv": (lambda x: x.mv(Y[0]), "mv"), "addmm": (lambda x: torch.addmm(SQUARE, x, Y.t()), "addmm"), "fft": (lambda x: torch.fft.rfft(x), "fft_r2c"),
    "cat": (lambda x: torch.cat((Y, x)), "cat"), "stack": (lambda x: torch.stack([x, Y], -1), "stack"), "clone": (lambda x: x.clone(), "clone"),
    "double": (lambda x: x.double(), "to_copy"), "pad": (lambda x: F.pad(x, (1, 2)), "constant_pad_nd"),
    "reflect": (lambda x: F.pad(x, (1, 2), "reflect"), "reflect_pad"),
    "copy_": (lambda x: torch.zeros(4, 5).copy_(x), "copy"),
    "gather": (lambda x: x.gather(1, PLACES), "gather"), "scatter": (lambda x: torch.zeros(4, 5).scatter_(1, PLACES, x), "scatter"),
    "scatter_add": (lambda x: torch.zeros(4, 5).scatter_add_(1, PLACES, x), "scatter_add"), "index": (lambda x: x[PLACES[0]], "index"),
    "index_select": (lambda x: x.index_select(-1, PLACES[0]), "index_select"),
    "index_add": (lambda x: torch.zeros(4, 5).index_add_(0, PLACES[:, 0], x), "index_add"),
    "masked": (lambda x: x.masked_select(X > 0), "masked_select"), "repeat": (lambda x: x.repeat(2, 1), "repeat"),
    "interleave": (lambda x: x.repeat_interleave(2, 1), "repeat_interleave"), "flip": (lambda x: x.flip(0), "flip"),
    "roll": (lambda x: x.roll(1, 1), "roll"), "tril": (lambda x: x.tril(), "tril"), "trace": (lambda x: x.trace(), "trace"),
    "diag_embed": (lambda x: x.diag_embed(), "diag_embed"), "block_diag": (lambda x: torch.block_diag(x, Y), "block_diag"),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_special_layout_is_handed_to_its_handler(name):
    call, primitive = CALLS[name]
    wanted = call(X)                                     # the plan is known from here on, and must not be found
    Noted.handler.called.clear()
    result = call(noted(X))
    assert [n for n, _ in Noted.handler.called] == primitive.split()
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


# ---------------------------------------------------------------- views of a special layout
class Boxed(Layout):
    """A layout that is of a tensor, and whose tensors have no address."""
    __slots__ = ("inside",)
    handler = type("Views", (), {"rank": 1, "view": staticmethod(lambda function, layout, *args: box_view(function, layout, args)),
                                 "viewed": staticmethod(lambda x, layout: boxed(layout.inside)),
                                 "values": staticmethod(lambda x: x.layout.inside)})()


def boxed(tensor):
    layout = object.__new__(Boxed)
    for slot in Layout.__slots__[:-1]:
        setattr(layout, slot, getattr(tensor.layout, slot))
    layout.inside, layout.views = tensor, {}
    found = Tensor.__new__(Tensor)
    found.memory, found.layout, found.node = tensor.memory, layout, tensor.node
    return found


def box_view(function, layout, args):
    """The view that the same function makes of the tensor inside."""
    plain = function(layout.inside.layout, *args)
    if function.__name__ in ("every", "cut"):
        return tuple([(boxed(view_of(layout.inside, *found)).layout, 0) for found in plain])
    if function.__name__ == "moved_order":
        return plain
    return None if plain is None else (boxed(view_of(layout.inside, *plain)).layout, 0)


VIEWS = {
    "permute": lambda x: x.permute(2, 0, 1), "transpose": lambda x: x.transpose(0, -1), "movedim": lambda x: x.movedim(0, 2),
    "expand": lambda x: x[:, :1].expand(-1, 3, -1), "view": lambda x: x.view(6, -1), "reshape": lambda x: x.reshape(-1),
    "flatten": lambda x: x.flatten(1), "unflatten": lambda x: x.unflatten(2, (2, -1)), "squeeze": lambda x: x[:1].squeeze(0),
    "unsqueeze": lambda x: x.unsqueeze(1), "select": lambda x: x.select(1, -1), "narrow": lambda x: x.narrow(1, 1, 2),
    "unfold": lambda x: x.unfold(2, 2, 1), "diagonal": lambda x: x.diagonal(0, 1, 2), "int": lambda x: x[-1], "slice": lambda x: x[:1],
    "index": lambda x: x[..., None, 1::2, 0], "ellipsis": lambda x: x[0, ...], "unbind": lambda x: x.unbind(1)[2],
    "split": lambda x: x.split(2, -1)[1], "chunk": lambda x: x.chunk(2, 1)[1], "iteration": lambda x: list(x)[1],
    "tensor_split": lambda x: x.tensor_split(2, 1)[0], "T": lambda x: x[0].T, "mT": lambda x: x.mT,
}


@pytest.mark.parametrize("name", VIEWS)
@pytest.mark.parametrize("recorded", [False, True])
def test_a_special_layout_brings_its_own_views(name, recorded):
    x = torch.randn(2, 3, 4, requires_grad=recorded)
    found, wanted = VIEWS[name](boxed(x)), VIEWS[name](x)
    assert type(found.layout) is Boxed and found.tolist() == wanted.tolist() and found.layout.inside.data_ptr() == wanted.data_ptr()


def test_where_a_special_layout_has_no_memory_no_kernel_runs():
    with pytest.raises((AttributeError, TypeError)):     # what `miss` hands over this handler does not take
        torch.tril(boxed(torch.ones(2, 2)))
    assert boxed(torch.ones(())).item() == 1


# ---------------------------------------------------------------- primitives
def test_what_a_handler_calls_is_planned_once():
    layouts = [Layout.of(X.dtype, (7, 5)), Layout.of(X.dtype, (5, 3))]
    assert registry["mm"].planned_for(layouts, ()) is registry["mm"].planned_for(layouts, ())


def test_the_registry_lists_primitives_alone():
    assert len(registry) > 300 and all(isinstance(p, Primitive) and p.key == name for name, p in registry.items())


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
