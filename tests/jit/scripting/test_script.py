"""Scripts: what a function in the subset computes, as Python, as a script, from a file and as PyTorch's script; what is refused."""
import copy
import importlib.util
import io
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
import scriptprograms as programs

import numtorch as torch
from numtorch.jit.scripting.units import Unit, parsed
from numtorch.kernels.debugmemory import MODE
from numtorch.tree import flatten

try:
    import torch as reference
except ImportError:
    reference = None

ROWS = [                                                 # the program, its arguments; `t` makes a tensor
    ("early", lambda t: (t(3), 3)), ("early", lambda t: (t(3) * 90, 9)), ("collatz", lambda t: (27,)), ("data_dependent", lambda t: (t(2),)),
    ("lists", lambda t: (t(3, 2),)), ("dicts", lambda t: (t(2),)), ("tuples", lambda t: (t(4, 3),)), ("optional", lambda t: (t(3),)),
    ("starred", lambda t: (t(3),)),
    ("optional", lambda t: (t(3), t(3) * 2, 0.5)), ("strings", lambda t: (t(3),)), ("strings", lambda t: (t(3), "mean")),
    ("booleans", lambda t: (t(2), True, 3)), ("booleans", lambda t: (t(2), False, 3)), ("indexing", lambda t: (t(3, 2),)),
    ("zipped", lambda t: ([t(2), t(2)], [0.5, 2.0])), ("nested", lambda t: (t(4), 4)), ("no_grads", lambda t: (t(3),)),
    ("functional", lambda t: (t(2, 3), t(4, 3), t(4))), ("isinstances", lambda t: (t(2), 3)), ("isinstances", lambda t: (t(2),)),
    ("dtypes", lambda t: (t(3),)), ("newton", lambda t: (t(3),)), ("points", lambda t: (t(3),)), ("later", lambda t: (t(3), 3)), ("fails_later", lambda t: (t(3), True))]
RAISES = [("strings", lambda t: (t(3), "max"), "unknown mode max"), ("strings", lambda t: (t(3, 1),), "expected one dimension, got 2"),
          ("collatz", lambda t: (t(1),), "Expected a value of type 'int' for argument 'n' but instead found type 'Tensor'"),
          ("fails_later", lambda t: (-t(3), True), "negative"),
          ("early", lambda t: (t(3),), "missing value for argument 'n'"), ("collatz", lambda t: (1, 2), "at most 1 argument")]


def argument(module):
    """A maker of tensors that is the same for each library."""
    def make(*shape):
        size = 1
        for n in shape:
            size *= n
        return (module.arange(size, dtype=module.float32).reshape(shape) / size + 0.25).requires_grad_()
    return make


def outcome(function, args, module):
    """What a call returns, and the gradients of it, as plain numbers."""
    given = [x for a in args for x in (a if isinstance(a, list) else [a]) if isinstance(x, module.Tensor)]
    result = function(*args)
    leaves = list(result.values()) if isinstance(result, dict) else flatten(result)[0] if isinstance(result, (tuple, list)) else [result]
    tensors = [x for x in leaves if isinstance(x, module.Tensor)]
    grads = []
    wanted = [x for x in tensors if x.requires_grad]
    if wanted and given:
        found = module.autograd.grad([x.sum() for x in wanted], given, allow_unused=True)
        grads = [None if g is None else g.tolist() for g in found]
    return [x.tolist() if isinstance(x, module.Tensor) else x for x in leaves], grads


def through_file(script):
    file = io.BytesIO()
    torch.jit.save(script, file)
    file.seek(0)
    return torch.jit.load(file)


@pytest.fixture(scope="module")
def theirs(tmp_path_factory):
    """The programs with PyTorch in the place of this package."""
    if reference is None:
        pytest.skip("PyTorch is not installed")
    text = Path(programs.__file__).read_text().replace("import numtorch as torch", "import torch").replace("from numtorch", "from torch")
    path = tmp_path_factory.mktemp("programs") / "their_programs.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location("their_programs", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["their_programs"] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(("name", "args"), ROWS, ids=[f"{name}-{i}" for i, (name, _) in enumerate(ROWS)])
