"""Rows of the families: products, convolutions, attention and recurrent layers."""
from __future__ import annotations

import numpy as np

from .table import ORDERS, PLAIN, rows_of


# ---------------------------------------------------------------- products by tensor cores
# tiles of 64 x 64, and of 128 x 64 by warp groups; slices of 64 and of 32 of the depth, three and four of them in shared memory
@rows_of(((72, 136), (136, 72)), ((24, 40), (40, 48)), ((16, 64), (64, 16)), ((72, 200), (200, 136)), ((136, 328), (328, 72)), dtypes=("bfloat16", "float16"), orders=ORDERS[:2])
def product_by_warps(torch, device, a, b):
    return a @ b


@rows_of(((72, 100), (100, 72)), ((24, 40), (40, 48)), ((16, 48), (48, 16)), dtypes=("float32",), orders=ORDERS[:2])
def product_rounded_to_tf32(torch, device, a, b):
    """Of numbers that have no more bits."""
    few = lambda x: (x.detach() * 64).round() / 64
    torch.set_float32_matmul_precision("high")
    try:
        return few(a) @ few(b)
    finally:
        torch.set_float32_matmul_precision("highest")


@rows_of(((24, 40), (44, 40), (44,)), ((136, 72), (72, 72), (72,)), ((20, 16), (48, 16), (48,)), dtypes=("bfloat16", "float16"), orders=PLAIN)
def linear_by_warps(torch, device, x, weight, bias):
    """With what is done to sums on their way to C, 16 bytes or an element at a time."""
    linear = torch.nn.functional.linear(x, weight, bias)
    return linear, linear.relu(), torch.addmm(bias, x, weight.t(), alpha=0.5), torch.addmm(linear.detach(), x, weight.t(), beta=2.0)


# heads that share keys, causal, masked: 16 rows of a warp and 16 columns of a tile
@rows_of(((1, 2, 88, 16), (1, 1, 56, 16), (1, 1, 56, 8)), ((8, 1, 16, 8), (8, 1, 24, 8), (8, 1, 24, 16)),
         dtypes=("bfloat16",), orders=PLAIN)
def attention_by_warps(torch, device, q, k, v):
    return torch.nn.functional.scaled_dot_product_attention(q, k, v, enable_gqa=True)


@rows_of(((1, 2, 72, 16), (1, 1, 72, 16), (1, 1, 72, 16)), ((1, 1, 24, 8), (1, 1, 40, 8), (1, 1, 40, 8)), dtypes=("bfloat16",),
         orders=PLAIN)
def causal_attention_by_warps(torch, device, q, k, v):
    return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)


@rows_of(((4, 1, 40, 8), (4, 1, 40, 8), (4, 1, 40, 8)), dtypes=("bfloat16",), orders=PLAIN)
def masked_attention_by_warps(torch, device, q, k, v):
    draw = np.random.default_rng(2).random((40, 40))
    draw[3] = 0
    seen, added = torch.tensor(draw > 0.3, device=device), torch.tensor(draw, device=device).to(q.dtype)
    attend = torch.nn.functional.scaled_dot_product_attention
    return attend(q, k, v, attn_mask=seen), attend(q, k, v, attn_mask=added)


# ---------------------------------------------------------------- attention by threads
# tiles of eight queries and eight keys; slices of four steps of the depth; sums of sixteen columns at a time, of eight in float64
@rows_of(((2, 2, 9, 5), (2, 1, 17, 5), (2, 1, 17, 9)), ((1, 1, 8, 4), (1, 1, 8, 4), (1, 1, 8, 8)), ((1, 1, 7, 17), (1, 1, 9, 17), (1, 1, 9, 3)),
         ((1, 1, 3, 3), (1, 1, 1, 3), (1, 1, 1, 17)))
def attention_by_tiles(torch, device, q, k, v):
    return torch.nn.functional.scaled_dot_product_attention(q, k, v, enable_gqa=True)


