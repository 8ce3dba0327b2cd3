"""Compiled training steps: bit for bit the eager ones, for as many as one likes: every optimiser, every network of the benchmark."""
from __future__ import annotations

import time

import numpy as np
import pytest
from daily import is_todays
from replays import Pair, batch, classes, compare, is_replayed, kind_of, perceptron, same, sgd, training, why

import numtorch as torch
from bench import models, networks
from bench.runner import case as bench_case
from bench.runner.networks import residual_block
from numtorch import nn
from numtorch.jit.capturing import guards
from numtorch.jit.capturing.memory import offsets_of
from numtorch.jit.compiling.improving import compiling
from numtorch.kernels import compiler, debugmemory

pytestmark = pytest.mark.skipif(compiler.DISABLE_JIT or bool(debugmemory.MODE),
                                reason="nothing is captured with NUMBA_DISABLE_JIT and NUMTORCH_DEBUG_MEMORY")
F = nn.functional


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


def test_every_optimizer_is_tried():
    """But LBFGS and Muon, which are no rules (below), and SparseAdam, whose gradients are sparse."""
    names = {name for name, kind in vars(torch.optim).items() if isinstance(kind, type) and issubclass(kind, torch.optim.Optimizer)}
    assert names - {"Optimizer"} == {name for name, _ in OPTIMIZERS} | {"LBFGS", "Muon", "SparseAdam"}


@pytest.mark.parametrize("make, network", [
    (lambda p: torch.optim.LBFGS(p, max_iter=3), perceptron), (lambda p: torch.optim.Muon([p[0], p[2]]), perceptron),
    (lambda p: torch.optim.SparseAdam([p[0]]), lambda: nn.Sequential(nn.EmbeddingBag(9, 4, sparse=True), nn.Linear(4, 4)))],
    ids=["LBFGS", "Muon", "SparseAdam"])
def test_optimizers_that_are_no_rules(make, network):
    def made(net):
        optimizer = make(list(net.parameters()))

        def step(x, y):
            def loss():
                optimizer.zero_grad()
                value = F.cross_entropy(net(x if type(net[0]) is nn.Linear else (x.abs() * 3).long().clamp(max=8)), y)
                value.backward()
                return value
            if type(optimizer) is torch.optim.LBFGS:
                return optimizer.step(loss)
            value = loss()
            optimizer.step()
            net.zero_grad()
            return value
        step.optimizer = optimizer
        return step
    pair = Pair(network, made).run(12, batch, classes)
    assert is_replayed(pair.compiled) is (type(pair.step.optimizer) is torch.optim.Muon), why(pair.compiled)


STEPS = [case for module in (networks, models) for case in module.CASES
         if isinstance(case, bench_case.Case) and case.setup is not None
         and (module is networks or "training step" in case.name) and "ResNet" not in case.name]


@pytest.mark.parametrize("case", STEPS, ids=[case.name for case in STEPS])
def test_every_network_of_the_benchmark(case, monkeypatch):
    """For 50 steps; of the large ones, those whose turn it is today."""
    modules = []
    fill = bench_case.fill
    monkeypatch.setattr(bench_case, "fill", lambda package, module: modules.append(module) or fill(package, module))
    rng = np.random.default_rng(0)
    arrays = [np.asarray(make(rng, np.float32)) for make in case.inputs]
    eager, step = (case.setup(torch, *[torch.tensor(array) for array in arrays]) for _ in range(2))
    function = torch.compile(step, mode="replay")
    seconds = time.perf_counter()
    for number in range(50):
        results = []
        for run in (eager, function):
            torch.manual_seed(number)
            results.append(run())
        assert same(*results), f"results differ in step {number}"
        if modules:
            compare(*modules, f"in step {number}")
        if time.perf_counter() - seconds > 2 and number > 8 and not is_todays(case.name, 8):
            break
    assert is_replayed(function), why(function)


def test_residual_networks_with_batch_norm_and_pooling():
    def network():
        return nn.Sequential(nn.Conv2d(3, 8, 7, 2, 3, bias=False), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(3, 2, 1),
                             residual_block(torch, 8), residual_block(torch, 8, 16, 2), nn.AdaptiveAvgPool2d((1, 1)), nn.Flatten(),
                             nn.Linear(16, 4))

    def images(number):
        return torch.from_numpy(np.random.default_rng(number).standard_normal((4, 3, 32, 32), np.float32))
    pair = Pair(network, training(sgd)).run(50, images, classes)
    assert is_replayed(pair.compiled), why(pair.compiled)
    inference = torch.compile(pair.nets[1].eval())
    with torch.no_grad():
        for number in range(6):
            assert same(inference(images(number)), pair.nets[1](images(number)))
    assert is_replayed(inference._compiled), why(inference._compiled)


