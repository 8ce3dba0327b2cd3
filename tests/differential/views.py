"""Views of all kinds, writes through them, and what rearranges."""
from __future__ import annotations

from .grammar import kind


def index(g, t, steps=(1, 1, 1, 2, 3)):
    """A basic index into a tensor, as source."""
    parts = []
    for n in t.shape[:g.rng.randint(1, max(t.dim(), 1))]:
        form = g.rng.random()
        if form < 0.3:
            parts.append(":")
        elif form < 0.45 and n:
            parts.append(str(g.rng.randrange(-n, n)))
        elif form < 0.5:
            parts.append("None, :")
        else:
            step = g.rng.choice(steps)
            start, stop = g.rng.randint(0, n), g.rng.choice(["", str(g.rng.randint(0, n + 2)), f"-{g.rng.randint(1, 3)}"])
            start = g.rng.choice(["", str(start // 2), f"-{max(n - start // 2, 1)}"])
            parts.append(f"{start}:{stop}" + (f":{step}" if step > 1 else ""))
    if g.rng.random() < 0.15:
        parts = ["..."] + parts[-1:]
    return ", ".join(parts) or "..."


def factors(g, n):
    """Two sizes whose product is n, the first at times left to be found."""
    divisors = [d for d in range(1, min(n, 64) + 1) if n % d == 0] or [1]
    d = g.rng.choice(divisors)
    return g.rng.choice([(d, n // d), (-1, n // d), (d, -1)]) if n else (1, n)


def view(g):
    x = g.pick("fffibc", where=lambda t: t.dim() > 0)
    if x is None:
        return None
    t = g.value(x)
    d, e = g.dim(t), g.dim(t)
    n = t.shape[d]
    form = g.rng.choice("transpose permute slice slice slice slice select narrow unsqueeze squeeze expand unfold as_strided diagonal view flatten unflatten "
                        "movedim T reshape detach split chunk unbind tensor_split view_dtype expand_as broadcast_to swapaxes as_strided squeeze_dim ravel".split())
    order = list(range(t.dim()))
    g.rng.shuffle(order)
    text, count = None, 1
    if form == "transpose":
        text = f"{x}.transpose({d}, {e})"
    elif form == "permute":
        text = f"{x}.permute({', '.join(map(str, order))})"
    elif form == "slice":
        text = f"{x}[{index(g, t)}]"
    elif form == "select" and n:
        text = f"{x}.select({d}, {g.rng.randrange(-n, n)})"
    elif form == "narrow":
        start = g.rng.randint(0, n)
        text = f"{x}.narrow({d}, {start}, {g.rng.randint(0, n - start)})"
    elif form == "unsqueeze" and t.dim() < 4:
        text = f"{x}.unsqueeze({g.rng.randint(-t.dim() - 1, t.dim())})"
    elif form == "squeeze":
        text = f"{x}.squeeze()"
    elif form == "squeeze_dim":
        text = f"{x}.squeeze({d})"
    elif form in ("expand", "broadcast_to") and t.numel() < 2000:
        shape = [g.rng.choice(g.sizes) if m == 1 else g.rng.choice([m, -1]) if form == "expand" else m for m in t.shape]
        if t.dim() < 4 and g.rng.random() < 0.5:
            shape = [g.rng.choice([1, 2, 3])] + shape
        text = f"{x}.{form}({tuple(shape)})"
    elif form == "expand_as" and t.numel() < 2000:
        text = f"{x}.unsqueeze(0).expand_as(torch.ones((3,) + tuple({x}.shape)))"
    elif form == "unfold" and n and t.dim() < 4 and t.numel() < 5000:
        size = g.rng.randint(1, min(n, 5))
        text = f"{x}.unfold({d}, {size}, {g.rng.randint(1, 3)})"
    elif form == "as_strided" and t.numel() and not any("reversed" in s.source for s in g.statements):
        room = t.untyped_storage().nbytes() // t.element_size()
        shape = [g.rng.choice([1, 2, 3, 8, 9, 17]) for _ in range(g.rng.randint(1, 3))]
        strides = [g.rng.choice([0, 1, 1, 2, 3, 5, 8]) for _ in shape]
        offset = g.rng.randint(0, 3)
        if t.storage_offset() + offset + sum(s * (m - 1) for s, m in zip(strides, shape)) < room:
            text = f"{x}.as_strided({tuple(shape)}, {tuple(strides)}, {x}.storage_offset() + {offset})"
    elif form == "diagonal" and t.dim() >= 2 and d % t.dim() != e % t.dim():
        text = f"{x}.diagonal({g.rng.randint(-3, 3)}, {d}, {e})"
    elif form in ("view", "reshape"):
        if g.rng.random() < 0.4:
            text = f"{x}.{form}(-1)"
        else:
            text = f"{x}.{form}({', '.join(map(str, list(t.shape[:d % t.dim()]) + list(factors(g, n)) + list(t.shape[d % t.dim() + 1:])))})"
    elif form == "unflatten" and t.dim() < 4:
        text = f"{x}.unflatten({d}, {factors(g, n)})"
    elif form == "flatten":
        text = f"{x}.flatten({min(d % t.dim(), e % t.dim())}, {max(d % t.dim(), e % t.dim())})"
    elif form == "ravel":
        text = f"{x}.ravel()"
    elif form == "movedim":
        text = f"{x}.movedim({d}, {e})"
    elif form == "swapaxes":
        text = f"{x}.swapaxes({d}, {e})"
    elif form == "T" and t.dim() >= 2:
        text = f"{x}.mT"
    elif form == "detach":
        text = f"{x}.detach()"
    elif form == "split" and n and n < 40:
        size = g.rng.randint(1, n)
        text, count = f"{x}.split({size}, {d})", -(-n // size)
    elif form in ("chunk", "tensor_split") and n > 3:
        count = g.rng.randint(2, 4)
        count = -(-n // -(-n // count)) if form == "chunk" else count          # chunks are of one size, and so may be fewer
        text = f"{x}.{form}({count}, {d})"
    elif form == "unbind" and 0 < n < 10:
        text, count = f"{x}.unbind({d})", n
    elif form == "view_dtype" and not t.requires_grad and kind(t) == "f":
        text = f"{x}.view(torch.{ {2: 'int16', 4: 'int32', 8: 'int64'}[t.element_size()] }) & 255"
    if text is None:
        return None
    if count == 1 and form in ("split", "chunk", "tensor_split", "unbind"):
        text += "[0]"
    return g.assign(text, "view", count)


def write_through(g):
    """An assignment to a part of a tensor, or an in-place op on a view of it."""
    x = g.pick("fffibc", low=1, where=lambda t: not (t.is_leaf and t.requires_grad))
    if x is None:
        return None
    t = g.value(x)
    where = index(g, t)
    try:
        part = eval(f"x[{where}]", {"x": t.detach()})
    except Exception:
        return None
    g.namespace["_part"] = part
    y = g.partner("_part", "fib" if kind(t) != "c" else "fibc", writing=True)
    del g.namespace["_part"]
    if y is None:
        return None
    safe = kind(t) in "fc" or y not in g.namespace or kind(g.value(y)) in "ib"
    y = y if safe else f"{y}.detach().clamp(0, 99)"
    text = g.rng.choice([f"{x}[{where}] = {y}"] * 4 + [f"{x}[{where}].add_({y if safe and kind(t) != 'b' else '1'})", f"{x}[{where}] *= {g.literal(t)}",
                        f"{x}[{where}].copy_({y})", f"{x}[{where}].zero_()", f"{x}[{where}].fill_({1})"]
                        + ([f"{x}.transpose(0, -1).add_(1)", f"{x}.T.mul_(2)" if t.dim() == 2 else f"{x}.view(-1).mul_(2)",
                            f"{x}.diagonal(0, 0, -1).mul_(2)" if t.dim() >= 2 else f"{x}[::2].mul_(2)"] if kind(t) != "b" else []))
    return g.write(text, x, "point")


def apart_in_memory(t):
    """Whether every element has a place of its own."""
    reach = 0
    for stride, extent in sorted((abs(s), n) for s, n in zip(t.stride(), t.shape) if n > 1):
        if stride <= reach:
            return False
        reach += stride * (extent - 1)
    return True


def rearrange(g):
    """Copies in another order, joins and parts."""
    x = g.pick("fffibc", low=1)
    if x is None:
        return None
    t = g.value(x)
    d, e = g.dim(t), g.dim(t)
    small = t.numel() < 4000
    forms = ["flip", "roll", "roll", "contiguous_t", "cat", "cat", "stack"]
    forms += ["rot90", "tril", "triu", "kron"] if t.dim() >= 2 and small else []
    forms += ["repeat", "tile", "repeat_interleave", "diag_embed", "meshgrid", "block"] if small and t.dim() <= 3 else []
    forms += ["diff", "index_pad", "hstack"]
    forms += ["select_scatter", "slice_scatter", "diagonal_scatter"] if apart_in_memory(t) else []      # PyTorch's copies overlap like their input
    form = g.rng.choice(forms)
    n = t.shape[d]
    text, how = None, "exact"
    if form == "flip":
        text = f"{x}.flip({d})" if g.rng.random() < 0.6 or d % t.dim() == e % t.dim() else f"{x}.flip(({d}, {e}))"
    elif form == "roll":
        text = f"{x}.roll({g.rng.randint(-9, 9)}, {d})"
    elif form == "contiguous_t":
        text = f"{x}.transpose({d}, {e}).contiguous()"
    elif form in ("cat", "stack", "hstack"):
        others = [n for n in g.names if g.value(n).dim() == t.dim() and all(a == b or (i == d % t.dim() and form == "cat") for i, (a, b)
                  in enumerate(zip(g.value(n).shape, t.shape)))]
        others = [n for n in others if kind(g.value(n)) != "c" or kind(t) == "c"]
        chosen = [x] + g.rng.choices(others or [x], k=g.rng.randint(1, 3))
        g.rng.shuffle(chosen)
        text = f"torch.{form}([{', '.join(chosen)}]" + (f", {d})" if form != "hstack" else ")")
    elif form == "rot90":
        text = f"{x}.rot90({g.rng.randint(-2, 3)}, (0, 1))"
    elif form in ("tril", "triu"):
        text = f"{x}.{form}({g.rng.randint(-2, 2)})"
    elif form == "kron":
        text, how = (f"torch.kron({x}, {x}.detach())" if t.numel() < 100 and kind(t) == "f" else None), "sum"
    elif form in ("repeat", "tile"):
        text = f"{x}.{form}(({', '.join(str(g.rng.choice([1, 2, 3])) for _ in range(t.dim() + (form == 'repeat' and t.dim() < 3)))},))"
    elif form == "repeat_interleave":
        text = f"{x}.repeat_interleave({g.rng.randint(1, 3)}, {d})"
    elif form == "diag_embed":
        text = f"torch.diag_embed({x}, {g.rng.randint(-1, 1)})" if t.shape[-1] < 40 else None
    elif form == "meshgrid":
        return g.assign(f'torch.meshgrid({x}.flatten()[:9], {x}.flatten()[-8:], indexing="{g.rng.choice(["ij", "xy"])}")', "exact", 2)
    elif form == "block":
        text = f"torch.block_diag({x}, {x}[:1])" if t.dim() <= 2 else None
    elif form == "diff":
        text, how = (f"torch.diff({x}, dim={d})" if kind(t) != "b" else None), "point"
    elif form == "select_scatter" and n:
        text = f"{x}.select_scatter({x}.select({d}, 0) * 2, {d}, {g.rng.randrange(n)})" if kind(t) != "b" else None
    elif form == "slice_scatter" and n > 2:
        text = f"{x}.slice_scatter({x}.narrow({d}, 0, {(n - 1) // 2 + (n - 1) % 2}), {d}, 1, None, 2)"
    elif form == "diagonal_scatter" and t.dim() == 2:
        text = f"{x}.diagonal_scatter({x}.diagonal().flip(0))"
    elif form == "index_pad" and t.dim() >= 1:
        text = f"F.pad({x}, ({g.rng.randint(0, 3)}, {g.rng.randint(-1, 3)}), value=1)"
    return None if text is None else g.assign(text, how)




RULES = [(view, 14, 1.0), (write_through, 8, 1.0), (rearrange, 7, 1.0)]
