"""Elementwise ops from one formula: `@pointwise` on a function of scalars makes the op, `@op.derivative` its gradient.

    @pointwise
    def sigmoid(x):
        \"\"\"Logistic function 1 / (1 + exp(-x)), elementwise.\"\"\"
        return 1 / (1 + exp(-x))

    @sigmoid.derivative
    def _(grad, x, out):
        return grad * out * (1 - out)

Positional arguments of the formula are tensors (or numbers), keyword-only ones are numbers with defaults. A derivative names what
it needs among the inputs, the numbers, `grad` and `out`, and returns one gradient per input; where none is written, it follows
from the formula (core/derived.py). Formulas may call any other elementwise op; those of users may branch. What comes out: the
function, the method, the in-place form, `out=`, fused kernels for every dtype and layout, gradients of any order.
"""
from __future__ import annotations

import functools
import inspect
import os
import types as pytypes
import warnings
import weakref

import numpy as np

from ...devices import cpu
from ...dtypes import bool_, float64, get_default_dtype, int64, promote_types
from ...exchange.scalars import number
from ...exchange.values import READERS
from ...kernels.binding import ScalarBody
from ...kernels.compiler import CannotCompile
from ...kernels.sources import compile_source
from ...layout import Layout, broadcast_shapes, broadcast_strides, formatted, shared_strides
from ...tensor import Tensor
from ..core.backends import kernels
from ..core.derived import derived, expression_of, frozen
from ..core.expression import Apply, Symbol, symbols, trace
from ..core.operands import common_device, method, result_dtype, signature_of
from ..core.primitive import Plan, PlanTable, Primitive, is_ours, new_plan_table, registry
from ..core.reasons import refusal, results_of
from ..core.tensor_operands import check_tensors, refused_kind, title_of
from ..memory.writing import check_cast, check_writable
from .calling import make_function, make_inplace
from .describe import RUNTIME, describe
from .divisor import checked, fitting
from .tape import BackwardPlan, Recipe


# ---------------------------------------------------------------- dtypes
def _arithmetic(op, layouts):
    result = result_dtype(layouts)
    return result, result


def _operands(op, layouts):
    """The operands alone decide, and numbers are cast to that; only a complex one makes complex numbers of real ones."""
    count = sum(name not in op.bool_operands for name in op.operands)
    result = result_dtype(layouts[:count])
    if any(layout.dtype.category == 3 for layout in layouts[count:]):
        result = result_dtype(layouts)
    return result, result


def _float(op, layouts):
    result = result_dtype(layouts)
    result = result if result.category >= 2 else get_default_dtype()
    return result, result


def _comparison(op, layouts):
    return result_dtype(layouts), bool_


def _logical(op, layouts):
    return bool_, bool_


def _bitwise(op, layouts):
    result = result_dtype(layouts)
    if result.category > 1:
        raise NotImplementedError(f'"{op.name}" not implemented for \'{result.title}\': expected integers or bools')
    return result, result


def _real(op, layouts):
    result = result_dtype(layouts)
    return result, result.to_real()


def _as_expression(op, layouts):
    """What the formula gives as an expression of tensors: x / 2 of integers is a float. One that is none (it calls `math.exp`)
    gives floats, in which nothing is cut off."""
    expression = op.expression
    if expression is None:
        return _float(op, layouts)
    result = result_dtype(layouts)
    seen = []
    out = _layout_in(expression, dict(zip(op.parameters, layouts)), seen).dtype
    if out.category >= 2:
        return promote_types(result, out), out
    through_floats = result.category < 2 and any(dtype.category >= 2 for dtype in seen)
    return float64 if through_floats else result, out


def _layout_in(expression, layouts, seen):
    """The layout of an expression's value; what matters to promotion, that is. `seen` takes the dtypes of all parts."""
    if isinstance(expression, Symbol):
        return layouts[expression.name]
    if not isinstance(expression, Apply):
        return number(expression).layout
    inputs = [_layout_in(a, layouts, seen) for a in expression.args]
    _, dtype, _ = expression.op._dtypes(inputs)
    seen.append(dtype)
    return Layout.of(dtype, (1,) if any(l.ndim for l in inputs) else (), weak=all(l.weak for l in inputs))


