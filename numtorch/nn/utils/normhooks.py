"""Weight and spectral norm by hooks, as they were before parametrizations: a hook computes the weight before every call.

Their parameters and buffers have the names of older state dicts: `weight_g`, `weight_v`; `weight_orig`, `weight_u`, `weight_v`.
"""
from __future__ import annotations

import warnings

from ...autograd.modes import no_grad
from .. import functional as F
from ..modules.conv import ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
from ..parameter import Parameter
from .parametrizations import norm_except_dim


class _Recomputed:
    """A hook that sets `name` before every call; subclasses say from what."""

    title = ""

    def __init__(self, name) -> None:
        self.name = name

    def compute(self, module):
        """The weight, from the parameters it is made of."""
        raise NotImplementedError

    def __call__(self, module, inputs):
        setattr(module, self.name, self.compute(module))

    @classmethod
    def of(cls, module, name):
        """The key and the hook of this kind that a module has for a name, or None."""
        for key, (hook, _, _) in module._tables()["forward_pre"].items():
            if isinstance(hook, cls) and hook.name == name:
                return key, hook
        return None

    def put(self, module, kept):
        """Have `kept`, tensors by what is added to the name, stand for the parameter."""
        if self.of(module, self.name) is not None:
            raise RuntimeError(f"Cannot register two {self.title} hooks on the same parameter {self.name}")
        delattr(module, self.name)
        for ending, tensor in kept.items():
            add = module.register_parameter if isinstance(tensor, Parameter) else module.register_buffer
            add(self.name + ending, tensor)
        setattr(module, self.name, self.compute(module))
        module.register_forward_pre_hook(self)
        return module

    @classmethod
    def take_off(cls, module, name, endings):
        """Make the weight a parameter again."""
        own = cls.of(module, name)
        if own is None:
            raise ValueError(f"{cls.title} of '{name}' not found in {module}")
        key, hook = own
        with no_grad():
            weight = hook.final(module)
        delattr(module, name)
        for ending in endings:
            delattr(module, name + ending)
        module.register_parameter(name, Parameter(weight.detach()))
        del module._tables()["forward_pre"][key]
        return module

    def final(self, module):
        """The weight that stays when the hook is taken off."""
        return self.compute(module)


class _WeightNorm(_Recomputed):
    title = "weight_norm"

    def __init__(self, name, dim) -> None:
        super().__init__(name)
        self.dim = -1 if dim is None else dim

    def compute(self, module):
        length, direction = getattr(module, self.name + "_g"), getattr(module, self.name + "_v")
        return direction * (length / norm_except_dim(direction, 2, self.dim))


def weight_norm(module, name: str = "weight", dim: int = 0):
    """Make a weight v * g / |v| before every call (Salimans and Kingma 2016). `parametrizations.weight_norm` is the newer form.

    Args:
        module: whose weight.
        name: the weight's; its parameters are then `name_g`, a length, and `name_v`, a direction.
        dim: the dimension that keeps lengths of its own; None for one length in all.

    Returns:
        The module.

    Raises:
        RuntimeError: it has one already.

    Example:
        >>> import numtorch as torch
        >>> layer = torch.nn.utils.weight_norm(torch.nn.Linear(3, 2))
        >>> [(name, tuple(p.shape)) for name, p in layer.named_parameters()]
        [('bias', (2,)), ('weight_g', (2, 1)), ('weight_v', (2, 3))]
    """
    warnings.warn("`torch.nn.utils.weight_norm` is deprecated in favor of `torch.nn.utils.parametrizations.weight_norm`.",
                  FutureWarning, stacklevel=2)
    hook, weight = _WeightNorm(name, dim), getattr(module, name)
    return hook.put(module, {"_g": Parameter(norm_except_dim(weight, 2, hook.dim).detach()), "_v": Parameter(weight.detach())})


def remove_weight_norm(module, name: str = "weight"):
    """Make a weight a parameter again that `weight_norm` computes.

    Args:
        module: whose weight.
        name: the weight's.

    Returns:
        The module.

    Raises:
        ValueError: it has no such norm.

    Example:
        >>> import numtorch as torch
        >>> layer = torch.nn.utils.weight_norm(torch.nn.Linear(3, 2))
        >>> list(torch.nn.utils.remove_weight_norm(layer).state_dict())
        ['bias', 'weight']
    """
    return _WeightNorm.take_off(module, name, ("_g", "_v"))


class _SpectralNorm(_Recomputed):
    title = "spectral_norm"

    def __init__(self, name, steps, dim, eps) -> None:
        super().__init__(name)
        if steps <= 0:
            raise ValueError(f"Expected n_power_iterations to be positive, but got n_power_iterations={steps}")
        self.steps, self.dim, self.eps = steps, dim, eps

    def matrix(self, weight):
        return weight.movedim(self.dim, 0).flatten(1)

    def compute(self, module):
        return self._over_sigma(module, self.steps if module.training else 0)

    def final(self, module):
        return self._over_sigma(module, 0)

    def _over_sigma(self, module, steps):
        weight, u, v = [getattr(module, self.name + ending) for ending in ("_orig", "_u", "_v")]
        matrix = self.matrix(weight)
        with no_grad():
            for _ in range(steps):
                v.copy_(F.normalize(matrix.t().mv(u), dim=0, eps=self.eps))
                u.copy_(F.normalize(matrix.mv(v), dim=0, eps=self.eps))
        return weight / u.clone().dot(matrix.mv(v.clone()))          # copies: the next call writes to u and v


def spectral_norm(module, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim=None):
    """Divide a weight by its largest singular value before every call (Miyato et al. 2018). `parametrizations.spectral_norm` is the
    newer form.

    Args:
        module: whose weight.
        name: the weight's; the parameter is then `name_orig`, and `name_u` and `name_v` are buffers.
        n_power_iterations: iterations at each call in training.
        eps: the least length that is divided by.
        dim: the dimension of outputs; None for 1 in transposed convolutions and else 0.

    Returns:
        The module.

    Raises:
        RuntimeError: it has one already.
        ValueError: no such parameter, or no iterations.

    Example:
        >>> import numtorch as torch
        >>> layer = torch.nn.utils.spectral_norm(torch.nn.Linear(3, 2))
        >>> list(layer.state_dict())
        ['bias', 'weight_orig', 'weight_u', 'weight_v']
    """
    if dim is None:
        dim = 1 if isinstance(module, (ConvTranspose1d, ConvTranspose2d, ConvTranspose3d)) else 0
    hook, weight = _SpectralNorm(name, n_power_iterations, dim, eps), module._parameters.get(name)
    if weight is None and hook.of(module, name) is None:
        raise ValueError(f"`SpectralNorm` cannot be applied as parameter `{name}` is None")
    if weight is None:
        return hook.put(module, {})
    rows, columns = hook.matrix(weight.detach()).layout.shape
    u, v = [F.normalize(weight.detach().new_empty(n).normal_(), dim=0, eps=eps) for n in (rows, columns)]
    return hook.put(module, {"_orig": weight, "_u": u, "_v": v})


def remove_spectral_norm(module, name: str = "weight"):
    """Make a weight a parameter again that `spectral_norm` computes.

    Args:
        module: whose weight.
        name: the weight's.

    Returns:
        The module.

    Raises:
        ValueError: it has no such norm.

    Example:
        >>> import numtorch as torch
        >>> layer = torch.nn.utils.spectral_norm(torch.nn.Linear(3, 2))
        >>> list(torch.nn.utils.remove_spectral_norm(layer).state_dict())
        ['bias', 'weight']
    """
    return _SpectralNorm.take_off(module, name, ("_orig", "_u", "_v"))
