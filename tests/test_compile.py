"""Compiled functions: bit for bit what they are without being compiled, for as many steps as one likes, whatever changes meanwhile."""
from __future__ import annotations

import gc
import math
import os
import pickle
import random
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import numtorch as torch
from bench import models, networks
from bench.runner import case as bench_case
from numtorch import nn
from numtorch.jit import compiled, guards
from numtorch.kernels import compiler
from numtorch.ops.core.primitive import forget_plans

pytestmark = pytest.mark.skipif(compiler.DISABLE_JIT, reason="NUMBA_DISABLE_JIT: nothing is captured")
F = nn.functional


def kind_of(function):
    """The one kind of calls of a compiled function."""
    kind, = function._kinds.values()
    return kind


def is_replayed(function):
    return bool(kind_of(function).replays)


def why(function):
    return "; ".join(str(each) for each in kind_of(function).breaks)


def perceptron():
    return nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))


def same(a, b):
    """Equal bits; NaN too."""
    if a is None or b is None:
        return a is b
    a, b = a.detach(), b.detach()
    return a.shape == b.shape and a.dtype is b.dtype and a.numpy().tobytes() == b.numpy().tobytes()


def states(module):
    for name, value in module.state_dict(keep_vars=True).items():
        yield name, value
        if value.node is not None:
            yield f"{name}.grad", value.grad


def compare(module, other, where=""):
    for (name, a), (_, b) in zip(states(module), states(other), strict=True):
        assert same(a, b), f"{name} differs {where}"


class Pair:
    """A step written once, of two networks that begin alike: one eager, one compiled.

    `make(net)` returns a step, a function of tensors.
    """

    def __init__(self, network, make, **options):
        self.nets = []
        for _ in range(2):
            torch.manual_seed(0)
            self.nets.append(network())
        self.eager, self.step = (make(net) for net in self.nets)
        self.compiled = torch.compile(self.step, **options)

    def run(self, count, *inputs, seed=None, before=lambda number, net: None):
        for number in range(count):
            given = [make(number) for make in inputs]
            results = []
            for function, net in zip((self.eager, self.compiled), self.nets):
                before(number, net)
                if seed is not None:
                    torch.manual_seed(seed + number)
                results.append(function(*given))
            a, b = (results[0], results[1]) if isinstance(results[0], (tuple, list)) else ([results[0]], [results[1]])
            for x, y in zip(a, b, strict=True):
                assert same(x, y) if isinstance(x, torch.Tensor) or x is None else x == y, f"results differ in step {number}"
            compare(*self.nets, f"in step {number}")
        return self


def batch(number):
    return torch.from_numpy(np.random.default_rng(number).standard_normal((4, 8), np.float32))


def classes(number):
    return torch.from_numpy(np.random.default_rng(number).integers(0, 4, 4))


def training(optimizer, loss=F.cross_entropy, set_to_none=True, clip=None):
    def make(net):
        steps = optimizer(net.parameters())

        def step(x, y):
            steps.zero_grad(set_to_none=set_to_none)
            value = loss(net(x), y)
            value.backward()
            if clip is not None:
                nn.utils.clip_grad_norm_(net.parameters(), clip)
            steps.step()
            return value
        step.optimizer = steps
        return step
    return make


def sgd(parameters):
    return torch.optim.SGD(parameters, lr=0.1, momentum=0.9)


# ---------------------------------------------------------------- whole steps
OPTIMIZERS = [
    ("SGD", dict(lr=0.1)), ("SGD", dict(lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.01)), ("Adam", dict(lr=0.01)),
    ("Adam", dict(lr=0.01, amsgrad=True)), ("AdamW", dict(lr=0.01)), ("Adamax", {}), ("NAdam", {}), ("RAdam", {}), ("Adagrad", {}),
    ("Adadelta", {}), ("RMSprop", dict(momentum=0.5, centered=True)), ("Rprop", {}), ("ASGD", {}), ("Adafactor", {}),
]


