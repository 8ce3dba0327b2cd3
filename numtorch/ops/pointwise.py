"""Elementwise ops from one formula: `@pointwise` on a function of scalars makes the op, `@op.derivative` its gradient.

    @pointwise
    def sigmoid(x):
        \"\"\"Logistic function 1 / (1 + exp(-x)), elementwise.\"\"\"
        return 1 / (1 + exp(-x))

    @sigmoid.derivative
    def _(grad, x, out):
        return grad * out * (1 - out)

Positional arguments of the formula are tensors (or numbers), keyword-only ones are numbers with defaults. A derivative names
what it needs among the inputs, the numbers, `grad` and `out`, and returns one gradient per input. Formulas may call any other
pointwise op; they must not branch, but choose with `where`. What comes out: the function, the method, the in-place form,
`out=`, fused forward and backward kernels for every dtype and layout, and gradients of any order.
"""
from __future__ import annotations

import inspect
import types as pytypes
from sys import getrefcount

import numpy as np

from ..autograd.graph import Leaf, Node, extras_of, freed_error, mark_written, rebuild_result, restore, save, source_line
from ..autograd.modes import RARE, modes
from ..dtypes import bool_, can_cast, get_default_dtype
from ..kernels.compiler import ScalarBody
from ..layout import Layout, broadcast_shapes, broadcast_strides
from ..storage import FREE, take
from ..tensor import NUMBERS, Tensor, empty, new, number, wrap
from .backends import kernels
from .expression import Symbol, evaluate, symbols, trace
from .op import (Op, Plan, apply_formula, as_operand, common_device, is_formula, method, new_plan_table, registry, result_dtype,
                 signature_of)


# ---------------------------------------------------------------- dtypes
def _arithmetic(op, layouts):
    found = result_dtype(layouts)
    return found, found


def _float(op, layouts):
    found = result_dtype(layouts)
    found = found if found.category >= 2 else get_default_dtype()
    return found, found


def _comparison(op, layouts):
    return result_dtype(layouts), bool_


def _logical(op, layouts):
    return bool_, bool_


def _bitwise(op, layouts):
    found = result_dtype(layouts)
    if found.category > 1:
        raise RuntimeError(f'"{op.name}" not implemented for \'{found.name.capitalize()}\': expected integers or bools')
    return found, found


def _real(op, layouts):
    found = result_dtype(layouts)
    return found, found.to_real()


# what kind of dtype an op computes in and returns, given its inputs' layouts
KINDS = {"arithmetic": _arithmetic, "float": _float, "comparison": _comparison, "logical": _logical, "bitwise": _bitwise,
         "real": _real}


class Recipe:
    """What to record for a call when a given set of its inputs needs gradients, and how to compute them.

    Attributes:
        wanted: the inputs that need gradients; `expressions` are their formulas.
        saves: the inputs to keep; `saves_out`: whether the output is kept.
        passed: those of `wanted` whose gradient is the output's gradient itself.
        plans: backward kernels by the gradient's layout.
    """

    __slots__ = ("wanted", "expressions", "saves", "saves_out", "passed", "computed", "plans", "shapes", "dtypes", "trivial", "plan")


