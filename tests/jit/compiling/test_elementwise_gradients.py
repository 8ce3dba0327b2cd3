"""Gradients of elementwise calls that are recorded and replayed: the tape's, to the last bit."""
from __future__ import annotations

import pytest
from replays import kind_of, same

import numtorch as torch
from numtorch.kernels import compiler, debugmemory

pytestmark = pytest.mark.skipif(compiler.DISABLE_JIT or bool(debugmemory.MODE),
                                reason="nothing is captured with NUMBA_DISABLE_JIT and NUMTORCH_DEBUG_MEMORY")
F = torch.nn.functional
# What has a formula of its own and what is most used; operands in another order, broadcast, of another dtype, and numbers.
UNARY = {
    **{name: getattr(torch, name) for name in ("tanh", "sigmoid", "tan", "asin", "atan", "asinh", "atanh", "sinc", "exp", "rsqrt")},
    **{name: getattr(F, name) for name in ("gelu", "silu", "mish", "softplus", "elu", "hardswish", "logsigmoid")},
    "numbers": lambda x: torch.tanh(2.5 / x) * x ** 1.7 - torch.pow(0.3, x), "of a half": lambda x: torch.tanh(x.half()),
    "chain": lambda x: torch.tanh(x * F.silu(x)).atan().mul(x), "written": lambda x: torch.sin(x).mul_(3).atan_(),
}
BINARY = {
    "atan2": torch.atan2, "hypot": torch.hypot, "pow": torch.pow, "div": torch.div, "lerp": lambda x, y: torch.lerp(x, y, y.sigmoid()),
    "broadcast": lambda x, y: torch.atan2(x, y[0]), "turned": lambda x, y: torch.atan2(x.t(), y.t()).t(),
    "wider": lambda x, y: torch.hypot(x, y.double()), "of one number": lambda x, y: (x[:, :1] + y).mean() * x,
}


@pytest.mark.parametrize("name", [*UNARY, *BINARY])
def test_gradients_of_replays_are_those_of_the_tape(name):
    function = UNARY.get(name) or BINARY[name]
    torch.manual_seed(0)
    operands = [torch.rand(5, 37) * 0.8 + 0.1 for _ in range(1 + (name in BINARY))]
    grad, compiled = torch.randn(5, 37), torch.compile(function, mode="replay")

    def gradients(function):
        leaves = [x.clone().requires_grad_() for x in operands]
        result = function(*leaves)
        result.backward(grad.to(result.dtype))
        return [result.detach(), *[x.grad for x in leaves]]
    wanted = gradients(function)
    for _ in range(6):
        found = gradients(compiled)
    assert kind_of(compiled).recording.programs, kind_of(compiled).recording.reason
    assert all(map(same, found, wanted))
