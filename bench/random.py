"""Random numbers and dropout. The streams differ between libraries, so results are compared by mean and deviation."""
from __future__ import annotations

from .runner.case import Case, backward, normal, uniform

COUNT = 1 << 20
_generator = {}


def _numpy_generator(np):
    return _generator.setdefault("default", np.random.default_rng(0))


def _random(name, expression, inputs=(), numpy=False, dtypes=("float32",), moved=COUNT, budget=1.0, **more):
    return Case(name, inputs, expression, numpy=numpy, dtypes=dtypes, moved=moved, budget=budget, exact=False, **more)


DROPOUT = _random("dropout(0.5), 2²⁰", lambda torch, x: torch.nn.functional.dropout(x, 0.5, True),
                  (uniform(COUNT, low=1.0, high=2.0),), moved=2 * COUNT)

CASES = [
    _random("rand, 2²⁰", lambda torch: torch.rand(COUNT), numpy=lambda np: _numpy_generator(np).random(COUNT, np.float32)),
    _random("rand, 2²⁰", lambda torch: torch.rand(COUNT, dtype=torch.float64), dtypes=("float64",),
            numpy=lambda np: _numpy_generator(np).random(COUNT)),
    _random("randn, 2²⁰", lambda torch: torch.randn(COUNT),
            numpy=lambda np: _numpy_generator(np).standard_normal(COUNT, np.float32)),
    _random("randn, 2²⁰", lambda torch: torch.randn(COUNT, dtype=torch.float64), dtypes=("float64",),
            numpy=lambda np: _numpy_generator(np).standard_normal(COUNT)),
    _random("randint(100), 2²⁰", lambda torch: torch.randint(100, (COUNT,)), moved=2 * COUNT,
            numpy=lambda np: _numpy_generator(np).integers(0, 100, COUNT)),
    _random("bernoulli, 2²⁰", lambda torch, p: torch.bernoulli(p), (uniform(COUNT),), moved=2 * COUNT),
    _random("x.uniform_(), 2²⁰", lambda torch, x: x.uniform_(), (normal(COUNT),)),
    _random("x.normal_(), 2²⁰", lambda torch, x: x.normal_(), (normal(COUNT),)),
    _random("x.exponential_(), 2²⁰", lambda torch, x: x.exponential_(), (normal(COUNT),)),
    _random("randperm(10⁵)", lambda torch: torch.randperm(100_000), moved=2e5,
            numpy=lambda np: _numpy_generator(np).permutation(100_000)),
    _random("multinomial, 1000 of 10⁴", lambda torch, p: torch.multinomial(p, 1000, replacement=True), (uniform(10_000, low=0.5),),
            moved=0, budget=None),
    _random("rand, 10", lambda torch: torch.rand(10), moved=0, budget=None),
    DROPOUT, backward(DROPOUT),
]
