"""Channels that become pixels and pixels that become channels, and channels dealt out over groups: all by copying."""
from __future__ import annotations

from functools import partial

from ... import viewalgebra as algebra
from ...layout import Layout, ints
from ...tensor import Tensor
from ..core.operands import layout_of
from ..core.primitive import derivative_of, miss, primitives
from .rearrange import Move, run_move

_MOVES = primitives("pixel_shuffle", "pixel_unshuffle", "channel_shuffle", samples="T[1, 4, 2, 2]; 2")


def _permuted(wide_of, layout, factor):
    """The copy of a tensor seen in more dimensions and in another order of them: `wide_of` says which, and the result's shape."""
    wide, order, shape = wide_of(layout.shape, factor)
    source, _ = algebra.permute(algebra.try_view(layout, wide)[0], order)
    out = Layout.of(layout.dtype, tuple(shape), None, layout.device)
    return Move(layout, out, [((source, 0), (source.dense(), 0))], factor)


def _dealt(name, input, factor):
    primitive = _MOVES[name]
    plan = primitive.plans.get((layout_of(name, input), factor))
    if plan is None or factor.__class__ is not int:
        return miss(primitive, (input,), ints((factor,), name))
    return run_move(primitive, plan, input)


def _image(shape, name):
    if len(shape) < 3:
        raise RuntimeError(f"{name} expects input to have at least 3 dimensions, but got input with {len(shape)} dimension(s)")
    return shape


def _shuffled(shape, r):
    *lead, channels, height, width = _image(shape, "pixel_shuffle")
    if r <= 0:
        raise RuntimeError(f"pixel_shuffle expects a positive upscale_factor, but got {r}")
    if channels % (r * r):
        raise RuntimeError(f"pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of "
                           f"upscale_factor, but input.size(-3)={channels} is not divisible by {r * r}")
    n, left = len(lead), channels // (r * r)
    return (*lead, left, r, r, height, width), (*range(n), n, n + 3, n + 1, n + 4, n + 2), (*lead, left, height * r, width * r)


def _unshuffled(shape, r):
    *lead, channels, height, width = _image(shape, "pixel_unshuffle")
    if r <= 0:
        raise RuntimeError(f"pixel_unshuffle expects a positive downscale_factor, but got {r}")
    if height % r or width % r:
        raise RuntimeError(f"pixel_unshuffle expects height and width to be divisible by downscale_factor, but got {height} and "
                           f"{width} with {r}")
    n, rows, columns = len(lead), height // r, width // r
    order = (*range(n), n, n + 2, n + 4, n + 1, n + 3)
    return (*lead, channels, rows, r, columns, r), order, (*lead, channels * r * r, rows, columns)


def _regrouped(shape, groups):
    if len(shape) < 3 or groups <= 0 or shape[1] % groups:
        raise RuntimeError(f"channel_shuffle expects an input of at least 3 dimensions whose channels are divisible by groups, but "
                           f"got {list(shape)} and {groups}")
    return (shape[0], groups, shape[1] // groups, *shape[2:]), (0, 2, 1, *range(3, len(shape) + 1)), shape


for _name, _wide_of in (("pixel_shuffle", _shuffled), ("pixel_unshuffle", _unshuffled), ("channel_shuffle", _regrouped)):
    _MOVES[_name].plan, _MOVES[_name].execute = partial(_permuted, _wide_of), partial(run_move, _MOVES[_name])


def pixel_shuffle(input, upscale_factor: int) -> Tensor:
    """Groups of channels become pixels (Shi et al. 2016).

    Args:
        input: (*, C r^2, H, W).
        upscale_factor: r.

    Returns:
        (*, C, H r, W r).

    Raises:
        RuntimeError: fewer than three dimensions, or channels that r^2 does not divide.

    Example:
        >>> import numtorch as torch
        >>> torch.pixel_shuffle(torch.arange(4).view(4, 1, 1), 2)
        tensor([[[0, 1],
                 [2, 3]]])
    """
    return _dealt("pixel_shuffle", input, upscale_factor)


@derivative_of(_MOVES["pixel_shuffle"])
def _pixel_shuffle_vjp(node, grad):
    return (pixel_unshuffle(grad, node.attributes),)


def pixel_unshuffle(input, downscale_factor: int) -> Tensor:
    """Pixels become channels: the inverse of `pixel_shuffle`.

    Args:
        input: (*, C, H r, W r).
        downscale_factor: r.

    Returns:
        (*, C r^2, H, W).

    Raises:
        RuntimeError: fewer than three dimensions, or extents that r does not divide.

    Example:
        >>> import numtorch as torch
        >>> torch.pixel_unshuffle(torch.arange(4).view(1, 2, 2), 2).flatten()
        tensor([0, 1, 2, 3])
    """
    return _dealt("pixel_unshuffle", input, downscale_factor)


@derivative_of(_MOVES["pixel_unshuffle"])
def _pixel_unshuffle_vjp(node, grad):
    return (pixel_shuffle(grad, node.attributes),)


def channel_shuffle(input, groups: int) -> Tensor:
    """Channels dealt out over groups in turn (Zhang et al. 2018).

    Args:
        input: (N, C, *).
        groups: how many; it divides the channels.

    Returns:
        The input's shape: channel g + groups * i is what i + C / groups * g was.

    Raises:
        RuntimeError: fewer than three dimensions, or channels that `groups` does not divide.

    Example:
        >>> import numtorch as torch
        >>> torch.channel_shuffle(torch.arange(4).view(1, 4, 1), 2).flatten()
        tensor([0, 2, 1, 3])
    """
    return _dealt("channel_shuffle", input, groups)


@derivative_of(_MOVES["channel_shuffle"])
def _channel_shuffle_vjp(node, grad):
    return (channel_shuffle(grad, grad.layout.shape[1] // node.attributes),)
