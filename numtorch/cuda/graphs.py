"""Launches captured once and made again without Python's ops: `CUDAGraph`, `graph` and `make_graphed_callables`.

What runs inside `with graph(g)` is noted and not run; `g.replay()` runs it, on the memory that the tensors had then. Inputs are
changed by writing into them. What waits for the device cannot be captured: `item`, copies to the host, masks that choose elements,
and draws that look at their operands (`multinomial`, `poisson`).

Other random draws can: they are drawn anew at each replay, which goes on in the stream from where it is then, as the same calls
would. So can steps of optimisers: each replay is a step, with the options that the optimiser has by then. The capture itself draws
and counts nothing (replays.py).
"""
from __future__ import annotations

from ..autograd.api import grad as gradients
from ..autograd.function import Function
from ..autograd.modes import enable_grad
from ..exchange.scalars import recent_numbers
from ..kernels.cuda.capture import active
from ..tensor import Tensor
from ..tree import map_tensors, tensors_in
from .devices import _machine, current_device, synchronize

__all__ = ["CUDAGraph", "graph", "graph_pool_handle", "is_current_stream_capturing", "make_graphed_callables"]


def is_current_stream_capturing() -> bool:
    """Whether launches are being captured."""
    return active[0] is not None


def graph_pool_handle() -> tuple:
    """Taken for PyTorch's sake: each graph keeps its own memory."""
    return (0, 0)


class CUDAGraph:
    """Captured launches, which `replay` makes again.

    Args:
        keep_graph: accepted.
    """

    def __init__(self, keep_graph: bool = False) -> None:
        self._capture = None

    def capture_begin(self, pool=None, capture_error_mode: str = "global") -> None:
        """Note launches from now on instead of making them.

        Args:
            pool, capture_error_mode: accepted.

        Raises:
            RuntimeError: a capture is on.
        """
        if active[0] is not None:
            raise RuntimeError("CUDAGraph: a capture is already on")
        from .replays import Draws, Steps

        synchronize()
        recent_numbers.clear()                           # those that launches name are made anew, so that the capture keeps them
        self._capture = _machine().begin_capture(current_device())
        self._watched = Draws(current_device()), Steps(current_device())
        self._capture.source = self._source

    def capture_end(self) -> None:
        """End the capture.

        Raises:
            RuntimeError: this graph's is not on.
        """
        if active[0] is None or active[0] is not self._capture:
            raise RuntimeError("CUDAGraph: capture_end was called without capture_begin")
        for watched in self._watched:
            watched.end()
        _machine().end_capture(self._capture)
        self._capture.source = None

    def _source(self, address):
        found = [watched.source(address) for watched in self._watched]
        return next(filter(None, found), None)

    def replay(self) -> None:
        """Make the captured launches.

        Raises:
            RuntimeError: nothing was captured.
        """
        if self._capture is None or active[0] is self._capture:
            raise RuntimeError("Called CUDAGraph::replay without a preceding successful capture.")
        self._capture.replay()
        self._capture.look(_machine())

    def reset(self) -> None:
        """Forget the launches, and let go of their memory."""
        self._capture = None

    def pool(self) -> tuple:
        """Taken for PyTorch's sake: each graph keeps its own memory."""
        return graph_pool_handle()


class graph:
    """Context manager: what is launched inside is captured by a graph and not run.

    Args:
        cuda_graph: the graph.
        pool, stream, capture_error_mode: accepted; the current stream is captured, and a graph keeps its own memory.
    """

    def __init__(self, cuda_graph: CUDAGraph, pool=None, stream=None, capture_error_mode: str = "global") -> None:
        self.cuda_graph = cuda_graph

    def __enter__(self):
        self.cuda_graph.capture_begin()
        return self

    def __exit__(self, *error):
        self.cuda_graph.capture_end()
        if error[0] is not None:
            self.cuda_graph.reset()
        return False


class _Replayed(Function):
    """A callable's two graphs, of its forward and its backward pass, as one node."""

    @staticmethod
    def forward(ctx, held, *given):
        for own, theirs in zip(held.inputs, given):
            if own is not theirs:
                own.detach().copy_(theirs)
        held.forward.replay()
        ctx.held = held
        return tuple([out.detach() for out in held.outputs])

    @staticmethod
    def backward(ctx, *grads):
        held = ctx.held
        for own, theirs in zip(held.grads, grads):
            if own is not None and theirs is not None:
                own.copy_(theirs)
        held.backward.replay()
        return (None, *[None if slope is None else slope.detach() for slope in held.slopes])


