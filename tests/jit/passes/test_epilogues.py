"""Biases, relu and other elementwise calls as part of products and convolutions: what is taken in, what is left, and that it computes the same."""
import pytest
from replays import Pair, batch, classes, kind_of, sgd, states, training
from settling import close, hurry
from tracedgraphs import ops, traced

import numtorch as torch
from numtorch.jit import Interpreter, parse
from numtorch.jit.graphs import epilogue
from numtorch.jit.passes import optimized
from numtorch.kernels.compiler import DISABLE_JIT
from numtorch.kernels.debugmemory import MODE
from numtorch.ops.core.primitive import forget_plans

F = torch.nn.functional
pytestmark = pytest.mark.usefixtures("soon")
CONV = "convolution_relu"
ROWS = {                                                 # the program, shapes of its arguments, what is left, how many calls were taken in
    "x @ w + b": (lambda x, w, b: x @ w + b, [(6, 5), (5, 7), (7,)], ["view.transpose", "linear"], 1),
    "b + x @ w.t()": (lambda x, w, b: b + x @ w.t(), [(6, 5), (7, 5), (1, 7)], ["view.try_view", "linear"], 1),
    "relu(x @ w.t() + b)": (lambda x, w, b: (x @ w.t() + b).relu(), [(6, 5), (7, 5), (7,)], ["linear_relu"], 2),
    "linear of many rows": (lambda x, w, b: F.relu(F.linear(x, w) + b), [(2, 3, 5), (7, 5), (7,)], ["linear_relu"], 2),
    "linear, relu, linear": (lambda x, w, b: F.linear(F.relu(F.linear(x, w, b)), w[:, :7]), [(6, 9), (7, 9), (7,)],
                             ["linear_relu", "linear"], 1),
    "conv2d": (lambda x, w, b: F.conv2d(x, w, b, padding=1).relu(), [(2, 3, 8, 9), (4, 3, 3, 3), (4,)], [CONV], 1),
    "conv2d of several groups": (lambda x, w, b: F.conv2d(x, w, b, 2, groups=2).relu(), [(2, 4, 9, 9), (6, 2, 3, 3), (6,)], [CONV], 1),
    "conv2d and a bias": (lambda x, w, b: (F.conv2d(x, w) + b).relu(), [(2, 3, 6, 6), (4, 3, 3, 3), (4, 1, 1)], ["view.try_view", CONV], 2),
    "conv2d by points": (lambda x, w, b: (b + F.conv2d(x, w)).relu(), [(2, 8, 6, 6), (16, 8, 1, 1), (1, 16, 1, 1)], ["view.try_view", CONV], 2),
    "conv1d": (lambda x, w, b: F.conv1d(x, w, b).relu(), [(2, 3, 20), (4, 3, 5), (4,)], [CONV], 1),
    "conv3d": (lambda x, w, b: F.conv3d(x, w, b).relu(), [(1, 2, 5, 6, 7), (3, 2, 2, 3, 3), (3,)], [CONV], 1),
}
BEHIND = {                                               # elementwise calls on each block, whatever they are: programs, shapes, calls
    "gelu": (lambda x, w, b: F.gelu(F.linear(x, w, b)), [(6, 5), (7, 5), (7,)], 1),
    "tanh of a product": (lambda x, w, b: torch.tanh(x @ w) - b, [(6, 5), (5, 7), (7,)], 2),
    "scale, sigmoid, bias": (lambda x, w, b: torch.sigmoid(F.linear(x, w) * 0.5) + b, [(2, 9, 5), (7, 5), (7,)], 3),
    "silu, residual, relu6": (lambda x, w, r: F.relu6(F.silu(F.linear(x, w)) + r), [(300, 16), (24, 16), (300, 24)], 3),
    "leaky relu of images": (lambda x, w, b: F.leaky_relu(F.conv2d(x, w, b, padding=1)), [(2, 3, 8, 9), (4, 3, 3, 3), (4,)], 1),
    "the end of a residual block": (lambda x, w, r: F.relu(F.conv2d(x, w) + r), [(3, 8, 6, 7), (16, 8, 1, 1), (3, 16, 6, 7)], 2),
    "hardtanh of volumes": (lambda x, w, b: F.hardtanh(F.conv3d(x, w, b)), [(1, 2, 5, 6, 7), (3, 2, 2, 3, 3), (3,)], 1),
    "dropout's mask": (lambda x, w, m: torch.where(m > 0, torch.tanh(F.linear(x, w)) * 2, m), [(40, 5), (7, 5), (40, 7)], 4),
    "a column": (lambda x, w, b: x @ w + b, [(7, 5), (5, 7), (7, 1)], 1),
    "batches": (lambda x, w, m: torch.tanh(torch.bmm(x, w) * 0.5 + m), [(5, 6, 7), (5, 7, 4), (6, 4)], 3),
    "batches of batches": (lambda x, w, m: torch.where(m > 0, torch.matmul(x, w.transpose(-1, -2)) * 0.5, m),
                           [(3, 2, 6, 7), (3, 2, 4, 7), (3, 1, 6, 1)], 2),
    "a second bias": (lambda x, w, b: F.linear(x, w, b) + b, [(6, 5), (7, 5), (7,)], 1),
    "a row of pixels": (lambda x, w, b: F.conv2d(x, w) + b, [(2, 3, 6, 6), (4, 3, 3, 3), (4,)], 1),
    "used twice": (lambda x, w, b: (lambda y: y.relu() * y)(F.linear(x, w, b)), [(6, 5), (7, 5), (7,)], 2),
    "kept": (lambda x, w, b: (lambda y: y.tanh() @ y.t())(F.linear(x, w, b)), [(6, 5), (7, 5), (7,)], 1),
}
LEFT = {                                                 # what is no epilogue
    "16 bits": (lambda x, w, b: F.linear(x.bfloat16(), w.bfloat16(), b.bfloat16()).relu(), [(6, 5), (7, 5), (7,)]),
    "another shape": (lambda x, w, b: F.linear(x, w, b) + torch.ones(2, 6, 7), [(6, 5), (7, 5), (7,)]),
    "no elements": (lambda x, w, b: F.linear(x, w, b).tanh(), [(0, 5), (7, 5), (7,)]),
}


