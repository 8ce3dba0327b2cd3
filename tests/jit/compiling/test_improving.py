"""What compiled functions become when they run often: the graph of a call, after passes, in the place of its replay."""
from __future__ import annotations

import io
import threading

import numpy as np
import pytest
from replays import Pair, batch, classes, is_replayed, kind_of, perceptron, same, sgd, training, why
from settling import close, hurry, settled

import numtorch as torch
from numtorch import nn
from numtorch.jit import Interpreter
from numtorch.jit.capturing.capture import Watch
from numtorch.jit.compiling import improving
from numtorch.kernels import ahead, compiler, debugmemory
from numtorch.ops.core.primitive import miss, registry

pytestmark = [pytest.mark.usefixtures("soon"), pytest.mark.skipif(compiler.DISABLE_JIT or bool(debugmemory.MODE),
              reason="nothing is captured with NUMBA_DISABLE_JIT and NUMTORCH_DEBUG_MEMORY")]
F = nn.functional


def test_a_chain_of_elementwise_ops_becomes_one_launch():
    def f(x, y):
        return torch.tanh(x * 2 + y).sigmoid() * x - y
    x, y = torch.randn(300), torch.randn(300)
    function = torch.compile(f)
    found = settled(function, x, y)
    assert found.reason == "it was replaced" and found.passes == {"fusion": 1}
    assert kind_of(function).replays[0].launches == 1
    for _ in range(3):
        x, y = torch.randn(300), torch.randn(300)
        close(function(x, y), f(x, y))
    assert torch.compile.explain(function)(x, y).passes == {"fusion": 1}
    assert "fusion: 1" in str(torch.compile.explain(function)(x, y))


@pytest.mark.parametrize("f, passes, launches", [
    (lambda x: (torch.cumsum(x @ x, 0), (x @ x).sort(1)[0]), {"subexpressions": 1}, -1), (lambda x: (x @ x, x.cumsum(0))[0], {"dead code": 1}, -1)],
    ids=["twice", "unused"])
def test_a_product_that_is_made_for_nothing_is_reason_enough_for_a_graph(f, passes, launches):
    function, x = torch.compile(f), torch.randn(60, 60)
    found = settled(function, x)
    replays = kind_of(function).replays
    assert found.reason == "it was replaced" and found.passes == passes and replays[0].launches == found.replay.launches + launches
    close(function(x), f(x))


def _turned(x):
    """A gradient that is constant, in the order that backward gives it, beside what becomes one launch."""
    leaf = x.detach().clone().requires_grad_()
    out = torch.rot90(leaf)
    return (out.detach() * 2 + 1).sin(), torch.autograd.grad((out * 1.5).sum(), [leaf])


def _spread(x):
    leaf = x.detach().clone().requires_grad_()
    return (x * 2 + 1).sin(), torch.autograd.grad(torch.einsum("ijk->", leaf) * 1.5, [leaf])


@pytest.mark.parametrize("f", [_turned, _spread, lambda x: ((x * 2 + 1).sin().chalf(), (x,))], ids=["turned", "spread", "half complex"])
def test_results_lie_in_memory_as_they_did(f):
    function, x = torch.compile(f), torch.randn(3, 4, 5)
    found = settled(function, x)
    assert found.reason == "it was replaced", found.reason
    (one, (other,)), (first, (second,)) = function(x), f(x)
    assert one.stride() == first.stride() and other.stride() == second.stride()
    assert same(other, second) and one.dtype is first.dtype
    assert (one - first).abs().max() < (1e-2 if one.dtype is torch.complex32 else 1e-5)


def test_views_that_nobody_uses_are_none():
    function = torch.compile(lambda x: (x.t(), x.cumsum(0))[1])
    assert settled(function, torch.randn(6, 6)).reason == "there is nothing for passes to do"


def test_what_is_kept_of_an_operand_that_is_written_is_no_constant():
    """The tape keeps a copy of it, which the graph must not have as it was in the call that was traced."""
    torch.manual_seed(0)
    weight = torch.randn(3).requires_grad_()

    def step(x):
        weight.grad = None
        y = weight * x
        (y * 1).mul_(y).sigmoid_().sum().backward()
        return weight.grad * 1
    function, x = torch.compile(step), torch.randn(3)
    settled(function, x)                                 # of equal data, so that comparing results tells nothing
    for _ in range(3):
        x = torch.randn(3)
        close(function(x), step(x))