class _Graphed:
    """A callable captured for arguments like its samples.

    Attributes:
        inputs: the tensors that its launches read: the samples, then the parameters of a module.
        outputs, grads, slopes: what forward gives, the gradients that come in, and those that come out.
    """

    def __init__(self, function, samples, warmups, allow_unused):
        self.allow_unused = allow_unused
        parameters = list(function.parameters()) if hasattr(function, "parameters") else []
        self.inputs, self.parameters = [*tensors_in(samples), *parameters], parameters
        wanted = [t for t in self.inputs if t.requires_grad]
        for _ in range(max(warmups, 1)):                 # plans are made and kernels compiled before
            self._run(function, samples, wanted)
        self.forward, self.backward = CUDAGraph(), CUDAGraph()
        with graph(self.forward), enable_grad():
            self.result = function(*samples)
        self.outputs = list(tensors_in(self.result))
        kept = [out for out in self.outputs if out.requires_grad]
        self.grads = [out.new_empty(out.shape) if out.requires_grad else None for out in self.outputs]
        by_input = {}
        with graph(self.backward):
            if wanted and kept:
                slopes = gradients(kept, wanted, [g for g in self.grads if g is not None], allow_unused=allow_unused)
                by_input = {id(t): slope for t, slope in zip(wanted, slopes)}
        self.slopes = [by_input.get(id(t)) for t in self.inputs]

    def _run(self, function, samples, wanted):
        with enable_grad():
            outputs = [out for out in tensors_in(function(*samples)) if out.requires_grad]
            if wanted and outputs:
                gradients(outputs, wanted, [out.new_ones(out.shape) for out in outputs], allow_unused=self.allow_unused)

    def __call__(self, *given):
        given = list(tensors_in(given))
        expected = self.inputs[:len(self.inputs) - len(self.parameters)]
        if [t.layout.shape for t in given] != [t.layout.shape for t in expected]:
            raise RuntimeError(f"a graphed callable was captured for arguments of shapes {[tuple(t.shape) for t in expected]}, and "
                               f"is called with {[tuple(t.shape) for t in given]}")
        outputs = _Replayed.apply(self, *given, *self.parameters)
        remaining = iter(outputs if isinstance(outputs, tuple) else (outputs,))
        return map_tensors(lambda _: next(remaining), self.result)


def make_graphed_callables(callables, sample_args, num_warmup_iters: int = 3, allow_unused_input: bool = False, pool=None):
    """Functions or modules whose forward and backward passes are graphs, for arguments like the samples.

    A call copies its arguments to where the graph reads them; its results are overwritten by the next. A module runs as ever where
    it is in evaluation and was captured in training, or the other way round.

    Args:
        callables: a function or module, or a tuple of them.
        sample_args: the tensors that it is called with, as a tuple; for several a tuple of tuples.
        num_warmup_iters: how often each runs before it is captured.
        allow_unused_input: whether there may be arguments and parameters that nothing is computed from.
        pool: accepted.

    Returns:
        The graphed function, or for a module the module itself, whose forward is graphed; for several a tuple.

    Raises:
        AssertionError: a module that has hooks, or buffers that require gradients.
        RuntimeError: an argument is not used, or autocast keeps what it has cast, which would be the graph's.
    """
    from ..amp.casting import state
    if state.enabled["cuda"] and state.caching:
        raise RuntimeError("make_graphed_callables does not support autocast caching. Please set `cache_enabled=False`.")
    several = isinstance(callables, tuple)
    made = []
    for function, samples in zip(callables if several else (callables,), sample_args if several else (sample_args,)):
        samples = (samples,) if isinstance(samples, Tensor) else tuple(samples)
        module = hasattr(function, "parameters")
        if module:
            _check_module(function)
        graphed = _Graphed(function, samples, num_warmup_iters, allow_unused_input)
        made.append(_with_forward(function, graphed) if module else graphed)
    return tuple(made) if several else made[0]


def _check_module(module):
    if module._forward_hooks or module._forward_pre_hooks or module._backward_hooks:
        raise AssertionError("Modules must not have hooks registered at the time they are passed. However, registering hooks on "
                             "modules after passing them through make_graphed_callables is allowed.")
    if any(buffer.requires_grad for buffer in module.buffers()):
        raise AssertionError("In any Module passed to make_graphed_callables(), only parameters may be trainable. All buffers must "
                             "have requires_grad=False.")


def _with_forward(module, graphed):
    """A module that is graphed in the mode in which it was captured."""
    training, eager = module.training, module.forward

    def forward(*args, **kwargs):
        return (graphed if module.training == training else eager)(*args, **kwargs)
    module.forward = forward
    return module
