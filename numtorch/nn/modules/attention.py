"""Multi-head attention."""
from __future__ import annotations

from ...ops.creation import fill
from ...ops.nn.multihead import multi_head_attention_forward
from .. import init
from ..parameter import Parameter
from .linear import Linear
from .module import Module


class NonDynamicallyQuantizableLinear(Linear):
    """A `Linear` under the name that PyTorch prints for an attention's output projection."""


class MultiheadAttention(Module):
    """Attention in several subspaces at once (Vaswani et al. 2017).

    Args:
        embed_dim: E, the extent of queries and results.
        num_heads: E is split into so many.
        dropout: the probability with which weights are set to 0 in training.
        bias: whether the projections have one.
        add_bias_kv: learn one more key and value that every query sees; `add_zero_attn` adds one of zeros.
        kdim, vdim: extents of keys and values; E when None.
        batch_first: (N, L, E) instead of (L, N, E).
        device, dtype: of the parameters; the defaults when None.

    Attributes:
        in_proj_weight: (3 E, E), xavier-uniform; where kdim or vdim differ, q_proj_weight, k_proj_weight and v_proj_weight.
        in_proj_bias: (3 E), zeros.
        out_proj: the output's `Linear`, (E) -> (E).
        bias_k, bias_v: (1, 1, E), xavier-normal, or None.

    Shape:
        Query (L, N, E), key (S, N, kdim) and value (S, N, vdim) -> output (L, N, E) and weights (N, L, S); see `forward` for the
            rest.

    Raises:
        AssertionError: heads that do not divide E.
        ValueError: sizes that are not positive.

    Example:
        >>> import numtorch as torch
        >>> attention = torch.nn.MultiheadAttention(8, 2, batch_first=True)
        >>> out, weights = attention(*[torch.randn(1, 3, 8)] * 3)
        >>> out.shape, weights.shape
        (torch.Size([1, 3, 8]), torch.Size([1, 3, 3]))
    """

    def __init__(self, embed_dim, num_heads, dropout=0.0, bias=True, add_bias_kv=False, add_zero_attn=False, kdim=None, vdim=None,
                 batch_first=False, device=None, dtype=None) -> None:
        if embed_dim <= 0 or num_heads <= 0:
            raise ValueError(f"embed_dim and num_heads must be greater than 0, got embed_dim={embed_dim} and num_heads={num_heads} "
                             f"instead")
        super().__init__()
        self.embed_dim, self.num_heads, self.dropout, self.batch_first = embed_dim, num_heads, dropout, batch_first
        self.kdim, self.vdim = embed_dim if kdim is None else kdim, embed_dim if vdim is None else vdim
        self._qkv_same_embed_dim = self.kdim == embed_dim and self.vdim == embed_dim
        self.head_dim = embed_dim // num_heads
        if self.head_dim * num_heads != embed_dim:
            raise AssertionError("embed_dim must be divisible by num_heads")
        shapes = {"q_proj_weight": (embed_dim, embed_dim), "k_proj_weight": (embed_dim, self.kdim),
                  "v_proj_weight": (embed_dim, self.vdim)}
        if self._qkv_same_embed_dim:
            shapes = {"in_proj_weight": (3 * embed_dim, embed_dim)}
        for name in ("q_proj_weight", "k_proj_weight", "v_proj_weight", "in_proj_weight"):
            parameter = Parameter(fill.empty(*shapes[name], device=device, dtype=dtype)) if name in shapes else None
            self.register_parameter(name, parameter)
        self.register_parameter("in_proj_bias", Parameter(fill.empty(3 * embed_dim, device=device, dtype=dtype)) if bias
                                else None)
        self.out_proj = NonDynamicallyQuantizableLinear(embed_dim, embed_dim, bias=bias, device=device, dtype=dtype)
        for name in ("bias_k", "bias_v"):
            self.register_parameter(name, Parameter(fill.empty(1, 1, embed_dim, device=device, dtype=dtype)) if add_bias_kv
                                    else None)
        self.add_zero_attn = add_zero_attn
        self._reset_parameters()

    def _reset_parameters(self):
        for weight in (self.in_proj_weight, self.q_proj_weight, self.k_proj_weight, self.v_proj_weight):
            if weight is not None:
                init.xavier_uniform_(weight)
        if self.in_proj_bias is not None:
            init.zeros_(self.in_proj_bias)
            init.zeros_(self.out_proj.bias)
        for bias in (self.bias_k, self.bias_v):
            if bias is not None:
                init.xavier_normal_(bias)

    def forward(self, query, key, value, key_padding_mask=None, need_weights: bool = True, attn_mask=None,
                average_attn_weights: bool = True, is_causal: bool = False):
        """Attend.

        Args:
            query: (L, N, E), or (N, L, E) with `batch_first`, or (L, E).
            key, value: (S, N, kdim) and (S, N, vdim), likewise.
            key_padding_mask: (N, S) or (S); a bool one is True at keys that are hidden, any other is added to scores.
            need_weights: also return the weights; without, they are never all in memory.
            attn_mask: (L, S) or (N * num_heads, L, S), likewise.
            average_attn_weights: return the heads' mean.
            is_causal: a promise that `attn_mask` hides the future and nothing else.

        Returns:
            (output as the query, weights (N, L, S) or (N, num_heads, L, S) or None).
        """
        return multi_head_attention_forward(
            query, key, value, self.embed_dim, self.num_heads, self.in_proj_weight, self.in_proj_bias, self.bias_k, self.bias_v,
            self.add_zero_attn, self.dropout, self.out_proj.weight, self.out_proj.bias, training=self.training,
            key_padding_mask=key_padding_mask, need_weights=need_weights, attn_mask=attn_mask,
            use_separate_proj_weight=not self._qkv_same_embed_dim, q_proj_weight=self.q_proj_weight,
            k_proj_weight=self.k_proj_weight, v_proj_weight=self.v_proj_weight, average_attn_weights=average_attn_weights,
            is_causal=is_causal, batch_dim=0 if self.batch_first else 1)