def test_replay_mode_stays_launches():
    function = torch.compile(lambda x: (x * 2 + 1).exp(), mode="replay")
    for _ in range(30):
        function(torch.ones(3))
    assert kind_of(function).replays[0].better is None and kind_of(function).replays[0].launches == 3


@pytest.mark.parametrize("name, options", [("SGD", dict(lr=0.1)), ("SGD", dict(lr=0.1, momentum=0.9)), ("Adam", dict(lr=0.01)),
                                           ("AdamW", dict(lr=0.01, amsgrad=True)), ("RMSprop", dict(lr=0.01)), ("ASGD", {})])
def test_a_whole_training_step_is_one_graph(name, options):
    def network():
        return nn.Sequential(nn.Linear(8, 16), nn.BatchNorm1d(16), nn.Tanh(), nn.Dropout(0.2), nn.Linear(16, 4))
    make = training(lambda parameters: getattr(torch.optim, name)(parameters, **options))
    pair = Pair(network, make, mode=None)
    replay = None
    for number in range(40):
        torch.manual_seed(number)
        wanted = pair.eager(batch(number), classes(number))
        torch.manual_seed(number)
        given = pair.compiled(batch(number), classes(number))
        close(given, wanted)
        assert given.requires_grad
        for a, b in zip(pair.nets[0].parameters(), pair.nets[1].parameters()):
            close(b.grad, a.grad)
            with torch.no_grad():
                b.copy_(a)                               # what rounding makes of a step is not carried on
        replay = kind_of(pair.compiled).replays[:1] or [None]
        hurry(replay[0] and replay[0].better)
    assert is_replayed(pair.compiled), why(pair.compiled)
    assert replay[0].passes.get("fusion"), replay[0].stays
    for a, b in zip(pair.eager.optimizer.state.values(), pair.step.optimizer.state.values(), strict=True):
        assert all(a[key] == b[key] for key in a if key == "step")


def test_backward_hooks_of_modules_are_in_the_graph():
    """What they make of gradients is, whether they are asked of one layer, of one with several results, or before."""
    class Both(nn.Module):
        def forward(self, x):
            return x.tanh(), x.sigmoid()

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.both, self.last = nn.Linear(8, 16), Both(), nn.Linear(16, 4)
            self.both.register_full_backward_hook(lambda module, inputs, outputs: (inputs[0] * 0.5 + outputs[0],))
            self.last.register_full_backward_pre_hook(lambda module, outputs: (outputs[0].clamp(-0.1, 0.1),))

        def forward(self, x):
            a, b = self.both(self.first(x))
            return self.last(a * b)
    pair = Pair(Net, training(sgd), mode=None)
    replay = None
    for number in range(24):
        close(pair.compiled(batch(number), classes(number)), pair.eager(batch(number), classes(number)))
        for a, b in zip(pair.nets[0].parameters(), pair.nets[1].parameters()):
            close(b.grad, a.grad)
        replay = kind_of(pair.compiled).replays[:1] or [None]
        hurry(replay[0] and replay[0].better)
    assert is_replayed(pair.compiled), why(pair.compiled)
    assert replay[0].passes.get("fusion"), replay[0].stays


def test_a_process_that_has_compiled_kernels_captures_what_misses_its_plans(monkeypatch):
    """As every node of a graph does. Whether children may compile ahead asks for the profiler, which is capture's own then."""
    monkeypatch.setattr(ahead, "_most", lambda: 1)
    monkeypatch.setattr(ahead.statistics, "compiled", 1)
    x, watch = torch.softmax(torch.ones(3, 5), 1), Watch()
    watch.run(lambda: miss(registry["softmax"], (x,), (1,)), (), {})
    watch.memory.close()
    assert not watch.breaks


def test_tensors_that_a_function_makes_are_constants_of_its_graph():
    """As the first state of a recurrent network is. Their memory is the graph's own, and lives as long as its program."""
    def f(x):
        state, steps = torch.zeros(3, 5), torch.arange(5.0)
        for _ in range(3):
            state = torch.tanh(state * 2 + x) * steps
        return state
    function = torch.compile(f)
    found = settled(function, torch.ones(3, 5))
    assert found.reason == "it was replaced" and found.passes["fusion"]
    for _ in range(5):
        others = [torch.full((3, 5), 7.0) for _ in range(9)]
        x = torch.randn(3, 5)
        close(function(x), f(x))
    del others


