"""Reductions, scans, products, indexing and order."""
from __future__ import annotations

import torch

from .grammar import kind


def reduction(g):
    x = g.pick("fffibc")
    if x is None:
        return None
    t = g.value(x)
    letter = kind(t)
    names = {"f": "sum sum mean mean prod amax amin var std logsumexp norm any all count_nonzero nansum argmax argmin max_dim min_dim max min aminmax var_mean "
                  "logsumexp softmax log_softmax nanmean",
             "i": "sum prod amax amin any all count_nonzero argmax max_dim min_dim max", "b": "sum any all count_nonzero", "c": "sum mean prod var norm"}[letter].split()
    name = g.rng.choice(g.dialect.some(names, 0.25))
    if t.numel() == 0 and g.rng.random() < 0.8:
        return None
    d, e = g.dim(t), g.dim(t)
    keep = g.rng.choice(["", ", keepdim=True"])
    every = g.rng.random() < 0.2
    dims = f"({d}, {e})" if t.dim() and d % t.dim() != e % t.dim() and g.rng.random() < 0.4 else str(d)
    how = "exact" if name in ("amax", "amin", "any", "all", "count_nonzero", "argmax", "argmin", "max", "min", "max_dim", "min_dim", "aminmax") else "sum"
    if name == "prod":
        short = t.shape[d] if t.dim() else 1
        return g.assign(f"{x}.prod({d}{keep})", how) if letter != "i" and short < 40 else None
    if name in ("max_dim", "min_dim"):
        return g.assign(f"{x}.{name[:3]}({d}{keep})", how, 2)
    if name == "aminmax":
        return g.assign(f"torch.aminmax({x}, dim={d}{keep})", how, 2)
    if name == "var_mean":
        return g.assign(f"torch.var_mean({x}, {dims}{keep})", how, 2)
    if name in ("softmax", "log_softmax"):
        return g.assign(f"{x}.{name}({d})", how)
    if name == "norm":
        order = g.rng.choice(['"fro"', "2", "1", "3", "float('inf')", "0"])
        return g.assign(f"torch.norm({x}, {order}, {d}{keep})" if letter == "f" else f"{x}.norm()", how)
    if name in ("max", "min") or (every and name not in ("logsumexp",)):
        return g.assign(f"{x}.{name}()", how)
    if name in ("argmax", "argmin", "all", "any"):
        dims = str(d)
    extra = f", correction={g.rng.choice([0, 1, 2])}" if name in ("var", "std") else ""
    dtype = f", dtype=torch.{g.rng.choice(g.dialect.floating)}" if name in ("sum", "mean", "nansum") and letter != "c" and g.rng.random() < 0.15 else ""
    return g.assign(f"{x}.{name}({'dim=' if name in ('count_nonzero', 'nansum') else ''}{dims}{extra}{keep if name != 'count_nonzero' else ''}{dtype})", how)


def scan(g):
    x = g.pick("ffi", low=1, where=lambda t: t.numel() > 0)
    if x is None:
        return None
    d = g.dim(g.value(x))
    name = g.rng.choice(g.dialect.some("cumsum cumprod cummax cummin logcumsumexp".split(), 0.5))
    if (name == "cumprod" and (g.value(x).shape[d] > 40 or kind(g.value(x)) == "i")) or (name == "logcumsumexp" and kind(g.value(x)) != "f"):
        return None
    return g.assign(f"torch.{name}({x}, {d})", "sum" if name[:4] != "cumm" else "exact", 2 if name in ("cummax", "cummin") else 1)


def other(g, x, shape):
    """The name of a tensor of a shape and x's dtype: one there is, or a new one."""
    t = g.value(x)
    found = [n for n in g.names if g.value(n).dtype == t.dtype and tuple(g.value(n).shape) == tuple(shape)]
    return g.rng.choice(found) if found and g.rng.random() < 0.5 else g.source(tuple(shape), str(t.dtype)[6:])


def apart(g, x, shape):
    """As `other`, but of memory that a write to x does not change."""
    y = other(g, x, shape)
    shared = y is not None and g.value(y).untyped_storage().data_ptr() == g.value(x).untyped_storage().data_ptr()
    return f"{y}.clone()" if shared else y