@rows_of(((1, 2, 17, 5), (1, 1, 17, 5), (1, 1, 17, 6)), ((1, 1, 9, 3), (1, 1, 20, 3), (1, 1, 20, 3)), ((1, 1, 20, 3), (1, 1, 9, 3), (1, 1, 9, 3)),
         orders=PLAIN)
def causal_attention_by_tiles(torch, device, q, k, v):
    return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)


@rows_of(((1, 2, 9, 5), (1, 2, 12, 5), (1, 2, 12, 3)), dtypes=("float32", "float64"), orders=PLAIN)
def masked_attention_by_tiles(torch, device, q, k, v):
    """Some queries see no key of a tile, and one sees none."""
    draw = np.random.default_rng(2).random((9, 12))
    draw[3], draw[5, :8] = 0, 0
    seen, added = torch.tensor(draw > 0.3, device=device), torch.tensor(draw, device=device).to(q.dtype)
    attend = torch.nn.functional.scaled_dot_product_attention
    return attend(q, k, v, attn_mask=seen), attend(q, k, v, attn_mask=added)


# ---------------------------------------------------------------- products: tiles of 8 x 8 and 16 x 8 by slices of 4, 16 bytes at once
@rows_of(((17, 6), (6, 9)), ((16, 8), (8, 8)), ((8, 4), (4, 12)), ((4, 13), (13, 4)), ((3, 1), (1, 5)),
         dtypes=("float32", "float64", "bfloat16", "int32", "int64", "uint8", "complex64", "complex128"))
def products_in_tiles(torch, device, a, b):
    parts = lambda x: torch.view_as_real(x) if x.is_complex() else x
    a, b = ((x.real * 2).round() * (2 - 1j) if x.is_complex() else x for x in (a, b))
    odd = torch.zeros(b.numel() + 1, dtype=b.dtype, device=device)[1:].reshape(b.shape)         # not at a multiple of 16 bytes
    odd.copy_(b.detach())
    many = torch.stack([a.detach(), a.detach() * 2, a.detach()])
    return tuple(map(parts, (a @ b, a.detach() @ odd, many @ odd, many[::2] @ many[1:].mT)))


@rows_of(((2, 3, 5, 6), (4, 3, 3, 3), (4,)), ((1, 2, 7, 4), (9, 2, 2, 3), (9,)), ((3, 1, 2, 3), (2, 1, 1, 2), (2,)), ((2, 8, 3, 3), (2, 8, 2, 2), (2,)),
         dtypes=("float32", "float64", "bfloat16"))
def convolved(torch, device, x, weight, bias):
    conv = torch.nn.functional.conv2d
    return (conv(x, weight, bias, padding=1), conv(x, weight, stride=(1, 2)), conv(x, weight, padding=2, dilation=(2, 1), stride=3),
            torch.nn.functional.conv_transpose2d(x, weight.transpose(0, 1), bias, stride=2, padding=(1, 0)))


@rows_of(((2, 3, 3, 4), (5, 3, 1, 1), (5,)), ((1, 16, 2, 2), (8, 16, 1, 1), (8,)), dtypes=("float32", "bfloat16"))
def convolved_by_points(torch, device, x, weight, bias):
    return torch.nn.functional.conv2d(x, weight, bias).relu(), torch.nn.functional.conv2d(x, weight)


@rows_of(((2, 4, 3, 4, 3), (6, 2, 2, 3, 2)), ((1, 2, 1, 3, 3), (2, 1, 1, 1, 1)), dtypes=("float32",), orders=PLAIN)
def convolved_in_groups(torch, device, x, weight):
    return (torch.nn.functional.conv3d(x, weight, padding=1, groups=2, stride=(1, 2, 1)),
            torch.nn.functional.conv1d(x[:, :, 0, 0], weight[:, :, 0, 0], groups=2, padding=2))


# ---------------------------------------------------------------- products: depths of 4 and more are cut
@rows_of(((3, 12), (12, 2), (2,)), ((1, 16), (16, 1), (1,)), ((3, 9), (9, 5), (5,)), ((2, 7), (7, 2), (2,)))
def products_in_pieces(torch, device, a, b, bias):
    return torch.addmm(bias, a, b, beta=0.5, alpha=2.0), torch.nn.functional.linear(a, b.t(), bias).relu(), a @ b