def _power(op, layouts):
    result = result_dtype(layouts)
    result = result if result.category else int64
    return result, result


# what kind of dtype an op computes in and returns, given its inputs' layouts
KINDS = {"expression": _as_expression, "arithmetic": _arithmetic, "operands": _operands, "power": _power, "float": _float,
         "comparison": _comparison, "logical": _logical, "bitwise": _bitwise, "real": _real}


# What PyTorch calls the operands that formulas call x and y. Users' ops keep the names of their formulas.
_PUBLIC = {"x": "input", "y": "other"}
_PUBLIC_OF = {("y", "x"): ("input", "other"), ("s", "q"): ("input", "other"), ("x", "y", "z"): ("input", "tensor1", "tensor2")}


class PointwiseOp(Primitive):
    """An elementwise op. See the module's docstring for how one is written."""

    mixes_devices, numbers_must_fit = True, False        # the host's numbers go along; among integers they may wrap around

    def __init__(self, body, kind, bool_operands, cost, name, scalars, differentiable, refuses, divisor):
        operands, numbers = signature_of(body)
        super().__init__(name or body.__name__, body.__doc__, [*operands, *numbers], str(body.__module__))
        self.operands, self.numbers, self.body = tuple(operands), numbers, body
        public, self.title = self.operands, self.name
        if is_ours(self.module):
            public, self.title = _PUBLIC_OF.get(public) or tuple([_PUBLIC.get(n, n) for n in public]), title_of(self.name)
        self.public = public + tuple(numbers)
        self.kind = kind or ("arithmetic" if is_ours(self.module) else "expression")
        self.bool_operands, self.cost = frozenset(bool_operands), cost
        self.scalars = scalars                           # scalar functions by compute type, instead of the formula
        self.divisor = divisor                           # the operand that must not be 0 among integers
        self.refuses = refuses                           # what to say to kinds of compute types it has no meaning for
        self.checked = is_ours(self.module)
        self.overloads = {}                              # formulas for a kind of compute type: {"complex": body}
        self.differentiable, self.derivative_body = differentiable, None
        self.inplace_plans = new_plan_table(self, "inplace_plans")
        self._bodies = {}
        self.function = make_function(self)
        self.inplace = make_inplace(self)

    # -------------------------------------------------------- pickle
    @functools.cached_property
    def sent_as(self):
        """What a user's op is known by to the processes that it is sent to."""
        name = os.urandom(16).hex()
        _travelled[name] = self
        return name

    def __reduce__(self):
        if is_ours(self.module):
            return _registered, (self.key,)
        options = dict(kind=self.kind, bool_operands=tuple(self.bool_operands), cost=self.cost, name=self.name,
                       scalars=self.scalars, differentiable=self.differentiable, refuses=self.refuses, divisor=self.divisor,
                       methods=getattr(Tensor.__dict__.get(self.name), "op", None) is self)
        return _rebuild, (self.sent_as, self.body, options, self.overloads, self.derivative_body)

    # -------------------------------------------------------- the formula as scalar code
    def scalar(self, compute: str) -> ScalarBody:
        """The op as a function of scalars of one compute type, for other formulas and for kernels."""
        scalar_body = self._bodies.get(compute)
        if scalar_body is None:
            body = self.overloads.get(_kind_of(compute))
            if body is None and self.scalars is not None:
                scalar_body = self.scalars.scalar(compute)
            else:
                scalar_body = ScalarBody(_positional(body or self.body), compute)
            self._bodies[compute] = scalar_body
        return scalar_body

    def overload(self, kind):
        """Decorator: another formula for one kind of compute types: "bool", "integer", "float" or "complex"."""
        def add(body):
            self.overloads[kind] = body
            return body
        return add

    def derivative(self, body):
        """Decorator: the gradient's formula. Its arguments are among `grad`, the inputs, the numbers and `out`."""
        names = list(body.__code__.co_varnames[:body.__code__.co_argcount])
        allowed = {"grad", "out", *self.parameters}
        unknown = [n for n in names if n not in allowed]
        if unknown:
            raise TypeError(f"{self.name}.derivative: expected arguments among {sorted(allowed)}, got {unknown[0]!r}")
        self.derivative_body, self.derivative_names, self._gradients = body, names, None
        describe(self)
        return body

    @property
    def gradients(self):
        """The derivative as expressions, one for each operand. Traced on first use: records may refer to later ones."""
        if self._gradients is None:
            expressions = trace(self.derivative_body, self.derivative_names)
            if len(expressions) not in (len(self.operands), len(self.parameters)):
                raise TypeError(f"{self.name}.derivative: expected one gradient for each of {self.operands}, got "
                                f"{len(expressions)}")
            self._gradients = expressions
        return self._gradients

    @functools.cached_property
    def expression(self):
        """The formula as an expression of its arguments; None where it cannot be traced."""
        return expression_of(self)

    def _check_formula(self):
        """Raise TypeError or NameError where a user's function is no formula; when it is first used, since names may come later."""
        if not self.checked:
            wrong = refusal(getattr(self.body, "__wrapped__", self.body))
            if wrong is not None:
                raise wrong
            self.checked = True

    # -------------------------------------------------------- plans
    def promoted(self, layouts):
        """The compute dtype and the result dtype."""
        return KINDS[self.kind](self, [l for n, l in zip(self.parameters, layouts) if n not in self.bool_operands])

    def _dtypes(self, layouts, target=None):
        """The compute dtype, the result dtype, and each input's compute name. Of a call in place, `target` is what is written."""
        self._check_formula()
        compute, out = self.promoted(layouts)
        for name, layout in zip(self.parameters, layouts) if self.bool_operands else ():
            if name not in self.bool_operands or layout.dtype.name == "bool" or layout.weak:
                continue
            if layout.dtype.name != "uint8":
                raise RuntimeError(f"{self.title}: expected {name} to be a boolean tensor, but got a tensor with dtype "
                                   f"{layout.dtype.title}")
            warnings.warn(f"{self.title} received a uint8 {name} tensor. This behavior is deprecated and will be removed in a "
                          f"future version of PyTorch. Use a boolean {name} instead.", UserWarning, stacklevel=7)
        if self.refuses:
            given = result_dtype([l for n, l in zip(self.operands, layouts) if n not in self.bool_operands])
            refused = refused_kind(self.refuses, given, layouts)
            if refused is not None:
                kind = RuntimeError if refused.startswith(RUNTIME) else NotImplementedError
                if kind is NotImplementedError and target is not None:
                    check_cast(self.title + "_", out, target.dtype)
                raise kind(refused or _not_implemented(self.title, given))
        computes = ["bool" if n in self.bool_operands else compute.compute for n in self.parameters]
        if self.kind == "comparison" and compute.load and not compute.is_complex:        # a number is what the dtype makes of it
            computes = [compute.name if l.dtype is not compute else c for l, c in zip(layouts, computes)]
        return compute, out, tuple(computes)

    def plan(self, *layouts):
        if is_ours(self.module):
            check_tensors(self.name, self.public, layouts)
        compute, out_dtype, computes = self._dtypes(layouts)
        device = common_device(self.title, layouts)
        shape = self._broadcast(layouts)
        # the order of dimensions is that of the operands as PyTorch has them, which are copies where they are cast
        common = result_dtype(layouts) if compute is bool_ else compute
        lying = [l if l.dtype is common or 0 not in l.strides or n in self.bool_operands else formatted(l, "preserve_format")
                 for n, l in zip(self.parameters, layouts)]
        out = Layout.of(out_dtype, shape, shared_strides(lying, shape), device)
        strides = [broadcast_strides(l, shape) for l in layouts] + [out.strides]
        return Plan(self, layouts, out, self._planned(
            layouts, out, strides, compute, compute=computes, real_part=self._is_real_part(compute, out_dtype)))

    def make_inplace_plan(self, layouts):
        """A plan whose first input is also the output."""
        target = layouts[0]
        if is_ours(self.module):
            check_tensors(self.name, self.public, layouts)
        compute, out_dtype, computes = self._dtypes(layouts, target)
        if self.kind == "real" and target.dtype.is_complex:
            raise RuntimeError(f"In-place {self.title} is not supported for complex tensors.")
        check_writable(self.title + "_", target, out_dtype, self._broadcast(layouts))
        strides = [broadcast_strides(l, target.shape) for l in layouts]
        common_device(self.title, layouts)
        return Plan(self, layouts, target, self._planned(
            layouts, target, strides, compute, compute=computes, written=0, real_part=self._is_real_part(compute, out_dtype)))

    def _planned(self, layouts, out, strides, body_type, **options):
        """The prepared kernel, None for no elements. Raises NotImplementedError for a dtype that the formula has no meaning in."""
        if not out.numel:
            return None
        device, dtypes = out.device, tuple(l.dtype.kernel for l in layouts)
        try:
            prepared = kernels(device, "pointwise.pointwise").plan_pointwise(
                self.scalar(body_type.compute), dtypes, (out.dtype.kernel,), out.shape, strides, cost=self.cost, **options)
        except (CannotCompile, TypeError) as error:
            raise NotImplementedError(f"{_not_implemented(self.title, body_type)}: the formula has no meaning for that "
                                      f"dtype{_in_numbas_words(error)}") from error
        if body_type.category != 1 or device is not cpu:
            return prepared
        if self.divisor is not None:
            position = self.operands.index(self.divisor)
            prepared = checked(prepared, position, device, dtypes[position], out.shape, strides[position])
        if self.numbers_must_fit:                        # Python's numbers, of a dtype that may not hold them
            numbers = [(i, READERS[layout.dtype.name].from_address) for i, layout in enumerate(layouts)
                       if layout.weak and layout.dtype.category == 1 and layout.dtype is not body_type]
            prepared = fitting(prepared, numbers, body_type) if numbers else prepared
        return prepared

    def _is_real_part(self, compute, out):
        """Whether a number with parts is computed of which the real one is the result."""
        return compute.is_complex and (self.kind == "real" or (self.kind == "expression" and out.category == 2))

    def _broadcast(self, layouts):
        try:
            return broadcast_shapes(*[l.shape for l in layouts])
        except RuntimeError as error:
            shapes = " and ".join(str(list(l.shape)) for l in layouts if not l.weak)
            raise RuntimeError(f"{error} ({self.title}: expected shapes that broadcast together, got {shapes})") from None

    # -------------------------------------------------------- gradients
    def recipe(self, plan, wanted):
        """The recipe for these wanted inputs, or None where the result has no gradient."""
        if not self.differentiable or plan.out.dtype.category < 2:
            return None
        if self.derivative_body is None:
            self.derivative_body, self.derivative_names, self._gradients = derived(self)
        for i in wanted:
            if i >= len(self.gradients):
                raise NotImplementedError(f"the derivative for '{self.name}' by '{self.parameters[i]}' is not implemented: let "
                                          f"@{self.name}.derivative return it behind those of {self.operands}")
        result = Recipe()
        result.op, result.inputs, result.out = self, plan.inputs, plan.out
        result.wanted = wanted
        result.expressions = [self.gradients[i] for i in wanted]
        needed = frozenset().union(*[symbols(e) for e in result.expressions])
        result.saves = tuple(i for i, n in enumerate(self.parameters) if n in needed)
        result.saves_out = "out" in needed
        result.passed = tuple(isinstance(e, Symbol) and e.name == "grad" for e in result.expressions)
        result.computed = tuple(i for i, passed in zip(wanted, result.passed) if not passed)
        result.shapes = tuple(plan.inputs[i].shape for i in wanted)
        result.dtypes = tuple(plan.inputs[i].dtype for i in wanted)
        result.fits = tuple(s == plan.out.shape and d is plan.out.dtype for s, d in zip(result.shapes, result.dtypes))
        result.plans = PlanTable()                        # goes with its plan, so nobody else needs to know of it
        result.finish(len(plan.inputs))
        return result

    def make_backward_plan(self, recipe, grad):
        """The fused kernel of the gradients that must be computed: (prepared, result layouts)."""
        compute, _, _ = self._dtypes(recipe.inputs)
        compute = compute if compute.category >= 2 else get_default_dtype()
        shape = recipe.out.shape
        inputs = [grad, *[recipe.inputs[i] for i in recipe.saves]] + ([recipe.out] if recipe.saves_out else [])
        names = ["grad", *[self.parameters[i] for i in recipe.saves]] + (["out"] if recipe.saves_out else [])
        outs = [Layout.of(recipe.inputs[i].dtype, shape, None if recipe.inputs[i].shape != shape
                          or not recipe.inputs[i].non_overlapping_and_dense() else recipe.inputs[i].strides, recipe.out.device)
                for i in recipe.computed]
        if not recipe.out.numel:
            return BackwardPlan(None, outs)
        computes = tuple("bool" if n in self.bool_operands else compute.compute for n in names)
        prepared = kernels(recipe.out.device, "pointwise.pointwise").plan_pointwise(
            self._backward_body(names, compute.compute), tuple(l.dtype.kernel for l in inputs),
            tuple(l.dtype.kernel for l in outs), shape, [broadcast_strides(l, shape) for l in inputs] + [o.strides for o in outs],
            compute=computes, results=recipe.computed if len(self.gradients) > 1 else None, cost=self.cost + 1,
            real_part=compute.is_complex)
        return BackwardPlan(prepared, outs)

    def _backward_body(self, names, compute):
        """The derivative as a function of what is at hand; what no wanted gradient needs is a zero that LLVM drops."""
        key = (compute, tuple(names))
        body = self._bodies.get(key)
        if body is None:
            args = ", ".join(f"a{names.index(n)}" if n in names else "zero" for n in self.derivative_names)
            params = ", ".join(f"a{i}" for i in range(len(names)))
            scope = dict(formula=ScalarBody(self.derivative_body, compute), zero=getattr(np, compute)(0))
            compile_source(f"def backward({params}):\n    return formula({args})\n", "derivative", scope)
            body = self._bodies[key] = ScalarBody(scope.pop("backward"), compute)
        return body


