"""Attention: values and gradients against a formula in NumPy float64, memory, dropout, the modules against PyTorch."""
from __future__ import annotations

import numpy as np
import pytest

import numtorch as torch
from numtorch import nn
from numtorch.autograd import gradcheck, gradgradcheck
from numtorch.kernels.cpu.attention import attention as kernels
from numtorch.nn import functional as F
from numtorch.ops.nn.linear_relu import linear_relu
from numtorch.ops.nn.multihead import attend_projections

attend = F.scaled_dot_product_attention


def reference(q, k, v, mask=None, causal=False, scale=None):
    """Result and gradients for a gradient of ones times `v`'s cosine, in float64; bool masks show where True."""
    q, k, v = [np.asarray(x, np.float64) for x in (q, k, v)]
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    scores = scale * q @ k.swapaxes(-1, -2)
    if causal:
        scores = np.where(np.tril(np.ones(scores.shape[-2:], bool)), scores, -np.inf)
    if mask is not None:
        scores = np.where(mask, scores, -np.inf) if mask.dtype == bool else scores + mask
    top = scores.max(-1, keepdims=True)
    e = np.exp(scores - np.where(np.isfinite(top), top, 0))
    total = e.sum(-1, keepdims=True)
    p = np.divide(e, total, out=np.zeros_like(e), where=total > 0)
    out = p @ v
    g = np.cos(np.arange(out.size)).reshape(out.shape)
    slopes = g @ v.swapaxes(-1, -2)
    ds = scale * p * (slopes - (slopes * p).sum(-1, keepdims=True))
    return out, g, (ds @ k, ds.swapaxes(-1, -2) @ q, p.swapaxes(-1, -2) @ g)


SHAPES = [  # batch, heads, queries, keys, depth, width
    (1, 1, 1, 1, 1, 1), (2, 3, 5, 7, 4, 4), (1, 2, 64, 128, 16, 16), (1, 2, 65, 129, 20, 33), (2, 1, 130, 300, 64, 64),
    (1, 1, 3, 200, 8, 8), (3, 2, 100, 17, 40, 24),
]
MASKS = {
    "none": lambda n, h, q, k, r: None,
    "bool": lambda n, h, q, k, r: r.random((q, k)) > 0.3,
    "blind": lambda n, h, q, k, r: np.arange(q)[:, None] % 2 > np.zeros((q, k)),
    "float": lambda n, h, q, k, r: r.standard_normal((n, 1, q, k)),
    "padding": lambda n, h, q, k, r: (np.arange(k) < np.maximum(1, k - np.arange(n)[:, None]))[:, None, None],
    "heads": lambda n, h, q, k, r: r.random((n, h, q, k)) > 0.5,
}



@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("mask", list(MASKS))
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_values_and_gradients(shape, mask, dtype):
    check(shape, mask, dtype, False)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_causal(shape, dtype):
    check(shape, "none", dtype, True)


