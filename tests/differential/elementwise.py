"""Elementwise statements: functions of one, two and three tensors, in place and not, conversions, and gradients."""
from __future__ import annotations

import re

from .grammar import COMPLEX, HALF, REAL, kind

# where a function is tried: as it is; of moderate numbers; of positive ones; within the unit interval; above one
UNARY = {
    "any": "abs neg sign sgn square positive relu F.relu6 F.silu F.gelu F.mish F.softplus F.softsign F.tanhshrink F.logsigmoid F.elu F.celu F.selu "
           "F.leaky_relu F.hardtanh F.hardswish F.hardsigmoid F.hardshrink F.softshrink sigmoid tanh sin cos atan asinh erf erfc floor ceil trunc "
           "round frac isnan isinf isfinite sinc logical_not rad2deg deg2rad signbit nan_to_num angle",
    "small": "exp exp2 expm1 sinh cosh tan i0 special.i0e special.i1 special.ndtr special.log_ndtr lgamma",
    "positive": "log log2 log10 log1p sqrt rsqrt reciprocal digamma",
    "unit": "asin acos atanh erfinv logit special.entr",
    "above": "acosh",
}
WRAP = {"any": "{}", "small": "({}).clamp(-4, 4)", "positive": "(({}).abs() + 0.5)", "unit": "(({}) * 0.1).clamp(-0.9, 0.9)", "above": "(({}).abs() + 1.5)"}
COMPLEX_WRAP = {"any": "{}", "small": "(({}) * 0.5)", "positive": "({})", "unit": "(({}) * 0.1)", "above": "({})"}
DOMAIN = {name: domain for domain, names in UNARY.items() for name in names.split()}
COMPLEX_ONLY = "abs neg sgn square positive sigmoid tanh sin cos atan asinh exp expm1 sinh cosh tan log log2 log10 sqrt rsqrt reciprocal asin acos acosh angle".split()
ROUGH = {"round", "floor", "ceil", "trunc", "frac"}
INPLACE = "abs neg sign square relu sigmoid tanh sin cos atan floor ceil trunc round erf".split()

BINARY = "add sub mul maximum minimum fmax fmin eq ne lt le gt ge atan2 copysign hypot logaddexp logaddexp2 logical_and logical_or logical_xor nextafter heaviside".split()
DIVISIONS = "div remainder fmod floor_divide true_divide".split()
BITWISE = "bitwise_and bitwise_or bitwise_xor gcd lcm".split()
INPLACE_BINARY = "add_ sub_ mul_ copysign_ div_ copy_ eq_ lt_ atan2_ fmod_ remainder_ pow_ bitwise_and_ bitwise_or_".split()


def apply(name, *arguments):
    return f"{name if name.startswith('F.') else 'torch.' + name}({', '.join(arguments)})"


def unary(g):
    name = g.rng.choice(g.dialect.some(DOMAIN))
    x = g.pick("fffibc")
    if x is None:
        return None
    letter = kind(g.value(x))
    if letter == "c" and name not in COMPLEX_ONLY:
        name = g.rng.choice(g.dialect.some(COMPLEX_ONLY))
    wrap = (COMPLEX_WRAP if letter == "c" else WRAP)[DOMAIN[name]] if letter in "fc" or g.rng.random() < 0.5 else "{}"
    if letter == "b" or (letter == "i" and DOMAIN[name] == "unit"):
        wrap = "{}"
    return g.assign(apply(name, wrap.format(x)), "point" if name != "F.logsigmoid" else "sum")       # whose order in memory is its own


def binary(g):
    x = g.pick("fffibc")
    if x is None:
        return None
    letter = kind(g.value(x))
    y = g.partner(x)
    if y is None:
        return None
    table = g.rng.choice([BINARY, BINARY, DIVISIONS] + ([BITWISE] if letter in "ib" else []))
    name = g.rng.choice(g.dialect.some(table, 0.3))
    if letter == "c":
        name = g.rng.choice(["add", "sub", "mul", "eq"] if table is not DIVISIONS else ["div"])
    if table is DIVISIONS:
        y = away(g, y)
        mode = g.rng.choice(["", "", ', rounding_mode="floor"', ', rounding_mode="trunc"']) if name == "div" and letter != "c" else ""
        return g.assign(f"torch.{name}({x}, {y}{mode})", "point")
    if g.rng.random() < 0.15 and y in g.names:
        x, y = y, x
    if name == "hypot":                                  # at 0 and 0 PyTorch's gradient is NaN
        y = away(g, y)
    if name in ("add", "sub") and g.rng.random() < 0.2:
        return g.assign(f"torch.{name}({x}, {y}, alpha={g.rng.choice([2, 3])})", "point")
    return g.assign(apply(name, x, y), "point")


