"""Compiled functions that are split where a call cannot be captured: results, effects and their order are those of the function."""
from __future__ import annotations

import contextlib
import functools
import sys

import numpy as np
import pytest
from replays import batch, classes, perceptron, pieces_of, sgd
from replays import same as same_bits

import numtorch as torch
from numtorch import nn
from numtorch.jit.compiling import effects, splitting
from numtorch.kernels import compiler, debugmemory

pytestmark = pytest.mark.skipif(compiler.DISABLE_JIT or bool(debugmemory.MODE),
                                reason="nothing is captured with NUMBA_DISABLE_JIT and NUMTORCH_DEBUG_MEMORY")
F = nn.functional
log: list = []


def same(a, b):
    if isinstance(a, torch.Tensor):
        return same_bits(a, b)
    if isinstance(a, (tuple, list)):
        return type(a) is type(b) and len(a) == len(b) and all(map(same, a, b))
    return a == b


def _kinds(function):
    return list(getattr(function, "_compiled", function)._kinds.values())


def _prints(x, y):
    z = torch.sin(x) * y
    print("sum", z.sum())
    w = z + x
    return w * w


def _branches(x, y):
    z = x * y + 1
    if z.sum().item() > 0:
        z = z * 2
    else:
        z = z - 1
    return z.exp()


def _ends_early(x, y):
    z = x * y
    if z.sum() > 1e6:
        return z
    total = (z + x).sum()
    return total / y.sum().item()


def _loops(x, y):
    total = torch.zeros(3)
    for i in range(3):
        part = x * y + i
        total = total + part
        log.append(part.sum().item())
    return total


def _carries(x, y):
    for i in range(3):
        if i:
            last = last * 2 + x                          # noqa: F821
        else:
            last = x
        print(i)
    return last * y


def _reads_numbers(x, y):
    scale = float((x * x).sum())
    count = 0
    count += int((y > 0).sum())
    return x * scale + count


def _keeps_a_list(x, y):
    found = log
    z = x + y
    found.append(z.sum().item())
    z = z * 2
    return z


def _with(x, y):
    with torch.no_grad():
        z = x * 2
        log.append(z.tolist())
        w = z + y
    return w


def _writes(x, y, *more, scale=2.0, **options):
    x = x.clone()
    x.add_(y)
    if not x.sum().item() < 1e6:
        raise ValueError(f"found {x}")
    x.mul_(scale)
    return x, more, options


def _deletes(x, y):
    z = x * y
    print(z)
    del z
    z = y * 2
    return z


def _counts(x, y):
    z = torch.sin(x) * y
    log.append(z.sum())
    w = z * len(log) + x
    log.append(
        w)
    return w * w


PROGRAMS = [_prints, _branches, _ends_early, _loops, _carries, _reads_numbers, _keeps_a_list, _with, _writes, _deletes, _counts]


@pytest.mark.parametrize("f", PROGRAMS, ids=[f.__name__ for f in PROGRAMS])
def test_a_split_function_does_what_the_function_does(f, capsys):
    function = torch.compile(f, mode="replay")
    for i in range(10):
        x, y = torch.tensor([i - 3.5, 2.0, -1.5 * i]), torch.tensor([1.0, -2.0, i + 0.5])
        log.clear()
        capsys.readouterr()
        wanted, said, noted = f(x, y), capsys.readouterr().out, list(log)
        log.clear()
        found = function(x, y)
        assert same(found, wanted) and capsys.readouterr().out == said and same(log, noted)
    assert any(each.launches() for each in pieces_of(function)) is (f is not _carries)         # whose variable may not be there


def _step(net, optimizer):
    def step(x, y):
        optimizer.zero_grad()
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        if loss > 1e4:
            print("it grows")
        return loss.item()
    return step


