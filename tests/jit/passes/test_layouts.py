"""Convolutions with channels last: which calls lie so, that nothing else changes, and that the clock decides."""
import pytest
from replays import kind_of
from settling import close, hurry
from tracedgraphs import ops, traced

import numtorch as torch
from numtorch import nn
from numtorch.jit import Interpreter, parse
from numtorch.jit.compiling import improving, inference, timing
from numtorch.jit.passes import choices, optimized
from numtorch.jit.passes.layouts import lay_out

F = nn.functional
pytestmark = pytest.mark.usefixtures("soon")
POINT = (16, 16, 1, 1)                                   # a kernel of one element: the same product in both orders


def chain(x, w, v, b):
    y = F.avg_pool2d(F.relu(F.conv2d(x, w, b)), 2)
    z = F.conv2d(y, v) + y * b[:, None, None]
    return F.conv2d(torch.tanh(z) * 2, v).mean((2, 3)), z


def views(x, w, v, b):
    y = F.conv2d(F.conv2d(x, w, b), v)
    return y.flatten(1) @ y.flatten(1).t(), y[:, 1:3], y.permute(1, 0, 2, 3).reshape(16, -1).sum(1)


def residual(x, w, v, b):
    y = F.conv2d(x, w).sigmoid() + x
    return torch.maximum(F.conv2d(y, v, b), x) * (y > 0), y


def arguments(batch=2, size=8, dtype=torch.float32):
    torch.manual_seed(1)
    return [torch.randn(*shape, dtype=dtype) for shape in ((batch, 16, size, size + 2), POINT, POINT, (16,))]


@pytest.mark.parametrize("program", [chain, views, residual])
def test_chains_lie_with_channels_last_and_results_as_they_did(program):
    for given in (arguments(), arguments(3, 6), arguments(1, 8, torch.float64)):
        graph = traced(program, *given)
        before = str(graph)
        wanted = program(*given)
        for fusing in (False, True):
            laid, did = optimized(graph, channels_last=True, fusing=fusing)
            assert did["channels last"] == ops(graph).count("convolution")
            for each in (laid, parse(str(laid), laid.constants)):
                for change in (lambda t: t, lambda t: t.to(memory_format=torch.channels_last) if t.ndim == 4 else t):
                    found = Interpreter(each).run(*map(change, given))
                    for a, b in zip(found, wanted, strict=True):
                        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-5)
                        assert a.stride() == b.stride() or change(given[0]) is not given[0]
        assert str(graph) == before


def test_copies_stand_at_the_ends_alone():
    graph = traced(chain, *arguments())
    laid, _ = optimized(graph, channels_last=True, fusing=False)
    assert [op for op in ops(laid) if not op.startswith("view.")] == [
        "clone", "convolution", "relu", "avg_pool2d", "convolution", "mul", "add", "tanh", "mul", "convolution", "mean", "clone"]


def test_gradients_of_what_lies_so():
    given = arguments()
    graph = traced(chain, *given)
    laid, _ = optimized(graph, channels_last=True)
    grads = []
    for each in (graph, laid):
        leaves = [t.clone().requires_grad_() for t in given]
        first, second = Interpreter(each).run(*leaves)
        grads.append(torch.autograd.grad(first.square().sum() + second.sum(), leaves))
    for a, b in zip(*grads):
        torch.testing.assert_close(a, b, rtol=1e-3, atol=1e-4)


def test_graphs_without_chains_are_as_they_were():
    for program in (lambda x, w, v, b: F.conv2d(x, w), lambda x, w, v, b: x * 2):
        graph = traced(program, *arguments())
        text = str(graph)
        assert lay_out(graph) == 0 and str(graph) == text and len(choices(graph)) == 1


def network():
    torch.manual_seed(2)
    return nn.Sequential(nn.Conv2d(16, 16, 1), nn.BatchNorm2d(16), nn.ReLU(), nn.Conv2d(16, 16, 1), nn.ReLU(), nn.AvgPool2d(2)).eval()


@pytest.mark.parametrize("which", [0, 1])
def test_the_faster_of_both_is_taken(monkeypatch, which):
    for module in (improving, inference):
        monkeypatch.setattr(module, "fastest", lambda runs, devices: [run() for run in runs] and which)
    net, x = network(), arguments()[0]
    fast = torch.jit.optimize_for_inference(torch.jit.trace(net, x))
    assert fast.passes.get("channels last", 0) == 2 * which
    torch.testing.assert_close(fast(x), net(x).detach(), rtol=1e-4, atol=1e-5)

    @torch.compile
    def function(x):
        with torch.no_grad():
            return net(x)
    for _ in range(60):
        close(function(x), net(x).detach())
        for replay in kind_of(function).replays:
            hurry(replay.better)
    explained = torch.compile.explain(function)(x)
    assert explained.settled and explained.passes.get("channels last", 0) == 2 * which, explained
    assert function(x).stride() == net(x).stride()
    assert not which or "channels last: 2" in str(explained)


def test_a_training_step(monkeypatch):
    """Backward's convolutions are in the chain, and gradients lie as parameters do."""
    monkeypatch.setattr(improving, "fastest", lambda runs, devices: [run() for run in runs] and len(runs) - 1)
    nets = [nn.Sequential(nn.Conv2d(16, 16, 1), nn.Tanh(), nn.Conv2d(16, 16, 1), nn.Sigmoid()) for _ in range(2)]
    nets[1].load_state_dict(nets[0].state_dict())

    def step_of(net):
        def step(x):
            net.zero_grad()
            loss = net(x).square().mean()
            loss.backward()
            return loss
        return step
    eager, compiled = step_of(nets[0]), torch.compile(step_of(nets[1]))
    for _ in range(30):
        x = torch.randn(2, 16, 8, 10)
        close(compiled(x), eager(x))
        for a, b in zip(nets[0].parameters(), nets[1].parameters()):
            close(b.grad, a.grad)
            assert a.grad.stride() == b.grad.stride()
        for replay in kind_of(compiled).replays:
            hurry(replay.better)
    explained = torch.compile.explain(compiled)(x)
    assert explained.passes.get("channels last") == 2, explained


def test_the_fastest_by_the_clock(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(timing.time, "perf_counter", lambda: now[0])

    def takes(seconds):
        def run():
            now[0] += seconds
        return run
    assert timing.fastest([takes(3.0), takes(1.0), takes(2.0)], ()) == 1 and timing.fastest([takes(1.0)], ()) == 0
