"""Selective checkpointing: of a checkpointed part, chosen ops keep their results, and backward computes only the others again.

The first run sees every call of a public function (torchfunction.py) and asks a policy. Of a call whose result is kept it is also
noted where each tensor that its node saves came from: an argument, the result, or neither. In the second run such a call is not
made: its result is the kept one, and what it would save is found from the arguments at hand.
"""
from __future__ import annotations

import enum
import functools
from collections import defaultdict, deque
from collections.abc import Callable
from typing import Any

from ..autograd.graph import GraphNode, Recorded
from ..interposition import operations
from ..tensor import wrap
from ..torchfunction import TorchFunctionMode
from ..tree import tensors_in
from .checkpoint import runs

__all__ = ["CheckpointPolicy", "SelectiveCheckpointContext", "create_selective_checkpoint_contexts"]


class CheckpointPolicy(enum.Enum):
    """What becomes of an op's result. PREFER leaves it to a compiler, which there is none of: it is as MUST."""
    MUST_SAVE = 0
    PREFER_SAVE = 1
    MUST_RECOMPUTE = 2
    PREFER_RECOMPUTE = 3
    MUST_CPU_OFFLOAD = 4


_SAVE = (CheckpointPolicy.MUST_SAVE, CheckpointPolicy.PREFER_SAVE)


class SelectiveCheckpointContext:
    """What a policy is told.

    Attributes:
        is_recompute: whether this is the second run.
        op_output: the op's result, in the first run.
    """

    def __init__(self, *, is_recompute: bool, op_output: Any = None) -> None:
        self.is_recompute, self.op_output = is_recompute, op_output


class _Kept:
    """A call's result, without its history, and where what its node saved came from."""

    def __init__(self, out, sources) -> None:
        self.several, self.sources = isinstance(out, (tuple, list)), sources
        self.kind = type(out)
        self.tensors = [(t.detach(), t.node is not None, t.memory.version) for t in (out if self.several else [out])]

    def result(self, allow_mutation):
        """The result as if it had just been computed: recorded, if it was."""
        made = []
        for tensor, recorded, version in self.tensors:
            if tensor.memory.version != version and not allow_mutation:
                raise RuntimeError("Tensor cached during selective activation checkpoint has been mutated")
            made.append(wrap(tensor.memory, tensor.address, tensor.layout, GraphNode(_RESULT, (), ()) if recorded else None))
        if not self.several:
            return made[0]
        return self.kind(*made) if hasattr(self.kind, "_fields") else self.kind(made)


_RESULT = Recorded("kept")                               # a node for the second run, whose graph is thrown away
_AGAIN, _USED = object(), object()


def _source(saved, given, results):
    """Where a saved tensor came from: the place of an argument or of a result, and how it lies there; else itself."""
    for kind, tensors in (("argument", given), ("result", results)):
        for place, tensor in enumerate(tensors):
            if tensor.memory is saved.memory:
                return kind, place, saved.address - tensor.address, saved.layout
    return "tensor", saved.detach(), 0, None


class _First(TorchFunctionMode):
    """The run whose chosen results are kept."""

    def __init__(self, policy, kept) -> None:
        self.policy, self.kept = policy, kept

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs, run = kwargs or {}, runs.stack[-1] if runs.stack else None
        if run is None:
            return func(*args, **kwargs)
        outer, run.seen = run.seen, []
        try:
            out = func(*args, **kwargs)
            saved = run.seen
        finally:
            run.seen = outer
        policy = self.policy(SelectiveCheckpointContext(is_recompute=False, op_output=out), func, *args, **kwargs)
        given, results = list(tensors_in([args, kwargs])), list(tensors_in([out]))
        alone = results and len(results) == (len(out) if isinstance(out, (tuple, list)) else 1)
        own = alone and not any(t.memory is g.memory for t in results for g in given)
        if own and (policy is True or policy in _SAVE):
            self.kept[func].append(_Kept(out, [_source(t, given, results) for t in saved]))
        else:
            self.kept[func].append(_AGAIN)
        return out


class _Second(TorchFunctionMode):
    """The run that takes them."""

    def __init__(self, kept, allow_mutation) -> None:
        self.kept, self.allow_mutation = kept, allow_mutation

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs, run = kwargs or {}, runs.stack[-1] if runs.stack else None
        if run is None:
            return func(*args, **kwargs)
        entries = self.kept.get(func)
        if not entries:
            raise RuntimeError(f"{getattr(func, '__name__', func)} encountered during recomputation, but not in the first run: the "
                               f"checkpointed function does not do the same when it is run again")
        if entries[0] is _USED:
            raise RuntimeError("Trying to backward an extra time. You are only allowed to backward once on any region computed "
                               "under selective activation checkpoint.")
        entry = entries.popleft()
        entries.append(_USED)
        if entry is _AGAIN:
            return func(*args, **kwargs)
        out = entry.result(self.allow_mutation)
        given, results = list(tensors_in([args, kwargs])), list(tensors_in([out]))
        for kind, place, offset, layout in entry.sources:
            if kind == "tensor":
                run.append(place)
            else:
                tensor = (given if kind == "argument" else results)[place]
                whole = layout is tensor.layout and not offset
                run.append(tensor if whole else wrap(tensor.memory, tensor.address + offset, layout))
        return out


def create_selective_checkpoint_contexts(policy_fn_or_list: Callable | list, allow_cache_entry_mutation: bool = False) -> tuple:
    """Two contexts for `checkpoint(..., context_fn=...)`, by which chosen ops keep their results.

    Args:
        policy_fn_or_list: functions, such as `[torch.mm, torch.nn.functional.linear]`, whose results are kept; or
            `policy(context, function, *args, **kwargs)`, which says so by a `CheckpointPolicy` or a bool.
        allow_cache_entry_mutation: take kept results that were written to since; else they are an error.

    Raises:
        TypeError: neither.

    Example:
        >>> from functools import partial
        >>> import numtorch as torch
        >>> from numtorch.utils.checkpoint import checkpoint, create_selective_checkpoint_contexts
        >>> x = torch.ones(2, 2, requires_grad=True)
        >>> contexts = partial(create_selective_checkpoint_contexts, [torch.matmul])
        >>> y = checkpoint(lambda x: torch.matmul(x, x).sigmoid(), x, use_reentrant=False, context_fn=contexts)
        >>> y.sum().backward()
        >>> x.grad
        tensor([[0.4200, 0.4200],
                [0.4200, 0.4200]])
    """
    if isinstance(policy_fn_or_list, list):
        for function in policy_fn_or_list:
            if not callable(function):
                raise ValueError(f"Expected op in `op_list` to be a function, such as torch.mm, got {type(function).__name__}")
        names = operations()
        chosen = {names.get(function, function) for function in policy_fn_or_list}     # `a @ b` is torch.matmul by name

        def policy(context, function, *args, **kwargs):
            return names.get(function, function) in chosen
    elif callable(policy_fn_or_list):
        policy = functools.partial(policy_fn_or_list)
    else:
        raise TypeError("policy_fn_or_list must be either a function or a list of ops.")
    kept: dict = defaultdict(deque)
    return _First(policy, kept), _Second(kept, allow_cache_entry_mutation)