def away(g, y):
    """A divisor away from zero."""
    if y not in g.namespace:
        return y
    return {"f": f"({y}.abs() + 0.5)", "i": f"({y}.abs() % 7 + 1)", "b": f"({y} | True)", "c": f"({y} + 6)"}[kind(g.value(y))]


def power(g):
    x = g.pick("ffi")
    if x is None:
        return None
    y = g.rng.choice(["2", "3", "0.5", "1.5", "-1", "0", "4", g.partner(x, "f")])
    if y is None:
        return None
    base = f"({x}.abs() + 0.5)" if kind(g.value(x)) == "f" else f"({x} % 5)"
    return g.assign(f"torch.pow({base}, {y if y not in g.namespace else f'({y}).clamp(-2, 2)'})", "point")


def ternary(g):
    form = g.rng.choice(["where", "where", "lerp", "lerp_number", "addcmul", "addcdiv", "clamp", "clamp_tensors", "masked_fill", "threshold", "isclose"])
    x = g.pick("ff" if form in ("lerp", "lerp_number", "addcdiv", "addcmul", "threshold") else "ffi")
    if x is None:
        return None
    y, z = g.partner(x, "f" if form != "where" else None), g.partner(x, "f")
    if y is None or z is None:
        return None
    if form in ("lerp", "addcmul", "addcdiv", "clamp_tensors", "lerp_number") and (y not in g.namespace or z not in g.namespace):
        return None
    condition = f"({x} > {0 if kind(g.value(x)) == 'i' else 0.25})"
    text = {
        "where": f"torch.where({condition}, {y}, {z})" if g.rng.random() < 0.7 else f"torch.where({condition}, {x}, {z})",
        "lerp": f"torch.lerp({x}, {y}, {z})", "lerp_number": f"torch.lerp({x}, {y}, 0.3)",
        "addcmul": f"torch.addcmul({x}, {y}, {z}, value=0.5)", "addcdiv": f"torch.addcdiv({x}, {y}, {away(g, z)}, value=0.5)",
        "clamp": f"torch.clamp({x}, {g.rng.choice([-1, 0, 'None'])}, {g.rng.choice([1, 2])})",
        "clamp_tensors": f"torch.clamp({x}, {y}, {z})", "masked_fill": f"{x}.masked_fill({condition}, 1)",
        "threshold": f"F.threshold({x}, 0.1, 2.0)", "isclose": f"torch.isclose({x}, {z if z in g.namespace else x}, rtol=0.1)",
    }[form]
    return g.assign(text, "exact" if form == "masked_fill" else "point")


def inplace(g):
    x = g.pick("fffib", where=lambda t: not (t.is_leaf and t.requires_grad))
    if x is None:
        return None
    t = g.value(x)
    choice = g.rng.random()
    if choice < 0.3:
        name = g.rng.choice(g.dialect.some(INPLACE, 0.25))
        return g.write(f"{x}.{name}_()", x, "point")
    if choice < 0.75:
        name = g.rng.choice(g.dialect.some(INPLACE_BINARY, 0.35))
        y = g.partner(x, "ib" if name == "copy_" and kind(t) in "ib" else None, writing=True)
        if y is None:
            return None
        if name in ("div_", "fmod_", "remainder_"):
            y = away(g, y)
        if name == "pow_":
            y = g.rng.choice(["2", "3"])
        if name == "copy_" and y not in g.namespace:
            name = "fill_"
        return g.write(f"{x}.{name}({y})", x, "point")
    y = g.partner(x, "f", writing=True)
    if y is None:
        return None
    tensors = [f"{x}.addcmul_({y}, {y})", f"{x}.lerp_({y}, 0.25)"] if y in g.namespace else []
    text = g.rng.choice([f"{x}.clamp_(-1, 1)", f"{x}.zero_()", f"{x}.fill_(2)", f"{x}.masked_fill_({x} > 1, 1)", *tensors,
                         f"{x}[...] = {y}", f"{x}.add_({y}, alpha=2)", f"F.relu({x}, inplace=True)",
                         f"torch.add({x}.detach(), 1, out={x})" if not t.requires_grad else f"{x}.mul_(2)"])
    return g.write(text, x, "point")


