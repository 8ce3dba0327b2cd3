"""The Transformer: encoder and decoder layers, stacks of them, and both together (Vaswani et al. 2017)."""
from __future__ import annotations

import copy
import math

from ...dtypes import bool_
from ...ops.creation.fill import full, zeros
from ...ops.index.mask import masked_fill
from ...ops.index.triangles import triu
from ...ops.nn.linear_relu import linear_relu
from .. import functional as F
from .. import init
from ..base.hooks import everywhere
from .attention import MultiheadAttention
from .container import ModuleList
from .dropout import Dropout
from .linear import Linear
from .module import Module
from .normalization import LayerNorm


def _activation(activation):
    """The function for `"relu"`, `"gelu"` or a callable."""
    if not isinstance(activation, str):
        return activation
    if activation not in ("relu", "gelu"):
        raise RuntimeError(f"activation should be relu/gelu, not {activation}")
    return F.relu if activation == "relu" else F.gelu


def _additive(mask, name, dtype):
    """A mask as what is added to scores: of a bool one, True hides."""
    if mask is None or mask.layout.dtype.is_floating_point:
        return mask
    if mask.layout.dtype is not bool_:
        raise AssertionError(f"only bool and floating types of {name} are supported")
    return masked_fill(zeros(*mask.layout.shape, dtype=dtype, device=mask.layout.device), mask, -math.inf)


def _causal_mask(size, device=None, dtype=None):
    """-inf above the diagonal, 0 elsewhere."""
    return triu(full((size, size), -math.inf, dtype=dtype, device=device), diagonal=1)


def _is_causal(mask, promised, size):
    """Whether a mask hides the future and nothing else: as promised, or found out where nothing (None) was."""
    if promised is not None or mask is None:
        return promised is True
    if mask.layout.shape != (size, size):
        return False
    return bool(mask.eq(_causal_mask(size, mask.layout.device, mask.layout.dtype)).all())


def _length(x, batch_first):
    return x.layout.shape[1 if batch_first and x.layout.ndim == 3 else 0]


class _Layer(Module):
    """What encoder and decoder layers share: self-attention, the feed-forward network, their norms and dropouts."""

    norms = 2

    def __init__(self, d_model: int, nhead: int, dim_feedforward: int = 2048, dropout: float = 0.1, activation=F.relu,
                 layer_norm_eps: float = 1e-5, batch_first: bool = False, norm_first: bool = False, bias: bool = True, device=None,
                 dtype=None) -> None:
        super().__init__()
        where = {"device": device, "dtype": dtype}
        self.self_attn = MultiheadAttention(d_model, nhead, dropout=dropout, bias=bias, batch_first=batch_first, **where)
        if self.norms == 3:
            self.multihead_attn = MultiheadAttention(d_model, nhead, dropout=dropout, bias=bias, batch_first=batch_first, **where)
        self.linear1 = Linear(d_model, dim_feedforward, bias=bias, **where)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias=bias, **where)
        self.norm_first = norm_first
        for i in range(1, self.norms + 1):
            setattr(self, f"norm{i}", LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **where))
        for i in range(1, self.norms + 1):
            setattr(self, f"dropout{i}", Dropout(dropout))
        self.activation = _activation(activation)

    # Subclasses override the blocks, to keep the weights of attention for example: their names and arguments are PyTorch's.
    def _sa_block(self, x, attn_mask, key_padding_mask, is_causal=False):
        return self.dropout1(self.self_attn(x, x, x, attn_mask=attn_mask, key_padding_mask=key_padding_mask, need_weights=False,
                                            is_causal=is_causal)[0])

    def _ff_block(self, x):
        first = self.linear1
        if self.activation is F.relu and type(first) is Linear and first._hooks is None and not any(everywhere.values()):
            x = linear_relu(x, first.weight, first.bias)
        else:
            x = self.activation(first(x))
        return getattr(self, f"dropout{self.norms}")(self.linear2(self.dropout(x)))