def _in_numbas_words(error):
    """The line of Numba's report that says why."""
    report = str(getattr(error, "reason", error)).splitlines()
    told = [line.strip() for line in report if line.strip() and not line.startswith(("Failed in", "During", "File", "[", "\x1b"))]
    return f" ({told[0]})" if told else ""


def _not_implemented(name, compute):
    return f'"{name}" not implemented for \'{compute.title}\''


def _kind_of(compute):
    return "complex" if compute[0] == "c" else "float" if compute[0] == "f" else "bool" if compute == "bool" else "integer"


def _positional(body):
    """The formula with its keyword-only numbers as ordinary arguments, which is how kernels pass them."""
    code = body.__code__
    if not code.co_kwonlyargcount:
        return body
    names = code.co_varnames[code.co_argcount:code.co_argcount + code.co_kwonlyargcount]
    code = code.replace(co_argcount=code.co_argcount + code.co_kwonlyargcount, co_kwonlyargcount=0)
    known = body.__kwdefaults__ or {}
    defaults = tuple(known[n] for n in names) if all(n in known for n in names) else None
    return pytypes.FunctionType(code, body.__globals__, body.__name__, defaults, body.__closure__)


# ---------------------------------------------------------------- pickle
_travelled: weakref.WeakValueDictionary = weakref.WeakValueDictionary()      # users' ops that were sent or received