def test_a_script_computes_what_its_function_does(name, args):
    """Values and gradients are those of the function itself, as a script, and from a file."""
    function, make = getattr(programs, name), argument(torch)
    expected = outcome(function, args(make), torch)
    script = torch.jit.script(function)
    assert outcome(script, args(make), torch) == expected
    loaded = through_file(script)
    assert outcome(loaded, args(make), torch) == expected
    assert loaded.code == script.code and str(loaded.graph) == str(script.graph)
    assert torch.jit.script(script) is script


@pytest.mark.parametrize(("name", "args"), ROWS, ids=[f"{name}-{i}" for i, (name, _) in enumerate(ROWS)])
def test_a_script_computes_what_that_of_pytorch_does(name, args, theirs):
    script = reference.jit.script(getattr(theirs, name))
    expected = outcome(script, args(argument(reference)), reference)
    found = outcome(torch.jit.script(getattr(programs, name)), args(argument(torch)), torch)
    assert flatten(found)[1] == flatten(expected)[1]
    for a, b in zip(flatten(found)[0], flatten(expected)[0]):
        assert a == pytest.approx(b, rel=1e-5, abs=1e-6)


@pytest.mark.parametrize(("name", "args", "message"), RAISES)
def test_a_script_raises_what_its_function_does(name, args, message):
    with pytest.raises(Exception, match=message):
        torch.jit.script(getattr(programs, name))(*args(argument(torch)))


# ---------------------------------------------------------------- what is refused
REFUSED = [                                              # the body, what is said, and whether PyTorch refuses it as well
    ("try:\n        return x\n    except ValueError:\n        return x", "try/except is not in a script", True),
    ("return (lambda y: y)(x)", "write a function with `def`", True),
    ("import math\n    return x", "import at the top of the file", True),
    ("global G\n    return x", "give the value as an argument", True),
    ("yield x", "append to a list", True),
    ("def g(y):\n        return y\n    return g(x)", "write it beside this one", True),
    ("class A:\n        pass\n    return x", "classes inside of functions", True),
    ("return (y := x)", "assign on a line of its own", True),
    ("return {1, 2}", "use a list, or a dict", True),
    ("if x.sum() > 0:\n        y = x\n    return y", "y is not defined in the false branch", True),
    ("y: int = 1\n    y = 'a'\n    return y", "previously had type int but is now being assigned to a value of type str", False),
    ("if x.sum() > 0:\n        return 1\n    return x", "returned a value of type int but this return statement returns a value of type "
     "Tensor", True),
    ("if x.sum() > 0:\n        y = 1\n    else:\n        y = 'a'\n    return y", "in the true branch and type str in the false branch",
     True),
    ("for i in range(3):\n        y = i\n    return y", "defined only in a loop", True),
    ("return x.foo", "has no attribute or method 'foo'", True),
    ("return x.numpy()", "has no attribute or method 'numpy'", True),
    ("return x + 'a'", "operands of this operation are of types Tensor and str", True),
    ("return nothere(x)", "undefined value nothere", True),
    ("return torch.nothere(x)", "has no attribute nothere", True),
    ("y: Optional[Tensor] = None\n    return y + x", "may be None", True),
    ("y: Optional[Tensor] = None\n    if x.sum() > 0:\n        y = x\n    return y.sin()", "may be None", True),
    ("return helper(x, 'a')", "Expected a value of type 'int' for argument 'k'", True),
    ("return helper(k=2)", "missing value for argument 'x'", True),
    ("return helper(x, z=2)", "Unknown keyword argument 'z'", True),
    ("return open('/etc/passwd')", "cannot be used as a value", True),
    ("return CONFIG", "cannot be used as a value", True),
    ("return TENSOR + x", "is a tensor from outside", True),
    ("return f(x)", "f calls itself", True),
    ("while True:\n        x = x + 1\n    else:\n        x = x\n    return x", "`else` of a loop", True),
    ("return helper(**{'x': x})", "in a call is not in a script", True),
    ("y = 1\n    while x.sum() < 3:\n        y = x\n    return y", "previously had type int but is now being assigned", False),
    ("return (x, x)[3]", "out of range", True),
    ("y, *z = x.shape\n    return z[0]", "take a slice, such as", True),
    ("y, *x.data = 1, x\n    return x", "take a slice, such as", True),
    ("y, u, *z = (1,)\n    return z[0]", "Need at least 2 values to unpack, and there are 1", True),
    ("for y, *z in [(1, 2, 3)]:\n        x = x + y\n    return x", "take a slice, such as", False),
    ("return torch.add(x, 'a')", r"torch.add\(\) got a str where a Tensor or a number is expected", True),
    ("return Data(1).a + x", "objects of class Data are not in a script", False),
    ("return made(x)", "the source of made is not there", True),
    ("break", "outside of a loop", True),
    ("z: Strange = x\n    return z", "no type of a script", True),
    ("return torch.jit.wait(x)", r"wait\(\) expected a value of type 'Future\[t\]' but instead found type 'Tensor'", True),
    ("return torch.jit.fork(helper, x) + 1", r"are of types Future\[Tensor\] and int", True),
    ("return torch.jit.fork(helper, x).done()", "has no attribute or method 'done'", True),
    ("return torch.jit.fork(helper, x, 'a')", "Expected a value of type 'int' for argument 'k'", True),
    ("return torch.jit.fork()", "takes the function that is called", True),
    ("return torch.jit.fork(len(x))", "a value of type int is called", True),
    ("with open('a') as g:\n        return x", "cannot be used as a value|no_grad", True),
]


