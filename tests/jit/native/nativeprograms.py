"""Programs with loops and conditions that scripts and their libraries are made of, and inputs for each way through them."""
import math
import typing
import warnings

import numpy as np

import numtorch as torch
from numtorch import nn


def branches(x):
    s = x.sum()
    if s > 0:
        y = x * 2
        n = 1
    elif float(s) < -5:
        y = x - 1
        n = 2
    else:
        y = x
        n = 3
    if (n == 2 and bool((y > 0).any())) or n == 3:
        y = y + n
    return y, n, n > 1, s.item() / n


def nested(x):
    total = 0
    i = 0
    while i < 5:
        for j in range(i, 20, 3):
            if j % 4 == 3:
                continue
            if x[j].item() < 0:
                break
            total += j
        i += 1
    return total, x * total


def returning(x, n: int):
    for i in range(n):
        while bool(x.sum() < i):
            x = x + 1
            if x[i] > 9:
                return x, -i
        if x[i] > 0.9:
            return x * i, i
        if i == 7:
            return x, -1
    return x * 0, n


def helper(x, n: int):
    if n > 3:
        return x * n, n
    y = x
    for i in range(n):
        y = y + i
        if y.sum() > 20:
            return y, i
    return y, -1


def calling(x, n: int):
    a, k = helper(x, n)
    b, m = helper(a, k + 1)
    return a + b, k, m


def counting(start: int, stop: int, step: int):
    total = 0
    last = -100
    for i in range(start, stop, step):
        total = (total * 3 + i) % 1000003
        last = i
    return total, last


def exchanging(n: int, a: int, b: int):
    low, high = 0, 1
    first, second, third = 1, 2, 3
    for _ in range(n):
        low, high = high, low + high
        first, second, third = second, third, first
    return low, high, first, second, third, a / b


def whole(a: int, b: int, f: float):
    return (a // b, a % b, a / b, a * b - a, -a, abs(b), min(a, b), (a & 7) | 8, ~b, (a % 1000) << 3, a >> 1, a ^ b, a < f, a <= f, a == f,
            a != f, a >= f, a > f, float(a) ** 2, (a % 50) ** 3, bool(a), a - True)


def real(a: float, b: float):
    return (a // b, a % b, a * b, a - b, abs(a - b), max(a, b), min(a, b), int(a), round(a), math.floor(a), math.ceil(b), bool(a),
            math.isnan(a), -b, a == b, a < b)


def functions(a: float, b: float):
    return math.sqrt(a) + math.exp(b), math.log(a), a ** b, math.atan(b), math.tanh(a)


def logic(a: float, b: float):
    return (a > b and b > 0) or not a > 3, a if a < b < 10 else b, 0 < a <= b != 4, 1 / b > 0.5 if b != 0 and 1 / b < 4 else a != a


def exchanged(x, y):
    a, b, c = x, y, [x, y]
    i = 0
    while i < int(x[0] * 10):
        a, b = b, a
        c[0], c[1] = c[1], c[0] + 1
        i += 1
    return a, b, c[0], c[1]


def starred(x):
    first, *rest = (x.sum(), 2, 3) if x.sum() > 0 else (x[0], 4, 5)
    *before, last = x, rest[0], x * first
    (a, *_), *none = ((x, 1, 2.5),)
    return rest[1] * last + before[0] * before[1] + a, len(none), rest[0]


def structures(x):
    parts = [x, x * 2, x * 3]
    named = {"low": x, "high": x * 2}
    best = (parts[0], 0)
    for i, part in enumerate(parts):
        if part.max() > best[0].max():
            best = (part, i)
    n = 0
    while named["low"].sum() < 20:
        named["low"] = named["low"] + named["high"]
        parts[2] = parts[2] + 1
        n += len(named)
    return best, named, parts[2], n


