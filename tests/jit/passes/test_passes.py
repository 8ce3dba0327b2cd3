"""Passes over graphs: what each does, and that none changes what is computed."""
import io

import gradientrows as gradients
import pytest
from tracedgraphs import ops, tensors, traced
from tracedprograms import PROGRAMS, chain

import numtorch as torch
from numtorch.jit import Interpreter, parse
from numtorch.jit.compiling.executor import Executor
from numtorch.jit.passes import optimized
from numtorch.jit.passes.algebra import simplify
from numtorch.jit.passes.constants import fold_constants
from numtorch.jit.passes.deadcode import dead_code
from numtorch.jit.passes.inplace import writes_in_place
from numtorch.jit.passes.memory import memory_plan
from numtorch.jit.passes.subexpressions import merge_subexpressions


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", sorted(set(gradients.ROWS) - gradients.SPARSE))
def test_passes_keep_what_every_op_and_its_gradient_give(name):
    function, shapes, _ = gradients.ROWS[name]
    points = gradients.points(shapes)

    def program(*inputs):
        outputs = [t for t in tensors(function(*inputs)) if t.requires_grad and t.dtype.is_floating_point]
        return outputs, torch.autograd.grad([o.sum() for o in outputs], inputs, allow_unused=True) if outputs else ()
    graph = traced(program, *points)
    fewer, _ = optimized(graph, frozen=graph.constants, fusing=False)
    results = []
    for each in (graph, parse(str(fewer), fewer.constants)):
        torch.manual_seed(0)
        results.append(tensors(Interpreter(each).run(*points)))
    assert len(results[0]) == len(results[1])
    for a, b in zip(*results):
        torch.testing.assert_close(b, a, rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_passes_keep_what_programs_give(program):
    graph = traced(program, torch.randn(3, 4))
    fewer, _ = optimized(graph)
    assert len(fewer.nodes) <= len(graph.nodes)
    x = torch.randn(3, 4)
    a, b = x.clone(), x.clone()
    for e, f in zip(tensors(Interpreter(graph).run(a)), tensors(Interpreter(fewer).run(b))):
        torch.testing.assert_close(f, e, rtol=1e-5, atol=1e-6)
    assert torch.equal(a, b)


# ---------------------------------------------------------------- each
def test_dead_code_goes_and_draws_stay():
    graph = traced(lambda x: (x.exp().sum(), torch.dropout(x, 0.5, True), x + 1)[2], torch.ones(3))
    assert ops(graph) == ["exp", "sum", "dropout", "add"]
    assert dead_code(graph) == 2 and ops(graph) == ["dropout", "add"]
    assert "draws=True" in str(graph) and str(parse(str(graph))) == str(graph)


def test_subexpressions_are_computed_once():
    graph = traced(lambda x: (x.sin() * 2 + x.sin() * 2.0, x.sin() * 2 + torch.dropout(x, 0.5, True) + torch.dropout(x, 0.5, True)), torch.ones(3))
    assert merge_subexpressions(graph) == 3              # two sines and one `* 2`: 2.0 is another number, draws are apart
    assert ops(graph).count("sin") == 1 and ops(graph).count("mul") == 2 and ops(graph).count("dropout") == 2


def test_results_stay_apart():
    """Two results are two tensors, although equal, and none is an argument."""
    graph, _ = optimized(traced(lambda x: (x.sin(), x.sin(), x * 1), torch.ones(3)))
    x = torch.ones(3)
    a, b, c = Interpreter(graph).run(x)
    a.zero_()
    c.zero_()
    assert b[0] != 0 and x[0] == 1


def test_algebra():
    def f(x):
        y = x.clone()
        y[0] = x[1]
        return (x * 1).exp() + x.neg().neg().sin() + x.t().t().cos() + y[0] + y[0:2]
    graph = traced(f, torch.rand(2, 2))
    expected = Interpreter(graph).run(torch.eye(2))
    assert simplify(graph) >= 4
    dead_code(graph)
    assert "neg" not in ops(graph) and "copy" not in ops(graph) and "view.transpose" not in ops(graph)
    assert torch.equal(Interpreter(graph).run(torch.eye(2)), expected)


def test_constants_are_folded():
    w = torch.randn(3, 3)

    def f(x):
        return x @ (w.t() * 2).exp()
    graph = traced(f, torch.randn(2, 3), names={"w": w})
    assert fold_constants(graph, {"w": w}) == 3
    dead_code(graph)
    assert len(ops(graph)) == 1
    x = torch.randn(2, 3)
    torch.testing.assert_close(Interpreter(graph).run(x), f(x))


@pytest.mark.parametrize("seed", range(5))
def test_fused_chains_compute_the_same_with_their_gradients(seed):
    shapes = (6, 5), (5,), (6, 1)
    torch.manual_seed(seed)
    graph = traced(chain(seed), *[torch.randn(*s) for s in shapes])
    fewer, did = optimized(graph)
    assert did["fusion"] and len(fewer.nodes) < len(graph.nodes)
    fewer = parse(str(fewer), fewer.constants)
    inputs = [torch.randn(*s, requires_grad=True) for s in shapes]
    results = []
    for each in (graph, fewer):
        out = Interpreter(each).run(*inputs)
        slopes = torch.autograd.grad(sum((o * (i + 1)).sum() for i, o in enumerate(out)), inputs, allow_unused=True)
        results.append([*out, *[s for s in slopes if s is not None]])
    assert len(results[0]) == len(results[1])
    for a, b in zip(*results):
        torch.testing.assert_close(b, a, rtol=1e-4, atol=1e-5)


def test_a_chain_of_ten_is_one_kernel():
    def f(x, b):
        y = (x * 2 + b).tanh() * x
        return torch.where(y > 0, y.exp(), y / 3).sigmoid() - b, y
    graph = traced(f, torch.randn(7, 3), torch.randn(3))
    fewer, did = optimized(graph)
    assert ops(fewer) == ["fused"] and did == {"fusion": 1}
    x, b = torch.randn(7, 3), torch.randn(3)
    for e, g in zip(f(x, b), Interpreter(fewer).run(x, b)):
        torch.testing.assert_close(g, e)


def test_fused_calls_of_a_file_are_checked():
    text = "graph(%x: float32[2]):\n  %1: float32[2] = fused[(({op}, {a}),), (0,), (layout(float32, (2,), (1,), 'cpu', False),)](%x)\n  return %1"
    good = parse(text.format(op="'sin'", a="('x', 0)"))
    torch.testing.assert_close(Interpreter(good).run(torch.ones(2)), torch.ones(2).sin())
    for op, a in (("'sin'", "('x', 1)"), ("'mm'", "('x', 0)"), ("'sin'", "('x', '0) or print(')"), ("'sin(1) or sin'", "('x', 0)"), ("'sin'", "('v', 0)")):
        with pytest.raises(ValueError, match="no call that can be fused"):
            Interpreter(parse(text.format(op=op, a=a))).run(torch.ones(2))


def test_memory_is_planned():
    """Values that live at one time do not overlap, and the block is no larger than it must be for a chain."""
    graph = traced(lambda x: ((x.sin().cumsum(0).cos() @ x).view(-1).exp().sum(), x.flip(0).cumsum(0)), torch.randn(16, 16))
    plan = memory_plan(graph)
    assert plan.peak <= plan.arena <= plan.total and plan.arena == 2 * 16 * 16 * 4
    assert memory_plan(optimized(traced(lambda x: x.sin().cos().exp(), torch.randn(64)))[0]).total == 0


# ---------------------------------------------------------------- freezing
class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.norm1 = torch.nn.Conv2d(4, 4, 3, padding=1, bias=False), torch.nn.BatchNorm2d(4)
        self.conv2, self.norm2 = torch.nn.Conv2d(4, 4, 3, padding=1), torch.nn.BatchNorm2d(4, affine=False)
        self.fc, self.norm3 = torch.nn.Linear(4, 3), torch.nn.BatchNorm1d(3)

    def forward(self, x):
        y = torch.relu(self.norm1(self.conv1(x)))
        y = torch.relu(self.norm2(self.conv2(y)) + x)
        return torch.tanh(self.norm3(self.fc(y.mean((2, 3))))) * 2


def test_norms_are_folded_and_a_frozen_module_is_saved(tmp_path):
    torch.manual_seed(0)
    net, x = Block(), torch.randn(6, 4, 5, 5)
    for _ in range(3):
        net(torch.randn(6, 4, 5, 5) * 2 + 1)
    with pytest.raises(RuntimeError, match="eval mode"):
        torch.jit.freeze(torch.jit.trace(net, x))
    net.eval()
    expected = net(x).detach()
    for make in (torch.jit.freeze, torch.jit.optimize_for_inference):
        frozen = make(torch.jit.trace(net, x))
        assert "batch_norm" not in ops(frozen.graph) and frozen.passes["norms"] == 3 and not list(frozen.parameters())
        torch.testing.assert_close(frozen(x), expected, rtol=1e-4, atol=1e-5)
        assert frozen(torch.randn(2, 4, 7, 7)).shape == (2, 3)
        file = io.BytesIO()
        frozen.save(file)
        file.seek(0)
        torch.testing.assert_close(torch.jit.load(file)(x), expected, rtol=1e-4, atol=1e-5)
    assert ops(frozen.graph) == ["convolution_relu", "epilogue", "mean", "epilogue"]
    with torch.no_grad():
        net.conv1.weight.zero_()                         # what is frozen is a copy
    torch.testing.assert_close(frozen(x), expected, rtol=1e-4, atol=1e-5)


class Attention(torch.nn.Module):
    """What rows, epilogues and elementwise calls are fused in."""

    def __init__(self):
        super().__init__()
        self.norm, self.into, self.back = torch.nn.LayerNorm(8), torch.nn.Linear(8, 24), torch.nn.Linear(8, 8)

    def forward(self, x, mask):
        q, k, v = self.into(self.norm(x)).chunk(3, -1)
        weights = torch.softmax(q @ k.transpose(1, 2) * 0.35, -1) * mask.sigmoid()
        return torch.nn.functional.gelu(self.back(weights @ v)) + x


def test_attention_is_prepared_for_inference_and_saved():
    torch.manual_seed(0)
    net, args = Attention().eval(), (torch.randn(2, 70, 8), torch.randn(2, 70, 70))
    fast = torch.jit.optimize_for_inference(torch.jit.trace(net, args))
    assert {"rows", "epilogues"} <= fast.passes.keys()
    file = io.BytesIO()
    fast.save(file)
    file.seek(0)
    for program in (fast, torch.jit.load(file), torch.jit.optimize_for_inference(torch.jit.load(io.BytesIO(file.getvalue())))):
        torch.testing.assert_close(program(*args), net(*args).detach(), rtol=1e-4, atol=1e-5)


# ---------------------------------------------------------------- writes in place
def add_rows(x):
    return x.index_add_(0, torch.tensor([1]), torch.ones(1, 3))


IN_PLACE = {                                             # programs, how many writes there are, and how many need no copy
    "a value of its own": (lambda x: add_rows(add_rows(x * 2)), 2, 2),
    "what was made of it before": (lambda x: (lambda y, z: (add_rows(y), z)[1])(*(lambda y: (y, y * 2))(x * 2)), 1, 1),
    "a view that is read afterwards": (lambda x: (lambda y: (lambda v: (add_rows(y), v.sum()))(y[1:]))(x * 2), 1, 1),
    "an argument": (lambda x: add_rows(x) * 2, 1, 1),
    "an argument that is copied before": (lambda x: (lambda before: (add_rows(x), before))(x.clone()), 1, 1),
    "a part": (lambda x: (lambda y: (y[1:].mul_(2), y)[1])(x + 1), 1, 1),
    "a part of an argument's copy": (lambda x: (lambda y: (y[1:].mul_(2), x)[0])(x.clone()), 1, 1),
    "rows of itself": (lambda x: (lambda y: y.index_add_(0, torch.tensor([0]), y[1:2]))(x + 1), 1, 0),
}


@pytest.mark.parametrize("name", IN_PLACE)
def test_writes_go_into_memory_that_nobody_reads_any_more(name):
    program, writes, count = IN_PLACE[name]
    graph = traced(program, torch.randn(4, 3))
    executor = Executor(graph, {}, [])
    x = torch.randn(4, 3)
    a, b, c = x.clone(), x.clone(), x.clone()
    wanted = program(a)
    for found in (executor.run(b), Interpreter(graph).run(c)):
        for one, other in zip(tensors(found), tensors(wanted), strict=True):
            assert torch.equal(one, other)
    assert torch.equal(a, b) and torch.equal(a, c)
    places = writes_in_place(graph)
    assert (len(places), sum(map(len, places.values()))) == (writes, count), graph
