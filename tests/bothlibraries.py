"""Lines that are run in both libraries and must give the same: values, dtypes, shapes, strides, gradients, or the exception.

A line is an expression, or statements whose result is `out`. `A(2, 3)` is a tensor of normal numbers, `I(9, 2, 3)` one of integers
below 9, `g=True` records; `grads(f, x, ...)` gives f's results and their gradients.
"""
from __future__ import annotations

import numpy as np
import torch

import numtorch


class Names(dict):
    """What the lines of one library see."""

    def __init__(self, library):
        random = np.random.default_rng(0)

        def floats(*shape, g=False):
            return library.from_numpy(random.standard_normal(shape)).requires_grad_(g)

        def integers(high, *shape, dtype=np.int64):
            return library.from_numpy(random.integers(0, high, shape).astype(dtype))

        def grads(function, *inputs):
            inputs = [x.detach().requires_grad_() for x in inputs]
            results = function(*inputs)
            results = list(results) if isinstance(results, (list, tuple)) else [results]
            total = sum((r * r).sum() for r in results if r.requires_grad)
            return results + list(library.autograd.grad(total, inputs))

        super().__init__(T=library, F=library.nn.functional, A=floats, I=integers, grads=grads, np=np)


def plain(value):
    """A result as what can be compared: tensors as their dtype, shape, strides, whether they are recorded, and their values."""
    if isinstance(value, (torch.Tensor, numtorch.Tensor)):
        dense = value.detach()
        if str(value.layout) != "torch.strided":
            return [str(value.layout), plain(dense.to_dense())]
        widened = {"torch.bfloat16": "float", "torch.complex32": "cfloat"}.get(str(value.dtype))
        dense = getattr(dense, widened)() if widened else dense
        return [str(value.dtype), tuple(value.shape), tuple(value.stride()), value.requires_grad, dense.resolve_conj().numpy()]
    if isinstance(value, (list, tuple)):
        return [plain(part) for part in value]
    return value if isinstance(value, (int, float, complex, bool, np.ndarray)) else str(value)


def outcome(library, line):
    names = Names(library)
    try:
        if "out=" in line and not line.startswith(("T.", "A(")):
            exec(line, names)
            return plain(names["out"])
        return plain(eval(line, names))
    except SyntaxError:
        raise
    except Exception as error:
        return error


def check_equal(found, wanted):
    if isinstance(wanted, list):
        assert isinstance(found, list) and len(found) == len(wanted)
        for one, other in zip(found, wanted):
            check_equal(one, other)
    elif isinstance(wanted, (float, complex, np.ndarray)):
        np.testing.assert_allclose(found, wanted, 1e-6, 1e-6)
    else:
        assert type(found) is type(wanted) and found == wanted


def check_lines(lines):
    for line in filter(None, lines.splitlines()):
        found, wanted = outcome(numtorch, line), outcome(torch, line)
        if isinstance(wanted, Exception):
            assert isinstance(found, type(wanted)), f"{line}: {found!r} instead of {wanted!r}"
            continue
        assert not isinstance(found, Exception), f"{line}: {found!r}"
        try:
            check_equal(found, wanted)
        except AssertionError as error:
            raise AssertionError(f"{line}: {error}") from None
