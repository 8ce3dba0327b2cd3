"""`torch._foreach_add_` and its like in both libraries, and the conditions of `torch._check`."""
from __future__ import annotations

import numpy as np
import pytest

import numtorch

torch = pytest.importorskip("torch")
NAMES = [name for name in dir(torch) if name.startswith("_foreach_") and name not in ("_foreach_mm", "_foreach_powsum")]
UNARY = [n for n in NAMES if n.removesuffix("_") + "_" in NAMES and n.split("_")[2] not in
         ("add", "sub", "mul", "div", "pow", "maximum", "minimum", "clamp", "lerp", "addcmul", "addcdiv", "copy", "zero")]
UNARY += ["_foreach_clone", "_foreach_max", "_foreach_zero_"]


def tensors(library, *, low=0.1):
    """Two tensors of numbers that every function is defined for."""
    random = np.random.default_rng(0)
    return [library.from_numpy(random.uniform(low, 0.9, shape)) for shape in ((2, 3), (4,))]


BINARY = ["2.0", "[2.0, 3.0]", "others"]
CALLS = [
    *[f"_foreach_{name}{s}(x, {other})" for name in ("add", "sub", "mul", "div", "pow", "maximum", "minimum", "clamp_min", "clamp_max")
      for s in ("", "_") for other in BINARY],
    *[f"_foreach_{name}(x, others, alpha=2)" for name in ("add", "add_", "sub", "sub_")], "_foreach_add(x, scalar, alpha=3)",
    *[f"_foreach_{name}{s}(x, scalar)" for name in ("mul", "div") for s in ("", "_")], "_foreach_pow(2.0, x)",
    *[f"_foreach_{name}{s}(x, others, others{value})" for name in ("addcmul", "addcdiv") for s in ("", "_")
      for value in ("", ", 2.0", ", [2.0, 3.0]", ", value=0.5", ", pair")],
    *[f"_foreach_lerp{s}(x, others, {weight})" for s in ("", "_") for weight in ("0.3", "others")],
    "_foreach_copy_(x, others)", "_foreach_norm(x)", "_foreach_norm(x, 1)", "_foreach_norm(x, float('inf'))",
    *[f"{name}(x)" for name in UNARY],
]


def outcome(library, call):
    names = {"x": tensors(library), "others": tensors(library, low=0.5), "scalar": library.tensor(2.0, dtype=library.float64),
             "pair": library.tensor([2.0, 3.0])}
    result = eval(f"library.{call}", {"library": library, **names})
    written = [a is b for a, b in zip(result, names["x"], strict=True)]
    assert written == [call.partition("(")[0].endswith("_")] * 2
    return [t.numpy() for t in result]


@pytest.mark.parametrize("call", CALLS)
def test_lists_of_tensors_give_what_they_give_in_pytorch(call):
    for ours, theirs in zip(outcome(numtorch, call), outcome(torch, call), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)
        assert ours.dtype == theirs.dtype


def test_every_function_of_pytorch_is_tried():
    assert {call.partition("(")[0] for call in CALLS} == set(NAMES)


@pytest.mark.parametrize("t", [numtorch, torch])
def test_lists_of_other_lengths_and_names_are_refused(t):
    with pytest.raises(RuntimeError, match="must have the same number"):
        t._foreach_add(tensors(t), [t.ones(2)])
    with pytest.raises(AttributeError):
        t._foreach_nothing
    x = [t.ones(2, requires_grad=True)]
    t._foreach_mul(x, 3.0)[0].sum().backward()
    assert x[0].grad.tolist() == [3, 3]


@pytest.mark.parametrize("t", [numtorch, torch])
def test_conditions_raise_what_they_say(t):
    for name, kind in (("", RuntimeError), ("_index", IndexError), ("_value", ValueError), ("_type", TypeError),
                       ("_not_implemented", NotImplementedError)):
        check = getattr(t, f"_check{name}")
        check(True, lambda: 1 / 0)
        with pytest.raises(kind, match="too small"):
            check(False, lambda: "too small")
        with pytest.raises(kind, match="Expected cond to be True"):
            check(False)
    with pytest.raises(TypeError, match="_check_tensor_all"):
        t._check(t.tensor(True))
    t._check_tensor_all(t.tensor([True, True]))
    with pytest.raises(RuntimeError, match="not all"):
        t._check_tensor_all(t.tensor([True, False]), lambda: "not all")
    with pytest.raises(TypeError, match=r"dtype torch\.bool"):
        t._check_tensor_all(t.tensor([1, 2]))


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_indices_go_from_one_sparse_layout_to_another(dtype):
    found = []
    for t in (numtorch, torch):
        rows, crow, columns = [t.tensor(x, dtype=getattr(t, dtype)) for x in ([0, 0, 2], [0, 2, 2, 3], [1, 2, 0])]
        results = [t._convert_indices_from_coo_to_csr(rows, 4), t._convert_indices_from_coo_to_csr(rows, 3, out_int32=True),
                   t._convert_indices_from_csr_to_coo(crow, columns), t._convert_indices_from_csr_to_coo(crow, columns, transpose=True),
                   t._convert_indices_from_csr_to_coo(crow, columns, out_int32=True)]
        found.append([(x.tolist(), str(x.dtype)) for x in results])
    assert found[0] == found[1]