class TransformerEncoderLayer(_Layer):
    """Self-attention and a feed-forward network, each with a residual connection and a layer norm (Vaswani et al. 2017).

    Args:
        d_model: E, the extent of inputs and results.
        nhead: heads of the attention; they divide E.
        dim_feedforward: the extent between the two linear layers.
        dropout: applied to attention weights and to what each part adds.
        activation: `"relu"`, `"gelu"` or a function.
        layer_norm_eps: added to the variance in the norms.
        batch_first: (N, S, E) instead of (S, N, E).
        norm_first: normalise before each part instead of after it (Xiong et al. 2020).
        bias: whether linear layers and norms have one.
        device, dtype: of the parameters; the defaults when None.

    Attributes:
        self_attn, linear1, dropout, linear2, norm1, norm2, dropout1, dropout2, activation: the parts.

    Shape:
        (S, N, E), (N, S, E) with `batch_first`, or (S, E) -> the same shape; see `forward` for masks.

    Raises:
        RuntimeError: another name of an activation.

    Example:
        >>> import numtorch as torch
        >>> layer = torch.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
        >>> layer(torch.randn(1, 5, 8)).shape
        torch.Size([1, 5, 8])
    """

    def forward(self, src, src_mask=None, src_key_padding_mask=None, is_causal: bool = False):
        """The layer's result.

        Args:
            src: (S, N, E), or (N, S, E) with `batch_first`, or (S, E).
            src_mask: (S, S) or (N * nhead, S, S); a bool one is True where a place may not look, any other is added to scores.
            src_key_padding_mask: (N, S) or (S), likewise, of places that none may look at.
            is_causal: a promise that `src_mask` hides the future and nothing else.

        Returns:
            The shape of `src`.
        """
        if src_mask is not None and src_key_padding_mask is not None:
            src_mask = _additive(src_mask, "src_mask", src.layout.dtype)
            src_key_padding_mask = _additive(src_key_padding_mask, "src_key_padding_mask", src.layout.dtype)
        if self.norm_first:
            src = src + self._sa_block(self.norm1(src), src_mask, src_key_padding_mask, is_causal=is_causal)
            return src + self._ff_block(self.norm2(src))
        src = self.norm1(src + self._sa_block(src, src_mask, src_key_padding_mask, is_causal=is_causal))
        return self.norm2(src + self._ff_block(src))


class TransformerDecoderLayer(_Layer):
    """Self-attention, attention to an encoder's result, and a feed-forward network, each with a residual connection and a layer
    norm (Vaswani et al. 2017).

    Args:
        d_model: E, the extent of inputs and results.
        nhead: heads of both attentions; they divide E.
        dim_feedforward: the extent between the two linear layers.
        dropout: applied to attention weights and to what each part adds.
        activation: `"relu"`, `"gelu"` or a function.
        layer_norm_eps: added to the variance in the norms.
        batch_first: (N, T, E) instead of (T, N, E).
        norm_first: normalise before each part instead of after it (Xiong et al. 2020).
        bias: whether linear layers and norms have one.
        device, dtype: of the parameters; the defaults when None.

    Attributes:
        self_attn, multihead_attn, linear1, dropout, linear2, norm1, norm2, norm3, dropout1, dropout2, dropout3, activation: the
            parts.

    Shape:
        (T, N, E) and an encoder's (S, N, E), or both with N first, or without N -> (T, N, E) likewise; see `forward` for masks.

    Raises:
        RuntimeError: another name of an activation.

    Example:
        >>> import numtorch as torch
        >>> layer = torch.nn.TransformerDecoderLayer(8, 2, 16, batch_first=True)
        >>> layer(torch.randn(1, 3, 8), torch.randn(1, 5, 8)).shape
        torch.Size([1, 3, 8])
    """

    norms = 3

    def _mha_block(self, x, mem, attn_mask, key_padding_mask, is_causal=False):
        return self.dropout2(self.multihead_attn(x, mem, mem, attn_mask=attn_mask, key_padding_mask=key_padding_mask,
                                                 need_weights=False, is_causal=is_causal)[0])

    def forward(self, tgt, memory, tgt_mask=None, memory_mask=None, tgt_key_padding_mask=None, memory_key_padding_mask=None,
                tgt_is_causal: bool = False, memory_is_causal: bool = False):
        """The layer's result.

        Args:
            tgt: (T, N, E), or (N, T, E) with `batch_first`, or (T, E).
            memory: an encoder's result, (S, N, E), (N, S, E) or (S, E).
            tgt_mask, memory_mask: (T, T) and (T, S), or with N * nhead before; bool ones are True where a place may not look,
                others are added to scores.
            tgt_key_padding_mask, memory_key_padding_mask: (N, T) and (N, S), likewise, of places that none may look at.
            tgt_is_causal, memory_is_causal: promises that a mask hides the future and nothing else.

        Returns:
            The shape of `tgt`.
        """
        x = tgt
        if self.norm_first:
            x = x + self._sa_block(self.norm1(x), tgt_mask, tgt_key_padding_mask, is_causal=tgt_is_causal)
            x = x + self._mha_block(self.norm2(x), memory, memory_mask, memory_key_padding_mask, is_causal=memory_is_causal)
            return x + self._ff_block(self.norm3(x))
        x = self.norm1(x + self._sa_block(x, tgt_mask, tgt_key_padding_mask, is_causal=tgt_is_causal))
        x = self.norm2(x + self._mha_block(x, memory, memory_mask, memory_key_padding_mask, is_causal=memory_is_causal))
        return self.norm3(x + self._ff_block(x))


