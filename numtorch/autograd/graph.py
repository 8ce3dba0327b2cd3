"""The graph that the tape records: leaves, nodes, and what nodes save.

A tensor's `node` is its place in the graph. A `Leaf` stands for a tensor whose gradient is wanted and keeps that gradient; a
`Node` stands for a recorded call: `edges` (the nodes of its inputs, None where no gradient is needed), what it saved with
the versions it had, and `backward(grad)`, which returns a gradient for each edge. Nodes never own the tensor they
produced, only its memory: a node that owned the tensor that owns it would be a cycle left to the garbage collector.
"""
from __future__ import annotations

import weakref
from inspect import CO_VARARGS
from typing import TYPE_CHECKING

from ..devices import cpu
from ..exchange.arrays import raw_array
from ..layout import formatted
from ..tensor import Tensor, alias, lasting, new, wrap
from .hooks import HookTable, NodeHook, PreHook
from .modes import RARE, modes, saved_tensors_hooks
from .nodenames import call_name, named
from .writes import source_line

if TYPE_CHECKING:                                        # that file puts its names here, where PyTorch has them
    from .graphtools import *  # noqa: F403


class Node:
    """A recorded call. Subclasses implement `backward`; several outputs are told apart by `Output` nodes.

    Attributes:
        edges: the inputs' nodes, None for those that need no gradient.
        extras: None, or an _Extras.
        saved: all that is kept for backward. The engine lets go of it by writing None.
    """

    __slots__ = ("edges", "extras", "saved", "__weakref__")
    outputs = 1

    def backward(self, grad):
        """Gradients for `edges`, in order, None where an edge is None. `grad` is the output's gradient."""
        raise NotImplementedError

    def differentiable_backward(self, grad):
        """The same by recorded ops, for `create_graph`. What `backward` runs is recorded by itself where it is made of ops."""
        return self.backward(grad)

    def __call__(self, *grad_outputs):
        """The gradients of the inputs for those of the outputs: this step of backward by itself."""
        if len(grad_outputs) != self.outputs:
            raise TypeError(f"expected {self.outputs} arguments, got {len(grad_outputs)} instead")
        grad = grad_outputs[0] if self.outputs == 1 else list(grad_outputs)
        given = self.differentiable_backward(grad) if modes.grad else self.backward(grad)
        return given[0] if len(given) == 1 else tuple(given)

    def name(self) -> str:
        """The node's name, such as `MulBackward0`.

        Example:
            >>> import numtorch as torch
            >>> (torch.tensor(3., requires_grad=True) * 2).grad_fn.name()
            'MulBackward0'
        """
        return type(self).__name__

    def title(self) -> str:
        """The name of what was called, as `draw` shows it."""
        return self.name().removesuffix("Backward0")

    def result_layout(self):
        """The layout of the call's result, where the node knows it."""
        return None

    def saved_names(self) -> tuple:
        """What the derivative calls the tensors that the node saved."""
        return ()

    def saved_layouts(self) -> list:
        """The layouts of these, None for what is not there."""
        return []

    def saved_at(self, position):
        """What has the name at a place among these."""
        return self.tensors()[position]

    @property
    def next_functions(self):
        """(node, output number) for every input; (None, 0) for one that needs no gradient.

        Example:
            >>> import numtorch as torch
            >>> node = (torch.tensor(3., requires_grad=True).exp() * 2).grad_fn
            >>> [None if n is None else n.name() for n, _ in node.next_functions]
            ['ExpBackward0', None]
        """
        return tuple((None, 0) if e is None else (named(e.edges[0]), e.index) if type(e) is Output else (named(e), 0)
                     for e in self.edges)

    @property
    def metadata(self) -> dict:
        """A place for the user's own notes.

        Example:
            >>> import numtorch as torch
            >>> node = torch.tensor(3., requires_grad=True).exp().grad_fn
            >>> node.metadata["from"] = "here"
            >>> node.metadata
            {'from': 'here'}
        """
        return extras_of(self).metadata

    def register_hook(self, hook):
        """Have a function called after this node's backward.

        Args:
            hook: `hook(grad_inputs, grad_outputs)`, tuples of gradients; it may return new grad_inputs.

        Returns:
            A handle whose `remove()` takes the hook off.

        Example:
            >>> import numtorch as torch
            >>> y = torch.tensor(3., requires_grad=True) * 2
            >>> handle = y.grad_fn.register_hook(lambda inputs, outputs: print(inputs[0], outputs[0]))
            >>> y.backward()
            tensor(2.) tensor(1.)
        """
        return add_hook(self, NodeHook(hook))

    def register_prehook(self, hook):
        """Have a function called before this node's backward.

        Args:
            hook: `hook(grad_outputs)`, a tuple of gradients; it may return new ones.

        Returns:
            A handle whose `remove()` takes the hook off.

        Example:
            >>> import numtorch as torch
            >>> x = torch.tensor(3., requires_grad=True)
            >>> y = x * 2
            >>> handle = y.grad_fn.register_prehook(lambda grads: (grads[0] * 10,))
            >>> y.backward()
            >>> x.grad
            tensor(20.)
        """
        return add_hook(self, PreHook(hook))

    def __repr__(self):
        return f"<{self.name()} object at {id(self):#x}>"


