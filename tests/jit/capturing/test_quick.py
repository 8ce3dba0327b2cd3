"""Calls where nothing has changed go a short way; where anything has, whatever it is, they do what an eager call does."""
from __future__ import annotations

import random
import threading
import weakref

import pytest
from changes import CHANGES, forget
from replays import Pair, batch, classes, compare, is_replayed, kind_of, perceptron, same, sgd, training, why

import numtorch as torch
from numtorch import nn
from numtorch.jit.capturing import guards, quick
from numtorch.kernels import compiler, debugmemory

pytestmark = [
    pytest.mark.skipif(compiler.DISABLE_JIT or bool(debugmemory.MODE),
                       reason="nothing is captured with NUMBA_DISABLE_JIT and NUMTORCH_DEBUG_MEMORY"),
    pytest.mark.skipif(not guards.is_known(), reason="this Python's objects are laid out otherwise")]
F = nn.functional


def is_quick(function):
    """Whether the last call, or the next one, goes the short way."""
    return function._quick is not None


class Counting:
    """How many calls went the short way."""

    def __init__(self, function):
        self.function, self.count = function, 0

    def __enter__(self):
        self.inner = self.function._quick

        def counted(args):
            result = self.inner(args)
            self.count += result is not quick.MISS
            return result
        self.function._quick = counted
        return self

    def __exit__(self, *exception):
        if self.function._quick is not None and self.count:
            self.function._quick = self.inner


OPTIMIZERS = {
    "sgd": sgd, "plain sgd": lambda p: torch.optim.SGD(p, lr=0.1), "adamw": lambda p: torch.optim.AdamW(p, lr=0.01),
    "decay": lambda p: torch.optim.SGD(p, lr=0.1, weight_decay=0.1, nesterov=True, momentum=0.5),
    "groups": lambda p: torch.optim.SGD([{"params": [each], "lr": 0.1 / (i + 1)} for i, each in enumerate(p)], momentum=0.9)}


def with_dropout():
    return nn.Sequential(nn.Linear(8, 16), nn.Dropout(0.5), nn.BatchNorm1d(16), nn.Linear(16, 4))


# ---------------------------------------------------------------- it is taken
@pytest.mark.parametrize("network", [perceptron, with_dropout])
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_steps_go_the_short_way_and_are_those_of_eager(optimizer, network):
    pair = Pair(network, training(OPTIMIZERS[optimizer])).run(8, batch, classes, seed=3)
    with Counting(pair.compiled) as counting:
        pair.run(20, batch, classes, seed=4)
    assert counting.count == 20


def test_functions_of_tensors_go_the_short_way():
    def f(x, y, scale, more, name=None):
        x.add_(1)
        return x, {"sum": x + y * scale}, (more, y.exp())
    compiled = torch.compile(f, mode="replay")
    more = object()
    for number in range(12):
        x, y = batch(number), batch(number + 50)
        wanted = f(x.clone(), y, 3, more)
        if number == 6:
            assert is_quick(compiled)
        out = compiled(x, y, 3, more)
        assert out[0] is x and x._version == 1 and out[2][0] is more
        assert all(map(same, (out[0], out[1]["sum"], out[2][1]), (wanted[0], wanted[1]["sum"], wanted[2][1])))


def test_methods_of_a_users_own_class_go_the_short_way():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(8, 4)

        def forward(self, x):
            """With a docstring."""
            return self.layer(x).relu()

        @torch.compile(mode="replay")
        def predict(self, x):
            with torch.no_grad():
                return self(x)
    model = Model()
    for _ in range(6):
        model.predict(batch(1))
    assert is_quick(Model.predict) and same(model.predict(batch(1)), model(batch(1)))
    Model.forward = lambda self, x: self.layer(x)
    for _ in range(4):
        assert same(model.predict(batch(1)), model(batch(1)))


def test_results_are_fresh():
    compiled = torch.compile(lambda x: (x * 2, x + 1), mode="replay")
    kept = [compiled(torch.full((3,), float(i))) for i in range(30)]
    assert is_quick(compiled)
    assert [[a[0].item(), b[0].item()] for a, b in kept] == [[2.0 * i, 1.0 + i] for i in range(30)]
    result, _ = kept[-1]
    result.requires_grad_().note = "the user's"
    gone = weakref.ref(result)
    kept = result = None
    assert gone() is None
    result, _ = compiled(torch.ones(3))
    assert not result.requires_grad and not hasattr(result, "note") and result._version == 0