def test_a_step_that_reads_its_loss_is_replayed():
    results = []
    for compiled in (False, True):
        torch.manual_seed(0)
        net = perceptron()
        step = _step(net, sgd(net.parameters()))
        run = torch.compile(step, mode="replay") if compiled else step
        results.append(([run(batch(i), classes(i)) for i in range(30)], [p.detach().clone() for p in net.parameters()]))
    assert same(*results)
    first, *_ = pieces_of(run)
    assert first.launches() > 8
    said = torch.compile.explain(run)(batch(0), classes(0))
    assert said.pieces[0].launches == first.launches() and said.breaks and "split at:" in str(said)
    lines = step.__code__.co_firstlineno
    assert said.pieces[0].line == lines + 1 and {each.line - lines for each in said.breaks} == {5, 6, 7}


def _scheduled(net, optimizer):
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 3, 0.5)
    rates = []

    def step(x, y):
        optimizer.zero_grad()
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        rates.append(scheduler.get_last_lr())
        optimizer.step()
        scheduler.step()
        return loss.detach(), scheduler.last_epoch, rates[-1]
    return step


def test_effects_on_python_have_lines_and_what_stands_between_is_replayed():
    results = []
    for compiled in (False, True):
        torch.manual_seed(0)
        net = perceptron()
        step = _scheduled(net, sgd(net.parameters()))
        run = torch.compile(step, mode="replay") if compiled else step
        results.append(([run(batch(i), classes(i)) for i in range(30)], [p.detach().clone() for p in net.parameters()]))
    assert same(*results)
    lines = step.__code__.co_firstlineno
    for explained in (run, step):
        said = torch.compile.explain(explained)(batch(0), classes(0))
        assert [(each.line - lines, each.what.partition(":")[0]) for each in said.breaks] == [
            (line, "it has an effect on Python") for line in (4, 6)]
        assert [each.line - lines for each in said.pieces] == [1, 5, 7]
    assert [bool(each.launches()) for each in pieces_of(run)] == [True, True, False]
    whole = torch.compile(step, fullgraph=True)
    with pytest.raises(RuntimeError, match=rf"test_splitting.py:{lines + 4}: it has an effect on Python: rates has changed"):
        for i in range(4):
            whole(batch(i), classes(i))


@pytest.mark.parametrize("how", ["in a debugger", "after many lines"])
def test_effects_of_which_no_line_is_known_happen_every_time(how, monkeypatch):
    monkeypatch.setattr(effects, "MOST", 2 if how == "after many lines" else 512)
    function, lines = torch.compile(_counts, mode="replay"), []
    log.clear()

    def debugger(frame, event, _):
        lines.append(event)
    for i in range(8):
        sys.settrace(debugger if how == "in a debugger" else None)
        try:
            function(batch(i)[0], batch(i)[1])
            assert sys.gettrace() is (debugger if how == "in a debugger" else None)
        finally:
            sys.settrace(None)
    assert len(log) == 16 and not pieces_of(function) and bool(lines) is (how == "in a debugger")
    assert str(_kinds(function)[0].breaks[0]).endswith("it has an effect on Python: log has changed")


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(4, 8), nn.Linear(8, 2)

    def forward(self, x):
        hidden = torch.relu(self.first(x))
        size = hidden.abs().max().item()
        return self.second(hidden) / (1 + size)


def test_a_module_is_split_as_long_as_its_calls_are_plain():
    net = Net()
    compiled, x = torch.compile(net, mode="replay"), torch.randn(3, 4)
    with torch.no_grad():
        wanted = net(x)
        assert all(same(compiled(x), wanted) for _ in range(10))
        assert any(each.launches() for each in pieces_of(compiled))
        seen = []
        handle = net.register_forward_hook(lambda module, args, result: seen.append(result.shape))
        assert same(compiled(x), wanted) and len(seen) == 1
        handle.remove()
        net.forward = lambda x: x * 2
        assert same(compiled(x), x * 2)


def test_an_error_has_the_line_of_the_user():
    def f(x, y):
        z = x + 1
        print("here")
        return z @ y
    function = torch.compile(f, mode="replay")
    for _ in range(8):
        function(torch.ones(2, 2), torch.ones(2, 2))
    with pytest.raises(RuntimeError) as caught:
        function(torch.ones(2, 2), torch.ones(3, 2))
    frames = []
    trace = caught.tb
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == __file__:
            frames.append((trace.tb_frame.f_code.co_name, trace.tb_lineno))
        trace = trace.tb_next
    assert frames[-1] == ("f", f.__code__.co_firstlineno + 3)


