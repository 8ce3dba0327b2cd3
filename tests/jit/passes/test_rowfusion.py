"""Reductions and softmax of rows as one with what is elementwise around them: what is fused, and that it computes the same."""
import numpy as np
import pytest
from replays import kind_of
from settling import close, hurry
from tracedgraphs import ops, traced
from tracedprograms import chain

import numtorch as torch
from numtorch.jit import Interpreter, parse
from numtorch.jit.passes import optimized, rownorms
from numtorch.kernels.compiler import DISABLE_JIT
from numtorch.kernels.debugmemory import MODE
from numtorch.tree import flatten

F = torch.nn.functional
pytestmark = pytest.mark.usefixtures("soon")


def masked_softmax(x, y, weight, column):
    return torch.softmax(x * y + weight, -1) * column


def layer_norm(x, y, weight, column):
    centred = x - x.mean(-1, keepdim=True)
    return centred / ((centred ** 2).mean(-1, keepdim=True) + 1e-5).sqrt() * weight + y


def with_conditions(x, y, weight, column):
    logits = torch.where(x > y, x.abs() * column, float("-inf"))
    return torch.log_softmax(logits + weight, -1).clamp(min=-50)


def slopes(x, y, weight, column):
    """A forward and its backward, of softmax and of its logarithm."""
    x = x.detach().requires_grad_()
    loss = (torch.softmax(x * column, -1) * y).sum() + (torch.log_softmax(x + weight, -1) * y).sum()
    return torch.autograd.grad(loss, x)[0] * 2


def numbers_of_rows(x, y, weight, column):
    """Sums of sums' functions; numbers of rows alone, before the first walk and as results."""
    total = (x * weight).sum(-1, keepdim=True)
    scale = (column * 2 + 1).sigmoid()
    spread = ((x - total / 100) * scale).square().sum(-1, keepdim=True)
    return total, spread.sqrt(), x * scale + spread, y.sum(-1, keepdim=True)


def without_the_dimension(x, y, weight, column):
    """Reductions that do not keep it, what is computed of them, and views that bring it back."""
    total, size = (x * weight).sum(-1) / 100, y.abs().mean(-1)
    scale = (total.tanh() * 2 + size).unsqueeze(-1)
    return x * scale + (y - y.mean(-1)[..., None]), total / size


def extremes_and_norms(x, y, weight, column):
    below, above = x.amin(-1, keepdim=True), x.amax(-1)
    unit = (x * weight) / (x * weight).norm(dim=-1, keepdim=True).clamp(min=1e-6)
    return (x - below) / (above.unsqueeze(-1) - below), unit + x.norm(1, -1, True) * x.norm(float("inf"), -1)[..., None]


def kept_behind_a_result(x, y, weight, column):
    """What the first pass keeps is read behind the one that writes a result, whose row must not be its place."""
    base = x * 2 + y
    below = base - base.amax(-1, keepdim=True)
    return below, base * below.exp().sum(-1, keepdim=True)


PROGRAMS = {masked_softmax: ["fused"], layer_norm: ["fused"], with_conditions: ["fused"], numbers_of_rows: ["fused", "fused", "sum"],
            kept_behind_a_result: ["fused"], slopes: None, without_the_dimension: None, extremes_and_norms: ["fused", "fused"]}


def inputs(n, dtype=torch.float32, leading=3):
    torch.manual_seed(n)
    return [torch.randn(*shape, dtype=dtype) for shape in ((leading, 5, n), (leading, 5, n), (n,), (5, 1))]


@pytest.mark.parametrize("leading, n", [(3, 64), (3, 77), (1, 77), (3, 1200), (3, 2500), (3, 4096)])      # few rows and long ones
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_rows_are_walked_once_and_give_the_same(program, leading, n):
    x, y, weight, column = inputs(n, leading=leading)
    column = column.expand(leading, 5, 1).contiguous()
    graph = traced(program, x, y, weight, column)
    fewer, did = optimized(graph)
    assert did["rows"] and (PROGRAMS[program] is None or sorted(ops(fewer)) == PROGRAMS[program])
    for each in (Interpreter(fewer), Interpreter(parse(str(fewer), fewer.constants))):
        with torch.no_grad():
            wanted, given = program(x, y, weight, column) if program is not slopes else Interpreter(graph).run(x, y, weight, column), \
                each.run(x, y, weight, column)
        for a, b in zip(*[[r] if isinstance(r, torch.Tensor) else r for r in (wanted, given)]):
            torch.testing.assert_close(b, a, rtol=3e-5, atol=3e-5)


