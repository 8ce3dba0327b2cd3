"""Kernels that differ in an op's body only: Numba's part is done once, and each computes what its own body says."""
from __future__ import annotations

import numpy as np
import pytest

from numtorch.kernels import compiler
from numtorch.kernels.binding import DISABLE_JIT, ScalarBody
from numtorch.kernels.compiler import CannotCompile, compile_kernel, inspect_ir

pytestmark = pytest.mark.skipif(DISABLE_JIT, reason="NUMBA_DISABLE_JIT: nothing is compiled")
SIGNATURE = ("float32*", "float64*", "int64")


SOURCE = """
def loop(x, y, n):
    for i in range(n):
        y[i] = fn(x[i]) * (fn(np.float64(x[i])) + fn(np.float64(2))) + {series}
"""


def loop(body, compute="float64", series=0):
    """A kernel that has its op's body among its globals."""
    scope = {"np": np, "fn": ScalarBody(body, compute)}
    exec(SOURCE.format(series=series), scope)
    return scope.pop("loop")


def doubled(x):
    return x * 2


def squared(x):
    return x * x + 0.5


def shifted(x):
    return x + 1.5


def is_large(x):
    return x > 2


def with_a_default(x, y=3):
    return x + y


def of_two(x, y):
    return x + y


@pytest.fixture
def typed(monkeypatch):
    """The templates that are made, and how often a kernel is typed whole; none is there before."""
    from numtorch.kernels.codegen import templates
    made, whole, typed_and_lowered = [], [], compiler._typed_and_lowered
    monkeypatch.setattr(templates, "_templates", type(templates._templates)())
    monkeypatch.setattr(templates.Template, "finish", lambda self, compiled, finish=templates.Template.finish: (
        made.append(self), finish(self, compiled)))
    monkeypatch.setattr(compiler, "_typed_and_lowered", lambda *arguments: (whole.append(1), typed_and_lowered(*arguments))[1])
    return made, whole


def computed(body, series):
    """What a kernel gives that no other test of this process has asked for: each has a series of its own, a float."""
    x, y = np.array([0.5, 3.0], np.float32), np.empty(2)
    compile_kernel(loop(body, series=series), SIGNATURE).call(x.ctypes.data, y.ctypes.data, 2)
    return y - series


def wanted(body):
    x = np.array([0.5, 3.0])
    return body(x) * (body(x) + body(2.0)) if body is not is_large else (x > 2) * (1.0 * (x > 2))


@pytest.fixture(autouse=True)
def nothing_is_stored(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMTORCH_CACHE_DIR", str(tmp_path))


def test_loops_are_typed_once_for_bodies_of_the_same_results(typed):
    """Also where a kernel calls the body with several types."""
    made, whole = typed
    for body in (doubled, squared, shifted):
        np.testing.assert_allclose(computed(body, 1), wanted(body), err_msg=body.__name__)
    assert len(made) == 1 and not whole and len(made[0].calls) == 2


def test_bodies_of_other_results_have_templates_of_their_own(typed):
    made, whole = typed
    for body in (doubled, is_large, squared, shifted):
        np.testing.assert_array_equal(computed(body, 2), wanted(body), err_msg=body.__name__)
    assert len(made) == 2 and not whole


def test_kernels_of_other_types_have_templates_of_their_own(typed):
    made, _ = typed
    for signature, compute in ((SIGNATURE, "float64"), (("float64*", "float64*", "int64"), "float64"), (SIGNATURE, "float32")):
        inspect_ir(loop(doubled, compute), signature)
    assert len(made) == 3


def test_bodies_are_inlined(typed):
    """Of a template that was there, too."""
    for body, operation in ((squared, "fmul"), (doubled, "fadd")):
        code = inspect_ir(loop(body), SIGNATURE)
        assert operation in code and "@body" not in code and "call i32 @" not in code.replace("call i32 @PyErr_BadArgument", "")


def test_a_body_that_may_be_called_in_several_ways_is_compiled_with_its_kernel(typed):
    made, whole = typed
    np.testing.assert_allclose(computed(with_a_default, 3), wanted(with_a_default))
    assert not made and whole


def test_a_body_that_cannot_be_called_is_told_of_as_without_templates(typed):
    made, whole = typed
    computed(doubled, 4)
    for _ in range(2):
        with pytest.raises(CannotCompile, match='"loop" not implemented for') as caught:
            computed(of_two, 4)
        assert "missing a required argument: 'y'" in caught.value.reason or "not enough arguments" in caught.value.reason
    assert len(made) == 1 and whole


def test_kernels_that_names_are_bound_to_are_compiled_whole(typed):
    made, whole = typed
    kernel = loop(doubled)
    inspect_ir(kernel, SIGNATURE, {"fn": ScalarBody(shifted, "float64")})
    assert not made and len(whole) == 1


def test_no_more_templates_are_kept_than_there_is_room_for(typed, monkeypatch):
    from numtorch.kernels.codegen import templates
    monkeypatch.setattr(templates, "MOST", 2)
    for kind in ("float32*", "float64*", "int32*", "int64*"):
        inspect_ir(loop(doubled), (kind, "float64*", "int64"))
    assert len(templates._templates) == 2
