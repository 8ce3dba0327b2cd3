"""What Python does in a compiled function: values that change, effects that stay, and what keeps a call from being replayed."""
from __future__ import annotations

import os
import random
import sys
import time
import weakref

import numpy as np
import pytest
from replays import Pair, batch, classes, is_replayed, kind_of, perceptron, same, sgd, training, why

import numtorch as torch
from numtorch import nn
from numtorch.jit.capturing import guards
from numtorch.jit.capturing.capture import Watch
from numtorch.jit.compiling import compiled
from numtorch.kernels import compiler, debugmemory

pytestmark = pytest.mark.skipif(compiler.DISABLE_JIT or bool(debugmemory.MODE),
                                reason="nothing is captured with NUMBA_DISABLE_JIT and NUMTORCH_DEBUG_MEMORY")
F = nn.functional


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
    return x + 1 if x.sum().item() > 0 else x - 1


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
    strict = torch.compile(f, fullgraph=True)
    with pytest.raises(compiled.Unsupported, match=r"test_compile_python.py:\d+: "):
        for _ in range(3 if f is _mask else 1):          # of another length, so that there is something to plan
            strict(torch.tensor([1.0, 2.0, 3.0]))
    capsys.readouterr()
    with pytest.raises(compiled.Unsupported, match=r"test_compile_python.py:\d+: "):
        strict(torch.tensor([1.0, 2.0, 3.0]))
    assert capsys.readouterr().out == "", "it is called before it raises"


@pytest.mark.parametrize("says", [False, True])
def test_what_a_first_step_prepares_is_no_break_for_fullgraph(says, capsys, monkeypatch, tmp_path):
    """An optimiser makes its states in the first step and prepares the second anew, and modules are imported: the third is captured."""
    net = perceptron()
    optimizer, after = torch.optim.Adam(net.parameters(), amsgrad=True), print if says else str

    @torch.compile(fullgraph=True)
    def step(x):
        optimizer.zero_grad()
        loss = net(x).square().mean()
        loss.backward()
        optimizer.step()
        import this_is_imported_once  # noqa: F401
        after("stepped")
        return loss.detach()
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "this_is_imported_once.py").write_text("import time\nbegun = time.time()\n")
    sys.modules.pop("this_is_imported_once", None)
    if not says:
        for number in range(6):
            step(batch(number))
        assert is_replayed(step)
        return
    with pytest.raises(compiled.Unsupported, match=rf"test_compile_python.py:{step.__wrapped__.__code__.co_firstlineno + 7}: .*print"):
        step(batch(0))
    assert capsys.readouterr().out == "stepped\n"


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


def test_what_dies_may_have_been_in_a_weak_set():
    class Point:
        pass
    points = [Point() for _ in range(9)]
    known = weakref.WeakSet(points)
    function = torch.compile(lambda x: (points and points.pop(), x * 2)[1], mode="replay")
    for _ in range(2):
        function(torch.ones(2))
    assert len(known) == 7 and "effect on Python" in why(function)           # and not that it was taken out of the set
    adding = torch.compile(lambda x: (known.add(adding), x * 2)[1], mode="replay")
    for _ in range(4):
        adding(torch.ones(2))
    assert not is_replayed(adding)


def _resizes(kept, x):
    kept.resize_(0 if kept.numel() else 6)
    return x + kept.numel()


def _transposes(kept, x):
    return kept.t_() * x


def _toggles(kept, x):
    return x + int(kept.requires_grad_(not kept.requires_grad).requires_grad)


@pytest.mark.parametrize("change", [_resizes, _transposes, _toggles])
def test_tensors_whose_shape_or_place_changes_are_changed_every_time(change):
    one, other = torch.arange(6.0).reshape(2, 3), torch.arange(6.0).reshape(2, 3)
    function = torch.compile(lambda x: change(other, x), mode="replay")
    for i in range(12):
        x = torch.tensor(i + 0.5)
        assert same(change(one, x), function(x)), i
        assert one.shape == other.shape and one.requires_grad == other.requires_grad
    assert not is_replayed(function)


def test_arguments_that_the_function_reaches_are_told_from_others():
    kept, table = torch.tensor([1.0, 2.0]), {}
    table[kept] = 5.0

    def f(x):
        return x * table.get(x, 2.0 if x is kept else 3.0)
    for first in (torch.tensor([3.0, 4.0]), kept):
        function = torch.compile(f, mode="replay")
        for x in (*[first] * 5, kept, torch.tensor([5.0, 6.0]), kept, *[torch.tensor([7.0, i]) for i in range(5)], kept):
            assert same(function(x), f(x))
        assert len(kind_of(function).replays) == 2


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


