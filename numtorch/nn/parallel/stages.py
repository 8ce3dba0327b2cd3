"""The stages of a data-parallel step as modules, for programs that put them together themselves: a module on several devices, a
batch cut among them, each applied to its own, and the results joined. Gradients pass through all of them."""
from __future__ import annotations

from ..modules.module import Module
from .replicas import parallel_apply, replicate
from .scattering import gather, scatter


class Replicate(Module):
    """A module on each of some devices.

    Args:
        devices: the devices, or how many copies.

    Example:
        >>> import numtorch as torch
        >>> len(torch.nn.parallel.Replicate(2)(torch.nn.Linear(2, 2)))
        2
    """

    def __init__(self, devices) -> None:
        super().__init__()
        self.devices = devices

    def forward(self, module):
        """The copies.

        Args:
            module: the module.
        """
        return replicate(module, self.devices)


class Scatter(Module):
    """A batch in pieces, one on each of some devices.

    Args:
        devices: the devices, or how many pieces.
        dim: the dimension of the batch.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.parallel.Scatter(2)(torch.arange(4))
        [tensor([0, 1]), tensor([2, 3])]
    """

    def __init__(self, devices, dim: int = 0) -> None:
        super().__init__()
        self.devices, self.dim = devices, dim

    def forward(self, input):
        """The pieces.

        Args:
            input: a tensor, or a structure of tensors.
        """
        return scatter(input, self.devices, self.dim)


class ParallelApply(Module):
    """Each of several modules applied to its own arguments.

    Args:
        devices: for each the device that is current meanwhile, or None.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.parallel.ParallelApply()([torch.nn.Identity()] * 2, torch.arange(2).chunk(2))
        [tensor([0]), tensor([1])]
    """

    def __init__(self, devices=None) -> None:
        super().__init__()
        self.devices = devices

    def forward(self, modules, inputs):
        """What each gives.

        Args:
            modules: the modules.
            inputs: their arguments.
        """
        return parallel_apply(modules, inputs, None, self.devices)


class Gather(Module):
    """Results of several devices joined on one.

    Args:
        device: where; where the first is when None.
        dim: the dimension of the batch.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.parallel.Gather()([torch.zeros(1), torch.ones(1)])
        tensor([0., 1.])
    """

    def __init__(self, device=None, dim: int = 0) -> None:
        super().__init__()
        self.device, self.dim = device, dim

    def forward(self, outputs):
        """The whole.

        Args:
            outputs: the pieces.
        """
        return gather(outputs, self.device, self.dim)


Split, Join = Scatter, Gather
