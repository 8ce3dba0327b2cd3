"""The Python functions of an elementwise op: the call, `out=`, and the in-place form.

They are written as source for each op's number of arguments: a generic `op(*inputs)` takes three times as long.
"""
from __future__ import annotations

import inspect
from types import FunctionType

import numpy as np

from ...autograd.graph import GraphNode
from ...autograd.modes import PLAIN, modes
from ...autograd.writes import mark_written
from ...devices import cpu
from ...exchange.scalars import NUMBERS, number
from ...tensor import Tensor, empty
from ..core.generate import ALLOCATION, allocation, make
from ..core.operands import apply_formula, as_operand, common_device, is_formula
from ..core.overloads import value_first
from ..core.primitive import Plan, Primitive, check_one_device, class_of, handler_of, not_a_tensor
from ..memory.assign import copy_, filled
from ..memory.copies import clone, numbers_there, to_device
from ..memory.resize import check_out_device, fit_out
from ..memory.writing import check_inplace_allowed, check_out_dtype, check_writable, overlap_partly, rebase_history, share_memory
from .divisor import check_numbers
from .tape import recipe_for, record, record_call


def make_function(op):
    """The op's Python function, written for its number of arguments: a generic `op(*inputs)` takes three times as long."""
    all_names = list(op.public)
    names = all_names[:len(op.operands)]
    listed = names + [n if default is inspect.Parameter.empty else f"{n}=None" for n, default in op.numbers.items()]
    key = f"{names[0]}.layout" if len(all_names) == 1 else "(" + ", ".join(f"{n}.layout" for n in all_names) + ")"
    convertible = all_names[1:]                          # the first operand is rarely a number
    convert = "".join(f"    if type({n}) is not Tensor and type({n}) in NUMBERS:\n        {n} = number({n})\n" for n in convertible)
    nodes = [f"{n}_node" for n in all_names]
    look = "".join(f"    {n} = {m}.node\n" for n, m in zip(nodes, all_names))
    test = " and ".join(f"{n} is None" for n in nodes)
    bits = " | ".join(f"({n} is not None)" + (f" << {i}" if i else "") for i, n in enumerate(nodes))
    if len(nodes) <= 2:                                  # a comparison costs less than the arithmetic
        bits = "1" if len(nodes) == 1 else f"1 if {nodes[1]} is None else 2 if {nodes[0]} is None else 3"
    addresses = ", ".join(f"{n}.address" for n in all_names)
    listed_inputs = ", ".join(all_names)
    everything = listed_inputs + ("," if len(all_names) == 1 else "")
    source = f"""
def op_call({', '.join(listed)}, *, out=None):
{convert}    try:
        plan = plans[{key}]
    except (KeyError, AttributeError):
        plan = None
    if plan is None:
        return first_call(op, ({everything}), out)
    if out is not None:
        return run_into(op, plan, ({everything}), out)
    ring = plan.ring
{allocation("result", "ring", "plan.out")}    plan.call({addresses}, result_address, plan.descriptor)
{look}    if {test}:
        result.node = None
        return result
    wanted = {bits}
    if modes.recording == PLAIN:
        recipe = plan.recipes.get(wanted)
        if recipe is not None:
            node = result.node = recipe.node_class()
            node.recipe = recipe
            node.edges = ({', '.join(nodes)},)
            node.extras = None
            keep = recipe.keep
            node.saved = () if keep is None else keep(result, {listed_inputs})
            return result
    result.node = record(plan, wanted, ({', '.join(nodes)},), ({everything}), result)
    return result
"""
    scope = dict(ALLOCATION, plans=op.plans, op=op, first_call=_first_call, run_into=_run_into, record=record, Tensor=Tensor,
                 NUMBERS=NUMBERS, number=number, modes=modes, PLAIN=PLAIN)
    function = _made(source, scope, op.name, op, out=None)
    function.__module__ = op.module
    function.op, function.scalar, function.derivative, function.overload = op, op.scalar, op.derivative, op.overload
    return function


