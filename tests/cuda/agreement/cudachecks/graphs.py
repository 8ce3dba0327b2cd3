"""Graphs: what is captured, what each replay does, and what cannot be captured."""
from __future__ import annotations

from cudacases import numbers

from .table import check, raises


def captured(torch, function):
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        return function()


@check
def graphs(torch):
    """Launches are noted and not made; replayed, they read what was written to their inputs meanwhile."""
    cuda = torch.cuda
    x, w = torch.arange(4.0, device="cuda"), torch.ones(4, device="cuda")
    (x * 2 + w).exp()                                    # plans are made before
    g = cuda.CUDAGraph()
    raises(RuntimeError, "without a preceding successful capture", g.replay)
    with cuda.graph(g):
        assert cuda.is_current_stream_capturing()
        y = (x * 2 + w).exp()
        w.add_(1)
    assert w.tolist() == [1] * 4 and not cuda.is_current_stream_capturing()
    for step in range(3):
        x.fill_(step)
        g.replay()
        assert torch.allclose(y.cpu(), torch.full((4,), 2.0 * step + step + 1).exp(), rtol=1e-5) and w.tolist() == [step + 2] * 4
    raises(RuntimeError, "not permitted when stream is capturing", lambda: captured(torch, x.sum().item))
    assert not cuda.is_current_stream_capturing()
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 2)).cuda()
    data = [numbers(torch, "cuda", 5, 3, seed=s).requires_grad_() for s in range(3)]
    expected = [model(d) for d in data]
    slopes = [torch.autograd.grad(e.square().sum(), [d, *model.parameters()]) for e, d in zip(expected, data)]
    sample = torch.zeros(5, 3, device="cuda", requires_grad=True)
    assert cuda.make_graphed_callables(model, (sample,)) is model
    for d, e, known in zip(data, expected, slopes):
        result = model(d)
        assert torch.allclose(result, e)
        found = torch.autograd.grad(result.square().sum(), [d, *model.parameters()])
        assert all(torch.allclose(a, b, atol=1e-6) for a, b in zip(found, known))
    raises(RuntimeError, "captured for arguments of shapes", lambda: model(torch.zeros(4, 3, device="cuda")))


@check
def graphs_draw_anew(torch):
    """A replay draws what the calls would draw then; a capture draws nothing."""
    cuda, F = torch.cuda, torch.nn.functional
    x = torch.arange(8.0, device="cuda", requires_grad=True)

    def step():
        y = F.dropout(x, 0.5) * torch.rand(8, device="cuda") + torch.randn(8, device="cuda")
        return y.detach(), torch.autograd.grad(y.sum(), x)[0]
    step()
    before, g = torch.get_rng_state(), cuda.CUDAGraph()
    with cuda.graph(g):
        y, slope = step()
        assert torch.equal(torch.get_rng_state(), before)
        here = torch.rand(3)                             # the host's is made at once
    torch.set_rng_state(before)
    assert torch.equal(torch.rand(3), here)
    found = []
    for seed in (0, 1, 0):
        torch.manual_seed(seed)
        for _ in range(2):
            g.replay()
            found.append(y.tolist() + slope.tolist())
        torch.manual_seed(seed)
        assert [[v for t in step() for v in t.tolist()] for _ in range(2)] == found[-2:]
    assert found[0] == found[4] and len(set(map(tuple, found))) == 4
    model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Dropout(0.5)).cuda()
    expected = model(x)
    cuda.make_graphed_callables(model, (torch.zeros(8, device="cuda", requires_grad=True),))
    torch.manual_seed(3)
    out = model(x)
    slope, = torch.autograd.grad(out.sum(), x)
    torch.manual_seed(3)
    expected = F.dropout(F.linear(x, model[0].weight, model[0].bias), 0.5)
    known, = torch.autograd.grad(expected.sum(), x)
    assert torch.allclose(out, expected) and torch.allclose(slope, known, atol=1e-6)
    for draw in (lambda: torch.multinomial(x + 1, 1), lambda: torch.poisson(x.detach())):
        draw()
        raises(RuntimeError, "not permitted when stream is capturing", lambda draw=draw: captured(torch, draw))
    assert torch.rand(2, device="cuda").tolist() != torch.rand(2, device="cuda").tolist()


@check
def a_recurrent_layer_is_captured(torch):
    layer, x, g = torch.nn.LSTM(2, 3).cuda(), numbers(torch, "cuda", 3, 2, 2), torch.cuda.CUDAGraph()
    with torch.no_grad():
        first = layer(x)[0].tolist()
        with torch.cuda.graph(g):
            out, _ = layer(x)
        x.mul_(2)
        g.replay()
        assert out.tolist() == layer(x)[0].tolist() != first


