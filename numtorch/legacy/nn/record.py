"""How a module or a criterion computes: a formula of ops, run under the tape on tensors of its own.

Gradients are those of the tape, so no class writes any but `Linear`, whose weight's product adds to them where they are kept. The
record of the last run is kept until the next; it is no part of what is saved, cloned or converted.
"""
from __future__ import annotations

import functools

from ...autograd.api import grad
from ...autograd.engine import run_backward
from ...autograd.graph import Leaf, Output
from ...autograd.modes import enable_grad, modes
from ...layout import contiguous_format
from ...ops.creation.fill import ones, zeros
from ...tensor import Tensor, wrap
from ...tree import map_tensors, tensors_in


def _leaf(tensor):
    leaf = wrap(tensor.memory, tensor.address, tensor.layout)
    if tensor.layout.dtype.is_floating_point:
        leaf.node = Leaf(leaf)
    return leaf


def _state(input, weights, fixed) -> list:
    """Where the tensors that a formula is given are, and how often each has been written to."""
    seen: list = []
    for value in (input, *weights.values(), *fixed):
        for tensor in (value,) if isinstance(value, Tensor) else tensors_in(value):
            storage = tensor.memory
            seen += storage, storage.version, tensor.address, tensor.layout
    return seen


def _listed(structure) -> list:
    """The tensors in a structure."""
    return [structure] if isinstance(structure, Tensor) else list(tensors_in(structure))


class Record:
    """One run of a formula: first what it is given, then `run`.

    Args:
        input: a tensor or a table of them.
        weights: parameters by name.
        fixed: what else the formula is given; it has no gradient.
        tracked: whether the input's gradient may be asked for.
        untracked: names of weights whose gradients may not.

    Attributes:
        leaves: the input as the formula was given it.
        inputs: the tensors in it.
        weights: the parameters as the formula was given them.
        result: what it returned, after `run`.
    """

    __slots__ = ("leaves", "inputs", "weights", "result", "tracked", "_seen", "_fixed")

    def __init__(self, input, weights, fixed=(), tracked: bool = True, untracked=()) -> None:
        taken = _leaf if tracked else Tensor.detach
        if isinstance(input, Tensor):
            self.leaves = leaf = taken(input)
            self.inputs = [leaf]
        else:
            self.leaves = map_tensors(taken, input)
            self.inputs = _listed(self.leaves)
        self.tracked, self._fixed = tracked, fixed
        self.weights = weights and {name: weight.detach() if name in untracked else _leaf(weight)
                                    for name, weight in weights.items()}
        self._seen = _state(input, weights, fixed)

    def run(self, formula) -> Record:
        """Compute the result.

        Args:
            formula: `formula(input, *fixed, **weights)`, of ops.

        Returns:
            This record.
        """
        if not modes.grad:
            with enable_grad():
                self.result = formula(self.leaves, *self._fixed, **self.weights)
        elif self._fixed or self.weights:
            self.result = formula(self.leaves, *self._fixed, **self.weights)
        else:
            self.result = formula(self.leaves)
        return self

    def stands_for(self, input) -> None:
        """Remember another input than that which the formula was run on.

        Args:
            input: of the same structure.
        """
        seen = _state(input, {}, ())
        self._seen = [*seen, *self._seen[len(seen):]]

    def is_of(self, input, weights, fixed=()) -> bool:
        """Whether these are what the formula was run on, unchanged.

        Args:
            input, weights, fixed: as they were given.
        """
        if _state(input, weights, fixed) != self._seen:
            return False
        return not fixed or all(isinstance(given, (Tensor, list)) or known == given for known, given in zip(self._fixed, fixed))

    def gradients(self, wanted, grad_output=None) -> list:
        """The gradients of some leaves, zeros for those that have none.

        Args:
            wanted: a list of leaves.
            grad_output: the gradient of the result, of its structure; None for 1.

        Raises:
            RuntimeError: a gradient that does not fit the result.
        """
        results, given = _listed(self.result), [None] if grad_output is None else _listed(grad_output)
        if len(results) != len(given):
            raise RuntimeError(f"expected a gradOutput for each of {len(results)} outputs, got {len(given)}")
        roots = [result for result in results if result.node is not None]
        leaves = [leaf for leaf in wanted if leaf.node is not None]
        if not roots or not leaves:
            return [_zeros(leaf) for leaf in wanted]
        starts = None if grad_output is None else [start for start, result in zip(given, results) if result.node is not None]
        computed = grad(roots, leaves, starts, retain_graph=True, allow_unused=True)
        if len(computed) == len(wanted) and all(gradient is not None for gradient in computed):
            return list(computed)
        ready = iter(computed)
        gradients = [None if leaf.node is None else next(ready) for leaf in wanted]
        return [_zeros(leaf) if gradient is None else gradient for leaf, gradient in zip(wanted, gradients)]

    def loss_gradients(self) -> list:
        """The gradients of the input's tensors where the result is a loss, in memory of their own."""
        result = self.result
        if result.node is not None and result.layout.shape == ():
            return self.add_gradients(_one(result.layout.dtype, result.layout.device), {}, True)
        return apart(self.gradients(self.inputs), ())

    def can_add(self, grad_output) -> bool:
        """Whether `add_gradients` takes this gradient: one tensor, for one result that was recorded.

        Args:
            grad_output: the gradient of the result.
        """
        result = self.result
        if type(result) is not Tensor or type(grad_output) is not Tensor or result.node is None:
            return False
        own, given = result.layout, grad_output.layout
        return given is own or (given.shape == own.shape and given.dtype is own.dtype and given.device is own.device)

    def add_gradients(self, grad_output, totals, of_input: bool) -> list:
        """One backward for all that there is: weights' gradients are added where they are kept, as the engine comes to them.

        Args:
            grad_output: the gradient of the result.
            totals: the tensors that the weights' gradients are added to, by name.
            of_input: whether the input's gradients are asked for.

        Returns:
            The gradients of the input's tensors, zeros for those that have none, in memory of their own; none where they are not
            asked for.
        """
        node, state = self.result.node, modes.__dict__   # this thread's; as a dict it costs a third of attribute access
        sums: dict = {}
        for name, total in totals.items():
            sums[self.weights[name].node] = total
        if _one_op(node) and not state["anomaly"]:       # what the engine would do for one node, which most formulas are
            before = state["recording"], state["grad"]
            state["recording"] = state["grad"] = False
            try:
                outgoing, taken = node.backward(grad_output), [grad_output.memory]
                for leaf, gradient in zip(node.edges, outgoing):
                    if leaf is not None and gradient is not None:
                        total = sums.get(leaf)
                        if total is not None:
                            total.add_(gradient)
                        elif of_input:
                            sums[leaf] = _own(gradient, taken)
            finally:
                state["recording"], state["grad"] = before
            by_leaf = sums
        else:
            for leaf, total in sums.items():
                leaf.grad = total
            try:
                run_backward((node,), (grad_output,), True, False)
                by_leaf = {leaf.node: leaf.node.grad for leaf in self.inputs if leaf.node is not None}
            finally:
                for leaf in (*self.inputs, *self.weights.values()):
                    if leaf.node is not None:
                        leaf.node.grad = None
        if not of_input:
            return []
        gradients = []
        for leaf in self.inputs:
            gradient = by_leaf.get(leaf.node)
            gradients.append(_zeros(leaf) if gradient is None else gradient)
        return gradients

    def like_input(self, tensors):
        """Tensors in the structure of the input.

        Args:
            tensors: a list of one for each tensor of the input.
        """
        if isinstance(self.leaves, Tensor):
            return tensors[0]
        ready = iter(tensors)
        return map_tensors(lambda leaf: next(ready), self.leaves)


