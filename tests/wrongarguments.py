"""Arguments of wrong types, beside PyTorch: what it refuses must be refused, what it takes must give the same.

    python -m tests.wrongarguments                               # every entry of PyTorch's table of operations
    python -m tests.wrongarguments --entries sort,topk

The numbers, truth values and texts among the arguments of a sample, and those that the function has a default for, are replaced in
turn by what only looks like them. Each is tried where no plan is known and after the call that it resembles, which must not matter.
`tests/pytorch/calls/test_wrong_arguments.py` tries what is plainly of another type.
"""
from __future__ import annotations

import argparse
import contextlib
import functools
import inspect
import io
import re
import sys
import warnings

import numpy as np
import torch

import numtorch

from .opdb import ENTRIES, array, is_drawn, operation, ours, parts, theirs

ENTRY_SAMPLES = 4

ANY = r".*"
WINDOWS = "a window's numbers are looked at when a plan is made: what is equal (2.0, (1.0, 1.0), and 1 for True) finds that of a known call"
# What differs on purpose: how entries begin, what stood there and what replaced it (patterns), how it differs, and why.
ON_PURPOSE = [
    *[(begin, ANY, ANY, "accepted|refused", WINDOWS) for begin in ("nn.functional.avg_pool", "nn.functional.max_pool", "nn.functional.adaptive_")],
    ("nn.functional.max_unpool", ANY, ANY, "refused|accepted", "floats as sizes of windows are refused, with which PyTorch computes"),
    ("__getitem__", ANY, ANY, "refused|accepted", "a list of floats is no index; PyTorch cuts off what is behind the point"),
    ("", r"-?[\d.e-]+|\(.*\)|inf", r"torch:tensor\(\[.*\]\)", "accepted", "one element is a number, as it is for PyTorch's counts and sizes, if not for its dimensions"),
    ("", r"'.*'", r"b'.*'", "refused", "bytes are no text, which PyTorch has taken for it since Python 2"),
    ("clamp", "None", r"[\d.]+|True|numpy.*", "accepted", "a number beside a tensor is a bound as any other"),
    ("nn.functional.binary_cross_entropy", "None", r"[\d.]+|True|numpy.*", "accepted", "a number is a weight of all terms"),
    ("add", r"[\d.]+", r"[\d.+]*1?j|\(1\+0j\)", "accepted|refused|.*complex64", "a complex factor makes complex numbers of real ones, as in x * 1j, and is refused by products"),
    ("split", r"\d+", r"numpy.*", "accepted", "NumPy's ints are ints here as elsewhere"),
    ("sum_to_size", "1", "True", "refused", "a truth value is no size"),
    ("", ANY, "None", "accepted", "None is the default of an argument, where PyTorch wants it left out"),
    ("", ANY, r"True|False|numpy\.bool.*", "refused", "a truth value is no size, dimension, margin or factor of numbers"),
    ("", ANY, r"torch:tensor\((True|False|-?\d+\.)\)", "refused", "a tensor is no truth value, and one of floats no size, which PyTorch takes for the first argument of some"),
    ("", ANY, r"\(?-?\d*\+?-?\d*j\)?", "refused", "a complex number is no real one, whose imaginary part PyTorch drops"),
    *[(begin, ANY, r"\(\[.*\],\)", "accepted", "a list in the tuple of extents stands for them") for begin in ("new_empty", "new_full", "new_ones", "new_zeros")],
    *[(begin, "1", "True", "accepted", "a truth value is the number that it is") for begin in ("cumulative_trapezoid", "trapezoid", "to_sparse")],
    ("to", r"torch\.\w+", "True", "accepted", "a truth value behind the device is `non_blocking`, whether a dtype is there or not"),
    ("histogramdd", ANY, "torch:.*", "refused", "numbers of bins are ints, not tensors"),
    ("nn.functional.cosine_similarity", ANY, r"\[\d\]", "accepted", "a dimension may stand in a list"),
    ("nn.functional.instance_norm", "-1.0", "1j", "accepted", "a momentum of no running statistics is not looked at"),
    ("prod", ANY, r"\[\d\]", "accepted", "several dimensions may be multiplied over"),
    ("unravel_index", ANY, ANY, "accepted|refused", "NumPy's ints are ints, truth values and ranges are none"),
    ("lerp", ANY, "1j", "accepted", "a complex weight makes complex numbers of real ones, as in x * 1j"),
    ("linalg.lstsq", "None", ANY, "other values", "which columns LAPACK's gelsy begins with is what memory held: the least squares of a lower rank are those of its singular values"),
    ("linalg.vecdot", ANY, r"numpy.uint8.*255.*", "refused", "255 is no dimension"),
    ("linalg.vecdot", ANY, r"\[-?\d\]", "accepted", "a dimension may stand in a list"),
    ("unsafe_split", ANY, r"\[\d+\]", "accepted", "one extent in a list, as of split"),
    ("grid_sampler", "0", "False", "accepted", "a mode by number may be False"),
    ("narrow_copy", ANY, "torch:.*", "refused", "a start is a number, not a tensor with dimensions"),
    ("to", ANY, "torch:tensor.*", "accepted", "a tensor to follow may stand anywhere"),
    ("to", ANY, r"1\.5", "refused", "a float is no device"),
    ("nn.functional.ctc_loss", ANY, ANY, "accepted", "lengths of inputs may be a list where those of targets are a tensor"),
    ("norm.fro", "None", ANY, "accepted", "one dimension of a matrix norm is that of vectors"),
    ("_segment_reduce", "None", ANY, "refused", "offsets and lengths exclude one another"),
    ("histogram", "None", "torch:.*", "accepted", "a weight of another dtype is converted"),
    ("svd_lowrank", "None", "torch:.*", "accepted", "what is taken away is promoted"),
    ("nn.functional.bilinear", "None", "torch:.*", "accepted", "a bias of another dtype is promoted"),
    ("nn.functional.triplet_margin_loss", ANY, "1j", "accepted", "as x + 1j"),
    ("nn.functional.pairwise_distance", ANY, "1j", "accepted", "as x + 1j"),
    *[(begin, ANY, "True|False", "accepted", "a truth value in the place of dim is `unbiased`, by name too") for begin in ("std", "var")],
    *[(begin, ANY, r"torch:tensor\((True|False)\)", "refused", "a tensor is no truth value, which PyTorch takes of one overload") for begin in ("std", "var")],
    *[(begin, ANY, ANY, "accepted|refused", "ATen's functions leave it to what they call to look at arguments")
      for begin in ("_softmax_backward_data", "_batch_norm_with_update", "_upsample_bilinear2d_aa", "max_pool2d_with_indices_backward", "native_dropout_backward", "slice",
                    "torch.ops.aten")],
    ("", r"-?[\d.e-]+", r"torch:tensor\(\[.*\]\)", "refused", "a number of a loss or a norm is no tensor with dimensions"),
    ("flip", r"\(.*\)", r"\(\[.*\],\)", "accepted", "a list among the dimensions stands for what it holds"),
    ("constant_pad_nd", ANY, "0j", "refused", "a complex number is no value among real ones"),
    ("nn.functional.local_response_norm", ANY, "1j", "refused", "complex factors of real numbers are refused"),
    ("nn.functional.linear_cross_entropy", ANY, r"True|numpy.bool.*|torch.*", "refused", "a truth value is no class, nor is a float"),
    ("add", ANY, "numpy.bool.*", "refused", "a truth value is no factor of numbers, NumPy's neither"),
    ("sub", ANY, "numpy.bool.*", "refused", "a truth value is no factor of numbers, NumPy's neither"),
    ("sparse.sampled_addmm", ANY, "1j", "refused", "PyTorch drops the imaginary part of alpha"),
    ("as_strided.partial_views", ANY, ANY, "other values", "the sample's memory before its first element is not copied"),
    ("nn.functional.interpolate", r"[\d.]+", "torch:.*", "accepted", "a tensor of one number is a number"),
    ("nn.functional.upsample", r"[\d.]+", "torch:.*", "accepted", "a tensor of one number is a number"),
    ("nn.functional.fractional_max_pool", r"\d+", r"\[\d+\]", "accepted", "one int in a list stands for all dimensions, as for other windows"),
    ("nn.functional.unfold", ANY, r"array.*|range.*|<generator.*|\{.*|torch:.*|\[.*|\(.*", "refused|accepted", "several ints are a tuple or a list here as elsewhere"),
]

