"""`__torch_function__`: the same programs on PyTorch, where it is installed, show that the protocol is PyTorch's."""
import inspect
import subprocess
import sys

import pytest

import numtorch


@pytest.fixture
def logged(torch):
    """A subclass that notes which functions it is asked about, and an instance."""
    class Logged(torch.Tensor):
        seen = []

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            cls.seen.append(func)
            return super().__torch_function__(func, types, args, kwargs)
    return torch.tensor([1.0, 2.0, 3.0]).as_subclass(Logged)


CALLS = {
    "exp": lambda torch, x: torch.exp(x), "add": lambda torch, x: x + 1, "radd": lambda torch, x: 1 + x, "add_": lambda torch, x: x.add_(1),
    "sum": lambda torch, x: x.sum(), "max": lambda torch, x: x.max(0), "stack": lambda torch, x: torch.stack([torch.ones(3), x]),
    "index": lambda torch, x: x[0], "linear": lambda torch, x: torch.nn.functional.linear(torch.ones(1, 3), x.reshape(1, 3)),
    "relu": lambda torch, x: torch.nn.functional.relu(x), "where": lambda torch, x: torch.where(x > 1, x, 0.0),
    "layer": lambda torch, x: torch.nn.Linear(3, 2)(x), "view": lambda torch, x: x.view(3, 1).t(), "norm": lambda torch, x: torch.linalg.norm(x),
    "tolist": lambda torch, x: x.tolist(), "item": lambda torch, x: x.sum().item(), "cat": lambda torch, x: torch.cat((x, x)),
    "clone": lambda torch, x: x.clone(), "detach": lambda torch, x: x.detach(), "comparison": lambda torch, x: x == 2,
}


def kinds(result):
    if isinstance(result, (tuple, list)):
        return [type(result).__name__ if type(result) in (list, tuple) else "named", *[kinds(r) for r in result]]
    return type(result).__name__


KINDS = dict.fromkeys(CALLS, "Logged") | {"max": ["named", "Logged", "Logged"], "tolist": ["list", "float", "float", "float"], "item": "float"}


@pytest.mark.parametrize("name", CALLS)
def test_results_are_of_the_subclass(torch, logged, name):
    assert kinds(CALLS[name](torch, logged)) == KINDS[name]
    assert type(logged).seen


def test_what_it_is_asked_about_is_the_public_function(torch, logged):
    torch.exp(logged)
    torch.nn.functional.linear(torch.ones(1, 3), logged.reshape(1, 3))
    seen = type(logged).seen
    assert torch.exp in seen and torch.nn.functional.linear in seen and torch.Tensor.reshape in seen


def test_subclasses_without_a_method_keep_their_type(torch):
    class Plain(torch.Tensor):
        pass
    x = torch.ones(2, requires_grad=True).as_subclass(Plain)
    assert type(x * 2) is Plain and type(torch.nn.Parameter(torch.ones(2)) * 2) is torch.Tensor
    (x * x).sum().backward()


def test_functions_got_hold_of_before_ask_too(torch):
    from_before = torch.exp
    class Plain(torch.Tensor):
        pass
    assert type(from_before(torch.ones(2).as_subclass(Plain))) is Plain and from_before is torch.exp


def look_alike(torch):
    class Scalar:
        handled = {}

        def __init__(self, value):
            self.value = value

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            if func not in cls.handled:
                return NotImplemented
            return cls.handled[func](*args, **(kwargs or {}))
    Scalar.handled[torch.mean] = lambda x: x.value
    Scalar.handled[torch.add] = lambda x, y: ("add", getattr(x, "value", x), getattr(y, "value", y))
    return Scalar


def test_look_alikes(torch):
    import importlib
    importlib.import_module(f"{torch.__name__}.overrides")
    if torch is numtorch:
        importlib.import_module("numtorch.torchfunction").install()
    kind = look_alike(torch)
    assert torch.mean(kind(3)) == 3
    assert torch.add(kind(1), 2) == ("add", 1, 2) and torch.add(2, kind(1)) == ("add", 2, 1)
    with pytest.raises(TypeError, match=r"torch\.sum"):
        torch.sum(kind(1))


def test_subclasses_come_before_their_bases(torch):
    order = []

    class First(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            order.append(cls.__name__)
            return NotImplemented

    class Second(First):
        pass
    with pytest.raises(TypeError):
        torch.add(torch.ones(1).as_subclass(First), torch.ones(1).as_subclass(Second))
    assert order == ["Second", "First"]


def test_modes_see_every_call(torch):
    import importlib
    overrides = importlib.import_module(f"{torch.__name__}.overrides")
    names = []

    class Names(overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            names.append(func.__name__)
            return func(*args, **(kwargs or {}))
    with Names():
        torch.exp(torch.ones(2))
    torch.exp(torch.ones(2))
    assert names == ["ones", "exp"]


def test_an_ordinary_program_has_functions_without_questions():
    """Nothing is installed before the first subclass, and signatures stay what they were after it."""
    code = """
import sys, inspect, numtorch as torch
before, code = inspect.signature(torch.exp), torch.exp.__code__
torch.exp(torch.ones(2))
import numtorch.fx, numtorch.utils.checkpoint
assert "numtorch.overrides" not in sys.modules and torch.exp.__code__ is code
class Plain(torch.Tensor):
    pass
assert torch.exp.__code__ is not code and inspect.signature(torch.exp) == before
assert type(torch.exp(torch.ones(2))) is torch.Tensor and torch.exp(torch.zeros(1)).item() == 1
torch.torchfunction.uninstall()
assert torch.exp.__code__ is code
"""
    assert subprocess.run([sys.executable, "-c", code], timeout=120).returncode == 0


def test_every_method_and_function_may_be_taken_over():
    class Nothing(numtorch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return func.__name__
    x = numtorch.ones(2).as_subclass(Nothing)
    functions = numtorch.overrides.get_overridable_functions()
    assert len(functions[numtorch]) > 300 and len(functions[numtorch.Tensor]) > 300
    for function in functions[numtorch.nn.functional]:
        arguments = [x for p in inspect.signature(function).parameters.values() if p.default is p.empty and p.kind < 2]
        if arguments:
            assert function(*arguments) == function.__name__


def test_frames_of_functions_that_ask_can_be_looked_at():
    """Debuggers, pytest and the like read the locals of each frame of a traceback. The functions that ask have their own's free
    variables, and Python ended by a fault where their cells were not filled: so a process of its own."""
    program = """if True:
        import numtorch
        class Other(numtorch.Tensor): pass
        try:
            numtorch.ones(2).add_(1.0, 1.0, 1.0)
        except TypeError as error:
            traceback, seen = error.__traceback__, set()
            while traceback:
                seen |= set(traceback.tb_frame.f_locals)
                traceback = traceback.tb_next
            print({"plain", "name"} <= seen, error)
    """
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "True add_() takes 2 positional arguments but 4 were given\n"), done.stderr
