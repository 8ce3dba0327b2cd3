"""Sequences of different lengths as one tensor: padded to the longest, or packed step after step without padding.

Both ways are a mask over (step, sequence): packing takes the elements where it holds, padding puts them back there.
"""
from __future__ import annotations

from typing import NamedTuple

from ...devices import cpu
from ...dtypes import int64
from ...ops.creation import fill, ranges
from ...ops.index.gather_scatter import scatter
from ...ops.index.index_select import index_copy, index_select
from ...ops.index.mask import nonzero
from ...ops.pointwise.comparison import lt
from ...ops.reduce.reductions import sum as total
from ...ops.shape.join import stack
from ...ops.shape.slicing import narrow
from ...ops.shape.split import unbind
from ...ops.shape.views import reshape, transpose, unsqueeze
from ...ops.sort.order import sort
from ...tensor import Tensor


class _Fields(NamedTuple):
    data: Tensor
    batch_sizes: Tensor
    sorted_indices: Tensor | None
    unsorted_indices: Tensor | None


class PackedSequence(_Fields):
    """Sequences without padding: all first elements, longest sequence first, then all second ones, and so on. Made by
    `pack_padded_sequence` and `pack_sequence`.

    Args:
        data: (sum of lengths, *).
        batch_sizes: how many sequences reach each step, an int64 tensor on the CPU.
        sorted_indices: for each place in a step, the sequence that has it; None when they came in order.
        unsorted_indices: the inverse.

    Attributes are the arguments.

    Raises:
        ValueError: `batch_sizes` on another device.

    Example:
        >>> import numtorch as torch
        >>> packed = torch.nn.utils.rnn.pack_sequence([torch.tensor([1, 2, 3]), torch.tensor([4, 5])])
        >>> packed.data, packed.batch_sizes
        (tensor([1, 4, 2, 5, 3]), tensor([2, 2, 1]))
    """

    __slots__ = ()

    def __new__(cls, data, batch_sizes=None, sorted_indices=None, unsorted_indices=None):
        if batch_sizes is None:
            if not (isinstance(data, (list, tuple)) and len(data) == 2):
                raise AssertionError("Expected data to be a list or tuple of length 2")
            data, batch_sizes = data
        if batch_sizes.layout.device is not cpu:
            raise ValueError("batch_sizes should always be on CPU. Make a PackedSequence with pack_sequence or "
                             "pack_padded_sequence.")
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def to(self, *args, **kwargs) -> PackedSequence:
        """With the data converted as by `Tensor.to`; itself when nothing changes.

        Args:
            args, kwargs: those of `Tensor.to`.
        """
        data = self.data.to(*args, **kwargs)
        if data is self.data:
            return self
        sides = [None if x is None else x.to(data.layout.device) for x in (self.sorted_indices, self.unsorted_indices)]
        return type(self)(data, self.batch_sizes, *sides)

    def cpu(self) -> PackedSequence:
        """In host memory."""
        return self.to("cpu")

    def cuda(self, device=None) -> PackedSequence:
        """On a CUDA device.

        Args:
            device: which; the current one when None.
        """
        return self.to("cuda" if device is None else device)

    def pin_memory(self) -> PackedSequence:
        """With the data in pinned memory, as by `Tensor.pin_memory`."""
        return type(self)(self.data.pin_memory(), self.batch_sizes, self.sorted_indices, self.unsorted_indices)

    def is_pinned(self) -> bool:
        """Whether the data is in pinned memory."""
        return self.data.is_pinned()

    @property
    def is_cuda(self) -> bool:
        """Whether the data is on a CUDA device."""
        return self.data.is_cuda


def _converter(name):
    def convert(self):
        return self.to(getattr(self.data, name)().dtype)
    convert.__name__, convert.__doc__ = name, f"With the data converted as by `Tensor.{name}`."
    return convert


for _name in ("double", "float", "half", "long", "int", "short", "char", "byte"):
    setattr(PackedSequence, _name, _converter(_name))


def invert_permutation(permutation):
    """The permutation that undoes one.

    Args:
        permutation: int64 (N), or None.

    Returns:
        int64 (N); None for None.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.utils.rnn.invert_permutation(torch.tensor([2, 0, 1]))
        tensor([1, 2, 0])
    """
    if permutation is None:
        return None
    count = permutation.layout.shape[0]
    places = ranges.arange(count, device=permutation.layout.device)
    return scatter(fill.empty(count, dtype=int64, device=permutation.layout.device), 0, permutation, places)


