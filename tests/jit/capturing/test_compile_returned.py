"""What compiled calls return is what the calls return: the same objects where these are the same, new ones where they are new."""
from __future__ import annotations

import asyncio
import collections
import copy
import pickle

import pytest
from replays import is_replayed, kind_of, same

import numtorch as torch
from numtorch import nn
from numtorch.jit.compiling import improving
from numtorch.kernels import compiler, debugmemory

pytestmark = pytest.mark.skipif(compiler.DISABLE_JIT or bool(debugmemory.MODE),
                                reason="nothing is captured with NUMBA_DISABLE_JIT and NUMTORCH_DEBUG_MEMORY")
Pair = collections.namedtuple("Pair", "one other")


def calls(function, count=8):
    return [function(torch.full((2,), float(i))) for i in range(count)]


def test_generators_and_coroutines_are_new_ones():
    def generated(x):
        for i in range(3):
            yield x * i

    async def awaited(x):
        return x * 2
    for i, each in enumerate(calls(torch.compile(generated))):
        assert [part.tolist() for part in each] == [[0.0, 0.0], [i, i], [2 * i, 2 * i]]
    for i, each in enumerate(calls(torch.compile(awaited))):
        assert asyncio.run(each).tolist() == [2 * i, 2 * i]


def _object(x):
    return x * 2, nn.Identity()


def _set(x):
    return x * 2, {1, 2}


def _closure(x):
    count = [0]
    return x * 2, lambda: count


@pytest.mark.parametrize("function", [_object, _set, _closure])
def test_objects_that_a_call_makes_are_new_ones(function):
    compiled = torch.compile(function)
    made = [other for _, other in calls(compiled)]
    assert len({id(each) for each in made}) == len(made) and "it returns an object that it makes" in kind_of(compiled).reason


@pytest.mark.parametrize("mode", ["replay", "default"])
def test_containers_are_new_or_those_that_were_there(mode, monkeypatch):
    monkeypatch.setattr(improving, "PATIENCE", 2)
    held = {"rate": [1]}

    def function(x, given):
        given["x"][0].add_(1)
        return x * 2, held, held["rate"], given, given["x"], {"new": []}
    compiled = torch.compile(function, mode=mode)
    made = []
    for i in range(12):
        given = {"x": [torch.zeros(2)]}
        x, *others, new = compiled(torch.full((2,), float(i)), given)
        assert all(a is b for a, b in zip(others, (held, held["rate"], given, given["x"])))
        assert x.tolist() == [2 * i, 2 * i] and given["x"][0].tolist() == [1, 1] and new == {"new": []}
        new["new"].append(1)
        made.append(new)
    assert is_replayed(compiled)

    def once(x):
        parts = [x * 2]
        return parts, parts
    for parts, others in calls(torch.compile(once, mode=mode)):
        assert parts is others

    def recorded(x, given):
        return x * 2, given
    compiled = torch.compile(recorded, mode=mode)
    for _ in range(8):
        x, given = torch.ones(2).requires_grad_(), [1]
        assert compiled(x, given)[1] is given


@pytest.mark.parametrize("mode", ["replay", "default"])
def test_a_tensor_that_is_returned_twice_is_one(mode, monkeypatch):
    monkeypatch.setattr(improving, "PATIENCE", 2)

    def function(x):
        y = (x * 2).sin() + 1
        return y, {"again": y}, y * 3
    compiled = torch.compile(function, mode=mode)
    for one, others, third in calls(compiled, 40):
        assert one is others["again"] and one is not third
    assert is_replayed(compiled)


def test_named_tuples_are_arguments_and_results():
    compiled = torch.compile(lambda pair: Pair(pair.one * 2, pair.other))
    for i in range(6):
        result = compiled(Pair(torch.full((2,), float(i)), 7))
        assert type(result) is Pair and result.one.tolist() == [2 * i, 2 * i] and result.other == 7
    assert is_replayed(compiled)