def arguments(shapes, dtype=torch.float32):
    torch.manual_seed(1)
    return [torch.randn(*shape, dtype=dtype) for shape in shapes]


def compare(graph, fewer, given, **tolerance):
    """Values and gradients of a graph, of what passes made of it, and of that from text."""
    wanted = [None, None]
    for each in (graph, fewer, parse(str(fewer), fewer.constants)):
        with torch.no_grad():
            plain = Interpreter(each).run(*given)
        leaves = [t.detach().requires_grad_() for t in given]
        out = Interpreter(each).run(*leaves)
        found = plain, torch.autograd.grad((out * out).sum(), leaves)
        wanted = found if wanted[0] is None else wanted
        torch.testing.assert_close(found[0], wanted[0], **tolerance)
        for a, b in zip(found[1], wanted[1]):
            torch.testing.assert_close(a, b, **tolerance)


@pytest.mark.parametrize("name", ROWS)
def test_what_follows_is_part_of_the_product(name):
    program, shapes, left, count = ROWS[name]
    given = arguments(shapes)
    graph = traced(program, *given)
    fewer, did = optimized(graph)
    assert did["epilogues"] == count and [op for op in ops(fewer) if not op.startswith("view.slice")] == left
    compare(graph, fewer, given, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", BEHIND)
def test_elementwise_calls_are_part_of_the_product(name):
    program, shapes, count = BEHIND[name]
    given = arguments(shapes)
    graph = traced(program, *given)
    fewer, did = optimized(graph)
    assert did["epilogues"] == count and ops(fewer).count("epilogue") == 1, fewer
    assert not {"fused", "linear", "mm", "convolution"} & set(ops(fewer)) or name == "kept"
    compare(graph, fewer, given, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("program, shapes", [
    (lambda x, w, r, s: F.silu(F.linear(x, w)) * s + r, [(None, 16), (40, 16), (None, 40), (None, 1)]),
    (lambda x, w, r, s: torch.tanh(x @ w[:x.shape[0]] * s) + r, [(None, 2, 6, 7), (61, 2, 7, 5), (None, 2, 6, 5), (2, 6, 1)]),
    (lambda x, w, r, s: torch.tanh(F.conv2d(x, w, padding=1) * s) + r, [(None, 3, 9, 10), (4, 3, 3, 3), (None, 4, 9, 10), (4, 1, 1)])])
def test_blocks_of_all_sizes(program, shapes, monkeypatch):
    """Rows and images around the size of a block, in all memory orders; the last block is the smaller one."""
    monkeypatch.setattr(epilogue, "second_level_bytes", lambda: 1 << 12)
    monkeypatch.setattr(epilogue, "_least", lambda blocks: 4)
    for count in (1, 7, 8, 9, 12, 23, 61):
        given = arguments([tuple(count if n is None else n for n in shape) for shape in shapes])
        wanted = program(*given)
        fewer, _ = optimized(traced(program, *given))
        assert [op for op in ops(fewer) if not op.startswith("view.")] == ["epilogue"]
        for change in (lambda t: t, lambda t: t.transpose(-1, -2).contiguous().transpose(-1, -2), lambda t: t.flip(0).contiguous().flip(0)):
            found = Interpreter(fewer).run(*[change(t) for t in given])
            torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-5)


DROPOUTS = {                                             # programs, shapes, how many calls were taken in
    "product, bias, activation, dropout, residual": (lambda x, w, b, r: F.dropout(F.gelu(x @ w + b), 0.3) + r,
                                                     [(300, 50), (50, 40), (40,), (300, 40)], 4),
    "relu in the product": (lambda x, w, b, r: F.dropout(F.relu(F.linear(x, w, b)), 0.5) * r,
                            [(301, 9), (24, 9), (24,), (24,)], 3),
    "by itself": (lambda x, w, b, r: F.dropout(F.linear(x, w, b), 0.1), [(70, 9), (5, 9), (5,), (1,)], 1),
    "all values are used": (lambda x, w, b, r: (lambda y: (lambda a: (lambda d: d * r + a + y)(F.dropout(a, 0.3)))(torch.tanh(y)))
                            (F.linear(x, w, b)), [(300, 9), (24, 9), (24,), (24,)], 5),
    "images": (lambda x, w, b, r: F.dropout(F.silu(F.conv2d(x, w, b)), 0.4) + r, [(9, 3, 9, 9), (4, 3, 3, 3), (4,), (9, 4, 7, 7)], 3),
    "batches": (lambda x, w, b, r: F.dropout(torch.bmm(x, w), 0.4) + r, [(33, 3, 9), (33, 9, 5), (1,), (5,)], 2),
    "alpha dropout": (lambda x, w, b, r: F.alpha_dropout(F.selu(F.linear(x, w, b)), 0.2, True), [(130, 9), (24, 9), (24,), (1,)], 2),
    "two draws": (lambda x, w, b, r: F.dropout(F.dropout(F.linear(x, w, b), 0.2) + r, 0.3), [(130, 9), (24, 9), (24,), (24,)], 2),
    "all dropped": (lambda x, w, b, r: F.dropout(F.linear(x, w, b), 1.0) + r, [(130, 9), (24, 9), (24,), (24,)], 2),
}


@pytest.mark.parametrize("name", DROPOUTS)
def test_dropout_is_part_of_the_product(name, monkeypatch):
    """Of blocks of all sizes, the last being smaller: what is drawn are the numbers that dropout by itself draws."""
    program, shapes, count = DROPOUTS[name]
    given = arguments(shapes)
    torch.manual_seed(7)
    program(*given)
    after = torch.get_rng_state()
    for least in (256, 4):
        monkeypatch.setattr(epilogue, "_least", lambda blocks, least=least: least)
        monkeypatch.setattr(epilogue, "second_level_bytes", lambda least=least: 1 << 8 if least == 4 else 1 << 20)
        forget_plans()
        graph = traced(program, *given)
        fewer, did = optimized(graph)
        assert did["epilogues"] == count and ops(fewer).count("epilogue") == 1, fewer
        wanted = None
        for each in (graph, fewer, parse(str(fewer), fewer.constants)):
            found = []
            for leaves in (given, [t.detach().requires_grad_() for t in given]):
                torch.manual_seed(7)
                out = Interpreter(each).run(*leaves)
                assert torch.equal(torch.get_rng_state(), after)
                found.append(out.detach())
            grads = torch.autograd.grad((out * out).sum(), leaves, allow_unused=True)
            found += [torch.zeros(1) if g is None else g for g in grads]
            wanted = wanted or found
            for a, b in zip(found, wanted):
                torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-4)
                assert torch.equal(a == 0, b == 0) or name == "all values are used"


