"""Training steps of random statements, eager and compiled. Between calls something is changed, or a target is none: results, gradients,
parameters, statistics and errors are those of the eager step in every call."""
from __future__ import annotations

import random

import pytest
from changes import CHANGES, forget
from replays import batch, classes, same, states

import numtorch as torch
from numtorch import nn
from numtorch.kernels import compiler, debugmemory

pytestmark = pytest.mark.skipif(compiler.DISABLE_JIT or bool(debugmemory.MODE),
                                reason="nothing is captured with NUMBA_DISABLE_JIT and NUMTORCH_DEBUG_MEMORY")
F = nn.functional
PROGRAMS, CALLS = 60, 30
ERRORS = RuntimeError, TypeError, AttributeError, IndexError, NameError
LOSSES = ["loss = F.cross_entropy(net(x), y)", "loss = F.cross_entropy(net.seq(x), y)", "loss = (net(x) ** 2).mean()", "loss = net(x).sum()",
          "loss = F.cross_entropy(net(x), y) + net.side.weight.pow(2).sum()", "loss = loss * (1.0 if net.training else 2.0)",
          "loss = loss + lstm(x.unsqueeze(0))[0].pow(2).mean()", "loss = loss + embedding(y).mean()", "loss.register_hook(lambda grad: grad * 0.5)"]
WALKS = ["loss.backward()", "loss.backward()", "loss.backward(retain_graph=True)", "o.step()", "o.step()", "other.step()", "o.zero_grad()",
         "o.zero_grad()", "o.zero_grad(set_to_none=False)", "other.zero_grad()"]
GRADIENTS = ["nn.utils.clip_grad_norm_(net.parameters(), 0.5)", "nn.utils.clip_grad_value_(net.parameters(), 0.05)",
             "net.side.weight.grad = torch.ones_like(net.side.weight)", "for p in net.side.parameters(): p.grad = None",
             "for p in net.parameters():\n        if p.grad is not None: p.grad.mul_(0.9)",
             "results.append(torch.autograd.grad(loss, net.side.weight, retain_graph=True)[0])", "results.append(net.side.weight.grad)"]
TENSORS = ["x = x * 2", "x = F.dropout(x, 0.2)", "x.mul_(0.9)", "x = x + torch.randn_like(x) * 0.1", "x[1] = 0.5", "x[:, 2].mul_(0.5)",
           "x = torch.where(x > 0, x, x * 0.1)", "y = (y + 1) % 4", "y = torch.randint(0, 4, (4,))", "seen.add_(loss.detach())",
           "with torch.no_grad(): net.side.bias.add_(0.01)", "with torch.no_grad(): count[y] += 1",
           "for p in net.side.parameters(): p.data.add_(-0.001)",
           "with torch.autocast('cpu', dtype=torch.bfloat16): loss = loss + net.side(x).float().mean()"]
DECISIONS = ["if torch.isfinite(loss).all(): loss = loss * 1.5", "if loss > 1.4: loss = loss * 0.5", "if x.sum() > 0: x = x - 0.1",
             "drawn = torch.distributions.Categorical(logits=net.side(x)).sample(); results.append(drawn)"]
RESULTS = ["results.append(loss.detach())", "results.append(x)", "results.append(seen)", "results.append(seen.clone())",
           "results.append(net.side.weight)", "results.append((loss.detach(), y))", "results.append(loss.item())"]
ROOMS = [(LOSSES, 4), (WALKS, 8), (GRADIENTS, 2), (TENSORS, 3), (DECISIONS, 2), (RESULTS, 2)]


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.seq = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Dropout(0.3), nn.Linear(16, 4))
        self.norm, self.side = nn.BatchNorm1d(4), nn.Linear(8, 4)

    def __getitem__(self, place):
        return self.seq[place]

    def forward(self, x):
        return self.norm(self.seq(x)) + self.side(x)


