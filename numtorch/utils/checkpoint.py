"""Checkpointing: keep a part's inputs instead of its intermediate results, and compute those again in backward.

The default form stands on saved-tensor hooks: forward packs every tensor that its nodes would keep into a number; the first
number that backward unpacks runs the function again, and that run's saved tensors, which come in the same order, are the
missing ones. The older, re-entrant form is a `Function` whose backward runs the part and a backward of its own. Which ops keep
their results all the same is chosen by `create_selective_checkpoint_contexts` (selective.py).
"""
from __future__ import annotations

import contextlib
import importlib
import threading
import warnings

from ..autograd.api import backward as run_backward
from ..autograd.function import Function
from ..autograd.graph import modified
from ..autograd.modes import as_now, enable_grad, is_grad_enabled, modes, no_grad, saved_tensors_hooks
from ..ops.core.generator import default_generator
from ..tensor import Tensor


class CheckpointError(RuntimeError):
    """The second run of a checkpointed function did not save what the first one did.

    Example:
        >>> import numtorch as torch
        >>> calls, x = [], torch.ones(2, requires_grad=True)
        >>> def changing(x):
        ...     calls.append(x)
        ...     return x.exp().exp() if len(calls) == 1 else x.exp()
        >>> torch.utils.checkpoint.checkpoint(changing, x, use_reentrant=False).sum().backward()
        Traceback (most recent call last):
            ...
        numtorch.utils.checkpoint.CheckpointError: torch.utils.checkpoint: A different number of tensors was saved ...
    """


def checkpoint(function, *args, use_reentrant=None, preserve_rng_state: bool = True, context_fn=None,
               determinism_check: str = "default", debug: bool = False, early_stop: bool = True, **kwargs):
    """`function(*args, **kwargs)`, whose intermediate results are computed again in backward instead of being kept (Chen et al.
    2016).

    Args:
        function: what to run; it must do the same when it is run again.
        args, kwargs: what it takes.
        use_reentrant: True for the older form, in which gradients only reach tensors among `args`, one of them must require grad,
            and `torch.autograd.grad` and double backward do not pass. False (also when None) has no such limits.
        preserve_rng_state: give the second run the random numbers of the first.
        context_fn: returns two context managers, for the first and for the second run.
        determinism_check: `"default"` compares shapes and dtypes of what both runs save, `"none"` does not.
        debug: accepted; the error always says what differed.
        early_stop: accepted; the second run goes to the end, which also finds what it saves too much.

    Returns:
        What `function` returns.

    Raises:
        CheckpointError: in backward, when the second run saved something else.
        RuntimeError: in backward, when an argument was changed in place since; the gradients of chosen tensors are asked for, in
            the re-entrant form.
        ValueError: options that the re-entrant form lacks, or an unknown `determinism_check`.

    Example:
        >>> import numtorch as torch
        >>> x = torch.tensor([1., 2.], requires_grad=True)
        >>> torch.utils.checkpoint.checkpoint(lambda x: (x * x).exp(), x, use_reentrant=False).sum().backward()
        >>> x.grad
        tensor([  5.4366, 218.3926])
    """
    if determinism_check not in ("default", "none"):
        raise ValueError(f"checkpoint: expected determinism_check 'default' or 'none', got '{determinism_check}'")
    if use_reentrant:
        if kwargs:
            raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
        if context_fn is not None or debug:
            raise ValueError("Passing `context_fn` or `debug` is only supported when use_reentrant=False.")
        if is_grad_enabled() and not any(isinstance(a, Tensor) and a.requires_grad for a in args):
            warnings.warn("None of the inputs have requires_grad=True. Gradients will be None", UserWarning, stacklevel=2)
        return _Reentrant.apply(function, preserve_rng_state, *args)
    first, second = context_fn() if context_fn is not None else (contextlib.nullcontext(), contextlib.nullcontext())
    if not is_grad_enabled():
        with first:
            return function(*args, **kwargs)
    inputs = [(t, t.memory.version) for t in (*args, *kwargs.values())
              if isinstance(t, Tensor) and t.layout.handler is None and not t.is_inference()]
    frame = _Frame(lambda: function(*args, **kwargs), inputs, second, preserve_rng_state, determinism_check == "default")
    with saved_tensors_hooks(frame.pack, frame.unpack), _running(frame), first:
        result = function(*args, **kwargs)
    frame.draws.end_here()
    return result


class _Draws:
    """What a first run draws of the default stream, so that the second can draw it again.

    Args:
        preserved: whether it should.
    """

    def __init__(self, preserved):
        self.begin, self.uses, self.drawn = default_generator._position(), default_generator._uses, preserved

    def end_here(self):
        """The first run is over. One that has drawn nothing leaves the stream alone in the second, too."""
        self.drawn = self.drawn and default_generator._uses != self.uses

    @contextlib.contextmanager
    def again(self):
        """Inside, random numbers are those of the first run; afterwards they continue from where they were."""
        if not self.drawn:
            yield
            return
        before = default_generator._position()
        default_generator._go_to(self.begin)
        try:
            yield
        finally:
            default_generator._go_to(before)


class _Runs(threading.local):
    """A thread's runs of checkpointed functions, the innermost last: what a selective policy looks at (selective.py)."""

    def __init__(self):
        self.stack = []


runs = _Runs()


@contextlib.contextmanager
def _running(run):
    runs.stack.append(run)
    try:
        yield
    finally:
        runs.stack.pop()


class _Saved(list):
    """What a second run saves, in order."""

    seen = None