class PointwiseOp(Op):
    """An elementwise op. See the module's docstring for how one is written."""

    def __init__(self, body, kind, bool_operands, cost, name, scalars, differentiable):
        operands, numbers = signature_of(body)
        super().__init__(name or body.__name__, body.__doc__, [*operands, *numbers], body.__module__)
        self.operands, self.numbers, self.body = tuple(operands), numbers, body
        self.kind, self.bool_operands, self.cost = kind, frozenset(bool_operands), cost
        self.scalars = scalars                           # scalar functions by compute type, instead of the formula
        self.overloads = {}                              # formulas for a kind of compute type: {"complex": body}
        self.differentiable, self.derivative_body = differentiable, None
        self.plans, self.inplace_plans = new_plan_table(), new_plan_table()
        self._bodies = {}
        self.function = _make_function(self)
        self.inplace = _make_inplace(self)

    # -------------------------------------------------------- the formula as scalar code
    def scalar(self, compute: str) -> ScalarBody:
        """The op as a function of scalars of one compute type, for other formulas and for kernels."""
        found = self._bodies.get(compute)
        if found is None:
            body = self.overloads.get(_kind_of(compute))
            if body is None and self.scalars is not None:
                found = self.scalars.scalar(compute)
            else:
                found = ScalarBody(_positional(body or self.body), compute)
            self._bodies[compute] = found
        return found

    def overload(self, kind):
        """Decorator: another formula for one kind of compute types: "bool", "integer", "float" or "complex"."""
        def add(body):
            self.overloads[kind] = body
            return body
        return add

    def derivative(self, body):
        """Decorator: the gradient's formula. Its arguments are among `grad`, the inputs, the numbers and `out`."""
        names = list(pytypes.FunctionType(body.__code__, {}).__code__.co_varnames[:body.__code__.co_argcount])
        allowed = {"grad", "out", *self.parameters}
        unknown = [n for n in names if n not in allowed]
        if unknown:
            raise TypeError(f"{self.name}.derivative: expected arguments among {sorted(allowed)}, got {unknown[0]!r}")
        self.derivative_body, self.derivative_names, self._gradients = body, names, None
        return body

    @property
    def gradients(self):
        """The derivative as expressions, one for each operand. Traced on first use: records may refer to later ones."""
        if self._gradients is None:
            expressions = trace(self.derivative_body, self.derivative_names)
            if len(expressions) != len(self.operands):
                raise TypeError(f"{self.name}.derivative: expected one gradient for each of {self.operands}, got "
                                f"{len(expressions)}")
            self._gradients = expressions
        return self._gradients

    # -------------------------------------------------------- plans
    def _dtypes(self, layouts):
        """The compute dtype, the result dtype, and each input's compute name."""
        deciding = [l for n, l in zip(self.parameters, layouts) if n not in self.bool_operands]
        compute, out = KINDS[self.kind](self, deciding)
        if compute.is_complex and self.kind == "comparison" and self.name not in ("eq", "ne"):
            raise RuntimeError(f'"{self.name}" not implemented for \'Complex{compute.name[7:]}\'')
        return compute, out, tuple("bool" if n in self.bool_operands else compute.compute for n in self.parameters)

    def make_plan(self, layouts):
        compute, out_dtype, computes = self._dtypes(layouts)
        device = common_device(self.name, layouts)
        shape = self._broadcast(layouts)
        out = Layout.of(out_dtype, shape, self._result_strides(layouts, shape), device)
        prepared = None
        if out.numel:
            strides = [broadcast_strides(l, shape) for l in layouts] + [out.strides]
            prepared = kernels(device, "pointwise").plan_pointwise(
                self.scalar(compute.compute), tuple(l.dtype.kernel for l in layouts), (out_dtype.kernel,), shape, strides,
                compute=computes, cost=self.cost, real_part=compute.is_complex and not out_dtype.is_complex)
        return Plan(self, layouts, out, prepared)

    def make_inplace_plan(self, layouts):
        """A plan whose first input is also the output."""
        compute, out_dtype, computes = self._dtypes(layouts)
        target = layouts[0]
        check_writable(self.name + "_", target, out_dtype, self._broadcast(layouts))
        prepared = None
        if target.numel:
            strides = [broadcast_strides(l, target.shape) for l in layouts]
            prepared = kernels(common_device(self.name, layouts), "pointwise").plan_pointwise(
                self.scalar(compute.compute), tuple(l.dtype.kernel for l in layouts), (target.dtype.kernel,), target.shape,
                strides, compute=computes, written=0, cost=self.cost,
                real_part=compute.is_complex and not target.dtype.is_complex)
        return Plan(self, layouts, target, prepared)

    def _broadcast(self, layouts):
        try:
            return broadcast_shapes(*[l.shape for l in layouts])
        except RuntimeError as error:
            shapes = " and ".join(str(list(l.shape)) for l in layouts if not l.weak)
            raise RuntimeError(f"{error} ({self.name}: expected shapes that broadcast together, got {shapes})") from None

    @staticmethod
    def _result_strides(layouts, shape):
        """Dense strides that all full-sized inputs share are kept, so that a transposed input stays one flat walk."""
        kept = None
        for layout in layouts:
            if layout.ndim == 0:
                continue
            if layout.shape != shape or (kept is not None and layout.strides != kept):
                return None
            kept = layout.strides
        if kept is None or not layouts:
            return None
        layout = next(l for l in layouts if l.ndim)
        return kept if not layout.contiguous and layout.non_overlapping_and_dense() else None

    # -------------------------------------------------------- gradients
    def recipe(self, plan, wanted):
        """The recipe for these wanted inputs, or None where the result has no gradient."""
        if not self.differentiable or plan.out.dtype.category < 2:
            return None
        if self.derivative_body is None:
            raise NotImplementedError(f"the derivative for '{self.name}' is not implemented")
        found = Recipe()
        found.plan = plan
        found.wanted = wanted
        found.expressions = [self.gradients[i] for i in wanted]
        needed = frozenset().union(*[symbols(e) for e in found.expressions])
        found.saves = tuple(i for i, n in enumerate(self.parameters) if n in needed)
        found.saves_out = "out" in needed
        found.passed = tuple(isinstance(e, Symbol) and e.name == "grad" for e in found.expressions)
        found.computed = tuple(i for i, passed in zip(wanted, found.passed) if not passed)
        found.shapes = tuple(plan.inputs[i].shape for i in wanted)
        found.dtypes = tuple(plan.inputs[i].dtype for i in wanted)
        found.trivial = not found.computed and all(s == plan.out.shape for s in found.shapes) \
            and all(d is plan.out.dtype for d in found.dtypes)
        found.plans = new_plan_table()
        return found

    def make_backward_plan(self, plan, recipe, grad):
        """The fused kernel of the gradients that must be computed: (prepared, result layouts)."""
        compute, _, _ = self._dtypes(plan.inputs)
        compute = compute if compute.category >= 2 else get_default_dtype()
        shape = plan.out.shape
        inputs = [grad, *[plan.inputs[i] for i in recipe.saves]] + ([plan.out] if recipe.saves_out else [])
        names = ["grad", *[self.parameters[i] for i in recipe.saves]] + (["out"] if recipe.saves_out else [])
        outs = [Layout.of(plan.inputs[i].dtype, shape, None if plan.inputs[i].shape != shape
                          or not plan.inputs[i].non_overlapping_and_dense() else plan.inputs[i].strides, plan.out.device)
                for i in recipe.computed]
        whole = len(recipe.computed) == len(plan.inputs) == len(recipe.wanted) and all(i.shape == shape for i in plan.inputs)
        placed = recipe.wanted[0] if len(recipe.wanted) == 1 and recipe.shapes[0] == shape else None
        if not plan.out.numel:
            return _BackwardPlan(None, outs, whole, placed)
        computes = tuple("bool" if n in self.bool_operands else compute.compute for n in names)
        prepared = kernels(plan.out.device, "pointwise").plan_pointwise(
            self._backward_body(names, compute.compute), tuple(l.dtype.kernel for l in inputs),
            tuple(l.dtype.kernel for l in outs), shape, [broadcast_strides(l, shape) for l in inputs] + [o.strides for o in outs],
            compute=computes, results=recipe.computed if len(self.operands) > 1 else None, cost=self.cost + 1,
            real_part=compute.is_complex)
        return _BackwardPlan(prepared, outs, whole, placed)

    def _backward_body(self, names, compute):
        """The derivative as a function of what is at hand; what no wanted gradient needs is a zero that LLVM drops."""
        key = (compute, tuple(names))
        found = self._bodies.get(key)
        if found is None:
            args = ", ".join(f"a{names.index(n)}" if n in names else "zero" for n in self.derivative_names)
            params = ", ".join(f"a{i}" for i in range(len(names)))
            scope = dict(formula=ScalarBody(self.derivative_body, compute), zero=getattr(np, compute)(0))
            exec(f"def backward({params}):\n    return formula({args})\n", scope)
            found = self._bodies[key] = ScalarBody(scope["backward"], compute)
        return found


