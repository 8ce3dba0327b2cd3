"""Compiled calls whose results have a graph: forward and backward are programs of their own, and give what eager calls give."""
import copy
import pickle
import threading

import pytest
from recordings import recording_of, settle
from replays import kind_of, same

import numtorch as torch
from numtorch import nn
from numtorch.jit.compiling.recorded import ATTEMPTS
from numtorch.kernels import compiler, debugmemory

pytestmark = [pytest.mark.usefixtures("faster"), pytest.mark.skipif(compiler.DISABLE_JIT or bool(debugmemory.MODE),
              reason="nothing is captured with NUMBA_DISABLE_JIT and NUMTORCH_DEBUG_MEMORY")]
F = nn.functional


class Attending(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.places = nn.Embedding(11, 16), nn.Parameter(torch.randn(6, 16) * 0.1)
        self.layer = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True)
        self.norm, self.head = nn.LayerNorm(16), nn.Linear(16, 11, bias=False)
        self.head.weight = self.words.weight

    def forward(self, x):
        return self.head(self.norm(self.layer(self.words(x) + self.places)))


class Reading(nn.Module):
    def __init__(self, kind=nn.LSTM):
        super().__init__()
        self.words, self.layer, self.head = nn.Embedding(11, 8), kind(8, 12, batch_first=True), nn.Linear(12, 11)

    def forward(self, x):
        return self.head(self.layer(self.words(x))[0])


NETWORKS = {
    "perceptron": (lambda: nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Dropout(0.2), nn.BatchNorm1d(16), nn.Linear(16, 11)),
                   lambda: torch.randn(32, 8), 32),
    "convolutions": (lambda: nn.Sequential(nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2),
                                           nn.Conv2d(4, 6, 3), nn.GELU(), nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(24, 11)),
                     lambda: torch.randn(4, 1, 12, 12), 4),
    "attention": (Attending, lambda: torch.randint(0, 11, (3, 6)), 18),
    "recurrent": (Reading, lambda: torch.randint(0, 11, (3, 6)), 18),
    "recurrent, gated": (lambda: Reading(nn.GRU), lambda: torch.randint(0, 11, (3, 6)), 18),
    "recurrent, plain": (lambda: Reading(nn.RNN), lambda: torch.randint(0, 11, (3, 6)), 18),
}


@pytest.mark.parametrize("mode", ["replay", "default"])
@pytest.mark.parametrize("name", NETWORKS)
def test_the_usual_loop_trains_a_compiled_network(name, mode):
    """To rounding; in bits where nothing is put together otherwise, running statistics and dropout included."""
    make, draw, count = NETWORKS[name]
    torch.manual_seed(0)
    net = make()
    nets = net, copy.deepcopy(net)
    models = net, torch.compile(nets[1], mode=mode)
    optimizers = [torch.optim.Adam(each.parameters(), 0.01) for each in nets]
    for step in range(14):
        losses = []
        torch.manual_seed(step)
        x, y = draw(), torch.randint(0, 11, (count,))
        for model, optimizer in zip(models, optimizers):
            torch.manual_seed(step)
            optimizer.zero_grad(set_to_none=step % 3 != 0)
            loss = F.cross_entropy(model(x).reshape(-1, 11), y)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            losses.append(loss.detach())
        torch.testing.assert_close(*losses, rtol=1e-3, atol=1e-4)
        pending = recording_of(models[1]) and recording_of(models[1]).pending
        if pending and pending[1] is not None:
            pending[1].join()
    recording = recording_of(models[1])
    assert recording.programs and recording.reason is None, recording.reason
    if (name, mode) == ("perceptron", "replay"):
        assert all(same(a, b) for a, b in zip(nets[0].state_dict().values(), nets[1].state_dict().values()))
    assert bool(recording.programs[0].passes) == (mode == "default" and not name.startswith("recurrent"))


def gradients_of(function, *shapes, seed=0):
    torch.manual_seed(seed)
    leaves = [torch.randn(shape).requires_grad_() for shape in shapes]
    results = function(*[x * 1 for x in leaves])         # arguments with a history
    parts = list(results.values() if isinstance(results, dict) else results if isinstance(results, tuple) else (results,))
    total = sum([(r * torch.arange(r.numel()).reshape(r.shape).cos()).sum() for r in parts if r.requires_grad])
    return [p.detach().clone() for p in parts], torch.autograd.grad(total, leaves, allow_unused=True)