def test_results_that_share_memory_do():
    compiled = torch.compile(lambda x: (lambda y: [y[1], y, y.t()[2:]])(x * 2), mode="replay")
    for i in range(8):
        row, y, columns = compiled(torch.full((2, 3), float(i)))
        y[1, 2] = 100.0
        assert row.tolist() == [2.0 * i, 2.0 * i, 100] and columns.tolist() == [[2.0 * i, 100]]
    assert is_quick(compiled)


def test_reused_results_are_in_the_same_memory():
    compiled = torch.compile(lambda x: x * 2, mode="replay", reuse_outputs=True)
    for _ in range(8):                                   # the calls before may have left something that the first ones settle
        compiled(torch.ones(3))
    results = [compiled(torch.full((3,), float(i))) for i in range(9)]
    assert is_quick(compiled) and len({each.data_ptr() for each in results}) == 1 and results[5][0].item() == 16.0


# ---------------------------------------------------------------- what changes is seen
@pytest.fixture(autouse=True)
def put_back():
    threads = torch.get_num_threads()
    yield
    torch.set_num_threads(threads)
    forget()


def change_both(pair, name):
    for net, step in zip(pair.nets, (pair.eager, pair.step)):
        CHANGES[name](net, step.optimizer)


@pytest.mark.parametrize("optimizer", ["sgd", "adamw"])
@pytest.mark.parametrize("name", CHANGES)
def test_a_change_is_seen(name, optimizer):
    pair = Pair(with_dropout, training(OPTIMIZERS[optimizer])).run(8, batch, classes, seed=3)
    assert is_quick(pair.compiled)
    for _ in range(3):
        change_both(pair, name)
        pair.run(6, batch, classes, seed=5)


@pytest.mark.parametrize("seed", range(3))
def test_any_changes_in_any_order(seed):
    chosen = random.Random(seed)
    pair = Pair(with_dropout, training(OPTIMIZERS[chosen.choice(list(OPTIMIZERS))])).run(6, batch, classes, seed=3)
    for _ in range(15):
        for _ in range(chosen.randrange(3)):
            change_both(pair, chosen.choice([name for name in CHANGES if name not in ("a hook behind", "a forward hook")]))
        pair.run(chosen.randrange(1, 6), batch, classes, seed=chosen.randrange(99))


def test_modes_and_arguments_that_change_are_seen():
    def f(x, y):
        return torch.matmul(x, y.t()) * torch.full((1,), 0.1)
    compiled = torch.compile(f, mode="replay")
    a, b = batch(1), batch(2)

    def check(*given):
        assert same(compiled(*given), f(*given))

    def again():
        for _ in range(6):
            check(a, b)
        assert is_quick(compiled)
    again()
    for given in ((a[:2], b), (a, b[1:]), (a.double(), b.double()), (a, a), (a.t().contiguous().t(), b)):
        check(*given)
        again()
    leaf = a.clone().requires_grad_()
    found = compiled(leaf, b)
    found.sum().backward()
    assert leaf.grad is not None
    with pytest.raises(TypeError):
        compiled(a)
    again()
    with torch.inference_mode():
        assert compiled(a, b).is_inference()
    again()
    with torch.autocast("cpu", torch.bfloat16):
        check(a, b)
    again()
    torch.set_default_dtype(torch.float64)
    try:
        check(a, b)
    finally:
        torch.set_default_dtype(torch.float32)
    again()


def test_an_argument_may_be_what_the_call_keeps():
    def make(net):
        def f(x):
            loss = (net(x) ** 2).sum()
            net.zero_grad()
            loss.backward()
            return loss
        return f
    pair = Pair(lambda: nn.Linear(8, 8, bias=False), make).run(8, lambda number: torch.ones(8, 8) * number)
    assert is_quick(pair.compiled)
    for _ in range(3):                                   # the call itself replaces it
        results = [f(net.weight.grad) for f, net in zip((pair.eager, pair.compiled), pair.nets)]
        assert same(*results) and same(*[net.weight.grad for net in pair.nets])


def test_a_bad_index_raises_and_the_next_call_is_right():
    pair = Pair(perceptron, training(sgd)).run(8, batch, classes)
    assert is_quick(pair.compiled)
    for _ in range(2):
        for step in (pair.eager, pair.compiled):
            with pytest.raises(IndexError):
                step(batch(0), torch.tensor([0, 1, 9, 2]))
        compare(*pair.nets)
        pair.run(5, batch, classes)


