"""The calls and attributes of a script, as staging has them: functions of the script are gone through, ops are called, and what
gives or takes a number that depends on elements has a meaning of its own here."""
from __future__ import annotations

import ast
import functools
import math
import types
from typing import TYPE_CHECKING, Any

from ...devices import cpu
from ...dtypes import dtype, float64, get_default_dtype, int64
from ...exchange.scalars import number as as_tensor
from ...layout import Layout
from ...nn.modules.module import Module
from ...ops.memory.copies import clone
from ...tensor import Tensor
from ..graphs.graph import Value
from ..graphs.scriptcalls import GRADIENT, SCRIPT, call_script, calls_scripts
from ..graphs.scriptmodules import ScriptFunction
from ..scripting import vocabulary
from ..scripting.classes import ScriptClass
from ..scripting.forking import forked, wait
from ..scripting.formulas import Formula
from ..scripting.hooks import hooks_of, scripts_of
from ..scripting.kinds import is_of
from ..scripting.units import Script
from . import arithmetic
from .arithmetic import KINDS, MATH, ROUNDING, is_number
from .control import Number

_DTYPES = {"bool": dtype.by_name["bool"], "int": int64, "float": float64}
_GRADIENTS = ("backward", "grad", "retain_grad", "requires_grad_")


class Range:
    """`range`, of numbers that need not be known."""

    def __init__(self, start: Any, stop: Any, step: Any) -> None:
        self.start, self.stop, self.step = start, stop, step

    def is_known(self) -> bool:
        return not is_dynamic([self.start, self.stop, self.step])

    def known(self) -> range:
        return range(self.start, self.stop, self.step)