INDEX = torch.tensor([0, 2, 0])
FUNCTIONS = {
    "one": (lambda x, y: (x @ y).tanh() * x.sum(), [(3, 3), (3, 3)]),
    "several": (lambda x, y: (x * y, (x + y).sum(0), x.argmax(1)), [(3, 4), (3, 4)]),
    "a dict": (lambda x: {"a": x.exp(), "b": x.sum()}, [(4,)]),
    "passed on": (lambda x, y: x + y, [(2, 3), (2, 3)]),
    "passed on otherwise": (lambda x, y: x.t() + y.sum(), [(2, 3), (2, 3)]),
    "a sum": (lambda x: x.sum(), [(2, 3)]),
    "not used": (lambda x, y: x * 2, [(2, 3), (2, 3)]),
    "views of results": (lambda x: (lambda y: y.t() * 3)(x.sin()), [(2, 3)]),
    "equal results": (lambda x: (x * 2, x * 2), [(2, 3)]),
    "written within": (lambda x: (x * 1).mul_(x).add_(1), [(3,)]),
    "indices": (lambda x: x[INDEX].softmax(-1), [(3, 4)]),
    "a number": (lambda x: (x * 2, 7)[0], [(3,)]),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_arguments_with_graphs(name):
    function, shapes = FUNCTIONS[name]
    compiled = torch.compile(function, mode="replay")
    for seed in range(8):
        (outs, grads), (wanted, expected) = (gradients_of(f, *shapes, seed=seed) for f in (compiled, function))
        torch.testing.assert_close((outs, [g for g in grads if g is not None]), (wanted, [g for g in expected if g is not None]))
        assert [g is None for g in grads] == [g is None for g in expected]
    assert recording_of(compiled).programs, recording_of(compiled).reason


def test_what_eager_calls_allow():
    """Several calls before one backward, backward twice, gradients that add up, switching to eval, other shapes, no_grad."""
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.BatchNorm1d(8), nn.Linear(8, 1))
    nets = net, copy.deepcopy(net)
    models = net, torch.compile(nets[1], mode="replay")
    for number in range(24):
        found = []
        for model, each in zip(models, nets):
            torch.manual_seed(number)
            model.train(number % 4 != 3)
            a, b = model(torch.randn(5, 4)), model(torch.randn(5 + number % 2, 4))
            loss = a.mean() - b.square().mean()
            loss.backward(retain_graph=True)
            loss.backward()
            with torch.no_grad():
                c = model(torch.randn(5, 4))
            if number == 15:
                each[0].weight.requires_grad_(False)
            found.append([a, b, c, *[p.grad for p in each.parameters()], *each.buffers()])
        for a, b in zip(*found, strict=True):
            assert (a is None) == (b is None)
            if a is not None:
                torch.testing.assert_close(a, b)
    assert any(kind.recording and kind.recording.programs for kind in models[1]._compiled._kinds.values())


def test_gradients_of_gradients():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 8), nn.Softplus(), nn.Linear(8, 1))
    compiled = torch.compile(net, mode="replay")

    def penalty(model, x):
        x = x.clone().requires_grad_()
        slope, = torch.autograd.grad(model(x).sum(), x, create_graph=True)
        return torch.autograd.grad((slope.norm(dim=1) - 1).square().mean(), list(net.parameters())[:3])
    for _ in range(8):
        x = torch.randn(5, 4)
        torch.testing.assert_close(penalty(compiled, x), penalty(net, x))
    assert recording_of(compiled).programs


def _draws(x, y, held):
    return F.dropout(x * x, 0.5) * F.dropout(y, 0.3) * F.alpha_dropout(x, 0.2, True)


def _writes_to_state(x, y, held):
    held.add_(x.detach())
    return x * x * y


def _writes_to_arguments(x, y, held):
    y.mul_(x.detach())
    return x * y * x


def _reads_what_it_writes(x, y, held):
    before = (held + x).sin() * x
    held.copy_(y)
    return before * F.dropout(x, 0.3)


def _leaves_a_part_out(x, y, held):
    with torch.no_grad():
        factor = x * y
    return (x * factor).sin() * x.detach()


def _of_several(x, y, held):
    held.mul_(2)
    return x * x * held, (x * y).exp(), [F.dropout(x, 0.5) * x]


@pytest.mark.parametrize("mode", ["replay", "default"])
@pytest.mark.parametrize("function", [_draws, _writes_to_state, _writes_to_arguments, _reads_what_it_writes, _leaves_a_part_out,
                                      _of_several])