def test_doubles_and_what_is_not_finite():
    x, y, weight, column = inputs(130, torch.float64)
    column = column.expand(3, 5, 1).contiguous()
    graph = traced(masked_softmax, x, y, weight, column)
    fewer, _ = optimized(graph)
    assert ops(fewer) == ["fused"]
    torch.testing.assert_close(Interpreter(fewer).run(x, y, weight, column), masked_softmax(x, y, weight, column), rtol=1e-12, atol=1e-14)
    for place, value in enumerate((float("nan"), float("inf"), float("-inf"), -float("nan"), 1e308)):
        x[0, place, 7] = value
    x[1, 0] = float("-inf")
    y.fill_(1)
    torch.testing.assert_close(Interpreter(fewer).run(x, y, weight, column), masked_softmax(x, y, weight, column), rtol=1e-12, atol=1e-14,
                               equal_nan=True)


def test_reductions_without_the_dimension_are_part_of_a_group():
    x, y, weight, column = inputs(80)
    fewer, did = optimized(traced(without_the_dimension, x, y, weight, column))
    assert did["rows"] == 1 and set(ops(fewer)) == {"fused", "view.try_view"}
    fewer, did = optimized(traced(lambda x: (x.sum(-1), x.exp()), torch.randn(3, 63)))
    assert "rows" not in did


def test_a_nan_wins_whatever_its_sign():
    def program(x):
        y = x * 2
        return y.amax(-1, keepdim=True), y.amin(-1, keepdim=True), y.norm(float("inf"), -1, True), y.norm(2, -1, True)
    x = torch.randn(5, 80)
    x[0, 3], x[1, 79], x[2, 0], x[3, 9], x[3, 10] = float("nan"), -float("nan"), float("inf"), float("-inf"), float("inf")
    x[4] = float("-inf")
    fewer, did = optimized(traced(program, x))
    assert did["rows"] == 1
    for a, b in zip(program(x), Interpreter(fewer).run(x)):
        torch.testing.assert_close(b, a, equal_nan=True)


@pytest.mark.parametrize("seed", range(3))
def test_random_programs_and_their_gradients(seed):
    shapes = (6, 70), (70,), (6, 1)
    torch.manual_seed(seed)
    graph = traced(chain(seed), *[torch.randn(*s) for s in shapes])
    fewer, _ = optimized(graph)
    given = [torch.randn(*s, requires_grad=True) for s in shapes]
    results = []
    for each in (graph, fewer):
        out = Interpreter(each).run(*given)
        gradients = torch.autograd.grad(sum((o * (i + 1)).sum() for i, o in enumerate(out)), given, allow_unused=True)
        results.append([*out, *[s for s in gradients if s is not None]])
    for a, b in zip(*results, strict=True):
        torch.testing.assert_close(b, a, rtol=1e-3, atol=1e-4)