SKIPPED = {"out", "generator", "memory_format", "device", "self", "input", "pin_memory", "inplace", "axis", "keepdims"}


def scalar(value):
    return lambda library: library.tensor(value)


def like(value):
    """What stands in for an argument in turn: values, and functions of the library that is called."""
    if isinstance(value, bool):
        return [int(value), float(value), str(value), None, np.bool_(value), np.int64(value), scalar(value), scalar(int(value)), [value]]
    if isinstance(value, int):
        return [float(value), value + 0.5, bool(value), str(value), None, np.int64(value), np.uint8(value % 256), np.float64(value),
                np.bool_(value), scalar(value), scalar(float(value)), [value], (float(value),), complex(value), scalar([value])]
    if isinstance(value, float):
        return [str(value), None, True, 1, np.float32(value), np.float64(value), np.int64(1), scalar(value), scalar(1), 1j, [value],
                scalar([value])]
    if isinstance(value, complex):
        return [str(value), None, True, 1, 1.5, np.complex64(value), scalar(value), [value]]
    if isinstance(value, str):
        return [1, True, None, value + "?", value.upper() + "?", value.encode(), [value], ""]
    if isinstance(value, (list, tuple)) and value and all(type(v) is int for v in value):
        kind = list if isinstance(value, list) else tuple
        return [kind([float(v) for v in value]), kind([bool(v) for v in value]), kind([np.int64(v) for v in value]), kind([str(v) for v in value]),
                kind([None for v in value]), tuple(value) if kind is list else list(value), np.array(value), scalar(list(value)),
                (lambda library: kind([library.tensor(v) for v in value])), (lambda library: kind([library.tensor(float(v)) for v in value])),
                str(value), value[0], float(value[0]), None, {v: v for v in value}, kind([list(value)]), kind([np.float64(v) for v in value]),
                (v for v in value), range(value[0], value[0] + 1)]
    if isinstance(value, torch.dtype):
        return [str(value), 1, 1.5, True, float, int, np.float32, [value]]
    if value is None:
        return [1, 1.5, True, "a", [1], np.int64(1), scalar(1)]
    return []