def test_gradients_of_gradients_of_calls_that_draw_or_write(function, mode):
    """Draws are made again from where the streams were, nothing is written twice, and the third gradient is right, too."""
    def results(call):
        torch.manual_seed(0)
        held, found = torch.linspace(0.5, 1.5, 3), []
        for i in range(8):
            x, y = torch.randn(3).requires_grad_(), torch.randn(3)
            result = call(x, y, held)
            total = sum(each.sum() for each in (result if type(result) is tuple else (result,)) for each in (
                each if type(each) is list else [each]))
            one, = torch.autograd.grad(total, x, create_graph=True)
            two, = torch.autograd.grad(one.square().sum(), x, create_graph=True)
            three, = torch.autograd.grad(two.sum(), x)
            found += [total, one, two, three, held.clone(), y, torch.rand(2)]
            if call is not function:
                for kind in call._kinds.values():
                    if kind.recording and kind.recording.pending and kind.recording.pending[1]:
                        kind.recording.pending[1].join()
        return [each.detach() for each in found]
    compiled = torch.compile(function, mode=mode)
    for found, wanted in zip(results(compiled), results(function), strict=True):
        torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-4)
    program, = recording_of(compiled).programs
    assert program.repetition is not None


@pytest.mark.parametrize("mode", ["replay", "default"])
def test_results_that_nothing_is_made_of(mode):
    """Backward begins with zeros there."""
    compiled = torch.compile(lambda x: (x.exp(), x.sin(), x * 2), mode=mode)
    x = torch.randn(3).requires_grad_()
    settle(lambda: sum(compiled(x)).sum().backward(), compiled)
    assert recording_of(compiled).programs
    for i, slope in enumerate((x.exp(), x.cos(), torch.full((3,), 2.0))):
        for create in (False, True):
            torch.testing.assert_close(torch.autograd.grad(compiled(x)[i].sum(), x, create_graph=create), (slope.detach(),))


@pytest.mark.parametrize("view", [lambda x: x.as_strided((2, 5), (3, 1), 2), lambda x: x[:, ::2], lambda x: x.t()])
def test_results_lie_in_memory_as_they_did(view):
    """Also where passes give the argument that the whole of an intermediate was overwritten with."""
    weight = torch.randn(2, 5).requires_grad_()

    def overwritten(x, y):
        made = x + weight
        result = view(made)
        made[:] = y
        return result, x * weight
    compiled = torch.compile(overwritten)
    settle(lambda: compiled(torch.randn(2, 5), torch.randn(2, 5).requires_grad_()), compiled)
    assert recording_of(compiled).programs
    for _ in range(3):
        x, y = torch.randn(2, 5), torch.randn(2, 5).requires_grad_()
        for found, wanted in zip(compiled(x, y), overwritten(x, y), strict=True):
            assert found.stride() == wanted.stride() and torch.equal(found, wanted)


def test_gradients_of_gradients_after_what_was_read_has_changed():
    """Python may have changed meanwhile; a tensor that was read may not, as in eager calls that save it."""
    weight, factor = torch.randn(3).requires_grad_(), [2.0]
    compiled = torch.compile(lambda x: (x * weight * factor[0]).tanh(), mode="replay")
    x = torch.randn(3).requires_grad_()
    settle(lambda: compiled(x).sum().backward(), compiled)
    wanted, = torch.autograd.grad((x * weight * 2).tanh().sum(), x, create_graph=True)
    out = compiled(x).sum()
    factor[0] = 3.0
    found, = torch.autograd.grad(out, x, create_graph=True)
    torch.testing.assert_close(torch.autograd.grad(found.sum(), weight), torch.autograd.grad(wanted.sum(), weight))
    factor[0] = 2.0
    out = compiled(x).sum()
    weight.detach().add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        torch.autograd.grad(out, x, create_graph=True)
    shifted = torch.compile(lambda x: x + weight, mode="replay")
    settle(lambda: shifted(x).sum().backward(), shifted)
    out = shifted(x).sum()
    weight.detach().add_(1)
    slope, = torch.autograd.grad(out, x, create_graph=True)          # `func.grad` asks for it so
    assert torch.equal(slope, torch.ones(3))
    with pytest.raises(RuntimeError, match="call the function without compile"):
        torch.autograd.grad(slope.sum(), x)