# ---------------------------------------------------------------- recurrent layers: four threads of a block, and more units
@rows_of(((2, 3, 2), (1, 3, 2), (8, 2), (8, 2), (8,), (8,)), ((2, 2, 1), (1, 2, 5), (20, 1), (20, 5), (20,), (20,)),
         dtypes=("float32", "bfloat16"))
def lstm(torch, device, x, state, w_ih, w_hh, b_ih, b_hh):
    weights = [w_ih, w_hh, b_ih, b_hh]
    return (*torch.lstm(x, (state, state * 0.5), weights, True, 1, 0.0, True, False, False),
            *torch.lstm(x, (state * 0, state), [w_ih, w_hh], False, 1, 0.0, True, False, False))


@rows_of(((2, 3, 2), (1, 3, 2), (6, 2), (6, 2), (6,), (6,)), ((2, 2, 1), (1, 2, 5), (15, 1), (15, 5), (15,), (15,)),
         dtypes=("float32", "bfloat16"), orders=PLAIN)
def gru(torch, device, x, state, w_ih, w_hh, b_ih, b_hh):
    return (*torch.gru(x, state, [w_ih, w_hh, b_ih, b_hh], True, 1, 0.0, True, False, False),
            *torch.gru(x, state, [w_ih, w_hh], False, 1, 0.0, True, False, False))


@rows_of(((2, 3, 2), (1, 3, 2), (2, 2), (2, 2), (2,), (2,)), dtypes=("float32", "float16"), orders=PLAIN)
def rnn(torch, device, x, state, w_ih, w_hh, b_ih, b_hh):
    weights = [w_ih, w_hh, b_ih, b_hh]
    return (*torch.rnn_tanh(x, state, weights, True, 1, 0.0, True, False, False),
            *torch.rnn_relu(x, state, weights, True, 1, 0.0, True, False, False))


def recurrent_module(torch, device, x, kind, **options):
    """A module of two directions over sequences of three lengths, from zeros."""
    module = getattr(torch.nn, kind)(x.shape[2], 2, bidirectional=True, dtype=x.dtype, **options)
    for k, parameter in enumerate(module.parameters()):
        with torch.no_grad():
            parameter.copy_(torch.linspace(-1, 1 + k % 3, parameter.numel(), dtype=x.dtype).reshape(parameter.shape))
    module = module.to(device)
    packed = torch.nn.utils.rnn.pack_padded_sequence(x, [4, 2, 1])
    out, final = module(packed)
    total = out.data.sum() + sum(f.sum() for f in (final if isinstance(final, tuple) else (final,)))
    return (out.data, *(final if isinstance(final, tuple) else (final,)), *torch.autograd.grad(total, list(module.parameters()),
                                                                                              retain_graph=True))


@rows_of(((4, 3, 2),), dtypes=("float64",), orders=PLAIN)
def packed_lstm(torch, device, x):
    return recurrent_module(torch, device, x, "LSTM", proj_size=1)


@rows_of(((4, 3, 2),), dtypes=("float64",), orders=PLAIN)
def packed_gru(torch, device, x):
    return recurrent_module(torch, device, x, "GRU")


@rows_of(((4, 3, 2),), dtypes=("float64",), orders=PLAIN)
def packed_rnn(torch, device, x):
    return recurrent_module(torch, device, x, "RNN", nonlinearity="relu")


@rows_of(((3, 2), (3, 5), (20, 2), (20, 5), (20,)), dtypes=("float32",), orders=PLAIN)
def one_step(torch, device, x, state, w_ih, w_hh, bias):
    hidden, cell = torch.lstm_cell(x, (state, state * 0.5), w_ih, w_hh, bias, bias)
    three = w_ih[:15], w_hh[:15], bias[:15]
    return hidden, cell, torch.lstm_cell(x, None, w_ih, w_hh)[0], torch.gru_cell(x, state, *three, bias[5:]), torch.gru_cell(x, None, *three[:2])