def test_draws_keep_their_order():
    """A sum of two dropouts, of which either could go on with the other's product."""
    def program(x, w, y, v):
        a = F.dropout(F.linear(x, w), 0.5)
        return F.dropout(F.linear(y, v), 0.5) + a, a
    given = arguments([(40, 5), (7, 5), (40, 6), (7, 6)])
    fewer, _ = optimized(traced(program, *given))
    torch.manual_seed(2)
    wanted = program(*given)
    torch.manual_seed(2)
    for a, b in zip(Interpreter(fewer).run(*given), wanted):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("calls", ["('dropout', ('x', 0), 2.0)", "('dropout', ('x', 0), True)", "('dropout', ('v', 5), 0.5)",
                                   "('dropout', ('x', 0)), ('dropout', ('x', 0), 0.5), ('dropout', ('v', 0), 0.5)"])
def test_text_that_says_another_dropout_is_refused(calls):
    text = f"""graph(%x: float32[4, 5], %w: float32[7, 5]):
      %a: float32[4, 7], %m: bool[4, 7] = epilogue['mm', (), 2, ({calls},), (0,), False](%x, %w, draws=True)
      return %a"""
    with pytest.raises(ValueError):
        Interpreter(parse(text)).run(torch.ones(4, 5), torch.ones(5, 7))