def product(g):
    form = g.rng.choice(g.dialect.some("mm mm matmul matmul bmm mv dot outer addmm baddbmm addmv linear einsum tensordot inner addr matmul_t vecmat cdist".split(), 0.3))
    rank = {"mm": 2, "bmm": 3, "mv": 2, "dot": 1, "outer": 1, "addmm": 2, "baddbmm": 3, "addmv": 2, "addr": 1, "matmul_t": 2, "vecmat": 1, "cdist": 2}.get(form)
    x = g.pick("ffffic" if form not in ("cdist", "linear") else "f", low=rank or 1, high=rank or 4, most=40_000)
    if x is None:
        return None
    t = g.value(x)
    k, m = t.shape[-1], g.rng.choice(g.sizes[:3])
    if t.numel() * m > 3_000_000:
        return None
    if form in ("mm", "vecmat"):
        y = other(g, x, (k, m))
        text = y and f"torch.{'mm' if form == 'mm' else 'matmul'}({x}, {y})"
    elif form == "matmul":
        y = other(g, x, g.rng.choice([(k, m), (k,), (1, k, m), tuple(t.shape[:-2]) + (k, m)]))
        text = y and f"{x} @ {y}"
    elif form == "matmul_t":
        text = f"{x} @ {x}.t()" if t.shape[0] < 300 else None
    elif form == "bmm":
        y = other(g, x, (t.shape[0], k, m))
        text = y and f"torch.bmm({x}, {y})"
    elif form == "mv":
        y = other(g, x, (k,))
        text = y and f"torch.mv({x}, {y})"
    elif form in ("dot", "inner"):
        y = other(g, x, (k,))
        text = y and f"torch.{form}({x}, {y})"
    elif form in ("outer", "addr"):
        if k > 300:
            return None
        y = other(g, x, (m,))
        text = y and (f"torch.outer({x}, {y})" if form == "outer" else f"torch.addr({other(g, x, (k, m))}, {x}, {y}, beta=2)")
    elif form in ("addmm", "baddbmm", "addmv"):
        shape = (k,) if form == "addmv" else (k, m) if form == "addmm" else (t.shape[0], k, m)
        y = other(g, x, shape)
        bias = other(g, x, g.rng.choice([(m,), (1,), (t.shape[-2], m)]) if form != "addmv" else (t.shape[0],))
        text = y and bias and f"torch.{form}({bias}, {x}, {y}, beta={g.rng.choice([1, 0, 2])}, alpha={g.rng.choice([1, 1, 3])})"
    elif form == "linear":
        y, bias = other(g, x, (m, k)), other(g, x, (m,))
        text = y and bias and f"F.linear({x}, {y}, {bias})"
    elif form == "einsum":
        letters = "abcd"[:t.dim()]
        y = other(g, x, (k, m))
        last = letters[-1]
        result = g.rng.choice([f"{letters[:-1]}z", f"z{letters[:-1]}", "z", letters[:-1], f"{letters}z" if t.numel() * m < 40_000 else "z"])
        text = y and f'torch.einsum("{letters},{last}z->{result}", {x}, {y})'
    elif form == "tensordot":
        y = other(g, x, (m, k))
        text = y and f"torch.tensordot({x}, {y}, dims=([-1], [1]))"
    else:
        y = other(g, x, (m, k))
        text = y and f'torch.cdist({x}, {y}, compute_mode="donot_use_mm_for_euclid_dist")'
    return g.assign(text, "sum") if text else None