def _one_op(node) -> bool:
    """Whether behind a node there are leaves only, and nobody has a hook on any of them."""
    if node.outputs != 1 or node.extras is not None or type(node) in (Leaf, Output):
        return False
    for edge in node.edges:
        if edge is not None and (type(edge) is not Leaf or edge.extras is not None or edge.post_hooks is not None):
            return False
    return True


def _zeros(leaf):
    return leaf.detach().clone().zero_()


@functools.cache
def _nothing(dtype, device):
    return zeros(0, dtype=dtype, device=device)


@functools.cache
def _one(dtype, device):
    return ones((), dtype=dtype, device=device)


def emptied(buffer):
    """The buffer, without memory: what it had is free for what is computed next, and still warm in the cache.

    Args:
        buffer: a tensor, a table, None or a number.
    """
    if isinstance(buffer, Tensor):
        layout = buffer.layout
        _take(buffer, _nothing(layout.dtype, layout.device))
    elif isinstance(buffer, list):
        for item in buffer:
            emptied(item)
    return buffer


def _take(buffer, value):
    """`buffer.set_(value)`, for a value of its dtype and device: a fifth of the time where nobody has made a view of the buffer."""
    if buffer.node is None and not buffer.__dict__:
        buffer.memory, buffer.address, buffer.layout = value.memory, value.address, value.layout
        return buffer
    return buffer.set_(value)


def kept(buffer, value):
    """The buffer, holding a value: tensors and tables stay the same objects where they can, and take on the value's memory.

    Args:
        buffer: a tensor, a table or None.
        value: a tensor or a table of tensors.
    """
    if isinstance(value, Tensor):
        if isinstance(buffer, Tensor) and buffer.layout.dtype is value.layout.dtype and buffer.layout.device is value.layout.device:
            return _take(buffer, value)
        return value.detach()
    if not isinstance(buffer, list) or len(buffer) != len(value):
        return [kept(None, item) for item in value]
    buffer[:] = [kept(*pair) for pair in zip(buffer, value)]
    return buffer


def apart(gradients, others) -> list:
    """Gradients as their holders may write to them: none shares memory with another, with itself or with `others`.

    Args:
        gradients: a list of tensors.
        others: a tensor or a table of tensors.
    """
    taken = [tensor.memory for tensor in _listed(others)]
    return [_own(gradient, taken) for gradient in gradients]


def _own(gradient, taken):
    """A gradient, or its copy where its storage is taken or an element stands for several; its storage is taken then."""
    layout = gradient.layout
    if gradient.memory in taken or not (layout.contiguous or layout.non_overlapping_and_dense()):
        gradient = gradient.clone(memory_format=contiguous_format)
    taken.append(gradient.memory)
    return gradient


def total(gradients):
    """The sum of tensors, or of tables of one structure element by element.

    Args:
        gradients: a list of them.
    """
    first, *others = gradients
    if isinstance(first, Tensor):
        out = first.clone()
        for other in others:
            out.add_(other)
        return out
    if any(not isinstance(other, list) or len(other) != len(first) for other in others):
        raise RuntimeError("expected tables of one size from all modules")
    return [total(row) for row in zip(*gradients)]