def _copies(layer, count):
    return ModuleList([copy.deepcopy(layer) for _ in range(count)])


class TransformerEncoder(Module):
    """A stack of copies of an encoder layer.

    Args:
        encoder_layer: copied `num_layers` times.
        num_layers: how many.
        norm: applied to the result, or None.
        enable_nested_tensor, mask_check: accepted; there are no nested tensors here.

    Attributes:
        layers: a `ModuleList`.

    Shape:
        (S, N, E), (N, S, E) or (S, E), as the layer takes it -> the same shape.

    Example:
        >>> import numtorch as torch
        >>> layer = torch.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
        >>> torch.nn.TransformerEncoder(layer, 2)(torch.randn(1, 5, 8)).shape
        torch.Size([1, 5, 8])
    """

    def __init__(self, encoder_layer, num_layers: int, norm=None, enable_nested_tensor: bool = True,
                 mask_check: bool = True) -> None:
        super().__init__()
        self.layers = _copies(encoder_layer, num_layers)
        self.num_layers, self.norm = num_layers, norm
        self.enable_nested_tensor, self.mask_check = enable_nested_tensor, mask_check

    def forward(self, src, mask=None, src_key_padding_mask=None, is_causal=None):
        """Each layer in turn.

        Args:
            src: as the layer takes it.
            mask, src_key_padding_mask: as the layer's `src_mask` and `src_key_padding_mask`.
            is_causal: says that `mask` hides the future and nothing else; None finds out.

        Returns:
            The shape of `src`.
        """
        src_key_padding_mask = _additive(src_key_padding_mask, "src_key_padding_mask", src.layout.dtype)
        mask = _additive(mask, "mask", src.layout.dtype)
        is_causal = _is_causal(mask, is_causal, _length(src, self.layers[0].self_attn.batch_first))
        for layer in self.layers:
            src = layer(src, src_mask=mask, src_key_padding_mask=src_key_padding_mask, is_causal=is_causal)
        return src if self.norm is None else self.norm(src)


class TransformerDecoder(Module):
    """A stack of copies of a decoder layer.

    Args:
        decoder_layer: copied `num_layers` times.
        num_layers: how many.
        norm: applied to the result, or None.

    Attributes:
        layers: a `ModuleList`.

    Shape:
        (T, N, E) and an encoder's (S, N, E), as the layer takes them -> (T, N, E).

    Example:
        >>> import numtorch as torch
        >>> layer = torch.nn.TransformerDecoderLayer(8, 2, 16, batch_first=True)
        >>> torch.nn.TransformerDecoder(layer, 2)(torch.randn(1, 3, 8), torch.randn(1, 5, 8)).shape
        torch.Size([1, 3, 8])
    """

    def __init__(self, decoder_layer, num_layers: int, norm=None) -> None:
        super().__init__()
        self.layers = _copies(decoder_layer, num_layers)
        self.num_layers, self.norm = num_layers, norm

    def forward(self, tgt, memory, tgt_mask=None, memory_mask=None, tgt_key_padding_mask=None, memory_key_padding_mask=None,
                tgt_is_causal=None, memory_is_causal: bool = False):
        """Each layer in turn.

        Args:
            tgt, memory, tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask, memory_is_causal: as the layer takes
                them.
            tgt_is_causal: says that `tgt_mask` hides the future and nothing else; None finds out.

        Returns:
            The shape of `tgt`.
        """
        tgt_is_causal = _is_causal(tgt_mask, tgt_is_causal, _length(tgt, self.layers[0].self_attn.batch_first))
        for layer in self.layers:
            tgt = layer(tgt, memory, tgt_mask=tgt_mask, memory_mask=memory_mask, tgt_key_padding_mask=tgt_key_padding_mask,
                        memory_key_padding_mask=memory_key_padding_mask, tgt_is_causal=tgt_is_causal,
                        memory_is_causal=memory_is_causal)
        return tgt if self.norm is None else self.norm(tgt)


