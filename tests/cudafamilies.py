"""Families that have kernels of their own on a GPU: what each computes, with sizes on both sides of the kernels' constants, which
are small in the simulator (four threads of a block). Run on the CPU and on CUDA by cuda/test_cuda_families.py, values and
gradients.

A row is (function of the device and its tensors, the shapes of these for each size, their dtypes and orders of memory). The first
shapes are tried in every order and dtype.
"""
from __future__ import annotations

import numpy as np

ROWS: dict = {}
ORDERS = ("contiguous", "transposed", "every second")
PLAIN = ORDERS[:1]
DTYPES = ("float32", "float64", "bfloat16")


def row(function, *shapes, dtypes=DTYPES, orders=ORDERS):
    ROWS[function.__name__] = function, shapes, dtypes, orders
    return function


def rows_of(*shapes, dtypes=DTYPES, orders=ORDERS):
    return lambda function: row(function, *shapes, dtypes=dtypes, orders=orders)


def in_order(torch, values, order, dtype, device):
    """Numbers in an order of memory, as a leaf."""
    tensor = torch.tensor(values).to(dtype).to(device)
    if order == "transposed" and tensor.ndim > 1:
        tensor = tensor.transpose(0, -1).contiguous().transpose(0, -1)
    elif order == "every second" and tensor.ndim:
        wide = torch.zeros((*tensor.shape[:-1], 2 * tensor.shape[-1]), dtype=tensor.dtype, device=device)
        wide[..., ::2] = tensor
        tensor = wide[..., ::2]
    return tensor.detach().requires_grad_(tensor.is_floating_point())


def variants():
    """(name, function, shapes, order, dtype) of each try."""
    for name, (function, shapes, dtypes, orders) in ROWS.items():
        for k, each in enumerate(shapes):
            yield f"{name} {each}", function, each, "contiguous", dtypes[0]
            if k == 0:
                for order in orders[1:]:
                    yield f"{name} {each} {order}", function, each, order, dtypes[0]
                for dtype in dtypes[1:]:
                    yield f"{name} {each} {dtype}", function, each, "contiguous", dtype


def run(torch, function, shapes, order, dtype, device):
    """The results of a try and the gradients of its tensors, as arrays."""
    rng = np.random.default_rng(0)
    tensors = [in_order(torch, rng.uniform(-2, 2, s), order, getattr(torch, dtype), device) for s in shapes]
    torch.manual_seed(1)
    found = function(torch, device, *tensors)
    found = found if isinstance(found, tuple) else (found,)
    kept = [t for t in found if t.requires_grad]
    slopes = [torch.tensor(rng.uniform(-1, 1, tuple(t.shape))).to(t.dtype).to(device) for t in kept]
    leaves = [t for t in tensors if t.requires_grad]
    given = torch.autograd.grad(kept, leaves, slopes, allow_unused=True) if kept else []
    assert all(t.device.type == device for t in (*found, *[g for g in given if g is not None])), "a result is elsewhere"
    return [None if t is None else np.array(t.detach().cpu().double().tolist()) for t in (*found, *given)]


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


# ---------------------------------------------------------------- losses
def classes(torch, device, x, ignored=True):
    """Targets for scores (N, C, ...), one of which is ignored."""
    shape = (x.shape[0], *x.shape[2:])
    found = np.random.default_rng(1).integers(0, x.shape[1], shape)
    if ignored and found.size > 1:
        found.ravel()[-1] = -100
    return torch.tensor(found, device=device)


@rows_of(((5, 3),), ((3, 9),), ((2, 3, 5),), ((1, 4),), ((3, 72),), ((2, 65),))
def cross_entropy(torch, device, x):
    return torch.nn.functional.cross_entropy(x, classes(torch, device, x))


@rows_of(((5, 3), (3,)), ((2, 3, 5), (3,)), ((3, 6), (6,)))
def smoothed_and_weighted(torch, device, x, weight):
    weight = weight.detach().abs() + 0.5
    return tuple(torch.nn.functional.cross_entropy(x, classes(torch, device, x), weight, reduction=reduction, label_smoothing=0.1)
                 for reduction in ("none", "mean"))


# held by one warp, by a block, and not at all; whole vectors or not
@rows_of(((5, 3),), ((3, 8),), ((2, 16),), ((3, 32),), ((2, 31),), ((2, 72),), ((2, 65),), ((2, 3, 5),))
def of_softmax(torch, device, x):
    spoilt = x.detach().clone()
    spoilt[0, 0], spoilt[-1, 1] = float("inf"), float("nan")
    low = torch.full_like(x.detach(), -float("inf"))
    low[0, -1] = -500
    return (x.softmax(1), x.log_softmax(1), x.logsumexp(1), x.softmax(0), *[function(each, 1) for each in (spoilt, low) for function in (
        torch.softmax, torch.log_softmax, torch.logsumexp)])