class _Extras:
    """What few nodes have: hooks, a tensor that keeps its gradient, the recorded source line, the user's notes."""

    __slots__ = ("hooks", "retained", "trace", "metadata")

    def __init__(self) -> None:
        self.hooks, self.retained, self.trace, self.metadata = HookTable(), None, None, {}


def extras_of(node) -> _Extras:
    """A node's extras, made when it has none."""
    if node.extras is None:
        node.extras = _Extras()
    return node.extras


def add_hook(node, hook):
    """Have a hook called with a node's gradient; the handle that takes it off."""
    return extras_of(node).hooks.add(hook)


class Leaf(Node):
    """The end of the graph at a tensor whose gradient is wanted. Keeps the gradient, and the hooks on it.

    Attributes:
        order: the layout of the gradient: the tensor's own where it fills a block of memory; None for row-major.
        ended: whether it was the variable of a transform (func/variables.py) whose function has returned.
    """

    __slots__ = ("grad", "layout", "order", "tensor", "post_hooks", "ended")

    def __init__(self, tensor) -> None:
        self.edges, self.extras, self.saved = (), None, None
        self.grad, self.post_hooks, self.ended = None, None, False
        self.lie_as(tensor.layout)
        self.tensor = weakref.ref(tensor)                # the tensor owns the leaf, so not the other way round

    def lie_as(self, layout):
        """The tensor has this layout now."""
        self.layout, self.order = layout, None if layout.contiguous else formatted(layout, "preserve_format")

    @property
    def variable(self):
        return self.tensor()

    def name(self):
        return "AccumulateGrad"

    def register_hook(self, hook):
        """Have `hook((), grad_outputs)` called after a gradient has been added to the tensor's `.grad`."""
        if self.post_hooks is None:
            self.post_hooks = HookTable()
        return self.post_hooks.add(NodeHook(hook))


Leaf.__name__ = Leaf.__qualname__ = "AccumulateGrad"     # see `named`; leaves are told by their class, and so have one


class Output(Node):
    """One of several outputs of a node."""

    __slots__ = ("index",)

    def __init__(self, node, index) -> None:
        self.edges, self.extras, self.saved, self.index = (node,), None, None, index

    def name(self):
        return self.edges[0].name()


def attach_outputs(node, tensors) -> None:
    """Make `node` the origin of several tensors."""
    edges, index = (node,), 0
    for tensor in tensors:
        output = tensor.node = new(Output)               # half the time of a call of the class
        output.edges, output.extras, output.saved, output.index = edges, None, None, index
        index += 1


# ---------------------------------------------------------------- saved tensors
class _Packed:
    """A saved tensor that went through `saved_tensors_hooks`, with the place in the graph and the layout it had."""

    __slots__ = ("value", "unpack", "node", "layout")

    def __init__(self, value, unpack, node, layout) -> None:
        self.value, self.unpack, self.node, self.layout = value, unpack, node, layout

    def restore(self, node):
        """The tensor again, standing behind `node`. Backward kernels were planned for its layout, so it gets that too."""
        with _hooks_off():
            tensor = self.unpack(self.value)
        if not isinstance(tensor, Tensor):
            raise TypeError(f"Output of saved tensor unpack_hook expected to be a Tensor but got result of type "
                            f"{type(tensor).__name__}")
        have, want = tensor.layout, self.layout
        if have.handler is not None:                     # a special tensor is taken as it is, by ops
            out = alias(tensor)
            out.node = node
            return out
        if have is not want:
            if have.shape != want.shape or have.dtype is not want.dtype or have.device is not want.device:
                raise RuntimeError(f"saved tensor unpack_hook: expected a {want.dtype} tensor of shape {list(want.shape)} on "
                                   f"{want.device}, got a {have.dtype} tensor of shape {list(have.shape)} on {have.device}")
            tensor = _laid_out(tensor, want)
        out = alias(tensor)
        out.layout, out.node = want, node
        return out


