"""Embedding and EmbeddingBag: a table of vectors looked up by index."""
from __future__ import annotations

from ...autograd.modes import no_grad
from ...dtypes import int64
from ...ops.creation import fill
from .. import functional as F
from .. import init
from ..base.foreseen import expect_example
from ..parameter import Parameter
from .module import Module


class _Table(Module):
    """A table of vectors, with the options of looking them up."""

    def __init__(self, num_embeddings: int, embedding_dim: int, padding_idx=None, max_norm=None, norm_type: float = 2.0,
                 scale_grad_by_freq: bool = False, sparse: bool = False, _weight=None, _freeze: bool = False, device=None,
                 dtype=None) -> None:
        super().__init__()
        if padding_idx is not None:
            if not -num_embeddings <= padding_idx < num_embeddings:
                raise AssertionError("Padding_idx must be within num_embeddings")
            padding_idx %= num_embeddings
        self.num_embeddings, self.embedding_dim, self.padding_idx = num_embeddings, embedding_dim, padding_idx
        self.max_norm, self.norm_type, self.scale_grad_by_freq, self.sparse = max_norm, norm_type, scale_grad_by_freq, sparse
        if _weight is not None:
            if _weight.layout.shape != (num_embeddings, embedding_dim):
                raise AssertionError("Shape of weight does not match num_embeddings and embedding_dim")
            self.weight = Parameter(_weight, requires_grad=not _freeze)
        else:
            self.weight = Parameter(fill.empty(num_embeddings, embedding_dim, device=device, dtype=dtype),
                                    requires_grad=not _freeze)
            expect_example(self, 64, dtype=int64)
            self.reset_parameters()

    def reset_parameters(self) -> None:
        """Give all parameters first values anew."""
        init.normal_(self.weight)
        self._fill_padding_idx_with_zero()

    def _fill_padding_idx_with_zero(self) -> None:
        """What subclasses with first values of their own call behind them: PyTorch's name."""
        if self.padding_idx is not None:
            with no_grad():
                self.weight[self.padding_idx].fill_(0)


class Embedding(_Table):
    """Rows of a learned table, by index.

    Args:
        num_embeddings, embedding_dim: the table's extents V and D.
        padding_idx: a row that starts at zero and is not learned; negative from the end, None for none.
        max_norm: rows of a larger norm are scaled down to it, in place, when they are looked up.
        norm_type: the order of that norm.
        scale_grad_by_freq: divide a row's gradient by how often it was looked up.
        sparse: whether the weight's gradient is a COO tensor of the rows that were named; for SGD, Adagrad and SparseAdam.
        _weight: the table to begin with, (V, D), whose memory is shared.
        _freeze: do not learn.
        device, dtype: of the parameters; the defaults when None.

    Attributes:
        weight: (V, D), normal with standard deviation 1.

    Shape:
        Integers (*) -> (*, D).

    Raises:
        AssertionError: a `padding_idx` that is no row, or a `_weight` of another shape.
        IndexError: in the call, an index out of range.
        RuntimeError: in backward, `sparse` with `scale_grad_by_freq`.

    Example:
        >>> import numtorch as torch
        >>> table = torch.nn.Embedding(4, 2, padding_idx=0)
        >>> table(torch.tensor([[1, 2, 0]])).shape, table.weight[0].tolist()
        (torch.Size([1, 3, 2]), [0.0, 0.0])
    """

    @classmethod
    def from_pretrained(cls, embeddings, freeze: bool = True, padding_idx=None, **options):
        """An embedding over a given table.

        Args:
            embeddings: (V, D), whose memory is shared.
            freeze: do not learn it.
            padding_idx: a row that gets no gradient.
            options: further arguments of the class, by name.

        Raises:
            AssertionError: not two dimensions.

        Example:
            >>> import numtorch as torch
            >>> torch.nn.Embedding.from_pretrained(torch.tensor([[1., 2.], [3., 4.]]))(torch.tensor([1]))
            tensor([[3., 4.]])
        """
        if embeddings.layout.ndim != 2:
            raise AssertionError("Embeddings parameter is expected to be 2-dimensional")
        count, width = embeddings.layout.shape
        return cls(count, width, padding_idx, _weight=embeddings, _freeze=freeze, **options)

    def forward(self, input):
        return F.embedding(input, self.weight, self.padding_idx, self.max_norm, self.norm_type, self.scale_grad_by_freq,
                           self.sparse)

    def extra_repr(self):
        return f"{self.num_embeddings}, {self.embedding_dim}" + _options(self)