def _kind_of(compute):
    return "complex" if compute[0] == "c" else "float" if compute[0] == "f" else "bool" if compute == "bool" else "integer"


def _positional(body):
    """The formula with its keyword-only numbers as ordinary arguments, which is how kernels pass them."""
    code = body.__code__
    if not code.co_kwonlyargcount:
        return body
    code = code.replace(co_argcount=code.co_argcount + code.co_kwonlyargcount, co_kwonlyargcount=0)
    return pytypes.FunctionType(code, body.__globals__, body.__name__, None, body.__closure__)


# ---------------------------------------------------------------- the tape
class _BackwardPlan:
    """The fused kernel of a recipe's computed gradients for one layout of the incoming gradient.

    `whole`: every edge's gradient comes straight from the kernel, in the right shape and dtype; `placed`: a single one
    does, for the edge of that number.
    """

    __slots__ = ("call", "walk", "outs", "prepared", "whole", "placed")

    def __init__(self, prepared, outs, whole, placed=None):
        self.prepared, self.outs, self.whole, self.placed = prepared, outs, whole, placed
        self.call, self.walk = (prepared.call, prepared.walk) if prepared is not None else (_no_elements, 0)


def _no_elements(*words):
    """The kernel of a gradient without elements."""


class PointwiseNode(Node):
    """A recorded elementwise call."""

    __slots__ = ("recipe", "saved", "versions", "result")

    def name(self):
        return "".join(p.capitalize() for p in self.recipe.plan.op.name.split("_")) + "Backward0"

    def release(self):
        recipe = self.recipe
        if recipe.saves or recipe.saves_out:
            self.saved = self.result = None

    def backward(self, grad):
        recipe = self.recipe
        if recipe.trivial:
            return (grad, grad)[:len(self.edges)]        # the engine does not look at the gradient of an edge that is None
        saved = self.saved
        if saved is None:
            raise freed_error()
        if modes.recording:
            return self._compose(grad, [restore(t, v, self) for t, v in zip(saved, self.versions)])
        if not recipe.computed:
            return self._arrange([grad] * len(recipe.wanted))
        layout = grad.layout
        backward = recipe.plans.get(layout)
        if backward is None:
            backward = recipe.plans.keep(layout, recipe.plan.op.make_backward_plan(recipe.plan, recipe, layout))
        words = [grad.address]
        unpacked = []                                    # keeps what saved-tensor hooks made alive during the call
        for tensor, version in zip(saved, self.versions):
            if type(tensor) is not Tensor or tensor.storage.version != version:
                tensor = restore(tensor, version, self)
                unpacked.append(tensor)
            words.append(tensor.address)
        if recipe.saves_out:
            kept = rebuild_result(self.result, self)
            unpacked.append(kept)
            words.append(kept.address)
        outs = []
        for layout in backward.outs:
            out = empty(layout)
            outs.append(out)
            words.append(out.address)
        backward.call(*words, backward.walk)
        if backward.whole:
            return outs
        if backward.placed is not None:                  # one gradient, of the right shape: no more to do than to place it
            return (None,) * backward.placed + (outs[0],) + (None,) * (len(self.edges) - 1 - backward.placed)
        if len(outs) < len(recipe.wanted):
            computed = iter(outs)
            outs = [grad if passed else next(computed) for passed in recipe.passed]
        return self._arrange(outs)

    def _arrange(self, grads):
        """Gradients of the wanted inputs as one for each edge, in the inputs' shapes and dtypes."""
        recipe = self.recipe
        out = [None] * len(self.edges)
        for index, grad, shape, dtype in zip(recipe.wanted, grads, recipe.shapes, recipe.dtypes):
            out[index] = _fit(grad, shape, dtype)
        return out

    def _compose(self, grad, inputs):
        """The gradients by ops on tensors, which are recorded in turn."""
        recipe, op = self.recipe, self.recipe.plan.op
        values = {"grad": grad}
        for index, tensor in zip(recipe.saves, inputs):
            values[op.parameters[index]] = tensor
        if recipe.saves_out:
            values["out"] = rebuild_result(self.result, self)
        return self._arrange([g if isinstance(g, Tensor) else grad * 0 + g for g in evaluate(recipe.expressions, values)])