class _Frame:
    """One checkpointed call: how to run it again, and what the second run saved, by position.

    Attributes:
        inputs: the tensors among the arguments, with the versions they had.
        seen: a list that what is saved goes into as well, while somebody asks for it.
    """

    seen: list | None = None

    def __init__(self, run, inputs, context, preserve_rng_state, checked):
        self.run, self.inputs, self.context, self.checked = run, inputs, context, checked
        self.draws, self.surroundings = _Draws(preserve_rng_state), as_now()
        self.layouts, self.again = [], {}

    def pack(self, tensor):
        self.layouts.append(tensor.layout)
        if self.seen is not None:
            self.seen.append(tensor)
        return len(self.layouts) - 1

    def unpack(self, position):
        if position not in self.again:
            self.recompute()
        return self.again.pop(position)                  # freed as backward goes; another backward runs the function again

    def recompute(self):
        for tensor, version in self.inputs:
            if tensor.memory.version != version:         # the second run would be of other values
                raise modified(tensor, version, "checkpoint")
        saved = _Saved()
        with self.surroundings(), enable_grad(), self.draws.again(), _running(saved), self.context, \
                saved_tensors_hooks(saved.append, _never):
            self.run()
        if len(saved) != len(self.layouts):
            raise CheckpointError(f"torch.utils.checkpoint: A different number of tensors was saved during the original forward "
                                  f"and recomputation. Number of tensors saved during forward: {len(self.layouts)}; number of "
                                  f"tensors saved during recomputation: {len(saved)}.")
        if self.checked:
            for position, (before, now) in enumerate(zip(self.layouts, saved)):
                if before.shape != now.layout.shape or before.dtype is not now.layout.dtype:
                    raise CheckpointError(f"torch.utils.checkpoint: Recomputed values for the following tensors have different "
                                          f"metadata than during the forward pass. tensor at position {position}: saved "
                                          f"{list(before.shape)} {before.dtype}, recomputed {list(now.shape)} {now.dtype}.")
        self.again = dict(enumerate(saved))


def _never(packed):
    raise CheckpointError("checkpoint: the graph of the second run is thrown away; a backward inside a checkpointed function "
                          "is not possible")


class _Reentrant(Function):
    """The form of PyTorch's first releases: forward records nothing, backward runs the function and its backward."""

    @staticmethod
    def forward(ctx, function, preserve_rng_state, *args):
        ctx.run, ctx.args = function, [None if isinstance(a, Tensor) else a for a in args]
        ctx.where = [i for i, a in enumerate(args) if isinstance(a, Tensor)]
        ctx.draws, ctx.surroundings = _Draws(preserve_rng_state), as_now()
        ctx.save_for_backward(*[args[i] for i in ctx.where])
        with no_grad():
            result = function(*args)
        ctx.draws.end_here()
        return result

    @staticmethod
    def backward(ctx, *grads):
        if (modes.backward[0] if type(modes.backward) is list else modes.backward) is not None:
            raise RuntimeError("When use_reentrant=True, torch.utils.checkpoint is incompatible with .grad() or passing an "
                               "`inputs` parameter to .backward(). To resolve this error, you can either set "
                               "use_reentrant=False, or call .backward() without passing the `inputs` argument.")
        args = list(ctx.args)
        for position, tensor in zip(ctx.where, ctx.saved_tensors):
            inner = tensor.detach()
            args[position] = inner.requires_grad_() if tensor.requires_grad else inner
        with ctx.surroundings(), enable_grad(), ctx.draws.again():
            outputs = ctx.run(*args)
        outputs = outputs if isinstance(outputs, tuple) else (outputs,)
        pairs = [(o, g) for o, g in zip(outputs, grads) if isinstance(o, Tensor) and o.requires_grad]
        if not pairs:
            raise RuntimeError("none of output has requires_grad=True, this checkpoint() is not necessary")
        run_backward([o for o, _ in pairs], [g for _, g in pairs])
        return (None, None, *[a.grad if isinstance(a, Tensor) and a.requires_grad else None for a in args])


def checkpoint_sequential(functions, segments: int, input, use_reentrant=None, **kwargs):
    """Run functions (or the modules of a Sequential) one after another, in parts of which all but the last are checkpointed.

    Args:
        functions: a Sequential or a list of functions of one argument.
        segments: the number of parts.
        input: what the first function gets.
        use_reentrant, kwargs: as for `checkpoint`.

    Returns:
        What the last function returns.

    Raises:
        ValueError: fewer than one segment, or more segments than functions.

    Example:
        >>> import numtorch as torch
        >>> x = torch.tensor([1., 2.], requires_grad=True)
        >>> functions = [torch.exp, torch.square, torch.sum]
        >>> torch.utils.checkpoint.checkpoint_sequential(functions, 2, x, use_reentrant=False).backward()
        >>> x.grad
        tensor([ 14.7781, 109.1963])
    """
    functions = list(functions.children()) if hasattr(functions, "children") else list(functions)
    if not 1 <= segments <= len(functions):
        raise ValueError(f"checkpoint_sequential: expected between 1 and {len(functions)} segments (one function each), "
                         f"got {segments}")
    size = len(functions) // segments

    def part(start, end):
        def run(x):
            for function in functions[start:end]:
                x = function(x)
            return x
        return run

    for start in range(0, size * (segments - 1), size):
        input = checkpoint(part(start, start + size), input, use_reentrant=use_reentrant, **kwargs)
    return part(size * (segments - 1), len(functions))(input)


def __getattr__(name):
    if name in ("CheckpointPolicy", "SelectiveCheckpointContext", "create_selective_checkpoint_contexts"):
        return getattr(importlib.import_module("numtorch.utils.selective"), name)        # it has functions ask about their calls
    return importlib.import_module("numtorch.alias").attribute(__name__, name)


__all__ = ["CheckpointError", "checkpoint", "checkpoint_sequential"]
