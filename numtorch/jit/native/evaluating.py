"""The expressions of a script, as staging has them: values that are known, numbers that are not, tensors whose layouts are."""
from __future__ import annotations

import ast
import operator
import sys
from collections.abc import Callable
from typing import Any

from ...exchange.values import READERS
from ...tensor import Tensor
from ..scripting.problems import refuse
from . import arithmetic
from .arithmetic import SWAPPED, is_number
from .control import Load, NeedsValue, Number, Point, Put
from .stagedcalls import Calls, Range, is_dynamic

SYMBOLS = {ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "truediv", ast.FloorDiv: "floordiv", ast.Mod: "mod",
           ast.Pow: "pow", ast.MatMult: "matmul", ast.BitAnd: "and", ast.BitOr: "or", ast.BitXor: "xor", ast.LShift: "lshift",
           ast.RShift: "rshift", ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge", ast.Eq: "eq", ast.NotEq: "ne",
           ast.USub: "neg", ast.UAdd: "pos", ast.Invert: "invert", ast.Not: "not"}
MOST_EVALUATED = 20_000                                  # of a script, written out: C compilers take longer than in proportion


class TooLarge(RuntimeError):
    """A script, written out, is too large for a library."""


class Ended(Exception):
    """What follows is never reached."""


class Evaluating(Calls):
    """What staging knows of expressions."""

    frames: list
    nodes: list
    known: Any
    watch: Any
    arithmetic: Any
    pointers: int
    element_read_at: tuple | None
    evaluated: int

    # ------------------------------------------------------------ Python, done now
    def apply(self, function: Callable, *args: Any, **kwargs: Any) -> Any:
        """Call Python, on what is known, and on tensors.

        Args:
            function: it.
            args, kwargs: its arguments.
        """
        self.flush()
        if self.watch is not None:
            sys.setprofile(self.observe)                 # what Python calls counts here alone, and not what staging does
        try:
            result = function(*args, **kwargs)
        except NeedsValue:
            result = self.refuse("a number that depends on elements stands where one is needed that is known when the library is "
                                 "made")
        except RecursionError:
            raise
        except Exception as error:
            result = self.refuse("this raises with tensors of these layouts, or with the example's elements "
                                 f"({type(error).__name__}: {error})")
        finally:
            if self.watch is not None:
                sys.setprofile(None)
        if self.watch is not None and self.watch.breaks:
            what = self.watch.breaks[0].what
            self.refuse("this needs to know elements when the library is made: sizes, dimensions and options have to be known then"
                        if "reads or writes elements" in what else f"no library can do this: {what}")
        self.flush()
        return result

    def as_operand(self, value: Any) -> Any:
        """A value as ops take it: a number that is not known is an element of a tensor without dimensions, as any number is."""
        if isinstance(value, Number):
            return self.cell(value)
        if isinstance(value, (list, tuple)) and not hasattr(value, "_fields") and is_dynamic(value):
            return type(value)(self.as_operand(each) for each in value)
        return value

    # ------------------------------------------------------------ expressions
    def evaluate(self, node: ast.expr) -> Any:
        """The value of an expression."""
        self.evaluated += 1
        if self.evaluated > MOST_EVALUATED:
            script, at = self.nodes[1]                   # in the function that is exported
            refuse(script.source, at, f"export_native: up to here the program has {MOST_EVALUATED:,} expressions, as functions are "
                   f"written out at each call, and loops over what is known turn by turn: call a function in a loop over a tensor, "
                   f"or export parts", TooLarge)
        self.nodes.append((self.frames[-1].script, node))
        try:
            return getattr(self, f"_of_{type(node).__name__}")(node)
        finally:
            self.flush()
            self.nodes.pop()

    def _of_Constant(self, node):
        return node.value

    def _of_Name(self, node):
        frame = self.frames[-1]
        return self.usable(frame.env[node.id], node.id) if node.id in frame.env else frame.names[node.id]

    def _of_Tuple(self, node):
        return tuple(self._elements(node.elts))

    def _of_List(self, node):
        return self._elements(node.elts)

    def _elements(self, nodes):
        elements: list = []
        for each in nodes:
            if isinstance(each, ast.Starred):
                elements += self.parts(self.evaluate(each.value))
            else:
                elements.append(self.evaluate(each))
        return elements

    def _of_Dict(self, node):
        return {self._key(key): self.evaluate(value) for key, value in zip(node.keys, node.values)}

    def _key(self, node):
        key = self.evaluate(node)
        return self.refuse("a dict's key is not known when the library is made") if isinstance(key, (Number, Tensor)) else key

    def _of_ListComp(self, node):
        elements: list = []
        self._comprehension(node.generators, lambda: elements.append(self.evaluate(node.elt)))
        return elements

    def _of_DictComp(self, node):
        entries: dict = {}

        def add():
            key = self._key(node.key)
            entries[key] = self.evaluate(node.value)
        self._comprehension(node.generators, add)
        return entries

    def _comprehension(self, generators, add):
        env = self.frames[-1].env
        first, *rest = generators
        names = [each.id for each in ast.walk(first.target) if isinstance(each, ast.Name)]
        before = {name: env[name] for name in names if name in env}
        for each in self.parts(self.evaluate(first.iter)):
            self.store(first.target, each)
            tests = [self.condition(test) for test in first.ifs]
            if any(isinstance(test, Number) for test in tests):
                self.refuse("how long a list is depends on elements: have it be as long as it can be")
            if all(tests):
                self._comprehension(rest, add) if rest else add()
        for name in names:
            env.pop(name, None)
        env.update(before)

    def _of_Slice(self, node):
        return slice(*[None if each is None else self.evaluate(each) for each in (node.lower, node.upper, node.step)])

    def _of_JoinedStr(self, node):
        return self.message(node)

    def message(self, node: ast.expr) -> str:
        """A text, in which what is not known stands as it is written."""
        if not isinstance(node, ast.JoinedStr):
            value = self.evaluate(node)
            return "{" + ast.unparse(node) + "}" if isinstance(value, Number) or is_dynamic(value) or isinstance(value, Tensor) \
                else str(value)
        parts = []
        for each in node.values:
            if isinstance(each, ast.Constant):
                parts.append(str(each.value))
                continue
            value = self.evaluate(each.value)  # type: ignore[attr-defined]
            if isinstance(value, Tensor) or is_dynamic(value):
                parts.append("{" + ast.unparse(each.value) + "}")  # type: ignore[attr-defined]
            else:
                made = ast.JoinedStr([ast.FormattedValue(ast.Name("value", ast.Load()), each.conversion,  # type: ignore
                                                         each.format_spec)])  # type: ignore[attr-defined]
                tree = ast.fix_missing_locations(ast.Expression(made))
                parts.append(self.apply(eval, compile(tree, "<message>", "eval"), {"__builtins__": {}, "value": value}))
        return "".join(parts)

    # ------------------------------------------------------------ conditions
    def truth(self, value: Any) -> Any:
        """What a value is as a condition: a bool, known or not."""
        if isinstance(value, Tensor):
            value = self.load(value)
        if isinstance(value, Number):
            return self.arithmetic.of_kind(value, "bool")
        return self.apply(bool, value)

    def condition(self, node: ast.expr) -> Any:
        """What an expression is as a condition."""
        if isinstance(node, ast.BoolOp):
            self.nodes.append((self.frames[-1].script, node))
            try:
                return self._one_after_another(isinstance(node.op, ast.And), [lambda each=each: self.condition(each)
                                                                              for each in node.values])
            finally:
                self.nodes.pop()
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            inner = self.condition(node.operand)
            return not inner if isinstance(inner, bool) else self.let("bool.not", inner)
        return self.truth(self.evaluate(node))

    def _one_after_another(self, is_and, parts):
        """`and` and `or`: what comes later is looked at if what comes first does not decide."""
        first, *rest = parts
        value = first()
        if not rest:
            return value
        test = self.truth(value)
        if isinstance(test, bool):
            return self._one_after_another(is_and, rest) if test is is_and else value

        def go_on():
            return self._one_after_another(is_and, rest)
        return self.either(test, *((go_on, lambda: value) if is_and else (lambda: value, go_on)))

    def either(self, test: Number, then: Callable, otherwise: Callable) -> Any:
        """The value that one of two expressions has.

        Args:
            test: which of them.
            then, otherwise: give their values.
        """
        env, name = self.frames[-1].env, f"value {len(self.nodes)}"

        def put(value):
            env[name] = value()
            return True
        self.branch(test, lambda: put(then), lambda: put(otherwise))
        return self.usable(env.pop(name), "this")

    def _of_BoolOp(self, node):
        parts = [lambda each=each: self.evaluate(each) for each in node.values]
        return self._one_after_another(isinstance(node.op, ast.And), parts)

    def _of_IfExp(self, node):
        test = self.condition(node.test)
        if isinstance(test, bool):
            return self.evaluate(node.body if test else node.orelse)
        return self.either(test, lambda: self.evaluate(node.body), lambda: self.evaluate(node.orelse))

    def _of_Compare(self, node):
        def pair(left, number):
            right = self.evaluate(node.comparators[number])
            result = self.compare(node.ops[number], left, right)
            if number + 1 == len(node.ops):
                return result
            return self._one_after_another(True, [lambda: result, lambda: pair(right, number + 1)])
        return pair(self.evaluate(node.left), 0)

    def compare(self, op: ast.cmpop, a: Any, b: Any) -> Any:
        """What a comparison gives."""
        if isinstance(op, (ast.Is, ast.IsNot)):
            return (a is b) is isinstance(op, ast.Is)
        if isinstance(op, (ast.In, ast.NotIn)):
            contained = self._contains(a, b)
            if isinstance(op, ast.In):
                return contained
            return not contained if isinstance(contained, bool) else self.let("bool.not", contained)
        symbol = SYMBOLS[type(op)]
        if isinstance(b, Tensor) and not isinstance(a, Tensor):
            a, b, symbol = b, a, SWAPPED[symbol]
        return self._operator(symbol, a, b)

    def _contains(self, value, container):
        if isinstance(container, Tensor) or isinstance(value, Tensor):
            return self.refuse("`in` with tensors is not in a library: write (x == y).any()")
        if not is_dynamic(value) and not is_dynamic(container):
            return self.apply(operator.contains, container, value)
        tests = [lambda each=each: self.arithmetic.binary("eq", value, each) for each in self.parts(container) if is_number(each)]
        return self._one_after_another(False, tests) if tests else False

    # ------------------------------------------------------------ operators
    def _of_UnaryOp(self, node):
        if isinstance(node.op, ast.Not):
            return self.condition(node)
        symbol, value = SYMBOLS[type(node.op)], self.evaluate(node.operand)
        if isinstance(value, Number):
            number = self.arithmetic.unary(symbol, value)
            return self.refuse(f"`{symbol}` of a {value.kind} is not in a library") if number is None else number
        return self.apply(getattr(operator, symbol), value)

    def _of_BinOp(self, node):
        left = self.evaluate(node.left)
        return self.binary(node.op, left, self.evaluate(node.right))

    def binary(self, op: ast.operator, a: Any, b: Any, in_place: bool = False) -> Any:
        """What a binary operator gives.

        Args:
            op: it.
            a, b: operands.
            in_place: whether it stands before `=`.
        """
        return self._operator(SYMBOLS[type(op)], a, b, in_place)

    def _operator(self, symbol, a, b, in_place=False):
        function = getattr(operator, {"and": "and_", "or": "or_"}.get(symbol, symbol))
        if not isinstance(a, Number) and not isinstance(b, Number):
            if in_place and isinstance(a, (Tensor, list)):
                function = getattr(operator, f"i{symbol}")
            return self.apply(function, a, b)
        if is_number(a) and is_number(b):
            number = self.arithmetic.binary(symbol, a, b)
            if number is None and symbol == "pow":
                self.refuse("whether an int to the power of an int is an int depends on elements: write float(a) ** b")
            return self.refuse(f"`{symbol}` of a {arithmetic.kind_of(a)} and a {arithmetic.kind_of(b)} is not in a library") \
                if number is None else number
        if isinstance(a, Tensor) or isinstance(b, Tensor):
            if symbol == "pow":                          # 2 has a kernel of its own
                self.refuse("a power with a number that depends on elements is rounded in its own way: make a tensor of it, "
                            "torch.tensor(n)")
            if in_place and isinstance(a, Tensor):
                function = getattr(operator, f"i{symbol}")
            return self.apply(function, self.as_operand(a), self.as_operand(b))
        return self.refuse("a number that depends on elements stands where one is needed that is known when the library is made")

    # ------------------------------------------------------------ numbers in memory
    def load(self, tensor: Tensor) -> Number:
        """The only element of a tensor."""
        self.element_read_at = self.element_read_at or self.nodes[-1]
        return self.loaded(tensor)

    def loaded(self, tensor: Tensor) -> Number:
        """The only element of a tensor, which may have been made of numbers alone."""
        if tensor.layout.numel != 1:
            self.refuse(f"a tensor of {tensor.layout.numel} elements stands where one number is wanted")
        kind = tensor.layout.dtype
        if kind.is_complex:
            self.refuse("complex numbers are not numbers of a library: use tensors")
        if kind.name in ("float16", "bfloat16"):
            tensor = self.apply(tensor.float)
        made = self.new_number("bool" if kind.name == "bool" else "float" if kind.is_floating_point else "int",
                               READERS[tensor.layout.dtype.name].from_address(tensor.address).value)
        self.emit(Load(made, tensor.layout.dtype.name, tensor.address))
        return made

    def put(self, number: Any, tensor: Tensor, place: int = 0) -> None:
        """Write a number, known or not, to an element of a tensor of its kind (int64, float64 or bool)."""
        name = tensor.layout.dtype.name
        value = number.value if isinstance(number, Number) else number
        address = tensor.address + place * tensor.layout.dtype.itemsize
        READERS[name].from_address(address).value = value
        self.emit(Put(address, name, number))

    # ------------------------------------------------------------ elements
    def _of_Subscript(self, node):
        owner = self.evaluate(node.value)
        return self.element(owner, self.evaluate(node.slice))

    def element(self, owner: Any, index: Any) -> Any:
        """`owner[index]`."""
        if isinstance(owner, Tensor):
            return self._view(owner, index) if is_dynamic(index) else self.apply(operator.getitem, owner, index)
        if is_dynamic(index):
            return self._choose(owner, index)
        if isinstance(owner, Range):
            owner = self.parts(owner)
        return self.usable(self.apply(operator.getitem, owner, index), "this")

    def _choose(self, owner, index):
        """An element of a list by a number that is not known: one of a tensor, if these are numbers."""
        values = self.parts(owner) if isinstance(owner, (list, tuple, Range)) else []
        if not isinstance(index, Number) or not values or not all(map(is_number, values)) or \
                len({arithmetic.kind_of(each) for each in values}) > 1:
            return self.refuse("an element of a list or dict is chosen by a number that depends on elements: put the elements into "
                               "a tensor (torch.stack, torch.tensor)")
        return self.loaded(self._view(self.table(values), self.arithmetic.of_kind(index, "int")))

    def set_element(self, owner: Any, index: Any, value: Any) -> None:
        """`owner[index] = value`."""
        if isinstance(owner, Tensor):
            if is_dynamic(index):
                owner, index = self._view(owner, index), ...
            self.apply(operator.setitem, owner, self.as_operand(index), self.as_operand(value))
        elif is_dynamic(index):
            self.refuse("an element of a list or dict is set by a number that depends on elements: write to a tensor of them")
        else:
            self.apply(operator.setitem, owner, index, value)

    def _view(self, tensor, index):
        """A view, whose index has numbers that are not known."""
        parts = index if isinstance(index, tuple) else (index,)
        if any(isinstance(each, slice) and is_dynamic([each.start, each.stop, each.step]) for each in parts):
            self.refuse("how large a slice is depends on elements: write x.narrow(dim, start, length), whose length is known")
        if any(isinstance(each, (Tensor, list, bool)) or (isinstance(each, Number) and each.kind != "int") for each in parts):
            self.refuse("an index that depends on elements stands beside tensors, lists or bools: index twice, x[i][other]")
        known, numbers, dim, taken = [], [], 0, sum(not (each is None or each is ...) for each in parts)
        for each in parts:
            known.append(slice(None) if isinstance(each, Number) else each)
            if isinstance(each, Number):
                numbers.append((dim, each))
            dim += max(tensor.dim() - taken, 0) if each is ... else not (isinstance(each, int) and not isinstance(each, bool))
        view = self.apply(operator.getitem, tensor, tuple(known))
        for dim, number in reversed(numbers):
            view = self.point(view, dim, number, None)
        return view

    def point(self, tensor: Tensor, dim: int, start: Any, length: int | None) -> Tensor:
        """A view that begins where a number says.

        Args:
            tensor: what is viewed.
            dim: along which dimension.
            start: the number.
            length: how long it is; None for one row, without the dimension.
        """
        size = tensor.shape[dim]
        if not size or (length is not None and not 0 <= length <= size):
            self.refuse(f"dimension {dim} has {size} elements")
        place = self.let("index", start, size) if length is None else self.let("narrow", start, size, length)
        first = tensor.select(dim, 0) if length is None else tensor.narrow(dim, 0, length)
        at = min(place.value, size - (1 if length is None else length))
        here = tensor.select(dim, at) if length is None else tensor.narrow(dim, at, length)
        self.pointers += 1
        made = self.memory(first.layout, self.pointers - 1)
        self.roots[id(made.memory)] = tensor.memory
        self.views.setdefault(id(tensor.memory), []).append(made.memory)
        self.copy(made, here, [])
        self.emit(Point(self.pointers - 1, first.address, place, tensor.stride(dim) * tensor.layout.dtype.itemsize))
        return made

    # ------------------------------------------------------------ functions
    def bound(self, script: Any, args: tuple, kwargs: dict) -> dict:
        """The variables of a function of the script, as it is called."""
        function = script.function
        code, defaults = function.__code__, function.__defaults__ or ()
        by_place = code.co_varnames[:code.co_argcount]
        names = code.co_varnames[:code.co_argcount + code.co_kwonlyargcount]
        values = {**dict(zip(by_place[len(by_place) - len(defaults):], defaults)), **(function.__kwdefaults__ or {}),
                  **dict(zip(by_place, args)), **kwargs}
        missing = [name for name in names if name not in values]
        if missing:
            self.refuse(f"{script.name}() is missing a value for {missing[0]}")
        return values