def _made(source, scope, name, op, **keywords):
    """A generated function with the defaults of the op's numbers."""
    defaults = tuple(d for d in op.numbers.values() if d is not inspect.Parameter.empty)
    return make(source, scope, name, defaults or None, keywords or None)


def _with_numbers_there(op, args):
    """The operands with the copies of their numbers that a device has, or None where it lacks one or needs none: a call that finds
    its plan by these is a third of one that looks at all operands."""
    return None if op.numbers_must_fit else numbers_there(args)


def _operands(op, args):
    if len(args) == 4:
        args = value_first(op.name, args)
    placed = _with_numbers_there(op, args)
    if placed is not None:
        return tuple(placed)
    tensors = tuple([as_operand(op.title, a) for a in args])
    device = common_device(op.title, [t.layout for t in tensors])
    if device is not cpu:
        if op.numbers_must_fit and device.type != "meta":
            check_numbers(op, tensors)
        tensors = tuple([t if t.layout.device is device else to_device(t, device) for t in tensors])
    return tensors


def _first_call(op, args, out):
    """A call whose plan is not known yet, or that has numbers or symbols among its arguments."""
    if len(args) == 4:
        args = value_first(op.name, args)
    placed = _with_numbers_there(op, args)
    if placed is not None:
        return op.function(*placed, out=out)
    if is_formula(args):
        return apply_formula(op, tuple(a.item() if isinstance(a, Tensor) and a.layout.weak else a for a in args))
    handler = handler_of(args)
    if handler is not None:
        result = handler(op, args, ())
        return result if out is None else copy_(out, result)
    if len(op.operands) == 1 and not isinstance(args[0], Tensor):
        raise not_a_tensor(op.title, args[0], op.public[0])
    tensors = _operands(op, args)
    if out is not None:
        return call_into(op, tensors, out)
    return _run(op.planned_for([t.layout for t in tensors], ()), tensors)


def as_operator(function, **others):
    """A function's code for one of Python's operators: NotImplemented for what is no operand, so that Python asks that one.

    Args:
        function: an elementwise op's function, or its in-place form.
        others: what further names of it stand for.
    """
    scope = {**function.__globals__, "first_call": first_operation, "operands": _inplace_operands_or_not,
             "run_inplace": _run_inplace_or_not, **others}
    made = FunctionType(function.__code__, scope, function.__name__, function.__defaults__, function.__closure__)
    made.__dict__.update(vars(function))
    made.__kwdefaults__, made.__doc__, made.__module__ = function.__kwdefaults__, function.__doc__, function.__module__
    made.__qualname__, made.__annotations__ = function.__qualname__, function.__annotations__
    return made


def _are_operands(args):
    """Whether an operator takes these: not NumPy's arrays, whose own operator comes next and computes by NumPy's rules, as it does
    for PyTorch. PyTorch's tensors too, for the message that says whose they are."""
    return is_formula(args) or handler_of(args) is not None or all(
        isinstance(a, Tensor) or number(a) is not None or (class_of(a) != type(a).__name__ and not isinstance(a, np.ndarray))
        for a in args)


def first_operation(op, args, out):
    """An operator's call whose plan is not known yet."""
    placed = _with_numbers_there(op, args)
    if placed is not None:
        return op.function(*placed, out=out)
    if number(args[0]) is not None:                      # only by its name: Python never calls it with a number first
        raise TypeError(f"descriptor of {op.title} for 'Tensor' objects doesn't apply to a '{type(args[0]).__name__}' object")
    return _first_call(op, args, out) if _are_operands(args) else NotImplemented


def _inplace_operands(op, args):
    """The operands of an in-place call. Raises RuntimeError where others would take the tensor that is written to their device."""
    tensors = _operands(op, args)
    target = args[0]
    if isinstance(target, Tensor):
        check_one_device(op.title + "_", (tensors[0].layout, target.layout))
    return tensors


