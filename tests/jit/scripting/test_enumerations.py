"""jit.script of enumerations: members, their names and values, loops over them; modules that hold them; files; what is refused."""
from __future__ import annotations

import enum
import io
import re
from typing import Dict, List, NamedTuple, Optional  # noqa: UP035 (PyTorch's spelling)

import pytest
from scriptruns import through_file

import numtorch as torch


class Mode(enum.Enum):
    NEAREST = "nearest"
    BILINEAR = "bilinear"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 5


class Mixed(enum.Enum):
    ONE = 1
    TWO = "two"


class Resized(NamedTuple):
    image: torch.Tensor
    mode: Mode


def resize(x, mode: Mode = Mode.BILINEAR, others: List[Mode] = [Mode.NEAREST]):          # noqa: B006, UP006
    if mode == Mode.NEAREST:
        return Resized(x * 2, mode), mode.value
    if mode in others and mode is not Mode.NEAREST and mode != Mode.NEAREST:
        return Resized(x, mode), mode.name + Mode.NEAREST.name
    return Resized(-x, Mode.BILINEAR), f"{mode}"


def counted(x, wanted: Optional[Level] = None):                                          # noqa: UP045
    others: List[Level] = []                                                             # noqa: UP006
    counts: Dict[Level, int] = {}                                                        # noqa: UP006
    for level in Level:
        if level != Level.LOW:
            others.append(level)
        counts[level] = level.value
    if wanted is not None:
        counts[wanted] += 10
    return x * counts[Level.LOW] + counts[Level.HIGH], others


def labelled(x, level: Level, mode: Mode):
    return x, f"{level}: {mode} {level:3}"


CALLS = [(labelled, (Level.HIGH, Mode.NEAREST)), (resize, ()), (resize, (Mode.NEAREST,)), (resize, (Mode.BILINEAR, [Mode.BILINEAR])), (counted, ()), (counted, (Level.LOW,))]


class Scaled(torch.nn.Module):
    level = Level.HIGH
    last: Optional[Mode]                                 # noqa: UP045

    def __init__(self):
        super().__init__()
        self.mode = Mode.NEAREST
        self.last = None
        self.inner = torch.nn.Linear(2, 2)

    def forward(self, x, mode: Optional[Mode] = None) -> Mode:                           # noqa: UP045
        if mode is not None:
            self.last = self.mode
            self.mode = mode
        return self.mode if self.level.value > x.numel() else Mode.BILINEAR


def plain(value):
    """What tests compare of results, in which members of an enumeration from a file stand for those of the user's."""
    if isinstance(value, enum.Enum):
        return type(value).__name__, value.name, value.value
    return value.tolist() if hasattr(value, "tolist") else [plain(each) for each in value] if isinstance(
        value, (tuple, list)) else value


@pytest.mark.parametrize(("function", "args"), CALLS, ids=lambda value: getattr(value, "__name__", None))
def test_functions_give_what_python_gives(function, args):
    x = torch.tensor([1.0, 2.0])
    script = torch.jit.script(function)
    assert plain(script(x, *args)) == plain(function(x, *args))
    for loaded in (through_file(script), through_file(through_file(script))):
        assert plain(loaded(x, *args)) == plain(function(x, *args))
        assert loaded.code == script.code


def test_modules_hold_members_and_files_what_they_hold_now():
    x = torch.ones(2)
    script = torch.jit.script(Scaled())
    assert script(x) is Mode.NEAREST
    assert script(x, Mode.BILINEAR) is script.mode is Mode.BILINEAR
    assert script.last is Mode.NEAREST
    for loaded in (through_file(script), through_file(through_file(script))):
        assert loaded(x) == Mode.BILINEAR
        assert Mode.BILINEAR == loaded.mode
        assert loaded.mode != Mode.NEAREST
        assert {loaded.mode: 1}[Mode.BILINEAR] == 1
        assert loaded(x, Mode.NEAREST) == Mode.NEAREST
        assert plain(through_file(loaded).mode) == plain(Mode.NEAREST)


def test_traces_call_scripts_that_take_members():
    script = torch.jit.script(resize)
    traced = torch.jit.trace(lambda x: script(x, Mode.NEAREST)[0].image, torch.ones(2))
    assert torch.equal(through_file(traced)(torch.full((2,), 3.0)), torch.full((2,), 6.0))


def mixed(x, mode: Mixed):
    return x


def truth(x, mode: Mode):
    return x if mode else -x


def made(x, mode: str):
    return Mode(mode)


def added(x, level: Level):
    return x + level


def unknown(x, mode: Mode):
    return mode.wrong


def ordered(x, level: Level):
    return level < Level.HIGH


def assigned(x, mode: Mode):
    if x.sum() > 0:
        mode = Level.LOW
    return mode


@pytest.mark.parametrize(("function", "words"), [
    (mixed, "the values of Mixed are of types int, str"), (truth, "Could not cast value of type __torch__.Mode to bool"),
    (made, "Mode(...) is not in a script: write a member, as Mode.NEAREST"), (added, "of types Tensor and __torch__.Level"),
    (unknown, "object has no attribute or method 'wrong'"), (ordered, "a __torch__.Level has no order"), (assigned, "mode"),
], ids=lambda value: getattr(value, "__name__", ""))
def test_refusals(function, words):
    with pytest.raises(RuntimeError, match=re.escape(words)):
        torch.jit.script(function)


@pytest.mark.parametrize("value", ["nearest", Level.LOW, None, 1])
def test_arguments_are_members(value):
    for script in (torch.jit.script(resize), through_file(torch.jit.script(resize))):
        with pytest.raises(RuntimeError, match=r"Expected a value of type '__torch__\.Mode' for argument 'mode'"):
            script(torch.ones(2), value)


@pytest.mark.parametrize("change", [lambda entry: entry["members"].append(("__init__", "x")), lambda entry: entry["members"].append(("A", 1)),
                                    lambda entry: entry["members"].append(("a b", "x")), lambda entry: entry["members"].clear(),
                                    lambda entry: entry["members"].append(("A", [])), lambda entry: entry.update(members=1),
                                    lambda entry: entry["members"].append(("NEAREST", "x"))])
def test_damaged_files_are_refused(change):
    content = torch.jit.script(resize).content()
    change(content["units"][0]["Mode"])
    file = io.BytesIO()
    torch.save(content, file)
    file.seek(0)
    with pytest.raises(RuntimeError, match="the file is damaged"):
        torch.jit.load(file)


def weighted(x, mode: Mode, wanted: Optional[Level] = None):                            # noqa: UP045
    names: List[str] = []                                                                # noqa: UP006
    for each in Mode:
        names.append(each.name)
    if wanted is not None and mode == Mode.BILINEAR:
        x = x * wanted.value
    return x, names, mode.value


@pytest.mark.parametrize("args", [(Mode.NEAREST,), (Mode.BILINEAR,), (Mode.BILINEAR, Level.HIGH), (Mode.NEAREST, Level.HIGH)])
def test_pytorch_gives_the_same(args):
    pytorch = pytest.importorskip("torch")
    result = torch.jit.script(weighted)(torch.tensor([1.0, 2.0]), *args)
    assert plain(result) == plain(pytorch.jit.script(weighted)(pytorch.tensor([1.0, 2.0]), *args))
