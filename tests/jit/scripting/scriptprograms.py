"""Programs in the subset of Python that scripts are written in. test_script.py runs each as Python, as a script, as a script from a
file, and as PyTorch's script: the name `torch` is what the reader of this file says."""

import math
from collections import namedtuple
from typing import NamedTuple, Union

import numtorch as torch
from numtorch import Tensor


def helper(x, k: int = 2):
    return x * k


def early(x, n: int):
    s = torch.zeros(3)
    for i in range(n):
        if i > 3:
            break
        if i == 1:
            continue
        s = s + x * i
        if float(s.sum()) > 100:
            return s
    return helper(torch.relu(s))


def collatz(n: int) -> int:
    steps = 0
    while n != 1:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        steps += 1
    return steps


def data_dependent(x):
    while bool(x.sum() < 10):
        x = x * 2 + 1
    if x[0] > x[1]:
        y = x - 1
    else:
        y = x.sin()
    return y


def lists(x):
    parts: list[Tensor] = []
    for row in x.unbind(0):
        parts.append(row * len(parts))
    squares = [i * i for i in range(4)]
    return torch.stack(parts), squares, parts[-1] + squares[2]


def dicts(x) -> dict[str, Tensor]:
    found: dict[str, Tensor] = {}
    for i, name in enumerate(NAMES_HERE()):
        found[name] = x + i
    found["sum"] = found["a"] + found["b"]
    return found


def NAMES_HERE() -> list[str]:
    return ["a", "b"]


def tuples(x) -> tuple[Tensor, Tensor]:
    a, b = x.chunk(2)
    a, b = b, a
    pair = (a, b)
    return pair[0] * 2, pair[1].max(dim=0)[0]


def starred(x):
    first, *rest = (1, 2, 3)
    *before, last = x, 2.0, x * first
    (a, *_), *none = ((x, 1, 2.5),)
    return rest[1] * last + before[0] * before[1] + a, len(rest) + len(none), rest


def optional(x, y: Tensor | None = None, scale: float | None = None):
    if y is None:
        y = x
    factor = scale if scale is not None else 2.0
    return x * y * factor


def strings(x, mode: str = "sum"):
    assert x.dim() == 1, f"expected one dimension, got {x.dim()}"
    if mode == "sum":
        return x.sum()
    elif mode == "mean":
        return x.mean()
    raise ValueError("unknown mode " + mode)


def booleans(x, a: bool, b: int):
    return x + 1 if (a and b > 2) or (not a and b < 0) else x - 1


def indexing(x):
    y = x.clone()
    y[0] = 5.0
    y[1:, 0] += x[1:, 1]
    return y[:, -1], y[None, 0], x[x > 0.5].sum()


def zipped(xs: list[Tensor], ws: list[float]):
    total = torch.zeros_like(xs[0])
    for x, w in zip(xs, ws):
        total += x * w
    return total


def nested(x, n: int):
    total = x.sum() * 0
    for i in range(n):
        for j in range(i, n):
            if (i + j) % 3 == 0:
                continue
            total = total + x[i] * x[j]
    return total


def no_grads(x):
    with torch.no_grad():
        norm = x.norm()
    return x / norm


def functional(x, w, b):
    y = torch.nn.functional.linear(x, w, b)
    return torch.nn.functional.softmax(torch.nn.functional.gelu(y), dim=-1)


def isinstances(x, flag: int | None = None):
    if isinstance(flag, int):
        return x * flag
    return x


def dtypes(x):
    return x.to(torch.float64) + torch.ones(x.size(0), dtype=torch.float64), x.shape[0], x.dtype == torch.float32


def newton(x):
    y = torch.ones_like(x)
    for _ in range(20):
        new = y - (y * y - x) / (2 * y)
        if torch.allclose(new, y):
            break
        y = new
    return y


class Point(NamedTuple):
    x: Tensor
    y: Tensor
    scale: float = 2.0


Line = namedtuple("Line", "begin end")


def shifted(point: Point, by: float) -> Point:
    return Point(point.x + by, point.y - by, 3.0)


