"""Tensors between devices: to all of them, in pieces, joined, and summed. Gradients pass through."""
from __future__ import annotations

from ..devices import device as _device
from ..ops.shape.join import cat
from ..tensor import Tensor
from .devices import placed

__all__ = ["broadcast", "broadcast_coalesced", "gather", "reduce_add", "reduce_add_coalesced", "scatter"]


def _places(devices):
    return [placed(_device("cuda", d) if isinstance(d, int) else _device(d)) for d in devices]


def broadcast(tensor: Tensor, devices=None, *, out=None) -> tuple:
    """A tensor on each of some devices; itself where it is there.

    Args:
        tensor: on any device.
        devices: devices, their indices or names.
        out: tensors to write to instead, one a device.

    Raises:
        RuntimeError: neither devices nor `out`, or both.
    """
    if (devices is None) == (out is None):
        raise RuntimeError(f"Exactly one of 'devices' and 'out' must be specified, but got devices={devices} and out={out}")
    if out is not None:
        return tuple([each.copy_(tensor) for each in out])
    return tuple([tensor.to(place) for place in _places(devices)])


def broadcast_coalesced(tensors, devices, buffer_size: int = 10485760) -> list:
    """Several tensors on each of some devices: for each device a list of them.

    Args:
        tensors: on any device.
        devices: devices, their indices or names.
        buffer_size: accepted; tensors are copied one by one.
    """
    return [[tensor.to(place) for tensor in tensors] for place in _places(devices)]


def scatter(tensor: Tensor, devices=None, chunk_sizes=None, dim: int = 0, streams=None, *, out=None) -> tuple:
    """A tensor in pieces, one on each device.

    Args:
        tensor: on any device.
        devices: devices, their indices or names.
        chunk_sizes: the extents of the pieces, whose sum is the tensor's; nearly equal when None.
        dim: the dimension that is cut.
        streams: accepted; copies are made in the current ones.
        out: tensors to write to instead, whose extents are the pieces'.

    Raises:
        RuntimeError: `out` together with devices or extents, or extents of another sum.
    """
    if out is not None:
        if devices is not None or chunk_sizes is not None:
            raise RuntimeError("'devices' and 'chunk_sizes' must not be specified when 'out' is specified")
        pieces = tensor.split([each.shape[dim] for each in out], dim)
        return tuple([each.copy_(piece) for each, piece in zip(out, pieces)])
    places = _places(devices)
    if chunk_sizes is not None and (len(chunk_sizes) != len(places) or sum(chunk_sizes) != tensor.shape[dim]):
        raise RuntimeError(f"scatter: expected chunk_sizes for {len(places)} devices that sum to {tensor.shape[dim]}, got "
                           f"{list(chunk_sizes)}")
    pieces = tensor.chunk(len(places), dim) if chunk_sizes is None else tensor.split(list(chunk_sizes), dim)
    return tuple([piece.to(place) for piece, place in zip(pieces, places)])


def gather(tensors, dim: int = 0, destination=None, *, out=None) -> Tensor:
    """Tensors of several devices, joined on one.

    Args:
        tensors: the pieces; their other extents are the same.
        dim: the dimension along which they are joined. Numbers (0-dim tensors) become a vector.
        destination: a device, its index or name, or "cpu" (-1); that of the first piece when None.
        out: a tensor to write to instead.
    """
    tensors = [t.view(1) if not t.ndim else t for t in tensors]
    if out is not None:
        return out.copy_(cat([t.to(out.device) for t in tensors], dim))
    place = tensors[0].device if destination is None else _device("cpu") if destination in (-1, "cpu", _device("cpu")) else \
        _places([destination])[0]
    return cat([t.to(place) for t in tensors], dim)


def reduce_add(inputs, destination=None) -> Tensor:
    """The sum of tensors of several devices, on one.

    Args:
        inputs: tensors of one shape.
        destination: a device, its index or name; that of the first when None.

    Raises:
        ValueError: another shape.
    """
    place = inputs[0].device if destination is None else _places([destination])[0]
    total = inputs[0].to(place)
    for each in inputs[1:]:
        if each.shape != inputs[0].shape:
            raise ValueError(f"input shapes do not match: got {tuple(each.shape)}, expected {tuple(inputs[0].shape)}")
        total = total + each.to(place)
    return total


def reduce_add_coalesced(inputs, destination=None, buffer_size: int = 10485760) -> tuple:
    """The sums of the tensors of several devices: inputs[device][i] over the devices.

    Args:
        inputs: for each device as many tensors.
        destination: a device, its index or name; that of the first when None.
        buffer_size: accepted; tensors are copied one by one.
    """
    return tuple([reduce_add(list(each), destination) for each in zip(*inputs)])