def _laid_out(tensor, layout):
    """A copy in a given layout, whose elements may share memory (an expanded tensor's do)."""
    out = lasting(layout)
    if layout.device is cpu:
        raw_array(out)[...] = raw_array(tensor)
    else:
        out.copy_(tensor.detach())
    return out


def save(tensor):
    """What a node keeps of a tensor: itself, or what the innermost saved-tensor hook made of it. Numbers are nothing to hooks."""
    if modes.saved_hooks and not tensor.layout.weak:
        return _Packed(*packed(tensor, tensor.memory), tensor.node, tensor.layout)
    return tensor


def packed(tensor, memory) -> tuple:
    """What the innermost saved-tensor hook makes of a tensor, and the function that gives the tensor back.

    Args:
        tensor: it.
        memory: the storage whose version counts writes to it: of a traced tensor, that of what it stands for.

    Raises:
        RuntimeError: the hook writes to the tensor.
    """
    pack, unpack = modes.saved_hooks[-1]
    version = memory.version
    with _hooks_off():
        made = pack(tensor)
    if memory.version != version:
        raise RuntimeError("A saved tensor pack hook is modifying its input in place. Tensors provided as input to pack hook "
                           "can not be modified by in-place operations as this can lead to unexpected side-effects: clone it.")
    return made, unpack


class _hooks_off:
    def __enter__(self):
        self.before = modes.saved_hooks
        modes.saved_hooks = ()

    def __exit__(self, *exception):
        modes.saved_hooks = self.before


def restore(saved, version, node):
    """The saved tensor; raises RuntimeError when it was changed in place since."""
    if type(saved) is _Packed:
        return saved.restore(saved.node)
    if saved.memory.version != version:
        raise modified(saved, version, node.name(), node.extras and node.extras.trace)
    return saved


def modified(tensor, version, saved_by, saved_at=None):
    """The error that a tensor is not what it was when a node, or a checkpointed call, of this name saved it."""
    source = tensor.node
    number = source.index if type(source) is Output else 0
    origin = f", which is output {number} of {source.name()}," if source is not None and not isinstance(source, Leaf) else ""
    lines = [f"one of the variables needed for gradient computation has been modified by an inplace operation: "
             f"[torch.{tensor.layout.dtype.title}Tensor {list(tensor.layout.shape)}]{origin} is at version "
             f"{tensor.memory.version}; expected version {version} instead. It was saved by {saved_by} and changed by "
             f"{tensor.memory.writer or 'an op'}."]
    changed_at = getattr(tensor.memory.writer, "line", None)
    if saved_at:
        lines.append(f"Saved at:\n{saved_at}")
    if changed_at:
        lines.append(f"Changed at:\n{changed_at}")
    if not saved_at:
        lines.append("Hint: enable anomaly detection to find the operations that did it, with "
                     "torch.autograd.set_detect_anomaly(True).")
    return RuntimeError("\n".join(lines))


def freed_error():
    return RuntimeError("Trying to backward through the graph a second time (or directly access saved tensors after they have "
                        "already been freed). Saved intermediate values of the graph are freed when you call .backward() or "
                        "autograd.grad(). Specify retain_graph=True if you need to backward through the graph a second time "
                        "or if you need to access saved tensors after calling backward.")


# ---------------------------------------------------------------- ops made of ops
class Recorded:
    """What a node was recorded for: a name and a derivative. The primitives of ops/ are such.

    Attributes:
        saves: what the derivative calls the tensors that nodes save; those from place `rest` on have one name.
        count: how many there are, None where that differs.
    """

    def __init__(self, name: str):
        self.name = self.key = name
        self.vjp, self.saves, self.rest, self.count = None, (), None, 0

    def derivative(self, vjp):
        """Decorator: the gradients of the inputs by ops, `vjp(node, grad, *saved)`: of what a node saves, then its results."""
        code = vjp.__code__
        variadic = bool(code.co_flags & CO_VARARGS)
        self.vjp, self.saves = vjp, code.co_varnames[2:code.co_argcount + variadic]
        self.rest, self.count = (len(self.saves) - 1, None) if variadic else (None, len(self.saves))
        return vjp

    def recorded(self, out, inputs, saved=(), attributes=None, *, saves_result=False):
        """A call's result, with a node where one of the inputs has one. What takes a microsecond or two writes this out.

        Args:
            out: the result.
            inputs: of which the derivative gives the gradients; None allowed.
            saved, attributes: as for `GraphNode`.
            saves_result: keep the result for the derivative too.
        """
        for tensor in inputs:
            if tensor is not None and tensor.node is not None:
                if modes.grad and out.layout.dtype.category >= 2:
                    edges = tuple([None if t is None else t.node for t in inputs])
                    node = out.node = GraphNode(self, edges, saved, attributes)
                    if saves_result:
                        node.save_results((out,))
                break
        return out

    def result_layout(self, node):
        """The layout of a call's result, where that is known."""
        return None

    def __repr__(self):
        return f"<{type(self).__name__.lower()} {self.name}>"