@pytest.mark.parametrize(("body", "message", "both"), REFUSED)
def test_what_is_not_in_the_subset_is_refused_at_its_line(body, message, both, tmp_path):
    def made(library):
        path = tmp_path / f"refused_{library}.py"
        path.write_text(f"import {library} as torch\nfrom {library} import Tensor\nfrom dataclasses import dataclass\nfrom typing import "
                        "Optional\n\n\n@dataclass\nclass Data:\n    a: int\n\n\nexec('def made(x):\\n    return x')\nCONFIG = object()\n"
                        "TENSOR = torch.ones(2)\n\n\ndef helper(x, k: int = 2):\n    return x * k\n\n\n"
                        f"def f(x):\n    {body}\n")
        try:
            code = compile(path.read_text(), str(path), "exec")
        except SyntaxError:
            pytest.skip("Python refuses it as well")
        scope = {"__name__": f"refused_{library}"}
        exec(code, scope)
        return path, scope["f"]
    path, function = made("numtorch")
    with pytest.raises(RuntimeError, match=message) as caught:
        torch.jit.script(function)
    assert str(path) in str(caught.value) and "<--- HERE" in str(caught.value)
    if both and reference is not None:
        with pytest.raises(Exception):
            reference.jit.script(made("torch")[1])


TEXTS = ["def f(x):\n    return torch.jit.fork(open('a'))", "def f(x):\n    return torch.jit.fork(x)", "def f(x):\n    return torch.jit.load('a')",
         "def f(x):\n    return torch.jit.fork(x.numpy())", "def f(x):\n    return x.__class__", "def f(x):\n    return ().__class__.__bases__", "def f(x):\n    return __import__('os')",
         "def f(x):\n    return eval('1')", "def f(x):\n    return torch.load('a')", "def f(x):\n    return torch.nn.Linear",
         "def f(x):\n    import os\n    return x", "def f(x, y=print('a')):\n    return x", "def f(x):\n    return x.numpy().tofile('a')",
         "def f(x):\n    return x.register_hook(print)", "def f(x):\n    return '{0.__class__}'.format(x)", "x = 1",
         "def f(x, y: Any):\n    return y.__dict__", "def f(x):\n    return (lambda: x)()", "def f(x):\n    __0 = x\n    return __0",
         "@print\ndef f(x):\n    return x", "def f(x):\n    return torch.compile(x)", "def f(x):\n    return __torch__.g(x)",
         "def f(x, s: str):\n    return s.format(x)", "def f(x):\n    return self.x", "def f(x, y: Any):\n    return y(x)",
         "def f(x):\n    return max([x], key=print)", "def f(x):\n    print(x, file=x)\n    return x",
         "def f(x, m: Module):\n    return m.forward(x)", "def f(x):\n    return torch.hub.load(x)", "class f:\n    pass", "def f(*x):\n    return x", "def f(x: print('a')):\n    return x"]