@pytest.mark.parametrize("name, options", OPTIMIZERS, ids=[f"{n}-{'-'.join(o)}" for n, o in OPTIMIZERS])
def test_every_optimizer_for_50_steps(name, options):
    make = training(lambda parameters: getattr(torch.optim, name)(parameters, **options))
    pair = Pair(perceptron, make).run(50, batch, classes)
    assert is_replayed(pair.compiled) == (name != "Adafactor"), why(pair.compiled)
    for a, b in zip(pair.eager.optimizer.state.values(), pair.step.optimizer.state.values(), strict=True):
        assert all(same(a[key], b[key]) if isinstance(a[key], torch.Tensor) else a[key] == b[key] for key in a)


STEPS = [case for module in (networks, models) for case in module.CASES
         if isinstance(case, bench_case.Case) and case.setup is not None
         and (module is networks or "training step" in case.name) and "ResNet" not in case.name]
EAGER = ("VAE",)                                         # which looks at values: binary_cross_entropy does, as PyTorch's


@pytest.mark.parametrize("case", STEPS, ids=[case.name for case in STEPS])
def test_every_network_of_the_benchmark(case, monkeypatch):
    modules = []
    fill = bench_case.fill
    monkeypatch.setattr(bench_case, "fill", lambda package, module: modules.append(module) or fill(package, module))
    rng = np.random.default_rng(0)
    arrays = [np.asarray(make(rng, np.float32)) for make in case.inputs]
    eager, step = (case.setup(torch, *[torch.tensor(array) for array in arrays]) for _ in range(2))
    function = torch.compile(step)
    seconds = time.perf_counter()
    for number in range(50):
        results = []
        for run in (eager, function):
            torch.manual_seed(number)
            results.append(run())
        assert same(*results), f"results differ in step {number}"
        if modules:
            compare(*modules, f"in step {number}")
        if time.perf_counter() - seconds > 3 and number > 8:             # of the large ones, fewer
            break
    assert is_replayed(function) == (not case.name.startswith(EAGER)), why(function)


def test_a_learning_rate_that_is_set_between_steps():
    pair = Pair(perceptron, training(lambda p: torch.optim.Adam(p, lr=0.01)))
    steps = {id(net): step.optimizer for net, step in zip(pair.nets, (pair.eager, pair.step))}
    schedules = {key: torch.optim.lr_scheduler.StepLR(each, 3, 0.5) for key, each in steps.items()}

    def before(number, net):
        if number:
            schedules[id(net)].step()
    pair.run(20, batch, classes, before=before)
    assert is_replayed(pair.compiled), why(pair.compiled)


@pytest.mark.parametrize("set_to_none, clip", [(False, None), (True, 0.1), (False, 0.1)])
def test_gradients_that_stay_and_gradients_that_are_clipped(set_to_none, clip):
    pair = Pair(perceptron, training(sgd, set_to_none=set_to_none, clip=clip)).run(12, batch, classes)
    assert is_replayed(pair.compiled), why(pair.compiled)


def test_gradients_that_add_up():
    def make(net):
        def step(x, y):
            loss = F.cross_entropy(net(x), y) / 3
            loss.backward()
            return loss
        return step
    pair = Pair(perceptron, make)
    optimizers = {id(net): sgd(net.parameters()) for net in pair.nets}

    def before(number, net):
        if number % 3 == 0:
            if number:
                optimizers[id(net)].step()
            optimizers[id(net)].zero_grad()
    pair.run(30, batch, classes, before=before)
    assert len(pair.compiled._kinds) == 1


def test_gradients_that_somebody_keeps_stay_what_they_are():
    pair = Pair(perceptron, training(sgd)).run(6, batch, classes)
    assert is_replayed(pair.compiled)
    kept, copies = [], []
    for number in range(6):
        pair.run(1, lambda _, n=number: batch(n), lambda _, n=number: classes(n))
        kept += [p.grad for p in pair.nets[1].parameters()]
        kept += [pair.nets[1][0].weight.grad.view(-1)]
        copies += [each.clone() for each in kept[-5:]]
    assert all(same(a, b) for a, b in zip(kept, copies, strict=True))