def test_a_learning_rate_that_is_set_between_steps():
    pair = Pair(perceptron, training(lambda p: torch.optim.Adam(p, lr=0.01)))
    steps = {id(net): step.optimizer for net, step in zip(pair.nets, (pair.eager, pair.step))}
    schedules = {key: torch.optim.lr_scheduler.StepLR(each, 3, 0.5) for key, each in steps.items()}

    def before(number, net):
        if number:
            schedules[id(net)].step()
    pair.run(20, batch, classes, before=before)
    assert is_replayed(pair.compiled), why(pair.compiled)


@pytest.mark.parametrize("read", [lambda o: o.param_groups, lambda o: getattr(o, "param_groups"), lambda o: o.__dict__["param_groups"],      # noqa: B009
                                  lambda o: o.state_dict()["param_groups"]])
def test_a_learning_rate_that_the_step_reads(read):
    def make(net):
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)

        def step(x, y):
            optimizer.zero_grad()
            loss = F.cross_entropy(net(x), y)
            loss.backward()
            optimizer.step()
            return loss.detach() * read(optimizer)[0]["lr"]
        step.optimizer = optimizer
        return step
    pair = Pair(perceptron, make)
    steps = {id(net): step.optimizer for net, step in zip(pair.nets, (pair.eager, pair.step))}
    pair.run(20, batch, classes, before=lambda number, net: steps[id(net)].param_groups[0].update(lr=0.1 / (number // 4 + 1)))


@pytest.mark.parametrize("clipping", [nn.utils.clip_grad_norm_, nn.utils.clip_grad_value_], ids=["norm", "value"])
@pytest.mark.parametrize("set_to_none, clip", [(False, None), (True, 0.1), (False, 0.1)])
def test_gradients_that_stay_and_gradients_that_are_clipped(set_to_none, clip, clipping, monkeypatch):
    monkeypatch.setattr(nn.utils, "clip_grad_norm_", clipping)
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


@pytest.mark.parametrize("optimizer", [sgd, lambda parameters: torch.optim.Adam(parameters, lr=0.01)])
def test_gradients_that_end_in_the_step(optimizer):
    def make(net):
        steps = optimizer(net.parameters())

        def step(x, y):
            value = F.cross_entropy(net(x), y)
            value.backward()
            steps.step()
            steps.zero_grad()
            return value.detach()
        return step
    pair = Pair(perceptron, make).run(8, batch, classes)
    assert is_replayed(pair.compiled), why(pair.compiled)

    def before(number, net):
        if number % 4 == 1:                              # to which the step adds
            for parameter in net.parameters():
                parameter.grad = torch.full_like(parameter, number)
    pair.run(14, batch, classes, before=before)
    assert len(kind_of(pair.compiled).replays) == 2


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


def _clear_first(net, step):
    net[0].weight.grad = None


def _other_gradient(net, step):
    net[0].weight.grad = torch.ones_like(net[0].weight)


def _written_gradient(net, step):
    net[0].weight.grad.fill_(3)


def _other_memory(net, step):
    net[0].weight.grad.data = torch.full_like(net[0].weight, 2)


def _other_options(net, step):
    step.optimizer.param_groups[0].update(weight_decay=0.1, nesterov=True)


def _other_state(net, step):
    weight = net[0].weight
    step.optimizer.state[weight] = {"momentum_buffer": torch.ones_like(weight)}


def _no_state(net, step):
    step.optimizer.state.clear()


def _loaded(net, step):
    step.optimizer.load_state_dict(step.optimizer.state_dict())


def _slower(net, step):
    step.optimizer.param_groups[0]["lr"] /= 2


def _moved_weight(net, step):
    net[0].weight.data = net[0].weight.data.clone()


def _one_less(net, step):
    step.optimizer.param_groups[0]["params"].pop()


def _stays_open(net, step):
    net[2].weight.requires_grad_(False)


CHANGES = [_clear_first, _other_gradient, _written_gradient, _other_memory, _other_options, _other_state, _no_state, _loaded, _slower,
           _moved_weight, _one_less, _stays_open]


in_words = pytest.mark.skipif(not guards.is_known(), reason="this Python's objects are laid out otherwise")


@in_words
@pytest.mark.parametrize("change", CHANGES, ids=lambda f: f.__name__[1:])
def test_what_is_changed_between_steps_that_find_all_as_it_was(change):
    pair = Pair(perceptron, training(sgd)).run(8, batch, classes)
    replay, = kind_of(pair.compiled).replays
    assert replay.steady is not None, "a step finds nothing as the last one left it"
    steps = {id(net): step for net, step in zip(pair.nets, (pair.eager, pair.step))}

    def before(number, net):
        if number % 4 == 1:
            change(net, steps[id(net)])
    pair.run(9 if change is not _one_less else 3, batch, classes, before=before)


def _steps_anew(optimizer, p):
    optimizer.state[p]["step"] = torch.tensor(0.0)


def _another_dict(optimizer, p):
    optimizer.state[p] = {name: value.clone() for name, value in optimizer.state[p].items()}


def _its_entry(optimizer, p):                            # of a dict of the program's own, in the end
    optimizer.state[p]["exp_avg"] = optimizer.state[p]["exp_avg"] * 0.5


def _updated(optimizer, p):
    optimizer.state[p].update(exp_avg=torch.ones_like(p.detach()), step=torch.tensor(3.0))


def _gone(optimizer, p):
    del optimizer.state[p]


@pytest.mark.parametrize("mode", ["replay", "default"])
def test_states_of_adam_that_are_exchanged_are_used(mode):
    """Between replays, of launches as they were captured and of the graph that they become."""
    pair = Pair(perceptron, training(lambda parameters: torch.optim.Adam(parameters, lr=0.01)), mode=mode)
    changes = [_steps_anew, _another_dict, _its_entry, _updated, _gone]
    for number in range(12 * (len(changes) + 3)):
        for net, step in zip(pair.nets, (pair.eager, pair.step)):
            if number % 12 == 0 and number > 24:
                changes[number // 12 % len(changes)](step.optimizer, net[0].weight)
        losses = [step(batch(number), classes(number)) for step in (pair.eager, pair.compiled)]
        torch.testing.assert_close(*losses, rtol=1e-5 if mode == "default" else 0.0, atol=1e-6 if mode == "default" else 0.0)
        while mode == "default" and compiling:
            time.sleep(0.01)
    assert is_replayed(pair.compiled), why(pair.compiled)


@in_words
def test_gradients_that_are_kept_now_and_then():
    pair, kept, copies = Pair(perceptron, training(sgd)).run(8, batch, classes), [], []
    replay, = kind_of(pair.compiled).replays
    for number in range(12):
        before = replay.steady
        pair.run(1, batch, classes)
        if number % 3 == 2:
            grad = pair.nets[1][2].weight.grad
            kept.append(grad if number % 2 else grad.view(-1) if number % 4 else grad.numpy())
            copies.append(grad.clone())
            grad = None
        elif number % 3 == 1:
            assert replay.steady is not None and (number > 1 or replay.steady is before)
    for one, other in zip(kept, copies):
        assert np.array_equal(np.asarray(one.detach() if isinstance(one, torch.Tensor) else one).ravel(), other.numpy().ravel())


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


def test_what_lives_at_one_time_has_places_of_its_own():
    rng = np.random.default_rng(0)
    sizes, first = rng.integers(1, 50, 60).tolist(), rng.integers(0, 40, 60).tolist()
    last = [start + int(rng.integers(0, 12)) for start in first]
    offsets, total = offsets_of(sizes, first, last)
    for i in range(60):
        for j in range(i):
            apart = last[i] < first[j] or last[j] < first[i]
            assert apart or offsets[i] + sizes[i] <= offsets[j] or offsets[j] + sizes[j] <= offsets[i]
    most = max(sum(s for s, a, b in zip(sizes, first, last) if a <= time <= b) for time in range(60))
    assert most <= total == max(o + s for o, s in zip(offsets, sizes)) < 1.3 * most


def test_a_program_has_little_more_memory_than_what_lives_at_one_time():
    def chain(x):
        for width in (64, 256, 128, 512, 64):
            x = torch.tanh(x[:, :1].expand(-1, width) * 2)
        return x.sum(1)
    function, x = torch.compile(chain, mode="replay"), torch.randn(512, 4)
    for _ in range(5):
        assert same(function(x), chain(x))
    found = torch.compile.explain(function)(x)
    eager = sum(2 * 512 * width * 4 for width in (64, 256, 128, 512)) + 4 * 512      # of each width twice, and the sums
    assert found.bytes <= 2.3 * 512 * 512 * 4 < found.captured <= eager
    assert f"{found.bytes} bytes of its own, packed of {found.captured}" in str(found)
    for _ in range(3):
        x = torch.randn(512, 4)
        assert same(function(x), chain(x))


def test_what_is_named_in_tables_has_its_place_there():
    """Joined tensors, clipped gradients and indices are handed to kernels by tables of addresses; those of intermediates move too."""
    def joined(x):
        parts = [torch.tanh(x[:, :width]).sum(1, keepdim=True).expand(-1, width) * 2 for width in (96, 64, 32, 48, 16, 80, 24)]
        wide = torch.cat([part.exp() for part in parts], 1)
        stacked = torch.stack([part[:, :16] + 1 for part in parts])
        rows = (x[:, 0] > 0).long()
        return wide.sum(1), stacked.cos(), torch.tanh(wide)[rows * 2, rows + 1]
    function = torch.compile(joined, mode="replay")
    for _ in range(6):
        x = torch.randn(40, 96)
        for a, b in zip(joined(x), function(x), strict=True):
            assert same(a, b)
    assert is_replayed(function), why(function)
    found = torch.compile.explain(function)(torch.randn(40, 96))
    assert found.bytes < found.captured