@pytest.mark.parametrize("text", TEXTS)
def test_a_text_cannot_reach_what_no_script_can(text):
    """What files hold is refused where it is not of the subset, before any of it runs."""
    with pytest.raises((RuntimeError, ValueError)):
        parsed(Unit(), text, "<script f>").ready()


# ---------------------------------------------------------------- modules
def test_a_module_as_a_script_has_the_same_parameters_and_trains():
    torch.manual_seed(0)
    net = programs.Net()
    script = torch.jit.script(net)
    assert list(script.state_dict()) == list(net.state_dict())
    assert all(a is b for a, b in zip(script.parameters(), net.parameters()))
    x, hidden = torch.rand(2, 4), (torch.rand(2, 4), torch.rand(2, 4))
    for given in ((x,), (x, hidden)):
        assert torch.equal(script(*given), net(*given))
    assert torch.equal(script.head(x), net.head(x))
    assert script.blocks[0].calls == 2 and net.blocks[0].calls == 2
    loaded = through_file(script)
    assert torch.equal(loaded(x), net(x)) and torch.equal(loaded.head(x), net.head(x))
    assert not torch.equal(loaded.eval()(x), net(x)) and torch.equal(loaded(x), net.eval()(x))
    net.train()
    optimizer = torch.optim.SGD(script.parameters(), lr=0.1)
    losses = []
    for _ in range(5):
        optimizer.zero_grad()
        loss = (script(x) ** 2).mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0] and torch.equal(script(x), net(x))
    with pytest.raises(RuntimeError, match="Expected a value of type 'Tensor'"):
        script(3)


def test_a_module_as_a_script_computes_what_that_of_pytorch_does(theirs):
    ours, other = programs.Net(), theirs.Net()
    other.load_state_dict({name: reference.tensor(value.tolist()) for name, value in ours.state_dict().items()})
    script, their_script = torch.jit.script(ours), reference.jit.script(other)
    x = argument(torch)(2, 4)
    y = reference.tensor(x.tolist())
    assert flatten(script(x).tolist())[0] == pytest.approx(flatten(their_script(y).tolist())[0], rel=1e-5)


def test_what_a_fork_raises_comes_from_waiting_for_it(theirs):
    """In scripts of both; as Python, fork itself raises."""
    for library, module in ((torch, programs), (reference, theirs)):
        script, x = library.jit.script(module.fails_later), -library.ones(2)
        assert script(x, False).tolist() == [-1, -1]
        for function in (script, module.fails_later):
            with pytest.raises(Exception, match="negative"):
                function(x, True)
        with pytest.raises(ValueError, match="negative"):
            module.fails_later(x, False)


def test_forks_of_modules_and_methods(theirs):
    ours, other = programs.Forks(), theirs.Forks()
    other.load_state_dict({name: reference.tensor(value.tolist()) for name, value in ours.state_dict().items()})
    x, script = torch.rand(2, 4), torch.jit.script(ours)
    wanted = reference.jit.script(other)(reference.tensor(x.tolist()))
    for each in (ours, script, through_file(script)):
        assert flatten(each(x).tolist())[0] == pytest.approx(flatten(wanted.tolist())[0], rel=1e-5, abs=1e-6)
    script(x).sum().backward()
    wanted.sum().backward()
    assert flatten(ours.layers[0].weight.grad.tolist())[0] == pytest.approx(flatten(other.layers[0].weight.grad.tolist())[0], rel=1e-5)


@torch.jit.script
def waits(future: torch.jit.Future[torch.Tensor]):
    return future.wait() + 1


def test_futures_are_given_and_returned():
    assert waits(torch.jit.fork(torch.neg, torch.ones(1))).tolist() == [0] and waits.code.startswith("def waits(future: Future[Tensor])")
    with pytest.raises(RuntimeError, match=r"Future\[Tensor\]"):
        waits(torch.ones(1))


def test_constants_properties_and_empty_containers_of_modules(theirs):
    """As Python, as a script, from a file, and as PyTorch's script."""
    net, script = programs.Declared(), torch.jit.script(programs.Declared())
    loaded, their_script = through_file(script), reference.jit.script(theirs.Declared())
    for name in ("a", "b", "a"):
        wanted, seen = net(torch.ones(2), name)
        for each in (script, loaded):
            found, counted = each(torch.ones(2), name)
            assert torch.equal(found, wanted) and counted == seen
        found, counted = their_script(reference.ones(2), name)
        assert found.tolist() == wanted.tolist() and counted == seen
    assert torch.equal(script.scale, net.scale) and torch.equal(loaded.scale, net.scale)
    with pytest.raises(AttributeError, match="shown"):
        print(script.shown)


