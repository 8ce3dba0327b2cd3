"""`out=` of another dtype than the result's: cast, or refused, as PyTorch does for each op of its own table.

An op of PyTorch's either computes in a dtype and casts what can be cast, or computes in `out` itself and wants the very dtype: `into`
and `into_exactly` (numtorch/ops/memory/resize.py) are these two. All inputs: `python -m tests.outdtypes`.
"""
from __future__ import annotations

import pytest
from daily import todays
from pytorchtables import pytorch

torch = pytorch()

from tests.opdb import ENTRIES  # noqa: E402
from tests.outdtypes import ON_PURPOSE, differences, first_input  # noqa: E402

DAYS = 12                                                # in which every entry has its turn


@pytest.mark.parametrize("name", todays(sorted(name for name, op in ENTRIES.items() if op.supports_out), DAYS))
def test_what_pytorch_casts(name):
    assert not list(differences(name, first_input(name)))


# Of each family one, in every run: whether a result of float32 goes into float64.
CAST = {
    "elementwise": (lambda t, x, out: t.exp(x, out=out), True), "elementwise of two": (lambda t, x, out: t.add(x, x, out=out), True),
    "rounding": (lambda t, x, out: t.floor(x, out=out), False), "sign": (lambda t, x, out: t.sign(x, out=out), False),
    "sum": (lambda t, x, out: t.sum(x, 0, out=out), True), "mean": (lambda t, x, out: t.mean(x, 0, out=out), True),
    "largest": (lambda t, x, out: t.amax(x, 0, out=out), False), "running sum": (lambda t, x, out: t.cumsum(x, 0, out=out), True),
    "product": (lambda t, x, out: t.mm(x, x, out=out), False), "vectors": (lambda t, x, out: t.dot(x[0], x[0], out=out), False),
    "joined": (lambda t, x, out: t.cat([x, x], out=out), True), "picked": (lambda t, x, out: t.gather(x, 0, t.zeros(1, 1, dtype=t.int64), out=out), False),
    "written": (lambda t, x, out: t.scatter(x, 0, t.zeros(1, 1, dtype=t.int64), 1.0, out=out), False), "triangle": (lambda t, x, out: t.triu(x, out=out), False),
    "inverse": (lambda t, x, out: t.linalg.inv(x, out=out), False), "pseudoinverse": (lambda t, x, out: t.linalg.pinv(x, out=out), True),
    "norm": (lambda t, x, out: t.linalg.norm(x, out=out), False), "spectrum": (lambda t, x, out: t.fft.ifft(x, out=out), None),
    "copied view": (lambda t, x, out: t.t_copy(x, out=out), False), "quantile": (lambda t, x, out: t.quantile(x, 0.5, out=out), False),
}


@pytest.mark.parametrize("name", CAST)
def test_one_of_each_family(name):
    import numtorch
    call, casts = CAST[name]
    found = []
    for library in (torch, numtorch):
        x, out = library.tensor([[2.0, 1.0], [1.0, 3.0]]), library.empty(0, dtype=library.float64)
        try:
            call(library, x, out)
            found.append(out.numel())
        except RuntimeError:
            found.append(None)
    assert found[0] == found[1] and casts in (None, found[1] is not None)


SEVERAL = {
    "aminmax": lambda t, x, out: t.aminmax(x, out=out), "mode": lambda t, x, out: t.mode(x, out=out),
    "sort": lambda t, x, out: t.sort(x, out=out), "topk": lambda t, x, out: t.topk(x, 1, out=out),
    "kthvalue": lambda t, x, out: t.kthvalue(x, 1, out=out), "max": lambda t, x, out: t.max(x, 0, out=out),
    "median": lambda t, x, out: t.median(x, 0, out=out), "cummax": lambda t, x, out: t.cummax(x, 0, out=out),
    "geqrf": lambda t, x, out: t.geqrf(x, out=out), "eig": lambda t, x, out: t.linalg.eig(x, out=out),
    "eigh": lambda t, x, out: t.linalg.eigh(x, out=out), "slogdet": lambda t, x, out: t.linalg.slogdet(x, out=out),
    "lstsq": lambda t, x, out: t.linalg.lstsq(x, x, out=out), "unbind_copy": lambda t, x, out: t.unbind_copy(x, out=out),
    "native_batch_norm": lambda t, x, out: t.native_batch_norm(x, None, None, None, None, True, 0.1, 1e-5, out=out),
}


@pytest.mark.parametrize("name", SEVERAL)
@pytest.mark.parametrize("given", [lambda t: t.zeros(2, 2), lambda t: 5, lambda t: (t.zeros(0),), lambda t: [t.zeros(0)] * 7, lambda t: (t.zeros(0), 3)])
def test_several_results_are_written_to_as_many_tensors(name, given):
    """And never to the rows of one tensor."""
    import numtorch
    for library in (torch, numtorch):
        x, out = library.tensor([[2.0, 1.0], [1.0, 3.0]]), given(library)
        with pytest.raises((TypeError, RuntimeError), match=r"out|expected tuple|expected Tensor as"):
            SEVERAL[name](library, x, out)
        assert not isinstance(out, library.Tensor) or not out.any()


def test_what_differs_on_purpose_is_there():
    assert {row[0] for row in ON_PURPOSE} <= set(ENTRIES)
