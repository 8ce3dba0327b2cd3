"""Values that are computed again instead of being kept: less memory at one time, and the same numbers."""
import copy

import pytest
from recordings import recording_of, settle
from replays import kind_of, same, why
from settling import close, hurry
from tracedgraphs import ops, traced

import numtorch as torch
from numtorch import nn
from numtorch.jit import Interpreter, parse
from numtorch.jit.passes import optimized
from numtorch.jit.passes.checkpointing import recompute
from numtorch.jit.passes.memory import memory_plan

F = nn.functional
pytestmark = pytest.mark.usefixtures("soon")


def gelus(x, w, v):
    for _ in range(4):
        x = x + F.gelu(F.layer_norm(x, x.shape[1:]) @ w) @ v
    return x


def attention(x, w, v):
    for _ in range(3):
        q, k = (x @ w).chunk(2, 1)
        x = torch.softmax(q @ k.t() * 0.1, -1) @ x + x.t().contiguous().t() * v[:64, :1].t().expand(x.shape)
    return x


def convolutions(x, w, v):
    for _ in range(3):
        x = F.silu(F.conv2d(x.reshape(4, 4, 16, -1), w[:4, :36].reshape(4, 4, 3, 3), padding=1)) * torch.sigmoid(v.sum())
    return x


def draws(x, w, v):
    for _ in range(3):
        x = F.dropout(torch.tanh(F.gelu(x @ w)) @ v, 0.5)
    return x


PROGRAMS = {"gelus": (gelus, 0.45), "attention": (attention, 0.9), "convolutions": (convolutions, 0.6), "draws": (draws, 0.7)}


def arguments(dtype=torch.float32, rows=64):
    torch.manual_seed(3)
    return [(torch.randn(*shape, dtype=dtype) * 0.2) for shape in ((rows, 64), (64, 128), (128, 64))]


def step(function):
    def made(x, w, v):
        loss = function(x, w, v).square().mean()
        return (loss, *torch.autograd.grad(loss, (x, w, v)))
    return made


@pytest.mark.parametrize("name", PROGRAMS)
def test_less_memory_and_the_same_numbers(name):
    function, share = PROGRAMS[name]
    for dtype, rows in ((torch.float32, 256), (torch.float32, 251), (torch.float64, 64)):
        if rows == 251 and name == "convolutions":
            continue
        given = [t.requires_grad_() for t in arguments(dtype, rows)]
        graph = traced(step(function), *given)
        peaks = []
        torch.manual_seed(0)
        wanted = step(function)(*given)
        for budget in (1, 0.8, 0.5, 0):
            fewer, did = optimized(graph, memory_budget=budget)
            assert ("computed again" in did) == (budget < 1), (budget, did)
            peaks.append(memory_plan(fewer).peak)
            for each in (fewer, parse(str(fewer), fewer.constants)):
                torch.manual_seed(0)
                for a, b in zip(Interpreter(each).run(*given), wanted, strict=True):
                    torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-6)
        assert peaks == sorted(peaks, reverse=True) and peaks[-1] <= (share if rows > 64 else 0.95) * peaks[0], peaks


def test_cheap_calls_before_products_and_draws_never():
    given = [t.requires_grad_() for t in arguments()]
    graph = traced(step(draws), *given)
    counts = []
    for budget in (1, 0.85, 0):
        fewer = graph.copy()
        recompute(fewer, budget)
        fewer.verify()
        counts.append({op: ops(fewer).count(op) for op in ("tanh", "gelu", "mm", "dropout")})
    assert counts[0] == {op: ops(graph).count(op) for op in counts[0]}
    assert counts[1]["mm"] == counts[0]["mm"] < counts[2]["mm"] and counts[1]["gelu"] + counts[1]["tanh"] > 6
    assert all(each["dropout"] == 3 for each in counts)