# Whose steps are no larger than gradients are: Adam's of a gradient that is 0 but for rounding, as a bias has before batch norm, is as
# large as any, so that a function that is split would go elsewhere. Adam's are compared bit by bit in test_several_steps.py.
OPTIMIZERS = [lambda p: torch.optim.SGD(p, lr=0.01), lambda p: torch.optim.SGD(p, lr=0.01, momentum=0.5),
              lambda p: torch.optim.SGD(p, lr=0.01, momentum=0.3, nesterov=True, weight_decay=0.1)]


def program(chosen):
    rooms = chosen.choices([room for room, _ in ROOMS], [weight for _, weight in ROOMS], k=chosen.randrange(4, 12))
    lines = ["results = []", chosen.choice(LOSSES[:4]), *[chosen.choice(room) for room in rooms], "return results"]
    return "def step(x, y):\n" + "".join(f"    {line}\n" for line in lines)


def built(source, path, seed, which):
    """What a program runs with; `step` is the program."""
    torch.manual_seed(seed)
    net = Net()
    scope = dict(torch=torch, nn=nn, F=F, net=net, o=OPTIMIZERS[which](net.seq.parameters()),
                 other=OPTIMIZERS[which - 1](net.side.parameters()), embedding=nn.Embedding(4, 8), lstm=nn.LSTM(8, 4, batch_first=True),
                 seen=torch.zeros(()), count=torch.zeros(4))
    exec(compile(source, str(path), "exec"), scope)
    return scope


def flat(value):
    return [leaf for each in value for leaf in flat(each)] if isinstance(value, (list, tuple)) else [value]


def alike(a, b, exact):
    """A function that is split adds to gradients that are there all that a parameter gets from a piece at once."""
    if not isinstance(a, torch.Tensor) or exact or b is None:
        return same(a, b) if isinstance(a, torch.Tensor) or a is None else a == b if exact else abs(a - b) < 1e-3 * max(1, abs(a))
    return torch.allclose(a.detach(), b.detach(), rtol=1e-3, atol=1e-5, equal_nan=True)


@pytest.mark.parametrize("seed", range(PROGRAMS))
def test_random_steps(seed, tmp_path):
    chosen, path, threads = random.Random(seed), tmp_path / "step.py", torch.get_num_threads()
    source, which = program(chosen), chosen.randrange(len(OPTIMIZERS))
    path.write_text(source)
    eager, scope = (built(source, path, seed, which) for _ in range(2))
    function = torch.compile(scope["step"], mode="replay")
    wrong, changes = chosen.random() < 0.5, [name for name in CHANGES if name not in ("another layer", "moved")]
    errors = 0
    for number in range(CALLS):
        if number >= 8 and number % 3 == 0:
            change = chosen.choice(changes)
            for each in (eager, scope):
                try:
                    CHANGES[change](each["net"], each["o"])
                except RuntimeError:                     # a hook of what was frozen
                    pass
        x, y, outcomes = batch(number % 5), classes(number % 5), []
        if wrong and number >= 6 and chosen.random() < 0.15:
            y[chosen.randrange(4)] = chosen.choice([4, 99, -7])
        for step in (eager["step"], function):
            torch.manual_seed(number)
            given = x.clone(), y.clone()
            try:
                outcomes.append(([*flat(step(*given)), *given], None))
            except ERRORS as error:
                outcomes.append(([*given], type(error)))
        (wanted, raised), (found, other) = outcomes
        exact = all(kind.split is None for kind in function._kinds.values())
        assert raised is other and len(wanted) == len(found), f"{source}\n{number}: {raised}, {other}"
        for place, (a, b) in enumerate(zip(wanted, found)):
            assert alike(a, b, exact), f"{source}\nresult {place} differs in call {number}"
        held = [[*states(each["net"]), ("seen", each["seen"]), ("count", each["count"])] for each in (eager, scope)]
        for (name, a), (_, b) in zip(*held, strict=True):
            assert alike(a, b, exact), f"{source}\n{name} differs in call {number}"
        errors += raised is not None
        if errors > 5:
            break
    torch.set_num_threads(threads)
    forget()
