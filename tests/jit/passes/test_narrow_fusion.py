"""Fused calls on 16-bit floats give what the calls give one by one, bit for bit: each number between them is rounded."""
import pytest
from tracedprograms import chain

import numtorch as torch
from numtorch.jit import Interpreter, parse
from numtorch.jit.passes import optimized
from numtorch.jit.tracing.traces import trace_graph

functional = torch.nn.functional
PATTERNS = torch.arange(-1 << 15, 1 << 15, dtype=torch.int32).to(torch.int16)
NARROW = (torch.bfloat16, torch.float16)
CHAINS = {
    "arithmetic": lambda x, y: ((x * y + 0.3) * 0.7 - y, x / 3 + 1 / y),
    "sums of products": lambda x, y: (x * y + x, (x - y) * x - y * y),                            # not in one rounding
    "powers": lambda x, y: (x ** 3 - y ** 0.5, (x * y).square().sqrt().rsqrt()),
    "exponents": lambda x, y: (torch.exp(x * 0.1) + torch.log1p(y), torch.tanh(x - y).sigmoid()),
    "angles": lambda x, y: torch.sin(x) * torch.cos(y) + torch.atan(x),
    "conditions": lambda x, y: torch.where(x > 0.1, x * 2, torch.where(y == 0.3, y + x, -x)),      # 0.1 and 0.3 are rounded too
    "extremes": lambda x, y: torch.maximum(x, x * y).clamp(-0.3, 2.7).abs() - torch.relu(y),
    "bounds": lambda x, y: functional.hardtanh(x, -0.1, 0.3) + functional.threshold(y, 0.1, 20.3),
    "activations": lambda x, y: functional.silu(x) * functional.gelu(y, approximate="tanh") + functional.elu(x),
    "scaled": lambda x, y: torch.add(x, y, alpha=0.7) * 1e-3 + torch.lerp(x, y, 0.3),
}


def assert_same_bits(found, expected):
    for a, b in zip(found, expected, strict=True):
        assert a.dtype is b.dtype and ((a.view(torch.int16) == b.view(torch.int16)) | (a.isnan() & b.isnan())).all()


def results(given):
    return given if isinstance(given, tuple) else (given,)


@pytest.mark.parametrize("dtype", NARROW)
@pytest.mark.parametrize("name", CHAINS)
def test_every_number_of_16_bits_comes_out_as_call_by_call(name, dtype):
    x = PATTERNS.view(dtype)
    y = x.reshape(256, 256).t().reshape(-1)
    graph, did = optimized(trace_graph(CHAINS[name], (x, y)))
    assert did["fusion"] and {node.op for node in graph.nodes} == {"fused"}
    graph = parse(str(graph), graph.constants)
    assert_same_bits(results(Interpreter(graph).run(x, y)), results(CHAINS[name](x, y)))


@pytest.mark.parametrize("dtype", NARROW)
@pytest.mark.parametrize("seed", range(3))
def test_random_chains_in_any_memory_order(seed, dtype):
    torch.manual_seed(seed)
    for sizes in ((6, 5), (70, 33)):
        inputs = [torch.randn(*size).to(dtype) for size in (sizes, sizes[1:], (sizes[0], 1))]
        inputs[0] = inputs[0].t().contiguous().t() if seed else inputs[0]
        program = chain(seed)
        graph, did = optimized(trace_graph(program, inputs))
        assert did["fusion"]
        assert_same_bits(Interpreter(graph).run(*inputs), program(*inputs))


@pytest.mark.parametrize("dtype", NARROW)
def test_gradients_are_those_of_the_calls(dtype):
    x = torch.randn(40, 30).to(dtype).requires_grad_()
    y = torch.randn(30).to(dtype).requires_grad_()

    def program(x, y):
        return (x * y + 0.3).tanh() * x - y
    graph, did = optimized(trace_graph(program, (x.detach(), y.detach())))
    assert did == {"fusion": 1}
    found, expected = [torch.autograd.grad(out.sum(), (x, y)) for out in (Interpreter(graph).run(x, y), program(x, y))]
    assert_same_bits(found, expected)


def test_rows_and_other_dtypes_stay_as_they_are():
    """Sums between elementwise calls are kernels of their own in 16 bits, and so is what mixes dtypes."""
    x = torch.randn(8, 40).bfloat16()
    graph, _ = optimized(trace_graph(lambda x: (x * 2).exp() / (x * 3).exp().sum(-1, keepdim=True), (x,)))
    assert "sum" in {node.op for node in graph.nodes}
    graph, _ = optimized(trace_graph(lambda x: (x.float() * 2 + 1).bfloat16() * x, (x,)))
    assert_same_bits([Interpreter(graph).run(x)], [(x.float() * 2 + 1).bfloat16() * x])
    text = ("graph(%x: {0}[2, 3]):\n  %1: {0}[2, 3] = fused[(('softmax', ('x', 0)),), (0,), (layout({0}, (2, 3), (3, 1), 'cpu', False),)](%x)"
            "\n  return %1")
    assert Interpreter(parse(text.format("float32"))).run(torch.ones(2, 3)).sum().item() == pytest.approx(2)
    with pytest.raises(ValueError, match="one floating-point dtype"):
        Interpreter(parse(text.format("bfloat16"))).run(torch.ones(2, 3).bfloat16())