def points(x):
    p = Point(x, y=x + 1)
    first, second, _ = p
    q = shifted(p, 0.5)
    many: list[Point] = [p, q]
    total = torch.zeros_like(x)
    for each in many:
        total = total + each.x * each.scale
    line = Line(p.x, end=q.y)
    return p.x * q.y + first * p[1] * q.scale + second, q, total, line.end - line.begin


class Declared(torch.nn.Module):
    """Constants, properties and empty containers, as in PyTorch's reference of TorchScript."""

    factor: torch.jit.Final[int]
    seen: dict[str, int]
    kept: list[Tensor]
    __constants__ = ["shift"]
    __jit_unused_properties__ = ["shown"]

    def __init__(self):
        super().__init__()
        self.factor, self.shift = 3, 0.25
        self.weight = torch.nn.Parameter(torch.tensor([-1.0, 2.0]))
        self.seen, self.kept = {}, []

    @property
    def scale(self) -> Tensor:
        return self.weight.abs() * self.factor

    @property
    def shown(self):
        return {str(each) for each in self.parameters()}

    def forward(self, x, name: str):
        self.seen[name] = self.seen.get(name, 0) + 1
        self.kept.append(x)
        return x * self.scale + self.shift * len(self.kept), self.seen


class Early(torch.jit.ScriptModule):
    """A module that is a script from the start, as before `torch.jit.script` took modules."""

    def __init__(self, n: int):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.full((n,), 0.5))
        self.inner = torch.nn.Linear(n, n)
        self.turns = torch.jit.Attribute(3, int)

    @torch.jit.script_method
    def forward(self, x):
        for i in range(self.turns):
            if bool(x.sum() > 3):
                x = self.inner(x)
            else:
                x = self.moved(x, i)
        return x * self.weight

    @torch.jit.script_method
    def moved(self, x, by: int):
        return x + by

    def described(self) -> str:
        return f"{type(self.weight).__name__} of {self.weight.numel()}"


class Later(Early):
    def __init__(self):
        super().__init__(2)
        self.turns = 2


def later(x, n: int):
    first = torch.jit.fork(helper, x, k=n)
    rest: list[torch.jit.Future[Tensor]] = []
    for i in range(n):
        rest.append(torch.jit.fork(torch.add, x, i))
    total = torch.jit.wait(first)
    for each in rest:
        total = total + torch.jit.wait(each) * first.wait()
    return total


def refuse_negative(x):
    if bool(x.sum() < 0):
        raise ValueError("negative")
    return x


def fails_later(x, asks: bool):
    future = torch.jit.fork(refuse_negative, x)
    if asks:
        return torch.jit.wait(future)
    return x


class Forks(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList([torch.nn.Linear(4, 4), torch.nn.Linear(4, 4)])

    def scaled(self, x, by: float):
        return self.layers[0](x) * by

    def forward(self, x):
        futures: list[torch.jit.Future[Tensor]] = []
        for layer in self.layers:
            futures.append(torch.jit.fork(layer, x))
        other = torch.jit.fork(self.scaled, x, by=0.5)
        out = torch.jit.wait(other)
        for future in futures:
            out = out + torch.jit.wait(future)
        return out


class Block(torch.nn.Module):
    scale: float

    def __init__(self, n: int, down: torch.nn.Module | None = None):
        super().__init__()
        self.lin = torch.nn.Linear(n, n)
        self.down = down
        self.scale = 0.5
        self.calls = 0

    def forward(self, x):
        y = torch.relu(self.lin(x))
        if self.down is not None:
            y = self.down(y)
        self.calls += 1
        return y * self.scale + x


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = torch.nn.ModuleList([Block(4), Block(4, torch.nn.Linear(4, 4)), Block(4)])
        self.tail = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.Tanh())
        self.cell = torch.nn.LSTMCell(4, 4)
        self.register_buffer("shift", torch.ones(3))

    def forward(self, x, hidden: tuple[Tensor, Tensor] | None = None):
        for i, block in enumerate(self.blocks):
            x = block(x) + i
        if hidden is not None:
            h, c = self.cell(x, hidden)
            x = h + c
        return self.finish(x)

    def finish(self, x):
        if self.training:
            return self.tail(x) + self.shift
        return self.tail(x)

    @torch.jit.export
    def head(self, x):
        return self.tail(x)