def _registered(key):
    return registry[key]


def _rebuild(sent_as, body, options, overloads, derivative):
    """An op that another process sent: the one of an earlier pickle, or made of its formula and what was said about it."""
    op = _travelled.get(sent_as)
    if op is None:
        op = _travelled[sent_as] = pointwise(body, **options).op
        op.sent_as = sent_as
        op.overloads.update(overloads)
        if derivative is not None:
            op.derivative(derivative)
    return op


# ---------------------------------------------------------------- the decorator
def _several(body, name, count, methods, options):
    """The function of a formula with several results: an op for each."""
    parts, parameters = [], inspect.signature(body).parameters
    given = ", ".join(f"{p.name}={p.name}" if p.kind is p.KEYWORD_ONLY else p.name for p in parameters.values())
    all_results = ", ".join(f"result_{i}" for i in range(count))
    for i in range(count):
        scope = dict(formula=body, __name__=body.__module__)
        text = f"def part({', '.join(parameters)}):\n    {all_results} = formula({given})\n    return result_{i}"
        compile_source(text, "result", scope)
        part = scope.pop("part")
        part.__wrapped__ = body
        parts.append(pointwise(part, name=f"{name}_{i}", **options))

    def results(*args, **kwargs) -> tuple:
        return tuple([part(*args, **kwargs) for part in parts])

    results.__name__, results.__qualname__, results.__doc__, results.__module__ = name, name, body.__doc__, body.__module__
    vars(results).update(__wrapped__=body, ops=tuple([part.op for part in parts]))
    if methods and name not in Tensor.__dict__:
        method(results, name)
    return results