@pytest.mark.parametrize("mode", ["replay", "default"])
@pytest.mark.parametrize("reuse", [False, True])
def test_results_of_inference_mode_are_such(mode, reuse, monkeypatch):
    monkeypatch.setattr(improving, "PATIENCE", 2)
    weight = torch.randn(2, 2).requires_grad_()

    def function(x):
        with torch.inference_mode():
            y = ((x @ weight).tanh() * 2 + x.sum()).sigmoid()
        return y, y.t(), x * 2
    compiled = torch.compile(function, mode=mode, reuse_outputs=reuse)
    for i in range(12):
        x = torch.full((2, 2), float(i))
        for found, wanted in zip(compiled(x), function(x)):
            assert found.is_inference() == wanted.is_inference()
            torch.testing.assert_close(found.clone(), wanted.clone())
            if wanted.is_inference():
                with pytest.raises(RuntimeError, match="Inplace update to inference tensor"):
                    found.add_(1)
    assert is_replayed(compiled)


def test_a_mode_that_sees_every_call_sees_those_of_a_compiled_function():
    class Doubling(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            result = func(*args, **(kwargs or {}))
            return result * 2 if func.__name__ == "sin" else result
    x, compiled = torch.randn(3), torch.compile(lambda x: torch.sin(x))
    for i in range(12):
        if i % 4 < 2:
            assert same(compiled(x), torch.sin(x))
        else:
            with Doubling():
                found = compiled(x)
            assert same(found, torch.sin(x) * 2)


@pytest.mark.parametrize("function", [lambda x: torch.rand(3), lambda x: nn.functional.dropout(x, 0.5)])
def test_draws_are_those_of_the_map_that_runs(function):
    """vmap draws for each sample, or refuses to: of a tensor that is no sample a compiled function has a program."""
    fixed, compiled = torch.ones(3), torch.compile(function)

    def results(call):
        torch.manual_seed(0)
        found = [call(fixed) for _ in range(6)]
        for _ in range(4):
            found.append(torch.func.vmap(lambda x: x + call(fixed), randomness="different")(torch.zeros(4, 3)))
            found.append(torch.func.vmap(lambda x: x + call(fixed), randomness="same")(torch.zeros(4, 3)))
            with pytest.raises(RuntimeError, match="randomness error mode"):
                torch.func.vmap(lambda x: x + call(fixed))(torch.zeros(4, 3))
        return [*found, call(fixed)]
    assert all(map(same, results(compiled), results(function)))


@pytest.mark.parametrize("register", ["forward", "forward_pre", "full_backward"])
@pytest.mark.parametrize("recorded", [False, True])
def test_hooks_of_all_modules_that_come_and_go_are_seen(register, recorded):
    torch.manual_seed(0)
    layer, seen = nn.Linear(3, 2), []
    compiled = torch.compile(lambda x: layer(x), mode="replay")          # not a module, which has hooks of its own

    def grads(call):
        layer.zero_grad()
        if not recorded:
            with torch.no_grad():
                return [call(torch.ones(2, 3))]
        out = call(torch.ones(2, 3))
        out.square().sum().backward()
        return [out, layer.weight.grad]
    for i in range(14):
        if i == 8:
            handle = getattr(nn.modules.module, f"register_module_{register}_hook")(lambda *given: seen.append(1))
        if i == 11:
            handle.remove()
        del seen[:]
        found, noted = grads(compiled), len(seen)
        del seen[:]
        assert all(map(same, found, grads(lambda x: layer(x)))) and noted == len(seen)


@pytest.mark.parametrize("mode", ["replay", "default"])
def test_a_module_that_is_compiled_where_it_is(mode):
    """`Module.compile`: the same object, names and hooks; what is copied or pickled is compiled, too, and has tensors of its own."""
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))
    plain, names = copy.deepcopy(net), list(net.state_dict())
    net.compile(mode=mode)
    net.compile(mode=mode)
    assert list(net.state_dict()) == names and type(net) is nn.Sequential
    for each in (net, copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
        x = torch.randn(5, 3)
        for _ in range(6):
            with torch.no_grad():
                assert same(each(x), plain(x))
        assert is_replayed(each.forward)
        each[0].register_forward_hook(lambda module, args, out: out * 2)
        with torch.no_grad():
            assert same(each(x), plain[2](plain[1](plain[0](x) * 2)))