class Chain(torch.nn.Sequential):
    """With the forward that every Sequential has."""


class Pooled(torch.nn.Sequential):
    def forward(self, x):
        mean = x.mean()
        for layer in self:
            x = layer(x)
        return x + mean


class Summed(torch.nn.ModuleList):
    def forward(self, x):
        total = torch.zeros_like(x)
        for i, layer in enumerate(self):
            total = total + layer(x) * (i + 1)
        return total


class Heads(torch.nn.ModuleDict):
    def forward(self, x):
        for name, layer in self.items():
            x = layer(x) + len(name)
        for layer in self.values():
            x = layer(x)
        for name in self.keys():
            x = x * len(name)
        return x


def containers():
    def layers():
        return torch.nn.Linear(4, 4), torch.nn.Tanh()
    return torch.nn.ModuleList([Chain(*layers()), Pooled(*layers()), Summed(layers()),
                                Heads({"first": layers()[0], "last": layers()[1]}), Chain(Pooled(*layers()), torch.nn.ReLU())])


def bare_comment(x, scale):
    # type: (Tensor, float)
    return x * scale


def commented_arguments(x,                               # type: Tensor
                        sizes,                           # type: List[int]
                        ):
    # type: (...) -> Tuple[Tensor, int]
    return x * sizes[0], len(sizes)


def flags(x, a: bool, b: bool) -> tuple[bool, bool, bool]:
    c = a & b
    c |= a ^ b
    return c, a | b, isinstance(x, Tensor) & a


def otherwise_unused(x, count: int):
    if count > 2:
        note = "many"
    else:
        note = count                                     # noqa: F841
    y = x * 2
    del x
    return y


def kinds_of_lists(sizes: list[int]) -> tuple[bool, bool, bool]:
    return isinstance(sizes, list), isinstance(sizes, (tuple, (str, list))), torch.jit.isinstance(sizes, list[int])


def ellipses(x):
    return x[Ellipsis, 0] + x[..., 1]


class Holder:
    def written_in_a_class(x, n: int):
# a comment that begins further left
        text = """
of two lines"""
        return x * len(text), [bin(n) == "0b1011", hex(n) == "0xb", oct(n) == "0o13", hash(n) == hash(n + 0)]


written_in_a_class = Holder.written_in_a_class


def fractions(a: float) -> tuple[float, float, int]:
    whole = math.modf(a)
    return whole[1], whole[0] * 2, math.frexp(a)[1]


class Refused(ValueError):
    """Of the user's."""


def refusing(x, n: int):
    torch._assert(n < 5, "five or more")
    if n > 2:
        raise Refused(f"not {n}")
    return x + n


def unwrapping(x, other: Tensor | None = None):
    if torch.jit._unwrap_optional(other).sum() > 0:
        x = x + torch.jit._unwrap_optional(other)
    return x


def gradients(x):
    y = x.detach().requires_grad_()
    found = torch.autograd.grad([(y * y).sum()], [y])
    first = found[0]
    assert first is not None
    return first * x


def ranges(x):
    with torch.autograd.profiler.record_function("part"), torch.profiler.record_function("other"):
        y = x * 2
    return y


def of_several_kinds(n: int) -> tuple[bool, bool, bool]:
    return (torch.jit.isinstance(n, Union[str, int]), torch.jit.isinstance(n, Union[str, float]),         # noqa: UP007
            isinstance(n, (float, str)))


def sizes_of(x, sizes: list[int] | None = None) -> int:
    return 0 if sizes is None else len(sizes) + x.dim()


def tuples_for_lists(x) -> tuple[int, int]:
    return sizes_of(x, (1, 2)), sizes_of(x)


def older_types(x: torch.FloatTensor, on):
    # type: (torch.FloatTensor, Device) -> Tensor
    return x.to(on)


def misplaced(x, n: int):
    y = (x +                                             # type: of nothing
         n)
    return y


def stopping(x):
    assert not torch.jit.is_scripting(), "not in scripts"
    return nothing_of_this_name(x)                       # noqa: F821
