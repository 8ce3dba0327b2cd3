"""What a captured call begins with: its arguments, the gradients and memory that it can reach, and how often these were written."""
from __future__ import annotations

from ...autograd.graph import Leaf
from .places import alive, in_use, version


class Before:
    """What a captured call begins with.

    Args:
        tensors: its arguments that are tensors.
        reach: what it can reach.
        all_memory: whether to note the versions of all memory, and not of arguments and what is reached alone.
        given: its arguments, as (args, kwargs).
    """

    def __init__(self, tensors, reach, all_memory: bool = True, given: tuple = ()) -> None:
        self.tensors, self.reach, self.all_memory, self.given = tensors, reach, all_memory, given
        self.leaves = {t.node: t.node.grad for _, t in reach.tensors.values() if type(t.node) is Leaf}
        held = (*tensors, *[t for _, t in reach.tensors.values()], *[grad for grad in self.leaves.values() if grad is not None])
        self.storages = list({id(t.memory): t.memory for t in held}.values())
        noted = alive() if all_memory else self.storages
        self.versions, self.used = {id(s): version(s) for s in noted}, in_use(noted)
        self.places = [(t, t.memory, t.address, t.layout, t.node) for _, t in reach.tensors.values()]

    def nodes(self) -> set:
        """The places on the tape that its tensors have."""
        return {*[tensor.node for tensor in self.tensors], *[node for *_, node in self.places]}

    def moved(self) -> str | None:
        """A tensor that the call has given other memory, another layout or another place on the tape, by how it is reached."""
        for tensor, memory, address, layout, node in self.places:
            if tensor.memory is not memory or tensor.address != address or tensor.layout is not layout or tensor.node is not node:
                return self.reach.tensors[id(tensor)][0]
        return None
