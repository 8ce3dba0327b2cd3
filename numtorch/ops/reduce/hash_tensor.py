"""Hashes of whole tensors or of their rows."""
from __future__ import annotations

from ...dtypes import float64, int64, uint64
from ...layout import as_shape, wrap_dim
from ...tensor import Tensor
from ..core.arguments import check_truths, integer, numpy_keywords
from ..core.operands import layout_of, method
from ..creation.fill import zeros
from ..memory.conversion import to_dtype
from ..memory.resize import into_exactly
from ..pointwise.comparison import bitwise_xor
from ..shape.join import cat
from ..shape.slicing import narrow
from ..shape.views import movedim, reshape, view


@method
@numpy_keywords
def hash_tensor(input, dim=(), *, keepdim: bool = False, mode: int = 0, out=None) -> Tensor:
    """The exclusive or of elements as 64-bit words: integers as int64, floats as float64.

    Args:
        input: (*), of real numbers.
        dim: one or several dimensions; all for ().
        keepdim: keep them, of extent 1.
        mode: 0, the exclusive or.
        out: a tensor to write the result into.

    Returns:
        uint64 words.

    Raises:
        RuntimeError: another mode, or all dimensions of a tensor without elements.
        IndexError: a dimension of extent 0.
        NotImplementedError: complex numbers.

    Example:
        >>> import numtorch as torch
        >>> torch.hash_tensor(torch.tensor([1, 2, 4])).item()
        7
    """
    check_truths("hash_tensor", keepdim=keepdim)
    mode, layout = integer("hash_tensor", "mode", mode), layout_of("hash_tensor", input)
    if mode != 0:
        raise RuntimeError(f"hash_tensor(): unknown mode {mode}, expected 0")
    if layout.dtype.category == 3:
        raise NotImplementedError(f'"hash_tensor" not implemented for \'{layout.dtype.title}\'')
    given = as_shape((() if dim is None else dim,), "hash_tensor: dim")
    dims = sorted({wrap_dim(d, layout.ndim) for d in given}) or range(layout.ndim)
    if not layout.numel and not given:
        raise RuntimeError("hash_tensor(): expected dim for an input without elements")
    if 0 in [extent for d, extent in enumerate(layout.shape) if d in dims]:
        raise IndexError("hash_tensor(): expected dimensions with elements to reduce")
    words = to_dtype(input.detach(), float64 if layout.dtype.category == 2 else int64)
    words = view(words.contiguous(), int64)
    kept = [n for d, n in enumerate(layout.shape) if d not in dims]
    if layout.numel:
        words = reshape(movedim(words, tuple(dims), tuple(range(len(dims)))), [-1, *kept])
    else:
        words = zeros([1, *kept], dtype=int64, device=input.device)
    while words.layout.shape[0] > 1:                     # halves, the middle one of an odd number going on as it is
        half = words.layout.shape[0] // 2
        folded = bitwise_xor(narrow(words, 0, 0, half), narrow(words, 0, half, half))
        words = cat([folded, narrow(words, 0, 2 * half, words.layout.shape[0] - 2 * half)])
    shape = [1 if d in dims else n for d, n in enumerate(layout.shape)] if keepdim else kept
    return into_exactly("hash_tensor", out, view(reshape(words, shape), uint64))