def check(shape, kind, dtype, causal):
    n, h, queries, keys, depth, width = shape
    r = np.random.default_rng(0)
    q, k, v = [r.standard_normal(s).astype(dtype) for s in ((n, h, queries, depth), (n, h, keys, depth), (n, h, keys, width))]
    mask = MASKS[kind](n, h, queries, keys, r)
    if mask is not None and mask.dtype != bool:
        mask = mask.astype(dtype)
    out, g, grads = reference(q, k, v, mask, causal)
    tensors = [torch.tensor(x, requires_grad=True) for x in (q, k, v)]
    got = attend(*tensors, attn_mask=None if mask is None else torch.tensor(mask), is_causal=causal)
    got.backward(torch.tensor(g.astype(dtype)))
    tolerance = dict(rtol=1e-4, atol=2e-5) if dtype == "float32" else dict(rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(got.detach().numpy(), out, **tolerance)
    for tensor, grad in zip(tensors, grads):
        np.testing.assert_allclose(tensor.grad.numpy(), grad, **tolerance)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_words_are_computed_in_float32(dtype):
    torch.manual_seed(0)
    q, k, v = [torch.randn(1, 2, n, 24).to(dtype) for n in (70, 150, 150)]
    out, g, grads = reference(*[x.float().numpy() for x in (q, k, v)])
    inputs = [x.requires_grad_() for x in (q, k, v)]
    got = attend(*inputs)
    bound = 2e-3 if dtype is torch.float16 else 2e-2
    np.testing.assert_allclose(got.detach().float().numpy(), out, atol=bound)
    if dtype is torch.float16:                           # backward reads and writes words by what forward does
        return
    got.backward(torch.tensor(g).to(dtype))
    for x, grad in zip(inputs, grads):
        np.testing.assert_allclose(x.grad.float().numpy(), grad, atol=4 * bound)


def test_other_dimensions_and_layouts():
    r = np.random.default_rng(1)
    for lead in ((), (3,), (2, 3), (2, 2, 3)):
        q, k, v = [r.standard_normal((*lead, n, 6)) for n in (5, 7, 7)]
        out, _, _ = reference(q, k, v)
        np.testing.assert_allclose(attend(*map(torch.tensor, (q, k, v))).numpy(), out, rtol=1e-12, atol=1e-13)
    q = r.standard_normal((2, 5, 3, 8))                  # (N, L, H, E), as a projection leaves it, then columns reversed
    q4 = torch.tensor(q).transpose(1, 2)
    out, _, _ = reference(*[q.swapaxes(1, 2)] * 3)
    got = attend(q4, q4, q4)
    np.testing.assert_allclose(got.numpy(), out, rtol=1e-12, atol=1e-13)
    assert got.transpose(1, 2).is_contiguous()           # heads join again without a copy
    columns = torch.tensor(np.ascontiguousarray(q.swapaxes(1, 2).swapaxes(2, 3))).transpose(2, 3)
    np.testing.assert_allclose(attend(columns, columns, columns).numpy(), out, rtol=1e-12, atol=1e-13)
    one = torch.tensor(q[:1, :, :1].swapaxes(1, 2))      # batch and heads broadcast
    np.testing.assert_allclose(attend(q4, one, one).numpy(), reference(q.swapaxes(1, 2), *[q[:1, :, :1].swapaxes(1, 2)] * 2)[0],
                               rtol=1e-12, atol=1e-13)


def test_groups_of_heads_share_keys():
    r = np.random.default_rng(2)
    q, k, v = r.standard_normal((2, 6, 9, 4)), r.standard_normal((2, 2, 11, 4)), r.standard_normal((2, 2, 11, 5))
    out, g, (dq, dk, dv) = reference(q, np.repeat(k, 3, 1), np.repeat(v, 3, 1), causal=True)
    tensors = [torch.tensor(x, requires_grad=True) for x in (q, k, v)]
    got = attend(*tensors, is_causal=True, enable_gqa=True)
    got.backward(torch.tensor(g))
    np.testing.assert_allclose(got.detach().numpy(), out, rtol=1e-12, atol=1e-13)
    for tensor, want in zip(tensors, (dq, dk.reshape(2, 2, 3, 11, 4).sum(2), dv.reshape(2, 2, 3, 11, 5).sum(2))):
        np.testing.assert_allclose(tensor.grad.numpy(), want, rtol=1e-10, atol=1e-12)


def test_no_matrix_of_scores_is_in_memory():
    """What kernels and results take grows with the length, not with its square (float32: 64 MB of scores at 4096 keys)."""
    sizes = []
    for length in (1024, 4096):
        strides = [(length * 64, length * 64, 64)] * 8
        arguments = ("float32", 1, 1, 1, length, length, 64, 64, 0.125, False)
        forward = kernels.plan_attention(*arguments, strides[:4])
        backward = kernels.plan_attention_grad(*arguments, strides)
        parts = torch.get_num_threads()
        sizes.append((forward.workspace / parts, backward.workspace / parts))
    assert sizes[0][0] == sizes[1][0] < 300_000
    assert sizes[1][1] < 4.2 * 4096 * 64 * 4
    q, k, v = [torch.randn(1, 1, 4096, 64, requires_grad=True) for _ in range(3)]
    attend(q, k, v).sum().backward()                     # plans, storages of every size that is needed
    seen = []

    def pack(x):
        seen.append(x.numel())
        return x

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda x: x):
        attend(q, k, v)
    assert max(seen) == 4096 * 64