def _fit(grad, shape, dtype):
    """A gradient as its input's shape and dtype: broadcasting is undone by summing."""
    if grad.layout.shape != shape:
        grad = registry["sum_to_size"].function(grad, shape)
    if grad.layout.dtype is not dtype:
        if grad.layout.dtype.is_complex and not dtype.is_complex:
            grad = registry["real"].function(grad)
        grad = registry["to_dtype"].function(grad, dtype)
    return grad


def recipe_for(plan, wanted):
    """The recipe for the inputs whose bits are set in `wanted`; None where the result has no gradient."""
    try:
        return plan.recipes[wanted]
    except KeyError:
        bits = tuple(i for i in range(len(plan.inputs)) if wanted >> i & 1)
        found = plan.recipes[wanted] = plan.op.recipe(plan, bits)
        return found


def record(plan, wanted, edges, inputs, out):
    """The node of a call that has just run, or None where nothing is to be recorded.

    Args:
        plan: the call's plan.
        wanted: a bit for every input that needs a gradient.
        edges, inputs: the inputs' nodes and the inputs.
        out: the result.
    """
    recording = modes.recording
    if not recording:
        return None
    recipe = plan.recipes.get(wanted)
    if recipe is None:
        recipe = recipe_for(plan, wanted)
        if recipe is None:
            return None
    node = new(PointwiseNode)
    node.recipe, node.edges, node.extras = recipe, edges, None
    if recording == RARE:
        return _record_with_modes(node, inputs, out)
    saves = recipe.saves
    if not saves:
        node.saved = node.versions = saves
    elif len(saves) == 1:
        tensor = inputs[saves[0]]
        node.saved, node.versions = (tensor,), (tensor.storage.version,)
    else:
        saved = node.saved = [inputs[i] for i in saves]
        node.versions = [t.storage.version for t in saved]
    if recipe.saves_out:
        storage = out.storage
        node.result = (storage, out.address, out.layout, storage.version)
    else:
        node.result = None
    return node