class GraphNode(Node):
    """A recorded call of a primitive whose derivative is made of ops.

    Args:
        primitive: what was called; `primitive.vjp(node, grad, *saved)` gives the gradients, `grad` being a list where the node has
            several outputs.
        edges: the inputs' nodes.
        saved: tensors to keep for backward (None allowed).
        attributes: what the derivative must know beside tensors, as plain values: the call's other arguments, or all that its plan
            was looked up by.
    """

    __slots__ = ("primitive", "attributes", "outputs")

    def __init__(self, primitive, edges, saved, attributes=None, outputs=1) -> None:
        self.primitive, self.edges, self.attributes, self.outputs = primitive, edges, attributes, outputs
        self.extras = None
        if not saved and modes.recording != RARE:
            self.saved = _NOTHING_SAVED
            return
        versions = [None if t is None else t.memory.version for t in saved]
        if modes.recording == RARE:
            saved = [None if t is None else save(t) for t in saved]
            if modes.anomaly:
                extras_of(self).trace = source_line()
        self.saved = saved, versions, ()

    def name(self):
        return call_name(self.primitive.name, self.attributes)

    def title(self):
        return self.primitive.name

    def result_layout(self):
        if self.saved and self.saved[2]:
            kept = self.saved[2][0]
            return kept.layout if type(kept) is _Packed else kept[2]
        return self.primitive.result_layout(self)

    def saved_names(self):
        return self.primitive.saves

    def saved_layouts(self):
        return [None if kept is None else kept.layout for kept in self.saved[0]] if self.saved else []

    def saved_at(self, position):
        kept = self.tensors()
        return tuple(kept[position:]) if position == self.primitive.rest else kept[position]

    def needs(self, index) -> bool:
        """Whether the gradient of input `index` is wanted."""
        return self.edges[index] is not None

    def tensors(self) -> list:
        """The saved tensors and results, checked against in-place changes."""
        if self.saved is None:
            raise freed_error()
        tensors, versions, results = self.saved
        if not tensors:
            return [rebuild_result(r, self, i) for i, r in enumerate(results)]
        found = []
        for kept, version in zip(tensors, versions):
            if kept is None or (type(kept) is not _Packed and kept.memory.version == version):
                found.append(kept)
            else:
                found.append(restore(kept, version, self))
        if results:
            found += [rebuild_result(r, self, i) for i, r in enumerate(results)]
        return found

    def save_results(self, tensors) -> None:
        """Save this node's own outputs: their memory, from which `tensors` makes tensors that lead back here."""
        self.saved = *self.saved[:2], [save_result(t) for t in tensors]

    def backward(self, grad):
        primitive = self.primitive
        count = primitive.count
        if count == 0:                                   # the first three are what `*` does, in half the time
            return primitive.vjp(self, grad)
        saved = self.tensors()
        if count == 1:
            return primitive.vjp(self, grad, saved[0])
        if count == 2:
            return primitive.vjp(self, grad, saved[0], saved[1])
        return primitive.vjp(self, grad, *saved)


_NOTHING_SAVED = (), (), ()


def save_result(tensor):
    """What a node keeps of its own output: its memory without the tensor, which would be a cycle."""
    if modes.saved_hooks:
        return save(wrap(tensor.memory, tensor.address, tensor.layout))
    return tensor.memory, tensor.address, tensor.layout, tensor.memory.version


def rebuild_result(kept, node, index=0):
    """An output that its own node saved, as a tensor that stands behind that node again."""
    place = node if node.outputs == 1 else Output(node, index)
    if type(kept) is _Packed:
        return kept.restore(place)
    storage, address, layout, version = kept
    out = wrap(storage, address, layout, place)
    if storage.version != version:
        raise modified(out, version, node.name(), node.extras and node.extras.trace)
    return out


def recording(*tensors) -> bool:
    """Whether a call on these tensors must be recorded."""
    for tensor in tensors:
        if tensor is not None and tensor.node is not None:
            return modes.grad
    return False


__all__ = ["GraphNode", "Leaf", "Node", "Output", "saved_tensors_hooks"]


def __getattr__(name):
    """PyTorch's names that are not here, and why (alias)."""
    if name.startswith("__"):                            # which the import system asks for
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from ..alias import attribute
    return attribute(__name__, name)