def test_what_keeps_variables_or_has_no_source_is_left_as_it_is():
    def keeps(x):
        z = x * 2
        later = lambda: z + 1
        print(z)
        z = z * 2
        return later()
    scope: dict = {}
    exec("def without(x):\n    y = x * 2\n    print(y)\n    return y + 1", scope)
    for f in (keeps, scope["without"]):
        function = torch.compile(f)
        assert all(same(function(torch.ones(3)), f(torch.ones(3))) for _ in range(8))
        assert all(kind.split is None for kind in _kinds(function))


def _random_program(rng, name):
    """A function of numbers in which variables come and go, and what was done is noted in `log`."""
    names = "abcd"

    def value(depth=2):
        kind = rng.integers(7)
        if kind < 2 or not depth:
            return rng.choice([*names, "x", "1", "2"])
        if kind == 2:
            return f"int({value(depth - 1)} > {value(depth - 1)})"
        if kind == 3:
            return f"sum([a * {rng.choice(list(names))} for a in (x, 2)])"
        return f"({value(depth - 1)} {rng.choice(['+', '-', '*'])} {value(depth - 1)}) % 97"

    def body(depth, looping, indent):
        lines = []
        for _ in range(rng.integers(1, 5)):
            kind, target = rng.integers(14), rng.choice(list(names))
            if kind < 5:
                lines.append(f"{target} = {value()}")
            elif kind == 5:
                lines.append(f"{target} += {value()}")
            elif kind == 6:
                lines.append(f"{target} = int({value()})")
            elif kind == 7:
                lines.append(f"log.append({value()})")
            elif kind == 8:
                lines.append(f"del {target}")
            elif kind == 9 and depth:
                lines += [f"if {value()} > {value()}:", *body(depth - 1, looping, "    "), "else:", *body(depth - 1, looping, "    ")]
            elif kind == 10 and depth:
                lines += [f"for {target} in range({rng.integers(1, 4)}):", *body(depth - 1, True, "    ")]
            elif kind == 11 and depth:
                lines += ["with context():", *body(depth - 1, looping, "    ")]
            elif kind == 12 and looping:
                lines += [f"if {value()} > 5:", f"    {rng.choice(['break', 'continue'])}"]
            elif kind == 13:
                lines += [f"if {value()} > 40:", f"    return {value()}"]
        return [indent + line for line in lines or ["pass"]]
    start = [f"    {name} = x + {i}" for i, name in enumerate(names) if rng.random() < 0.7]
    return "\n".join([f"def {name}(x):", *start, *body(3, False, "    "), f"    return {value()}"])


def _outcome(f, x):
    log.clear()
    try:
        return f(x), list(log)
    except NameError:
        return NameError, list(log)


@pytest.mark.parametrize("seed", range(8))
def test_random_programs_do_the_same_wherever_they_are_split(seed, tmp_path):
    rng = np.random.default_rng(seed)
    names = [f"f{i}" for i in range(12)]
    file = tmp_path / "programs.py"
    file.write_text("\n\n".join(_random_program(rng, name) for name in names))
    scope = {"log": log, "context": contextlib.nullcontext}
    exec(compile(file.read_text(), str(file), "exec"), scope)
    made = 0
    for name in names:
        f = scope[name]
        first, last = f.__code__.co_firstlineno, max(line for _, _, line in f.__code__.co_lines() if line)
        for _ in range(4):
            lines = rng.integers(first + 1, last + 1, rng.integers(1, 4)).tolist()
            called = splitting.split(f, lines, lambda piece: piece)
            made += 0 if called is None else len(called.pieces)
            assert called is None or all(_outcome(called, x) == _outcome(f, x) for x in (0, 3, 60)), (name, lines)
    assert made > 20


def test_a_decorated_function_is_split_and_not_what_it_wraps():
    def scaled(function):
        @functools.wraps(function)
        def inner(x, factor):
            y = function(x) * factor
            return y.sum().item()
        return inner

    @scaled
    def doubled(x):
        return x * 2
    compiled = torch.compile(doubled)
    for number in range(8):
        assert compiled(torch.ones(3), float(2)) == 12.0
