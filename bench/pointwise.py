"""Elementwise operations: contiguous, broadcast, strided, of mixed dtypes, in 16 bits, and their gradients."""
from __future__ import annotations

from .runner.case import BOTH, Case, backward, integers, normal, uniform

COUNT, CACHED = 1 << 20, 1 << 14
X, Y, POSITIVE = normal(COUNT), normal(COUNT), uniform(COUNT, low=0.01, high=10.0)
SQUARE = normal(1024, 1024)
TRANSCENDENTAL = 0.6


def _of_one(name, expression, numpy=True, budget=1.0, inputs=(X,), group="arithmetic"):
    return Case(f"{name}, 2²⁰", inputs, expression, budget=budget, dtypes=BOTH, numpy=numpy, group=group)


def _transcendental(name, expression, numpy=True, x=normal):
    """Two rows: in memory, where fast functions wait for it, and in the second cache, where only the function counts."""
    return [_of_one(name, expression, numpy, TRANSCENDENTAL, (x(COUNT),), "transcendental functions"),
            Case(f"{name}, 2¹⁴", (x(CACHED),), expression, budget=TRANSCENDENTAL, dtypes=BOTH, numpy=numpy,
                 group="transcendental functions in cache")]


def _positive(count):
    return uniform(count, low=0.01, high=10.0)


def _within_one(count):
    return uniform(count, low=-0.99, high=0.99)


def _layout(name, inputs, expression, numpy=True, **more):
    return Case(name, inputs, expression, numpy=numpy, group="layouts and dtypes", **more)


def _word(name, expression, inputs, dtype, budget=1.0):
    return Case(f"{name}, 2²⁰", inputs, expression, dtypes=(dtype,), budget=budget, group="16-bit floats")


SIGMOID = Case("sigmoid, 2²⁰", (X,), lambda torch, x: torch.sigmoid(x), dtypes=BOTH, group="gradients")
GELU = Case("gelu, 2²⁰", (X,), lambda torch, x: torch.nn.functional.gelu(x), group="gradients")
PRODUCT = Case("a * b + a, 2²⁰", (X, Y), lambda torch, a, b: a * b + a, group="gradients")