def pointwise(body=None, *, kind: str | None = None, bool_operands=(), cost: float = 1.0, name: str | None = None, scalars=None,
              differentiable: bool | None = None, methods: bool = True, refuses=None, divisor: str | None = None):
    """Make an elementwise op of a function of scalars.

    Args:
        body: the formula. Positional arguments are tensors or numbers, keyword-only ones numbers with defaults. It returns a
            number, or a tuple of them, which makes a function of several results. Its globals are read now.
        kind: which dtype it computes in and returns: `"expression"` (what the formula gives as an expression of tensors),
            `"arithmetic"` (the promoted one), `"operands"` (that of the tensors, to which numbers are cast), `"power"` (the
            promoted one, and int64 for bools), `"float"` (integers become the default dtype), `"comparison"` (promoted, returns
            bool), `"logical"` (bool), `"bitwise"` (integers and bool), `"real"` (promoted; complex gives its real dtype).
            `"expression"` when None; of this package's own, which expressions are made of, `"arithmetic"`. All parts of a formula
            are computed in one dtype.
        bool_operands: names of operands that are conditions and take no part in promotion.
        cost: the work of an element relative to an addition, which decides from what size on threads pay.
        name: the op's name, when it is not the function's.
        scalars: an elementary function (see kernels/vectormath) to use instead of the formula.
        differentiable: whether results are recorded; by default all but comparisons, logical and bitwise ops.
        methods: whether `Tensor` gets the op and its in-place form as methods. A name that `Tensor` has already stays what it is.
        refuses: kinds of dtypes ("bool", "integer", "float", "complex", "a bool" or "an integer" among others) it raises
            NotImplementedError for, with what to say ("" for the usual words).
        divisor: an operand by which integers cannot be divided where it is 0, which raises RuntimeError.

    Returns:
        The op's function. `f.derivative` is the decorator for its gradient, derived where none is given; `f.op` the record.

    Raises:
        TypeError: the formula takes `*args` or `**kwargs`. When it is called: it does what has no meaning for one number (with
            the line).

    Example:
        >>> import numtorch as torch
        >>> @torch.pointwise
        ... def swish(x):
        ...     return x / (1 + torch.exp(-x))
        >>> swish(torch.tensor([0., 1.]))
        tensor([0.0000, 0.7311])
    """
    if body is None:
        return lambda b: pointwise(b, kind=kind, bool_operands=bool_operands, cost=cost, name=name, scalars=scalars,
                                   differentiable=differentiable, methods=methods, refuses=refuses, divisor=divisor)
    if not is_ours(body.__module__):
        body = frozen(body)
        count = results_of(body)
        if count > 1:
            options = dict(kind=kind, bool_operands=bool_operands, cost=cost, differentiable=differentiable, methods=False,
                           refuses=refuses, divisor=divisor)
            return _several(body, name or body.__name__, count, methods, options)
    if differentiable is None:
        differentiable = kind not in ("comparison", "logical", "bitwise")
    op = PointwiseOp(body, kind, bool_operands, cost, name, scalars, differentiable, refuses or {}, divisor)
    if methods:
        for name, function in ((op.name, op.function), (op.name + "_", op.inplace)):
            before = getattr(Tensor.__dict__.get(name), "op", None)
            if before is not None and not is_ours(before.module):        # a user's op, defined again in a session
                delattr(Tensor, name)
            if name not in Tensor.__dict__:
                method(function, name)
    describe(op)
    return op.function
