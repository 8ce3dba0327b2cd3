"""Random calls of layers as lines of Python, for `layercalls.py`, which says what the names in them mean.

A family draws calls of one kind, most of them such as PyTorch accepts; now and then one argument is exchanged for something that has no
place there. To draw more, add a function to `FAMILIES`.
"""
from __future__ import annotations

import random

ODD = ("0", "-1", "None", "1.5", "7", "(1, 2)", "(1, 2, 3, 4)", "()", "'same'", "True", "[2]", "float('nan')")
ODD_SHARE = 0.12                                         # of calls that have one of them
FORMS = ("plain", "plain", "plain", "transposed", "gapped", "offset", "expanded", "channels_last")
DTYPES = ("float32",) * 14 + ("float64",) * 4 + ("bfloat16", "float16")


class Draw:
    """What families draw from. `dtype` is that of a call's tensors."""

    def __init__(self, seed, odd):
        self.random = random.Random(seed)
        self.dtype, self.odd = self.random.choice(DTYPES), odd
        self.number, self.pick = self.random.randint, self.random.choice

    def chance(self, share) -> bool:
        return self.random.random() < share

    def sizes(self, count, least=1, most=6) -> tuple:
        """Extents, mostly short ones; now and then one that is longer than a vector or a block, or nothing."""
        long = self.random.randrange(count) if count and self.chance(0.1) else None
        return tuple(0 if self.chance(0.01) else self.number(17, 70) if i == long else self.number(least, most) for i in range(count))

    def each(self, dims, draw):
        """A number for all dimensions, or one for each."""
        return draw() if self.chance(0.5) else tuple(draw() for _ in range(dims))

    def x(self, shape, low=None, high=None, grad=True, dtype=None) -> str:
        """Floats; between two numbers if they are given."""
        words = [str(self.number(0, 999)), repr(tuple(shape))]
        dtype = dtype or self.dtype
        words += [f"dtype={dtype!r}"] if dtype != "float32" else []
        form = self.pick(FORMS)
        words += [f"form={form!r}"] if form != "plain" else []
        words += [f"low={low}, high={high}"] if low is not None else []
        words += ["grad=False"] if not grad else []
        return f"x({', '.join(words)})"

    def i(self, shape, low, high, dtype=None) -> str:
        """Integers from low up to high; now and then one beyond."""
        if self.chance(0.03):
            low, high = low - 1, high + 1
        kind = f", dtype={dtype!r}" if dtype else ""
        return f"i({self.number(0, 999)}, {tuple(shape)!r}, {low}, {max(high, low + 1)}{kind})"

    def b(self, shape) -> str:
        return f"b({self.number(0, 999)}, {tuple(shape)!r})"

    def call(self, name, *arguments, **options) -> str:
        """The call as a line; with a chance of `odd` one argument is exchanged, and options are left out as they come."""
        words = [str(a) for a in arguments]
        named = {k: str(v) for k, v in options.items() if self.chance(0.7)}
        if self.chance(self.odd):
            place = self.random.randrange(len(words) + len(named))
            odd = self.x(self.sizes(self.number(0, 5))) if self.chance(0.4) else self.pick(ODD)
            if place < len(words):
                words[place] = odd
            else:
                named[list(named)[place - len(words)]] = odd
        return f"{name}({', '.join(words + [f'{k}={v}' for k, v in named.items()])})"


