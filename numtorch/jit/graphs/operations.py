"""What a node of a graph can call: primitives, views, and what has no meaning but for the tape."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...autograd.graph import saved_tensors_hooks
from ...autograd.modes import enable_grad
from ...devices import cpu
from ...exchange.scalars import number
from ...func.tangents import VIEWS
from ...layout import Layout
from ...ops.core.primitive import miss, registry
from ...ops.memory.copies import clone, copied, to_device
from ...ops.memory.detach import detach
from ...ops.pointwise.pointwise import PointwiseOp
from ...ops.reduce.query import CHECK_PROBABILITIES
from ...tensor import Tensor, lasting
from ...tree import flatten
from ..capturing.complaints import Differs
from .epilogue import EPILOGUE, apart
from .fused import FUSED
from .gradients import PREFIX, is_gradient, run_gradient
from .scriptcalls import SCRIPTS

if TYPE_CHECKING:
    from .graph import Node

TRUTH = "truth"                                         # of a tensor and a truth value, which it must hold: a branch of Python's
CHECKS = {CHECK_PROBABILITIES.name, TRUTH}               # calls without results, which raise where values are no good
CONSTANT = "constant"                                    # of a value that the graph holds, under the name that is its attribute

# What is no primitive. The gradients of all of them are those of the functions named.
OTHERS: dict[str, Any] = {f"view.{name}": function for name, function in VIEWS.items()}
OTHERS["view.reread"] = lambda x, kind: x.view(kind)
OTHERS["detach"] = detach


def part(x: Tensor, shape: tuple, strides: tuple, offset: int) -> Tensor:
    """A region of a tensor, whatever view of it that is.

    Args:
        x: the tensor.
        shape, strides, offset: of the region, from the tensor's first element on. -1 is as many as the tensor has at that stride.
    """
    if -1 in shape:
        shape = tuple([x.shape[x.stride().index(step)] if n == -1 else n for n, step in zip(shape, strides)])
    return x.as_strided(shape, strides, x.storage_offset() + offset)


def put_part(x: Tensor, source: Tensor, shape: tuple, strides: tuple, offset: int) -> Tensor:
    """A copy of a tensor with another in a region of it.

    Args:
        x, source: the tensors.
        shape, strides, offset: of the region, as `part` has them.
    """
    out = clone(x)
    part(out, shape, strides, offset).copy_(source)
    return out


OTHERS["part"], OTHERS["put_part"] = part, put_part


def expect(x: Tensor, truth: bool) -> tuple:
    """Nothing, where a tensor of one element holds a truth value.

    Args:
        x: the tensor.
        truth: the value.

    Raises:
        Differs: it holds the other one.
    """
    if x.item() is not truth:
        raise Differs
    return ()


OTHERS[TRUTH] = expect


def in_order(tensor: Tensor, layout: Layout) -> Tensor:
    """A tensor as it is where it lies as a layout of its shape says, else a copy that does.

    Args:
        tensor: it.
        layout: what is wanted.
    """
    own = tensor.layout
    if own is layout or (own.shape, own.dtype, own.device) != (layout.shape, layout.dtype, layout.device) or \
            all(a == b for n, a, b in zip(own.shape, own.strides, layout.strides) if n != 1):
        return tensor
    if own.handler is not None:                          # one of a trace, say, where only ops give another order
        order = sorted(range(len(layout.shape)), key=lambda dim: -layout.strides[dim])
        return tensor.permute(order).contiguous().permute([order.index(dim) for dim in range(len(order))])
    return laid_out(tensor, layout)


def laid_out(tensor: Tensor, layout: Layout) -> Tensor:
    """A copy of a tensor that lies as a layout of its shape and dtype says, be it with gaps, or with elements that share memory.

    Args:
        tensor: it.
        layout: what is wanted.
    """
    if layout.extent()[0]:                               # rings have no memory before an address
        return lasting(layout).copy_(tensor)
    return copied(tensor, layout)


def is_known(op: str) -> bool:
    """Whether an op can be run.

    Args:
        op: its name.
    """
    return op in OTHERS or op in registry or op in (CONSTANT, FUSED.name, EPILOGUE.name, *SCRIPTS) or is_gradient(op)


def tensors_of(result: Any) -> list[Tensor]:
    """The tensors among what an op returns, in order.

    Args:
        result: a tensor, or a structure.
    """
    return [leaf for leaf in flatten(result)[0] if isinstance(leaf, Tensor)]


def run_op(op: str, inputs: list, attributes: tuple, writes: tuple, in_place=frozenset()) -> list[Tensor]:
    """An op's results, then what it wrote, which are copies.

    Args:
        op: its name.
        inputs, attributes: what it is called with.
        writes: the places of the inputs that it writes to.
        in_place: those of them that are written as they are.
    """
    for i in writes:
        inputs[i] = detach(inputs[i]) if i in in_place else clone(inputs[i])
    return run_in_place(op, inputs, attributes, writes)


def run_in_place(op: str, inputs: list, attributes: tuple, writes: tuple) -> list[Tensor]:
    """An op's results, then what it wrote.

    Args:
        op: its name.
        inputs, attributes: what it is called with.
        writes: the places of the inputs that it writes to.
    """
    if op.startswith(PREFIX):
        return run_gradient(op, inputs, attributes)
    if op == EPILOGUE.name and any(t is not None and t.layout.handler is not None for t in inputs):
        return apart(inputs, attributes)
    if op in OTHERS:
        result = OTHERS[op](*inputs, *attributes)
    else:
        primitive = registry[op]
        if isinstance(primitive, PointwiseOp):
            result = (primitive.inplace if writes else primitive.function)(*inputs)
        else:
            inputs = _together(inputs, primitive.mixes_devices)
            result = miss(primitive, tuple(inputs), attributes)
    written = [inputs[i] for i in writes]
    return [*[leaf for leaf in tensors_of(result) if not any(leaf is w for w in written)], *written]


def _together(inputs, mixes_devices):
    """Inputs with tensors in the place of numbers: on the others' device, unless the primitive looks after that."""
    if all(v is None or isinstance(v, Tensor) for v in inputs):
        return inputs
    where = next((v.layout.device for v in inputs if isinstance(v, Tensor)), cpu)
    made = [v if v is None or isinstance(v, Tensor) else number(v) for v in inputs]
    return made if where is cpu or mixes_devices else [v if v is None else to_device(v, where) for v in made]


def run_node(node: Node, inputs: list) -> list[Tensor]:
    """The values of a node. One that keeps some for its derivative is recorded: they are found among what the tape saves.

    Args:
        node: it.
        inputs: what stands in the places of its inputs.
    """
    if not node.keeps:
        return run_op(node.op, inputs, node.attributes, node.writes)
    saved: list[Tensor] = []

    def pack(tensor):
        saved.append(tensor)
        return tensor
    with enable_grad(), saved_tensors_hooks(pack, lambda tensor: tensor):
        for i in node.wanted:
            if inputs[i].node is None:
                inputs[i] = detach(inputs[i]).requires_grad_()
        results = run_op(node.op, inputs, node.attributes, node.writes)
    return [*results, *[detach(saved[i]) for i in node.keeps]]


def write_all(pairs: list[tuple[Tensor, Tensor]]) -> None:
    """Have tensors hold what others hold, all at once: one may be what another is to hold.

    Args:
        pairs: (what is written to, what it is to hold).
    """
    for target, value in [(target, clone(value)) for target, value in pairs] if len(pairs) > 1 else pairs:
        target.copy_(value)