class Sizes:
    WIDTH = 4
    names = ("a", "b")


class WithClassAttributes(torch.nn.Module):
    factor = 3

    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Linear(2, 2)
        self.known = ["a", "c"]

    def forward(self, x, name: str = "a"):
        assert name in Sizes.names, f"{name} is none of {len(Sizes.names)} names"
        if name in self.known and isinstance(self.factor, int):
            return self.inner(x) * self.factor + Sizes.WIDTH
        return x


def test_attributes_of_classes_are_constants_of_a_script():
    net = WithClassAttributes()
    script, x = torch.jit.script(net), torch.ones(1, 2)
    for each in (script, through_file(script)):
        assert torch.equal(each(x), net(x)) and torch.equal(each(x, "b"), x)
        with pytest.raises(AssertionError, match="c is none of 2 names"):
            each(x, "c")


def test_modules_that_are_scripts_from_the_start(theirs):
    ours, other = programs.Early(2), theirs.Early(2)
    other.load_state_dict({name: reference.tensor(value.tolist()) for name, value in ours.state_dict().items()})
    assert isinstance(ours, programs.Early) and isinstance(ours, torch.jit.ScriptModule) and "for i in range(self.turns)" in ours.code
    loaded = through_file(ours)
    for x in ([[-1.0, 2.0]], [[4.0, 1.0]]):
        wanted = other(reference.tensor(x)).flatten().tolist()
        for each in (ours, loaded, copy.deepcopy(ours)):
            assert each(torch.tensor(x)).flatten().tolist() == pytest.approx(wanted, rel=1e-5)
    assert ours.described() == "Parameter of 2" and ours.moved(torch.zeros(1), 2).item() == 2 and list(ours.state_dict()) == list(other.state_dict())
    with pytest.raises(RuntimeError, match="Expected a value of type 'int'"):
        ours.moved(torch.zeros(1), 0.5)
    ours.turns = 0
    assert ours(torch.ones(2)).tolist() == [0.5, 0.5] and programs.Later().turns == 2
    outer = torch.jit.script(torch.nn.Sequential(ours, torch.nn.ReLU()))
    assert outer(torch.ones(2)).tolist() == [0.5, 0.5] and through_file(outer)(torch.ones(2)).tolist() == [0.5, 0.5]


class Assigning(programs.Declared):
    def forward(self, x):
        self.factor = 4
        return x * self.factor


class Replacing(programs.Declared):
    def forward(self, x):
        self.scale = x
        return x


