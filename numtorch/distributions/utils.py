"""What distributions are built with: parameters of one shape, probabilities and logits of each other, properties computed once,
triangles as vectors. The names are those of `torch.distributions.utils`, which users' distributions import."""
from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from typing import Any

from ..autograd.modes import enable_grad
from ..dtypes import finfo, get_default_dtype
from ..ops.core.status import has_values
from ..ops.creation.fill import tensor
from ..ops.creation.ranges import arange
from ..ops.nn.softmax import softmax
from ..ops.pointwise.functions import where
from ..ops.random.draws import drawn, randn
from ..ops.reduce.query import broadcast_tensors
from ..ops.shape.pad import constant_pad_nd
from ..tensor import Tensor

__all__ = ["broadcast_all", "clamp_probs", "lazy_property", "logits_to_probs", "probs_to_logits", "tril_matrix_to_vec",
           "vec_to_tril_matrix"]

euler_constant = 0.57721566490153286060                  # Euler and Mascheroni's
Number = (bool, int, float)


def drawn_like(parameter, shape, kind, *parameters) -> Tensor:
    """A draw of a shape in a parameter's dtype and on its device: a new tensor, so that each sample of `vmap` has its own."""
    return drawn(tuple(shape), kind, parameters, parameter.dtype, parameter.device, None)


def holds(mask) -> bool:
    """Whether a mask holds everywhere. Where there is nothing to look at (the meta device, samples of `vmap`), it is taken to."""
    return not has_values(mask) or bool(mask.all())


def broadcast_all(*values: Tensor | float) -> tuple[Tensor, ...]:
    """Tensors and numbers as tensors of one shape. Numbers take the dtype and device of the first tensor, if there is one.

    Args:
        values: tensors whose shapes broadcast, and numbers.

    Raises:
        ValueError: something else.

    Example:
        >>> from numtorch.distributions.utils import broadcast_all
        >>> broadcast_all(1.0, 2)
        (tensor(1.), tensor(2.))
    """
    if not all(isinstance(v, (Tensor, *Number)) for v in values):
        raise ValueError("Input arguments must all be instances of Number, torch.Tensor or objects implementing "
                         "__torch_function__.")
    first = next((v for v in values if isinstance(v, Tensor)), None)
    dtype, device = (get_default_dtype(), None) if first is None else (first.dtype, first.device)
    return tuple(broadcast_tensors(*[v if isinstance(v, Tensor) else tensor(v, dtype=dtype, device=device) for v in values]))


def _standard_normal(shape, dtype, device) -> Tensor:
    return randn(shape, dtype=dtype, device=device)


def _sum_rightmost(value, dim):
    """The sum over the last `dim` dimensions."""
    return value.reshape(value.shape[:-dim] + (-1,)).sum(-1) if dim else value


# ---------------------------------------------------------------- probabilities
def logits_to_probs(logits: Tensor, is_binary: bool = False) -> Tensor:
    """Probabilities of logits: their sigmoid where each decides on its own, their softmax over the last dimension otherwise.

    Args:
        logits: (*) or (*, K), floating point.
        is_binary: whether each decides on its own.

    Example:
        >>> import numtorch as torch
        >>> torch.distributions.utils.logits_to_probs(torch.zeros(4))
        tensor([0.2500, 0.2500, 0.2500, 0.2500])
    """
    return logits.sigmoid() if is_binary else softmax(logits, -1)


def clamp_probs(probs: Tensor) -> Tensor:
    """Probabilities moved into [eps, 1 - eps] of their dtype.

    Args:
        probs: (*), floating point.

    Example:
        >>> import numtorch as torch
        >>> torch.distributions.utils.clamp_probs(torch.tensor([0.0, 0.5]))
        tensor([1.1921e-07, 5.0000e-01])
    """
    eps = finfo(probs.dtype).eps
    return probs.clamp(min=eps, max=1 - eps)


def probs_to_logits(probs: Tensor, is_binary: bool = False) -> Tensor:
    """Logits of probabilities, finite for 0 and 1 too: log(p / (1 - p)) where each decides on its own, log(p) otherwise.

    Args:
        probs: (*) or (*, K), floating point.
        is_binary: whether each decides on its own.

    Example:
        >>> import numtorch as torch
        >>> torch.distributions.utils.probs_to_logits(torch.tensor(0.5), is_binary=True)
        tensor(0.)
    """
    clamped = clamp_probs(probs)
    return clamped.log() - (-clamped).log1p() if is_binary else clamped.log()


class lazy_property:
    """A property that is computed when it is first read, with gradients, and is then an attribute of the instance.

    Args:
        wrapped: the method that computes it.

    Example:
        >>> from numtorch.distributions.utils import lazy_property
        >>> class Once:
        ...     @lazy_property
        ...     def number(self):
        ...         return print("computed") or 7
        >>> once = Once()
        >>> once.number + once.number
        computed
        14
    """

    def __init__(self, wrapped: Callable[[Any], Any]) -> None:
        self.wrapped = wrapped
        update_wrapper(self, wrapped)                    # type: ignore[arg-type]

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is None:
            return self
        with enable_grad():
            value = self.wrapped(instance)
        setattr(instance, self.wrapped.__name__, value)
        return value


# ---------------------------------------------------------------- triangles
def _triangle(n, diag, device):
    counted = arange(n, device=device)
    return counted < counted.reshape(-1, 1) + (diag + 1)


def tril_matrix_to_vec(mat: Tensor, diag: int = 0) -> Tensor:
    """The elements on and below a diagonal, row after row.

    Args:
        mat: (*, n, n).
        diag: how far the diagonal is above the main one, from -n to n - 1.

    Raises:
        ValueError: there is no such diagonal.

    Example:
        >>> import numtorch as torch
        >>> torch.distributions.utils.tril_matrix_to_vec(torch.tensor([[1., 2.], [3., 4.]]))
        tensor([1., 3., 4.])
    """
    n = mat.shape[-1]
    if not -n <= diag < n:
        raise ValueError(f"diag ({diag}) provided is outside [{-n}, {n - 1}].")
    return mat[..., _triangle(n, diag, mat.device)]


def vec_to_tril_matrix(vec: Tensor, diag: int = 0) -> Tensor:
    """A square matrix whose elements on and below a diagonal are those of a vector, row after row; 0 above.

    Args:
        vec: (*, D).
        diag: how far the diagonal is above the main one.

    Raises:
        ValueError: no square matrix has D elements there.

    Example:
        >>> import numtorch as torch
        >>> torch.distributions.utils.vec_to_tril_matrix(torch.tensor([1., 2., 3.]))
        tensor([[1., 0.],
                [2., 3.]])
    """
    size = vec.shape[-1]
    root = (-(1 + 2 * diag) + ((1 + 2 * diag) ** 2 + 8 * size + 4 * abs(diag) * (diag + 1)) ** 0.5) / 2
    n = round(root)
    if abs(n - root) > finfo(vec.dtype).eps:
        raise ValueError(f"The size of last dimension is {size} which cannot be expressed as the lower triangular part of a "
                         f"square D x D matrix.")
    inside = _triangle(n, diag, vec.device).flatten()
    places = where(inside, inside.cumsum(0) - 1, size)   # a zero stands behind the vector
    return constant_pad_nd(vec, (0, 1)).index_select(-1, places).unflatten(-1, (n, n))
