"""Draws with the shape, dtype, device and strides of another tensor."""
from __future__ import annotations

from ...tensor import Tensor
from ..core.arguments import integer
from ..core.operands import layout_of
from ..creation.asked import check_strided
from ..creation.fill import like_layout
from ..memory.copies import clone
from .draws import rand, randint, randn


def _asked(name, input):
    """The layout of the other tensor, whose handler is told that so many numbers will be drawn."""
    own = layout_of(name, input)
    asked = getattr(own.handler, "asked_size", None)
    if asked is not None:
        asked(input)
    return own


def _ordered(made, input, memory_format, requires_grad, pin_memory) -> Tensor:
    """A draw of another tensor's shape, with its strides."""
    if memory_format is not None or not input.layout.contiguous:
        layout = like_layout(input, made.layout.dtype, made.layout.device, memory_format)
        if made.layout is not layout:
            made = clone(made, memory_format=layout)
    made = made.pin_memory() if pin_memory else made
    return made.requires_grad_() if requires_grad else made


def rand_like(input, *, generator=None, dtype=None, layout=None, device=None, requires_grad: bool = False, memory_format=None,
              pin_memory: bool = False) -> Tensor:
    """Uniform numbers in [0, 1), with the shape, dtype, device and dense strides of another tensor.

    Args:
        input: the other tensor.
        generator: where the random numbers come from; the default one when None.
        dtype, device: those of `input` when None. requires_grad: whether to record what is computed from it.
        memory_format: the order of the dimensions in memory; the other tensor's when None.
        layout: `torch.strided`, which None is too. pin_memory: see `Tensor.pin_memory`.

    Example:
        >>> import numtorch as torch
        >>> torch.rand_like(torch.tensor([[1., 2.], [3., 4.]])).shape
        torch.Size([2, 2])
    """
    if layout is not None:
        check_strided("rand_like", layout)
    own = _asked("rand_like", input)
    made = rand(own.shape, generator=generator, dtype=dtype or own.dtype, device=own.device if device is None else device)
    return _ordered(made, input, memory_format, requires_grad, pin_memory)


def randn_like(input, *, generator=None, dtype=None, layout=None, device=None, requires_grad: bool = False, memory_format=None,
               pin_memory: bool = False) -> Tensor:
    """Normal numbers of mean 0 and variance 1, with the shape, dtype, device and dense strides of another tensor.

    Args:
        input, generator, dtype, layout, device, requires_grad, memory_format, pin_memory: as for `rand_like`.

    Example:
        >>> import numtorch as torch
        >>> torch.randn_like(torch.tensor([[1., 2.], [3., 4.]])).shape
        torch.Size([2, 2])
    """
    if layout is not None:
        check_strided("randn_like", layout)
    own = _asked("randn_like", input)
    made = randn(own.shape, generator=generator, dtype=dtype or own.dtype, device=own.device if device is None else device)
    return _ordered(made, input, memory_format, requires_grad, pin_memory)


def randint_like(input, low=None, high=None, *, generator=None, dtype=None, layout=None, device=None, requires_grad: bool = False,
                 memory_format=None, pin_memory: bool = False) -> Tensor:
    """Integers in [low, high), or in [0, low) without `high`, with the shape, dtype, device and dense strides of another tensor.

    Args:
        low, high: the range.
        input, generator, dtype, layout, device, requires_grad, memory_format, pin_memory: as for `rand_like`.

    Raises:
        RuntimeError: an empty range, or one that the dtype cannot hold.

    Example:
        >>> import numtorch as torch
        >>> torch.randint_like(torch.tensor([1., 2.]), 5, 6)
        tensor([5., 5.])
    """
    if layout is not None:
        check_strided("randint_like", layout)
    low, high = (0, low) if high is None else (low or 0, high)
    low, high = integer("randint_like", "low", low), integer("randint_like", "high", high)
    own = _asked("randint_like", input)
    device = own.device if device is None else device
    made = randint(low, high, own.shape, generator=generator, dtype=dtype or own.dtype, device=device)
    return _ordered(made, input, memory_format, requires_grad, pin_memory)
