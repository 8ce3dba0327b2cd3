"""Compiled functions: bit for bit what they are without being compiled, whatever changes meanwhile."""
from __future__ import annotations

import contextlib
import copy
import gc
import math
import pickle
import weakref
from traceback import walk_tb

import numpy as np
import pytest
from replays import Pair, batch, is_replayed, kind_of, perceptron, same, sgd, training, why

import numtorch as torch
from numtorch import nn
from numtorch.jit.compiling import compiled, improving
from numtorch.kernels import compiler, debugmemory
from numtorch.ops.core.primitive import registry

pytestmark = pytest.mark.skipif(compiler.DISABLE_JIT or bool(debugmemory.MODE),
                                reason="nothing is captured with NUMBA_DISABLE_JIT and NUMTORCH_DEBUG_MEMORY")
F = nn.functional


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


def test_the_third_call_replays_and_nothing_is_compiled_for_it(monkeypatch):
    def f(x, y):
        return (x * y + 1).exp().sum(0), x @ y.t()
    f(torch.ones(3, 4), torch.ones(3, 4))
    other, compiling = torch.compile(lambda x: x[0] + 1, mode="replay"), []
    for _ in range(4):                                   # so that the kernels are there that walk programs and compare words
        other(torch.ones(2))
    load = compiler.compile_kernel
    monkeypatch.setattr(compiler, "compile_kernel", lambda *args, **options: (compiling.append(args), load(*args, **options))[1])
    function = torch.compile(f, mode="replay")
    for i in range(4):
        assert (bool(function._kinds) and is_replayed(function)) is (i > 1)
        x, y = torch.full((3, 4), float(i)), torch.ones(3, 4)
        assert all(map(same, function(x, y), f(x, y)))
    assert not compiling


def test_there_are_so_many_programs_and_no_more():
    """Of kinds of arguments, of programs of a kind, and of captures of a kind: what is beyond runs as it is."""
    function = torch.compile(lambda x: x * 2 + 1)
    for size in (*range(1, compiled.KINDS + 5), *range(1, compiled.KINDS + 5)):
        assert all(same(function(torch.ones(size) * i), torch.ones(size) * i * 2 + 1) for i in range(3))
    assert len(function._kinds) == compiled.KINDS and all(kind.replays for kind in function._kinds.values())
    scale = 0.0
    function = torch.compile(lambda x: x * scale)
    for number in range(compiled.CAPTURES + 3):
        scale = float(number)
        assert all(same(function(torch.ones(2) * i), torch.ones(2) * i * scale) for i in range(3))
        kind = kind_of(function)
        assert len(kind.replays) == (min(number + 1, compiled.PROGRAMS) if number + 1 < compiled.CAPTURES else 0)
    assert kind.reason == "what it does changes from call to call" and kind.captures == compiled.CAPTURES


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


@pytest.mark.parametrize("bad", [1.5, -0.25, math.nan])
def test_binary_cross_entropy_is_captured_and_raises_what_it_raises_in_eager(bad):
    pair = Pair(lambda: nn.Sequential(nn.Linear(8, 3), nn.Sigmoid()), training(sgd, loss=F.binary_cross_entropy))
    pair.run(8, batch, lambda number: torch.from_numpy(np.random.default_rng(number).random((4, 3), np.float32)))
    assert is_replayed(pair.compiled), why(pair.compiled)
    before = [p.clone() for p in pair.nets[1].parameters()]
    with pytest.raises(RuntimeError, match="all elements of target should be between 0 and 1"):
        pair.compiled(batch(0), torch.full((4, 3), bad))
    assert all(same(p, b) for p, b in zip(pair.nets[1].parameters(), before))
    function = torch.compile(F.binary_cross_entropy)
    for _ in range(6):
        assert same(function(torch.full((3,), 0.5), torch.ones(3)), F.binary_cross_entropy(torch.full((3,), 0.5), torch.ones(3)))
    with pytest.raises(RuntimeError, match="all elements of input should be between 0 and 1"):
        function(torch.tensor([0.5, bad, 1.0]), torch.ones(3))
    levels, values = torch.tensor([0.25, 0.5]), torch.arange(9.0)
    function = torch.compile(lambda q: torch.quantile(values, q))
    assert all(same(function(levels), torch.quantile(values, levels)) for _ in range(6)) and is_replayed(function), why(function)


def _catches(x, index):
    try:
        return x[index] + 1
    except IndexError:
        return x[:2] * 0


def _suppresses(x, index):
    result = x[:2] * 0
    with contextlib.suppress(IndexError):
        result = x[index] + 1
    return result


def _draws(x, index):
    return F.dropout(x) + torch.rand(4), x[index], torch.rand(2)


def _writes_first(x, index):
    return x.add_(1).clone(), x[index]