@check
def graphs_are_whole_steps(torch):
    """Each replay is a step, as the optimiser is by then, and goes on from steps that are none."""
    cuda, nn, F = torch.cuda, torch.nn, torch.nn.functional
    words, classes = torch.tensor([[0, 2], [1, 1], [3, 0]], device="cuda"), torch.tensor([0, 2, 1], device="cuda")
    made = (lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9), lambda p: torch.optim.Adam(p, lr=torch.tensor(0.02), capturable=True),
            lambda p: torch.optim.AdamW([dict(params=p[:1], lr=0.05), dict(params=p[1:])], lr=0.02, amsgrad=True))
    for make in made:
        pair = []
        for _ in range(2):
            torch.manual_seed(0)
            model = nn.Sequential(nn.Embedding(4, 3), nn.Flatten(), nn.LayerNorm(6), nn.Linear(6, 3)).cuda()
            pair.append((model, make(list(model.parameters()))))

        def step(model, optimizer, turned=False):
            optimizer.zero_grad(set_to_none=True)
            loss = F.cross_entropy(model(words), classes)
            loss.backward()
            for p in model.parameters() if turned else ():
                p.grad = p.grad.t().contiguous().t() if p.ndim > 1 else p.grad
            nn.utils.clip_grad_norm_(model.parameters(), 0.5)
            optimizer.step()
            return loss
        for each in pair * 2:
            step(*each)
        (_, eager), (model, optimizer) = pair
        counts = [state.get("step") and state["step"].item() for state in optimizer.state.values()]
        g = cuda.CUDAGraph()
        with cuda.graph(g):
            loss = step(model, optimizer)
        assert [state.get("step") and state["step"].item() for state in optimizer.state.values()] == counts
        for number in range(5):
            words.copy_(words.roll(1, 0))
            for group in (*eager.param_groups, *optimizer.param_groups):
                group["lr"] = group["lr"] * 0.9
            expected = step(*pair[0])
            if number == 2:                              # one that is no replay, for which the optimiser prepares anew
                loss.copy_(step(model, optimizer, turned=True))
            else:
                g.replay()
            assert abs(loss.item() - expected.item()) < 1e-5, (number, loss, expected)
        if counts[0] is not None:
            assert {state["step"].item() for state in optimizer.state.values()} == {counts[0] + 5}
        assert all(torch.allclose(p, q, atol=1e-5) for p, q in zip(pair[0][0].parameters(), model.parameters()))
    other = make(list(nn.Linear(2, 2).cuda().parameters()))
    for group in other.param_groups:
        for p in group["params"]:
            p.grad = torch.ones_like(p)
    raises(RuntimeError, "a step that makes its states cannot be captured", lambda: captured(torch, other.step))
    other.step()


@check
def graphs_say_what_is_wrong(torch):
    """A bad index at a replay is said as a call's is, by what waits for the device next, and the next replay is right again."""
    cuda, F = torch.cuda, torch.nn.functional
    table, index = torch.arange(6.0, device="cuda").reshape(3, 2), torch.tensor([2, 0], device="cuda")
    target, total = torch.tensor([1, 0], device="cuda"), torch.zeros(3, 2, device="cuda")

    def work():
        rows = F.embedding(index, table)
        return rows, F.cross_entropy(rows, target), total.index_add_(0, index, rows)
    work(), total.zero_()
    g = cuda.CUDAGraph()
    with cuda.graph(g):
        rows, loss, _ = work()
    g.replay()
    assert rows.tolist() == [[4, 5], [0, 1]] and total.tolist() == [[0, 1], [0, 0], [4, 5]]
    right = loss.item()
    for changed, kind, text in ((index, IndexError, "got 7"), (target, IndexError, "Target 7 is out of bounds")):
        before = changed.tolist()
        changed[0] = 7
        raises(kind, text, lambda: (g.replay(), cuda.synchronize()))
        changed.copy_(torch.tensor(before))
        total.zero_()
        g.replay()
        assert loss.item() == right and total.tolist() == [[0, 1], [0, 0], [4, 5]]


@check
def graphs_keep_what_their_launches_name(torch):
    """Numbers, and what the host gave: these stay as they were, and pinned memory is read at each replay."""
    cuda, F = torch.cuda, torch.nn.functional
    x, places, held = torch.ones(2, 3, device="cuda"), torch.tensor([0, 2], device="cuda"), torch.arange(3.0).pin_memory()

    def work():
        y = F.pad(x * 3.75 - torch.tensor(0.5), (1, 0), value=7.0)
        y[0, places] = 2.25
        return y + torch.arange(4, device="cuda"), x.new_empty(3).copy_(held, non_blocking=True) + 1
    expected = work()[0].tolist()
    g = cuda.CUDAGraph()
    with cuda.graph(g):
        y, z = work()
    for k in range(1100):                                # numbers that are used no more are forgotten
        x * (1000.5 + k)
    taken = [torch.full((1,), -1.0, device="cuda") for _ in range(300)]
    for k in range(2):
        held.fill_(k)
        g.replay()
        assert y.tolist() == expected and z.tolist() == [k + 1] * 3 and len(taken) == 300
    raises(RuntimeError, "not permitted when stream is capturing", lambda: captured(torch, lambda: x.copy_(torch.zeros(2, 3))))


@check
def graphed_modules(torch):
    """They are graphed in the mode in which they were captured; hooks, unused arguments and what autocast keeps are refused."""
    cuda, nn, x = torch.cuda, torch.nn, torch.ones(4, 8, device="cuda")
    model = nn.Sequential(nn.Linear(8, 8), nn.Dropout(0.5)).cuda()
    assert cuda.make_graphed_callables(model, (x,)) is model
    results = [model(x).tolist() for _ in range(2)]
    model.eval()
    assert results[0] != results[1] and model(x).tolist() == model(x).tolist() != results[1] and model(x[:2]).shape == (2, 8)
    model.train()
    assert model(x).tolist() != model(x).tolist()
    hooked = nn.Linear(8, 2).cuda()
    handle = hooked.register_forward_hook(lambda *arguments: None)
    raises(AssertionError, "must not have hooks", lambda: cuda.make_graphed_callables(hooked, (x,)))
    handle.remove()
    with torch.autocast("cuda"):
        raises(RuntimeError, "does not support autocast caching", lambda: cuda.make_graphed_callables(hooked, (x,)))
    given = x.clone().requires_grad_(), x.clone().requires_grad_()
    raises(RuntimeError, "unused", lambda: cuda.make_graphed_callables(lambda a, b: a * 2, given))
    graphed = cuda.make_graphed_callables(lambda a, b: a * 2, given, allow_unused_input=True)
    y = x.clone().requires_grad_()
    graphed(y, y).sum().backward()
    assert y.grad.tolist() == (x * 2).tolist()