@pytest.mark.skipif(DISABLE_JIT or bool(MODE), reason="nothing is captured with NUMBA_DISABLE_JIT and NUMTORCH_DEBUG_MEMORY")
def test_a_training_step_with_dropout_draws_as_an_eager_one():
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = torch.nn.Linear(8, 32), torch.nn.Linear(32, 8)

        def forward(self, x):
            return F.dropout(self.b(F.dropout(F.gelu(self.a(x)), 0.5)), 0.25) + x
    pair = Pair(Net, training(sgd, loss=lambda out, y: (out - y.unsqueeze(1)).square().mean()), mode=None)
    for _ in range(30):
        torch.manual_seed(5)
        wanted, state = pair.eager(batch(1), classes(1)), torch.get_rng_state()
        torch.manual_seed(5)
        close(pair.compiled(batch(1), classes(1)), wanted)
        assert torch.equal(torch.get_rng_state(), state)
        for replay in kind_of(pair.compiled).replays:
            hurry(replay.better)
    explained = torch.compile.explain(pair.compiled)(batch(1), classes(1))
    assert explained.passes.get("epilogues", 0) >= 4, explained
    for (_, a), (_, b) in zip(states(pair.nets[0]), states(pair.nets[1])):
        close(a, b)


@pytest.mark.skipif(DISABLE_JIT or bool(MODE), reason="nothing is captured with NUMBA_DISABLE_JIT and NUMTORCH_DEBUG_MEMORY")
def test_scratch_memory_of_products_lives_as_long_as_their_plans():
    """Else a step of which the graph was captured has words of memory that others have by then, and is not replaced."""
    net = torch.nn.Sequential(torch.nn.Linear(32, 256), torch.nn.GELU(), torch.nn.Linear(256, 32))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)

    @torch.compile
    def step(x):
        optimizer.zero_grad()
        loss = (net(x) - x).square().mean()
        loss.backward()
        optimizer.step()
        return loss
    x = torch.randn(1024, 32)
    for _ in range(30):
        step(x)
        for replay in kind_of(step).replays:
            hurry(replay.better)
    assert kind_of(step).replays[0].passes.get("epilogues"), kind_of(step).replays[0].stays