def _inplace_operands_or_not(op, args):
    return _inplace_operands(op, args) if _are_operands(args) else NotImplemented


def _run_inplace_or_not(op, tensors):
    return tensors if tensors is NotImplemented else run_inplace(op, tensors)


def _run(plan, tensors):
    out = empty(plan.out)
    plan.call(*[t.address for t in tensors], out.address, plan.descriptor)
    out.node = record_call(plan, tensors, out)
    return out


def _run_into(op, plan, tensors, out):
    """A call with `out` whose plan is known: a short way where `out` is as the plan would make it and apart from everything
    else."""
    if type(out) is Tensor and out.layout is plan.out and out.node is None:
        storage = out.memory
        for t in tensors:
            if t.node is not None or t.memory is storage or (storage.watched and share_memory(t, out)):
                return call_into(op, tensors, out)
        mark_written(storage, op.title)
        plan.call(*[t.address for t in tensors], out.address, plan.descriptor)
        return out
    return call_into(op, tensors, out)


def call_into(op, args, out):
    """`op(..., out=out)`: the result is cast into `out`, which takes on its shape.

    Raises:
        TypeError: `out` is not a Tensor.
        RuntimeError: another device, a dtype that cannot hold the result, overlapping memory, or a tensor that requires grad.
    """
    if not isinstance(out, Tensor):
        raise TypeError(f"{op.title}(): argument 'out' must be Tensor, not {class_of(out)}")
    tensors = _operands(op, args)
    if modes.grad and (out.node is not None or any(t.node is not None for t in tensors)):
        raise RuntimeError(f"{op.title}(): functions with out=... arguments don't support automatic differentiation, but one of "
                           f"the arguments requires grad.")
    plan = op.planned_for([t.layout for t in tensors], ())
    check_out_device(out, plan.out.device)
    if out.layout.shape != plan.out.shape:
        fit_out(out, plan.out.shape)
    check_out_dtype(op.title, out.layout, plan.out.dtype, tensors[0].layout)
    check_writable(op.title, out.layout, plan.out.dtype, plan.out.shape)
    if any(overlap_partly(t, out) for t in tensors) or plan.out is not out.layout \
            or any(share_memory(t, out) for t in tensors):
        copy_(out, _run(plan, tensors))
        return out
    mark_written(out.memory, op.title)
    plan.call(*[t.address for t in tensors], out.address, plan.descriptor)
    return out


# ---------------------------------------------------------------- in place
def make_inplace(op, run=None):
    """The in-place form: the first operand is overwritten and keeps its identity. `run`: what runs a call that is not plain, by
    default `run_inplace`."""
    names = list(op.public)
    listed = [n if n not in op.numbers or op.numbers[n] is inspect.Parameter.empty else f"{n}=None" for n in names]
    convert = "".join(f"    if type({n}) is not Tensor and type({n}) in NUMBERS:\n        {n} = number({n})\n" for n in names[1:])
    others = names[1:]
    apart = " and ".join([f"{n}.node is None" for n in names] + [f"{n}.memory is not storage" for n in others])
    shared = " or ".join(f"share_memory({n}, {names[0]})" for n in others) or "False"
    source = f"""
def op_call({', '.join(listed)}):
{convert}    try:
        plan = plans[({', '.join(n + '.layout' for n in names)},)]
    except (KeyError, AttributeError):
        pass
    else:
        storage = {names[0]}.memory
        if {apart}:
            if modes.anomaly or storage.watched:
                if {shared}:
                    return run_inplace(op, ({', '.join(names)},))
                mark_written(storage, title)
            else:
                storage.version += 1
                storage.writer = title
            plan.call({', '.join(n + '.address' for n in names)}, plan.descriptor)
            return {names[0]}
        return run_inplace(op, ({', '.join(names)},))
    return run_inplace(op, operands(op, ({', '.join(names)},)))
"""
    scope = dict(plans=op.inplace_plans, op=op, run_inplace=run or run_inplace, operands=_inplace_operands, modes=modes,
                 mark_written=mark_written, share_memory=share_memory, Tensor=Tensor, NUMBERS=NUMBERS, number=number,
                 title=op.title + "_")
    inplace = _made(source, scope, op.name + "_", op)
    inplace.__module__, inplace.op = op.module, op
    return inplace


