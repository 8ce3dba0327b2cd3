"""`__torch_function__`: the same programs on PyTorch, where it is installed, show that the protocol is PyTorch's."""
import inspect
import operator
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
import numtorch.fx, numtorch.utils.checkpoint, numtorch.jit.scripting.vocabulary as vocabulary
vocabulary.functions()        # all that scripts may call, which looks at every name
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


OPERATORS = {
    "add": lambda x: x + 1, "radd": lambda x: 1 + x, "sub": lambda x: x - x, "mul": lambda x: 2 * x, "div": lambda x: x / 2,
    "remainder": lambda x: x % 2, "matmul": lambda x: x @ x, "ne": lambda x: x != 1, "lt": lambda x: x < x, "gt": lambda x: 2 < x,
    "ge": lambda x: x >= 1, "add_": lambda x: operator.iadd(x, 1), "sub_": lambda x: operator.isub(x, x), "mul_": lambda x: operator.imul(x, 2),
    "div_": lambda x: operator.itruediv(x, 2), "remainder_": lambda x: operator.imod(x, 2), "floor_divide_": lambda x: operator.ifloordiv(x, 2),
}


@pytest.mark.parametrize("name", OPERATORS)
def test_operators_are_asked_about_as_methods(torch, logged, name):
    OPERATORS[name](logged)
    assert type(logged).seen == [getattr(torch.Tensor, name.removeprefix("r") if name == "radd" else name)]


def test_other_operands_of_operators_have_their_turn(torch, logged):
    class Other:
        def __radd__(self, other):
            return "radd"
    assert logged + Other() == "radd"
    with pytest.raises(TypeError):
        logged + "text"


PROPERTIES = "shape dtype device ndim requires_grad grad is_leaf grad_fn is_sparse is_cuda itemsize nbytes T mT H data real output_nr retains_grad".split()


@pytest.mark.parametrize("name", PROPERTIES)
def test_properties_are_asked_about(torch, logged, name):
    x = logged.reshape(1, 3)
    type(x).seen.clear()
    value = getattr(x, name)
    assert type(x).seen == [getattr(torch.Tensor, name).__get__]
    assert torch.overrides.resolve_name(type(x).seen[0]) == f"torch.Tensor.{name}.__get__"
    assert torch.overrides.is_tensor_method_or_property(type(x).seen[0])
    assert type(value) is type(x) or not isinstance(value, torch.Tensor)


def test_properties_that_are_set(torch, logged):
    for name, value in (("requires_grad", True), ("grad", torch.ones(3)), ("data", torch.zeros(3))):
        type(logged).seen.clear()
        setattr(logged, name, value)
        assert type(logged).seen == [getattr(torch.Tensor, name).__set__]
    assert logged.tolist() == [0, 0, 0] and type(logged.grad) is torch.Tensor and logged.grad.tolist() == [1, 1, 1]


def test_parameters_of_a_subclass(torch):
    class Plain(torch.Tensor):
        pass
    x = torch.nn.Parameter(torch.ones(2).as_subclass(Plain))
    assert type(x) is Plain and isinstance(x, torch.nn.Parameter) and x.requires_grad and x.is_leaf
    assert not isinstance(torch.ones(2).as_subclass(Plain), torch.nn.Parameter) and type(x.data) is Plain
    module = torch.nn.Module()
    module.weight = x
    assert [type(p) for p in module.parameters()] == [Plain] and type(module.state_dict()["weight"]) is Plain
    (x * 2).sum().backward()
    torch.optim.SGD(module.parameters(), lr=0.5).step()
    assert x.tolist() == [0, 0] and type(x.sum()) is Plain


def test_what_makes_tensors_of_data_asks_modes_only(torch, logged):
    seen = []

    class Seeing(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            seen.append(func)
            return func(*args, **(kwargs or {}))
    with Seeing():
        torch.tensor([1.0]), torch.as_tensor(2)
    assert seen == [torch.tensor, torch.as_tensor]
    assert type(torch.tensor(logged)) is torch.Tensor and type(torch.as_tensor(logged)) is type(logged)
    assert torch.as_tensor not in type(logged).seen and torch.tensor not in type(logged).seen
