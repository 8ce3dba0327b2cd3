"""How elementwise calls are recorded, and what their backward runs.

A `Recipe` says, for a set of inputs that need gradients, what to save and which gradients are computed or passed on. The node
of a call is of a class written for that shape of recipe: its backward checks the versions of what it saved, takes memory and
calls one fused kernel. Whatever is rarer (a gradient in a layout not seen before, saved-tensor hooks, somebody's in-place
write) goes through `PointwiseNode.backward_slowly`, and with `create_graph` the ops of the formula run on tensors instead.
"""
from __future__ import annotations

import functools

from ...autograd.graph import Node, extras_of, freed_error, rebuild_result, restore, save, save_result
from ...autograd.modes import RARE, modes
from ...autograd.nodenames import elementwise_name
from ...autograd.writes import source_line
from ...storage import ring_for
from ...tensor import Tensor, empty, new, wrap
from ..core.expression import evaluate
from ..core.generate import ALLOCATION, allocation, make
from ..core.late import later
from ..core.primitive import nothing_to_do
from ..memory.copies import to_dtype


class Recipe:
    """What to record for a call when a given set of its inputs needs gradients, and how to compute them.

    Attributes:
        op, inputs, out: of the plan. Not the plan itself: it has the recipe, and cycles wait for the garbage collector.
        wanted: the inputs that need gradients; `expressions` are their formulas.
        saves: the inputs to keep; `saves_out`: whether the output is kept.
        passed: those of `wanted` whose gradient is the output's gradient itself.
        fits: those of `wanted` whose gradient comes in the input's own shape and dtype.
        plans: backward kernels by the gradient's layout.
        node_class: what its calls are recorded as; `keep(out, *inputs)` gives what such a node saves (None: nothing).
    """

    __slots__ = ("wanted", "expressions", "saves", "saves_out", "passed", "computed", "fits", "plans", "shapes", "dtypes",
                 "op", "inputs", "out", "node_class", "keep")

    def finish(self, inputs):
        """Choose the node's class and how it is filled, for an op of so many inputs."""
        gradients, computed = ["None"] * inputs, 0
        for place, (index, passed, fits) in enumerate(zip(self.wanted, self.passed, self.fits)):
            gradient = "grad"
            if not passed:
                gradient, computed = f"out{computed}", computed + 1
            gradients[index] = gradient if fits else f"fit({gradient}, recipe.shapes[{place}], recipe.dtypes[{place}])"
        self.node_class = _node_class(len(self.saves), self.saves_out, len(self.computed), tuple(gradients))
        self.keep = _keeper(inputs, self.saves, self.saves_out)


class BackwardPlan:
    """The fused kernel of a recipe's computed gradients for one layout of the incoming gradient: where each of them goes."""

    __slots__ = ("call", "descriptor", "outs", "places", "prepared")

    def __init__(self, prepared, outs):
        self.prepared, self.outs = prepared, outs
        self.places = tuple((ring_for(layout.nbytes, layout.device), layout) for layout in outs)
        self.call, self.descriptor = (prepared.call, prepared.descriptor) if prepared is not None else (nothing_to_do, 0)


class PointwiseNode(Node):
    """A recorded elementwise call. `saved` holds tensors, each followed by its version, and last the result's memory."""

    __slots__ = ("recipe",)

    def name(self):
        return elementwise_name(self.recipe.op.name, self.recipe.inputs)

    def title(self):
        return self.recipe.op.name

    def result_layout(self):
        return self.recipe.out

    def saved_names(self):
        recipe = self.recipe
        return (*[recipe.op.parameters[i] for i in recipe.saves], *(("out",) if recipe.saves_out else ()))

    def saved_layouts(self):
        return [kept.layout for kept in self.saved[:2 * len(self.recipe.saves):2]] if self.saved else []

    def backward(self, grad):
        return self.backward_slowly(grad)

    def tensors(self):
        """The saved inputs and result, unpacked where a hook packed them. Raises RuntimeError for one that was changed in place."""
        recipe, count = self.recipe, 2 * len(self.recipe.saves)
        if not count and not recipe.saves_out:
            return []
        if self.saved is None:
            raise freed_error()
        inputs = [restore(t, v, self) for t, v in zip(self.saved[:count:2], self.saved[1:count:2])]
        return [*inputs, rebuild_result(self.saved[-1], self)] if recipe.saves_out else inputs

    def backward_slowly(self, grad):
        """The gradients, whatever happened to the graph since it was recorded."""
        recipe, saved = self.recipe, self.tensors()
        if not recipe.computed:
            return self._arrange([grad] * len(recipe.wanted))
        if grad.layout.handler is not None or any(t.layout.handler is not None for t in saved):
            return self.differentiable_backward(grad)    # special layouts have no kernels
        backward = recipe.plans.get(grad.layout)
        if backward is None:
            backward = recipe.plans.keep(grad.layout, recipe.op.make_backward_plan(recipe, grad.layout))
        computed = [empty(layout) for layout in backward.outs]
        backward.call(grad.address, *[t.address for t in saved], *[t.address for t in computed], backward.descriptor)
        each = iter(computed)
        return self._arrange([grad if passed else next(each) for passed in recipe.passed])

    def _arrange(self, grads):
        """Gradients of the wanted inputs as one for each edge, in the inputs' shapes and dtypes."""
        recipe = self.recipe
        out = [None] * len(self.edges)
        for index, grad, shape, dtype in zip(recipe.wanted, grads, recipe.shapes, recipe.dtypes):
            out[index] = _fit(grad, shape, dtype)
        return out

    def differentiable_backward(self, grad):
        """The gradients by ops on tensors, which are recorded in turn."""
        recipe, values = self.recipe, {"grad": grad}
        for name, tensor in zip(self.saved_names(), self.tensors()):
            values[name] = as_tensor_of(tensor, recipe.out.dtype) if tensor.layout.weak else tensor
        return self._arrange([g if isinstance(g, Tensor) else grad.new_full(grad.layout.shape, g)
                              for g in evaluate(recipe.expressions, values)])