def test_the_gradient_is_that_of_the_calls():
    given = [each.requires_grad_() for each in inputs(65)]
    fewer, did = optimized(traced(layer_norm, *inputs(65)))
    assert did["rows"] == 1
    wanted = torch.autograd.grad(layer_norm(*given).square().sum(), given, allow_unused=True)
    found = torch.autograd.grad(Interpreter(fewer).run(*given).square().sum(), given, allow_unused=True)
    for a, b in zip(wanted[:3], found[:3]):
        torch.testing.assert_close(b, a, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("x, y", [
    (torch.randn(4, 63), torch.randn(4, 63)), (torch.randn(4, 4097), torch.randn(4, 4097)),      # short and long rows
    (torch.randn(80, 80).t(), torch.randn(80, 80)), (torch.randn(2, 3, 80), torch.randn(2, 1, 80)),   # columns; rows that are not evenly apart
    (torch.randn(70, 3, 1), torch.randn(70, 3, 1))], ids=lambda x: str(tuple(x.shape)))
def test_what_such_a_kernel_does_not_walk_along_is_left(x, y):
    def program(x, y):
        return (x * y).softmax(-1) * 2, (x * y).softmax(0) * 2
    fewer, did = optimized(traced(program, x, y))
    assert "rows" not in did
    for a, b in zip(program(x, y), Interpreter(fewer).run(x, y)):
        torch.testing.assert_close(b, a)


def test_calls_that_meet_are_one():
    """Although none of the first operands is computed of the others."""
    def program(x, y):
        return torch.softmax(x.sin() * y + y.cos() * x, -1) * y.exp()
    x, y = torch.randn(4, 80), torch.randn(4, 80)
    fewer, did = optimized(traced(program, x, y))
    assert did == {"rows": 1} and ops(fewer) == ["fused"]
    torch.testing.assert_close(Interpreter(fewer).run(x, y), program(x, y))
    fewer, did = optimized(traced(lambda x, y: x.sin() * y + y.cos() * x.abs() + y.square() * 2, x, y))
    assert did == {"fusion": 1} and ops(fewer) == ["fused"]


def test_calls_of_a_file_are_checked():
    text = "graph(%x: float32[2, 64], %y: float32[2, 1]):\n  %1: float32[{s}] = fused[{calls}, (0,), (layout(float32, ({s}), ({t}), 'cpu', False),)](%x, %y)\n  return %1"
    good, x, y = "(('softmax', ('x', 0)),)", torch.ones(2, 64), torch.ones(2, 1)
    torch.testing.assert_close(Interpreter(parse(text.format(s="2, 64", t="64, 1", calls=good))).run(x, y), x / 64)
    for calls, s, t in ((good, "2, 64", "0, 0"), (good, "2, 64", "64, 0"), (good, "2, 65", "65, 1"), (good, "2, 1", "1, 1"), ("(('sum', ('x', 0)),)", "2, 64", "64, 1"), (good, "4, 64", "64, 1"),
                        ("(('softmax', ('x', 1)),)", "2, 64", "64, 1"), ("(('softmax', ('x', 0), 3),)", "2, 64", "64, 1"), ("(('softmax', 1.0),)", "2, 64", "64, 1"),
                        ("(('norm', ('x', 0), 3.0),)", "2, 1", "1, 1"), ("(('norm', ('x', 0)),)", "2, 1", "1, 1"),
                        ("(('exp', ('x', 0)),)", "4, 64", "64, 1"), ("(('exp', ('x', 0)),)", "2, 64", "0, 1")):
        with pytest.raises(ValueError, match="fused"):
            Interpreter(parse(text.format(s=s, t=t, calls=calls))).run(x, y)


@pytest.mark.skipif(bool(MODE) or DISABLE_JIT, reason="nothing is captured")
def test_a_compiled_function_walks_rows_once():
    given = [torch.randn(300, 300) for _ in range(4)]

    def f(a, b, c, mask):
        return torch.softmax(a * b + c, -1) * mask
    function = torch.compile(f)
    for _ in range(60):
        close(function(*given), f(*given))
        for replay in kind_of(function).replays:
            hurry(replay.better)
    found = torch.compile.explain(function)(*given)
    assert found.settled and ((found.passes == {"rows": 1} and found.launches == 1) or found.stays == "it is faster than its graph"), found


ORDERS = {
    "gaps": lambda n, rows=6: torch.randn(rows, n + 5)[:, 2:n + 2], "every other row": lambda n, rows=6: torch.randn(2 * rows, n)[::2],
    "one row for all": lambda n, rows=6: torch.randn(n).expand(rows, n), "one number a row": lambda n, rows=6: torch.randn(rows, 1).expand(rows, n),
    "columns": lambda n, rows=6: torch.randn(n, rows).t(),
    "backwards": lambda n, rows=6: torch.from_numpy(np.ascontiguousarray(torch.randn(rows, n).numpy())[::-1, ::-1]),
}


@pytest.mark.parametrize("rows, n", [(6, 64), (6, 65), (6, 79), (6, 4096), (19, 64), (19, 65), (19, 79), (19, 1000)])
@pytest.mark.parametrize("name", ORDERS)
def test_memory_orders(name, rows, n):
    """Of one operand and of both, forward and backward."""
    def program(x, y):
        given = [t.detach().requires_grad_() for t in (x, y)]
        out = torch.softmax(given[0] * given[1], -1) * 2
        return (out.detach(), *torch.autograd.grad((out * out).sum(), given))
    torch.manual_seed(n)
    ordered, gaps, dense = ORDERS[name](n, rows), ORDERS["gaps"](n, rows), torch.randn(rows, n)
    for x, y in ((ordered, dense), (dense, ordered), (ordered, gaps)):
        fewer, _ = optimized(traced(program, x, y))
        for a, b in zip(program(x, y), Interpreter(fewer).run(x, y)):
            torch.testing.assert_close(b, a, rtol=1e-4, atol=1e-5)


# ---------------------------------------------------------------- a graph that was made for another order than that of the call
def rows_and_elements(x, y):
    softened = torch.softmax(x * y, -1) * 2
    return softened, (x - y).sum(-1) + 1, (x.tanh() * y + x).reshape(-1)[3:90] * 2


def elements(x, y):
    z = (x * 2 + y).tanh()
    return z * x, z.t().contiguous().view(-1) + 1


def views_and_writes(x, y):
    """Of memory of its own, and of arguments where `writes_arguments` says so."""
    z, turned = x * y, x.t()
    below = z[1:, ::2]
    z.mul_(3)
    return below + 1, turned.reshape(-1)[:7] * 2, z.select(1, 5)


def writes_arguments(x, y):
    turned, part = x.t(), x[2:, 3:60]
    x.mul_(2)
    return turned + y.t(), part * 3


OVERLAPPING = ("one row for all", "one number a row")


@pytest.mark.parametrize("program", [rows_and_elements, elements, views_and_writes, writes_arguments], ids=lambda f: f.__name__)
@pytest.mark.parametrize("made_for", ORDERS)
def test_a_graph_made_for_one_order_is_right_for_all(made_for, program):
    """As it was traced, after passes, and as a traced function, which knows what it was traced for."""
    torch.manual_seed(3)
    orders = [name for name in ORDERS if program is not writes_arguments or name not in OVERLAPPING]
    graph = traced(program, ORDERS[made_for](70), torch.randn(6, 70))
    function = torch.jit.trace(program, (ORDERS[made_for](70).clone(), torch.randn(6, 70)), check_trace=False)
    for run in (Interpreter(graph).run, Interpreter(optimized(graph)[0]).run, function):
        for name in orders:
            for x, y in ((ORDERS[name](70), torch.randn(6, 70)), (ORDERS[name](70), ORDERS[name](70))):
                held = x.clone() if program is writes_arguments else x
                wanted = program(held, y)
                for a, b in zip(wanted, run(x, y)):
                    torch.testing.assert_close(b, a, rtol=1e-5, atol=1e-6)
                torch.testing.assert_close(x, held)


def test_gradients_reach_arguments_of_another_order():
    fewer, _ = optimized(traced(rows_and_elements, torch.randn(6, 70), torch.randn(6, 70)))
    given = [ORDERS[name](70).detach().requires_grad_() for name in ("columns", "backwards")]
    results = [sum((out * out).sum() for out in run(*given)) for run in (rows_and_elements, Interpreter(fewer).run)]
    for a, b in zip(*[torch.autograd.grad(result, given) for result in results]):
        torch.testing.assert_close(b, a, rtol=1e-4, atol=1e-5)


NORMS = {                                                # programs, and what is left
    "residual and activation": (lambda x, y, w, b: F.gelu(F.layer_norm(x + y, w.shape, w, b)), ["fused"]),
    "the residual is a result": (lambda x, y, w, b: (lambda z: (F.layer_norm(z, w.shape, w, b) * 2, z))(x + y), ["fused"]),
    "without weights": (lambda x, y, w, b: F.layer_norm(x * y, w.shape), ["fused"]),
    "root of mean squares": (lambda x, y, w, b: F.rms_norm(x, w.shape, w, 1e-6) * y.sigmoid(), ["fused"]),
    "softmax of it": (lambda x, y, w, b: torch.softmax(F.layer_norm(x, w.shape, w) * b, -1), ["fused"]),
    "by itself": (lambda x, y, w, b: F.layer_norm(x, w.shape, w, b), ["layer_norm"]),
    "of several dimensions": (lambda x, y, w, b: F.layer_norm(x, x.shape[1:]) + y, ["layer_norm", "add"]),
    "beside a product": (lambda x, y, w, b: F.layer_norm(x, w.shape) @ w, ["layer_norm", "matmul"]),
}


@pytest.mark.parametrize("name", NORMS)
def test_norms_are_one_with_what_is_beside_them(name, monkeypatch):
    program, left = NORMS[name]
    for n, least, dtype in ((100, 0, torch.float32), (64, 0, torch.float64), (100, 1 << 16, torch.float32)):
        monkeypatch.setattr(rownorms, "LEAST", least)
        torch.manual_seed(n)
        given = [torch.randn(*shape, dtype=dtype) for shape in ((3, 5, n), (3, 5, n), (n,), (n,))]
        graph = traced(program, *given)
        fewer, _ = optimized(graph)
        found = [op for op in ops(fewer) if not op.startswith("view.")]
        if least:
            assert "layer_norm" in found or "rms_norm" in found
            continue
        assert found == left or name == "beside a product", fewer
        results = []
        for each in (graph, fewer):
            leaves = [t.detach().requires_grad_() for t in given]
            out = flatten(Interpreter(each).run(*leaves))[0]
            slopes = torch.autograd.grad(sum((o * o.detach().cos()).sum() for o in out), leaves, allow_unused=True)
            results.append([*out, *[torch.zeros(1) if s is None else s for s in slopes], Interpreter(each).run(*given)])
        torch.testing.assert_close(*results, rtol=1e-4, atol=1e-4)