def record_call(plan, inputs, out):
    """`record` for inputs whose nodes have not been looked at yet."""
    edges = tuple([x.node for x in inputs])
    wanted = 0
    for i, edge in enumerate(edges):
        if edge is not None:
            wanted |= 1 << i
    return record(plan, wanted, edges, inputs, out) if wanted else None


def _record_with_modes(node, inputs, out):
    recipe = node.recipe
    node.versions = [inputs[i].storage.version for i in recipe.saves]
    node.saved = [save(inputs[i]) for i in recipe.saves]
    kept = (out.storage, out.address, out.layout, out.storage.version) if recipe.saves_out else None
    if recipe.saves_out and modes.saved_hooks:
        kept = save(wrap(*kept[:3]))
    node.result = kept
    if modes.anomaly:
        extras_of(node).trace = source_line()
    return node


# ---------------------------------------------------------------- calling
def _make_function(op):
    """The op's Python function, written for its number of arguments: a generic `op(*inputs)` takes three times as long."""
    names = list(op.operands)
    listed = names + [n if default is inspect.Parameter.empty else f"{n}={n}_default" for n, default in op.numbers.items()]
    all_names = names + list(op.numbers)
    key = f"{names[0]}.layout" if len(all_names) == 1 else "(" + ", ".join(f"{n}.layout" for n in all_names) + ")"
    convertible = (names[1:] if len(names) == 2 else []) + list(op.numbers)      # a third operand is rarely a number
    convert = "".join(f"    if type({n}) in NUMBERS:\n        {n} = number({n})\n" for n in convertible)
    nodes = [f"{n}_node" for n in all_names]
    look = "".join(f"    {n} = {m}.node\n" for n, m in zip(nodes, all_names))
    test = " and ".join(f"{n} is None" for n in nodes)
    bits = " | ".join(f"({n} is not None)" + (f" << {i}" if i else "") for i, n in enumerate(nodes))
    addresses = ", ".join(f"{n}.address" for n in all_names)
    everything = ", ".join(all_names) + ("," if len(all_names) == 1 else "")
    source = f"""
def {op.name}({', '.join(listed)}, *, out=None):
{convert}    try:
        plan = plans[{key}]
    except (KeyError, AttributeError):
        return first_call(op, ({everything}), out)
    if out is not None:
        return call_into(op, ({everything}), out)
    ring = plan.ring
    storage = ring[0]
    if getrefcount(storage) > FREE:
        ring.rotate(-1)
        storage = ring[0]
        if getrefcount(storage) > FREE:
            storage = take(ring)
    result = new(Tensor)
    result.storage = storage
    result.address = address = storage.address
    result.layout = plan.out
    plan.call({addresses}, address, plan.walk)
{look}    result.node = None if {test} else record(plan, {bits}, ({', '.join(nodes)},), ({everything}), result)
    return result
"""
    scope = dict(plans=op.plans, op=op, first_call=_first_call, call_into=call_into, getrefcount=getrefcount, FREE=FREE, take=take,
                 new=new, Tensor=Tensor, record=record, NUMBERS=NUMBERS, number=number,
                 **{f"{n}_default": v for n, v in op.numbers.items()})
    exec(compile(source, f"<op {op.name}>", "exec"), scope)
    function = scope[op.name]
    function.__doc__, function.__module__ = op.doc, op.module
    function.op, function.scalar, function.derivative, function.overload = op, op.scalar, op.derivative, op.overload
    return function


