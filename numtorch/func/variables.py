"""Variables: arguments with a place of their own in the graph, and gradients with respect to them.

There is one tape, of ordinary tensors. Inside of `vmap` a variable is expanded to all samples first, so that each has a gradient
of its own; the gradients of special tensors are taken of the tensors inside.
"""
from __future__ import annotations

from ..autograd.api import grad as gradients_of
from ..autograd.engine import arithmetic
from ..autograd.graph import GraphNode, Leaf, Recorded
from ..ops.creation.fill import zeros_like
from ..ops.memory.detach import detach
from ..sparse.coo import LINEAR
from ..tensor import Tensor, wrap
from .batching import Batched, BatchLevel, active_batches, batched
from .dual import dual_of, parts_at
from .levels import Wrapping, innermost, levels_of, tensor_of

_VARIABLE = Recorded("variable")
LINEAR.add(_VARIABLE)


@_VARIABLE.derivative
def _variable_vjp(node, grad):
    return (grad,)


# ---------------------------------------------------------------- variables
def end(variables) -> None:
    """The function of variables has returned: no gradient but their transform's own is asked for them any more."""
    for place in places(variables):
        if isinstance(place, Leaf):
            place.ended = True


def variable(x: Tensor, outer: bool = True) -> Tensor:
    """A tensor over the same memory that has a place of its own in the graph, and in it leads to x's where `outer` says so."""
    for level in active_batches():
        x = level.as_sample(x)
    return own_place(x, outer)


def own_place(x, outer):
    layout = x.layout
    if isinstance(layout, Wrapping):
        return tensor_of(layout.with_value(own_place(layout.value, outer)))
    if layout.dtype.category < 2:
        raise RuntimeError(f"only Tensors of floating point and complex dtype can require gradients, got {layout.dtype}")
    out = wrap(x.memory, x.address, layout) if layout.handler is None else detach(x)        # a sparse tensor has no address
    out.node = GraphNode(_VARIABLE, (x.node,), ()) if outer and x.node is not None else Leaf(out)
    return out


def without_graph(x):
    """x without its place in the graph, whatever else it takes part in: tangents of outer transforms stay, which `detach` drops."""
    layout = x.layout
    return tensor_of(layout.replaced(without_graph)) if isinstance(layout, Wrapping) else detach(x)


arithmetic.without_graph = without_graph


def leads_on(roots, variables) -> bool:
    """Whether the graph leads on from variables, or to leaves that are none of them nor of a transform inside that has ended."""
    ends = {innermost(v).node for v in variables}
    if any(not isinstance(end, Leaf) for end in ends):
        return True
    seen = {node for node in roots if node is not None}
    pending = list(seen)
    for node in pending:
        if isinstance(node, Leaf):
            if node not in ends and not node.ended:
                return True
            continue
        for edge in node.edges:
            if edge is not None and edge not in seen:
                seen.add(edge)
                pending.append(edge)
    return False


def places(tensors) -> list:
    """The places in the graph of tensors and of all that they are made of."""
    result = []
    pending = list(tensors)
    for x in pending:
        if isinstance(x.layout, Wrapping):
            pending += x.layout.parts()
        elif x.node is not None:
            result.append(x.node)
    return result


# ---------------------------------------------------------------- the gradients of special tensors
def gradients(outputs, variables, grads, create_graph) -> list:
    """The gradients of outputs with respect to variables; zeros where they do not depend on them. The graph is kept.

    Args:
        outputs: tensors.
        variables: tensors that `variable` made.
        grads: what each output's gradient is.
        create_graph: whether the gradients are recorded.
    """
    of_variables = levels_of(variables)
    for level in levels_of([*outputs, *variables, *grads]):
        if level.has_tangents:
            return _dual_gradients(level, outputs, variables, grads, create_graph)
        if isinstance(level, BatchLevel) and level in of_variables:
            outputs, variables, grads = [[without(x, level) for x in each] for each in (outputs, variables, grads)]
            return [within(g, level) for g in gradients(outputs, variables, grads, create_graph)]
    recorded = [(o, g) for o, g in zip(outputs, grads) if o.node is not None]
    if not recorded:
        return [zeros_like(detach(v)) for v in variables]
    computed = gradients_of([o for o, _ in recorded], variables, [g for _, g in recorded], create_graph=create_graph,
                            retain_graph=True, allow_unused=True)
    return [zeros_like(detach(v)) if g is None else g for g, v in zip(computed, variables)]


def _with_tangents(found, outputs, inputs, grads, create_graph) -> list:
    """The gradients that `autograd.grad` found, with the tangents that they have where the outputs have some."""
    if not any(level.has_tangents for level in levels_of(outputs)):
        return found
    again = gradients(outputs, inputs, grads, create_graph)
    return [None if gradient is None else with_tangent for gradient, with_tangent in zip(found, again)]


arithmetic.with_tangents = _with_tangents


def _dual_gradients(level, outputs, variables, grads, create_graph):
    """The gradient's tangent is the gradient of the outputs' tangents, and what the tangents of their gradients give."""
    outputs, grads = [parts_at(o, level) for o in outputs], [parts_at(g, level) for g in grads]
    variables = [parts_at(v, level)[0] for v in variables]
    result = gradients([o for o, _ in outputs], variables, [g for g, _ in grads], create_graph)
    pairs = [(tangent, grad) for (_, tangent), (grad, _) in zip(outputs, grads) if tangent is not None]
    pairs += [(output, tangent) for (output, _), (_, tangent) in zip(outputs, grads) if tangent is not None]
    if not pairs:
        return result
    tangents = gradients([o for o, _ in pairs], variables, [g for _, g in pairs], create_graph)
    return [_dual_inside(g, t, level) for g, t in zip(result, tangents)]


def _dual_inside(x, tangent, level):
    """`parts_at` undone: a dual tensor at a level, within what x and its tangent take part in at transforms inside of it."""
    inner = levels_of([x, tangent])
    if not inner or inner[0].rank <= level.rank:
        return dual_of(x, tangent, level)
    if isinstance(inner[0], BatchLevel):
        return batched(_dual_inside(inner[0].all_samples(x), inner[0].all_samples(tangent), level), inner[0])
    each = [[zeros_like(detach(part)) if part is None else part for part in parts_at(both, inner[0])] for both in (x, tangent)]
    return dual_of(*[_dual_inside(*parts, level) for parts in zip(*each)], inner[0])


def without(x, level):
    """x as a tensor of all samples of a level of vmap, which come first, whatever else it takes part in."""
    layout = x.layout
    if not isinstance(layout, Wrapping) or layout.handler.rank < level.rank:
        return level.all_samples(x)
    if layout.handler is level:
        return layout.value
    if isinstance(layout, Batched):
        return batched(without(layout.value, level).transpose(0, 1), layout.handler)
    return tensor_of(layout.replaced(lambda part: without(part, level)))


def within(x, level):
    """`without` undone."""
    layout = x.layout
    if not isinstance(layout, Wrapping) or layout.handler.rank < level.rank:
        return batched(x, level)
    if isinstance(layout, Batched):
        return batched(within(layout.value.transpose(0, 1), level), layout.handler)
    return tensor_of(layout.replaced(lambda part: within(part, level)))