def test_what_does_not_make_the_peak_lower_is_not_done():
    graph = traced(lambda x: (x.exp() @ x).sin() @ x, torch.ones(20, 20))
    assert recompute(graph, 0.0) == 0 and len(ops(graph)) == 4
    assert recompute(traced(lambda x: x, torch.ones(2)), 0.5) == 0


def network():
    torch.manual_seed(5)
    return nn.Sequential(nn.Linear(8, 32), nn.GELU(), nn.LayerNorm(32), nn.Linear(32, 32), nn.GELU(), nn.Dropout(0.2), nn.Linear(32, 32),
                         nn.SiLU(), nn.Linear(32, 4))


@pytest.mark.parametrize("make", [lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9), lambda p: torch.optim.Adam(p, lr=0.01)])
def test_a_training_step_within_a_budget(make):
    """The smaller program is taken, though it were slower; it trains the same network."""
    nets = [network(), network()]
    optimizers = [make(net.parameters()) for net in nets]

    def step_of(net, optimizer):
        def step(x, y):
            optimizer.zero_grad()
            loss = F.cross_entropy(net(x), y)
            loss.backward()
            optimizer.step()
            return loss
        return step
    eager, compiled = step_of(nets[0], optimizers[0]), torch.compile(step_of(nets[1], optimizers[1]), memory_budget=0.4)
    torch.manual_seed(9)
    data = [(torch.randn(128, 8), torch.randint(0, 4, (128,))) for _ in range(30)]
    losses = []
    for step in (eager, compiled):
        torch.manual_seed(1)
        found = []
        for x, y in data:
            found.append(step(x, y).item())
            for replay in kind_of(compiled).replays if step is compiled else ():
                hurry(replay.better, wins=False)
        losses.append(found)
    explained = torch.compile.explain(compiled)(*data[0])
    assert explained.passes.get("computed again"), (explained, why(compiled))
    assert explained.bytes < 0.7 * explained.before and "before passes" in str(explained), explained
    close(torch.tensor(losses[0]), torch.tensor(losses[1]))
    for a, b in zip(nets[0].parameters(), nets[1].parameters()):
        torch.testing.assert_close(a.detach(), b.detach(), rtol=1e-3, atol=1e-4)


def test_networks_in_the_usual_loop():
    """What backward computes again is not kept for it by the tape."""
    torch.manual_seed(0)
    net = nn.Sequential(*[layer for _ in range(6) for layer in (nn.Linear(32, 32), nn.LayerNorm(32), nn.GELU(), nn.Dropout(0.1))])
    wanted, kept = copy.deepcopy(net), []
    for budget in (1.0, 0.5, 0.3):
        compiled = torch.compile(net, memory_budget=budget)

        def call(compiled=compiled):
            x, state = torch.randn(128, 32), torch.get_rng_state()
            for each, function in ((net, compiled), (wanted, wanted)):
                torch.set_rng_state(state)
                each.zero_grad()
                function(x).square().sum().backward()
            for a, b in zip(net.parameters(), wanted.parameters()):
                close(a.grad, b.grad)
        settle(call, compiled)
        program, = recording_of(compiled).programs
        assert recording_of(compiled).stays is None or budget == 1
        assert (program.passes.get("computed again", 0) > 0) == (budget < 1)
        kept.append(sum(program.halves.forward.results[i].layout.nbytes for i in program.halves.own))
    assert kept[2] <= kept[1] < 0.75 * kept[0], kept


def test_budgets_that_are_none():
    for budget, mode in ((1.5, None), (-0.1, None), (float("nan"), None), (0.5, "replay")):
        with pytest.raises(ValueError, match="memory_budget"):
            torch.compile(lambda x: x, memory_budget=budget, mode=mode)
    assert same(torch.compile(lambda x: x * 2, memory_budget=0.5)(torch.ones(3)), torch.full((3,), 2.0))
    assert torch.compile(memory_budget=0.5)(lambda x: x)._options["memory_budget"] == 0.5
