"""Programs of many features, each as its author might write it, for test_script_probes.py: scripts in both libraries, whose `torch` a test
puts here."""
import math
from typing import NamedTuple

import numtorch as torch
from numtorch import Tensor, nn


def bisect(x, lo: float, hi: float, steps: int = 30) -> tuple[float, int]:
    n = 0
    while n < steps:
        mid = (lo + hi) / 2
        n += 1
        v = float((x - mid).clamp(min=0).sum()) - 1.0
        if abs(v) < 1e-4:
            return mid, n
        if v > 0:
            lo = mid
        else:
            hi = mid
    return lo, -n


def histogram(words: list[str], weights: Tensor) -> dict[str, Tensor]:
    out: dict[str, Tensor] = {}
    for i, word in enumerate(words):
        w = word.lower().strip()
        if len(w) == 0:
            continue
        if w in out:
            out[w] = out[w] + weights[i]
        else:
            out[w] = weights[i]
    for key in out:
        if float(out[key]) > 2:
            out[key] = out[key].sqrt()
    return out


def queue(x, k: int) -> tuple[list[int], Tensor]:
    pending: list[int] = [0]
    seen: list[int] = []
    total = torch.zeros_like(x[0])
    while len(pending) > 0:
        i = pending.pop(0)
        if i in seen or i >= x.size(0):
            continue
        seen.append(i)
        total += x[i] * (1.0 / (1 + len(seen)))
        if bool((x[i] > 0.5).any()):
            pending.extend([2 * i + 1, 2 * i + 2])
        elif i % k == 0:
            pending.insert(0, i + 3)
    seen.sort(reverse=True)
    return seen, total


def texts(given: list[str], at: str) -> tuple[list[str], list[int], list[bool], Tensor]:
    """Each method of strings."""
    made: list[str] = []
    numbers: list[int] = []
    facts: list[bool] = []
    for s in given:
        before, there, behind = s.partition(at)
        made += [before, there, behind, s.swapcase(), s.expandtabs(4), s.title(), s.capitalize(), s.center(9)]
        made.extend(s.rsplit(at, 1))
        made.append(s.rpartition(at)[2].ljust(3) + s.rstrip().rjust(3))
        numbers += [s.find(at), s.rfind(at), s.count(at)]
        if at in s:
            numbers += [s.index(at), s.rindex(at)]
        facts += [s.isdecimal(), s.isidentifier(), s.isnumeric(), s.isprintable(), s.istitle(), s.isalnum(), s.isspace()]
    return made, numbers, facts, torch.tensor(numbers)


class Stats(NamedTuple):
    mean: Tensor
    var: Tensor
    n: int


def welford(x) -> Stats:
    mean = torch.zeros(x.shape[1:])
    m2 = torch.zeros(x.shape[1:])
    n = 0
    for row in x:
        n += 1
        delta = row - mean
        mean = mean + delta / n
        m2 = m2 + delta * (row - mean)
    assert n > 0, f"no rows in {x.shape}"
    return Stats(mean, m2 / n, n)


class Ring:
    items: list[Tensor]

    def __init__(self, size: int):
        self.size = size
        self.items = []
        self.dropped = 0

    def push(self, x: Tensor) -> bool:
        self.items.append(x)
        if len(self.items) > self.size:
            self.items = self.items[1:]
            self.dropped += 1
            return True
        return False

    def mean(self) -> Tensor:
        if len(self.items) == 0:
            return torch.zeros(1)
        return torch.stack(self.items).mean(0)

    def __len__(self) -> int:
        return len(self.items)


def smoothing(x, size: int) -> tuple[Tensor, int, int]:
    ring = Ring(size)
    out: list[Tensor] = []
    for i in range(x.size(0)):
        ring.push(x[i])
        out.append(ring.mean())
    return torch.stack(out), ring.dropped, len(ring)


class Gate(nn.Module):
    def __init__(self, n: int):
        super().__init__()
        self.f = nn.Linear(n, n)
        self.n = n

    def forward(self, x, mask: Tensor | None = None):
        y = torch.sigmoid(self.f(x))
        if mask is not None:
            y = y.masked_fill(mask, 0.0)
        return x * y