def _catches_after_a_write(x, index):
    x.add_(1)
    with torch.no_grad():
        try:
            with torch.enable_grad():
                return x[index] + 1
        except IndexError:
            return x[:2] * 0


def _writes_in_a_with(x, index):
    with torch.no_grad():
        return x.add_(1).clone(), [x[i] for i in (index,)].pop()


@pytest.mark.parametrize("mode", ["replay", "default"])
@pytest.mark.parametrize("f", [_catches, _suppresses, _draws, _writes_first, _catches_after_a_write, _writes_in_a_with])
def test_a_bad_index_leaves_what_it_leaves_in_eager(f, mode, monkeypatch):
    monkeypatch.setattr(improving, "PATIENCE", 2)
    function = torch.compile(f, mode=mode)
    for number in range(40):
        index, results = torch.tensor([number % 4, 9 if number % 5 == 4 else 1]), []
        for call in (f, function):
            torch.manual_seed(number)
            x = torch.arange(16.0).reshape(4, 4)
            try:
                result = call(x, index)
            except IndexError as error:
                frames = [frame.f_code for frame, _ in walk_tb(error.__traceback__)]
                result = str(error)
                assert f in (_writes_first, _writes_in_a_with) or (f.__code__ in frames and error.__context__ is None), "not the user's line"
            results.append((result, x, torch.rand(3)))
        (a, *one), (b, *other) = results
        assert all(map(same, one, other)) and type(a) is type(b)
        assert a == b if isinstance(a, str) else all(map(same, *[r if type(r) is tuple else (r,) for r in (a, b)]))
    assert is_replayed(function) is (f is not _catches_after_a_write), why(function)


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


class Adjusted(nn.Linear):
    scale = 1.0

    def forward(self, x):
        return super().forward(x).detach() * self.scale if self.training else x


def test_attributes_of_a_compiled_module_are_the_modules():
    """PyTorch's OptimizedModule sets, deletes and lists those of the module, has its length, and is in training where it is."""
    module = Adjusted(3, 3).eval()
    function, x = torch.compile(module, mode="replay"), torch.ones(2, 3)
    assert not function.training and bool(function)
    assert module.train() is module and function.training
    for value in (2.0, 3.0):
        function.scale = value
        for _ in range(5):
            assert module.scale == value and same(function(x), module(x))
    function.bias = nn.Parameter(torch.zeros(3))
    assert function.bias is module.bias and same(function(x), module(x)) and list(dict(function.named_parameters())) == [
        "_orig_mod.weight", "_orig_mod.bias"]
    del function.scale
    assert module.scale == 1.0 and same(function(x), module(x)) and {"in_features", "_orig_mod"} <= set(dir(function))
    with pytest.raises(TypeError, match="len"):
        len(function)
    assert len(torch.compile(perceptron())) == 3
    function.eval()
    assert not module.training and not pickle.loads(pickle.dumps(function)).training and not copy.deepcopy(function).training


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


class Plain:
    """A method of an object that is no module, whose result has a graph outside."""

    def __init__(self, scale):
        self.scale, self.weight = scale, nn.Parameter(torch.ones(3))

    @torch.compile(mode="replay")
    def whole(self, x):
        return (x * self.weight * self.scale).detach()

    @torch.compile(mode="replay")
    def recorded(self, x):
        return x * self.weight * self.scale


@pytest.mark.parametrize("make", [Scaled, lambda: Plain(1.0)])
def test_instances_of_compiled_methods_live_no_longer_for_it(make):
    """And what comes at the place of one that is gone gets programs of its own."""
    methods = ["forward"] if make is Scaled else ["whole", "recorded"]
    for number in range(40):
        instance = make()
        compiled_ones = [vars(type(instance))[name] for name in methods]
        with torch.no_grad():
            instance.weight.fill_(number)
        for _ in range(6 if number else 40):             # the first up to the graph that launches become
            for name in methods:
                result = getattr(instance, name)(torch.ones(3))
                assert result.sum().item() == 3 * number
        for each in compiled_ones:
            kind = list(each._kinds.values())[-1]
            assert kind.replays or kind.recording.programs
        alive = weakref.ref(instance)
        del instance, result
        gc.collect()
        assert alive() is None and not any(each._kinds for each in compiled_ones)


def test_each_instance_has_programs_and_the_oldest_lose_theirs():
    instances = [Plain(float(number)) for number in range(compiled.OBJECTS + 3)]
    whole = vars(Plain)["whole"]
    for size in (3, 1):
        for instance in instances:
            for _ in range(4):
                assert instance.whole(torch.ones(size)).sum().item() == 3 * instance.scale
            assert list(whole._kinds.values())[-1].replays
    assert len({kind.identities for kind in whole._kinds.values()}) == compiled.OBJECTS


