"""jit.script of classes: attributes, methods, operators; files; what is refused, at the user's line. Against PyTorch where it is installed."""
from __future__ import annotations

import copy
import enum
import io
import pickle
import re
from dataclasses import dataclass, field
from typing import Dict, List, NamedTuple, Optional  # noqa: UP035 (PyTorch's spelling)

import pytest
from scriptruns import through_file

import numtorch as torch

try:
    import torch as reference
except ImportError:
    reference = None


class Counter:
    LIMIT = 100
    seen: List[int]                                      # noqa: UP006

    def __init__(self, value, count: int = 1):
        self.value = value
        self.count = count
        self.seen = []
        self.names: Dict[str, float] = {}                # noqa: UP006
        self.last: Optional[torch.Tensor] = None         # noqa: UP045

    def grow(self, by: int = 1) -> Counter:
        self.count += by
        self.seen.append(self.count)
        if self.count > self.LIMIT:
            raise ValueError(f"more than {self.LIMIT}: {self.count}")
        return self

    def total(self):
        result = self.value * self.count
        self.last = result
        self.names["total"] = float(self.value.sum())
        return result.sum()

    @property
    def double(self) -> int:
        return 2 * self.count

    @staticmethod
    def twice(x):
        return x * 2

    def __add__(self, other: int) -> int:
        return self.count + other

    def __lt__(self, other: Counter) -> bool:
        return self.count < other.count

    def __len__(self) -> int:
        return len(self.seen)

    def __getitem__(self, index: int) -> int:
        return self.seen[index]

    def __contains__(self, value: int) -> bool:
        return value in self.seen

    def copied(self) -> Counter:
        return Counter(self.value, self.count)

    def __repr__(self):                                  # which scripts do not have
        return eval("f'Counter of {self.count}'")


class Holder:
    def __init__(self, counter: Counter):
        self.counter = counter
        self.others: List[Counter] = [counter, Counter(counter.value + 1, count=5)]       # noqa: UP006

    def put(self, by: int) -> int:
        for each in self.others:
            each.grow(by)
        return self.counter.count


def everything(x, n: int):
    counter = Counter(x, n)
    for i in range(3):
        counter.grow(i)
    holder = Holder(counter)
    put = holder.put(2)
    total = counter.total()
    other = counter.copied().grow().grow(by=3)
    largest = counter if other < counter else other
    named = {"a": counter, "b": other}
    found = 0
    for name, each in named.items():
        if name == "b" and isinstance(each, Counter):
            found += each.double
    has = hasattr(counter, "count") and not hasattr(counter, "nothing")
    last = counter.last
    assert last is not None
    return (total, put, len(counter), counter[0], n in counter, 77 in counter, counter + 4, largest.count, found, has,
            counter.names["total"], Counter.twice(last), counter.twice(x), holder.others[1].count)


def of_objects(counter: Counter, other: Optional[Counter]):                               # noqa: UP045
    if other is not None:
        counter.count = other.count
    return counter.total()


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(3, 3)

    def forward(self, x, n: int):
        counter = Counter(self.linear(x), n)
        while counter.count < 6:
            counter.grow()
        return counter.total()


def test_a_script_with_classes_does_what_python_does():
    script = torch.jit.script(everything)
    for each in (script, through_file(script), through_file(through_file(script))):
        for n in (1, 4):
            x = torch.randn(3)
            torch.testing.assert_close(each(x, n), everything(x, n))
    with pytest.raises(ValueError, match="more than 100: 101"):
        script(torch.ones(2), 100)


def test_a_class_stays_as_it_is_and_objects_go_in_and_out():
    assert torch.jit.script(Counter) is Counter
    made = torch.jit.script(lambda_free)(torch.ones(2))
    assert type(made) is Counter and made.count == 4 and repr(made) == "Counter of 4" and made.total() == 8
    script = torch.jit.script(of_objects)
    counter = Counter(torch.ones(2), 3)
    assert script(counter, None) == 6 and script(counter, Counter(torch.ones(1), 9)) == 18 and counter.count == 9
    with pytest.raises(RuntimeError, match=r"Expected a value of type '__torch__\.Counter' for argument 'counter'"):
        script(torch.ones(2), None)
    counter.count = "three"
    with pytest.raises(RuntimeError, match=r"Expected a value of type '__torch__\.Counter'"):
        script(counter, None)
    loaded = through_file(torch.jit.script(lambda_free))(torch.ones(2))
    assert type(loaded) is not Counter and type(loaded).__name__ == "Counter"
    assert loaded.grow(2).count == 6 and loaded.double == 12 and len(loaded) == 2 and loaded.total() == 12
    assert through_file(script)(loaded, None) == 12


