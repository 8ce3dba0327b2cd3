"""What a call may change, kept and put back: memory, versions, gradients, random streams, what optimisers have prepared."""
from __future__ import annotations

import numpy as np

from ...devices import cpu
from ...dtypes import complex32, complex64, float32, float64
from ...exchange.arrays import raw_array
from ...ops.memory.copies import to_device
from ...ops.memory.detach import detach
from .contents import bytes_of, put_bytes

ROUNDING = {"float64": 1e-10, "float32": 1e-4, "float16": 1e-2, "bfloat16": 4e-2}      # of a tensor's largest element
NUDGES = 8.0


class Snapshot:
    """What a call begins with.

    Args:
        storages, tensors: memory that it may write to, and tensors in such memory.
        leaves: of the tape, whose gradients it may set.
        optimizers, generators: those that it uses.
    """

    def __init__(self, storages, tensors, leaves, optimizers, generators) -> None:
        self.gradients = [(leaf, leaf.grad) for leaf in leaves]
        memory = [*storages, *[t.memory for t in tensors], *[grad.memory for _, grad in self.gradients if grad is not None]]
        self.memory = [(s, bytes_of(s.address, s.nbytes, s.device), None if s.inference else (s.version, s.writer))
                       for s in {id(s): s for s in memory}.values()]
        self.streams = [(g, g._seed, g._offset) for g in generators]
        self.prepared = [(o, list(o._prepared)) for o in optimizers]

    def positions(self) -> list:
        """Where its random streams are now."""
        return [(generator._seed, generator._offset) for generator, _, _ in self.streams]

    def restore(self) -> None:
        """Put everything back."""
        for storage, content, writes in self.memory:
            put_bytes(storage.address, content, storage.device)
            if writes is not None:                       # memory of inference mode counts none
                storage.version, storage.writer = writes
        for leaf, grad in self.gradients:
            leaf.grad = grad
        for generator, seed, offset in self.streams:
            generator._seed, generator._offset = seed, offset
        for optimizer, prepared in self.prepared:
            optimizer._prepared = prepared


def content(tensor):
    """A tensor's elements for `alike`: None where there is no tensor."""
    if tensor is None:
        return None
    kind, tensor = tensor.layout.dtype, to_device(detach(tensor), cpu)
    if kind is complex32:                                # which NumPy does not have
        tensor = tensor.to(complex64)
    if kind.is_complex or kind.category < 2:
        return None, tensor.contiguous().numpy().copy()
    return ROUNDING[kind.name], tensor.to(float64).contiguous().numpy().copy()


def nudge(tensors) -> None:
    """Change elements by as much as rounding could have: a few units in the last place, towards 0, so that probabilities stay such.

    Args:
        tensors: those of float32 and float64 are changed.
    """
    rng = np.random.default_rng(0)
    for tensor in {(t.address, t.layout): t for t in tensors if t.layout.dtype in (float32, float64) and t.layout.numel}.values():
        here = to_device(detach(tensor), cpu)            # the tensor itself where that is on the host
        words = raw_array(here)
        change = 4 * np.finfo(words.dtype).eps * abs(rng.standard_normal(words.shape))
        words -= np.where(np.isfinite(words), words, 0) * change.astype(words.dtype)         # a mask's infinities stay
        if here.layout is not tensor.layout:
            detach(tensor).copy_(here)


def alike(one, other, nudged) -> bool:
    """Whether two tensors are equal but for rounding: integers in every bit, others by a fraction of the largest element
    (`ROUNDING`), or by some times what a nudge changes: a gradient that would be 0 is nothing but rounding, of which an optimiser
    may make a whole step.

    Args:
        one, other: of `content`.
        nudged: what `other` is where the call begins with nudged tensors.
    """
    if one is None or other is None:
        return one is other
    (rounding, a), (_, b) = one, other
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    if rounding is None:
        return a.tobytes() == b.tobytes() if a.dtype.kind != "c" else bool(np.allclose(a, b, 1e-4, 1e-4, True))
    finite = np.isfinite(b)
    if not np.array_equal(finite, np.isfinite(a)) or not np.array_equal(a[~finite], b[~finite], equal_nan=True):
        return False
    if not finite.any():
        return True
    a, b, c = a[finite], b[finite], nudged[1][finite]
    return bool(abs(a - b).max() <= rounding * abs(b).max() + NUDGES * abs(np.nan_to_num(c) - b).max())