def _readable(op, operand, target):
    """A copy of an operand between whose elements the target's lie; two stretches that overlap are an error, as in PyTorch."""
    if operand.layout.non_overlapping_and_dense() and target.layout.non_overlapping_and_dense():
        raise RuntimeError(f"unsupported operation: some elements of the input tensor and the written-to tensor refer to a "
                           f"single memory location. Please clone() the tensor before performing the operation. ({op.title}_)")
    return clone(operand)


def _apart(operand, target, saved):
    """What the tape saves of an operand in the memory that is about to be written: a copy where it is the target itself, and
    never a view that is then put behind the write, which would be a cycle."""
    if not saved or not share_memory(operand, target):
        return operand
    kept = operand.detach()
    if operand.address == target.address:
        kept = clone(kept)
    kept.node = operand.node
    return kept


def run_inplace(op, tensors):
    """Run an op in place on the first of its operands, with every check that PyTorch makes."""
    target = tensors[0]
    handler = handler_of(tensors)
    if handler is not None:
        return handler.write(op, tensors)
    tensors = (target, *[_readable(op, t, target) if overlap_partly(t, target) else t for t in tensors[1:]])
    layouts = tuple([t.layout for t in tensors])
    plan = op.inplace_plans.get(layouts)
    if plan is None:
        plan = op.inplace_plans.keep(layouts, op.make_inplace_plan(layouts))
    needs_graph = modes.grad and any(t.node is not None for t in tensors)
    if not needs_graph:
        mark_written(target.memory, op.title + "_")
        plan.call(*[t.address for t in tensors], plan.descriptor)
        return target
    check_inplace_allowed(target, op.title)
    recipe = recipe_for(plan, sum((t.node is not None) << i for i, t in enumerate(tensors)))
    if recipe is None:                                   # a comparison, written as numbers: 0 is the slope of all it came from
        mark_written(target.memory, op.title + "_")
        plan.call(*[t.address for t in tensors], plan.descriptor)
        if target.layout.dtype.category >= 2:            # integers have no gradient
            rebase_history(target, GraphNode(_STEPS, tuple([t.node for t in tensors]), (), layouts))
        return target
    before = clone(target.detach()) if 0 in recipe.saves else target.detach()
    before.node = target.node
    kept = (before, *[_apart(t, target, i in recipe.saves) for i, t in enumerate(tensors[1:], 1)])
    mark_written(target.memory, op.title + "_")
    plan.call(*[t.address for t in tensors], plan.descriptor)
    node = record_call(_plan_of_kept(op, plan, tuple([t.layout for t in kept])), kept, target)
    rebase_history(target, node)
    return target


_STEPS = Primitive("steps", "What a comparison writes in place: numbers that change in steps.", ("x", "y"))


@_STEPS.derivative
def _no_slope(node, grad):
    """The gradients of inputs on which the result depends in steps only."""
    return [filled(layout.dense(), 0) if node.needs(i) else None for i, layout in enumerate(node.attributes)]


def _plan_of_kept(op, plan, layouts):
    """The plan by which an in-place call is recorded: a kept copy may lie in memory otherwise than what it was made of."""
    if layouts == plan.inputs:
        return plan
    inplace_plan = op.inplace_plans.get((plan, layouts))
    return inplace_plan if inplace_plan is not None else op.inplace_plans.keep((plan, layouts), Plan(op, layouts, plan.out, None))
