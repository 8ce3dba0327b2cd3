"""Modules as programs write them for scripts of PyTorch: each as Python, as a script, from a file, and as PyTorch's script."""
import copy
import io
import numbers
import types
import typing
import warnings
from collections import OrderedDict
from typing import Final

import pytest
import scriptprograms as programs
from scriptruns import through_file

import numtorch

try:
    import torch as reference
except ImportError:
    reference = None


class Picture:
    """What no script takes, and functions name that none comes to."""

    def __init__(self, path: str):
        with open(path) as file:
            self.size: set = {len(file.read())}

    def turned(self, *angles):
        return self


def python(*parts):
    return {*parts}


def turned(picture: Picture, angle: float) -> Picture:
    return picture.turned(angle)


@numtorch.jit.ignore
def marked_too(x):
    return x


def modules(torch):
    """(module, arguments) by name, of one library."""
    nn = torch.nn

    class WithA(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = 2

        def forward(self, x):
            return x * self.a

    class WithB(nn.Module):
        def __init__(self):
            super().__init__()
            self.b = 3.0

        def forward(self, x):
            return x + self.b

        def both(self, x):
            return x - self.b

    class Mixed(nn.Module):
        """Layers of which only some have an attribute."""

        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleList([WithA(), WithB(), WithA()])

        def forward(self, x):
            found: list[int] = []
            for layer in self.layers:
                found.append(int(hasattr(layer, "a")) + 2 * int(hasattr(layer, "both")))
                if hasattr(layer, "a"):
                    x = x + layer.a
                else:
                    x = layer.both(x)
                if not hasattr(layer, "b"):
                    x = layer(x)
            return x, found

    class Empty(nn.Module):
        """Lists without modules."""

        def __init__(self):
            super().__init__()
            self.layers, self.more = nn.ModuleList([]), nn.ModuleDict({})

        def forward(self, x):
            for layer in self.layers:
                x = layer(x) + layer(x)
            for name, layer in self.more.items():
                x = layer(x)
            return x, [layer(x) for layer in self.layers], len(self.layers)

    class Decided(nn.Module):
        """What never changes decides what is compiled: only one way has all that it names."""
        wide: Final[bool]
        __constants__ = ["deep"]

        def __init__(self, wide, deep):
            super().__init__()
            self.wide, self.deep = wide, deep
            if wide:
                self.linear = nn.Identity()

        def forward(self, x):
            if self.wide:
                x = self.linear(x) * 2
            if not self.deep:
                return x
            return [x, x] if self.deep else self.nothing(x)

    class Replaced(nn.Module):
        def __init__(self):
            super().__init__()
            self.forward = types.MethodType(Replaced.another, self)
            self.helper = types.MethodType(Replaced.of_another, self)

        @torch.jit.ignore
        def helper(self, x):
            return x

        @torch.jit.ignore
        def of_another(self, x):
            return [x]

        def forward(self, x):
            return x

        def another(self, x):
            return x + 10

    class Counted(nn.ModuleList):
        def __len__(self):
            return 7

    class Defaults(nn.Module):
        def __init__(self):
            super().__init__()
            self.scale, self.layers = 3.0, Counted([nn.ReLU()])

        def forward(self, x):
            return x * getattr(self, "scale", 1.0) + getattr(self, "shift", 0.5), len(self.layers)

    class Helped(nn.Module):
        """With methods that stay Python."""

        @torch.jit.unused
        @property
        def shape(self) -> int:
            return {1: 2}.popitem()[1]

        @torch.jit.ignore
        def helper(self, x):
            # type: (Tensor) -> Tuple[Tensor, Tensor]
            return x, x

        @torch.jit.unused
        def other(self, x) -> tuple[torch.Tensor, int]:
            return x, 1

        def forward(self, x):
            if x.numel() > 100:
                return self.other(x)
            return x + 1, 2

    class Guarded(nn.Module):
        """With Python where types, or that this is a script, say that nothing comes."""

        def __init__(self):
            super().__init__()
            self.often = True

        def forward(self, x):
            if self.often and not torch.jit.is_scripting() and not torch.jit.is_tracing():
                print(type(x))
            if self.often and not isinstance(x, torch.Tensor):
                return python(*x)
            elif not isinstance(x, torch.Tensor):
                return turned(x, 1.0)
            if isinstance(x, (numbers.Number, (list, tuple))) or (1,) + x.shape[-1:] != x[None].shape:
                text = "wrong: {}, and {:.1f}"
                raise ValueError(text.format(x.dim(), 1.0))
            if not torch.jit.is_scripting():
                marked_too(x)
            found = OrderedDict([("x", x)])
            for name, value in OrderedDict([("y", x)]).items():
                found[name] = value + 1
            return found

    class Planes(nn.Conv2d):
        """Of a layer of the package it says only how it is made."""

        def __init__(self, features):
            super().__init__(1, features, 1)
            nn.init.ones_(self.weight)

        @staticmethod
        def doubled():
            return 2

    class Several(nn.Module):
        """One code, for several types."""

        @torch.jit._overload_method
        def forward(self, x: list[torch.Tensor]) -> torch.Tensor:
            pass

        @torch.jit._overload_method
        def forward(self, x: torch.Tensor) -> torch.Tensor:                # noqa: F811
            pass

        def forward(self, x: torch.Tensor) -> torch.Tensor:                # noqa: F811
            if isinstance(x, torch.Tensor):
                parts = [x]
            else:
                parts = x
            return torch.cat(parts)

    def padded(x, amounts: list[int] = (1, 1), more: list[int] | None = None):
        if more is None:
            more = 0, 1
        return torch.nn.functional.pad(x, amounts), halves(more)

    def halves(sizes: list[int]) -> list[int]:
        return sizes[0], sizes[1]

    class Library(nn.Module):
        """Classes of layers, which decide; loops over layers, in which types change; tuples that become lists."""

        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleList([nn.ReLU(), nn.Identity(), nn.ReLU()])
            self.head, self.several, self.planes = nn.Identity(), Several(), Planes(2)
            nn.init.zeros_(self.planes.bias)

        def forward(self, x):
            total = 0
            for i, layer in enumerate(self.layers):
                if not isinstance(layer, nn.Identity):
                    total = total + layer(x) * (i + 1)
            if isinstance(self.head, nn.Identity):
                total = total + 1
            else:
                total = self.head.nothere(total)
            if any(size > 100 for size in x.shape) or torch._C._get_tracing_state():
                total = total + 1
            ones = x.new_ones((x.shape[0],) + (1,) * (x.ndim - 1))
            planes = self.planes(x.reshape((1, 1) + x.shape[:-1] + (-1,)))
            return total, self.several(x) + self.several([x]), padded(x), ones, planes

    class Other(nn.Module):
        def __prepare_scriptable__(self):
            return nn.ReLU()

        def forward(self, x):
            return {x}

    class Itself(nn.Module):
        """It prepares what it has, and stays what it is."""

        def __prepare_scriptable__(self):
            self.scale = 1.0
            return self

        def forward(self, x):
            return x * self.scale

    class Inside(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer, self.itself = Other(), Itself()

        def forward(self, x):
            return self.itself(self.layer(x))

    @torch.jit.interface
    class Layer(nn.Module):
        def forward(self, input: torch.Tensor) -> torch.Tensor:
            pass

    class Choosing(nn.Module):
        impl: Layer

        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleList([nn.ReLU(), nn.Sigmoid()])
            self.impl = nn.Tanh()

        def forward(self, x, which: int):
            layer: Layer = self.layers[which]
            return layer.forward(x) + self.impl.forward(x)

    x = torch.tensor([-1.0, 2.0])
    return {"choosing": (Choosing(), (x, 0)), "mixed": (Mixed(), (x,)), "empty": (Empty(), (x,)), "wide": (Decided(True, False), (x,)), "narrow": (Decided(False, False), (x,)),
            "deep": (Decided(False, True), (x,)), "replaced": (Replaced(), (x,)), "defaults": (Defaults(), (x,)), "helped": (Helped(), (x,)),
            "prepared": (Inside(), (x,)), "guarded": (Guarded(), (x,)), "library": (Library(), (x[None],))}


ROWS = ["choosing", "guarded", "library", "mixed", "empty", "wide", "narrow", "deep", "replaced", "defaults", "helped", "prepared"]


def plain(value):
    if isinstance(value, dict):
        return {name: plain(each) for name, each in value.items()}
    return [plain(each) for each in value] if isinstance(value, (list, tuple)) else value.tolist() if hasattr(value, "tolist") else value


@pytest.mark.parametrize("name", ROWS)
def test_a_module_computes_what_it_does_as_a_script(name):
    module, args = modules(numtorch)[name]
    script = numtorch.jit.script(module)
    expected = plain(module(*args)) if name != "prepared" else [0.0, 2.0]
    for each in (script, copy.deepcopy(script), through_file(script), numtorch.jit.freeze(script.eval())):
        assert plain(each(*args)) == expected


@pytest.mark.skipif(reference is None, reason="PyTorch is not installed")
@pytest.mark.parametrize("name", ROWS)
def test_scripts_of_pytorch_do_too(name):
    if name == "empty":
        pytest.skip("PyTorch takes no comprehension over no modules that are called")
    ours, theirs = ([plain(library.jit.script(module)(*args))] for library in (numtorch, reference) for module, args in [modules(library)[name]])
    assert ours == theirs


def test_methods_that_stay_python_are_there():
    """They get the script as `self`, and a file has none of them."""
    script = numtorch.jit.script(modules(numtorch)["helped"][0])
    x = numtorch.ones(2)
    assert script.helper(x)[1] is x and script.helper.__self__ is script
    assert numtorch.jit.script(modules(numtorch)["replaced"][0]).helper(x) == [x]
    assert not hasattr(through_file(script), "helper")
    with pytest.raises(RuntimeError, match="marked as unused"):
        script(numtorch.ones(101))


def test_of_what_is_never_reached_the_code_has_a_line():
    code = numtorch.jit.script(modules(numtorch)["guarded"][0]).code
    assert "raise NotImplementedError('a script has no variable number of arguments" in code
    assert "print" not in code and "marked_too" not in code


def test_texts_have_plain_fields():
    def shown(text: str, x):
        return text.format(x.dim(), 0.5)
    script = numtorch.jit.script(shown)
    for each in (script, through_file(script)):
        assert each("{}: {:.2f}", numtorch.ones(1)) == "1: 0.50"
        with pytest.raises(ValueError, match="of a text with fields such as"):
            each("{0.__class__}", numtorch.ones(1))


@numtorch.jit.script_if_tracing
def halved(x):
    while bool(x.sum() > 1):
        x = x / 2
    return x


def test_what_is_a_script_in_traces_keeps_its_loop_there():
    traced = numtorch.jit.trace(lambda x: halved(x) + 1, numtorch.zeros(2))
    def more(x):
        return halved(x) + 1
    for each in (traced, through_file(traced), numtorch.jit.script(more)):
        assert each(numtorch.full((2,), 4.0)).tolist() == [1.5, 1.5]
    assert halved(numtorch.ones(2)).tolist() == [0.5, 0.5] and not hasattr(halved, "code")


def test_what_stands_before_a_decision_is_called():
    def grows(found: list[int]) -> bool:
        found.append(1)
        return True

    def f(x, found: list[int]):
        if grows(found) and not numtorch.jit.is_scripting():
            x = x + 1
        return x if grows(found) and not numtorch.jit.is_scripting() else x - 1

    found: list[int] = []
    assert numtorch.jit.script(f)(numtorch.ones(1), found).item() == 0 and found == [1, 1]


def warning(x, n: int):
    if n > 1:
        warnings.warn(f"{n} is many", DeprecationWarning, stacklevel=2)
    warnings.warn("always", stacklevel=1)
    return x


def test_scripts_warn():
    script = numtorch.jit.script(warning)
    for each in (script, through_file(script)):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            each(numtorch.ones(1), 2)
        assert [(str(w.message), w.category) for w in caught] == [("2 is many", DeprecationWarning), ("always", UserWarning)]
        assert each is not script or {w.filename for w in caught} == {__file__}


def test_annotations_are_read_as_python_has_them():
    """Under other names, and of classes that no name leads to any more."""
    class Pair(typing.NamedTuple):
        first: numtorch.Tensor
        second: int

    class Box:
        def __init__(self, x: numtorch.Tensor, pair: Pair):
            self.x, self.pair = x, pair

        @staticmethod
        def joined(boxes: typing.List["Box"]) -> "Box":  # noqa: UP006
            return boxes[0]

    tensor, T, sizes = numtorch.Tensor, typing, typing.Optional[typing.List[int]]          # noqa: UP006, UP045

    def opened(x: tensor, pair: Pair, more: T.Dict[str, Pair], n: sizes = None, scale: typing.Annotated[float, "any"] = 2.0,
               weight: numtorch.nn.Parameter | None = None) -> Pair:
        box = Box.joined([Box(x, pair), Box(x * 2, more["a"])])
        if n is not None:
            return Pair(box.x * n[0], len(n))
        return Pair(box.x * scale, box.pair.second)
    script, x = numtorch.jit.script(opened), numtorch.ones(1)
    for each in (opened, script, through_file(script)):
        pair = Pair(x, 3)
        assert tuple(each(x, pair, {"a": pair})) == (2, 3) and tuple(each(x, pair, {"a": pair}, [4, 5])) == (4, 2)
    assert "n: Optional[List[int]]" in script.code and script.__doc__ is None and numtorch.jit.script(documented).__doc__ == "Said."


def documented(x):
    """Said."""
    return x


def indexed(index):
    class Indexed(numtorch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = numtorch.nn.ModuleList([numtorch.nn.ReLU()])
            self.named = numtorch.nn.ModuleDict({"a": numtorch.nn.ReLU()})

        def at_one(self, x):
            return self.layers[1](x)

        def at_minus_two(self, x):
            return self.layers[-2](x)

        def at_b(self, x):
            return self.named["b"](x)
    Indexed.forward = getattr(Indexed, index)
    return Indexed()


@pytest.mark.parametrize("index", ["at_one", "at_minus_two", "at_b"])
def test_an_index_of_no_module_is_refused_at_its_line(index):
    with pytest.raises(RuntimeError, match=r"is no index of Module(List|Dict), which has 1 modules(.|\n)*HERE"):
        numtorch.jit.script(indexed(index))


ASKED = [([1, 2], list[int], True), ([1, "a"], list[int], False), ([], list[str], True), ({"a": 1}, dict[str, int], True),
         ({"a": "b"}, dict[str, int], False), ((1, "a"), tuple[int, str], True), ((1, 2), tuple[int, str], False),
         (None, typing.Optional[int], True), ("a", typing.Optional[int], False), (1.5, (int, float), True), ([[1]], list[list[int]], True),     # noqa: UP045
         ([["a"]], list[list[int]], False), (1, int | str, True), ([1], (list[str], list[int]), True), (object(), object, True), (1.5, int | str, False),
         (1.5, typing.Union[str, list[int]], False), ([1], (typing.Union[str, list[int]], float), True)]                    # noqa: UP007


@pytest.mark.parametrize(("value", "kind", "answer"), ASKED)
def test_isinstance_asks_what_containers_hold(value, kind, answer):
    assert numtorch.jit.isinstance(value, kind) is answer


COMMENTS = [("# type: (Tensor) -> ", "says no types"), ("# type: (Tensor, int)", "says the types of 2 arguments, and there are 1"),
            ("# type: Tensor", "says no types")]


@pytest.mark.parametrize(("comment", "message"), COMMENTS)
def test_comments_that_say_no_types_are_refused_at_their_function(comment, message, tmp_path):
    path = tmp_path / "commented.py"
    path.write_text(f"def f(x):\n    {comment}\n    return x\n")
    scope = {"__name__": "commented"}
    exec(compile(path.read_text(), str(path), "exec"), scope)
    with pytest.raises(RuntimeError, match=rf"{message}(.|\n)*commented.py(.|\n)*HERE"):
        numtorch.jit.script(scope["f"])


class Around(numtorch.jit.ScriptModule):
    """With a trace of a function that has no name."""

    def __init__(self):
        super().__init__()
        self.doubled = numtorch.jit.trace(lambda x: x * 2, numtorch.ones(2))

    @numtorch.jit.script_method
    def forward(self, x):
        """Twice that."""
        return self.doubled(x) + 1


def test_traces_without_a_name_are_called():
    module, x = Around(), numtorch.ones(2)
    assert through_file(module)(x).tolist() == module(x).tolist() == [3, 3] and module.forward.__doc__ == "Twice that."


def test_older_types_are_read():
    assert numtorch.jit.script(programs.older_types)(numtorch.ones(1), numtorch.device("cpu")).tolist() == [1]
    assert numtorch.jit.script(programs.misplaced)(numtorch.ones(1), 2).tolist() == [3]


def test_functions_of_the_package_are_no_scripts():
    with pytest.raises(RuntimeError, match=r"torch\.hinge_embedding_loss is a function of this package"):
        numtorch.jit.script(numtorch.nn.functional.hinge_embedding_loss)


def test_errors_of_scripts_are_those_of_python():
    script = numtorch.jit.load(io.BytesIO(saved(numtorch.jit.script(raising))))
    for each in (raising, script):
        with pytest.raises(numtorch.jit.Error, match="odd"):
            each(3)


def raising(n: int) -> int:
    if n % 2 == 1:
        raise ValueError("odd")
    return n


def saved(script):
    file = io.BytesIO()
    numtorch.jit.save(script, file)
    return file.getvalue()