def plainly_wrong(value):
    """Of these, what is no such argument by any reading."""
    if isinstance(value, bool):
        return [int(value), float(value), str(value), np.bool_(value)]
    if isinstance(value, int):
        return [float(value), value + 0.5, str(value)]
    if isinstance(value, float):
        return [str(value), [value]]
    if isinstance(value, str):
        return [1, [value]]
    if isinstance(value, (list, tuple)) and value and all(type(v) is int for v in value):
        kind = list if isinstance(value, list) else tuple
        return [kind([v + 0.5 for v in value]), kind([str(v) for v in value])]
    return []


def told(value):
    if inspect.isfunction(value):
        return "torch:" + repr(value(torch))
    return f"{type(value).__module__}.{type(value).__name__}:{value!r}" if isinstance(value, np.generic) else repr(value)


def places(function, sample):
    """The arguments to replace: the place in `args` or the name, and what stands there."""
    for place, value in enumerate(sample.args):
        yield place, value
    for name, value in sample.kwargs.items():
        if name not in SKIPPED:
            yield name, value
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return
    first = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    for place, parameter in enumerate(parameters):
        if parameter.name in SKIPPED or parameter.name in sample.kwargs or parameter.kind in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL):
            continue
        if parameter in first and first.index(parameter) < 1 + len(sample.args):
            continue
        if parameter.default is not parameter.empty:
            yield parameter.name, parameter.default


def replaced(sample, place, value):
    args, kwargs = list(sample.args), dict(sample.kwargs)
    if isinstance(place, int):
        args[place] = value
    else:
        kwargs[place] = value
    return sample.input, args, kwargs


def copied(value):
    """Arguments whose tensors a call in place may change."""
    if isinstance(value, torch.Tensor):
        return value.clone() if value.layout is torch.strided else value
    if type(value) in (list, tuple):
        return type(value)([copied(v) for v in value])
    return value


def outcome(function, given):
    given = copied(given[0]), [copied(v) for v in given[1]], given[2]
    with warnings.catch_warnings(), np.errstate(all="ignore"), contextlib.redirect_stderr(io.StringIO()):
        warnings.simplefilter("ignore")
        try:
            return [(getattr(p, "dtype", type(p).__name__), tuple(getattr(p, "shape", ())), p) for p in parts(function(given[0], *given[1], **given[2]))]
        except Exception as error:
            return error


