"""How elementwise calls are recorded, and what their backward runs.

A `Recipe` says, for a set of inputs that need gradients, what to save and which gradients are computed or passed on. A
`PointwiseNode` keeps what the recipe asked for; its backward is one fused kernel, or with `create_graph` the ops of the formula.
"""
from __future__ import annotations

from ..autograd.graph import Node, extras_of, freed_error, rebuild_result, restore, save, save_result, source_line
from ..autograd.modes import RARE, modes
from ..tensor import Tensor, empty, new, wrap
from .expression import evaluate
from .op import registry


class Recipe:
    """What to record for a call when a given set of its inputs needs gradients, and how to compute them.

    Attributes:
        wanted: the inputs that need gradients; `expressions` are their formulas.
        saves: the inputs to keep; `saves_out`: whether the output is kept.
        passed: those of `wanted` whose gradient is the output's gradient itself.
        plans: backward kernels by the gradient's layout.
    """

    __slots__ = ("wanted", "expressions", "saves", "saves_out", "passed", "computed", "plans", "shapes", "dtypes", "trivial",
                 "plan")


class BackwardPlan:
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


def _title(recipe):
    return "".join(p.capitalize() for p in recipe.plan.op.name.split("_")) + "Backward0"


class PassNode(Node):
    """A recorded call whose inputs' gradients are the result's own, such as a sum of tensors of one shape."""

    __slots__ = ("recipe",)

    def name(self):
        return _title(self.recipe)

    def backward(self, grad):
        return (grad, grad)[:len(self.edges)]            # the engine does not look at the gradient of an edge that is None


class PointwiseNode(Node):
    """A recorded elementwise call."""

    __slots__ = ("recipe", "saved", "versions", "result")

    def name(self):
        return _title(self.recipe)

    def release(self):
        recipe = self.recipe
        if recipe.saves or recipe.saves_out:
            self.saved = self.result = None

    def backward(self, grad):
        recipe = self.recipe
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
            kept = self.result
            if type(kept) is not tuple or kept[0].version != kept[3]:
                kept = rebuild_result(kept, self)        # unpacks it, or says who changed it
                unpacked.append(kept)
                words.append(kept.address)
            else:
                words.append(kept[1])
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
            if tensor.layout.weak:                       # an op on a lone number would take the default dtype
                tensor = registry["to_dtype"].function(wrap(tensor.storage, tensor.address, tensor.layout.dense()),
                                                       recipe.plan.out.dtype)
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
    if recording == RARE:
        return _record_with_modes(recipe, edges, inputs, out)
    return record_plainly(recipe, edges, inputs, out)


def record_plainly(recipe, edges, inputs, out):
    """The node for a recipe, without the rarer modes."""
    if recipe.trivial:
        node = new(PassNode)
        node.recipe, node.edges, node.extras = recipe, edges, None
        return node
    node = new(PointwiseNode)
    node.recipe, node.edges, node.extras = recipe, edges, None
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


def _record_with_modes(recipe, edges, inputs, out):
    node = new(PointwiseNode)
    node.recipe, node.edges, node.extras = recipe, edges, None
    node.versions = [inputs[i].storage.version for i in recipe.saves]
    node.saved = [save(inputs[i]) for i in recipe.saves]
    kept = (out.storage, out.address, out.layout, out.storage.version) if recipe.saves_out else None
    if recipe.saves_out and modes.saved_hooks:
        kept = save_result(out)
    node.result = kept
    if modes.anomaly:
        extras_of(node).trace = source_line()
    return node