def test_a_mode_that_changes_is_seen():
    def network():
        return nn.Sequential(nn.Linear(8, 16), nn.BatchNorm1d(16), nn.Dropout(0.5), nn.Linear(16, 4))

    def before(number, net):
        net.train(number // 5 % 2 == 0)
    Pair(network, training(sgd)).run(25, batch, classes, seed=1, before=before)


# ---------------------------------------------------------------- words of memory
@pytest.mark.skipif(not guards.is_known(), reason="this Python's objects are laid out otherwise")
def test_objects_are_compared_in_memory_first():
    pair = Pair(perceptron, training(sgd)).run(6, batch, classes)
    replay, = kind_of(pair.compiled).replays
    held = replay.unchanged
    assert held.words is not None and not held.rest and held.words.are_same()
    looks = held.looks
    pair.run(6, batch, classes)
    assert held.looks == looks
    pair.nets[1].note = "another attribute, which nothing reads"
    assert not held.words.are_same()
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


@pytest.mark.skipif(sys.implementation.name != "cpython" or sys.version_info > (3, 14), reason="not CPython as it was tried")
def test_this_python_is_known():
    assert guards.is_known()


def with_attributes(count):
    """An object of a class of its own, whose objects share their keys as long as these are few."""
    value = type("Kind", (), {})()
    for i in range(count):
        setattr(value, f"x{i}", object())
    return value


@pytest.mark.parametrize("count", [1, 5, 6, 29, 30, 31, 40, 85, 86, 170, 171, 341, 342, 43_690, 43_691])
@pytest.mark.parametrize("make", [lambda count: {f"x{i}": object() for i in range(count)}, lambda count: vars(with_attributes(count)),
                                  lambda count: dict(enumerate(map(str, range(count))))], ids=["dict", "attributes", "numbers"])
@pytest.mark.skipif(not guards.is_known(), reason="this Python's objects are laid out otherwise")
def test_words_of_dicts_of_any_size(make, count):
    """On both sides of the sizes at which a table's indices are wider, and objects no longer share their keys."""
    value = make(count)
    for key in (next(iter(value)), list(value)[count // 2], next(reversed(value))):
        words, others = guards.Words(guards.of_dict(value, {key})), guards.Words(guards.of_dict(value, set(value) - {key}))
        value[key] = object()
        assert not words.are_same() and others.are_same()
    words = guards.Words(guards.of_dict(value))
    del value[key]
    assert not words.are_same()


@pytest.mark.skipif(not guards.is_known(), reason="this Python's objects are laid out otherwise")
def test_words_of_attributes_in_an_object():
    """Which Python 3.13 keeps in the object itself, also where a dict of them was asked for."""
    value = with_attributes(4)
    own = guards.Words(guards.of_own_dict(value) + guards.of_dict(vars(value)))
    assert own.are_same()
    value.x2 = value.x2
    assert own.are_same()
    value.x2 = object()
    assert not own.are_same()
    own = guards.Words(guards.of_own_dict(value) + guards.of_dict(vars(value)))
    del value.x0
    assert not own.are_same()
    own = guards.Words(guards.of_own_dict(value) + guards.of_dict(vars(value)))
    value.__dict__ = dict(vars(value))
    assert not own.are_same()


def test_a_call_is_watched_on_behind_one_that_was_watched_within_it(monkeypatch):
    """The inner function is watched while the outer one is: its end is not the outer one's."""
    inner, observe, told = torch.compile(lambda x: x * 2), Watch._observe, set()

    def behind(x):
        return x.sum()

    @torch.compile
    def outer(x):
        return behind(inner(x))

    monkeypatch.setattr(Watch, "_observe", lambda self, frame, event, function: told.add(event) or observe(self, frame, event, function))
    x = torch.ones(3)
    outer(x)
    assert sys.getprofile() is None and told and told <= {"call", "c_call"}              # C functions may all be known by now
    assert behind.__code__ in next(iter(outer._kinds.values())).codes
    assert [outer(x).item() for _ in range(5)] == [6.0] * 5


def test_what_compiles_a_kernel_is_no_part_of_the_call_that_waits():
    """Of a call in which a kernel is compiled, the user's code is known, that before the kernel and that behind it."""
    from numtorch.kernels.progress import statistics
    scope: dict = {}
    exec(f"def fresh(x):\n    return x * {time.time_ns()} + 1\n", scope)
    fresh = torch.pointwise(scope["fresh"], methods=False)

    def behind(x):
        return x + 1

    watch, compiled = Watch(capturing=False), statistics.compiled
    watch.run(lambda x: behind(fresh(x)), (torch.ones(3),), {})
    assert statistics.compiled > compiled and sys.getprofile() is None
    names = {code.co_filename for code in watch.codes}
    assert behind.__code__ in watch.codes and not any("numba" in name or "llvmlite" in name for name in names), names


def test_functions_of_equal_code_have_globals_of_their_own():
    """Code objects compare by what they say: of two functions of one text, the globals of either may change."""
    scopes = {"a": 2.0}, {"a": 3.0}
    for scope in scopes:
        exec("def scaled(x):\n    return x * a\n", scope)
    first, second = [scope["scaled"] for scope in scopes]
    step = torch.compile(lambda x: first(x) + second(x))
    x = torch.ones(2)
    for _ in range(6):
        assert step(x).tolist() == [5.0] * 2
    scopes[0]["a"] = 10.0
    assert step(x).tolist() == [13.0] * 2
    scopes[1]["a"] = 1.0
    assert step(x).tolist() == [11.0] * 2
    assert "globals of their own" in str(torch.compile.explain(step)(x))