def unrolled(x, n: float):
    total = 0.0
    y = x
    for i in range(1, 12):                               # of another size in each turn
        part = x[:i].sum()
        if part.item() > n:
            break
        y = torch.cat([y, x[:2]])[2:]
        total += part.item()
    return total, y


def elements(x, i: int, j: int):
    y = x.clone()
    y[i] = 1
    y[:, j] += 5
    y[i, j] = i
    y.narrow(0, i, 1).mul_(2)
    return (x[i], x[i, j], x[:, j], x[..., j], x[i, None, 1:], x.narrow(1, j, 2), x.select(0, i), y, x[i][j].item(), [3, 5, 7][i],
            x.t()[j, 1:])


def made(x, n: int, f: float):
    c = torch.tensor([1.5, 2.5])
    c += f
    h = x.half()[0].item()
    return (torch.tensor([n, n + 1, 2]), torch.tensor([[f, 1.0], [2.0, x[0].item()]]), torch.full((3,), f), torch.full_like(x, n),
            torch.tensor(n > 2), c, torch.where(x > f, x, f), x.clamp(max=f), x * n, n - x, f / x, n > x, h, x.tolist())


def buffer(x):
    buf = torch.zeros(10)
    i = 0
    while x[i] > 0.3 and i < 9:
        buf[i] += x[i] * 2
        buf[-1 - i] = 1.5
        i += 1
    row = buf[i]
    row += 3
    return buf, i


def unused_shapes(x):
    y = x
    while x.sum() < 10:
        y = torch.cat([x, x])
        x = x + y.mean()
    return x


def skipping(x):
    s = 0.0
    n = 0
    for i in range(12):
        v = x[i].item()
        if v < 0.2:
            continue
        if v > 0.95:
            break
        while v < 1:
            v = v * 1.5
            n += 1
            if n > 25:
                return s, n, -1
        s += v
    return s, n, 3


class Decoder(nn.Module):
    """Greedy: each token is the most likely one behind those before, until the last token or the end of the buffer."""

    def __init__(self):
        super().__init__()
        self.table, self.cell, self.out = nn.Embedding(11, 16), nn.GRUCell(16, 16), nn.Linear(16, 11)
        self.layers = nn.ModuleList([nn.Linear(16, 16) for _ in range(3)])
        self.end = 3

    def step(self, token, h):
        h = self.cell(self.table(token), h)
        z = h
        for layer in self.layers:
            z = torch.relu(layer(z)) + h
        return self.out(z), h

    def forward(self, h, start: int, most: int):
        out = torch.full((20,), -1, dtype=torch.int64)
        token = torch.full((1,), start, dtype=torch.int64)
        n = 0
        score = 0.0
        while n < most:
            logits, h = self.step(token, h)
            logs = nn.functional.log_softmax(logits, dim=1)
            token = logs.argmax(1)
            score += float(logs[0, int(token)])
            out[n] = token[0]
            n += 1
            if int(token) == self.end:
                break
        return out, n, score, h