def lambda_free(x):
    return Counter(x, 3).grow()


def test_modules_use_classes_and_are_trained():
    net = Net()
    script = torch.jit.script(net)
    x = torch.randn(3)
    for each in (script, through_file(script)):
        torch.testing.assert_close(each(x, 2), net(x, 2))
        given = torch.autograd.grad(each(x, 4), list(each.parameters()))
        for a, b in zip(given, torch.autograd.grad(net(x, 4), list(net.parameters()))):
            torch.testing.assert_close(a, b)


@pytest.mark.skipif(reference is None, reason="PyTorch is not installed")
def test_the_same_classes_in_pytorch(tmp_path, monkeypatch):
    """In a file of its own, as both libraries read the source of what is scripted."""
    text = """from typing import Dict, List, Optional
@torch.jit.script
class Pair:
    def __init__(self, first, second: int):
        self.first = first
        self.second = second
        self.seen: List[int] = []
    def total(self):
        self.seen.append(self.second)
        return self.first.sum() + self.second
    def grow(self, by: int = 1):
        self.second += by
    def __add__(self, other: int) -> int:
        return self.second + other
    def __len__(self) -> int:
        return len(self.seen)
    @staticmethod
    def twice(x):
        return x * 2
@torch.jit.script
class Holder:
    def __init__(self, pair: Pair):
        self.pair = pair
        self.items: Dict[str, Pair] = {}
    def put(self, name: str) -> int:
        self.items[name] = self.pair
        self.pair.grow(2)
        return self.pair.second
def f(x, n: int):
    p = Pair(x, n)
    for i in range(3):
        p.grow(i)
    h = Holder(p)
    k = h.put("a")
    t = p.total()
    s = 0
    for q in [p, Pair(x + 1, 7)]:
        s += q.second
    return t, p.second, k, s, p + 4, len(p), h.items["a"].seen, isinstance(p, Pair)
def g(x):
    return Pair(x, 3)
"""
    results = []
    for number, library in enumerate((torch, reference)):
        (tmp_path / f"classes{number}.py").write_text(f"import {library.__name__} as torch\n{text}")
        monkeypatch.syspath_prepend(str(tmp_path))
        module = __import__(f"classes{number}")
        assert isinstance(module.Pair, type) and module.Pair(library.ones(2), 2).total() == 4
        out = library.jit.script(module.f)(library.ones(3), 2)
        made = library.jit.script(module.g)(library.ones(2))
        results.append([float(out[0]), *out[1:], type(made).__name__, made.second])
    assert results[0] == results[1]


class Base:
    def __init__(self):
        self.x = 1


class Inherits(Base):
    def __init__(self):
        self.x = 1


class InABlock:
    def __init__(self, x, n: int):
        if n > 0:
            self.x = x                                   # here


class Elsewhere:
    def __init__(self, x):
        self.x = x

    def change(self):
        self.y = 2                                       # here


class OtherType:
    def __init__(self, x):
        self.x = x

    def change(self):
        self.x = 2                                       # here


class Misread:
    def __init__(self, x):
        self.x = x

    def f(self):
        return self.nothing                              # here


class Wrong:
    def __init__(self, x: int):
        self.x = x

    def f(self):
        return self.g("a")                               # here

    def g(self, x: int):
        return x


class Generates:
    def __init__(self, x):
        self.x = x

    def f(self):
        yield self.x                                     # here


class ManyArguments:
    def __init__(self, *x):                              # here
        self.x = 1


class Adds:
    def __init__(self, x):
        self.x = x

    def f(self):
        return self + 1                                  # here


class Recursive:
    def __init__(self, x):
        self.x = x

    def f(self, n: int) -> int:
        return self.f(n - 1)                             # here


@pytest.mark.parametrize("kind, message", [
    (InABlock, "set within a block"), (Elsewhere, "nonexistent attribute: y"), (OtherType, "x is of type Tensor and is assigned a int"),
    (Misread, "no attribute 'nothing'"), (Wrong, "Expected a value of type 'int' for argument 'x'"), (Generates, "generators"),
    (ManyArguments, "variable number of arguments"), (Adds, "does not define a __add__ method"), (Recursive, "calls itself")])