@pytest.mark.parametrize("options", [{}, {"is_causal": True}, {"dropout_p": 0.3}, {"mask": "bool"}, {"mask": "float"}], ids=str)
def test_gradients_of_gradients(options):
    torch.manual_seed(0)
    options = dict(options)
    q, k, v = [torch.randn(1, 2, n, 3, dtype=torch.float64, requires_grad=True) for n in (3, 4, 4)]
    inputs = [q, k, v]
    if options.pop("mask", None) == "bool":
        options["attn_mask"] = torch.tensor(np.arange(12).reshape(3, 4) % 5 > 0)
    elif "mask" in str(options) or not options:
        inputs.append(torch.randn(3, 4, dtype=torch.float64, requires_grad=True))

    def run(q, k, v, mask=None):
        torch.manual_seed(7)                             # the same draw each time
        return attend(q, k, v, **{"attn_mask": mask, **options})

    assert gradcheck(run, inputs)
    assert gradgradcheck(run, inputs)


def test_dropout_keeps_the_mean_and_is_drawn_from_the_stream():
    x = torch.ones(2, 2, 300, 8)
    torch.manual_seed(0)
    first = attend(x, x, x, dropout_p=0.25)
    again = attend(x, x, x, dropout_p=0.25)
    torch.manual_seed(0)
    assert torch.equal(first, attend(x, x, x, dropout_p=0.25)) and not torch.equal(first, again)
    assert abs(first.mean().item() - 1) < 0.005
    assert abs(first.std().item() - (0.25 / 0.75 / 300) ** 0.5) < 0.004
    assert attend(x, x, x, dropout_p=1.0).abs().max().item() == 0


def test_backward_drops_what_forward_dropped():
    def dropped(*qkv):
        torch.manual_seed(0)
        return attend(*qkv, dropout_p=0.5)

    assert gradcheck(dropped, [torch.randn(2, 3, 5, 2, dtype=torch.float64, requires_grad=True) for _ in range(3)])


@pytest.mark.parametrize("call", [lambda x: attend(x, x, x, dropout_p=0.5), lambda x: attend_projections(
    [torch.cat([x, x, x], -1)], 1, 0, dropout_p=0.5)], ids=["apart", "projections"])
def test_the_place_in_the_stream_is_a_saved_tensor(call):
    """Backward draws from what it is given as saved: as a tensor, so that programs of forward and backward can hand it on."""
    kept, x = [], torch.randn(2, 5, 4, dtype=torch.float64, requires_grad=True)

    def gradient(replaced):
        def pack(tensor):
            if tensor.dtype is torch.int64:
                kept.append(tensor)
            return tensor
        torch.manual_seed(3)
        torch.rand(300)
        with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: replaced if t.dtype is torch.int64 else t):
            out = call(x)
        return torch.autograd.grad(out.square().sum(), x)[0]

    torch.manual_seed(3)
    torch.rand(300)
    expected = torch.autograd.grad(call(x).square().sum(), x)[0]
    gradient(torch.zeros(3, dtype=torch.int64))
    state = kept[0].clone()
    assert state.tolist() == [3, state[1].item(), 0] and state[1] > 0
    assert torch.equal(gradient(state), expected)
    assert not torch.equal(gradient(state + torch.tensor([1, 0, 0])), expected)


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_threads_agree(threads):
    torch.manual_seed(0)
    q, k, v = [torch.randn(2, 3, 300, 32, requires_grad=True) for _ in range(3)]
    before = torch.get_num_threads()
    results = []
    try:
        for count in (1, threads):
            torch.set_num_threads(count)
            torch.manual_seed(1)
            out = attend(q, k, v, dropout_p=0.1)
            results.append([out, *torch.autograd.grad(out.square().sum(), (q, k, v))])
    finally:
        torch.set_num_threads(before)
    for a, b in zip(*results):
        assert torch.equal(a, b)


def test_scores_far_above_all_others():
    """The exponentials are of differences from the largest score: of any other, those of 1000 would be infinite."""
    value = torch.arange(7.0)[:, None]
    for key in range(7):
        seen = attend(torch.full((1, 1), 1000.0), torch.eye(7)[:, key:key + 1], value, scale=1.0)
        assert seen.item() == key