def _places(mask, device):
    """The numbers of the elements of a (step, sequence) mask that hold, in that order."""
    return reshape(nonzero(reshape(mask, (-1,))), (-1,)).to(device)


def pack_padded_sequence(input, lengths, batch_first: bool = False, enforce_sorted: bool = True) -> PackedSequence:
    """Pack padded sequences.

    Args:
        input: (L, N, *), or (N, L, *) with `batch_first`.
        lengths: the length of each sequence, a list or a tensor on the CPU.
        batch_first: the order of the first two dimensions.
        enforce_sorted: expect lengths that never rise; otherwise the sequences are sorted.

    Returns:
        A `PackedSequence` with data (sum of lengths, *).

    Raises:
        RuntimeError: lengths that do not match the input, are not positive, or rise although they must not.

    Example:
        >>> import numtorch as torch
        >>> padded = torch.tensor([[1, 4], [2, 5], [3, 0]])
        >>> torch.nn.utils.rnn.pack_padded_sequence(padded, [3, 2]).data
        tensor([1, 4, 2, 5, 3])
    """
    lengths = lengths.to(int64) if isinstance(lengths, Tensor) else fill.tensor(list(lengths), dtype=int64)
    if batch_first:
        input = transpose(input, 0, 1)
    sorted_indices = None
    if not enforce_sorted:
        lengths, order = sort(lengths, descending=True)
        sorted_indices = order.to(input.layout.device)
        input = index_select(input, 1, sorted_indices)
    shape, values = input.layout.shape, lengths.tolist()
    if not input.layout.numel:
        raise RuntimeError("Cannot pack empty tensors.")
    if len(values) != shape[1]:
        raise RuntimeError(f"Expected `len(lengths)` to be equal to batch_size, but got {len(values)} (batch_size={shape[1]})")
    if min(values) <= 0:
        raise RuntimeError(f"Length of all samples has to be greater than 0, but found an element in 'lengths' that is <= 0: "
                           f"{values}")
    if any(a < b for a, b in zip(values, values[1:])):
        raise RuntimeError("`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You can pass "
                           "`enforce_sorted=False` to pack_padded_sequence and/or pack_sequence to sidestep this requirement if "
                           "you do not need ONNX exportability.")
    if values[0] > shape[0]:
        raise RuntimeError(f"pack_padded_sequence: expected lengths of at most {shape[0]}, the input's steps, got {values[0]}")
    steps = ranges.arange(values[0])
    mask = lt(unsqueeze(steps, 1), unsqueeze(lengths, 0))
    rows = reshape(narrow(input, 0, 0, values[0]), (values[0] * shape[1], *shape[2:]))
    return PackedSequence(index_select(rows, 0, _places(mask, input.layout.device)), total(mask, 1), sorted_indices, None)


def pad_packed_sequence(sequence, batch_first: bool = False, padding_value: float = 0.0, total_length=None) -> tuple:
    """The inverse of `pack_padded_sequence`.

    Args:
        sequence: a `PackedSequence`.
        batch_first: give (N, L, *) instead of (L, N, *).
        padding_value: what stands after the end of a sequence.
        total_length: pad to this many steps instead of to the longest sequence.

    Returns:
        The padded sequences in their first order, and their lengths, int64 (N).

    Raises:
        ValueError: `total_length` is less than the longest sequence.

    Example:
        >>> import numtorch as torch
        >>> packed = torch.nn.utils.rnn.pack_sequence([torch.tensor([1, 2, 3]), torch.tensor([4, 5])])
        >>> torch.nn.utils.rnn.pad_packed_sequence(packed, batch_first=True)
        (tensor([[1, 2, 3],
                [4, 5, 0]]), tensor([3, 2]))
    """
    data, sizes = sequence.data, sequence.batch_sizes
    steps, batch = sizes.layout.shape[0], int(sizes[0])
    if total_length is not None and total_length < steps:
        raise ValueError(f"Expected total_length to be at least the length of the longest sequence in input, but got "
                         f"total_length={total_length} and max sequence length being {steps}")
    mask = lt(unsqueeze(ranges.arange(batch), 0), unsqueeze(sizes, 1))
    shape, device = data.layout.shape[1:], data.layout.device
    length = total_length or steps
    filled = fill.full((length * batch, *shape), padding_value, dtype=data.layout.dtype, device=device)
    padded = reshape(index_copy(filled, 0, _places(mask, device), data), (length, batch, *shape))
    lengths = total(mask, 0)
    if sequence.unsorted_indices is not None:
        padded = index_select(padded, 1, sequence.unsorted_indices)
        lengths = index_select(lengths, 0, sequence.unsorted_indices.to(cpu))
    return transpose(padded, 0, 1) if batch_first else padded, lengths