@pytest.mark.parametrize("mode", ["replay", "default"])
@pytest.mark.parametrize("second", [False, True])
def test_hooks_of_arguments_see_each_gradient_once(second, mode):
    """Not those by which programs are made and compared, nor those within a gradient that is recorded."""
    def results(call):
        torch.manual_seed(0)
        seen: list = []
        leaf = torch.randn(3).requires_grad_()
        leaf.register_hook(lambda grad: (seen.append(2), grad * 3)[1])
        for _ in range(8):
            middle = leaf * 2
            middle.retain_grad()
            middle.grad_fn.register_prehook(lambda grads, seen=seen: seen.append(1))
            middle.register_hook(lambda grad, seen=seen: (seen.append(3), grad * 5)[1])
            grad, = torch.autograd.grad(call(middle).sum(), leaf, retain_graph=True, create_graph=second)
            (grad.sum() if second else call(middle).sum()).backward()
            seen += [grad.detach().clone(), leaf.grad.clone(), middle.grad.clone()]
            for kind in getattr(call, "_kinds", {}).values():
                if kind.recording and kind.recording.pending and kind.recording.pending[1]:
                    kind.recording.pending[1].join()
        return seen

    def function(x):
        return x.sin() * x
    compiled = torch.compile(function, mode=mode)
    for found, wanted in zip(results(compiled), results(function), strict=True):
        if isinstance(wanted, int):
            assert found == wanted
        else:
            torch.testing.assert_close(found, wanted)
    assert recording_of(compiled).programs


@pytest.mark.parametrize("mode", ["replay", "default"])
def test_numbers_that_a_trace_would_freeze_are_drawn(mode):
    """Also where results are equal by chance as programs are compared, as when dropout leaves nothing."""
    def function(x):
        return F.dropout(x * x, 0.9) * torch.rand(2)

    def results(call):
        torch.manual_seed(0)
        return [each for _ in range(30) for each in (call(torch.ones(2).requires_grad_()), torch.rand(2))]
    assert all(map(same, results(torch.compile(function, mode=mode)), results(function)))


@pytest.mark.parametrize("first", ["alone", "dependent"])
def test_arguments_that_depend_on_each_other_or_on_what_is_reached(first):
    """A layer that is called on its own results, as of a recurrent network: gradients by the call, and by what came before it, are
    each counted once, at any order, and such calls have programs, too."""
    torch.manual_seed(0)
    weight = torch.randn(3, 3, dtype=torch.float64).requires_grad_()

    def layer(x, y):
        return (x @ weight).tanh() * y

    def slopes(call, start):
        x = start @ weight if first == "dependent" else start.clone().requires_grad_()
        once = call(x, x.cos())
        twice = call(once, (once @ weight).sin())
        loss = (call(twice, once) * twice).sum()
        slope, = torch.autograd.grad(loss, weight, create_graph=True)
        return slope.detach(), *torch.autograd.grad(slope.square().sum(), weight)

    compiled = torch.compile(layer, mode="replay")
    apart = (torch.randn(2, 3, dtype=torch.float64).requires_grad_() for _ in range(2))
    start = torch.randn(2, 3, dtype=torch.float64)
    if first == "alone":
        x, y = apart
        settle(lambda: compiled(x, y).sum().backward(), compiled)
    else:
        settle(lambda: slopes(compiled, start), compiled)
    assert recording_of(compiled).programs, recording_of(compiled).reason
    for _ in range(3):
        start = torch.randn(2, 3, dtype=torch.float64)
        torch.testing.assert_close(slopes(compiled, start), slopes(layer, start), rtol=1e-9, atol=1e-9)


def test_what_is_written_in_between_is_noticed():
    weight = torch.randn(3, 3).requires_grad_()
    compiled = torch.compile(lambda x: (x @ weight).exp(), mode="replay")
    settle(lambda: compiled(torch.ones(2, 3)).sum().backward(), compiled)
    assert recording_of(compiled).programs
    y = torch.ones(2, 3).requires_grad_()
    settle(lambda: compiled(y).sum().backward(), compiled)
    for change in (lambda out: weight.detach().add_(1), lambda out: out.detach().mul_(2), lambda out: y.detach().mul_(2)):
        out = compiled(y)
        change(out)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            out.sum().backward()