class Holding(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.rows, self.point = torch.jit.Attribute([], list[torch.Tensor]), torch.jit.Attribute(None, programs.Point | None)

    def forward(self, x):
        self.rows.append(x)
        return torch.stack(self.rows)


def test_what_is_final_and_what_is_a_property_is_not_assigned_to():
    for kind, message in ((Assigning, "factor of Assigning is Final"), (Replacing, "scale of Replacing is a property")):
        with pytest.raises(RuntimeError, match=message):
            torch.jit.script(kind())
    script = torch.jit.script(Holding())
    for n in range(1, 4):
        assert script(torch.ones(2)).shape == (n, 2)


def wrong_field(p: programs.Point):
    return p.z


def too_few():
    return programs.Point(torch.ones(1))


def another_type():
    return programs.Point(torch.ones(1), torch.ones(1), "3")


def test_named_tuples_of_a_user_are_types():
    script = torch.jit.script(programs.shifted)
    found = script(programs.Point(torch.zeros(2), torch.zeros(2)), 1.0)
    assert type(found) is programs.Point and found.scale == 3.0 and "__torch__.Point" in script.code
    loaded = through_file(script)(programs.Point(torch.zeros(2), torch.zeros(2)), 1.0)
    assert loaded._fields == programs.Point._fields and torch.equal(loaded.x, found.x)
    for given in (torch.zeros(2), (torch.zeros(2), torch.zeros(2), 1.0), programs.Line(torch.zeros(2), torch.zeros(2))):
        with pytest.raises(RuntimeError, match=r"Expected a value of type '__torch__\.Point'"):
            script(given, 1.0)
    for function, message in ((wrong_field, "no attribute or method 'z'"), (too_few, "missing value for argument 'y'"),
                              (another_type, "Expected a value of type 'float' for argument 'scale'")):
        with pytest.raises(RuntimeError, match=message):
            torch.jit.script(function)


def test_scripts_traces_and_python_call_each_other():
    traced = torch.jit.trace(lambda x: x.sin() * 2, torch.rand(3))
    globals()["_traced"] = traced
    globals()["_scripted"] = torch.jit.script(programs.newton)
    script = torch.jit.script(mixed)
    x = torch.rand(3) + 0.5
    assert torch.equal(script(x), traced(x) + programs.newton(x))
    assert torch.equal(through_file(script)(x), script(x))
    again = torch.jit.trace(lambda y: script(y) + 1, x)
    assert torch.equal(again(x), script(x) + 1)
    ignoring = torch.jit.script(with_python)
    assert torch.equal(ignoring(x), x + 3) and torch.equal(with_python(x), x + 3)
    with pytest.raises(RuntimeError, match="is Python"):
        torch.jit.save(ignoring, io.BytesIO())
    pair = torch.jit.script(torch.nn.Sequential(programs.Block(3), torch.jit.trace(torch.nn.Linear(3, 2), x)))
    assert torch.equal(through_file(pair)(x), pair(x))


@pytest.mark.parametrize("make", [lambda lib: lib.jit.script(lib.nn.Sequential(lib.nn.Linear(3, 2))), lambda lib: lib.jit.trace(lib.sin, lib.ones(2)),
                                  lambda lib: lib.jit.trace(lib.nn.Linear(3, 2), lib.ones(1, 3))], ids=["script", "trace", "traced module"])
def test_files_of_the_users_lie_beside_a_program(make, tmp_path):
    found = []
    for library in [torch, *([reference] if reference else [])]:
        path, wanted = str(tmp_path / library.__name__), {"labels.txt": "", "bytes": None, "not there": "before"}
        library.jit.save(make(library), path, _extra_files={"labels.txt": "Zürich\n", "bytes": b"\x00\xff" * 1000, "unread": b""})
        library.jit.load(path, _extra_files=wanted)
        found.append(dict(wanted))
        make(library).save(path, _extra_files={"again": "1"})
        library.jit.load(path, None, wanted := {**wanted, "again": ""})
        found.append(wanted)
        with pytest.raises(TypeError):
            library.jit.save(make(library), path, _extra_files={"a": 3})
    one = {"labels.txt": "Zürich\n".encode(), "bytes": b"\x00\xff" * 1000, "not there": b""}
    assert found == [one, {**dict.fromkeys(one, b""), "again": b"1"}] * (len(found) // 2)


@pytest.mark.parametrize("extra", [{"a": 3}, {"a": torch.ones(2)}, 3, ["a"], {"a": "\u20ac"}], ids=repr)
def test_damaged_files_of_the_users_are_refused(extra, tmp_path):
    content = {**torch.jit.script(programs.early).content(), "extra": extra}
    torch.save(content, tmp_path / "bad.pt")
    wanted = {"a": ""}
    with pytest.raises(RuntimeError, match=r"bad\.pt: jit.load: the file is damaged"):
        torch.jit.load(tmp_path / "bad.pt", _extra_files=wanted)
    assert wanted == {"a": ""} and torch.jit.load(tmp_path / "bad.pt")(torch.ones(3), 3) is not None


def test_methods_of_a_script_have_their_code_and_graph():
    """As PyTorch's have: of a script's methods, of a traced module's and of one of the package `forward`."""
    class Two(torch.nn.Module):
        def forward(self, x):
            return self.shifted(x, 2) * 2

        def shifted(self, x, by: int):
            return x + by

    script = torch.jit.script(Two())
    for each in (script, through_file(script)):
        assert each.forward.code == "def forward(self, x):\n    return self.shifted(x, 2) * 2\n" and each.forward.__name__ == "forward"
        assert each.shifted.code == "def shifted(self, x, by: int):\n    return x + by\n" and each.shifted(torch.ones(1), 3).item() == 4
        assert "aten::mul" in str(each.forward.graph) and "aten::add" in str(each.shifted.graph) and str(each.graph) == str(each.forward.graph)
        assert each.forward(torch.ones(1)).item() == each(torch.ones(1)).item() == 6
    traced = torch.jit.trace(torch.nn.Linear(2, 1), torch.ones(1, 2))
    assert traced.forward.code == traced.code and traced.forward.graph is traced.graph
    early = programs.Early(2)
    assert "for i in range(self.turns)" in early.forward.code
    assert "Linear" in torch.jit.script(torch.nn.Linear(2, 1)).forward.code


def mixed(x):
    return _traced(x) + _scripted(x)  # noqa: F821


@torch.jit.ignore
def python(x):
    return eval("x + 2")


@torch.jit.unused
def never(x):
    return eval("x")


def with_python(x):
    if x.numel() > 100:
        return never(x)
    if torch.jit.is_scripting():
        return python(x) + 1
    else:
        return max({x.numel(): x + 3}.values(), key=len)


def test_a_loaded_script_runs_where_its_source_is_absent(tmp_path):
    """Another process loads the file, with nothing of this file's on its path."""
    torch.jit.script(programs.Net()).save(str(tmp_path / "net.pt"))
    torch.jit.script(programs.early).save(str(tmp_path / "early.pt"))
    code = textwrap.dedent("""
        import numtorch as torch
        net, early = torch.jit.load("net.pt"), torch.jit.load("early.pt")
        print(net(torch.ones(2, 4)).shape, early(torch.ones(3), 3).tolist(), "for i in range(n):" in early.code)
        print("prim::Loop" in str(early.graph), "prim::If" in str(early.graph))
    """)
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.stdout.splitlines() == ["(2, 3) [12.0, 12.0, 12.0] True", "True True"] or "torch.Size([2, 3])" in done.stdout, done.stderr


def test_a_trace_freezes_what_a_script_keeps():
    """The promise of 2017: the trace re-executes the operations it recorded, the script decides anew."""
    rising, falling = torch.tensor([3.0, 20.0]), torch.tensor([20.0, 3.0])
    with pytest.warns(torch.jit.TracerWarning):
        traced = torch.jit.trace(programs.data_dependent, rising, check_trace=False)
    script = torch.jit.script(programs.data_dependent)
    assert torch.equal(script(falling), programs.data_dependent(falling)) and torch.equal(script(rising), traced(rising))
    assert not torch.equal(traced(falling), script(falling))
    assert torch.equal(traced(falling), falling.sin())


def test_a_copy_of_a_script_has_parameters_of_its_own():
    script = torch.jit.script(programs.Net())
    for made in (script, torch.jit.script(torch.nn.Sequential(torch.nn.Linear(4, 2), programs.Block(2)))):
        x = torch.rand(2, 4)
        expected = made(x)
        copied = copy.deepcopy(made)
        with torch.no_grad():
            for parameter in copied.parameters():
                parameter.zero_()
        assert torch.equal(made(x), expected) and not torch.equal(copied(x), expected)

class Annotated(torch.nn.Module):
    inner: torch.nn.Module                               # PyTorch refuses such an annotation

    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Tanh()

    def forward(self, x):
        return self.inner(x)


def test_an_annotation_of_a_submodule_is_no_type():
    assert torch.jit.script(Annotated())(torch.zeros(2)).tolist() == [0, 0]


@pytest.mark.skipif(bool(MODE), reason="nothing is captured with NUMTORCH_DEBUG_MEMORY: a replay's memory would not be watched")
def test_a_script_is_replayed():
    """`compile` captures what a script launches; one whose conditions ask tensors runs as it is."""
    script, x = torch.jit.script(programs.functional), (torch.rand(2, 3), torch.rand(4, 3), torch.rand(4))
    compiled = torch.compile(script)
    assert all(torch.equal(compiled(*x), script(*x)) for _ in range(4)) and torch.compile.explain(script)(*x).launches > 0
    asking = torch.compile(torch.jit.script(programs.data_dependent))
    for given in (torch.tensor([3.0, 20.0]), torch.tensor([20.0, 3.0])) * 3:
        assert torch.equal(asking(given), programs.data_dependent(given))


def test_the_graph_of_a_script_has_blocks():
    text = str(torch.jit.script(programs.Net()).graph)
    assert text.startswith("graph(%self : Net, %x : Tensor") and "prim::Loop(" in text and "block0(%i, %block):" in text
    assert 'prim::CallMethod[name="forward"](%block, %x)' in text and "prim::If(" in text


def test_a_damaged_file_is_refused():
    script = torch.jit.script(programs.Net())
    for change in ({"units": []}, {"root": 99}, {"modules": [{"class": "Module.__init__"}]}, {"kind": "function"}):
        file = io.BytesIO()
        torch.save({**script.content(), **change}, file)
        file.seek(0)
        with pytest.raises(RuntimeError, match=r"jit\.load"):
            torch.jit.load(file)


class Shadowing(torch.nn.Module):
    """Members of names that every module has: these come first, as in Python."""

    def __init__(self):
        super().__init__()
        self.limit, self.f = 3, torch.nn.Linear(2, 2)

    @property
    def half(self) -> float:
        return self.limit / 2

    def type(self, x, k: int = 2):
        return x * k

    @torch.jit.export
    def double(self, x):
        return self.f(x) * 2

    def forward(self, x):
        return self.double(self.type(x)) + self.half


def test_methods_and_properties_come_before_those_of_every_module():
    net, x = Shadowing(), torch.rand(3, 2)
    script = torch.jit.script(net)
    for each in (script, through_file(script), copy.deepcopy(script), copy.deepcopy(through_file(script))):
        assert torch.equal(each(x), net(x)) and torch.equal(each.double(x), net.double(x))
        assert torch.equal(each.type(x, 3), x * 3) and each.half == 1.5
        assert each.float() is each                      # others stay


class Layers(torch.nn.Module):
    """Layers of many kinds, a trace, and a buffer that is written."""

    def __init__(self):
        super().__init__()
        nn = torch.nn
        self.conv = nn.Sequential(nn.Conv1d(4, 4, 3, padding=1), nn.BatchNorm1d(4), nn.ReLU(), nn.Dropout(0.5))
        self.lstm, self.attention = nn.LSTM(4, 4, batch_first=True), nn.MultiheadAttention(4, 2, batch_first=True)
        self.traced = torch.jit.trace(nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4)).eval(), torch.rand(5, 4))
        self.weight = nn.Parameter(torch.rand(4))
        self.register_buffer("calls", torch.zeros((), dtype=torch.int64))

    def forward(self, x):
        self.calls += 1
        x, state = self.lstm(self.conv(x))
        if x.sum() > 100:
            x = x * 2
        x = self.attention(x, x, x)[0] * self.weight
        return self.traced(x[:, 0]), int(self.calls)