def test_mistakes_are_refused_at_their_line(kind, message):
    with pytest.raises(RuntimeError, match=message) as found:
        torch.jit.script(kind)
    lines = open(__file__).read().split("\n")
    number = int(re.search(r"line (\d+), in", str(found.value)).group(1))
    start = next(i for i, line in enumerate(lines) if line.startswith(f"class {kind.__name__}:"))
    assert number == next(i for i in range(start, len(lines)) if lines[i].endswith("# here")) + 1


@pytest.mark.parametrize("kind", [Inherits, int, dict, Net, type("Empty", (), {})])
def test_classes_that_are_none_of_scripts(kind):
    with pytest.raises((RuntimeError, TypeError)):
        torch.jit.script(kind)


@pytest.mark.parametrize("change", [
    lambda each: each["methods"].update(__del__=each["methods"]["grow"]), lambda each: each["methods"].pop("__init__"),
    lambda each: each["methods"].update(other=each["methods"]["grow"]), lambda each: each["methods"]["grow"].update(text="import os"),
    lambda each: each["declared"].update(seen="os"), lambda each: each["constants"].update(LIMIT=object),
    lambda each: each["methods"]["grow"].update(text="def grow(self, by: int=1):\n    return self.__class__\n"),
    lambda each: each["shared"].update(twice="nothing")])
def test_files_that_say_something_else_are_refused(change):
    content = torch.jit.script(everything).content()
    content = pickle.loads(pickle.dumps(content))
    change(content["units"][0]["Counter"])
    file = io.BytesIO()
    try:
        torch.save(content, file)
    except Exception:
        return
    file.seek(0)
    with pytest.raises((RuntimeError, pickle.UnpicklingError)):
        torch.jit.load(file)


@dataclass(init=False)
class Selected:
    """A dataclass whose `__init__` is written out, as graph networks have them."""

    node: torch.Tensor
    count: int
    weight: Optional[torch.Tensor] = None                # noqa: UP045

    def __init__(self, node: torch.Tensor, count: int, weight: Optional[torch.Tensor] = None):   # noqa: UP045
        if node.dim() != 1:
            raise ValueError(f"one dimension is needed, not {node.dim()}")
        self.node = node
        self.count = count
        self.weight = weight


def selected(x: torch.Tensor, weighted: bool):
    made = Selected(x, 3, x + 1 if weighted else None)
    weight = made.weight
    if weight is not None:
        return made.node * weight
    return made.node * made.count


def test_a_dataclass_with_an_init_of_its_own():
    assert torch.jit.script(Selected) is Selected
    scripted = torch.jit.script(selected)
    for weighted, wanted in ((True, [2, 2]), (False, [3, 3])):
        assert scripted(torch.ones(2), weighted).tolist() == selected(torch.ones(2), weighted).tolist() == wanted
    with pytest.raises(Exception, match="one dimension is needed, not 2"):
        scripted(torch.ones(2, 2), True)


class Kind(enum.Enum):
    SMALL = 1
    LARGE = 2


@dataclass(order=True)
class Weight:
    first: int
    second: float = 0.5

    def __post_init__(self):
        self.first = self.first + 1


@dataclass
class Sample:
    image: torch.Tensor
    weight: Weight
    kind: Kind = Kind.LARGE
    label: Optional[str] = None                          # noqa: UP045
    seen: bool = field(default=False, init=False, compare=False)

    def total(self, by: int = 2):
        self.seen = True
        return self.image.sum() * by * self.weight.second


def of_dataclasses(x: torch.Tensor):
    a, b, c = Weight(1), Weight(1, second=2.0), Weight(0, 7.0)
    sample = Sample(x, b, label="one")
    before = sample.seen
    total = sample.total()
    orders = [a == b, a != b, a < b, c < a, a <= a, b > a, c >= b]
    return total, orders, before, sample.seen, sample.kind.name, sample.label, Sample(x, a, Kind.SMALL).kind == Kind.SMALL, a.first, sample


def test_dataclasses():
    x = torch.tensor([1.0, 2.0])
    *wanted, sample = of_dataclasses(x)
    scripted = torch.jit.script(of_dataclasses)
    for each in (scripted, through_file(scripted), through_file(through_file(scripted))):
        *got, made = each(x)
        assert got == wanted
        assert (made.image.tolist(), made.weight.first, made.weight.second, made.label) == ([1.0, 2.0], 2, 2.0, "one")
        assert made.kind == sample.kind
    assert isinstance(scripted(x)[-1], Sample)
    totals = torch.jit.script(total_of)
    assert totals(sample) == through_file(totals)(sample) == sample.total(3)


