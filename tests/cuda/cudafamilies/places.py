"""Rows of the families: indices, copies, windows, sorting and counting."""
from __future__ import annotations

import numpy as np

from .table import DTYPES, ORDERS, PLAIN, rows_of


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


# ---------------------------------------------------------------- copies: tiles of two by two
@rows_of(((5, 3), (3, 2, 5, 4)), ((2, 2), (1, 2, 2, 3)), dtypes=("float32", "float64", "bfloat16", "uint8", "complex128"), orders=PLAIN)
def transposed_copies(torch, device, x, images):
    wide = torch.zeros(3, 10, dtype=x.dtype, device=device)
    wide[:x.shape[1], 1:x.shape[0] + 1] = x.detach().t()
    return (x.t().contiguous(), images.permute(0, 2, 3, 1).contiguous(), images.permute(3, 1, 0, 2).contiguous(),
            images.permute(1, 2, 3, 0)[:, 1:].contiguous(), wide)


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
    rows = (torch.arange(41, device=device)[:, None] * torch.arange(5, device=device) % 3).to(x.dtype)         # more than at once
    return (ties.unique(), *ties.unique(return_inverse=True, return_counts=True), *ties.unique_consecutive(True, True),
            *ties.unique_consecutive(False, True), *ties.unique(dim=1, return_inverse=True), *ties.mode(1), *ties.mode(0), *rows.mode(1))


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