def test_what_was_done_before_a_bad_index_is_counted():
    net, table = nn.Linear(8, 4), torch.randn(3, 2)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)

    def step(x, index):
        optimizer.zero_grad()
        net(x).sum().backward()
        optimizer.step()
        return table[index]
    compiled = torch.compile(step, mode="replay")
    for _ in range(8):
        compiled(batch(0), torch.tensor([1, 2]))
    assert is_quick(compiled)
    before = net.weight._version
    for function in (compiled, step):
        with pytest.raises(IndexError):
            function(batch(0), torch.tensor([1, 7]))
        assert net.weight._version == before + 1
        before += 1


def test_an_argument_in_memory_that_the_call_reaches():
    held = torch.arange(9.0)

    def f(x):
        held[1:].add_(x)
    compiled = torch.compile(f, mode="replay")
    for _ in range(6):
        compiled(torch.ones(8))
    assert is_quick(compiled)
    for function in (f, compiled):
        with pytest.raises(RuntimeError, match="single memory location"):
            function(held[:8])


def test_defaults_that_a_function_gets_later_are_seen():
    def scaled(x, *, by=None):
        return x * 2 if by is None else x * by
    compiled = torch.compile(lambda x: scaled(x), mode="replay")
    x = batch(0)
    for _ in range(6):
        assert same(compiled(x), x * 2)
    assert is_quick(compiled)
    scaled.__kwdefaults__ = {"by": 5.0}
    assert same(compiled(x), x * 5)


def test_versions_go_on():
    net = nn.Linear(8, 4)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)

    @torch.compile(mode="replay")
    def step(x):
        optimizer.zero_grad()
        net(x).sum().backward()
        optimizer.step()
    for _ in range(8):
        step(batch(0))
    assert is_quick(step)
    before = net.weight._version
    loss = (net(batch(0).requires_grad_()) ** 2).sum()
    step(batch(0))
    assert net.weight._version == before + 1
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def test_within_itself_it_runs_as_it_is():
    compiled = torch.compile(lambda x: torch.rand(2) * 0 + x, mode="replay")
    inner = []
    for _ in range(5):
        compiled(torch.ones(2))
    assert is_quick(compiled)
    replay, = kind_of(compiled).replays
    draw = next(step for step in replay.steps if type(step) is not tuple)
    claim = draw.generator._claim

    class Generator:
        def _claim(self, words, counters):
            draw.generator = generator
            inner.append(compiled(torch.full((2,), 5.0)))               # as a destructor may
            claim(words, counters)
    generator, draw.generator = draw.generator, Generator()
    assert compiled(torch.full((2,), 3.0)).tolist() == [3, 3] and inner[0].tolist() == [5, 5]


@pytest.mark.parametrize("drawing", [False, True])
def test_threads_take_turns(drawing):
    compiled, failed = torch.compile(lambda x: (x * 2 + (torch.rand(50) * 0 if drawing else 1)).exp(), mode="replay"), []
    for _ in range(5):
        compiled(torch.ones(50))
    assert is_quick(compiled)

    def work(number):
        for i in range(300):
            x = torch.full((50,), (number * 300 + i) / 1000)
            if not same(compiled(x), (x * 2 + (0 if drawing else 1)).exp()):
                failed.append(number)
    workers = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not failed and is_quick(compiled)


def test_a_compiled_function_that_nobody_has_is_gone_at_once():
    gone = []
    for _ in range(2):
        compiled = torch.compile(lambda x: x * 2, mode="replay")
        for _ in range(6):
            compiled(torch.ones(3))
        assert is_quick(compiled)
        gone.append(weakref.ref(kind_of(compiled).replays[0].reach))
        compiled = None
    assert [each() for each in gone] == [None, None]


def test_gradients_that_were_kept_through_a_late_error():
    """The leaf has the gradient again that somebody keeps; the next call's is another, in memory of its own."""
    def make():
        torch.manual_seed(0)
        net = perceptron()
        optimizer = torch.optim.SGD(net.parameters(), 0.1)

        def step(x, y):
            first = F.cross_entropy(net(x), y)           # of a bad class it is found late
            optimizer.zero_grad()
            loss = F.cross_entropy(net(x) * 2, y)
            loss.backward()
            return first.detach()
        return net, step
    (wanted, eager), (net, step) = make(), make()
    compiled, kept = torch.compile(step, mode="replay"), []
    for number in range(20):
        x, y = batch(number), classes(number)
        if number in (12, 16):
            kept += [(each[0].weight.grad, each[0].weight.grad.clone()) for each in (wanted, net)]
            y = y.clone()
            y[1] = 99
            for function in (eager, compiled):
                with pytest.raises(IndexError):
                    function(x, y)
        else:
            eager(x, y), compiled(x, y)
        compare(wanted, net, f"in step {number}")
    assert all(torch.equal(grad, before) for grad, before in kept)
    assert is_replayed(compiled), why(compiled)