def inplace_without_grad(g):
    """Leaves are written as optimisers write them."""
    x = g.pick("f", where=lambda t: t.is_leaf and t.requires_grad)
    if x is None:
        return None
    return g.write(f"with torch.no_grad(): {x}.{g.rng.choice(['mul_(0.5)', 'add_(1)', 'neg_()', f'sub_({x}.sin(), alpha=0.1)'])}", x, "point")


def convert(g):
    x = g.pick("fib")
    if x is None:
        return None
    t = g.value(x)
    dtype = g.rng.choice(g.dialect.dtypes)
    form = g.rng.random()
    if form < 0.5:
        # what does not fit an integer is undefined in PyTorch too
        text = x if dtype in REAL + HALF + COMPLEX + ("bool",) or kind(t) in "ib" else f"{x}.clamp(-100, 100)" if dtype not in ("uint8",) else f"{x}.clamp(0, 100)"
        return g.assign(f"{text}.to(torch.{dtype})")
    text = g.rng.choice([f"{x}.clone()", f"{x}.contiguous()", f"{x}.detach()", f"{x}.clone(memory_format=torch.contiguous_format)", f"torch.zeros_like({x})",
                         f"torch.ones_like({x}, dtype=torch.{dtype})", f"torch.full_like({x}, 2)", f"{x}.new_ones({tuple(t.shape)})", f"{x}.data.clone()"]
                        + ([f"{x}.to(memory_format=torch.channels_last)", f"{x}.contiguous(memory_format=torch.channels_last)"] if t.dim() == 4 else []))
    return g.assign(text, "view" if re.search(r"contiguous\(\)|detach|data", text) else "exact")


def complex_parts(g):
    form = g.rng.choice(["real", "imag", "view_as_real", "abs", "angle", "complex", "polar", "view_as_complex", "conj_physical", "resolve"])
    if form in ("complex", "polar"):
        x = g.pick("f", where=lambda t: t.element_size() > 2)
        return None if x is None else g.assign(f"torch.{form}({x + '.abs() + 0.5' if form == 'polar' else x}, {x}.detach().{'flip(0)' if g.value(x).dim() else 'neg()'})", "sum")
    if form == "view_as_complex":
        x = g.pick("f", low=1, where=lambda t: t.shape[-1] == 2 and t.stride(-1) == 1 and t.element_size() > 2)
        return None if x is None else g.assign(f"torch.view_as_complex({x})", "view")
    x = g.pick("c")
    if x is None:
        return None
    return g.assign({"real": f"{x}.real", "imag": f"{x}.imag", "resolve": f"{x}.conj().resolve_conj()", "conj_physical": f"{x}.conj_physical()",
                     "view_as_real": f"torch.view_as_real({x}.resolve_conj())", "abs": f"{x}.abs()", "angle": f"{x}.angle()"}[form], "sum" if form == "angle" else "point")


def gradient(g):
    """A gradient of a recent result, by some of what it was made from."""
    y = g.wanted()
    if y is None:
        return None
    t = g.value(y)
    # PyTorch says of integers that were assigned numbers with a gradient that they require one
    sources = [n for n in g.names if g.value(n).requires_grad and kind(g.value(n)) in "fc" and (n in g.leaves or not g.value(n).is_leaf)]
    xs = list(dict.fromkeys(g.rng.choices(sources, k=g.rng.randint(1, 3)))) if sources else []
    if not xs:
        return None
    w = g.source(tuple(t.shape), str(t.dtype)[6:], leaf=False) if g.rng.random() < 0.7 else f"torch.ones_like({y})"
    if w is None:
        return None
    if g.rng.random() < 0.25 and g.value(y).requires_grad:
        retain = g.rng.choice(["", ", retain_graph=True", ", retain_graph=True"])
        return g.write(f"{y}.backward({w}{retain})", how="grad")
    options = g.rng.choice([", create_graph=True", ", retain_graph=True", ", retain_graph=True", ""])
    return g.assign(f"torch.autograd.grad({y}, [{', '.join(xs)}], {w}, allow_unused=True{options})", "grad", len(xs))


RULES = [(unary, 10, 1.0), (binary, 12, 1.0), (power, 2, 0.25), (ternary, 5, 0.4), (inplace, 8, 1.0), (inplace_without_grad, 0.7, 0.5), (convert, 4, 1.0),
         (complex_parts, 2, 0.3), (gradient, 5, 1.0)]