class Transformer(Module):
    """An encoder and a decoder (Vaswani et al. 2017).

    Args:
        d_model, nhead: E and the heads of the layers.
        num_encoder_layers, num_decoder_layers: how many.
        dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, bias: as for `TransformerEncoderLayer`.
        custom_encoder, custom_decoder: used instead of ones made here.
        device, dtype: of the parameters; the defaults when None.

    Attributes:
        encoder, decoder: the stacks, each with a norm at its end. Matrices are xavier-uniform.

    Shape:
        src (S, N, E) and tgt (T, N, E), or both with N first, or without N -> (T, N, E) likewise.

    Example:
        >>> import numtorch as torch
        >>> model = torch.nn.Transformer(8, 2, 1, 1, 16)
        >>> model(torch.randn(5, 1, 8), torch.randn(3, 1, 8)).shape
        torch.Size([3, 1, 8])
    """

    def __init__(self, d_model: int = 512, nhead: int = 8, num_encoder_layers: int = 6, num_decoder_layers: int = 6,
                 dim_feedforward: int = 2048, dropout: float = 0.1, activation=F.relu, custom_encoder=None, custom_decoder=None,
                 layer_norm_eps: float = 1e-5, batch_first: bool = False, norm_first: bool = False, bias: bool = True, device=None,
                 dtype=None) -> None:
        super().__init__()
        sizes = (d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, bias, device, dtype)

        def norm():
            return LayerNorm(d_model, eps=layer_norm_eps, bias=bias, device=device, dtype=dtype)

        self.encoder = custom_encoder
        if custom_encoder is None:
            self.encoder = TransformerEncoder(TransformerEncoderLayer(*sizes), num_encoder_layers, norm())
        self.decoder = custom_decoder
        if custom_decoder is None:
            self.decoder = TransformerDecoder(TransformerDecoderLayer(*sizes), num_decoder_layers, norm())
        self._reset_parameters()
        self.d_model, self.nhead, self.batch_first = d_model, nhead, batch_first

    def forward(self, src, tgt, src_mask=None, tgt_mask=None, memory_mask=None, src_key_padding_mask=None,
                tgt_key_padding_mask=None, memory_key_padding_mask=None, src_is_causal=None, tgt_is_causal=None,
                memory_is_causal: bool = False):
        """The decoder's result for `tgt`, with the encoder's for `src`.

        Args:
            src: (S, N, E), or (N, S, E) with `batch_first`, or (S, E).
            tgt: (T, N, E), (N, T, E) or (T, E).
            src_mask, tgt_mask, memory_mask, src_key_padding_mask, tgt_key_padding_mask, memory_key_padding_mask: as the layers
                take them.
            src_is_causal, tgt_is_causal: say that a mask hides the future and nothing else; None finds out.
            memory_is_causal: a promise likewise.

        Returns:
            The shape of `tgt`.

        Raises:
            RuntimeError: batches differ, or the last dimension is not d_model.
        """
        batch = 0 if self.batch_first else 1
        if src.layout.ndim == 3 and src.layout.shape[batch] != tgt.layout.shape[batch]:
            raise RuntimeError("the batch number of src and tgt must be equal")
        if src.layout.shape[-1] != self.d_model or tgt.layout.shape[-1] != self.d_model:
            raise RuntimeError("the feature number of src and tgt must be equal to d_model")
        memory = self.encoder(src, mask=src_mask, src_key_padding_mask=src_key_padding_mask, is_causal=src_is_causal)
        return self.decoder(tgt, memory, tgt_mask=tgt_mask, memory_mask=memory_mask, tgt_key_padding_mask=tgt_key_padding_mask,
                            memory_key_padding_mask=memory_key_padding_mask, tgt_is_causal=tgt_is_causal,
                            memory_is_causal=memory_is_causal)

    @staticmethod
    def generate_square_subsequent_mask(sz: int, device=None, dtype=None):
        """The mask that hides the future: -inf above the diagonal, 0 elsewhere.

        Args:
            sz: the number of places S.
            device, dtype: of the mask; the defaults when None.

        Returns:
            (S, S).

        Example:
            >>> import numtorch as torch
            >>> torch.nn.Transformer.generate_square_subsequent_mask(2)
            tensor([[0., -inf],
                    [0., 0.]])
        """
        return _causal_mask(sz, device, dtype)

    def _reset_parameters(self):
        for parameter in self.parameters():
            if parameter.layout.ndim > 1:
                init.xavier_uniform_(parameter)