# ---------------------------------------------------------------- windows
def convolution(d):
    dims, groups = d.number(1, 3), d.pick((1, 1, 1, 2, 3))
    sizes, kernel = d.sizes(dims, 1, 9), d.sizes(dims, 1, 3)
    channels, features = groups * d.pick((1, 1, 2, 3, 8, 17)), groups * d.pick((1, 2, 3, 8, 16))
    lead = () if d.chance(0.15) else d.sizes(1, 1, 3)
    padding = d.pick(("'same'", "'valid'")) if d.chance(0.15) else d.each(dims, lambda: d.number(0, 2))
    bias = d.x((features,)) if d.chance(0.5) else None
    return d.call(f"F.conv{dims}d", d.x((*lead, channels, *sizes)), d.x((features, channels // groups, *kernel)), bias,
                  d.each(dims, lambda: d.number(1, 3)), padding, d.each(dims, lambda: d.number(1, 2)), groups)


def convolution_layer(d):
    dims, groups = d.number(1, 3), d.pick((1, 1, 2))
    sizes, mode = d.sizes(dims, 3, 9), d.pick(("zeros", "reflect", "replicate", "circular"))
    channels, features = groups * d.number(1, 3), groups * d.number(1, 3)
    padding = d.pick(("'same'", "'valid'")) if d.chance(0.3) else d.each(dims, lambda: d.number(0, 2))
    layer = d.call(f"nn.Conv{dims}d", channels, features, d.each(dims, lambda: d.number(1, 3)), stride=d.each(dims, lambda: d.number(1, 2)),
                   padding=padding, dilation=d.each(dims, lambda: d.number(1, 2)), groups=groups, bias=d.chance(0.5),
                   padding_mode=repr(mode))
    return f"run({layer}, {d.x((*(() if d.chance(0.2) else d.sizes(1, 1, 3)), channels, *sizes))})"


def transposed_convolution(d):
    dims, groups = d.number(1, 3), d.pick((1, 1, 1, 2, 3))
    sizes, kernel = d.sizes(dims, 1, 6), d.sizes(dims, 1, 3)
    channels, features = groups * d.pick((1, 1, 2, 3, 8)), d.pick((1, 2, 3, 8, 17))
    lead = () if d.chance(0.15) else d.sizes(1, 1, 3)
    return d.call(f"F.conv_transpose{dims}d", d.x((*lead, channels, *sizes)), d.x((channels, features, *kernel)),
                  d.x((features * groups,)) if d.chance(0.5) else None, d.each(dims, lambda: d.number(1, 3)),
                  d.each(dims, lambda: d.number(0, 2)), d.each(dims, lambda: d.pick((0, 0, 0, 1, 2))), groups,
                  d.each(dims, lambda: d.number(1, 3)))


def pooling(d):
    dims, kind = d.number(1, 3), d.pick(("max", "max", "avg", "avg", "lp"))
    input = d.x((*(() if d.chance(0.2) else d.sizes(1, 1, 3)), *d.sizes(1, 1, 4), *d.sizes(dims, 1, 12)))
    kernel, stride = d.each(dims, lambda: d.number(1, 4)), d.each(dims, lambda: d.number(1, 4))
    padding, ceil = d.each(dims, lambda: d.pick((0, 0, 1, 2))), d.chance(0.4)
    if kind == "lp":                                     # positive: roots of sums that cancel have gradients of any size
        input = d.x((*d.sizes(2, 1, 3), *d.sizes(dims, 1, 12)), 0.1, 2)
        return d.call(f"F.lp_pool{dims}d", input, d.pick((1, 2, 3, 1.5, "float('inf')")), kernel, stride=stride, ceil_mode=ceil)
    if kind == "max":
        return d.call(f"F.max_pool{dims}d", input, kernel, stride=stride, padding=padding, dilation=d.each(dims, lambda: d.number(1, 3)),
                      ceil_mode=ceil, return_indices=d.chance(0.5))
    options = {} if dims == 1 else {"divisor_override": d.pick((None, 1, 3, 5))}
    return d.call(f"F.avg_pool{dims}d", input, kernel, stride=stride, padding=padding, ceil_mode=ceil, count_include_pad=d.chance(0.5),
                  **options)


def adaptive_pooling(d):
    dims, kind = d.number(1, 3), d.pick(("max", "avg"))
    input = d.x((*(() if d.chance(0.2) else d.sizes(1, 1, 3)), *d.sizes(1, 1, 4), *d.sizes(dims, 1, 9)))
    size = d.each(dims, lambda: None if dims > 1 and d.chance(0.1) else d.number(1, 7))
    options = {"return_indices": d.chance(0.5)} if kind == "max" else {}
    return d.call(f"F.adaptive_{kind}_pool{dims}d", input, size, **options)


def fractional_pooling(d):
    dims = d.number(2, 3)
    batch, channels, kernel, sizes = d.number(1, 2), d.number(1, 3), d.number(1, 3), [d.number(3, 9) for _ in range(dims)]
    return d.call(f"F.fractional_max_pool{dims}d", d.x((batch, channels, *sizes)), kernel,
                  f"_random_samples={d.x((batch, channels, dims), 0, 1, grad=False)}",
                  f"output_size={tuple(d.number(1, n - kernel + 1) for n in sizes)}", return_indices=d.chance(0.5))


def unpooling(d):
    dims, kernel = d.number(1, 3), d.number(1, 3)
    input = d.x((*(() if d.chance(0.2) else (d.number(1, 2),)), d.number(1, 3), *[d.number(kernel, 9) for _ in range(dims)]))
    return d.call(f"F.max_unpool{dims}d", f"*F.max_pool{dims}d({input}, {kernel}, return_indices=True)", kernel,
                  stride=d.pick((None, kernel, 1)), padding=d.pick((0, 0, 1)))


def columns(d):
    window = dict(dilation=d.each(2, lambda: d.number(1, 2)), padding=d.each(2, lambda: d.number(0, 2)), stride=d.each(2, lambda: d.number(1, 3)))
    kernel, lead = d.each(2, lambda: d.number(1, 3)), () if d.chance(0.2) else d.sizes(1, 1, 3)
    if d.chance(0.5):
        return d.call("F.unfold", d.x((*lead, *d.sizes(1, 1, 3), *d.sizes(2, 1, 8))), kernel, **window)
    size, options = (d.number(3, 7), d.number(3, 7)), {k: v for k, v in window.items() if d.chance(0.6)}
    pairs = [v if isinstance(v, tuple) else (v, v) for v in (kernel, *[options.get(k, least) for k, least in
                                                                        (("dilation", 1), ("padding", 0), ("stride", 1))])]
    places = 1
    for n, k, dilation, padding, stride in zip(size, *pairs):
        places *= max((n + 2 * padding - dilation * (k - 1) - 1) // stride + 1, 1)
    channels = d.number(1, 3) * pairs[0][0] * pairs[0][1]
    return d.call("F.fold", d.x((*lead, channels, places)), size, kernel, *[f"{k}={v}" for k, v in options.items()])


def padding(d):
    ndim = d.number(1, 5)
    mode = d.pick(("constant", "reflect", "replicate", "circular"))
    dims = d.number(0, ndim) if mode == "constant" or d.chance(0.1) else d.pick([k for k in (1, 2, 3) if ndim - k in (1, 2)] or [1])
    widths = tuple(d.pick((0, 0, 1, 1, 2, 3, -1, -1, -2)) for _ in range(2 * dims))
    value = {"value": d.pick((None, 0, 1, 2.5, -1, "float('inf')"))} if mode == "constant" else {}
    return d.call("F.pad", d.x(d.sizes(ndim)), widths, *([repr(mode)] if mode != "constant" or d.chance(0.5) else []), **value)


def resampling(d):
    dims = d.number(1, 3)
    mode = d.pick({1: ("nearest", "nearest-exact", "linear", "area"), 2: ("nearest", "nearest-exact", "bilinear", "bicubic", "area"),
                   3: ("nearest", "nearest-exact", "trilinear", "area")}[dims])
    options = {"mode": repr(mode), "align_corners": d.pick((None, True, False)) if mode.endswith("linear") or mode == "bicubic" else None}
    if d.chance(0.5):
        options["size"] = d.each(dims, lambda: d.number(1, 12))
    else:
        options.update(scale_factor=d.each(dims, lambda: d.pick((1, 1.4, 2, 2.4, 0.5, 1.9, 0.7, 3))),
                       recompute_scale_factor=d.pick((None, None, True, False)))
    if mode in ("bilinear", "bicubic") and d.chance(0.3):
        options["antialias"] = True
    return d.call("F.interpolate", d.x((*d.sizes(2, 1, 3), *d.sizes(dims, 1, 9))), *[f"{k}={v}" for k, v in options.items()])


def grid(d):
    dims, batch = d.number(2, 3), d.number(1, 2)
    mode = d.pick(("bilinear", "nearest", "bicubic") if dims == 2 else ("bilinear", "nearest"))
    if d.chance(0.2):
        return d.call("F.affine_grid", d.x((batch, dims, dims + 1)), (batch, 2, *d.sizes(dims)), align_corners=d.chance(0.5))
    return d.call("F.grid_sample", d.x((batch, d.number(1, 3), *d.sizes(dims))), d.x((batch, *d.sizes(dims), dims), -1.6, 1.6),
                  mode=repr(mode), padding_mode=repr(d.pick(("zeros", "border", "reflection"))), align_corners=d.chance(0.5))


def shuffling(d):
    factor = d.number(1, 3)
    lead, sizes = d.sizes(d.number(0, 2)), (d.number(1, 4), d.number(1, 4))
    if d.chance(0.5):
        return d.call("F.pixel_shuffle", d.x((*lead, factor * factor * d.number(1, 2), *sizes)), factor)
    return d.call("F.pixel_unshuffle", d.x((*lead, d.number(1, 2), sizes[0] * factor, sizes[1] * factor)), factor)


# ---------------------------------------------------------------- sequences
def recurrent(d):
    kind, size, features = d.pick(("RNN", "LSTM", "GRU")), d.number(1, 5), d.number(1, 6)
    layers, both = d.number(1, 2), d.chance(0.4)
    first, unbatched = d.chance(0.5), d.chance(0.2)
    projected = d.number(1, features) if kind == "LSTM" and features > 1 and d.chance(0.3) else 0
    projected = 0 if projected == features else projected
    length, batch = d.number(1, 5), d.number(1, 3)
    options = f"num_layers={layers}, bidirectional={both}, batch_first={first}, bias={d.chance(0.8)}"
    options += f", proj_size={projected}" if projected else ""
    options += ", nonlinearity='relu'" if kind == "RNN" and d.chance(0.4) else ""
    layer = d.call(f"nn.{kind}", size, features, options, f"dtype=torch.{d.dtype}")
    lead = (length,) if unbatched else (batch, length) if first else (length, batch)
    inputs = [d.x((*lead, size))]
    if d.chance(0.5):
        states = [d.x((layers * (1 + both), *(() if unbatched else (batch,)), n)) for n in (projected or features, features)]
        inputs.append(f"({', '.join(states)})" if kind == "LSTM" else states[1])
    elif not unbatched and d.chance(0.3):
        lengths = sorted((d.number(1, length) for _ in range(batch)), reverse=True)
        return f"run({layer}, nn.utils.rnn.pack_padded_sequence({inputs[0]}, {lengths}, {first}))"
    return d.call("run", layer, *inputs)


def cell(d):
    kind, size, features, lead = d.pick(("RNN", "LSTM", "GRU")), d.number(1, 5), d.number(1, 6), () if d.chance(0.2) else (d.number(1, 4),)
    layer = f"nn.{kind}Cell({size}, {features}, bias={d.chance(0.7)}, dtype=torch.{d.dtype})"
    state = d.x((*lead, features))
    return d.call("run", layer, d.x((*lead, size)), *([f"({state}, {d.x((*lead, features))})" if kind == "LSTM" else state]
                                                      if d.chance(0.6) else []))


def attention(d):
    lead, length, keys, size = d.sizes(d.number(1, 2), 1, 3), d.number(1, 9), d.number(1, 9), d.number(1, 8)
    mask = d.pick((None, d.b((length, keys)), d.x((length, keys)), d.b((1,) * len(lead) + (length, keys)), d.x((*lead, length, keys))))
    causal = mask is None and d.chance(0.5)
    return d.call("F.scaled_dot_product_attention", d.x((*lead, length, size)), d.x((*lead, keys, size)),
                  d.x((*lead, keys, d.pick((size, size, d.number(1, 5))))), mask, 0.0, causal, scale=d.pick((None, 0.5)))


def multihead(d):
    heads, first, unbatched = d.number(1, 3), d.chance(0.5), d.chance(0.2)
    size, length, keys, batch = heads * d.number(1, 3), d.number(1, 5), d.number(1, 5), d.number(1, 3)

    def shape(n):
        return (n, size) if unbatched else (batch, n, size) if first else (n, batch, size)
    layer = (f"nn.MultiheadAttention({size}, {heads}, bias={d.chance(0.7)}, add_bias_kv={d.chance(0.2)}, add_zero_attn={d.chance(0.2)}, "
             f"batch_first={first}, dtype=torch.{d.dtype})")
    query = d.x(shape(length))
    if d.chance(0.3):
        return d.call("run", layer, query, query, query, need_weights=d.chance(0.5))
    return d.call("run", layer, query, d.x(shape(keys)), d.x(shape(keys)), need_weights=d.chance(0.5), average_attn_weights=d.chance(0.5),
                  attn_mask=d.pick((None, d.x((length, keys), grad=False))))


def embedding(d):
    rows, size = d.number(1, 12), d.number(1, 6)
    weight = d.x((rows, size))
    if d.chance(0.5):
        return d.call("F.embedding", d.i(d.sizes(d.number(0, 3)), 0, rows, d.pick((None, "int32"))), weight, padding_idx=d.number(-rows, rows - 1),
                      max_norm=d.pick((None, None, 0.7)), norm_type=d.pick((2.0, 1.0)), scale_grad_by_freq=d.chance(0.3))
    mode, bags = d.pick(("sum", "mean", "max")), d.number(1, 4)
    if d.chance(0.5):
        shape = d.sizes(2, 1, 5)
        weights = {"per_sample_weights": d.x(shape)} if mode == "sum" and d.chance(0.5) else {}
        return d.call("F.embedding_bag", d.i(shape, 0, rows), weight, mode=repr(mode), padding_idx=d.pick((None, 0)), **weights)
    count = d.number(1, 9)
    offsets = [0] + sorted(d.number(0, count) for _ in range(bags - 1))
    last = d.chance(0.3)                                 # PyTorch differs from itself where that is not how many indices there are
    offsets += [count] * last
    return d.call("F.embedding_bag", d.i((count,), 0, rows), weight, f"torch.tensor({offsets})", f"include_last_offset={last}",
                  mode=repr(mode), padding_idx=d.pick((None, 0)))


# ---------------------------------------------------------------- indexing
def _slice(d, extent):
    ends = [d.pick(("", d.number(-extent - 1, extent + 1))) for _ in range(2)]
    return f"{ends[0]}:{ends[1]}" + (f":{d.number(1, 3)}" if d.chance(0.4) else "")


def _index(d, shape):
    """What may stand between brackets after a tensor of that shape."""
    items, rest, together = [], list(shape), d.sizes(d.number(0, 2), 1, 4)
    while rest and not d.chance(0.2):
        kind = d.pick(("int", "slice", "slice", "none", "tensor", "tensor", "mask", "list", "dots"))
        if kind == "dots" and "..." not in items:
            items.append("...")
            rest = rest[d.number(0, len(rest)):]
        elif kind == "none":
            items.append("None")
        elif kind == "mask":
            many = d.number(1, min(2, len(rest)))
            items.append(d.b(rest[:many]))
            rest = rest[many:]
        else:
            extent, *rest = rest
            if kind == "int":
                items.append(str(d.number(-extent, max(extent - 1, -extent)) + (extent if d.chance(0.02) else 0)))
            elif kind == "tensor":
                shape = tuple(n if d.chance(0.8) else 1 for n in together)
                items.append(d.i(shape, -extent if extent else 0, extent, d.pick((None, None, "int32", "uint8") if extent < 0 else (None, None, "int32"))))
            elif kind == "list":
                items.append(str([d.number(-extent, max(extent - 1, -extent)) for _ in range(d.number(1, 3))]))
            else:
                items.append(_slice(d, extent))
    return ", ".join(items) + ("," if len(items) == 1 and d.chance(0.3) else "") or "..."


def getting(d):
    shape = d.sizes(d.number(0, 4))
    return f"{d.x(shape)}[{_index(d, shape)}]"


def putting(d):
    shape = d.sizes(d.number(1, 4), 1, 4)
    value = d.pick(("2", "-1.5", d.x(()), d.x((1,)), d.x(shape[-1:]), d.x(shape)))
    return f"put({d.x(shape)}, at[{_index(d, shape)}], {value})"


def picking(d):
    shape = d.sizes(d.number(1, 4), 1, 5)
    dim = d.number(-len(shape), len(shape) - 1)
    extent, count, input = shape[dim], d.number(1, 5), d.x(shape)
    other = list(shape)
    other[dim] = count
    smaller = tuple(n if k == dim % len(shape) else d.number(1, max(n, 1)) for k, n in enumerate(other))
    places, indices, source = d.i((count,), 0, extent), d.i(smaller, 0, extent), d.x(smaller)
    return d.pick((
        lambda: d.call("torch.index_select", input, dim, places),
        lambda: d.call("torch.gather", input, dim, indices),
        lambda: d.call("torch.take_along_dim", input, d.i(other, 0, extent), dim),
        lambda: d.call("torch.take", input, d.i(d.sizes(2), 0, max(extent, 1))),
        lambda: d.call("torch.scatter", input, dim, indices, source),
        lambda: d.call("torch.scatter", input, dim, indices, d.pick((2, 1.5))),
        lambda: d.call("torch.scatter_add", input, dim, indices, source),
        lambda: d.call("torch.scatter_reduce", input, dim, indices, source, repr(d.pick(("sum", "prod", "mean", "amax", "amin"))),
                       include_self=d.chance(0.5)),
        lambda: d.call("torch.index_add", input, dim, places, d.x(other), alpha=d.pick((1, 2))),
        lambda: d.call("torch.index_copy", input, dim, f"torch.arange({min(count, extent)})",
                       d.x([min(count, extent) if k == dim % len(shape) else n for k, n in enumerate(shape)])),
        lambda: d.call("torch.index_fill", input, dim, places, d.pick((2, 0.5, d.x(())))),
        lambda: d.call("torch.index_reduce", input, dim, places, d.x(other), repr(d.pick(("prod", "mean", "amax", "amin"))),
                       include_self=d.chance(0.5)),
        lambda: d.call("torch.index_put", input, f"({d.i((count,), 0, shape[0])},)", d.x((count, *shape[1:])), accumulate="True"),
        lambda: d.call("torch.masked_select", input, d.b(shape)),
        lambda: d.call("torch.masked_fill", input, d.b(shape[1:]), d.pick((2, 0.5, d.x(())))),
        lambda: d.call("torch.masked_scatter", input, d.b(shape), d.x((max(1, 2 * len(shape) * 30),))),
        lambda: d.call("torch.where", d.b(shape), input, d.x(shape[-1:])),
        lambda: d.call("torch.narrow", input, dim, d.number(0, max(extent - 1, 0)), d.number(0, 1)),
        lambda: d.call("torch.select", input, dim, d.number(-extent, extent)),
        lambda: d.call("torch.roll", input, d.number(-3, 9), d.pick((None, dim))),
        lambda: d.call("torch.flip", input, (dim,)),
        lambda: d.call("torch.repeat_interleave", input, d.pick((2, d.i((extent,), 0, 3))), dim=dim),
        lambda: d.call("torch.select_scatter", input, d.x(shape[:dim % len(shape)] + shape[dim % len(shape) + 1:]), dim, d.number(0, max(extent - 1, 0))),
        lambda: d.call("torch.slice_scatter", input, input, dim),
        lambda: d.call("torch.diagonal", d.x(d.sizes(d.number(2, 4))), d.number(-3, 3), d.number(-2, 1), d.number(-2, 1)),
        lambda: d.call(f"{input}.unfold", dim, d.number(1, extent + 1), d.number(1, 3)),
    ))()


# ---------------------------------------------------------------- norms and losses
def norm(d):
    batch, groups, sizes = d.number(1, 4), d.number(1, 3), d.sizes(d.number(0, 3))
    channels = groups * d.number(1, 4)
    input, vectors = d.x((batch, channels, *sizes)), [d.pick((None, d.x((channels,)))) for _ in range(2)]
    train = d.chance(0.6)
    running = [d.x((channels,), 0.5, 2, grad=False) if not train or d.chance(0.5) else None] * 2
    shape = (channels, *sizes)[-d.number(1, 1 + len(sizes)):]
    return d.pick((
        lambda: d.call("F.batch_norm", input, *running, *vectors, train, 0.1, d.pick((1e-5, 0.1))),
        lambda: d.call("F.instance_norm", input, *running, *vectors, use_input_stats=train),
        lambda: d.call("F.group_norm", input, groups, *vectors),
        lambda: d.call("F.layer_norm", input, shape, *[d.pick((None, d.x(shape))) for _ in range(2)]),
        lambda: d.call("F.rms_norm", input, shape, d.pick((None, d.x(shape))), d.pick((None, 1e-3))),
        lambda: d.call("F.local_response_norm", input, d.number(1, 5), alpha=d.pick((1e-2, 0.5)), k=d.pick((1.0, 2.0))),
        lambda: d.call("F.normalize", input, p=d.pick((1, 2, 3, 0.5)), dim=d.number(-2, 1), eps=1e-3),
        lambda: d.call("F.softmax", input, d.number(-2, 1)),
        lambda: d.call("F.log_softmax", input, d.number(-2, 1)),
        lambda: d.call("F.glu", d.x((batch, 2 * channels)), d.pick((-1, 1, 1, 0))),
        lambda: d.call("F.prelu", input, d.x((d.pick((1, channels)),))),
        lambda: d.call("F.linear", d.x((*sizes, channels)), d.x((d.number(1, 9), channels))),
        lambda: d.call("F.bilinear", d.x((batch, channels)), d.x((batch, groups)), d.x((3, channels, groups))),
    ))()


def loss(d):
    reduction = repr(d.pick(("mean", "sum", "none")))
    shape = d.sizes(d.number(0, 3), 1, 5)
    input, target, other = d.x(shape), d.x(shape), d.x(shape if d.chance(0.9) else shape[-1:])
    batch, classes, more = d.number(1, 5), d.number(2, 6), d.sizes(d.number(0, 2), 1, 3)
    logits, labels = d.x((batch, classes, *more)), d.i((batch, *more), 0, classes)
    rows, size = [d.x((batch, classes)) for _ in range(3)], d.number(1, 3)
    sign = f"({d.i((batch,), 0, 2)} * 2 - 1)"
    likely = d.x(shape, 0.05, 0.95)
    length = d.number(3, 6)
    return d.pick((
        *[lambda name=name: d.call(f"F.{name}", input, other, reduction=reduction) for name in ("mse_loss", "l1_loss", "soft_margin_loss")],
        lambda: d.call("F.smooth_l1_loss", input, target, reduction=reduction, beta=d.pick((1.0, 0.3, 0.0))),
        lambda: d.call("F.huber_loss", input, target, reduction=reduction, delta=d.pick((1.0, 0.3))),
        lambda: d.call("F.kl_div", input, likely, reduction=d.pick((reduction, "'batchmean'")), log_target=d.chance(0.3)),
        lambda: d.call("F.binary_cross_entropy", likely, d.x(shape, 0, 1), d.pick((None, d.x(shape, 0, 2, grad=False))), reduction=reduction),
        lambda: d.call("F.binary_cross_entropy_with_logits", input, d.x(shape, 0, 1), d.pick((None, d.x(shape, 0, 2, grad=False))),
                       reduction=reduction, pos_weight=d.pick((None, d.x(shape[-1:], 0, 2, grad=False)))),
        lambda: d.call("F.cross_entropy", logits, labels, d.pick((None, d.x((classes,), 0.1, 2, grad=False))), reduction=reduction,
                       ignore_index=d.pick((-100, 0, 1)), label_smoothing=d.pick((0.0, 0.2))),
        lambda: d.call("F.cross_entropy", logits, d.x((batch, classes, *more), 0, 1), reduction=reduction, label_smoothing=d.pick((0.0, 0.2))),
        lambda: d.call("F.nll_loss", logits, labels, d.pick((None, d.x((classes,), 0.1, 2, grad=False))), ignore_index=d.pick((-100, 0)), reduction=reduction),
        lambda: d.call("F.poisson_nll_loss", input, d.x(shape, 0, 4, grad=False), log_input=d.chance(0.5), full=d.chance(0.5), reduction=reduction),
        lambda: d.call("F.gaussian_nll_loss", input, target, d.x(shape, 0.1, 2), full=d.chance(0.5), reduction=reduction),
        lambda: d.call("F.hinge_embedding_loss", d.x((batch,)), sign, margin=d.pick((1.0, 0.5)), reduction=reduction),
        lambda: d.call("F.margin_ranking_loss", d.x((batch,)), d.x((batch,)), sign, margin=d.pick((0.0, 0.5)), reduction=reduction),
        lambda: d.call("F.cosine_embedding_loss", rows[0], rows[1], sign, margin=d.pick((0.0, 0.3)), reduction=reduction),
        lambda: d.call("F.triplet_margin_loss", *rows, margin=1.0, p=d.pick((2, 1)), swap=d.chance(0.3), reduction=reduction),
        lambda: d.call("F.multi_margin_loss", rows[0], d.i((batch,), 0, classes), p=d.pick((1, 2)), margin=d.pick((1.0, 0.5)), reduction=reduction),
        lambda: d.call("F.multilabel_margin_loss", rows[0], d.i((batch, classes), -1, classes), reduction=reduction),
        lambda: d.call("F.multilabel_soft_margin_loss", rows[0], d.x((batch, classes), 0, 1), reduction=reduction),
        lambda: d.call("F.cosine_similarity", rows[0], rows[1], d.pick((0, 1, -1))),
        lambda: d.call("F.pairwise_distance", rows[0], rows[1], d.pick((1.0, 2.0)), keepdim=d.chance(0.5)),
        lambda: d.call("F.pdist", rows[0], d.pick((1.0, 2.0, 3.0))),
        lambda: d.call("torch.cdist", rows[0], d.x((d.number(1, 4), classes)), d.pick((1.0, 2.0, 3.0))),
        lambda: d.call("F.ctc_loss", f"{d.x((length, size, classes))}.log_softmax(-1)", d.i((size, 2), 1, classes),
                       f"torch.full(({size},), {length})", f"torch.tensor({[d.number(0, 2) for _ in range(size)]})",
                       blank=0, reduction=reduction, zero_infinity=d.chance(0.5)),
    ))()


FAMILIES = (convolution, convolution, convolution_layer, transposed_convolution, transposed_convolution, pooling, pooling, pooling,
            adaptive_pooling, fractional_pooling, unpooling, columns, padding, padding, resampling, resampling, grid, shuffling,
            recurrent, cell, attention, multihead, embedding, getting, getting, putting, putting, picking, picking, norm, norm, loss, loss)


def draw(seed, family=None, odd=ODD_SHARE) -> str:
    """The call of a seed, of any family or of the one that is named."""
    d = Draw(seed, odd)
    families = [f for f in FAMILIES if family in (None, f.__name__)]
    return d.pick(families)(d)