def test_nothing_to_attend_to():
    x = torch.randn(2, 3, 5, 4)
    assert attend(x, x[:, :, :0], x[:, :, :0]).abs().sum().item() == 0
    assert attend(x[:, :, :0], x, x).shape == (2, 3, 0, 4)
    assert attend(x[:0], x[:0], x[:0]).shape == (0, 3, 5, 4)
    layer = torch.nn.MultiheadAttention(4, 2, batch_first=True)
    for shape in ((0, 3, 4), (2, 0, 4)):
        y = torch.zeros(shape, requires_grad=True)
        out, _ = layer(y, y, y, need_weights=False)
        out.sum().backward()
        assert out.shape == shape and y.grad.shape == shape


def test_infinite_and_missing_values():
    x = torch.ones(1, 1, 3, 2)
    bad = x.clone()
    bad[0, 0, 1, 0] = float("nan")
    assert attend(bad, x, x).isnan().sum(-1).flatten().tolist() == [0, 2, 0]
    large = attend(x * 1e4, x * 1e4, x)
    assert torch.equal(large, x)                         # scores of 1.4e8 do not overflow


@pytest.mark.parametrize("call, kind, words", [
    (lambda x: attend(x, x.double(), x), RuntimeError, "same dtype"),
    (lambda x: attend(x[0, 0, 0], x, x), RuntimeError, "at least 2 dimensional"),
    (lambda x: attend(x.long(), x.long(), x.long()), RuntimeError, "floating-point"),
    (lambda x: attend(x, x[..., :3], x), RuntimeError, "expected query"),
    (lambda x: attend(x, x, x, attn_mask=torch.zeros(3, 3)), RuntimeError, "expand|size"),
    (lambda x: attend(x, x, x, attn_mask=torch.zeros(5, 5, dtype=torch.int64)), RuntimeError, "attn_mask dtype"),
    (lambda x: attend(x, x, x, attn_mask=torch.zeros(5, 5), is_causal=True), RuntimeError, "is_causal"),
    (lambda x: attend(x, x, x, dropout_p=1.5), RuntimeError, "between 0 and 1"),
    (lambda x: attend(x, x[:, :2], x[:, :2], enable_gqa=True), RuntimeError, "heads"),
    (lambda x: attend(1, x, x), TypeError, "must be Tensor"),
])
def test_errors(call, kind, words):
    with pytest.raises(kind, match=words):
        call(torch.randn(2, 3, 5, 4))


@pytest.mark.parametrize("batch_dim", [0, 1])
def test_packed_projections(batch_dim):
    """One, two or three packs, one op: the same values and gradients of any order."""
    torch.manual_seed(0)
    whole, pair, one = [torch.randn(3, 2, 4 * n, dtype=torch.float64, requires_grad=True) for n in (3, 2, 1)]
    results = []
    for packs in ((whole,), (one, pair), (one, pair[..., :4].detach().requires_grad_(), pair[..., 4:].detach().requires_grad_())):
        run = lambda *p: attend_projections(p, 2, batch_dim, None, 0.0, True)
        assert gradcheck(run, packs)
        assert gradgradcheck(run, packs)
        results.append(run(*packs))
    np.testing.assert_allclose(results[1].detach().numpy(), results[2].detach().numpy(), rtol=1e-12)
    with torch.no_grad():
        parts = whole.split(4, -1)
        apart = attend_projections(parts, 2, batch_dim, None, 0.0, True)
    np.testing.assert_allclose(results[0].detach().numpy(), apart.numpy(), rtol=1e-12)