CASES = [
    _of_one("a + b", lambda torch, a, b: a + b, inputs=(X, Y)),
    _of_one("a * 2.5 + 1 as two ops", lambda torch, a: a * 2.5 + 1),
    _of_one("a / b", lambda torch, a, b: a / b, inputs=(X, POSITIVE)),
    _of_one("addcmul(a, b, c)", lambda torch, a, b, c: torch.addcmul(a, b, c), False, inputs=(X, Y, X)),
    _of_one("a > b", lambda torch, a, b: a > b, inputs=(X, Y)),
    _of_one("where(a > 0, a, b)", lambda torch, a, b: torch.where(a > 0, a, b), inputs=(X, Y)),
    _of_one("clamp(a, -1, 1)", lambda torch, a: torch.clamp(a, -1, 1), lambda np, a: np.clip(a, -1, 1)),
    _of_one("relu", lambda torch, a: torch.relu(a), lambda np, a: np.maximum(a, 0)),
    _of_one("sqrt", lambda torch, a: torch.sqrt(a), inputs=(POSITIVE,)),
    _of_one("rsqrt", lambda torch, a: torch.rsqrt(a), False, inputs=(POSITIVE,)),
    *sum(zip(*[
        _transcendental("exp", lambda torch, a: torch.exp(a)),
        _transcendental("expm1", lambda torch, a: torch.expm1(a)),
        _transcendental("log", lambda torch, a: torch.log(a), x=_positive),
        _transcendental("log2", lambda torch, a: torch.log2(a), x=_positive),
        _transcendental("log1p", lambda torch, a: torch.log1p(a), x=_positive),
        _transcendental("tanh", lambda torch, a: torch.tanh(a)),
        _transcendental("sin", lambda torch, a: torch.sin(a)),
        _transcendental("cos", lambda torch, a: torch.cos(a)),
        _transcendental("tan", lambda torch, a: torch.tan(a)),
        _transcendental("atan", lambda torch, a: torch.atan(a), lambda np, a: np.arctan(a)),
        _transcendental("erf", lambda torch, a: torch.erf(a), False),
        _transcendental("erfc", lambda torch, a: torch.erfc(a), False),
        _transcendental("erfinv", lambda torch, a: torch.erfinv(a), False, _within_one),
        _transcendental("lgamma", lambda torch, a: torch.lgamma(a), False, _positive),
        _transcendental("digamma", lambda torch, a: torch.digamma(a), False, _positive),
        _transcendental("sigmoid", lambda torch, a: torch.sigmoid(a), False),
        _transcendental("gelu", lambda torch, a: torch.nn.functional.gelu(a), False),
        _transcendental("silu", lambda torch, a: torch.nn.functional.silu(a), False),
        _transcendental("a ** 2.5", lambda torch, a: a ** 2.5, x=_positive),
    ]), ()),

    _layout("a + b, 2²⁴: in memory", (normal(1 << 24), normal(1 << 24)), lambda torch, a, b: a + b),
    _layout("a + b, 10⁴: on one thread", (normal(10_000), normal(10_000)), lambda torch, a, b: a + b),
    _layout("(1024, 1024) + (1024,)", (SQUARE, normal(1024)), lambda torch, a, b: a + b),
    _layout("(1024, 1024) + (1024, 1)", (SQUARE, normal(1024, 1)), lambda torch, a, b: a + b),
    _layout("(1024, 1) * (1024,)", (normal(1024, 1), normal(1024)), lambda torch, a, b: a * b),
    _layout("a + b.t(), 1024×1024", (SQUARE, SQUARE), lambda torch, a, b: a + b.t(), lambda np, a, b: a + b.T),
    _layout("a.t() + b.t(), 1024×1024", (SQUARE, SQUARE), lambda torch, a, b: a.t() + b.t(), lambda np, a, b: a.T + b.T),
    _layout("a.t().contiguous(), 1024×1024", (SQUARE,), lambda torch, a: a.t().contiguous(),
            lambda np, a: np.ascontiguousarray(a.T)),
    _layout("a.permute(0, 3, 1, 2).contiguous(), 16×56×56×64", (normal(16, 56, 56, 64),),
            lambda torch, a: a.permute(0, 3, 1, 2).contiguous(), lambda np, a: np.ascontiguousarray(a.transpose(0, 3, 1, 2))),
    _layout("a[::2] + b[::2], 2²⁰", (X, Y), lambda torch, a, b: a[::2] + b[::2]),
    _layout("a[:, :500] * 2, 1024×1024", (SQUARE,), lambda torch, a: a[:, :500] * 2, moved=2 * 1024 * 500),
    _layout("float32 + int64, 2²⁰", (X, integers(COUNT, high=100)), lambda torch, a, b: a + b, False),
    _layout("float32 + float64, 2²⁰", (X, X), lambda torch, a, b: a + b.to(torch.float64), False, moved=0),
    _layout("to(float64), 2²⁰", (X,), lambda torch, a: a.to(torch.float64), lambda np, a: a.astype(np.float64)),
    _layout("a.add_(b, alpha=1e-6), 2²⁰", (X, Y), lambda torch, a, b: a.add_(b, alpha=1e-6), False),
    _layout("clone, 2²⁰", (X,), lambda torch, a: a.clone(), lambda np, a: a.copy()),

    *[_word("a + b", lambda torch, a, b: a + b, (X, Y), dtype) for dtype in ("float16", "bfloat16")],
    *[_word("exp", lambda torch, a: torch.exp(a), (X,), dtype, TRANSCENDENTAL) for dtype in ("float16", "bfloat16")],

    backward(SIGMOID), backward(GELU), backward(PRODUCT),
]