@rows_of(((5, 3),), ((2, 9),), ((2, 72),))
def against_probabilities(torch, device, x):
    target = x.detach().contiguous().softmax(1).flip(0)
    return torch.nn.functional.cross_entropy(x, target, label_smoothing=0.2), torch.nn.functional.cross_entropy(x, target, reduction="sum")


@rows_of(((5, 3), (3,)), ((2, 3, 5), (3,)))
def likelihood(torch, device, x, weight):
    target = classes(torch, device, x)
    return tuple(torch.nn.functional.nll_loss(x, target, weight.detach().abs(), reduction=reduction) for reduction in ("none", "sum"))


# ---------------------------------------------------------------- norms
@rows_of(((5, 3), (3,), (3,)), ((2, 4), (4,), (4,)), ((9, 9), (9,), (9,)), ((1, 1), (1,), (1,)), ((3, 16), (16,), (16,)),
         ((3, 32), (32,), (32,)), ((2, 40), (40,), (40,)))
def layer_norm(torch, device, x, weight, bias):
    return torch.nn.functional.layer_norm(x, x.shape[1:], weight, bias)


@rows_of(((3, 6), (6,)), ((9, 3), (3,)), ((3, 16), (16,)), ((2, 40), (40,)))
def rms_norm(torch, device, x, weight):
    return torch.nn.functional.rms_norm(x, x.shape[1:], weight)


@rows_of(((3, 4, 5), (4,), (4,)), ((3, 4), (4,), (4,)))
def group_norm(torch, device, x, weight, bias):
    return torch.nn.functional.group_norm(x, 2, weight, bias)


def batch_norm_of(torch, device, x, weight, bias, training):
    mean = torch.linspace(-1, 1, x.shape[1], dtype=x.dtype).to(device)
    variance = torch.linspace(1, 2, x.shape[1], dtype=x.dtype).to(device)
    return torch.nn.functional.batch_norm(x, mean, variance, weight, bias, training, 0.1), mean, variance


# a channel has one block or several, which share images or planes
@rows_of(((3, 5), (5,), (5,)), ((4, 3, 2), (3,), (3,)), ((2, 3, 3, 3), (3,), (3,)), ((3, 1, 7), (1,), (1,)), ((9, 1, 2), (1,), (1,)),
         ((1, 1, 64), (1,), (1,)), ((3, 5, 4), (5,), (5,)), ((1, 2, 65), (2,), (2,)))
def batch_norm(torch, device, x, weight, bias):
    return batch_norm_of(torch, device, x, weight, bias, True)


@rows_of(((3, 5), (5,), (5,)), ((4, 3, 2), (3,), (3,)))
def batch_norm_in_evaluation(torch, device, x, weight, bias):
    return batch_norm_of(torch, device, x, weight, bias, False)


# ---------------------------------------------------------------- elementwise: vectors of 16 bytes, 4 elements a thread, places of 6 bits
@rows_of(((7,),), ((1,),), ((15,),), ((16,),), ((17,),), ((33,),), ((150,),), dtypes=(*DTYPES, "float16", "uint8", "int16", "complex128"))
def side_by_side(torch, device, x):
    """Also of addresses that are no multiples of 16 bytes, and of several sizes of elements at once."""
    y, last = x.detach() * 1, x[1:]
    real = torch.view_as_real(y) if y.is_complex() else y
    y.add_(y)
    first = x[:-1] * 1
    first[1:].sub_(3)
    return *(torch.view_as_real(z) if z.is_complex() else z for z in (x * x + 1, last + x[:-1], last.clone(), y, first)), real > 0, \
        torch.where(real > 0, real, 2), real.to(torch.float64), real.to(torch.uint8).to(torch.float32), torch.full_like(real, 3)


@rows_of(((2, 3, 8), (8,), (3, 1), (2, 1, 1)), ((3, 5, 16), (16,), (5, 1), (3, 1, 1)), ((2, 3, 7), (7,), (3, 1), (2, 1, 1)),
         ((1, 1, 4), (4,), (1, 1), (1, 1, 1)), ((3, 2, 2), (2,), (2, 1), (3, 1, 1)))
def by_rows(torch, device, x, row, column, image):
    wide = torch.cat([x, x], -1)
    half = wide[..., :x.shape[-1]]
    written = x.detach() * 1
    written.mul_(row).add_(column)
    written[..., 1:].sub_(row[1:])
    return x + row, column * x, x - image, half * row, half.clone(), wide[..., 1:-1] * 2, (x > image).to(x.dtype), written


