"""Rows of the families: elementwise calls, sums, scans, losses, norms, draws and steps of optimisers."""
from __future__ import annotations

import numpy as np

from .table import DTYPES, PLAIN, row, rows_of


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