class Result:
    """A future of a library, which forks nothing: what was called, it has the result of."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def wait(self) -> Any:
        """What was called has the result already."""
        return self.value


def is_dynamic(value: Any) -> bool:
    """Whether a number that is not known is in a value."""
    if isinstance(value, slice):
        value = (value.start, value.stop, value.step)
    if isinstance(value, dict):
        value = tuple(value.values())
    return isinstance(value, Number) or (isinstance(value, (list, tuple)) and any(map(is_dynamic, value)))


class Calls:
    """What staging knows of calls."""

    frames: list
    nodes: list
    arithmetic: Any

    if TYPE_CHECKING:                                    # what stands in staging.py and evaluating.py
        def __getattr__(self, name: str) -> Any: ...

    # ------------------------------------------------------------ values
    def parts(self, value: Any) -> list:
        """The elements of a value that are known, as a list."""
        if isinstance(value, Range):
            if not value.is_known():
                self.refuse("how many elements this has depends on elements of tensors")
            return list(value.known())
        if isinstance(value, Tensor):
            return [self.element(value, i) for i in range(self.apply(len, value))]
        return list(self.apply(list, value))

    def cell(self, number: Number) -> Tensor:
        """A number as ops take it: a tensor without dimensions, which yields to others as Python's numbers do."""
        made = self.memory(as_tensor(arithmetic.PLACEHOLDER[number.kind]).layout, "cell")
        self.put(number, made)
        return made

    def table(self, values: list) -> Tensor:
        """Numbers of one kind as a tensor of float64, int64 or bool."""
        kind = max([arithmetic.kind_of(each) for each in values], key=KINDS.index)
        made = self.memory(Layout.of(_DTYPES[kind], (len(values),)), "cell")
        for place, each in enumerate(values):
            self.put(self.arithmetic.of_kind(each, kind), made, place)
        return made

    # ------------------------------------------------------------ attributes
    def _of_Attribute(self, node):
        return self.attribute(self.evaluate(node.value), node.attr)

    def attribute(self, owner: Any, name: str) -> Any:
        """An attribute that is no method."""
        if isinstance(owner, Tensor) and name == "grad":
            self.refuse("gradients are not computed in a library")
        if isinstance(owner, Number):
            self.refuse(f"{name} of a number that depends on elements")
        scripts = vars(owner).get("_scripts", {}) if isinstance(owner, Module) else {}
        if name in scripts:
            return self.call_script(scripts[name], (owner,), {})
        return self.apply(getattr, owner, name)

    def set_attribute(self, owner: Any, name: str, value: Any) -> None:
        """`owner.name = value`, which no library does: it keeps nothing from call to call."""
        self.refuse(f"{name} is kept from call to call, and a library keeps nothing: return it, and give it to the next call")

    # ------------------------------------------------------------ calls
    def _of_Call(self, node):
        args: list = []
        if isinstance(node.func, ast.Attribute):
            owner = self.evaluate(node.func.value)
            function: Any = None
        else:
            owner, function = None, self.evaluate(node.func)
        for each in node.args:
            if isinstance(each, ast.Starred):
                args += self.parts(self.evaluate(each.value))
            else:
                args.append(self.evaluate(each))
        kwargs = {each.arg: self.evaluate(each.value) for each in node.keywords}
        return self.call_method(owner, node.func.attr, args, kwargs) if function is None else self.call(function, args, kwargs)

    def call(self, function: Any, args: list, kwargs: dict) -> Any:
        """What a function or module gives."""
        if isinstance(function, Module) and scripts_of(function):
            return self._hooked(function, args, kwargs)
        return self._unhooked(function, args, kwargs)

    def _hooked(self, module, args, kwargs):
        """What a module with hooks gives."""
        for hook in hooks_of(module, "forward_pre"):
            result = self.call(hook, [module, tuple(args)], {})
            if result is not None:
                args = list(result) if isinstance(result, tuple) else [result]
        output = self._unhooked(module, args, kwargs)
        for hook in hooks_of(module, "forward"):
            result = self.call(hook, [module, tuple(args), output], {})
            output = output if result is None else result
        return output

    def _unhooked(self, function, args, kwargs):
        script = function if isinstance(function, Script) else \
            vars(function).get("script") if isinstance(function, types.FunctionType) else None
        if isinstance(function, (ScriptFunction, Module)):
            script = vars(function).get("_script") or vars(function).get("_scripts", {}).get("forward")
            args = [function, *args] if isinstance(function, Module) and script is not None else args
        if isinstance(script, Script):
            return self.call_script(script, tuple(args), kwargs)
        if function is is_of:
            value, kinds = args
            return is_of(arithmetic.PLACEHOLDER[value.kind] if isinstance(value, Number) else value, kinds)
        if function is forked:
            return Result(self.call(args[0], args[1:], kwargs))
        if function is wait:
            return args[0].wait()
        name = getattr(function, "__name__", "")
        if vocabulary.BUILTINS.get(name) is function:
            return self._builtin(name, function, args, kwargs)
        if vocabulary.MATH.get(name) is function:
            return self._math(name, function, args)
        path = vocabulary.paths().get(id(function))
        if path is not None:
            return self._op(path, function, args, kwargs)
        if isinstance(function, type) and hasattr(function, "_fields"):
            return self.apply(function, *args, **kwargs)
        program = getattr(function, "_program", None)
        if program is not None and calls_scripts(program.graph):
            return self._graph(program, program.placed(args, kwargs) if kwargs else tuple(args))
        if isinstance(function, (Module, ScriptFunction, Formula)):
            return self._with_operands(function.forward if isinstance(function, Module) else function, args, kwargs)
        if isinstance(getattr(function, "__self__", None), ScriptClass):
            self.refuse(f"objects of class {function.__self__.name} are not in a library: use tuples, lists and dicts")
        return self.refuse(f"{name or function} is Python, and stays here: a library has tensors, numbers, lists, tuples and dicts")

    def _graph(self, program, args):
        """What a trace gives that calls scripts: call by call."""
        interpreter, tensors = self.apply(program.interpreter, tuple([self.as_operand(each) for each in args]))
        graph = interpreter.graph
        env = self.apply(interpreter.begin, dict(zip(graph.inputs, tensors)))
        for node in graph.nodes:
            inputs = [env[each] if isinstance(each, Value) else each for each in node.inputs]
            if node.op == GRADIENT:
                self.refuse("gradients are not computed in a library")
            results = self.apply(interpreter.call, node, inputs) if node.op != SCRIPT else call_script(
                interpreter.constants[node.attributes[0]], inputs, node.attributes, node.writes, self._scripted,
                functools.partial(self.apply, clone))[1]
            env.update(zip(node.outputs, results))
        if graph.gradients or any(env[value] is not env[target] for target, value in graph.writes):
            self.refuse("this writes to what is kept from call to call, and a library keeps nothing")
        return graph.result(env.__getitem__)

    def _scripted(self, function, args, kwargs):
        """What a script that a graph calls gives: a function, or a method of a module."""
        if isinstance(function, types.MethodType) and isinstance(function.__func__, Script):
            return self.call_script(function.__func__, (function.__self__, *args), kwargs)
        return self.call(function, list(args), kwargs)

    def _op(self, path, function, args, kwargs):
        """A function of `torch`."""
        if path.startswith("autograd"):
            return self.refuse("gradients are not computed in a library")
        name = path.rpartition(".")[2]
        if path in ("tensor", "as_tensor") and not isinstance(args[0], Tensor):
            return self._new(args[0], **dict(zip(("dtype", "device"), args[1:])), **kwargs)
        if args and isinstance(args[0], Tensor) and name in ("equal", "allclose", "is_nonzero", "narrow", "select", "numel"):
            return self.call_method(args[0], name, args[1:], kwargs)
        if path == "full" and len(args) > 1 and isinstance(args[1], Number):
            kind = kwargs.pop("dtype", None) or self._dtype(args[1])
            return self.apply(self._root("zeros")(args[0], dtype=kind, **kwargs).fill_, self.as_operand(args[1]))
        if path == "full_like" and len(args) > 1 and isinstance(args[1], Number):
            return self.apply(self._root("zeros_like")(args[0], **kwargs).fill_, self.as_operand(args[1]))
        return self._with_operands(function, args, kwargs)

    @staticmethod
    def _root(name):
        return vocabulary.functions()[name]

    @staticmethod
    def _dtype(number):
        return get_default_dtype() if arithmetic.kind_of(number) == "float" else _DTYPES[arithmetic.kind_of(number)]

    def _with_operands(self, function, args, kwargs):
        return self.apply(function, *[self.as_operand(each) for each in args],
                          **{name: self.as_operand(each) for name, each in kwargs.items()})

    def _new(self, value, **options):
        """`torch.tensor`: known numbers are the library's, and others are put into it."""
        if not is_dynamic(value):
            return self.apply(self.constant(repr((value, options)), lambda: self._root("tensor")(value, **options)).clone)
        flat: list = []

        def shape_of(each):
            if isinstance(each, (list, tuple)):
                inner = {shape_of(one) for one in each}
                return (len(each), *(inner.pop() if len(inner) == 1 else self.refuse("lists of another length in one tensor")))
            if not is_number(each):
                self.refuse("a tensor is made of numbers")
            flat.append(each)
            return ()
        shape = shape_of(value)
        table = self.table(flat)
        kind = options.pop("dtype", None)
        if kind is None:
            kind = get_default_dtype() if table.dtype is float64 else table.dtype
        if str(options.pop("device", None) or cpu) != "cpu" or options.pop("requires_grad", False):
            self.refuse("the tensors of a library are on the CPU, and have no gradients")
        return self.apply(lambda: table.view(shape).to(kind, copy=True))

    # ------------------------------------------------------------ methods
    def call_method(self, owner: Any, name: str, args: list, kwargs: dict) -> Any:
        """What a method gives."""
        if isinstance(owner, Module):
            return self._of_module(owner, name, args, kwargs)
        if isinstance(owner, Number):
            return self.refuse(f"{name}() of a number that depends on elements")
        if not isinstance(owner, Tensor):
            return self.apply(getattr(owner, name), *args, **kwargs)
        if name == "item":
            return self.load(owner)
        if name == "is_nonzero":
            return self.truth(owner)
        if name == "tolist":
            return self._listed(owner)
        if name == "__len__":
            return len(owner)
        if name in _GRADIENTS:
            return self.refuse("gradients are not computed in a library")
        if name == "equal":
            if owner.shape != args[0].shape:
                return False
            return self.truth(self.apply(lambda: (owner == args[0]).all()))
        if name == "allclose":
            return self.truth(self.apply(lambda: self._root("isclose")(owner, *args, **kwargs).all()))
        if name == "fill_" and len(args) == 1:
            return self.apply(owner.fill_, self.as_operand(args[0]))
        if name in ("narrow", "select") and is_dynamic(args):
            wanted = dict(zip(("dim", "start" if name == "narrow" else "index", "length"), args), **kwargs)
            dim = range(owner.dim())[wanted["dim"]]
            if name == "select":
                return self.point(owner, dim, wanted["index"], None)
            if isinstance(wanted["length"], Number):
                self.refuse("the length of a view depends on elements: it has to be known when the library is made")
            return self.point(owner, dim, wanted["start"], wanted["length"])
        return self._with_operands(getattr(owner, name), args, kwargs)

    def _listed(self, tensor):
        if not tensor.dim():
            return self.load(tensor)
        return [self._listed(self.element(tensor, i)) for i in range(tensor.shape[0])]

    def _of_module(self, owner, name, args, kwargs):
        script = vars(owner).get("_scripts", {}).get(name)
        if script is not None:
            if not isinstance(script, Script):
                self.refuse(f"{name} is Python (torch.jit.ignore), and stays here")
            return self.call_script(script, (owner, *args), kwargs)
        if name in owner._modules:
            return self.call(owner._modules[name], args, kwargs)
        return self.apply(getattr(owner, name), *[self.as_operand(each) for each in args], **kwargs)

    # ------------------------------------------------------------ builtins and math
    def _builtin(self, name: str, function: Any, args: list, kwargs: dict) -> Any:
        if name == "print":
            return self.refuse("a library prints nothing: return what is printed")
        if name == "warn":                               # of which a library has nobody to tell
            return None
        if name == "range":
            given = [self.load(each) if isinstance(each, Tensor) else each for each in args]
            return Range(*([0, *given, 1] if len(given) == 1 else [*given, 1] if len(given) == 2 else given))
        if name in ("bool", "int", "float") and len(args) == 1 and isinstance(args[0], (Tensor, Number)):
            number = self.load(args[0]) if isinstance(args[0], Tensor) else args[0]
            return self.arithmetic.of_kind(number, name)
        if name in ("list", "tuple", "enumerate", "zip", "reversed"):
            lists = [self.parts(each) for each in args]
            items = list(function(*lists, **kwargs))
            return items if name != "tuple" else tuple(items)
        if name == "len" and isinstance(args[0], Range):
            return len(self.parts(args[0]))
        if not is_dynamic(args) and not any(isinstance(each, Tensor) for each in args):
            return self.apply(function, *[self.parts(each) if isinstance(each, Range) else each for each in args], **kwargs)
        if name == "len":
            return self.apply(len, args[0])
        if name == "abs":
            return self.apply(abs, args[0]) if isinstance(args[0], Tensor) else self.arithmetic.unary("abs", args[0])
        if name in ("min", "max", "sum", "any", "all"):
            return self._over(name, args, kwargs)
        if name == "round" and len(args) == 1:
            return args[0] if args[0].kind == "int" else self.arithmetic.of_kind(args[0], "int") if args[0].kind == "bool" else \
                self.let("float.round", args[0])
        if name == "divmod":
            return self._operator("floordiv", *args), self._operator("mod", *args)
        if name == "pow" and len(args) == 2:
            return self._operator("pow", *args)
        return self.refuse(f"{name}() of what depends on elements is not in a library")

    def _over(self, name, args, kwargs):
        values = self.parts(args[0]) if len(args) == 1 else args
        if any(isinstance(each, Tensor) for each in values):
            if name == "sum" and not kwargs:
                total: Any = 0
                for each in values:
                    total = self._operator("add", total, each)
                return total
            if name in ("any", "all"):
                return self._one_after_another(name == "all", [lambda each=each: self.truth(each) for each in values])
            return self.refuse(f"{name}() of tensors is not in a library: use torch.{name}, torch.minimum or torch.maximum")
        if kwargs or not values or not all(map(is_number, values)):
            return self.refuse(f"{name}() takes numbers in a library")
        if name in ("any", "all"):
            return self._one_after_another(name == "all", [lambda each=each: self.truth(each) for each in values])
        kinds = {arithmetic.kind_of(each) for each in values}
        if name == "sum":
            if "float" in kinds:                         # which Python's versions round in different ways
                self.refuse("sum() of floats is not in a library: add them up in a loop")
            total = 0
            for each in values:
                total = self._operator("add", total, each)
            return total
        if len(kinds) > 1:
            return self.refuse(f"{name}() of ints and floats is now an int and now a float: write float(...)")
        result, *rest = values
        for each in rest:
            better = self.arithmetic.binary("lt" if name == "min" else "gt", each, result)
            result = self.either(better, lambda each=each: each, lambda result=result: result)
        return result

    def _math(self, name: str, function: Any, args: list) -> Any:
        """A function of `math`."""
        given = [self.load(each) if isinstance(each, Tensor) else each for each in args]
        if not is_dynamic(given):
            return self.apply(function, *given)
        if name in ROUNDING and arithmetic.kind_of(given[0]) != "float":
            return self.arithmetic.of_kind(given[0], "int")
        numbers = [self.arithmetic.of_kind(each, "float") for each in given]
        if name in ROUNDING:
            return self.let("float.int" if name == "trunc" else f"float.{name}", *numbers)
        if name in ("degrees", "radians"):
            return self.let("float.mul", *numbers, 180.0 / math.pi if name == "degrees" else math.pi / 180.0)
        if name not in MATH or len(numbers) != 1 + (name == "copysign"):
            return self.refuse(f"math.{name} of what depends on elements is not in a library: use tensors, or one of "
                               f"{', '.join(sorted(MATH))}")
        return self.let(f"float.{name}", *numbers)

