"""Results in `out=` of other dtypes than their own, beside PyTorch: what it refuses must be refused, what it casts must be cast.

    python -m tests.outdtypes                                    # every entry of PyTorch's table of operations, inputs of every dtype
    python -m tests.outdtypes --entries sort,topk --inputs int64

`tests/pytorch/calls/test_out_dtypes.py` tries inputs of the first dtype that an entry takes.
"""
from __future__ import annotations

import argparse
import sys
import warnings

import numpy as np
import torch

from .opdb import ENTRIES, TOLERANCES, array, detached, is_drawn, operation, ours, outcome, samples_of, theirs

INPUTS = (torch.float32, torch.int64, torch.bool, torch.complex64)
OUTPUTS = (torch.float32, torch.float64, torch.complex64, torch.int64, torch.int32, torch.uint8, torch.bool)

# What differs on purpose: the entry, the dtype of its input and of `out` (None for any), and why.
ON_PURPOSE = [
    ("bernoulli", None, "complex64", "0 and 1 are complex numbers, too"),
    ("kthvalue", None, None, "which of equal elements is found is not determined"),
    ("linalg.eig", None, None, "eigenvectors are determined to a factor"),
    ("linalg.eigh", None, None, "eigenvectors are determined to a factor"),
    ("linalg.svd", None, None, "singular vectors are determined to a factor"),
    ("nanmean", None, "complex64", "PyTorch computes it there by sums of complex numbers, which it has not"),
    ("sort", None, None, "which of equal elements comes first is not determined"),
    ("topk", None, None, "which of equal elements comes first is not determined"),
    ("logsumexp", "complex64", None, "PyTorch drops the imaginary part without a word"),
]


def is_meant(row):
    """Whether a difference stands in the table above. What is not determined may have other values, and nothing else."""
    name, given, _, to, how = row
    return any(name == entry and kind in (None, given) and out in (None, to) and (kind or out or how == "other values")
               for entry, kind, out, _ in ON_PURPOSE)


def chosen(op, kind):
    """A sample whose results PyTorch writes into tensors of their own dtypes, and these results."""
    for sample in samples_of(op, kind, 12, False):
        given = detached((sample.input, sample.args, sample.kwargs))
        wanted = outcome(theirs(op), given, torch.Tensor)
        several = isinstance(wanted, (list, tuple))
        if isinstance(wanted, Exception) or not all(isinstance(t, torch.Tensor) for t in (wanted if several else [wanted])):
            continue
        if any(t.layout is not torch.strided for t in ([*wanted] if several else [wanted])):
            continue
        if not isinstance(called(theirs(op), given, empties(wanted)), Exception):
            return sample, given, wanted
    return None


def empties(wanted, place=None, kind=None):
    """Tensors for results, of their dtypes but for that of one."""
    if isinstance(wanted, torch.Tensor):
        return wanted.new_empty(0, dtype=kind)
    return tuple([t.new_empty(0, dtype=kind if i == place else t.dtype) for i, t in enumerate(wanted)])


def called(function, given, out):
    return outcome(function, (given[0], given[1], {**given[2], "out": out}), torch.Tensor)


def told(error):
    return f"{type(error).__name__}: {' '.join(str(error).split())[:110]!r}"


def values_differ(one, other):
    tolerance = TOLERANCES.get(str(other.dtype), 1e-5)
    if str(one.dtype) != str(other.dtype) or tuple(one.shape) != tuple(other.shape):
        return True
    return not np.allclose(array(one), array(other), tolerance * 10, tolerance * 10, equal_nan=True)


def differences(name, inputs=INPUTS):
    """What differs for one entry, and not on purpose: tuples of (entry, dtype of the input, which result, dtype of `out`, how)."""
    yield from [row for row in _all_differences(name, inputs) if not is_meant(row)]


def _all_differences(name, inputs):
    op = ENTRIES[name]
    function = operation(op)
    if function is None or not op.supports_out:
        return
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for kind in inputs:
            found = chosen(op, kind) if op.supports_dtype(kind, "cpu") else None
            if found is None:
                continue
            sample, given, wanted = found
            drawn = is_drawn(op, sample)
            for place in [None] if isinstance(wanted, torch.Tensor) else range(len(wanted)):
                for to in OUTPUTS:
                    their_out = empties(wanted, place, to)
                    our_given, our_out = ours(given), ours(their_out)
                    theirs_of, ours_of = called(theirs(op), given, their_out), called(function, our_given, our_out)
                    row = name, str(kind).removeprefix("torch."), place, str(to).removeprefix("torch.")
                    if isinstance(theirs_of, Exception):
                        if not isinstance(ours_of, Exception):
                            yield *row, f"accepted, PyTorch: {told(theirs_of)}"
                        elif type(theirs_of) is not type(ours_of) and not isinstance(theirs_of, NotImplementedError):
                            yield *row, f"{told(ours_of)}, PyTorch: {told(theirs_of)}"
                    elif isinstance(ours_of, Exception):
                        yield *row, f"refused: {told(ours_of)}"
                    elif not drawn and values_differ(*[(o if place is None else o[place]) for o in (our_out, their_out)]):
                        yield *row, "other values"


def first_input(name):
    return tuple([kind for kind in INPUTS if ENTRIES[name].supports_dtype(kind, "cpu")][:1])


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--entries", default="", help="names, with commas between; all by default")
    parser.add_argument("--inputs", default="", help="dtypes, with commas between; all by default")
    options = parser.parse_args(arguments)
    inputs = tuple([getattr(torch, kind) for kind in options.inputs.split(",")]) if options.inputs else INPUTS
    for name in options.entries.split(",") if options.entries else sorted(ENTRIES):
        for line in differences(name, inputs):
            print(*line, sep=" | ", flush=True)
        print("#", name, flush=True)


if __name__ == "__main__":
    sys.exit(main())