@rows_of(((3, 4, 5),), ((2, 2, 2, 3, 2),), ((9,),), ((5, 30),))
def in_strides(torch, device, x):
    dims = tuple(range(x.ndim))
    turned = x.permute(dims[::-1])
    return turned + turned.contiguous(), x[..., ::2] * 2, x.flip(dims) - 1, x[..., ::3].clone(), turned[1:, ...] * turned[:-1, ...]


# ---------------------------------------------------------------- indices
def places(torch, device, high, *shape):
    return torch.tensor(np.random.default_rng(2).integers(0, high, shape), device=device)


@rows_of(((5, 3),), ((2, 9),))
def embedding(torch, device, weight):
    index = places(torch, device, weight.shape[0], 2, 3)
    return torch.nn.functional.embedding(index, weight), torch.nn.functional.embedding(index, weight, padding_idx=1)


@rows_of(((5, 8),), ((3, 16),), ((2, 24),), ((4, 12),), dtypes=("float32", "float64", "bfloat16", "uint8", "complex128"))
def rows_of_whole_vectors(torch, device, x):
    """16 bytes a thread, where addresses are multiples of that; more elements than places of 6 bits say."""
    index = places(torch, device, x.shape[0], 6)
    apart = torch.cat([x.reshape(-1)[:1], x.reshape(-1)])[1:].reshape(x.shape)
    found = torch.nn.functional.embedding(index, x), x.index_select(0, index), x[index - x.shape[0]], apart[index], x[:, 4:][index]
    return tuple(torch.view_as_real(each) if each.is_complex() else each for each in found)


@rows_of(((5, 3),), ((3, 4, 2),))
def selected(torch, device, x):
    return x.index_select(1, places(torch, device, x.shape[1], 4)), x[:, places(torch, device, x.shape[1], 2) - x.shape[1]]


@rows_of(((4, 3),), ((3, 4, 2),))
def by_two_indices(torch, device, x):
    return x[places(torch, device, x.shape[0], 2, 3), places(torch, device, x.shape[1], 3)]


@rows_of(((4, 3), (4, 2)), ((3, 4, 2), (3, 2, 2)), dtypes=("float32", "float64", "bfloat16", "float16"))
def gathered_and_added(torch, device, x, values):
    index = places(torch, device, x.shape[1], *values.shape)
    return x.gather(1, index), x.scatter_add(1, index, values)


@rows_of(((4, 3), (6, 3)), dtypes=("float32", "bfloat16"))
def added_rows(torch, device, x, values):
    index = places(torch, device, 4, 6)
    return x.index_add(0, index, values), x.index_put((index,), values, accumulate=True)


@rows_of(((4, 3), (4, 5)), dtypes=("float32", "int32", "int64", "uint8", "float64", "int8"))
def reduced_where_they_meet(torch, device, x, values):
    x, values, index = x.detach().contiguous(), values.detach().contiguous(), places(torch, device, 3, 4, 5)
    return tuple(x.scatter_reduce(1, index, values, kind) for kind in ("sum", "prod", "amax", "amin"))