def test_dropout_and_batch_norm():
    def network():
        return nn.Sequential(nn.Linear(8, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.5), nn.Linear(16, 4))
    pair = Pair(network, training(sgd)).run(20, batch, classes, seed=5)
    assert is_replayed(pair.compiled), why(pair.compiled)
    first = pair.compiled(batch(0), classes(0))
    assert not same(first, pair.compiled(batch(0), classes(0)))
    for net in pair.nets:
        net.eval()
    pair.eager(batch(0), classes(0)), pair.eager(batch(0), classes(0))
    for a, b in zip(pair.nets[0].parameters(), pair.nets[1].parameters()):
        with torch.no_grad():
            b.copy_(a)


def test_a_mode_that_changes_is_seen():
    def network():
        return nn.Sequential(nn.Linear(8, 16), nn.BatchNorm1d(16), nn.Dropout(0.5), nn.Linear(16, 4))

    def before(number, net):
        net.train(number // 5 % 2 == 0)
    Pair(network, training(sgd)).run(25, batch, classes, seed=1, before=before)


def test_random_numbers_go_on_as_in_eager():
    def draw(x):
        return x + torch.randn(3), torch.rand(2), torch.bernoulli(torch.full((4,), 0.5))
    function = torch.compile(draw)
    torch.manual_seed(3)
    wanted = [draw(torch.zeros(3)) for _ in range(8)]
    torch.manual_seed(3)
    found = [function(torch.zeros(3)) for _ in range(8)]
    assert all(same(a, b) for one, other in zip(wanted, found) for a, b in zip(one, other))


def test_a_generator_of_ones_own():
    stream = torch.Generator().manual_seed(1)
    function = torch.compile(lambda x: x * torch.rand(4, generator=stream))
    found = [function(torch.ones(4)) for _ in range(6)]
    stream.manual_seed(1)
    assert all(same(each, torch.rand(4, generator=stream)) for each in found) and is_replayed(function)


# ---------------------------------------------------------------- functions of tensors
def test_results_are_fresh_or_reused():
    def f(x):
        return {"double": x * 2, "rest": [x + 1, (x - 1).exp()], "constant": 3}
    function, reusing = torch.compile(f), torch.compile(f, reuse_outputs=True)
    kept = [function(torch.full((3,), float(i))) for i in range(8)]
    assert [r["double"][0].item() for r in kept] == [2.0 * i for i in range(8)]
    assert [r["rest"][0][0].item() for r in kept] == [1.0 + i for i in range(8)] and kept[7]["constant"] == 3
    assert is_replayed(function)
    results = [reusing(torch.full((3,), float(i))) for i in range(8)]
    assert results[7]["double"].data_ptr() == results[6]["double"].data_ptr() and results[7]["double"][0].item() == 14.0


def test_results_that_share_memory_do():
    function = torch.compile(lambda x: (lambda y: (y, y.t(), y[1]))(x * 2))
    for i in range(6):
        y, t, row = function(torch.full((2, 3), float(i)))
        y[1, 2] = 100.0
        assert t[2, 1].item() == 100.0 == row[2].item() and y[0, 0].item() == 2.0 * i
    assert is_replayed(function)


@pytest.mark.parametrize("shapes", [[(3,), (5,), (3,), (2, 3)], [(4, 4)] * 3])
def test_each_shape_and_order_has_a_program_of_its_own(shapes):
    function = torch.compile(lambda x, y: torch.softmax(x @ y, -1) + x.sum())
    for round_ in range(5):
        for shape in shapes:
            x = torch.randn(*shape, shape[-1])
            for given in ((x, x.transpose(-1, -2).contiguous()), (x.transpose(-1, -2), torch.randn(*shape[:-1], shape[-1], 2)[..., :1])):
                if given[0].shape[-1] == given[1].shape[-2]:
                    assert same(function(*given), torch.softmax(given[0] @ given[1], -1) + given[0].sum())


def test_slices_of_one_tensor_are_patched():
    data = torch.randn(40, 8)
    net = perceptron()

    def f(x):
        with torch.no_grad():
            return net(x)
    function = torch.compile(f)
    for i in range(8):
        assert same(function(data[4 * i:4 * i + 4]), f(data[4 * i:4 * i + 4]))
    assert is_replayed(function)


def test_arguments_that_share_memory_run_as_they_are():
    def f(x, y):
        x.add_(1)
        return x + y
    function = torch.compile(f)
    for _ in range(5):
        function(torch.zeros(4), torch.ones(4))
    assert is_replayed(function)
    x = torch.zeros(6)
    assert function(x[:4], x[2:]).tolist() == [2, 2, 1, 1] and x.tolist() == [1, 1, 1, 1, 0, 0]
    y = torch.zeros(4)
    assert function(y, y).tolist() == [2.0] * 4


def test_writes_to_arguments_and_their_versions():
    def f(x, y):
        return x.mul_(y).add_(1).sum()
    function = torch.compile(f)
    for i in range(6):
        x, other = torch.full((3,), float(i)), torch.full((3,), float(i))
        before = x._version
        assert same(function(x, torch.full((3,), 2.0)), f(other, torch.full((3,), 2.0))) and same(x, other)
        assert x._version - before == 2
    assert is_replayed(function)


def test_a_write_in_a_replay_is_seen_by_backward():
    weight = torch.ones(3)
    function = torch.compile(lambda x: weight.add_(x).sum())
    for _ in range(5):
        function(torch.ones(3))
    assert is_replayed(function)
    x = torch.ones(3, requires_grad=True)
    y = (x * weight).sum()
    function(torch.ones(3))
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()


@pytest.mark.parametrize("bad", [7, -1])
def test_a_bad_index_raises_what_it_raises_in_eager(bad):
    table = torch.arange(15.0).reshape(5, 3)
    for f in (lambda i: table[i] * 2, lambda i: F.embedding(i, table) + 1, lambda i: table.gather(0, i.reshape(-1, 1)),
              lambda i: F.cross_entropy(table, torch.cat([i, i, i])[:5])):
        function = torch.compile(f)
        for _ in range(6):
            assert same(function(torch.tensor([0, 1])), f(torch.tensor([0, 1])))
        assert is_replayed(function), why(function)
        wanted = torch.tensor([0, bad])
        try:
            result, error = f(wanted), None
        except (IndexError, RuntimeError) as raised:
            error = raised
        if error is None:
            assert same(function(wanted), result)
        else:
            with pytest.raises(type(error)) as found:
                function(wanted)
            assert str(found.value) == str(error)
        assert same(function(torch.tensor([2, 1])), f(torch.tensor([2, 1]))) and is_replayed(function)


def test_the_first_bad_index_of_several_stops_the_step():
    net = nn.Sequential(nn.Embedding(6, 4), nn.Flatten(), nn.Linear(8, 3))
    function = torch.compile(training(sgd)(net))
    good, target = torch.tensor([[0, 1]]), torch.tensor([2])
    for _ in range(6):
        function(good, target)
    assert is_replayed(function), why(function)
    before = [p.clone() for p in net.parameters()]
    with pytest.raises(IndexError, match="out of range"):
        function(torch.tensor([[0, 9]]), target)
    with pytest.raises(IndexError, match="Target 3 is out of bounds"):
        function(good, torch.tensor([3]))
    assert all(same(p, b) for p, b in zip(net.parameters(), before))
    function(good, target)


# ---------------------------------------------------------------- what Python does
class Trainer:
    scale = 1.0

    def __init__(self):
        self.factor, self.count, self.seen = 2.0, 0, []

    def forward(self, x):
        return x * self.factor * self.scale

    def counting(self, x):
        self.count += 1
        return x + 1

    def keeping(self, x):
        self.seen.append(x * 2)
        return x + 1


factor = 3.0


def test_values_that_change_are_seen():
    global factor
    trainer, cell, options = Trainer(), 1.0, {"add": 1.0}

    def f(x, more=0):
        return trainer.forward(x) * factor + cell + options["add"] + more
    function = torch.compile(f)

    def check(replayed=False):
        for _ in range(5):
            x = torch.randn(3)
            assert same(function(x), f(x))
    check()
    assert is_replayed(function)
    for change in (lambda: setattr(trainer, "factor", 5.0), lambda: setattr(Trainer, "scale", 0.5),
                   lambda: options.update(add=7.0), lambda: setattr(trainer, "forward", lambda x: -x)):
        change()
        check()
    cell = 9.0
    check()
    factor = 4.0
    check()
    factor, Trainer.scale = 3.0, 1.0
    assert all(same(function(x, more=i), f(x, more=i)) for i in (1, 2.5, 0.0, -0.0, True) for x in [torch.randn(2)] * 5)


def test_a_layer_that_is_exchanged_and_a_hook_that_is_added_are_seen():
    net, seen = perceptron(), []
    function = torch.compile(lambda x: net(x).detach())
    for _ in range(5):
        function(batch(0))
    net[0] = nn.Linear(8, 16)
    assert same(function(batch(0)), net(batch(0)))
    for _ in range(5):
        function(batch(0))
    net[1].register_forward_hook(lambda *given: seen.append(1))
    function(batch(0))
    assert seen == [1]
    net[0].weight.data = torch.zeros(16, 8)
    assert same(function(batch(1)), net(batch(1)))


@pytest.mark.parametrize("name", ["counting", "keeping"])
def test_effects_on_python_happen_every_time(name):
    trainer = Trainer()
    function = torch.compile(getattr(trainer, name))
    for _ in range(9):
        function(torch.ones(2))
    assert trainer.count == 9 or len(trainer.seen) == 9
    assert not is_replayed(function) and ("effect on Python" in why(function) or "still in use" in why(function))


class Stateful:
    def __init__(self):
        self.h = torch.zeros(3)

    def assigning(self, x):
        self.h = self.h * 0.5 + x
        return self.h.sum()

    def writing(self, x):
        self.h.mul_(0.5).add_(x)
        return self.h.sum()


@pytest.mark.parametrize("name, replayed", [("assigning", False), ("writing", True)])
def test_state_that_is_carried(name, replayed):
    eager, other = Stateful(), Stateful()
    function = torch.compile(getattr(other, name))
    for i in range(9):
        x = torch.full((3,), float(i))
        assert same(getattr(eager, name)(x), function(x)) and same(eager.h, other.h)
    assert is_replayed(function) == replayed


def _item(x):
    return x / x.sum().item()


def _branch(x):
    return x + 1 if x.sum() > 0 else x - 1


def _print(x):
    print("x")
    return x + 1


def _numpy(x):
    return torch.from_numpy(np.sin(x.numpy()))


def _inverse(x):
    return torch.linalg.inv(torch.diag(x.abs() + 3))


def _random(x):
    return x * random.random()


def _clock(x):
    return x + time.perf_counter() * 0


def _numpy_draw(x):
    return x + float(np.random.default_rng(0).random())


def _tolist(x):
    return x + len(x.tolist())


def _mask(x):
    return x[x > 0]


def _environment(x):
    return x + len(os.environ.get("NOTHING", ""))


def _mapped(x):
    list(map(print, [1]))
    return x


BREAKS = [_item, _branch, _print, _numpy, _inverse, _random, _clock, _numpy_draw, _tolist, _mask, _environment, _mapped]


@pytest.mark.parametrize("f", BREAKS, ids=[f.__name__ for f in BREAKS])
def test_what_cannot_be_captured_stays_right_and_is_listed(f, capsys):
    function = torch.compile(f)
    state = random.getstate()
    for i in range(8):
        x = torch.tensor([i - 3.5, 2.0, -1.5 * i])
        random.setstate(state)
        found = function(x)
        random.setstate(state)
        assert same(found, f(x)) and found is not None
    assert not is_replayed(function)
    said = torch.compile.explain(f)(torch.tensor([1.0, 2.0, 3.0]))
    assert said.launches == 0 and said.breaks and all(b.what for b in said.breaks)
    first, lines = f.__code__.co_firstlineno, 4
    assert any(b.file == __file__ and first <= b.line < first + lines for b in said.breaks), said
    with pytest.raises(compiled.Unsupported, match=r"test_compile.py:\d+: "):
        strict = torch.compile(f, fullgraph=True)
        for _ in range(8):
            strict(torch.tensor([1.0, 2.0, 3.0]))
    capsys.readouterr()


def test_explain_of_what_is_captured():
    net = perceptron()
    said = torch.compile.explain(training(sgd)(net))(batch(0), classes(0))
    assert said.launches > 8 and said.breaks == [] and said.bytes > 0 and "captured" in str(said)


def test_an_error_of_the_function_is_its_own():
    function = torch.compile(lambda x, y: x @ y)
    for _ in range(5):
        with pytest.raises(RuntimeError, match=r"mat1 and mat2|shape"):
            function(torch.ones(2, 3), torch.ones(2, 3))
    assert same(function(torch.ones(2, 3), torch.ones(3, 2)), torch.full((2, 2), 3.0))


def test_variables_of_a_function_inside_a_decorator_are_compared():
    scale = 2.0

    @torch.no_grad()
    def f(x):
        return x * scale
    function = torch.compile(f)
    for _ in range(5):
        assert function(torch.ones(2))[0].item() == 2.0
    assert is_replayed(function)
    scale = 3.0
    assert function(torch.ones(2))[0].item() == 3.0


def test_a_seed_that_is_set_inside_is_set_every_time():
    def f(x):
        torch.manual_seed(3)
        return x + torch.rand(4)
    function = torch.compile(f)
    assert all(same(function(torch.zeros(4)), f(torch.zeros(4))) for _ in range(6)) and not is_replayed(function)


def test_modes_that_a_function_leaves_changed():
    def f(x):
        torch.set_grad_enabled(not torch.is_grad_enabled())
        return x * 2
    function = torch.compile(f)
    try:
        for i in range(8):
            function(torch.ones(2))
            assert torch.is_grad_enabled() == bool(i % 2)
    finally:
        torch.set_grad_enabled(True)


def test_containers_of_tensors_as_arguments():
    def f(pair, options):
        options["more"].append(3)
        return pair[0] * pair[1]["x"]
    clean = torch.compile(lambda pair, options: pair[0] * pair[1]["x"] * len(options["more"]))
    function = torch.compile(f)
    for i in range(7):
        pair = [torch.full((2,), float(i)), {"x": torch.full((2,), 3.0)}]
        options = {"more": []}
        assert function(pair, options)[0].item() == 3.0 * i and options["more"] == [3]
        assert clean(pair, options)[0].item() == 3.0 * i
    assert is_replayed(clean) and not is_replayed(function)


# ---------------------------------------------------------------- gradients outside, modules, methods
def test_a_forward_whose_gradient_is_wanted_outside_has_one():
    net = perceptron()
    model = torch.compile(net)
    for i in range(6):
        net.zero_grad()
        model(batch(i)).sum().backward()
        grads = [p.grad.clone() for p in net.parameters()]
        net.zero_grad()
        net(batch(i)).sum().backward()
        assert all(same(a, p.grad) for a, p in zip(grads, net.parameters()))
    with torch.no_grad():
        for i in range(6):
            assert same(model(batch(i)), net(batch(i)))
        assert any(kind.replays for kind in model._compiled._kinds.values())


def test_a_compiled_module_is_a_module():
    net = perceptron()
    model = torch.compile(net)
    assert [name for name, _ in model.named_parameters()] == [f"_orig_mod.{name}" for name, _ in net.named_parameters()]
    assert model[0] is net[0] if hasattr(type(model), "__getitem__") else model._orig_mod[0] is net[0]
    assert not model.eval().training and not net.training
    again = pickle.loads(pickle.dumps(model))
    assert same(again(batch(0)), net(batch(0)))


class Scaled(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(3))

    @torch.compile
    def forward(self, x):
        return (x * self.weight).detach().sum()


def test_a_compiled_method():
    one, other = Scaled(), Scaled()
    with torch.no_grad():
        other.weight.mul_(3)
    for _ in range(6):
        assert one(torch.ones(3)).item() == 3 and other(torch.ones(3)).item() == 9


@torch.compile
def doubled(x):
    return x * 2


def plain(x):
    return x * 3


def test_pickles_as_its_source():
    assert pickle.loads(pickle.dumps(doubled)) is doubled
    assert pickle.loads(pickle.dumps(torch.compile(plain)))(torch.ones(1)).item() == 3


def test_a_call_within_its_own_replay_runs_as_it_is():
    function = torch.compile(lambda x: x * 2)
    for _ in range(4):
        function(torch.ones(2))
    replay, = kind_of(function).replays
    inner, steps = [], replay.steps
    replay.steps = [lambda: inner.append(function(torch.full((2,), 5.0))), *steps]         # as a destructor may
    assert function(torch.ones(2)).tolist() == [2, 2] and inner[0].tolist() == [10, 10]


def test_compiled_functions_within_one_another():
    inner = torch.compile(lambda x: x * 2)
    outer = torch.compile(lambda x: inner(x) + 1)
    assert [outer(torch.full((2,), float(i)))[0].item() for i in range(8)] == [2.0 * i + 1 for i in range(8)]


# ---------------------------------------------------------------- the world around
def test_threads_share_a_compiled_function():
    function, failed = torch.compile(lambda x: torch.softmax(x * 2 + 1, 0)), []

    def work(seed):
        stream = torch.Generator().manual_seed(seed)
        for _ in range(150):
            x = torch.rand(50, generator=stream)
            if not same(function(x), torch.softmax(x * 2 + 1, 0)):
                failed.append(seed)
    workers = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not failed


def test_kernels_of_other_threads_run_on_while_a_call_is_captured():
    x, stop, failed = torch.randn(300, 300), threading.Event(), []
    wanted = x @ x

    def work():
        while not stop.is_set():
            if not same(x @ x, wanted):
                failed.append(1)
    workers = [threading.Thread(target=work) for _ in range(2)]
    for worker in workers:
        worker.start()
    for i in range(30):
        function = torch.compile(lambda y, i=i: y * i + 1)
        for _ in range(3):
            assert same(function(torch.ones(5)), torch.ones(5) * i + 1)
    stop.set()
    for worker in workers:
        worker.join()
    assert not failed


def test_other_work_between_replays_does_not_disturb():
    pair = Pair(perceptron, training(sgd)).run(5, batch, classes)
    assert is_replayed(pair.compiled)
    junk = []
    for number in range(10):
        junk += [torch.full((n,), math.nan) for n in (4, 16, 32, 64, 128, 4096)]
        torch.set_num_threads(1 + number % 2)
        gc.collect()
        pair.run(1, lambda _, n=number: batch(n), lambda _, n=number: classes(n))
        junk = junk[-20:]
    torch.set_num_threads(threads_before)


threads_before = torch.get_num_threads()


def test_what_plans_keep_is_kept_when_these_are_forgotten():
    def network():
        return nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 16, 5), nn.ReLU(), nn.Flatten(),
                             nn.Linear(16, 4))

    def images(number):
        return torch.from_numpy(np.random.default_rng(number).standard_normal((4, 3, 10, 10), np.float32))
    pair = Pair(network, training(sgd)).run(5, images, classes)
    assert is_replayed(pair.compiled), why(pair.compiled)
    (first,), = [kind.replays for kind in pair.compiled._kinds.values()]
    forget_plans()
    gc.collect()
    junk = [np.full(n, 7, np.int64) for n in range(1, 600) for _ in range(4)]
    pair.run(8, images, classes)
    assert kind_of(pair.compiled).replays == [first] and junk


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_a_forked_child_replays():
    code = """
import os, sys
import numtorch as torch
f = torch.compile(lambda x: (x @ x).relu() + 1)
x = torch.randn(64, 64)
for _ in range(4): f(x)
child = os.fork()
if child == 0:
    os._exit(0 if torch.equal(f(x), (x @ x).relu() + 1) else 1)
assert os.waitpid(child, 0)[1] == 0 and torch.equal(f(x), (x @ x).relu() + 1)
print("right")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.stdout.strip() == "right", done.stderr


def test_eager_steps_between_replays():
    pair = Pair(perceptron, training(lambda p: torch.optim.Adam(p, lr=0.01))).run(6, batch, classes)
    for number in range(6):
        pair.eager(batch(number), classes(number))
        pair.step(batch(number), classes(number))        # as it is, beside its replays
        pair.run(3, batch, classes)
    assert is_replayed(pair.compiled)


def test_loading_a_state_between_replays():
    pair = Pair(perceptron, training(lambda p: torch.optim.Adam(p, lr=0.01))).run(6, batch, classes)
    saved = pickle.dumps((pair.nets[0].state_dict(), pair.eager.optimizer.state_dict()))
    pair.run(3, batch, classes)
    for net, step in zip(pair.nets, (pair.eager, pair.step)):
        model, optimizer = pickle.loads(saved)
        net.load_state_dict(model)
        step.optimizer.load_state_dict(optimizer)
    pair.run(8, batch, classes)
    assert is_replayed(pair.compiled)


@pytest.mark.parametrize("given, words", [
    (dict(backend="nothing"), "Invalid backend"), (dict(backend=lambda graph, inputs: graph), "functions"),
    (dict(mode="fastest"), "Unrecognized mode")])
def test_options_that_are_not_known(given, words):
    with pytest.raises(RuntimeError, match=words):
        torch.compile(plain, **given)


def test_pytorchs_spellings():
    for options in (dict(), dict(mode="max-autotune"), dict(backend="eager"), dict(dynamic=True, fullgraph=True), dict(disable=True),
                    dict(mode="replay")):
        function = torch.compile(plain, **options)
        assert all(function(torch.ones(1)).item() == 3 for _ in range(5))
    with pytest.raises(TypeError):
        torch.compile(3)


def test_capturing_leaves_nothing_behind():
    def call_times():
        x = torch.ones(4)
        best = math.inf
        for _ in range(50):
            start = time.perf_counter()
            for _ in range(100):
                x + x
            best = min(best, time.perf_counter() - start)
        return best
    before, profile = call_times(), sys.getprofile()
    function = torch.compile(lambda x: x + 1)
    for _ in range(5):
        function(torch.ones(4))
    from numtorch.kernels import entries
    from numtorch.storage import inferring, mode
    assert sys.getprofile() is profile and not entries._detour and not inferring and mode.memory is None
    assert call_times() < 3 * before


# ---------------------------------------------------------------- words of memory
@pytest.mark.skipif(not guards.is_known(), reason="this Python's objects are laid out otherwise")
def test_objects_are_compared_in_memory_first():
    pair = Pair(perceptron, training(sgd)).run(6, batch, classes)
    replay, = kind_of(pair.compiled).replays
    assert replay.words is not None and not replay.rest and replay.words.are_same()
    looks = replay.looks
    pair.run(6, batch, classes)
    assert replay.looks == looks
    pair.nets[1].note = "another attribute, which nothing reads"
    assert not replay.words.are_same()
    pair.run(3, batch, classes)


def test_without_words_of_memory_objects_are_compared_in_python(monkeypatch):
    monkeypatch.setattr(guards, "is_known", lambda: False)
    test_values_that_change_are_seen()
    test_a_mode_that_changes_is_seen()


@pytest.mark.parametrize("value, words, change", [
    ([1, 2], guards.of_list, lambda x: x.reverse()), ({"a": 1, "b": 2}, guards.of_dict, lambda x: x.update(a=2, b=1)),
    ({"a": 1}, guards.of_dict, lambda x: (x.pop("a"), x.update(b=1))), ({}, guards.of_dict, lambda x: x.update(b=1)),
    (set(), guards.of_set, lambda x: x.add(1))], ids=["list", "values", "keys", "empty", "set"])
@pytest.mark.skipif(not guards.is_known(), reason="this Python's objects are laid out otherwise")
def test_words_tell_each_change(value, words, change):
    watched = guards.Words(words(value))
    assert watched.are_same() and watched.are_same()
    change(value)
    assert not watched.are_same()


def test_several_steps_are_captured_and_explained_after_their_replays():
    """Programs share the ones that backward starts with."""
    net, x = torch.nn.Linear(3, 2), torch.ones(4, 3)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)

    def step(x):
        optimizer.zero_grad()
        loss = net(x).square().sum()
        loss.backward()
        optimizer.step()
        return loss
    steps = [torch.compile(step) for _ in range(2)]
    for each in steps:
        for _ in range(4):
            each(x)
        assert not torch.compile.explain(each)(x).breaks
    assert all(kind.replays for each in steps for kind in each._kinds.values())
    assert not torch.compile.explain(step)(x).breaks