class Stack(nn.Module):
    table: dict[str, int]

    def __init__(self):
        super().__init__()
        self.gates = nn.ModuleList([Gate(4) for _ in range(3)])
        self.named = nn.ModuleDict({"a": nn.Linear(4, 4), "b": nn.Tanh()})
        self.norm = nn.LayerNorm(4)
        self.drop = nn.Dropout(0.5)
        self.table = {"x": 2, "y": 3}
        self.scale: float | None = None
        self.register_buffer("count", torch.zeros((), dtype=torch.int64))

    @torch.jit.export
    def peek(self, key: str) -> int:
        return self.table[key]

    def helper(self, x, times: int):
        for _ in range(times):
            x = self.norm(x)
        return x

    @staticmethod
    def shifted(x, n: int):
        return nn.functional.pad(x, [n, 0], "constant", 0.5)[:, :x.size(1)]

    def forward(self, x, mask: Tensor | None = None, depth: int = 2):
        for i, gate in enumerate(self.gates):
            if i < depth:
                x = gate(x, mask) + x
        for name, layer in self.named.items():
            x = layer(x) * float(len(name))
        if self.scale is not None:
            x = x * self.scale
        else:
            x = x * self.table["y"]
        self.count += 1
        return self.helper(self.shifted(self.drop(x), depth), depth), int(self.count)


@torch.jit.ignore
def outside(x, note: str) -> Tensor:
    return torch.as_tensor(x.tolist()) + len(note)


def ignoring(x, n: int):
    for i in range(n):
        x = outside(x, "ab") if i % 2 == 0 else -x
    return x


def checking(x, n: int, name: str = "x"):
    assert x.dim() == 2, f"{name}: expected 2 dimensions, got {x.dim()}"
    if n < 0:
        raise ValueError(f"n is {n}")
    text = f"{name}-{n}"
    s = f"{name}|{n}|{x.size(1)}"
    return text, s, " ".join([text, s]).split("|"), s.startswith("x"), s.replace("|", "/"), "%d of %s" % (n, name)  # noqa: UP031


def tuples(x, pairs: list[tuple[int, float]]):
    best: tuple[int, float] | None = None
    for p in pairs:
        if best is None:
            best = p
        elif p[1] > best[1]:
            best = p
    if best is None:
        return x, -1
    i, w = best
    a, (b, c) = x[0], (x[1], w)
    rest = [b, a + b]
    return (a * b * c).sum() + rest[0].sum(), i


def comprehension(x, n: int):
    squares = [i * i for i in range(n)]
    evens = [v + 1 for v in squares]
    rows = [row.sum() for row in x]
    d = {i: float(r) for i, r in enumerate(rows)}
    keys = list(d.keys())
    vals = sorted(d.values())
    m = max([float(v) for v in rows])
    z = torch.tensor(squares)
    nested = [[i + j for j in range(2)] for i in range(2)]
    return evens, keys, vals, m, z, torch.tensor(nested), sum(squares), any([v > 3 for v in squares]), all([True, n > 0])  # noqa: C419


def numbers(n: int, f: float):
    out: list[float] = []
    out.append(float(n // 3) + f // 0.3)
    out.append(float(-n % 7) + (-f) % 0.7)
    out.append(float(n ** 3) + f ** 2)
    out.append(float(n << 2 | 1) + float(n & 6) + float(n ^ 3))
    out.append(math.sqrt(f) + math.floor(f) + math.ceil(f) + math.pi)
    out.append(round(f * 10) + abs(-n) + min(n, 3) + max(f, 0.1))
    out.append(float(int(f * 7)) + float(bool(n)) + float("2.5"))
    if 0 < n <= 10 and not (f > 5 or n == 3):
        out.append(1.0)
    x = n if f > 0.1 else 0
    while True:
        x -= 2
        if x % 5 == 0:
            continue
        if x < -6:
            break
    out.append(float(x))
    return out


def slices(x, i: int):
    y = x.clone()
    y[i:, ::2] = 0.5
    y[..., -1] += 1
    y[y > 1.2] = -1.0
    z = x[None, :, 1:3, None]
    idx = torch.tensor([0, 1])
    a = x[idx]
    b = x[:, idx]
    lst = [10, 20, 30, 40]
    del lst[0]
    t = (1, "b", x)
    return y, z, a, b, lst, lst[::-1], t[0], t[-1], x[i][-1].item(), x.T if i > 1 else x.t()


class Base(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.ones(3))

    def scale(self, x):
        return x * self.w

    def forward(self, x):
        return self.scale(x)


class Derived(Base):
    limit: int
    hist: list[float]

    def __init__(self):
        super().__init__()
        self.limit = 3
        self.hist = []
        self.inner = nn.Sequential(nn.Linear(3, 3), nn.ReLU(), nn.BatchNorm1d(3))

    def scale(self, x):
        return x * self.w * 2

    @property
    def half(self) -> float:
        return self.limit / 2

    def forward(self, x):
        k = 0
        while float(x.norm()) > self.half and k < 50:
            x = self.inner(self.scale(x)) * 0.2
            k += 1
            self.hist.append(float(x.sum()))
        with torch.no_grad():
            y = x * 1
        return x, k, len(self.hist), y