# ---------------------------------------------------------------- modules
def test_modules_start_as_documented():
    attention = nn.MultiheadAttention(8, 2, add_bias_kv=True)
    assert list(attention.state_dict()) == ["in_proj_weight", "in_proj_bias", "bias_k", "bias_v", "out_proj.weight", "out_proj.bias"]
    assert attention.in_proj_bias.abs().sum().item() == 0 and attention.in_proj_weight.shape == (24, 8)
    assert attention.in_proj_weight.abs().max().item() <= (6 / 32) ** 0.5
    apart = nn.MultiheadAttention(8, 2, kdim=3, vdim=5, bias=False)
    assert {k: tuple(v.shape) for k, v in apart.state_dict().items()} == {
        "q_proj_weight": (8, 8), "k_proj_weight": (8, 3), "v_proj_weight": (8, 5), "out_proj.weight": (8, 8)}
    layer = nn.TransformerEncoderLayer(8, 2)
    assert layer.linear1.out_features == 2048 and layer.dropout.p == 0.1
    mask = nn.Transformer.generate_square_subsequent_mask(3)
    assert mask.tolist() == [[0, -np.inf, -np.inf], [0, 0, -np.inf], [0, 0, 0]]
    with pytest.raises(AssertionError, match="divisible"):
        nn.MultiheadAttention(7, 2)
    with pytest.raises(RuntimeError, match="d_model"):
        nn.Transformer(8, 2, 1, 1, 8)(torch.randn(2, 1, 7), torch.randn(2, 1, 7))
    with pytest.raises(RuntimeError, match="is_causal"):
        attention(*[torch.randn(2, 1, 8)] * 3, is_causal=True)


def mirror(theirs, ours):
    """The same parameters in both."""
    state = {name: torch.tensor(value.detach().numpy()) for name, value in theirs.state_dict().items()}
    assert list(state) == list(ours.state_dict())
    ours.load_state_dict(state)


def compare(theirs, ours, inputs, options, tolerance=2e-4):
    """Outputs and all gradients of two modules that are given the same."""
    other = pytest.importorskip("torch")
    mirror(theirs, ours)
    mine = {id(x): torch.tensor(x.detach().numpy(), requires_grad=True) for x in inputs}
    convert = lambda x: torch.tensor(x.numpy()) if isinstance(x, other.Tensor) else x
    out = theirs(*inputs, **options)
    got = ours(*[mine[id(x)] for x in inputs], **{k: convert(v) for k, v in options.items()})
    if isinstance(out, tuple):
        assert (out[1] is None) == (got[1] is None)
        if out[1] is not None:
            np.testing.assert_allclose(got[1].detach().numpy(), out[1].detach().numpy(), atol=tolerance)
        out, got = out[0], got[0]
    np.testing.assert_allclose(got.detach().numpy(), out.detach().numpy(), atol=tolerance)
    g = np.cos(np.arange(out.numel())).reshape(out.shape).astype(np.float32)
    out.backward(other.tensor(g))
    got.backward(torch.tensor(g))
    for x in inputs:
        np.testing.assert_allclose(mine[id(x)].grad.numpy(), x.grad.numpy(), atol=tolerance)
    for (name, a), b in zip(ours.named_parameters(), theirs.parameters()):
        np.testing.assert_allclose(a.grad.numpy(), b.grad.numpy(), atol=3 * tolerance, err_msg=name)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("batch_first", [False, True])
@pytest.mark.parametrize("need_weights", [False, True])
@pytest.mark.parametrize("options", [{}, {"bias": False}, {"add_bias_kv": True, "add_zero_attn": True}, {"kdim": 6, "vdim": 5}], ids=str)
def test_multihead_attention_against_pytorch(options, need_weights, batch_first):
    other = pytest.importorskip("torch")
    other.manual_seed(0)
    L, S, N = 5, 7, 3
    shape = lambda length, width: (N, length, width) if batch_first else (length, N, width)
    query = other.randn(shape(L, 16), requires_grad=True)
    key = other.randn(shape(S, options.get("kdim", 16)), requires_grad=True)
    value = other.randn(shape(S, 5), requires_grad=True) if "kdim" in options else key
    padding = other.arange(S)[None] >= other.tensor([S, S - 2, 1])[:, None]
    hidden = other.rand(L, S) > 0.7
    hidden[:, 0] = False
    masks = [{}, {"attn_mask": hidden}, {"attn_mask": other.randn(L, S)}, {"key_padding_mask": padding},
             {"attn_mask": hidden, "key_padding_mask": padding},
             {"attn_mask": hidden.expand(N * 4, L, S), "average_attn_weights": False}]
    for mask in masks:
        for x in (query, key, value):
            x.grad = None
        compare(other.nn.MultiheadAttention(16, 4, batch_first=batch_first, **options),
                nn.MultiheadAttention(16, 4, batch_first=batch_first, **options), (query, key, value),
                dict(need_weights=need_weights, **mask))
    if not options:
        query.grad = None
        mask = other.nn.Transformer.generate_square_subsequent_mask(L)
        compare(other.nn.MultiheadAttention(16, 4, batch_first=batch_first), nn.MultiheadAttention(16, 4, batch_first=batch_first),
                (query, query, query), dict(need_weights=need_weights, attn_mask=mask, is_causal=True))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("norm_first", [False, True])