def test_a_recurrent_step_becomes_its_graph():
    """Its layers share zeros that their plans keep."""
    class Reader(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer, self.cell, self.head = nn.GRU(8, 6, batch_first=True, bidirectional=True), nn.GRUCell(12, 6), nn.Linear(6, 4)

        def forward(self, x):
            read, _ = self.layer(x.unsqueeze(1).expand(-1, 3, -1))
            state = torch.zeros(len(x), 6)
            for t in range(3):
                state = self.cell(read[:, t].tanh() * 2, state)
            return self.head(state.sigmoid() * 2 - 1)
    pair, replay = Pair(Reader, training(sgd), mode=None), None
    for number in range(24):
        close(pair.compiled(batch(number), classes(number)), pair.eager(batch(number), classes(number)))
        replay = kind_of(pair.compiled).replays[:1] or [None]
        hurry(replay[0] and replay[0].better)
    assert replay[0].passes.get("fusion"), replay[0].stays


def test_accumulated_gradients_and_writes_in_place():
    def make(net):
        seen = torch.zeros(4)

        def step(x, y):
            loss = F.cross_entropy((net(x) * 2 + 1).tanh(), y)
            loss.backward()
            with torch.no_grad():
                seen.mul_(0.5).add_(x.exp().sum(0)[:4])
                x[0] = 7.0
            return loss, seen
        return step
    pair = Pair(perceptron, make, mode=None)
    for number in range(24):
        x, y, target = batch(number), batch(number), classes(number)
        wanted, given = pair.eager(x, target), pair.compiled(y, target)
        close(given[0], wanted[0]), close(given[1], wanted[1])
        assert same(x, y)
        for a, b in zip(pair.nets[0].parameters(), pair.nets[1].parameters()):
            close(b.grad, a.grad)
        for replay in kind_of(pair.compiled).replays:
            hurry(replay.better)
    assert kind_of(pair.compiled).replays[0].passes, kind_of(pair.compiled).replays[0].better


def test_derivatives_in_the_graph_of_a_step_run_what_backward_runs():
    net = nn.Sequential(nn.Embedding(20, 8), nn.LayerNorm(8), nn.Flatten(), nn.Linear(32, 5))

    def step(x, y):
        net.zero_grad()
        loss = F.cross_entropy(net(x) * 2 + 1, y)
        loss.backward()
        return loss
    function = torch.compile(step)
    x, y = torch.randint(0, 20, (3, 4)), torch.randint(0, 5, (3,))
    step(x, y)
    found = [replay.better for _ in range(4) if function(x, y) is not None for replay in kind_of(function).replays]
    graph = found[-1].graph
    assert {"gradient.cross_entropy", "gradient.layer_norm", "gradient.embedding"} <= {node.op for node in graph.nodes}
    inputs = [x, y]
    step(x, y)
    wanted = [p.grad for p in net.parameters()]
    assert "gradient.layer_norm[" in str(graph)
    Interpreter(graph).run(*inputs)
    for p, grad in zip(net.parameters(), wanted):
        close(p.grad, grad)
    assert settled(function, x, y).reason == "it was replaced"


def test_the_slower_of_both_goes():
    function = torch.compile(lambda x: (x * 2 + 1).exp())
    found = settled(function, torch.ones(3), wins=False)
    assert found.reason == "it is faster than its graph" and kind_of(function).replays[0].launches == 3


def test_a_call_that_is_not_traced_stays_replayed_and_has_had_no_effect(monkeypatch):
    def halfway(function, args, kwargs, *rest):
        function(*args, **kwargs)
        raise NotImplementedError("half of it is done")
    monkeypatch.setattr(improving, "traced_call", halfway)
    pair = Pair(perceptron, training(sgd), mode=None).run(8, batch, classes)
    assert kind_of(pair.compiled).replays[0].stays == "it is not traced: half of it is done"


def test_a_graph_that_gives_something_else_is_not_taken(monkeypatch):
    def wrong(graph, **options):
        (graph, done), = choices(graph, **options)
        for node in graph.nodes:
            if node.op == "fused":
                (op, first, second), *rest = node.attributes[0]
                node.attributes = ((op, first, second * 1.01), *rest), *node.attributes[1:]
        return [(graph, done)]
    choices = improving.choices
    monkeypatch.setattr(improving, "choices", wrong)
    function = torch.compile(lambda x: (x * 2 + 1).exp())
    assert settled(function, torch.ones(3)).reason == "its graph gives something else"
    assert same(function(torch.ones(3)), (torch.ones(3) * 2 + 1).exp())


def test_no_other_thread_sees_traced_tensors():
    stop, weight = threading.Event(), torch.ones(3)
    other = threading.Thread(target=stop.wait)
    other.start()
    try:
        function, pure = torch.compile(lambda x: (x * 2 + weight).exp()), torch.compile(lambda x: (x * 2 + 1).exp())
        for _ in range(10):
            function(torch.ones(3))
        assert kind_of(function).replays[0].better.stage.__name__ == "_wait"
        assert settled(pure, torch.ones(3)).reason == "it was replaced"          # there is nothing to see of it
    finally:
        stop.set()
        other.join()
    assert settled(function, torch.ones(3)).reason == "it was replaced"
    assert torch.compile.explain(function)(torch.ones(3)).settled


def test_threads_of_progress_bars_see_no_tensors():
    tqdm, weight = pytest.importorskip("tqdm"), torch.ones(3)
    function = torch.compile(lambda x: (x * 2 + weight).exp())
    with tqdm.tqdm(total=3, file=io.StringIO()):
        assert any(type(thread).__module__.startswith("tqdm") for thread in threading.enumerate())
        assert settled(function, torch.ones(3)).reason == "it was replaced"
    tqdm.tqdm.monitor.exit()


def test_tensors_of_inference_mode_are_reached():
    with torch.inference_mode():
        weight = torch.arange(3.0)
    function = torch.compile(lambda x: (x * weight + 1).exp())
    found = settled(function, torch.ones(3))
    assert "Inference tensors" in found.reason           # its launches stay
    close(function(torch.ones(3)), (weight + 1).exp())


def test_random_streams_are_where_they_would_be():
    def f(x):
        return F.dropout(x * 2 + 1, 0.5).exp()
    function, x = torch.compile(f), torch.ones(64)
    torch.manual_seed(1)
    wanted = [f(x) for _ in range(30)]
    torch.manual_seed(1)
    found = []
    for _ in range(30):
        found.append(function(x))
        replays = kind_of(function).replays
        hurry(replays[0].better if replays else None)
    for a, b in zip(found, wanted):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-5)


