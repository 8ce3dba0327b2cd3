"""Tensors between devices: to all of them, in pieces, joined, and summed. Gradients pass through."""
from __future__ import annotations

from ..devices import device as _device
from ..ops.shape.join import cat
from ..tensor import Tensor
from .devices import current_device, placed

__all__ = ["broadcast", "broadcast_coalesced", "gather", "reduce_add", "reduce_add_coalesced", "scatter"]


def _places(devices):
    return [placed(_device("cuda", d) if isinstance(d, int) else _device(d)) for d in devices]


def _on_device(kind, tensors):
    for place, tensor in enumerate(tensors):
        if not tensor.is_cuda:
            raise RuntimeError(f"Expected all {kind} tensors to be CUDA tensors, but {kind} tensor at index {place} has device "
                               f"'{tensor.device}'")


def broadcast(tensor: Tensor, devices=None, *, out=None) -> tuple:
    """A tensor on each of some devices; itself where it is there.

    Args:
        tensor: on any device.
        devices: devices, their indices or names.
        out: tensors to write to instead, one a device.

    Raises:
        RuntimeError: neither devices nor `out`, or both, or an `out` on the CPU or of another shape.
    """
    if (devices is None) == (out is None):
        raise RuntimeError(f"Exactly one of 'devices' and 'out' must be specified, but got devices={devices} and out={out}")
    if out is not None:
        _on_device("output", out)
        for place, each in enumerate(out):
            if each.shape != tensor.shape:
                raise RuntimeError(f"Expected all output tensors to have same shape as the source tensor {tuple(tensor.shape)}, "
                                   f"but output tensor at index {place} has shape {tuple(each.shape)}")
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
        RuntimeError: `out` together with devices or extents, or on the CPU, or of other shapes; extents of another number or sum;
            nowhere to scatter to.
    """
    if out is not None:
        for name, given in (("devices", devices), ("chunk_sizes", chunk_sizes)):
            if given is not None:
                raise RuntimeError(f"'{name}' must not be specified when 'out' is specified, but got {name}={given}")
        _check_pieces(tensor, dim, out)
        pieces = tensor.split([each.shape[dim] for each in out], dim)
        return tuple([each.copy_(piece) for each, piece in zip(out, pieces)])
    places = _places(devices)
    if not places:
        raise RuntimeError("Expected at least one device to scatter to")
    if chunk_sizes is not None and len(chunk_sizes) != len(places):
        raise RuntimeError(f"Expected devices and chunk_sizes to be of same length, but got len(devices) = {len(places)} and "
                           f"len(chunk_sizes) = {len(chunk_sizes)}")
    if chunk_sizes is not None and sum(chunk_sizes) != tensor.shape[dim]:
        raise RuntimeError(f"given chunk sizes {list(chunk_sizes)} don't sum up to the tensor's size {tensor.shape[dim]} along "
                           f"dimension {dim}")
    pieces = tensor.chunk(len(places), dim) if chunk_sizes is None else tensor.split(list(chunk_sizes), dim)
    return tuple([piece.to(place) for piece, place in zip(pieces, places)])


def _check_pieces(tensor, dim, out):
    if not out:
        raise RuntimeError("Expected at least one output tensor to scatter to")
    _on_device("output", out)
    dim %= max(tensor.ndim, 1)
    for place, each in enumerate(out):
        if each.ndim != tensor.ndim or any(n != m for d, (n, m) in enumerate(zip(each.shape, tensor.shape)) if d != dim):
            raise RuntimeError(f"Output tensor at index {place} has incorrect shape: {tuple(each.shape)}, for pieces of "
                               f"{tuple(tensor.shape)} along dimension {dim}")
    total = sum(each.shape[dim] for each in out)
    if total != tensor.shape[dim]:
        raise RuntimeError(f"Total size for output tensors along scatter dim {dim} does not match the source tensor's: expected "
                           f"{tensor.shape[dim]}, got {total}")


def gather(tensors, dim: int = 0, destination=None, *, out=None) -> Tensor:
    """Tensors of several devices, joined on one.

    Args:
        tensors: the pieces; their other extents are the same.
        dim: the dimension along which they are joined. Numbers (0-dim tensors) become a vector.
        destination: a device, its index or name, or "cpu" (-1); the current one when None.
        out: a tensor to write to instead.

    Raises:
        RuntimeError: no pieces, some on the CPU or of other extents, or `out` together with a destination.
    """
    if out is not None and destination is not None:
        raise RuntimeError(f"'destination' must not be specified when 'out' is specified, but got destination={destination}")
    if not tensors:
        raise RuntimeError("Expected at least one tensor to gather from")
    _on_device("input", tensors)
    tensors = [t.view(1) if not t.ndim else t for t in tensors]
    first = tensors[0].shape
    for place, each in enumerate(tensors):
        if each.ndim != len(first):
            raise RuntimeError("Expected all input tensors to have the same number of dimensions, but input tensor at index "
                               f"{place} has {each.ndim} dimensions, (expected {len(first)})")
        if any(n != m for d, (n, m) in enumerate(zip(each.shape, first)) if d != dim % len(first)):
            raise RuntimeError(f"Input tensor at index {place} has invalid shape {tuple(each.shape)}, beside {tuple(first)}")
    if out is not None:
        return out.copy_(cat([t.to(out.device) for t in tensors], dim))
    place = _device("cpu") if destination in (-1, "cpu", _device("cpu")) else _destination(destination)
    return cat([t.to(place) for t in tensors], dim)


def _destination(device):
    return _places([current_device() if device is None else device])[0]


def reduce_add(inputs, destination=None) -> Tensor:
    """The sum of tensors of several devices, on one.

    Args:
        inputs: tensors of one shape, one of which is there.
        destination: a device, its index or name; the current one when None.

    Raises:
        AssertionError: a tensor on the CPU.
        ValueError: another shape.
        RuntimeError: none of them is there.
    """
    place = _destination(destination)
    for each in inputs:
        if not each.is_cuda:
            raise AssertionError("reduce_add expects all inputs to be on GPUs")
        if each.shape != inputs[0].shape:
            raise ValueError(f"input shapes do not match: got {tuple(each.shape)}, expected {tuple(inputs[0].shape)}")
    here = [each for each in inputs if each.device == place]
    if not here:
        raise RuntimeError("reduce_add expects destination to be on the same GPU with one of the tensors")
    total = here[0]
    for each in inputs:
        total = total if each is here[0] else total + each.to(place)
    return total


def reduce_add_coalesced(inputs, destination=None, buffer_size: int = 10485760) -> tuple:
    """The sums of the tensors of several devices: inputs[device][i] over the devices.

    Args:
        inputs: for each device as many tensors.
        destination: a device, its index or name; the current one when None.
        buffer_size: accepted; tensors are copied one by one.
    """
    return tuple([reduce_add(list(each), destination) for each in zip(*inputs)])