def _operands(op, args):
    tensors = tuple([as_operand(op.name, a) for a in args])
    device = common_device(op.name, [t.layout for t in tensors])
    if device.type != "cpu":
        tensors = tuple([t if t.layout.device is device else registry["to_device"].function(t, device) for t in tensors])
    return tensors


def _first_call(op, args, out):
    """A call whose plan is not known yet, or that has numbers or symbols among its arguments."""
    if is_formula(args):
        return apply_formula(op, tuple(a.item() if isinstance(a, Tensor) and a.layout.weak else a for a in args))
    tensors = _operands(op, args)
    if out is not None:
        return call_into(op, tensors, out)
    return _run(op, find_plan(op, tensors), tensors)


def find_plan(op, tensors):
    layouts = tuple([t.layout for t in tensors])
    key = layouts[0] if len(layouts) == 1 else layouts
    plan = op.plans.get(key)
    return plan if plan is not None else op.plans.keep(key, op.make_plan(layouts))


def _run(op, plan, tensors):
    out = empty(plan.out)
    plan.call(*[t.address for t in tensors], out.address, plan.walk)
    out.node = record_call(plan, tensors, out)
    return out


def call_into(op, args, out):
    """`op(..., out=out)`: the result is cast into `out`, which is resized in no case but kept as it is.

    Raises:
        TypeError: `out` is not a Tensor.
        RuntimeError: wrong shape, a dtype that cannot hold the result, overlapping memory, or a tensor that requires grad.
    """
    if not isinstance(out, Tensor):
        raise TypeError(f"{op.name}(): argument 'out' must be Tensor, not {type(out).__name__}")
    tensors = _operands(op, args)
    if modes.grad and (out.node is not None or any(t.node is not None for t in tensors)):
        raise RuntimeError(f"{op.name}(): functions with out=... arguments don't support automatic differentiation, but one of "
                           f"the arguments requires grad.")
    plan = find_plan(op, tensors)
    check_writable(op.name, out.layout, plan.out.dtype, plan.out.shape, exact=True)
    if any(overlap_partly(t, out) for t in tensors) or plan.out is not out.layout \
            or any(t.storage is out.storage for t in tensors):
        registry["copy_"].function(out, _run(op, plan, tensors))
        return out
    plan.call(*[t.address for t in tensors], out.address, plan.walk)
    mark_written(out.storage, op.name)
    return out