def pad_sequence(sequences, batch_first: bool = False, padding_value: float = 0.0, padding_side: str = "right") -> Tensor:
    """Sequences of different lengths as one tensor.

    Args:
        sequences: tensors (L_i, *), of which the longest has length L.
        batch_first: give (N, L, *) instead of (L, N, *).
        padding_value: what fills up the others.
        padding_side: `"right"` or `"left"`: at which end.

    Returns:
        (L, N, *) or (N, L, *).

    Raises:
        RuntimeError: no sequences, not an iterable, or another side.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.utils.rnn.pad_sequence([torch.tensor([1, 2, 3]), torch.tensor([4, 5])], batch_first=True)
        tensor([[1, 2, 3],
                [4, 5, 0]])
    """
    if not hasattr(sequences, "__iter__"):
        raise RuntimeError(f"pad_sequence: Expected iterable for input sequences, but got arg of type: {type(sequences)}")
    sequences = unbind(sequences, 0) if isinstance(sequences, Tensor) else tuple(sequences)
    if not sequences:
        raise RuntimeError("received an empty list of sequences")
    if padding_side not in ("right", "left"):
        raise RuntimeError(f"Expected padding_side to be one of left or right, but got {padding_side}.")
    longest = max(s.layout.shape[0] for s in sequences)
    padded = []
    for sequence in sequences:
        count, *rest = sequence.layout.shape
        if count < longest:
            filled = fill.full((longest, *rest), padding_value, dtype=sequence.layout.dtype, device=sequence.layout.device)
            start = longest - count if padding_side == "left" else 0
            places = ranges.arange(start, start + count, device=sequence.layout.device)
            sequence = index_copy(filled, 0, places, sequence)
        padded.append(sequence)
    return stack(padded, 0 if batch_first else 1)


def unpad_sequence(padded_sequences, lengths, batch_first: bool = False) -> list:
    """The inverse of `pad_sequence`.

    Args:
        padded_sequences: (L, N, *), or (N, L, *) with `batch_first`.
        lengths: (N), a list or a tensor.
        batch_first: the order of the first two dimensions.

    Returns:
        A list of N tensors (L_i, *).

    Example:
        >>> import numtorch as torch
        >>> torch.nn.utils.rnn.unpad_sequence(torch.tensor([[1, 2, 3], [4, 5, 0]]), [3, 2], batch_first=True)
        [tensor([1, 2, 3]), tensor([4, 5])]
    """
    if not batch_first:
        padded_sequences = transpose(padded_sequences, 0, 1)
    values = lengths.tolist() if isinstance(lengths, Tensor) else list(lengths)
    return [narrow(sequence, 0, 0, length) for sequence, length in zip(unbind(padded_sequences, 0), values, strict=True)]


def pack_sequence(sequences, enforce_sorted: bool = True) -> PackedSequence:
    """Pack sequences of different lengths.

    Args:
        sequences: a list of tensors (L_i, *).
        enforce_sorted: expect the longest first; otherwise the sequences are sorted.

    Returns:
        A `PackedSequence` with data (sum of lengths, *).

    Raises:
        RuntimeError: lengths that rise although they must not.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.utils.rnn.pack_sequence([torch.tensor([4, 5]), torch.tensor([1, 2, 3])], enforce_sorted=False).data
        tensor([1, 4, 2, 5, 3])
    """
    return pack_padded_sequence(pad_sequence(sequences), [s.layout.shape[0] for s in sequences], enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences) -> list:
    """The inverse of `pack_sequence`.

    Args:
        packed_sequences: a `PackedSequence`.

    Returns:
        A list of tensors (L_i, *).

    Example:
        >>> import numtorch as torch
        >>> packed = torch.nn.utils.rnn.pack_sequence([torch.tensor([1, 2, 3]), torch.tensor([4, 5])])
        >>> torch.nn.utils.rnn.unpack_sequence(packed)
        [tensor([1, 2, 3]), tensor([4, 5])]
    """
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)


def __getattr__(name):
    """PyTorch's names that are not here, and why (alias)."""
    from ...alias import attribute
    return attribute(__name__, name)