@pytest.mark.parametrize("batch_first", [False, True])
def test_transformer_against_pytorch(batch_first, norm_first):
    other = pytest.importorskip("torch")
    other.manual_seed(0)
    shape = lambda length: (3, length, 16) if batch_first else (length, 3, 16)
    options = dict(d_model=16, nhead=4, dim_feedforward=24, dropout=0.0, batch_first=batch_first, norm_first=norm_first)
    source, target = other.randn(shape(6), requires_grad=True), other.randn(shape(5), requires_grad=True)
    padding = other.arange(6)[None] >= other.tensor([6, 4, 2])[:, None]
    later = other.nn.Transformer.generate_square_subsequent_mask(5)
    compare(other.nn.TransformerEncoderLayer(activation="gelu", **options), nn.TransformerEncoderLayer(activation="gelu", **options),
            (source,), dict(src_key_padding_mask=padding))
    source.grad = None
    compare(other.nn.TransformerDecoderLayer(**options), nn.TransformerDecoderLayer(**options), (target, source),
            dict(tgt_mask=later, memory_key_padding_mask=padding))
    source.grad = target.grad = None
    options.update(num_encoder_layers=2, num_decoder_layers=2)
    theirs = other.nn.Transformer(**options)
    compare(theirs, nn.Transformer(**options), (source, target), dict(src_key_padding_mask=padding, tgt_mask=later))


def test_dropout_only_in_training():
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.5, batch_first=True)
    x = torch.randn(2, 70, 16)
    assert not torch.equal(layer(x), layer(x))
    layer.eval()
    assert torch.equal(layer(x), layer(x))


def test_feed_forward_in_one_kernel():
    """Where nothing is recorded the first linear map takes its activation along, unless a hook wants to see it without."""
    torch.manual_seed(0)
    layer, x, seen = nn.TransformerEncoderLayer(16, 2, 32).eval(), torch.randn(5, 2, 16), []
    recorded = layer(x)
    with torch.no_grad():
        assert torch.allclose(layer(x), recorded, 0, 1e-6)
        layer.linear1.register_forward_hook(lambda module, args, out: seen.append(out))
        assert torch.allclose(layer(x), recorded, 0, 1e-6)
    assert len(seen) == 1 and seen[0].min().item() < 0
    layer.linear1 = nn.Identity()
    layer.linear2 = nn.Identity()
    with torch.no_grad():
        assert torch.equal(layer._ff_block(x), F.relu(x))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("bias", [True, False])
def test_linear_relu(dtype, bias):
    torch.manual_seed(0)
    weight = torch.randn(7, 5).to(dtype)
    b = torch.randn(7).to(dtype) if bias else None
    for x in (torch.randn(3, 5), torch.randn(5), torch.randn(2, 4, 5), torch.randn(5, 3).t(), torch.randn(1, 5), torch.randn(0, 5)):
        x = x.to(dtype)
        for w in (weight, weight.t().contiguous().t()):
            found, expected = linear_relu(x, w, b), F.relu(F.linear(x, w, b))
            assert torch.equal(found, expected)
            assert found.dtype is dtype and bool((found >= 0).all())
    with pytest.raises(RuntimeError, match="cannot be multiplied"):
        linear_relu(torch.randn(3, 4).to(dtype), weight, b)
    x = torch.randn(3, 5).to(dtype).requires_grad_()
    linear_relu(x, weight, b).sum().backward()
    assert torch.allclose(x.grad, (F.linear(x.detach(), weight, b) > 0).to(dtype) @ weight, 1e-2, 1e-2)
    assert linear_relu(x, weight, b).grad_fn is not None
