"""`torch.library` in both libraries: ops under names of a program's own, their gradients, devices and refusals."""
from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import numtorch

torch = pytest.importorskip("torch")


def tensor_op(t, name, function):
    """A function of one tensor as an op: PyTorch reads a schema off annotations, which name its own class."""
    function.__annotations__ = {"x": t.Tensor, "return": t.Tensor}
    return t.library.custom_op(name, mutates_args=())(function)


def cubed(t):
    """x ** 3 by NumPy, through which nothing is recorded."""
    def cube(x):
        return t.from_numpy(np.asarray(x.detach().numpy() ** 3))

    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[0])

    op = tensor_op(t, "numbers::cube", cube)
    op.register_autograd(lambda ctx, grad: grad * 3 * ctx.saved_tensors[0] ** 2, setup_context=setup_context)
    op.register_fake(lambda x: t.empty_like(x))
    x = t.tensor([1., 2.], requires_grad=True)
    y = t.ops.numbers.cube(x)
    slope, = t.autograd.grad(y.sum(), x, create_graph=True)
    curvature, = t.autograd.grad(slope.sum(), x)
    y.detach_()
    return [y, slope, curvature, op(x * 2).sum(), op(t.ones(2, 3, device="meta")).shape, op.__name__ if hasattr(op, "__name__") else None]


def without_gradients(t):
    op = tensor_op(t, "numbers::sine", lambda x: t.from_numpy(np.sin(x.detach().numpy())))
    x = t.ones(2, requires_grad=True)
    y = op(x)
    with pytest.raises(RuntimeError, match="no autograd formula was registered"):
        y.sum().backward()
    return [y.requires_grad, y.detach()]


def several(t):
    """Two results, a number, a default, and an argument given by name."""
    def split(x, at, scale=2.0):
        return (x[:at] * scale).clone(), x[at:].clone()
    split.__annotations__ = {"x": t.Tensor, "at": int, "scale": float, "return": tuple[t.Tensor, t.Tensor]}
    op = t.library.custom_op("numbers::split", mutates_args=())(split)

    def backward(ctx, left, right):
        return t.cat([left * ctx.scale, right]), None, None

    def setup_context(ctx, inputs, output):
        _, _, ctx.scale = inputs
    t.library.register_autograd("numbers::split", backward, setup_context=setup_context)
    x = t.arange(5.).requires_grad_()
    left, right = op(x, at=2)
    (left.sum() + (right * right).sum()).backward()
    return [left.detach(), right.detach(), x.grad, *op(x.detach(), 1, 3.0)]


def lists(t):
    """A list of tensors among the arguments: backward gives a list for it."""
    def total(parts, weight):
        return sum(p * weight for p in parts)
    total.__annotations__ = {"parts": list[t.Tensor], "weight": float, "return": t.Tensor}
    op = t.library.custom_op("numbers::total", mutates_args=())(total)

    def setup_context(ctx, inputs, output):
        ctx.count, ctx.weight = len(inputs[0]), inputs[1]
    op.register_autograd(lambda ctx, grad: ([grad * ctx.weight] * ctx.count, None), setup_context=setup_context)
    x, y = t.ones(2, requires_grad=True), t.ones(2)
    op([x, y], 3.0).sum().backward()
    return [op([x.detach(), y], 1.0), x.grad]


def written(t):
    def add_one(x):
        x += 1
    add_one.__annotations__ = {"x": t.Tensor, "return": None}
    op = t.library.custom_op("numbers::add_one", mutates_args=("x",))(add_one)
    x = t.zeros(2)
    op(x)
    return [x]


def a_library(t):
    lib = t.library.Library("counted", "DEF")
    name = lib.define("twice(Tensor x, float by=2.0) -> Tensor")
    lib.impl("twice", lambda x, by=2.0: x * by, "CompositeImplicitAutograd")
    lib.define("host(Tensor x) -> Tensor")
    lib.impl("host", lambda x: x + 1, "CPU")
    lib.impl("host", lambda x: t.empty_like(x), "Meta")
    t.library.define("counted::late", "(Tensor x) -> Tensor")
    t.library.impl("counted::late", "cpu")(lambda x: -x)
    x = t.ones(2, requires_grad=True)
    t.ops.counted.twice(x, 3.0).sum().backward()
    results = [name, t.ops.counted.twice(x).detach(), x.grad, t.ops.counted.host(t.ones(1)), t.ops.counted.late(t.ones(1)),
               t.ops.counted.host.default(t.zeros(1)), t.ops.counted.host(t.ones(3, device="meta")).shape]
    lib._destroy()
    return results


def plain(value):
    return value.tolist() if isinstance(value, (torch.Tensor, numtorch.Tensor)) else list(value) if isinstance(value, tuple) else value


@pytest.mark.parametrize("program", [cubed, without_gradients, several, lists, written, a_library])
def test_ops_of_a_program_give_what_they_give_in_pytorch(program):
    assert [plain(value) for value in program(numtorch)] == [plain(value) for value in program(torch)]


def test_an_op_without_a_function_for_the_device_says_so():
    lib = numtorch.library.Library("elsewhere", "DEF")
    lib.define("only(Tensor x) -> Tensor")
    lib.impl("only", lambda x: x, "CUDA")
    with pytest.raises(NotImplementedError, match="Could not run 'elsewhere::only' with tensors on cpu"):
        numtorch.library._op("elsewhere::only")(numtorch.ones(2))
    with pytest.raises(ValueError, match="namespace::op"):
        numtorch.library.custom_op("only", lambda x: x)


def test_what_stands_for_a_whole_op_is_called_in_every_thread():
    """While one thread is in it, too, where the op that it calls is what stands beneath."""
    lib, both = numtorch.library.Library("threaded", "DEF"), threading.Barrier(2)
    lib.define("halved(Tensor x) -> Tensor")

    def whole(x):
        both.wait(20)
        return numtorch.ops.threaded.halved(x) + 1
    lib.impl("halved", lambda x: x / 2, "CPU")
    lib.impl("halved", whole, "Autograd")
    with ThreadPoolExecutor(2) as threads:
        found = list(threads.map(numtorch.ops.threaded.halved, [numtorch.ones(1), numtorch.zeros(1)]))
    assert [x.item() for x in found] == [1.5, 1.0]