def test_hooks_are_called():
    """A hook is Python: backward runs as it is where there is one, also one that comes later."""
    torch.manual_seed(0)
    net = nn.Linear(3, 2)
    compiled = torch.compile(net, mode="replay")
    settle(lambda: compiled(torch.ones(2, 3)).sum().backward(), compiled)
    assert recording_of(compiled).programs
    calls = []
    handle = net.weight.register_hook(lambda g: (calls.append(1), g * 10)[1])
    for _ in range(ATTEMPTS + 3):
        net.zero_grad()
        compiled(torch.ones(2, 3)).sum().backward()
        assert net.weight.grad[0, 0].item() == 20
    assert len(calls) == ATTEMPTS + 3
    handle.remove()

    class Doubling(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            calls.append(2)
            return g * 2
    own = torch.compile(lambda x: Doubling.apply(x) + 1)
    x = torch.ones(3).requires_grad_()
    for _ in range(ATTEMPTS + 4):
        own(x).sum().backward()
    assert calls.count(2) == ATTEMPTS + 4 and kind_of(own).reason


def test_calls_that_stay_as_they_are():
    """Views of arguments and results in one memory stay what they are; leaves of the graph that are made, and backward within, too."""
    x = torch.randn(2, 3).requires_grad_()
    for function in (lambda a: a.t(), lambda a: a, lambda a: (lambda y: (y, y.t()))(a * 2), lambda a: a.exp().detach().requires_grad_(),
                     lambda a: (lambda y: (y, y * a))(a.exp().detach().requires_grad_())):
        compiled = torch.compile(function)
        for _ in range(10):
            found, wanted = compiled(x), function(x)
            for a, b in zip(*[r if isinstance(r, tuple) else (r,) for r in (found, wanted)]):
                assert same(a, b) and a.is_leaf == b.is_leaf and a.requires_grad == b.requires_grad
        assert kind_of(compiled).reason
    leaf = torch.ones(3).requires_grad_()

    def inner(y):
        (y * 2).sum().backward()
        return y * 3
    compiled = torch.compile(inner)
    for i in range(8):
        compiled(leaf)
        assert leaf.grad.tolist() == [2.0 * (i + 1)] * 3


class _Heads(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.heads = nn.Linear(8, 6), nn.ModuleList(nn.Linear(6, 2) for _ in range(3))

    def forward(self, x):
        hidden = self.body(x).tanh()
        return [head(hidden) for head in self.heads]


@pytest.mark.parametrize("twice", [False, True])
@pytest.mark.parametrize("mode", ["replay", "default"])
def test_what_only_unused_results_depend_on_gets_no_gradient(mode, twice):
    torch.manual_seed(0)
    net = _Heads()
    nets = net, copy.deepcopy(net)
    compiled = torch.compile(nets[1], mode=mode)
    settle(lambda: [out.sum() for out in compiled(torch.ones(4, 8))], compiled)
    assert recording_of(compiled).programs
    for used in ([0], [2], [0, 1], [1, 2], [0, 1, 2]):
        x, grads = torch.randn(4, 8), []
        for module, call in zip(nets, (net, compiled)):
            outs = call(x)
            grads.append(torch.autograd.grad(sum(outs[i].square().sum() for i in used), list(module.parameters()), allow_unused=True,
                                             create_graph=twice))
        for a, b in zip(*grads, strict=True):
            assert (a is None) is (b is None) and (a is None or torch.allclose(a, b, 1e-5, 1e-6))


def test_a_buffer_that_gets_another_shape_in_each_call():
    class Turning(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(3, 3)
            self.register_buffer("turned", torch.arange(3.0))

        def forward(self, x):
            self.turned.unsqueeze_(0) if self.turned.dim() == 1 else self.turned.squeeze_(0)
            return self.linear(x) + self.turned
    net = Turning()
    other = copy.deepcopy(net)
    compiled = torch.compile(other, mode="replay")
    for i in range(20):
        assert same(net(torch.full((2, 3), float(i))), compiled(torch.full((2, 3), float(i))))
        assert same(net.turned, other.turned)
    assert not recording_of(compiled).programs


def test_threads_and_pickles():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 4), nn.Sigmoid(), nn.Linear(4, 2))
    compiled = torch.compile(net, mode="replay")
    settle(lambda: compiled(torch.ones(3, 4)).sum().backward(), compiled)
    failed = []

    def work(number):
        for i in range(40):
            x = torch.full((3, 4), float(number + i), requires_grad=True)
            y = x.detach().requires_grad_()
            compiled(x.detach()).sum()
            a, = torch.autograd.grad(compiled(x).square().sum(), x)
            b, = torch.autograd.grad(net(y).square().sum(), y)
            if not same(a, b):
                failed.append((number, i))
    threads = [threading.Thread(target=work, args=(n,)) for n in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
    assert same(pickle.loads(pickle.dumps(compiled))(torch.ones(3, 4)), net(torch.ones(3, 4)))


def test_fullgraph_and_explain():
    net = nn.Sequential(nn.Linear(4, 4), nn.Tanh())
    compiled = torch.compile(net, fullgraph=True, mode="replay")
    settle(lambda: compiled(torch.ones(3, 4)).sum().backward(), compiled)
    for model in (compiled, net):
        explanation = torch.compile.explain(model)(torch.ones(3, 4))
        assert not explanation.breaks and explanation.launches >= 3 and "backward" in str(explanation)