@pytest.mark.parametrize("name", LEFT)
def test_what_is_no_epilogue_is_left(name):
    program, shapes = LEFT[name]
    _, did = optimized(traced(program, *arguments(shapes)))
    assert "epilogues" not in did


def test_images_of_other_orders_and_doubles():
    program, shapes, _, _ = ROWS["conv2d"]
    for change in (lambda t: t.to(memory_format=torch.channels_last) if t.dim() == 4 else t, lambda t: t.double()):
        given = [change(t) for t in arguments(shapes)]
        graph = traced(program, *given)
        fewer, did = optimized(graph)
        assert did["epilogues"] == 1
        compare(graph, fewer, given, rtol=1e-4, atol=1e-4)
        assert Interpreter(fewer).run(*given).stride() == program(*given).stride()


@pytest.mark.parametrize("change", [lambda y: y.relu(), lambda y: F.silu(y) * 2])
def test_samples_of_vmap(change):
    shapes = ROWS["conv2d"][1]

    def program(x, w, b):
        return change(F.conv2d(x, w, b, padding=1))
    fewer, _ = optimized(traced(program, *arguments(shapes)))
    x, w, b = arguments([(3, *shapes[0]), *shapes[1:]])
    found = torch.func.vmap(Interpreter(fewer).run, (0, None, None))(x, w, b)
    torch.testing.assert_close(found, torch.stack([program(each, w, b) for each in x]), rtol=1e-4, atol=1e-5)


def test_inference_of_a_network_with_norms():
    """Norms are folded first: what is left of a block is one call."""
    net = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3, bias=False), torch.nn.BatchNorm2d(4), torch.nn.ReLU(), torch.nn.Flatten(),
                              torch.nn.Linear(64, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2)).eval()
    x = torch.randn(5, 3, 6, 6)
    fast = torch.jit.optimize_for_inference(torch.jit.trace(net, x))
    assert [op for op in ops(fast.graph) if not op.startswith("view.")] == [CONV, "linear_relu", "linear"]
    assert fast.passes["epilogues"] == 2 and fast.passes["norms"] == 1
    torch.testing.assert_close(fast(x), net(x).detach(), rtol=1e-4, atol=1e-5)


@pytest.mark.skipif(DISABLE_JIT or bool(MODE), reason="nothing is captured with NUMBA_DISABLE_JIT and NUMTORCH_DEBUG_MEMORY")
def test_a_compiled_network_says_what_was_taken_in():
    net = torch.nn.Sequential(torch.nn.Linear(6, 50), torch.nn.ReLU(), torch.nn.Linear(50, 3))

    @torch.compile
    def function(x):
        with torch.no_grad():
            return net(x)
    x = torch.randn(40, 6)
    for _ in range(60):
        close(function(x), net(x).detach())
        for replay in kind_of(function).replays:
            hurry(replay.better)
    found = torch.compile.explain(function)(x)
    assert found.settled and ((found.passes == {"epilogues": 1} and found.launches == 2) or found.stays), found