def test_what_functions_of_the_library_were_given_is_reached():
    """The step of a trainer, and a transform of func, are this package's code: what they hold is the user's, and changes."""
    net = nn.Linear(3, 2)
    scale = {"by": 2.0}

    class Loss:
        def total(self, x):
            return (net(x) * scale["by"]).sum()
    function = torch.compile(torch.func.grad(Loss().total))
    x = torch.ones(4, 3)
    assert not torch.compile.explain(torch.func.grad(Loss().total))(x).breaks
    for factor in (2.0, 3.0):
        scale["by"] = factor
        for _ in range(8):
            close(function(x), (net.weight.detach() * factor).sum(0).expand(4, 3))
    from numtorch.utils.trainer.steps import whole_step
    layers, results = [nn.Linear(3, 2), nn.Linear(3, 2)], []
    layers[1].load_state_dict(layers[0].state_dict())
    y = torch.randn(4, 2)
    for layer, make in zip(layers, (torch.compile, lambda function: function)):
        optimizer = torch.optim.Adam(layer.parameters(), 0.1)
        step = whole_step(layer, F.mse_loss, optimizer, None, None) if make is torch.compile else None
        for number in range(12):
            layer.bias.requires_grad_(number < 8)
            if step is None:
                optimizer.zero_grad()
                F.mse_loss(layer(x), y).backward()
                optimizer.step()
            else:
                step(x, y)
        results.append(torch.cat([p.detach().flatten() for p in layer.parameters()]))
    close(*results)


@pytest.mark.parametrize("generator", [None, torch.Generator()])
def test_numbers_that_a_trace_would_freeze_are_drawn(generator):
    """Also where results are equal by chance as the graph is compared, as when dropout leaves nothing."""
    def f(x):
        return (F.dropout(x * x, 0.9) * torch.rand(2, generator=generator) + 1).sin() * 2

    def results(function, count):
        torch.manual_seed(0)
        if generator is not None:
            generator.manual_seed(0)
        found = []
        for _ in range(count):
            found += [function(torch.ones(2)), torch.rand(2, generator=generator)]
            if function is not f and kind_of(function).replays:
                hurry(kind_of(function).replays[0].better)
        return found
    for found, wanted in zip(results(torch.compile(f), 40), results(f, 40), strict=True):
        close(found, wanted)