def check_writable(name, target, result_dtype, shape, exact=False):
    """Whether a result may be written into a tensor of layout `target`. Raises RuntimeError, as PyTorch words it."""
    if target.weak:
        raise RuntimeError(f"{name}: expected a Tensor to write into, got a number")
    if not can_cast(result_dtype, target.dtype):
        raise RuntimeError(f"result type {_title(result_dtype)} can't be cast to the desired output type {_title(target.dtype)} "
                           f"({name})")
    if shape != target.shape:
        what = "output with shape" if not exact else f"{name}: expected out of shape {list(shape)}, got"
        raise RuntimeError(f"{what} {list(target.shape)} doesn't match the broadcast shape {list(shape)}")
    if target.overlaps_itself():
        raise RuntimeError(f"unsupported operation: more than one element of the written-to tensor refers to a single memory "
                           f"location. Please clone() the tensor before performing the operation. ({name})")


def _title(dtype):
    return {"float32": "Float", "float64": "Double", "int64": "Long", "int32": "Int", "uint8": "Byte", "int8": "Char",
            "int16": "Short", "float16": "Half", "bfloat16": "BFloat16", "bool": "Bool", "complex64": "ComplexFloat",
            "complex128": "ComplexDouble"}.get(dtype.name, dtype.name)


def overlap_partly(source, target) -> bool:
    """Whether writing `target` could change elements of `source` that are still to be read."""
    if source.storage is not target.storage or (source.address == target.address and source.layout is target.layout):
        return False
    a, b = source.layout, target.layout
    low, high = a.extent()
    first, last = b.extent()
    size = a.dtype.itemsize
    return (source.address + low * size < target.address + last * b.dtype.itemsize
            and target.address + first * b.dtype.itemsize < source.address + high * size)


# ---------------------------------------------------------------- in place
def _make_inplace(op):
    """The in-place form: the first operand is overwritten and keeps its identity."""
    names = list(op.parameters)
    listed = [n if n not in op.numbers or op.numbers[n] is inspect.Parameter.empty else f"{n}={n}_default" for n in names]
    convert = "".join(f"    if type({n}) in NUMBERS:\n        {n} = number({n})\n" for n in names[1:])
    others = names[1:]
    apart = " and ".join(["{0}.node is None".format(n) for n in names] + [f"{n}.storage is not storage" for n in others])
    source = f"""
def {op.name}_({', '.join(listed)}):
{convert}    try:
        plan = plans[({', '.join(n + '.layout' for n in names)},)]
    except (KeyError, AttributeError):
        return run_inplace(op, operands(op, ({', '.join(names)},)))
    storage = {names[0]}.storage
    if {apart}:
        plan.call({', '.join(n + '.address' for n in names)}, plan.walk)
        if modes.anomaly:
            mark_written(storage, "{op.name}_")
        else:
            storage.version += 1
            storage.writer = "{op.name}_"
        return {names[0]}
    return run_inplace(op, ({', '.join(names)},))
"""
    scope = dict(plans=op.inplace_plans, op=op, run_inplace=run_inplace, operands=_operands, modes=modes, mark_written=mark_written,
                 NUMBERS=NUMBERS, number=number, **{f"{n}_default": v for n, v in op.numbers.items()})
    exec(compile(source, f"<op {op.name}_>", "exec"), scope)
    inplace = scope[op.name + "_"]
    inplace.__doc__ = f"In-place form of `{op.name}`: writes the result into this tensor and returns it."
    inplace.__module__, inplace.op = op.module, op
    return inplace


