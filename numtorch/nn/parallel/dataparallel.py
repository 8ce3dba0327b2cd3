"""DataParallel: a module in several processes, each for a piece of the batch."""
from __future__ import annotations

import os

from ...autograd.function import Function
from ...autograd.modes import is_grad_enabled
from ...devices import device as as_device
from ...finalisers import Finaliser
from ...random import initial_seed
from ...tree import map_tensors, tensors_in
from ..modules.module import Module
from .replicas import parallel_apply, replicate
from .scattering import gather, scatter_kwargs
from .workers import Team, to_send


class _Everywhere(Function):
    """The workers' forward as one node of this process's graph."""

    @staticmethod
    def forward(ctx, run, *tensors):
        ctx.run, outputs = run, run.forward()
        ctx.mark_non_differentiable(*[out for out, recorded in zip(outputs, run.recorded_outputs) if not recorded])
        return outputs

    @staticmethod
    def backward(ctx, *grads):
        return (None, *ctx.run.backward(grads))


class _Run:
    """One forward pass: pieces of the arguments to the workers, outputs back; and the way back of gradients."""

    def __init__(self, team, pieces, dim, modes, parameters):
        self.team, self.pieces, self.dim, self.modes, self.parameters = team, pieces, dim, modes, parameters
        team.calls += 1
        self.number, self.recorded = team.calls, is_grad_enabled()
        # the workers have the call's graph until nothing refers to this; a finaliser sends nothing itself
        self.call = Finaliser(team.forgotten.append, self.number) if self.recorded else None

    def forward(self):
        tasks = [("forward", self.number, map_tensors(_leaf, args), map_tensors(_leaf, kwargs), self.modes, self.recorded)
                 for args, kwargs in self.pieces]
        answers = self.team.ask(tasks)
        outputs, self.recorded_outputs = [a[0] for a in answers], answers[0][1]
        self.sizes = [[t.shape[self.dim] if t.ndim else None for t in tensors_in(o)] for o in outputs]
        self.output = gather(outputs, None, self.dim)
        return tuple(tensors_in(self.output))

    def backward(self, grads):
        tasks, starts = [], [0] * len(grads)
        for sizes in self.sizes:
            pieces = []
            for i, (grad, size) in enumerate(zip(grads, sizes)):
                if self.recorded_outputs[i]:
                    pieces.append(to_send(grad[starts[i]] if size is None else grad.narrow(self.dim, starts[i], size)))
                starts[i] += 1 if size is None else size
            tasks.append(("backward", self.number, pieces))
        answers, count = self.team.ask(tasks), len(self.parameters)
        totals = []
        for parts in zip(*[a[:count] for a in answers]):
            there = [p for p in parts if p is not None]
            for part in there[1:]:                       # in the shared buffer of the first
                there[0].add_(part)
            totals.append(there[0] if there else None)
        for i, tensors in enumerate(zip(*[[t for t in tensors_in(piece) if t.requires_grad] for piece in self.pieces])):
            parts = [a[count + i] for a in answers]
            parts = [t.new_zeros(t.shape) if p is None else p for p, t in zip(parts, tensors)]
            totals.append(gather(parts, None, self.dim))
        return totals


def _leaf(tensor):
    return to_send(tensor).requires_grad_(tensor.requires_grad)