def total_of(sample: Sample):
    return sample.total(3)


class Extent(NamedTuple):
    height: int
    width: float = 2.0


class Tally:
    def __init__(self, count: int, step: torch.Tensor, kind: Kind):
        self.count = count
        self.step = step
        self.kind = kind
        self.extent = Extent(count)

    def grow(self, by: int = 1):
        self.count += by
        return self.step * self.count


class NotForScripts:
    def __init__(self, *words):
        self.words = words


class Holding(torch.nn.Module):
    """A module that holds what is of classes, of which its script uses some."""

    extent: Optional[Extent]                             # noqa: UP045

    def __init__(self):
        super().__init__()
        self.tally, self.extent, self.kind = Tally(1, torch.full((2,), 0.5), Kind.LARGE), Extent(3), Kind.SMALL
        self.words = NotForScripts("a", "b")

    def forward(self, x: torch.Tensor):
        result = self.tally.grow() + x
        if self.tally.kind == Kind.LARGE and self.kind == Kind.SMALL and hasattr(self, "kind"):
            result = result + 100
        extent = self.extent
        if extent is not None:
            result = result + extent.height
        return result, self.tally.extent


def test_modules_hold_objects_and_files_what_these_hold_now():
    x = torch.zeros(2)
    module = Holding()
    script = torch.jit.script(module)
    module(x)                                            # one object, of the module and of its script
    assert [script(x)[0].tolist(), module(x)[0].tolist()] == [[104.5] * 2, [105.0] * 2]
    for each in (through_file(script), through_file(through_file(script)), copy.deepcopy(script)):
        result, extent = each(x)
        assert result.tolist() == [105.5] * 2
        assert extent == (1, 2.0)
        assert each.tally.count == 5
    assert script.tally.count == 4
    traced = torch.jit.trace(lambda x: script(x)[0], x, check_trace=False)       # of its ops: a trace has tensors, and no objects
    assert [traced(x).tolist() for _ in range(2)] == [[105.5] * 2] * 2


@pytest.mark.parametrize("change", [
    lambda said: said.update({"_parameters": said["kind"]}), lambda said: said.update(kind=("Kind", "NONE")),
    lambda said: said.update(kind=("holds", "SMALL")), lambda said: said["tally"][1].update(__class__=("", 1)),
    lambda said: said.update(extent=("Extent", {"height": ("", print)})), lambda said: said.update(tally=("Tally", 1))])
def test_files_whose_objects_are_damaged_are_refused(change):
    script = torch.jit.script(Holding())
    content = pickle.loads(pickle.dumps({key: value for key, value in script.content().items() if key != "tensors"}))
    change(content["modules"][0]["of classes"])
    file = io.BytesIO()
    torch.save({**content, "tensors": script.content()["tensors"]}, file)
    file.seek(0)
    with pytest.raises((RuntimeError, pickle.UnpicklingError), match=r"damaged|print"):
        torch.jit.load(file)


@dataclass
class ByFactory:
    names: List[str] = field(default_factory=list)       # noqa: UP006


@dataclass(frozen=True)
class Frozen:
    number: int


@dataclass(kw_only=True)
class ByName:
    number: int


@dataclass
class Heavier(Weight):
    third: int = 1


@dataclass
class OfTensor:
    value: torch.Tensor = torch.ones(1)                  # noqa: RUF009


@pytest.mark.parametrize(("kind", "words"), [
    (ByFactory, "ByFactory.names has a default that is made anew"), (Frozen, "Frozen is frozen"), (ByName, "or is given by name only"),
    (Heavier, "inherits from another"), (OfTensor, "no value of a script"),
], ids=lambda value: getattr(value, "__name__", ""))
def test_dataclasses_that_are_refused(kind, words):
    with pytest.raises(torch.jit.NotSupportedError, match=re.escape(words)):
        torch.jit.script(kind)


@pytest.mark.skipif(reference is None, reason="PyTorch is not installed")
def test_pytorch_has_the_same_dataclasses():
    def compare(a: float, b: float):
        one, other = Weight(1, a), Weight(1, b)
        return [one == other, one < other, one <= other, one > other, one >= other], one.first
    reference.jit.script(Weight)
    for a, b in ((0.5, 0.5), (0.5, 1.0), (1.0, 0.5)):
        assert torch.jit.script(compare)(a, b) == reference.jit.script(compare)(a, b) == compare(a, b)