def difference(found, wanted, drawn):
    if isinstance(found, Exception) or isinstance(wanted, Exception):
        if not isinstance(wanted, Exception):
            return f"refused ({type(found).__name__}: {str(found)[:100]})"
        if not isinstance(found, Exception):
            return f"accepted, PyTorch: {type(wanted).__name__}: {str(wanted)[:100]!r}"
        return f"class {type(found).__name__} ({str(found)[:80]!r}), PyTorch: {type(wanted).__name__} {str(wanted)[:60]!r}" if type(found) is not type(wanted) else None
    if [(str(kind), shape) for kind, shape, _ in found] != [(str(kind), shape) for kind, shape, _ in wanted]:
        return f"{[(str(k), s) for k, s, _ in found]} instead of {[(str(k), s) for k, s, _ in wanted]}"
    if not drawn():
        for (_, _, one), (_, _, other) in zip(found, wanted):
            if isinstance(other, torch.Tensor) and not np.allclose(array(one), array(other), 1e-3, 1e-4, equal_nan=True):
                return "other values"


def is_meant(line):
    """Whether a difference stands in the table above. Of what class an error is does not matter here: a text that is no mode of an
    op's may be a ValueError where PyTorch says TypeError."""
    name, _, stood, other, _, differs = line
    return differs.startswith("class") or any(
        name.startswith(begin) and re.fullmatch(before, stood) and re.fullmatch(after, other) and re.match(how, differs)
        for begin, before, after, how, _ in ON_PURPOSE)


def chosen(op):
    kind = next((k for k in (torch.float32, torch.float64, torch.int64, torch.bool, torch.complex64) if op.supports_dtype(k, "cpu")), None)
    if kind is None:
        return
    torch.manual_seed(0)
    np.random.seed(0)
    seen = {}
    for sample in op.sample_inputs("cpu", kind, requires_grad=False):
        key = len(sample.args), tuple(sorted(sample.kwargs)), tuple([type(v) for v in (*sample.args, *sample.kwargs.values())])
        size = sum(t.numel() for t in parts((sample.input, sample.args, sample.kwargs)) if isinstance(t, torch.Tensor))
        if size and (key not in seen or size < seen[key][0]):
            seen[key] = size, sample
    yield from [sample for _, sample in list(seen.values())[:ENTRY_SAMPLES]]


def differences(name, alternatives=like):
    """What differs for one entry: tuples of (entry, argument, what stood there, what replaced it, when, how it differs)."""
    op = ENTRIES[name]
    function, reference = operation(op), theirs(op)
    if function is None:
        return
    tried = set()
    for sample in chosen(op):
        given = sample.input, list(sample.args), dict(sample.kwargs)
        if isinstance(outcome(reference, given), Exception) or isinstance(outcome(function, ours(given)), Exception):
            continue
        drawn = functools.lru_cache(None)(functools.partial(is_drawn, op, sample))
        for place, value in places(function, sample):
            if isinstance(outcome(reference, replaced(sample, place, value)), Exception):
                continue                                 # no argument of PyTorch's
            numtorch.ops.core.primitive.forget_plans()
            for other in alternatives(value):
                if (place, told(other)) in tried:
                    continue
                tried.add((place, told(other)))
                is_made = inspect.isfunction(other)
                wanted = outcome(reference, replaced(sample, place, other(torch) if is_made else other))
                ours_given = ours(replaced(sample, place, None if is_made else other))
                if is_made:
                    (ours_given[1] if isinstance(place, int) else ours_given[2])[place] = other(numtorch)
                for when in ("first", "after"):
                    if when == "after":
                        outcome(function, ours(replaced(sample, place, value)))
                    differs = difference(outcome(function, ours_given), wanted, drawn)
                    if differs:
                        yield name, place, told(value), told(other), when, differs
                        break


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--entries", default="")
    parser.add_argument("--all", action="store_true", help="what differs on purpose too, and in the class of the error")
    options = parser.parse_args(arguments)
    for name in options.entries.split(",") if options.entries else ENTRIES:
        for line in differences(name):
            if options.all or not is_meant(line):
                print(*line, sep=" | ", flush=True)
        print("#", name, flush=True)


if __name__ == "__main__":
    sys.exit(main())