class DataParallel(Module):
    """A module in several processes, or on several CUDA devices, each for a piece of the batch: outputs are joined and gradients
    summed.

    A module on a CUDA device is copied to the others in each call, from where its gradients come back. Elsewhere the workers see
    the parameters, which move to shared memory; what an optimiser writes needs not be sent. A call costs some tenths of a
    millisecond a worker, so it pays where a worker's piece takes milliseconds, and where the module is bound by Python:
    kernels of one large batch use all processors already. A loop over time, many small layers and modules with Python in them gain
    the number of processors; a large convolution or product gains nothing.

    Args:
        module: the module; `DataParallel(module).module` is it.
        device_ids: how many workers, or a list as long; as many as processors when None. Of a module on a CUDA device, the
            devices; all when None.
        output_device: the CUDA device of the joined outputs; the first of them when None.
        dim: the dimension of the batch.

    The first worker's buffers (of batch norm, say) are the module's. Hooks and anything else that forward changes in a module stay
    in the workers. What it writes to its arguments is seen here or not: small ones are copied, others shared.

    Raises:
        ProcessExitedException: in a call, a worker was killed.

    Example:
        >>> import numtorch as torch
        >>> layer = torch.nn.Linear(3, 2)
        >>> both = torch.nn.DataParallel(layer, device_ids=[0, 1])
        >>> x = torch.randn(4, 3)
        >>> torch.allclose(both(x), layer(x))
        True
    """

    def __init__(self, module, device_ids=None, output_device=None, dim: int = 0) -> None:
        super().__init__()
        self.module, self.dim = module, dim
        count = os.cpu_count() or 1 if device_ids is None else device_ids if isinstance(device_ids, int) else len(device_ids)
        self.device_ids, self.output_device = list(range(count)), output_device
        self._asked = list(range(device_ids)) if isinstance(device_ids, int) else device_ids
        self._team, self._places = None, None

    def forward(self, *inputs, **kwargs):
        """What the module gives for the whole batch.

        Args:
            inputs, kwargs: its arguments. Tensors are cut along `dim`; other things go to every worker.
        """
        own = next(iter([*self.module.parameters(), *self.module.buffers(), *tensors_in((inputs, kwargs))]), None)
        if own is not None and own.is_cuda:
            return self._on_devices(inputs, kwargs)
        args, named = scatter_kwargs(inputs, kwargs, len(self.device_ids), self.dim)
        if len(args) < 2:
            return self.module(*inputs, **kwargs)
        pieces = list(zip(args, named))
        parameters = [p for p in self.module.parameters() if p.requires_grad]
        run = _Run(self._current_team(), pieces, self.dim, [m.training for m in self.module.modules()], parameters)
        wanted = [t for t in tensors_in((inputs, kwargs)) if t.requires_grad]
        outputs = iter(_tuple(_Everywhere.apply(run, *parameters, *wanted)))
        return map_tensors(lambda t: next(outputs), run.output)

    def _on_devices(self, inputs, kwargs):
        from ...cuda import device_count
        ids = range(device_count()) if self._asked is None else self._asked
        places = [as_device("cuda", i) if isinstance(i, int) else as_device(i) for i in ids]
        args, named = scatter_kwargs(inputs, kwargs, places, self.dim)
        places = places[:max(len(args), 1)]
        replicas = replicate(self.module, places)
        outputs = parallel_apply(replicas, list(args) or [()], list(named) or [{}], places)
        return gather(outputs, places[0] if self.output_device is None else self.output_device, self.dim)

    def _current_team(self):
        """Workers that have the module as it is: where its memory was replaced they start anew."""
        self.module.share_memory()
        places = [(t.data_ptr(), t.layout, t.requires_grad) for t in (*self.module.parameters(), *self.module.buffers())]
        if self._team is None or places != self._places:
            if self._team is not None:
                self._team.end()
            self._team, self._places = Team(self.module, len(self.device_ids), initial_seed()), places
        return self._team

    def __getstate__(self):
        return {**self.__dict__, "_team": None, "_places": None}


def _tuple(value):
    return value if isinstance(value, tuple) else (value,)


def data_parallel(module, inputs, device_ids=None, output_device=None, dim: int = 0, module_kwargs=None):
    """A module's output of a batch that several processes share, which end afterwards. `DataParallel` keeps them.

    Args:
        module: the module.
        inputs: its argument, or a tuple of them.
        device_ids, output_device, dim: as of `DataParallel`.
        module_kwargs: its keyword arguments.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.parallel.data_parallel(torch.nn.Identity(), torch.arange(4), 2)
        tensor([0, 1, 2, 3])
    """
    arguments = inputs if isinstance(inputs, tuple) else (inputs,)
    return DataParallel(module, device_ids, output_device, dim)(*arguments, **(module_kwargs or {}))