def get(g):
    """Reading by index."""
    x = g.pick("fffib", low=1, where=lambda t: t.numel() > 0)
    if x is None:
        return None
    t = g.value(x)
    d = g.dim(t)
    n, first = t.shape[d], t.shape[0]
    m = g.rng.choice([1, 2, 3, 8, 9, 17])
    if t.numel() // n * m > 40_000:
        return None
    place = f"from_numpy(indices({g.number()}, ({m},), {n}))"
    whole = list(t.shape)
    whole[d] = m
    form = g.rng.choice("index_select index_select gather gather take take_along mask mask advanced advanced advanced two masked_select embedding nonzero where".split())
    if form == "index_select":
        text = f"{x}.index_select({d}, {place})"
    elif form == "gather":
        text = f"{x}.gather({d}, from_numpy(indices({g.number()}, {tuple(whole)}, {n})))"
    elif form == "take":
        text = f"{x}.take(from_numpy(indices({g.number()}, ({m}, 2), {t.numel()})))"
    elif form == "take_along":
        text = f"torch.take_along_dim({x}, from_numpy(indices({g.number()}, {tuple(whole)}, {n})), {d})"
    elif form == "mask":
        text = f"{x}[from_numpy(array({g.number()}, ({first},), 'bool'))]"
    elif form == "advanced":
        inner = g.rng.choice([f"({m},)", f"({m}, 2)", "()"])
        text = f"{x}[" + g.rng.choice(["", "..., " if t.dim() == 1 else "", ]) + f"from_numpy(indices({g.number()}, {inner}, {first}, -{first}))]"
        if t.dim() > 1 and g.rng.random() < 0.5:
            text = f"{x}[{g.rng.choice([':', '::2', '1:'])}, from_numpy(indices({g.number()}, {inner}, {t.shape[1]}, -{t.shape[1]}))]"
    elif form == "two" and t.dim() >= 2:
        last = t.shape[-1]
        text = f"{x}[from_numpy(indices({g.number()}, ({m},), {first})), {'..., ' if g.rng.random() < 0.5 else ', '.join([':'] * (t.dim() - 2) + [''])}from_numpy(indices({g.number()}, ({m},), {last}))]"
    elif form == "masked_select":
        text = f"{x}.masked_select({x} > 0)"
    elif form == "embedding" and t.dim() == 2 and kind(t) == "f":
        text = f"F.embedding(from_numpy(indices({g.number()}, ({m}, 2), {first})), {x})"
    elif form == "nonzero":
        text = f"torch.nonzero({x} > 0)"
    elif form == "where":
        return g.assign(f"torch.where({x} > 0)", "exact", t.dim()) if t.dim() > 1 else None
    else:
        return None
    return g.assign(text)


def put(g):
    """Writing by index. Places are distinct where the order of writes would show."""
    x = g.pick("fffi", low=1, where=lambda t: t.numel() > 0 and not (t.is_leaf and t.requires_grad))
    if x is None:
        return None
    t = g.value(x)
    d = g.dim(t)
    n = t.shape[d]
    m = min(g.rng.choice([1, 2, 3, 8, 9, 17]), n)
    whole = list(t.shape)
    whole[d] = m
    repeated, once = f"from_numpy(indices({g.number()}, ({m},), {n}))", f"from_numpy(distinct({g.number()}, {m}, {n}))"
    many = f"from_numpy(indices({g.number()}, {tuple(whole)}, {n}))"
    y = apart(g, x, whole)
    if y is None:
        return None
    under = g.rng.choice(["_", ""])
    form = g.rng.choice("index_add index_copy index_fill scatter scatter_number scatter_add scatter_reduce index_put index_put_add assign_mask assign masked_scatter put index_reduce".split())
    kinds = "sum" if "add" in form or "reduce" in form else "exact"
    # without the elements themselves, PyTorch still counts them among equals that share a gradient
    reduced = g.rng.choice([f"{y}, 'sum', include_self=False", f"{y}.detach(), 'amax', include_self=False", f"{y}.detach(), 'amin', include_self=False", f"{y}, 'mean'"]
                           + [f"{y}, '{name}'" for name in ("sum", "amax", "amin", "prod")] + [f"{y}, '{name}', include_self=False" for name in ("mean", "prod")])
    first = t.shape[0]
    if form == "scatter":
        column = f"from_numpy(distinct({g.number()}, {m}, {n}).reshape({tuple(m if i == d % t.dim() else 1 for i in range(t.dim()))})).expand({tuple(whole)})"
        text = f"{x}.scatter{under}({d}, {column}, {y})"
    elif form in ("assign_mask", "assign"):
        place = f"from_numpy(array({g.number()}, ({first},), 'bool'))" if form == "assign_mask" else f"from_numpy(distinct({g.number()}, {min(m, first)}, {first}))"
        return g.write(f"{x}[{place}] = {g.literal(t)}", x)
    elif form in ("index_put", "index_put_add"):
        rows = apart(g, x, [min(m, first)] + list(t.shape[1:]))
        if rows is None:
            return None
        place = f"from_numpy(distinct({g.number()}, {min(m, first)}, {first}))" if form == "index_put" else f"from_numpy(indices({g.number()}, ({min(m, first)},), {first}))"
        text = f"{x}.index_put{under}(({place},), {rows}, accumulate={form != 'index_put'})"
    else:
        text = {
            "index_add": f"{x}.index_add{under}({d}, {repeated}, {y}" + g.rng.choice([")", ", alpha=2)"]), "index_copy": f"{x}.index_copy{under}({d}, {once}, {y})",
            "index_fill": f"{x}.index_fill{under}({d}, {repeated}, {g.literal(t)})", "scatter_number": f"{x}.scatter{under}({d}, {many}, 2)",
            "scatter_add": f"{x}.scatter_add{under}({d}, {many}, {y})",
            "scatter_reduce": f"{x}.scatter_reduce{under}({d}, {many}, {reduced})",
            "masked_scatter": f"{x}.masked_scatter{under}({x} > 0, {x}.detach().flip(0))", "put": f"{x}.put{under}(from_numpy(distinct({g.number()}, {min(m, t.numel())}, {t.numel()})), {x}.detach().flatten()[:{min(m, t.numel())}].clone())",
            "index_reduce": f"{x}.index_reduce{under}({d}, {repeated}, {y}, '{g.rng.choice(['prod', 'mean', 'amax', 'amin'])}')",
        }[form]
    return g.write(text, x, kinds) if under else g.assign(text, kinds)