def test_objects_that_are_others_in_each_call_are_not_watched_for_ever(monkeypatch):
    watched, run = [], compiled.Watch.run
    monkeypatch.setattr(compiled.Watch, "run", lambda self, *args: watched.append(self) or run(self, *args))
    function = torch.compile(lambda x, other: x * other.scale)
    for number in range(compiled.KINDS + 20):
        assert function(torch.ones(3), Plain(float(number))).tolist() == [number] * 3
    assert len(watched) == compiled.KINDS and not function._kinds


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


# ---------------------------------------------------------------- options
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


# ---------------------------------------------------------------- what raises where values are no good, and numbers in calls
@pytest.mark.parametrize("divisor", [torch.tensor(3), torch.arange(1, 19), torch.arange(1, 37).reshape(18, 2)[:, 1], torch.tensor([5])],
                         ids=["a number", "each its own", "strided", "broadcast"])
def test_integer_division_by_a_tensor_is_replayed(divisor):
    """The look whether a divisor is 0 is a launch, and what it finds is looked at after it."""
    @torch.compile(fullgraph=True)
    def divided(x, y):
        return x // y + x % -4

    x = torch.arange(-9, 9)
    for more in range(4):
        assert torch.equal(divided(x + more, divisor + more), (x + more) // (divisor + more) + (x + more) % -4)
    assert torch.compile.explain(divided)(x, divisor).launches == 4
    wrong = divisor.clone()
    wrong[(-1,) * wrong.dim()] = 0
    for _ in range(2):
        with pytest.raises(RuntimeError, match="ZeroDivisionError"):
            divided(x, wrong)
        assert torch.equal(divided(x, divisor), x // divisor + x % -4)
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        torch.compile(lambda x: x // 0)(x)


@pytest.mark.parametrize("write", [
    lambda x, i: x.index_fill(0, i, 3.0), lambda x, i: x.scatter(0, i, 2), lambda x, i: x.scatter(0, i, 2.0, reduce="add"),
    lambda x, i: (x * 1).index_fill_(0, i, True)])
def test_numbers_written_by_index_are_replayed(write):
    """What is looked at of a number, before it is one among tensors, is not read from memory."""
    compiled, i = torch.compile(write, mode="replay", fullgraph=True), torch.tensor([0, 2])
    for x in torch.randn(5, 4):
        assert torch.equal(compiled(x, i), write(x, i))
    assert torch.compile.explain(compiled)(x, i).launches > 0


@pytest.mark.parametrize("divide", [torch.floor_divide, torch.remainder, torch.fmod, lambda x, y: 100 // y, lambda x, y: 100 % y,
                                    lambda x, y: x.clone().floor_divide_(y), lambda x, y: x.clone().remainder_(y),
                                    lambda x, y: torch.floor_divide(x, y, out=torch.empty_like(x)),
                                    lambda x, y: torch.div(x, y, rounding_mode="trunc")])
def test_every_integer_division_is_replayed(divide):
    compiled = torch.compile(lambda x, y: divide(x, y), fullgraph=True)
    for divisor in (torch.arange(1, 19), torch.tensor(5)):
        x = torch.arange(-9, 9)
        for more in range(4):
            assert torch.equal(compiled(x, divisor + more), divide(x, divisor + more))
        with pytest.raises(RuntimeError, match="ZeroDivisionError"):
            compiled(x, divisor * 0)


def test_what_comes_behind_a_division_by_zero_is_not_done():
    done = torch.zeros(3, dtype=torch.int64)

    @torch.compile(fullgraph=True)
    def divide(x, y):
        quotient = x // y
        done.add_(1)
        return quotient

    x, y = torch.arange(3), torch.tensor([1, 2, 1])
    for _ in range(5):
        divide(x, y)
    for _ in range(2):
        with pytest.raises(RuntimeError, match="ZeroDivisionError"):
            divide(x, torch.tensor([1, 0, 1]))
    divide(x, y)
    assert done.tolist() == [6, 6, 6]


@pytest.mark.parametrize("mode", ["nearest", "bilinear", "bicubic", "area"])
def test_resampling_is_replayed(mode):
    """The tables of a plan are the program's too: it runs on when plans are forgotten."""
    def f(x):
        return F.interpolate(x, scale_factor=1.5, mode=mode) * 2, F.adaptive_avg_pool2d(x, (3, 5))
    function = torch.compile(f, mode="replay")
    for i in range(8):
        x = torch.randn(2, 3, 6, 7)
        assert all(map(same, function(x), f(x)))
        if i == 5:
            assert is_replayed(function), why(function)
            for op in registry.values():
                op.plans.clear()
            gc.collect()
            filling = [np.full(size, 1 << 20, np.int32) for size in range(1, 400)]          # where tables were that nobody keeps
    del filling