def as_tensor_of(number, dtype):
    """The number of a formula as a tensor: an op on a lone number would take the default dtype, or none."""
    return to_dtype(wrap(number.memory, number.address, number.layout.dense()), dtype)


def _fit(grad, shape, dtype):
    """A gradient as its input's shape and dtype: broadcasting is undone by summing."""
    if grad.layout.shape != shape:
        grad = later["sum_to_size"](grad, shape)
    if grad.layout.dtype is not dtype:
        if grad.layout.dtype.is_complex and not dtype.is_complex:
            grad = later["real"](grad)
        grad = to_dtype(grad, dtype)
    return grad


def recipe_for(plan, wanted):
    """The recipe for the inputs whose bits are set in `wanted`; None where the result has no gradient."""
    recipe = plan.recipes.get(wanted, plan)
    if recipe is plan:                                   # not looked at yet: None says that there is no gradient
        bits = tuple(i for i in range(len(plan.inputs)) if wanted >> i & 1)
        recipe = plan.recipes[wanted] = plan.op.recipe(plan, bits)
    return recipe


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
    if recording == RARE:
        return _record_with_modes(recipe, edges, inputs, out)
    node = recipe.node_class()
    node.recipe, node.edges, node.extras = recipe, edges, None
    node.saved = () if recipe.keep is None else recipe.keep(out, *inputs)
    return node


def record_call(plan, inputs, out):
    """`record` for inputs whose nodes have not been looked at yet."""
    edges = tuple([x.node for x in inputs])
    wanted = 0
    for i, edge in enumerate(edges):
        if edge is not None:
            wanted |= 1 << i
    return record(plan, wanted, edges, inputs, out) if wanted else None


def _record_with_modes(recipe, edges, inputs, out):
    node = new(PointwiseNode)
    node.recipe, node.edges, node.extras = recipe, edges, None
    saved = [part for i in recipe.saves for part in (save(inputs[i]), inputs[i].memory.version)]
    node.saved = (*saved, save_result(out)) if recipe.saves_out else tuple(saved)
    if modes.anomaly:
        extras_of(node).trace = source_line()
    return node


# ---------------------------------------------------------------- nodes written for their recipe
@functools.cache
def _node_class(saves, saves_out, computed, gradients):
    """The class of the nodes of one shape of recipe.

    Args:
        saves: how many inputs it keeps; `saves_out`: whether the output too.
        computed: how many gradients its kernel writes.
        gradients: the source of each edge's gradient.
    """
    return type("PointwiseNode", (PointwiseNode,), {"__slots__": (), "backward": _backward(saves, saves_out, computed, gradients)})


@functools.cache
def _keeper(inputs, saves, saves_out):
    """The function that collects what a node saves, of an op of so many inputs; None where that is nothing."""
    if not saves and not saves_out:
        return None
    arguments = ", ".join(f"input{i}" for i in range(inputs))
    saved = "".join(f"input{i}, input{i}.memory.version, " for i in saves)
    storage = ""
    if saves_out:
        storage = "    storage = out.memory\n"
        saved += "(storage, out.address, out.layout, storage.version), "
    return make(f"""
def keep(out, {arguments}):
{storage}    return ({saved})
""", {}, "keep")


def _backward(saves, saves_out, computed, gradients):
    """The backward of a node: one kernel, and each gradient at its edge's place."""
    names = [f"saved{i}" for i in range(saves)]
    changed = [f"{n}.memory.version != {n}_version" for n in names]
    words = ["grad.address", *[f"{n}.address" for n in names]]
    known, steps = [], []
    parts = [f"{n}, {n}_version" for n in names]
    if saves_out:
        parts.append("(kept, address, layout, version)")
        changed.append("kept.version != version")
        words.append("address")
    if parts:
        known.append(f"{', '.join(parts)}, = self.saved")
        steps.append(f"if {' or '.join(changed)}:")
        steps.append("    return self.backward_slowly(grad)")
    if computed:
        known.append("plan = recipe.plans[grad.layout]")
        steps.append("".join(f"(ring{i}, layout{i}), " for i in range(computed)) + "= plan.places")
        for i in range(computed):
            steps += [*allocation(f"out{i}", f"ring{i}", f"layout{i}", "").splitlines(), f"out{i}.node = None"]
            words.append(f"out{i}_address")
        steps.append(f"plan.call({', '.join(words)}, plan.descriptor)")
    steps.append(f"return {', '.join(gradients)},")
    if known:                                            # a layout not seen before, or nothing saved any more
        steps = ["try:", *[f"    {step}" for step in known], "except (KeyError, TypeError):", "    pass", "else:",
                 *[f"    {step}" for step in steps], "return self.backward_slowly(grad)"]
    body = "".join(f"    {step}\n" for step in steps)
    return make(f"""
def backward(self, grad):
    recipe = self.recipe
{body}""", dict(ALLOCATION, fit=_fit), "backward")