def order(g):
    x = g.pick("ffi", low=1, where=lambda t: t.numel() > 0)
    if x is None:
        return None
    t = g.value(x)
    d = g.dim(t)
    n = t.shape[d]
    down = g.rng.choice(["False", "True"])
    form = g.rng.choice(g.dialect.some("sort argsort topk kthvalue median msort unique searchsorted bucketize quantile nanmedian unique_consecutive isin bincount".split(), 0.35))
    if form == "sort":
        return g.assign(f"torch.sort({x}, dim={d}, descending={down}, stable=True)", "exact", 2)
    if form == "argsort":
        return g.assign(f"torch.argsort({x}, dim={d}, descending={down}, stable=True)")
    ties = t.requires_grad and torch.unique(t.detach()).numel() < t.numel()       # which of equals is taken shows in gradients
    if form == "topk" and not ties:
        return g.assign(f"torch.topk({x}, {g.rng.randint(1, min(n, 20))}, {d}, largest={down})[0]")
    if form == "kthvalue" and not ties:
        return g.assign(f"torch.kthvalue({x}, {g.rng.randint(1, n)}, {d})[0]")
    if form in ("median", "nanmedian") and not ties:
        return g.assign(g.rng.choice([f"{x}.{form}({d})[0]", f"{x}.{form}()"]))
    if form == "msort" and not ties:
        return g.assign(f"torch.msort({x})")
    if form == "unique":
        return g.assign(f"torch.unique({x}.detach(), return_inverse=True, return_counts=True)", "exact", 3)
    if form == "unique_consecutive":
        return g.assign(f"torch.unique_consecutive({x}.detach(), return_counts=True)", "exact", 2)
    if form == "searchsorted":
        return g.assign(f"torch.searchsorted({x}.detach().sort(-1)[0].contiguous(), {x}.detach().contiguous(), right={down})")
    if form == "bucketize":
        return g.assign(f"torch.bucketize({x}, torch.arange(-2, 3).to({x}.dtype), right={down})")
    if form == "isin":
        return g.assign(f"torch.isin({x}, {x}.flatten()[:3])")
    if form == "quantile" and not ties and kind(t) == "f" and t.element_size() > 2 and n < 500:
        return g.assign(f"torch.quantile({x}, {g.rng.choice([0.5, 0.3, 0.0, 1.0])}, {d})", "point")
    if form == "bincount" and kind(t) == "i":
        return g.assign(f"torch.bincount({x}.flatten().abs() % 50)")
    return None


RULES = [(reduction, 9, 0.9), (scan, 2, 0.3), (product, 7, 0.5), (get, 5, 0.6), (put, 5, 0.6), (order, 3, 0.4)]