@rows_of(((5, 3), (3, 3)))
def written_rows(torch, device, x, values):
    index = torch.tensor([4, 0, 2], device=device)
    return x.index_copy(0, index, values), x.index_fill(1, index[1:], 2.0), x.index_put((index, index.flip(0) // 2), values[0])


@rows_of(((3, 5),), ((1, 1),), ((1, 70),), dtypes=("float32", "bfloat16", "int32", "complex128", "uint8"))
def found_among(torch, device, x):
    x = x.detach()
    other, real = x.clone(), not x.is_complex()
    other[-1, -1] += 3
    unlike = [torch.equal(x, y) for y in (x, x.clone(), other)]
    wide = torch.cat([x.reshape(-1), torch.arange(30, dtype=x.dtype, device=device)]) if real else None
    if x.is_floating_point():
        wide[3] = float("nan")
    return (torch.tensor(unlike, device=device), *((torch.isin(x, x.reshape(-1)[:3]), torch.isin(x, wide), torch.isin(wide, x[:1], invert=True),
            torch.isin(x, 1), torch.isin(2, x)) if real else ()))


# ---------------------------------------------------------------- masks: tiles of 8 elements, chunks of 16, counts by 8 bytes
@rows_of(((3, 3),), ((1, 41),), ((1, 1),), ((2, 2, 3, 4),), dtypes=("float32", "float64", "bfloat16", "uint8", "complex128"))
def masked(torch, device, x):
    holds = (x.detach().real if x.is_complex() else x) > 0
    none, some = torch.zeros_like(holds), holds.reshape(-1)[1:]
    source = x.detach().contiguous().reshape(-1).flip(0)
    filled = torch.zeros(2, *x.shape, dtype=x.dtype, device=device).transpose(0, -1)[..., 0]
    written = filled.transpose(0, -1).reshape(x.shape).masked_scatter_(holds, source)
    return (x[holds], x[none], x.masked_select(x == x), x.masked_scatter(holds, x.detach() * 2), written, x.reshape(-1)[1:][some],
            holds.nonzero(), some.nonzero(), none.nonzero(), *holds.nonzero(as_tuple=True), *torch.where(holds),
            torch.tensor([int(holds.sum()), holds.count_nonzero().item(), len(some.nonzero())], device=device))


@rows_of(((4, 3),), ((2, 9),), dtypes=("float32", "float64"))
def bags(torch, device, weight):
    bag = torch.nn.functional.embedding_bag
    index, starts = places(torch, device, weight.shape[0], 7), torch.tensor([0, 2, 2, 5], device=device)
    refused = []
    for bad in (index.clone().index_fill_(0, starts[1:2], 99), index):
        try:
            bag(bad, weight, torch.tensor([0, 5, 2, 5], device=device) if bad is index else starts)
        except Exception as error:
            refused.append(torch.tensor([len(type(error).__name__)], device=device))
    return bag(index, weight, starts, mode="sum"), bag(index, weight, starts), bag(index.reshape(1, 7), weight, mode="sum"), *refused


# ---------------------------------------------------------------- elements in other places
@rows_of(((3, 5),), ((4, 2),), ((1, 1),), dtypes=("float32", "bfloat16", "uint8", "complex128"), orders=PLAIN)
def rearranged(torch, device, x):
    counts = places(torch, device, 4, x.shape[0])
    classes = places(torch, device, 3, 5)
    parts = lambda y: torch.view_as_real(y) if y.is_complex() else y
    y = x * (1 + 2j) if x.is_complex() else x
    return (*[parts(each) for each in (y.roll(1, 1), y.roll((1, -1), (0, 1)), y.tril(), y.triu(1), y[None].tril(-1), y.triu(-1))],
            *[function(*x.shape, k, device=device) for function in (torch.tril_indices, torch.triu_indices) for k in (-2, 0, 1, 7)],
            torch.nn.functional.one_hot(classes, 4), x.repeat_interleave(counts, 0), counts.repeat_interleave(2))


@rows_of(((5,),), dtypes=("float32", "float64"), orders=PLAIN)
def counted_numbers(torch, device, x):
    some = dict(device=device, dtype=x.dtype)
    return (torch.arange(11, device=device), torch.arange(1, 4, 0.3, **some), torch.linspace(-1, 2, 11, **some),
            torch.logspace(-2, 3, 6, **some), torch.linspace(0, 9, 4, device=device, dtype=torch.int32))


@rows_of(((3, 5),), ((2, 4, 3),), ((5, 3),), ((1, 1),))
def of_length_one(torch, device, x):
    f = torch.nn.functional
    short = x.detach().clone()
    short[0] = 0
    return f.normalize(x, dim=1), f.normalize(short, dim=-1), f.normalize(x, dim=0, eps=0.5), f.normalize(x * 0.05, dim=1, eps=0.5)


# ---------------------------------------------------------------- sparse, distances: of fewer than two columns by lines of two threads
@rows_of(((4, 5), (5, 3)), ((3, 4), (4, 1)), dtypes=("float32", "float64"), orders=PLAIN)
def sparse_products(torch, device, x, dense):
    kept = torch.where(x.detach() > -0.5, x, 0)
    turned = (kept.detach() * (1 + 2j)).to_sparse_csr() @ (dense.detach() * (2 - 1j))
    compressed, listed = kept.detach().to_sparse_csr(), kept.detach().to_sparse()
    index = torch.tensor([[2, 0, 2, 1], [1, 1, 1, 0]], device=device)
    repeated = torch.sparse_coo_tensor(index, x.reshape(-1)[:4], (4, 3)).coalesce()
    repeated_parts = repeated.values(), repeated.indices()
    sampled = torch.sparse.sampled_addmm(compressed, x.detach(), x.detach()[:, :x.shape[1]].t()[:, :1].repeat(1, x.shape[1]), beta=0.5)
    return (compressed @ dense, listed @ dense, kept.to_sparse() @ dense, torch.view_as_real(turned), sampled.values(), *repeated_parts,
            compressed.crow_indices(), compressed.col_indices(), compressed.to_sparse_coo().indices())


@rows_of(((2, 4, 3), (2, 5, 3)), ((1, 3, 26), (1, 2, 26)), dtypes=("float32", "float64"), orders=PLAIN)
def distances(torch, device, x, y):
    exact = dict(compute_mode="donot_use_mm_for_euclid_dist")
    return (*[torch.cdist(x, y, p, **exact) for p in (2.0, 1.0, float("inf"), 3.0)], torch.cdist(x.detach(), y.detach(), 0.0),
            *[torch.nn.functional.pdist(x[0], p) for p in (2.0, 1.0, float("inf"), 2.5)])


@rows_of(((2, 5, 3),), ((1, 1, 2, 2),), dtypes=("float32", "float64"))
def local_response(torch, device, x):
    norm = torch.nn.functional.local_response_norm
    return norm(x, 2, 0.1), norm(x, 3, 0.5, 0.6, 2.0), norm(x, 9)


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


# ---------------------------------------------------------------- reductions: from 65 elements on by blocks, two columns in each
@rows_of(((70, 2),), ((70, 5),), ((2, 33, 3, 3),), dtypes=("float32", "float64", "bfloat16", "int32"))
def down_the_columns(torch, device, x):
    dims = (0,) if x.ndim == 2 else (0, 1, 2)
    rows = x.detach().contiguous().reshape(-1, 70 if x.ndim == 2 else 99)
    return (x.sum(dims), x.detach().amax(dims), x.detach().contiguous().amin(dims), rows.sum(1), rows.amax(1),
            *([x.mean(dims)] if x.is_floating_point() else []))


@rows_of(((3, 70),), ((1, 300),), ((70, 3),), ((2, 9),), ((5, 2),), ((1, 1),), dtypes=("float32", "float64", "bfloat16", "int32", "uint8"))
def places_of_extremes(torch, device, x):
    ties = x.detach().round()
    spoilt = ties.clone()
    if x.is_floating_point():
        spoilt[-1, x.shape[1] // 2:] = float("nan")
    return (*x.max(1), *x.min(0), *(found for each in (ties, spoilt) for dim in (0, 1, None) for found in (each.argmax(dim), each.argmin(dim))),
            *ties.max(0), *spoilt.min(1), *ties[None].max(0))


# ---------------------------------------------------------------- copies: tiles of two by two
@rows_of(((5, 3), (3, 2, 5, 4)), ((2, 2), (1, 2, 2, 3)), dtypes=("float32", "float64", "bfloat16", "uint8", "complex128"), orders=PLAIN)
def transposed_copies(torch, device, x, images):
    wide = torch.zeros(3, 10, dtype=x.dtype, device=device)
    wide[:x.shape[1], 1:x.shape[0] + 1] = x.detach().t()
    return (x.t().contiguous(), images.permute(0, 2, 3, 1).contiguous(), images.permute(3, 1, 0, 2).contiguous(),
            images.permute(1, 2, 3, 0)[:, 1:].contiguous(), wide)


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


# ---------------------------------------------------------------- windows
@rows_of(((2, 3, 5, 4),), ((1, 1, 2, 2),), dtypes=("float32", "float64", "bfloat16", "float16"))
def max_pooled(torch, device, x):
    overlapping, where = torch.nn.functional.max_pool2d(x, 2, 1, 1, return_indices=True)
    return overlapping, where, torch.nn.functional.max_pool2d(x, 2), torch.nn.functional.max_pool1d(x[0], 2, 1)


@rows_of(((2, 2, 5, 4),), ((1, 1, 2, 2),))
def mean_pooled(torch, device, x):
    pool = torch.nn.functional.avg_pool2d
    return pool(x, 2), pool(x, (2, 1), 1, (1, 0), count_include_pad=False), pool(x, 2, 2, 1, ceil_mode=True), pool(x, 2, divisor_override=3)


@rows_of(((2, 3, 5, 4),), ((1, 1, 2, 2),), dtypes=("float32", "float64", "bfloat16", "float16"))
def pooled_with_channels_last(torch, device, x):
    f, x = torch.nn.functional, x.contiguous(memory_format=torch.channels_last) * 1
    spoilt = x.detach().clone(memory_format=torch.preserve_format)
    spoilt[0, 0, 0] = float("nan")
    found = (*f.max_pool2d(x, 2, 1, 1, return_indices=True), *f.max_pool2d(spoilt, 2, return_indices=True), f.max_pool2d(x, 2, 1, 1, 2),
             f.avg_pool2d(x, 2, 1, 1, count_include_pad=False), f.avg_pool2d(x, (2, 1), 2, ceil_mode=True), f.avg_pool2d(x, 2, divisor_override=3))
    assert all(each.is_contiguous(memory_format=torch.channels_last) for each in found)
    return found


@rows_of(((2, 3, 5, 4),), ((1, 1, 2, 2),), dtypes=("float32", "float64", "bfloat16"))
def pooled_by_regions(torch, device, x):
    f, deep = torch.nn.functional, x[:, None]
    spoilt = x.detach().clone()
    spoilt[0, 0, 0] = float("nan")
    values, places = f.adaptive_max_pool2d(x, (2, 3), return_indices=True)
    largest, where = f.max_pool2d(x, 2, return_indices=True)
    return (values, places, *f.adaptive_max_pool2d(spoilt, 2, return_indices=True), f.adaptive_avg_pool2d(x, (3, 2)),
            *f.max_pool3d(deep, (1, 2, 2), 1, (0, 1, 1), return_indices=True), f.avg_pool3d(deep, (1, 2, 2), 1),
            f.max_pool3d(deep, (1, 1, 2), (1, 1, 1), 0, (1, 1, 1)), f.adaptive_avg_pool3d(deep, 2), f.max_unpool2d(largest, where, 2, output_size=x.shape[2:]))


# ---------------------------------------------------------------- windows that share elements
@rows_of(((2, 3),), ((1, 4, 9),), dtypes=(*DTYPES, "float16"))
def overlapping_windows(torch, device, x):
    """The gradient of windows, and windows folded, in complex numbers and integers too."""
    fold, whole = torch.nn.functional.fold, (x.detach() * 4).round().reshape(1, -1, x.shape[-1])[:, :1].expand(1, 4, -1)
    places = whole[..., :3]
    numbers = torch.complex(places.double(), -places.double())
    return (x.unfold(-1, 2, 1), fold(places, (2, 4), 2), fold(places.to(torch.int16), (2, 4), 2),
            torch.view_as_real(fold(numbers, (2, 4), 2)))


# ---------------------------------------------------------------- resampling and padding
@rows_of(((1, 2, 3, 5),), ((2, 1, 1, 1),), dtypes=("float32", "float64", "bfloat16"), orders=ORDERS[:2])
def resampled(torch, device, x):
    last = x.contiguous(memory_format=torch.channels_last)
    wide = torch.cat([x] * 9, 1).contiguous(memory_format=torch.channels_last)
    resize = torch.nn.functional.interpolate
    return (*[resize(x, (5, 3), mode=mode) for mode in ("nearest", "nearest-exact", "bilinear", "bicubic", "area")],
            resize(x, scale_factor=2, mode="bilinear", align_corners=True), resize(x, (2, 2), mode="bicubic", antialias=True),
            resize(last, (5, 3), mode="bilinear"), resize(wide, (4, 3), mode="bilinear"), resize(x[0], 7, mode="linear"),
            resize(x[None], (2, 2, 6), mode="trilinear"), resize(x[None], (2, 2, 6)))


@rows_of(((2, 2, 3, 4), (2, 3, 2, 2)), ((1, 1, 1, 1), (1, 1, 1, 2)), dtypes=("float32", "float64"))
def sampled_at_points(torch, device, x, points):
    sample = torch.nn.functional.grid_sample
    return (sample(x, points, align_corners=False), sample(x, points, "bilinear", "reflection", True),
            sample(x, points, "bilinear", "border", False), sample(x, points, "nearest", "zeros", True),
            torch.nn.functional.affine_grid(points[:, :1, :, 0].repeat(1, 2, 3)[:, :, :3], (x.shape[0], 1, 2, 3), align_corners=False))


@rows_of(((1, 2, 3, 4),), ((2, 1, 3, 3),), dtypes=("float32", "float64", "bfloat16", "float16"))
def padded(torch, device, x):
    pad, last = torch.nn.functional.pad, x.contiguous(memory_format=torch.channels_last)
    ends = (2, 1, 1, 2)
    return (pad(x, ends), pad(x, (-1, 2, 1, -1), value=2.5), pad(x, (0, 0, 0, 0, 1, 0, 2, 1)), pad(last, ends, value=1.0), pad(x.int(), ends, value=3),
            *[pad(each, ends, mode) for mode in ("reflect", "replicate", "circular") for each in (x, last)], pad(x[0, 0], (5, 7), "replicate"),
            torch.view_as_real(pad(x.double() * (1 + 2j), ends, "replicate")), pad(x, (1, 1, 1, 1, 1, 1), "circular"))


# ---------------------------------------------------------------- reductions: a thread, some, a warp or a block an output, or several
@rows_of(((3, 5),), ((2, 24),), ((2, 150),), ((1, 300),), ((40, 3),), ((150, 6),), ((2, 20, 2, 7),),
         dtypes=("float32", "float64", "bfloat16", "int32", "uint8"))
def reduced(torch, device, x):
    dims = [None, 0, -1, *([(0, -1), 1] if x.ndim > 2 else [])]
    found = [function(*(() if dim is None else (dim,))) for dim in dims for function in (x.sum, x.amax, x.any)]
    if not x.is_floating_point():
        return tuple(found)
    far = x.detach() + 8                                 # what a 16-bit float holds
    shifted = x.detach()[..., 1:] if x.shape[-1] > 1 else x.detach()
    more = [function(*(() if dim is None else (dim,))) for dim in dims for function in (x.mean, x.std, far.var, shifted.sum)]
    return (*found, *more, x.prod(-1), x.norm(), x.norm(3.0, 0))


@rows_of(((3, 5),), ((2, 24),), ((1, 300),), ((40, 3),), ((2, 20, 2, 7),), dtypes=("float32", "float64", "bfloat16", "int32", "uint8"))
def placed(torch, device, x):
    ties = x.detach().round()
    if x.is_floating_point() and x.numel() > 20:
        ties[0, 1], ties[-1, -1] = float("nan"), -float("inf")
    return (*[function(*(() if dim is None else (dim,))) for each in (x.detach(), ties) for dim in (None, *range(x.ndim))
              for function in (each.argmax, each.argmin)],
            *[part for dim in range(x.ndim) for function in (ties.max, ties.min) for part in function(dim)])


# ---------------------------------------------------------------- scans: tiles of 8 elements, chunks of 16
@rows_of(((3, 9),), ((1, 33),), ((2, 5, 3),), ((4, 1),), ((2, 24),), dtypes=("float32", "bfloat16", "int32"))
def running(torch, device, x):
    return x.cumsum(1), x.flip(1).cumsum(1), (x * 0.5).cumprod(1)


@rows_of(((2, 3, 5),), ((2, 9),), ((1, 33),), dtypes=("float32",))
def running_log_sums(torch, device, x):
    low = x.detach().clone()
    low[0] = -float("inf")
    return x.logcumsumexp(1), low.logcumsumexp(-1)


@rows_of(((2, 4, 3),), ((3, 9),), ((1, 33),), dtypes=("float32", "int32"))
def running_extremes(torch, device, x):
    ties = x.detach().round().contiguous()
    if x.is_floating_point():
        ties[0, 2] = float("nan")
    return tuple(found for each in (x.cummax(1), x.cummin(1), ties.cummax(1), ties.cummin(1)) for found in each)


# ---------------------------------------------------------------- order: tiles of 8 words, or of 12 elements by digits of two bits
@rows_of(((2, 5, 3),), ((2, 8),), ((1, 25),), ((2, 1),), ((2, 9, 2),), dtypes=("float32", "bfloat16", "float16", "int64", "int8", "uint8"))
def in_sorted_order(torch, device, x):
    ties = x.detach().round().contiguous()
    if x.is_floating_point():
        ties[0, 0] = float("nan")
    return (*x.sort(1), *ties.sort(1, descending=True, stable=True), *ties.sort(1, stable=True))


@rows_of(((2, 3, 2),), ((1, 9),), ((1, 17),), ((3, 30),), dtypes=("float32", "int32", "bfloat16", "float64", "int8"))
def chosen(torch, device, x):
    wide = x.detach().clone()
    if x.is_floating_point():
        wide[0, 1] = float("nan")
    medians = (*wide.median(1), *wide.nanmedian(1)) if x.is_floating_point() else ()
    ties, most = x.detach().round().contiguous(), x.shape[1]
    return (*x.topk(2, 1), *x.topk(1, 1, largest=False), *x.kthvalue(2, 1), *ties.topk(3, 1), *ties.topk(most, 1, largest=False),
            *ties.kthvalue(most, 1), *x.median(1), *medians, x.detach().round().unique())


# ---------------------------------------------------------------- runs and counts: tables of 4 bins, scans as above
@rows_of(((3, 3),), ((1, 41),), ((1, 1),), dtypes=("float32", "bfloat16", "int64", "uint8"), orders=PLAIN)
def distinct(torch, device, x):
    ties = x.detach().round().contiguous()
    if x.is_floating_point() and x.numel() > 1:
        ties[0, 1:3] = float("nan")
    return (ties.unique(), *ties.unique(return_inverse=True, return_counts=True), *ties.unique_consecutive(True, True),
            *ties.unique_consecutive(False, True), *ties.unique(dim=1, return_inverse=True), *ties.mode(1), *ties.mode(0))


@rows_of(((9,),), ((70,),), dtypes=("float32", "float64", "bfloat16"), orders=PLAIN)
def histograms(torch, device, x):
    x = x.detach()
    places = (x * 2 + 4).long()
    binned = (x * 0.49 + 1).long(), places
    weights = x.contiguous() if x.dtype != torch.bfloat16 else x.double()
    many = places.to(torch.int8).sub(3).repeat(1 + 1000 // len(x))           # as many bytes are counted, and not sorted
    return (*[found for place in binned for found in (place.bincount(), place.bincount(weights), place.bincount(minlength=20))],
            x.histc(3, -1, 1), x.histc(7), *many.unique(return_inverse=True, return_counts=True))


@rows_of(((2, 5), (2, 7)), ((1, 1), (1, 9)), dtypes=("float32", "bfloat16", "int32"))
def looked_up(torch, device, edges, x):
    edges, x = edges.detach().sort(1)[0], x.detach()
    return (torch.searchsorted(edges, x), torch.searchsorted(edges, edges.flip(1), right=True, out_int32=True),
            torch.bucketize(x, edges[0].contiguous()), torch.bucketize(x, edges[-1].contiguous(), right=True))


# ---------------------------------------------------------------- draws: chunks of 128 elements, or 64 of 64 bits
@rows_of(((5, 27),), ((2, 3),))
def dropped(torch, device, x):
    return torch.nn.functional.dropout(x, 0.4), torch.nn.functional.alpha_dropout(x, 0.3)


@rows_of(((130,),), ((63,),), dtypes=("float32", "float64", "float16"))
def drawn(torch, device, x):
    p = x.detach().contiguous().sigmoid()
    return (torch.rand_like(p), torch.randn_like(p), torch.empty_like(p).exponential_(2.0), torch.empty_like(p).uniform_(-3, 5),
            torch.randint(-5, 1 << 40, (70,), device=device), torch.empty_like(p).bernoulli_(0.3), torch.bernoulli(p))


@rows_of(((9,),), ((2, 3),), dtypes=("float32", "float64"), orders=PLAIN)
def drawn_by_rejection(torch, device, x):
    rates = x.abs() * 8 + 0.01
    rows = torch.distributions
    gammas, betas = torch._standard_gamma(rates * 0.3), rows.Beta(rates, rates.flip(0) * 0.1, validate_args=False).rsample()
    return (torch.poisson(rates.detach()), torch.binomial((rates * 4).detach().floor(), x.detach().sigmoid()), gammas, betas,
            rows.VonMises(x.detach(), rates.detach(), validate_args=False).sample())


@rows_of(((9, 21),), ((1, 5),), dtypes=("float32", "float64"), orders=PLAIN)
def chosen_by_weight(torch, device, x):
    weights = x.detach().clamp(min=0)
    weights[:, 1] = 1
    bad, refused = weights.clone(), []
    bad[1:3], bad[-1] = 0, 0
    for each in (bad, -weights):
        try:
            torch.multinomial(each, 2, True)
        except RuntimeError as error:
            refused.append(torch.tensor([ord(c) for c in str(error)], device=device))
    return (torch.multinomial(weights, 70, True), torch.multinomial(weights[0], 5, True), *refused, torch.randperm(x.numel() * 5, device=device),
            torch.rand(3, device=device))


# ---------------------------------------------------------------- optimisers: chunks of 8 elements in the simulator
def stepped(make):
    def steps(torch, device, *tensors):
        parameters = [torch.nn.Parameter(t.detach().contiguous()) for t in tensors]
        optimizer = make(torch.optim, parameters)
        for k in range(2):
            for p in parameters:
                p.grad = (p.detach() * 0.5 + k).contiguous()
            torch.nn.utils.clip_grad_norm_(parameters, 1.0, (2.0, 1.0, float("inf"))[k])
            optimizer.step()
        return tuple(p.detach() for p in parameters)
    return steps


for name, make in {"sgd": lambda optim, p: optim.SGD(p, 0.1), "momentum": lambda optim, p: optim.SGD(p, 0.1, 0.9, weight_decay=0.01),
                   "adam": lambda optim, p: optim.Adam(p, 0.1), "adamw": lambda optim, p: optim.AdamW(p, 0.1, amsgrad=True),
                   "rmsprop": lambda optim, p: optim.RMSprop(p, 0.1, centered=True, momentum=0.5)}.items():
    steps = stepped(make)
    steps.__name__ = name
    row(steps, ((3,), (2, 4), (9,), (1,), (17,)), orders=PLAIN)
