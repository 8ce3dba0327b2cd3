"""Derivatives of primitives as calls of a graph that is not differentiated again: `gradient.softmax(%grad, %result)` runs what
backward runs, kernels included, where a trace to be differentiated has the ops that the derivative is made of."""
from __future__ import annotations

from ...autograd.graph import GraphNode, Node
from ...autograd.modes import no_grad
from ...ops.core.primitive import registry
from ...ops.memory.detach import detach
from ...ops.pointwise.pointwise import PointwiseOp
from ...ops.pointwise.tape import PointwiseNode, recipe_for

PREFIX = "gradient."
# Whose derivatives are ops that others are put together with: elementwise calls, and what only lies otherwise.
BY_OPS = frozenset(("sum", "mean", "copy", "to_copy", "clone", "fused", "expand"))


class _Wanted(Node):
    """Stands for an input whose gradient is wanted."""

    __slots__ = ()

    def __init__(self) -> None:
        self.edges, self.extras, self.saved = (), None, None


_WANTED = _Wanted()


def is_gradient(op: str) -> bool:
    """Whether an op is the derivative of a primitive.

    Args:
        op: its name.
    """
    primitive = registry.get(op.removeprefix(PREFIX)) if op.startswith(PREFIX) else None
    return getattr(primitive, "vjp", None) is not None or (isinstance(primitive, PointwiseOp) and primitive.differentiable)


def differentiated(node: Node, exact: bool):
    """The primitive whose derivative is one call at a node; None where it is ops, or Python such as the hooks of a module.

    Args:
        node: of the tape.
        exact: whether elementwise calls have one, too: the kernel that backward runs, where that gives all that is wanted.
    """
    primitive = None
    if isinstance(node, GraphNode) and type(node).backward is GraphNode.backward and node.primitive.name not in BY_OPS:
        primitive = node.primitive
    elif exact and isinstance(node, PointwiseNode):
        recipe = node.recipe
        if not any(recipe.passed) and not any(recipe.inputs[i].weak for i in recipe.saves):
            primitive = recipe.op
    return None if primitive is None or registry.get(primitive.key) is not primitive else primitive


def run_gradient(op: str, inputs: list, attributes: tuple) -> list:
    """The gradients that a derivative gives, None left out.

    Args:
        op: its name.
        inputs: gradients of results, what the call saved, and those of its results that it saved.
        attributes: how many gradients and saved results there are, the first None for one alone; which inputs' gradients are
            wanted; the attributes of the call.
    """
    grads, results, wanted, own = attributes
    primitive, first, last = registry[op.removeprefix(PREFIX)], 1 if grads is None else grads, len(inputs) - results
    with no_grad():
        inputs = [None if t is None else detach(t) for t in inputs]
        if isinstance(primitive, PointwiseOp):
            return _run_kernel(primitive, inputs[0], inputs[first:last], inputs[last:], wanted, own)
        node = GraphNode(primitive, tuple([_WANTED if each else None for each in wanted]), (), own, first)
        saved = inputs[first:last]
        kept = [(t.memory, t.address, t.layout, t.memory.version) for t in inputs[last:]]
        node.saved = saved, [None if t is None else t.memory.version for t in saved], kept
        gradients = node.backward(inputs[0] if grads is None else inputs[:first])
    return [grad for grad in gradients if grad is not None]


def _run_kernel(op, grad, saved, results, wanted, layouts):
    """The gradients of an elementwise call of operands of these layouts."""
    node = PointwiseNode()
    node.recipe = recipe_for(op.planned_for(layouts, ()), sum(1 << i for i, each in enumerate(wanted) if each))
    node.edges, node.extras = tuple([_WANTED if each else None for each in wanted]), None
    node.saved = (*[part for t in saved for part in (t, t.memory.version)],
                  *[(t.memory, t.address, t.layout, t.memory.version) for t in results])
    return [gradient for gradient in node.backward_slowly(grad) if gradient is not None]


def given_to(node: GraphNode | PointwiseNode, grad) -> tuple[list, tuple]:
    """The inputs and attributes of a node's derivative.

    Args:
        node, grad: of the tape, and the gradient of its results.
    """
    wanted = tuple([edge is not None for edge in node.edges])
    if isinstance(node, PointwiseNode):
        return [grad, *node.tensors()], (None, int(node.recipe.saves_out), wanted, node.recipe.inputs)
    saved, results = node.tensors(), node.saved[2]
    grads = grad if isinstance(grad, list) else [grad]
    return [*grads, *saved], (len(grads) if isinstance(grad, list) else None, len(results), wanted, node.attributes)