@pytest.mark.parametrize("prepare", [torch.jit.freeze, torch.jit.optimize_for_inference])
def test_a_script_is_frozen(prepare):
    """The same results, of tensors of its own, which are neither trained nor part of a state."""
    torch.manual_seed(0)
    script = torch.jit.script(Layers())
    with pytest.raises(RuntimeError, match="eval mode"):
        prepare(script)
    script.eval()
    x = torch.rand(5, 4, 4)
    frozen = prepare(script)
    expected = script(x)
    assert not list(frozen.parameters()) and not frozen.state_dict() and len(list(script.parameters())) > 10
    again = prepare(frozen)
    for each in (frozen, again, through_file(prepare(script))):
        result, calls = each(x)
        torch.testing.assert_close(result, expected[0], rtol=0, atol=0)
        assert not result.requires_grad
    assert frozen(x)[1] == 2 and again(x)[1] == 2 and script(x)[1] == 2     # each counts its own calls
    with torch.no_grad():
        script.weight.zero_()
    torch.testing.assert_close(frozen(x)[0], expected[0], rtol=0, atol=0)
    assert frozen.code == script.code and str(frozen.graph) == str(script.graph)
    torch.testing.assert_close(torch.compile(frozen)(x)[0], expected[0], rtol=1e-5, atol=1e-6)
    layer = prepare(torch.jit.script(torch.nn.Linear(3, 2).eval()))
    assert not list(layer.parameters()) and layer(torch.rand(4, 3)).shape == (4, 2)