def run_inplace(op, tensors):
    """Run an op in place on the first of its operands, with every check that PyTorch makes."""
    target = tensors[0]
    layouts = tuple([t.layout for t in tensors])
    plan = op.inplace_plans.get(layouts)
    if plan is None:
        plan = op.inplace_plans.keep(layouts, op.make_inplace_plan(layouts))
    for other in tensors[1:]:
        if overlap_partly(other, target):
            raise RuntimeError(f"unsupported operation: some elements of the input tensor and the written-to tensor refer to a "
                               f"single memory location. Please clone() the tensor before performing the operation. ({op.name}_)")
    needs_graph = modes.grad and any(t.node is not None for t in tensors)
    if not needs_graph:
        plan.call(*[t.address for t in tensors], plan.walk)
        mark_written(target.storage, op.name + "_")
        return target
    check_inplace_allowed(target, op.name)
    recipe = recipe_for(plan, sum((t.node is not None) << i for i, t in enumerate(tensors)))
    if recipe is None:
        raise RuntimeError(f"{op.name}_: the result has no gradient, but the tensor it is written to requires one")
    before = registry["clone"].function(target.detach()) if 0 in recipe.saves else registry["detach_view"].function(target)
    before.node = target.node
    plan.call(*[t.address for t in tensors], plan.walk)
    mark_written(target.storage, op.name + "_")
    node = record_call(plan, (before, *tensors[1:]), target)
    rebase_history(target, node)
    return target


def check_inplace_allowed(target, name):
    """Raise RuntimeError for a leaf that requires grad (its gradient would be lost) or a view of one."""
    if type(target.node) is Leaf:
        raise RuntimeError(f"a leaf Variable that requires grad is being used in an in-place operation. ({name}_)")
    base = target._base
    if base is not None and type(base.node) is Leaf:
        raise RuntimeError(f"a view of a leaf Variable that requires grad is being used in an in-place operation. ({name}_)")


def rebase_history(target, node):
    """Make `node` the origin of a tensor that was written in place, and of what shares its memory."""
    base = target._base
    if base is None:
        target.node = node
        for view in live_views(target):
            registry["refresh_view"].function(target, view)
    else:
        registry["write_through_view"].function(base, target, node)


def live_views(tensor) -> list:
    """The differentiable views of a tensor that still exist."""
    views = tensor.__dict__.get("_views")
    return [v for v in (ref() for ref in views) if v is not None] if views else []


# ---------------------------------------------------------------- the decorator
def pointwise(body=None, *, kind: str = "arithmetic", bool_operands=(), cost: float = 1.0, name: str | None = None, scalars=None,
              differentiable: bool | None = None, methods: bool = True):
    """Make an elementwise op of a function of scalars.

    Args:
        body: the formula. Positional arguments are tensors or numbers, keyword-only ones numbers with defaults.
        kind: which dtype it computes in and returns: `"arithmetic"` (the promoted one), `"float"` (integers become the
            default dtype), `"comparison"` (promoted, returns bool), `"logical"` (bool), `"bitwise"` (integers and bool),
            `"real"` (promoted; complex gives its real dtype).
        bool_operands: names of operands that are conditions and take no part in promotion.
        cost: the work of an element relative to an addition, which decides from what size on threads pay.
        name: the op's name, when it is not the function's.
        scalars: an elementary function (see kernels/vectormath) to use instead of the formula.
        differentiable: whether results are recorded; by default all but comparisons, logical and bitwise ops.
        methods: whether `Tensor` gets the op and its in-place form as methods.

    Returns:
        The op's function. `f.derivative` is the decorator for its gradient; `f.op` the record.

    Raises:
        TypeError: the formula takes `*args` or `**kwargs`.

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
                                   differentiable=differentiable, methods=methods)
    if differentiable is None:
        differentiable = kind in ("arithmetic", "float", "real")
    op = PointwiseOp(body, kind, bool_operands, cost, name, scalars, differentiable)
    if methods:
        for name, function in ((op.name, op.function), (op.name + "_", op.inplace)):
            if hasattr(Tensor.__dict__.get(name), "op"):     # an op of that name, defined again in a session
                delattr(Tensor, name)
            if name not in Tensor.__dict__:
                method(function, name)
    return op.function