def _options(module, *more):
    """The arguments that are not at their defaults."""
    listed = [("padding_idx", None), ("max_norm", None), ("norm_type", 2.0), ("scale_grad_by_freq", False), *more]
    return "".join(f", {n}={getattr(module, n)!r}" for n, default in listed if getattr(module, n) != default)


class EmbeddingBag(_Table):
    """Sums, means or maxima of the rows of a learned table that bags of indices name.

    Args:
        num_embeddings, embedding_dim: the table's extents V and D.
        max_norm: rows of a larger norm are scaled down to it, in place, when they are looked up.
        norm_type: the order of that norm.
        scale_grad_by_freq: divide a row's gradient by how often it was looked up.
        mode: "sum", "mean" or "max".
        sparse: whether the weight's gradient is a COO tensor of the rows that were named; for SGD, Adagrad and SparseAdam.
        _weight: the table to begin with, (V, D), whose memory is shared.
        include_last_offset: whether `offsets` ends with where the last bag ends.
        padding_idx: an index that does not count; None for none.
        device, dtype: of the parameters; the defaults when None.

    Attributes:
        weight: (V, D), normal with standard deviation 1.

    Shape:
        Integers (B, N), or (N) and `offsets` (B) that say where each bag starts -> (B, D). A call may also take
            `per_sample_weights`, factors of the indices' shape, in mode "sum".

    Raises:
        ValueError: in the call, shapes or a mode that do not fit.
        IndexError: in the call, an index out of range.

    Example:
        >>> import numtorch as torch
        >>> bags = torch.nn.EmbeddingBag.from_pretrained(torch.tensor([[1., 2.], [3., 4.], [5., 6.]]), mode="sum")
        >>> bags(torch.tensor([0, 1, 2]), offsets=torch.tensor([0, 1]))
        tensor([[ 1.,  2.],
                [ 8., 10.]])
    """

    def __init__(self, num_embeddings: int, embedding_dim: int, max_norm=None, norm_type: float = 2.0,
                 scale_grad_by_freq: bool = False, mode: str = "mean", sparse: bool = False, _weight=None,
                 include_last_offset: bool = False, padding_idx=None, device=None, dtype=None) -> None:
        super().__init__(num_embeddings, embedding_dim, padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse, _weight,
                         device=device, dtype=dtype)
        self.mode, self.include_last_offset = mode, include_last_offset

    @classmethod
    def from_pretrained(cls, embeddings, freeze: bool = True, padding_idx=None, **options):
        """A bag of embeddings over a given table.

        Args:
            embeddings: (V, D), whose memory is shared.
            freeze: do not learn it.
            padding_idx: an index that does not count.
            options: further arguments of the class, by name.

        Raises:
            AssertionError: not two dimensions.
        """
        if embeddings.layout.ndim != 2:
            raise AssertionError("Embeddings parameter is expected to be 2-dimensional")
        count, width = embeddings.layout.shape
        made = cls(count, width, padding_idx=padding_idx, _weight=embeddings, **options)
        made.weight.requires_grad = not freeze
        return made

    def forward(self, input, offsets=None, per_sample_weights=None):
        return F.embedding_bag(input, self.weight, offsets, self.max_norm, self.norm_type, self.scale_grad_by_freq, self.mode,
                               self.sparse, per_sample_weights, self.include_last_offset, self.padding_idx)

    def extra_repr(self):
        return f"{self.num_embeddings}, {self.embedding_dim}{_options(self)}, mode={self.mode!r}"
