"""Every entry of PyTorch's own table of operations, on some of the samples that stand there: results, gradients of first and second
order, refusals, and the other ways to call it; of a part of them each day in another dtype too, so that each dtype and each way is
met in a run.

`KNOWN` of tests/opdb.py holds what does not pass, each with its reason; an entry of it that passes fails, so that it only shrinks.
`python -m tests.opdb` tries all samples, in all dtypes, and the other ways to call each.
"""
from __future__ import annotations

import warnings
import zlib

import pytest
from daily import DAY
from pytorchtables import pytorch

torch = pytorch()

from tests.opdb import (  # noqa: E402
    ASPECTS,
    DTYPES,
    ENTRIES,
    KNOWN,
    REASONS,
    call,
    check_errors,
    check_values,
    kind_of,
    operation,
    parts,
    samples_of,
)

SAMPLES = 12                                             # of an entry, evenly among all
FAILING = {*KNOWN["name"], *KNOWN["values"]}


def check(name):
    op = ENTRIES[name]
    function, kind = operation(op), kind_of(op)
    assert function is not None, "numtorch has no such name"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for sample in samples_of(op, kind, SAMPLES, op.supports_autograd and kind is torch.float64) if kind is not None else ():
            check_values(op, function, sample, f"{name}({call(sample)})", 1)


def check_unless(known, name, check_entry):
    """Check an entry, of which it may be known that it fails: then it must."""
    if not known:
        check_entry(name)
        return
    try:
        check_entry(name)
    except Exception:
        pytest.xfail(REASONS[name])
    pytest.fail(f"{name} passes now: take it out of KNOWN ({REASONS[name]})")


@pytest.mark.parametrize("name", sorted(ENTRIES))
def test_entry(name):
    check_unless(name in FAILING, name, check)


def elements(sample):
    return sum(t.numel() or 99 for t in parts((sample.input, sample.args, sample.kwargs)) if isinstance(t, torch.Tensor))


TWICE = sorted(n for n, op in ENTRIES.items() if n not in FAILING and op.supports_gradgrad and kind_of(op) is torch.float64)


@pytest.mark.parametrize("name", TWICE)
def test_second_gradients(name):
    """Of the smallest sample, along random directions."""
    check_unless(name in KNOWN["second gradients"], name, check_twice)


def check_twice(name):
    op = ENTRIES[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        samples = samples_of(op, torch.float64, 1 << 20, True)
        for sample in samples if name in KNOWN["second gradients"] else [min(samples, key=elements)]:
            check_values(op, operation(op), sample, f"{name}({call(sample)})", 2)


DAYS = 3                                                 # in which each of half of the entries is tried in another dtype


def other_kind(name, day):
    """Another dtype that an entry takes, for a part of the entries each day: which, its name decides. All of them would compile for ten
    minutes."""
    op, number = ENTRIES[name], zlib.crc32(name.encode())
    kinds = [kind for kind in DTYPES.values() if op.supports_dtype(kind, "cpu") and kind is not kind_of(op)]
    return kinds[number // 2 % len(kinds)] if kinds and number % (2 * DAYS) == day % DAYS * 2 + 1 else None


def forms(day):
    return [(name, kind) for name in sorted(ENTRIES) if name not in FAILING for kind in (kind_of(ENTRIES[name]), other_kind(name, day)) if kind is not None]


@pytest.mark.parametrize("name, kind", forms(DAY))
def test_forms(name, kind):
    """Results of inputs whose elements lie apart, of the method, in place and into `out=`; in another dtype the plain results as well."""
    op = ENTRIES[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sample = samples_of(op, kind, 3, False)[-1]
        for aspect, check_aspect in ASPECTS.items():
            if aspect != "values" or kind is not kind_of(op):
                check_aspect(op, operation(op), sample, f"{name}({call(sample)})")


def test_every_dtype_is_met():
    for day in range(DAYS):
        assert {kind for _, kind in forms(day)} >= set(DTYPES.values())


REFUSING = sorted(n for n, op in ENTRIES.items() if op.error_inputs_func is not None and operation(op) is not None)


@pytest.mark.parametrize("name", REFUSING)
def test_refusals(name):
    """What PyTorch raises for, ours raises for, an exception of the same class."""
    check_unless(name in KNOWN["errors"], name, check_refusals)


def check_refusals(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check_errors(ENTRIES[name], operation(ENTRIES[name]))


def test_known_entries_exist():
    assert not set(REASONS) - set(ENTRIES)