def beams(logs, steps: int):
    """The four likeliest ways, whose tokens move with them."""
    best = torch.zeros(4)
    tokens = torch.zeros(4, 8, dtype=torch.int64)
    n = 0
    while n < steps:
        best, index = (best.unsqueeze(1) + logs[n]).flatten().topk(4)
        tokens = tokens[index // 6]
        tokens[:, n] = index % 6
        n += 1
        if float(best[0] - best[3]) > 3:
            break
    return best, tokens, n


def sorting(x):
    y = x.clone()
    n = y.shape[0]
    for i in range(n):
        for j in range(n - i - 1):
            if y[j] > y[j + 1]:
                kept = y[j].clone()
                y[j] = y[j + 1]
                y[j + 1] = kept
    return y


class Pair(typing.NamedTuple):
    low: torch.Tensor
    turns: int


def named(x):
    pair = Pair(x, 0)
    with torch.no_grad():
        while pair.low.sum() < 20:
            pair = Pair(pair.low * 2, pair.turns + 1)
    return pair


def several(x, n: int):
    values = [n, n * 2, 3]
    quotient, rest = divmod(n, 3)
    total = 0
    for i, row in enumerate(x):
        if row.sum() > 1:
            total += i
    for bound, each in zip([1, 2], [x, x * 2]):
        if each.sum() > bound:
            total += bound
    doubled = [float(value) * 2 for value in values]
    if isinstance(n, int) and torch.equal(x, x * 1) and not torch.allclose(x, x + n):
        total += 100
    inside = 3 in values
    del values[0]
    return (sum(values), max(values), min(values), any([n > 1, n > 5]), all([n > 1, n < 5]), quotient, rest, total, doubled[1], inside,
            len(values), round(float(n) / 2), x.shape[0] * n, pow(float(n), 2.0), x.tolist())


class Layers(nn.Module):
    """Of this package's own, in loops: convolution, norms, and an LSTM whose state goes round."""

    def __init__(self):
        super().__init__()
        self.conv, self.norm, self.lstm, self.most = nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.LSTM(8, 8, batch_first=True), 2

    @property
    def twice(self):
        return self.most * 2

    def forward(self, x):
        y = torch.relu(self.norm(self.conv(x)))
        i = 0
        while y.mean() < 1.0 and i < self.twice:
            y = y * 1.7
            y[y < 0.1] = 0.2
            i += 1
        s = y.flatten(2).transpose(1, 2)
        h = torch.zeros(1, x.shape[0], 8)
        c = torch.zeros(1, x.shape[0], 8)
        n = 0
        while n < 3:
            s, (h, c) = self.lstm(s, (h, c))
            if h.abs().max() > 0.9:
                break
            n += 1
        return s, h, i, n


def grown(x, k: int):
    return x * k + x * x


def forking(x, n: int):
    first = torch.jit.fork(grown, x, n)
    while x.sum() < 9:
        x = x + torch.jit.wait(torch.jit.fork(grown, x, 2))
    return x, torch.jit.wait(first) + first.wait()


class Halting(nn.Module):
    """Each row takes as many steps as it needs, on several threads."""

    def __init__(self):
        super().__init__()
        self.f = nn.Linear(96, 96)
        self.register_buffer("scale", torch.tensor(0.5))

    def forward(self, x):
        steps = 0
        p = torch.zeros(x.shape[0])
        while bool((p < 0.9).any()) and steps < 30:
            x = torch.tanh(self.f(x))
            p = p + torch.sigmoid(x.mean(1)) * self.scale
            steps += 1
        return x, p, steps


def settle(x, limit: float = 1e-3):
    steps = 0
    while True:
        new = 0.5 * (x + 1 / x)
        steps += 1
        if float((new - x).abs().max()) < limit or steps > 50:
            break
        x = new
    return x, steps


def vectors(count, *factors):
    torch.manual_seed(0)
    return [(torch.rand(count) * a + b,) for a, b in factors]


def deleting(x):
    y = x + 1
    if x.sum() > 0:
        warnings.warn("which a library has nobody to tell", stacklevel=1)
        z = y * 2
        del y
    else:
        with torch.profiler.record_function("part"):
            z = y - 1
    return z


def lower(self, input: tuple[torch.Tensor]):
    if bool(input[0].sum() > 8):
        return input[0] / 8
    return input[0]


def doubled(self, input: tuple[torch.Tensor], output: torch.Tensor):
    if bool(input[0].sum() > 2):
        return output * 2
    return output


class Hooked(nn.Module):
    """With hooks of its own, of a module that is a script, and of one that is not, below it."""

    def __init__(self, deep=True):
        super().__init__()
        self.layer = nn.Linear(4, 4)
        self.inner = Hooked(deep=False) if deep else nn.Identity()
        for module in (self, self.layer):
            module.register_forward_pre_hook(lower)
            module.register_forward_hook(doubled)

    def forward(self, x):
        return self.inner(self.layer(x)) + x


FLOATS = (0.5, 2.0, 0.0, -1.0, -0.0, 2.5, -3.5, 1e17, math.inf, -math.inf, math.nan)
INTS = (0, 1, -1, 7, -7, 2, 1 << 53, (1 << 53) + 1, -(1 << 40) - 3)
ROWS = [(branches, vectors(5, (1, 0), (1, -3), (3, -1), (1, -0.5), (6, -3))), (nested, vectors(20, (1, 0), (1, -0.05), (1, -0.3), (1, -1))),
        (returning, [(x, n) for (x,) in vectors(10, (1, 0), (0.5, 0), (0, -3)) for n in (0, 3, 8, 9)]),
        (calling, [(x, n) for (x,) in vectors(3, (1, 0)) for n in (0, 1, 2, 3, 4, 8)]),
        (counting, [(0, 5, 1), (5, 0, -1), (5, 0, -2), (0, 0, 1), (3, -8, -3), (1, 2, 0), (0, 100, 1), (-5, 5, 3)]),
        (exchanging, [(int(n), int(a), int(b)) for n, a, b in zip(range(60), *np.random.default_rng(0).integers(-1 << 62, 1 << 62, (2, 60)))]),
        (whole, [(a, b, f) for a in INTS for b in (2, -3, 0, 10) for f in (0.5, -2.0, float(1 << 53), math.nan, math.inf, -math.inf)]),
        (real, [(a, b) for a in FLOATS for b in FLOATS]), (functions, [(a, b) for a in FLOATS for b in (*FLOATS, 800.0, -800.0)]),
        (logic, [(a, b) for a in (*FLOATS, 4.0) for b in (*FLOATS, 4.0, 5.0)]),
        (exchanged, [(x, y) for (x,), (y,) in zip(vectors(4, (1, 0), (1, 0.1), (1, 0.2)), vectors(4, (2, 0), (1, 3), (1, 0)))]),
        (starred, vectors(4, (1, 0), (1, -3))), (deleting, vectors(4, (1, 0), (1, -3))),
        (structures, vectors(4, (1, 0), (1, 0.1), (1, 9))), (unrolled, [(x, n) for (x,) in vectors(16, (1, 0)) for n in (0.0, 1.0, 3.0, 9.0)]),
        (elements, [(torch.rand(3, 5), i, j) for i in (-3, 0, 2, 3, -4) for j in (0, 3, 4)]),
        (made, [(torch.rand(4), n, f) for n, f in ((0, 0.1), (5, -1.0), (1 << 40, math.nan), (3, 0.0))]),
        (buffer, vectors(10, (1, 0), (1, 0.3), (1, 0.5))), (unused_shapes, vectors(4, (1, 0.1), (1, 9))),
        (skipping, vectors(12, (1, 0), (0.5, 0), (0.9, 0), (0.3, 0), (0.21, 0))),
        (Decoder, [(torch.rand(1, 16) * 4 - 2, start, most) for start in (0, 3, 9) for most in (0, 1, 20, 21)] + [(torch.rand(1, 16), 11, 2)]),
        (beams, [(torch.randn(8, 4, 6).log_softmax(2), n) for n in (8, 0, 3, 9)]), (sorting, vectors(12, (1, 0), (-1, 0))),
        (named, vectors(4, (1, 0.1), (9, 9))), (forking, [(x, n) for (x,) in vectors(3, (1, 0.1), (1, 0.5)) for n in (2, 3)]), (several, [(torch.rand(3, 2), n) for n in (2, -1, 0, 3, 5, 7)]),
        (Layers, [(torch.rand(2, 3, 16, 16) * k,) for k in (1, 3)]), (Halting, [(torch.rand(100, 96) * k - 1,) for k in (1, 0.1, 5)]),
        (Hooked, [(torch.rand(2, 4) * k,) for k in (1, -1, 9)])]
