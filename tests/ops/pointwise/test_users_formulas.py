"""Formulas of users: what they may say, what they are made of, their derivatives, and why a function is none."""
from __future__ import annotations

import math
import pickle
import subprocess
import sys

import numpy as np
import pytest

import numtorch as torch
from numtorch.kernels.binding import DISABLE_JIT
from numtorch.nn import functional as F

factor = 2.0


def scaled(x):
    return x * factor


def halved(x):
    return later_helper(x) / 2


# ---------------------------------------------------------------- names
def test_globals_are_read_when_the_formula_is_written():
    global factor
    op = torch.pointwise(scaled, methods=False)
    factor = 3.0
    try:
        for dtype in (torch.float32, torch.float64, torch.int64):
            assert op(torch.ones(2, dtype=dtype)).tolist() == [2, 2]
        assert torch.pointwise(scaled, name="scaled_later", methods=False)(torch.ones(2)).tolist() == [3, 3]
    finally:
        factor = 2.0


def test_closures_are_read_when_the_formula_is_written():
    def made(by):
        def times(x):
            return x * by
        op = torch.pointwise(times, methods=False)
        by = 7.0
        return op, by
    op, _ = made(2.0)
    assert op(torch.ones(1)).item() == 2 and op(torch.ones(1, dtype=torch.float64)).item() == 2


def test_helpers_keep_their_globals_too():
    global factor
    op = torch.pointwise(lambda x: scaled(x) + 1, name="with_helper", methods=False)
    factor = 5.0
    try:
        assert op(torch.ones(1)).item() == 3
    finally:
        factor = 2.0


def test_names_may_come_later():
    global later_helper
    op = torch.pointwise(halved, methods=False)
    later_helper = scaled
    try:
        assert op(torch.ones(1)).item() == 1
    finally:
        del later_helper
    assert op(torch.ones(1, dtype=torch.float64)).item() == 1, "it stays"


# ---------------------------------------------------------------- what a formula may call
CALLS = {
    "clamp": lambda x: torch.clamp(x, -0.5, 0.75), "clamp min": lambda x: torch.clamp(x, min=-0.5), "clamp max": lambda x: torch.clamp(x, max=0.5),
    "clip": lambda x: torch.clip(x, 0.0, 1.0), "clamp_min": lambda x: torch.clamp_min(x, 0.25), "clamp_max": lambda x: torch.clamp_max(x, 0.25),
    "pow": lambda x: torch.pow(x * x + 1, 1.5), "add alpha": lambda x: torch.add(x, 3.0, alpha=2), "sub": lambda x: torch.sub(x, 3.0),
    "sub alpha": lambda x: torch.sub(x, 3.0, alpha=2), "rsub": lambda x: torch.rsub(x, 1.0), "logit": lambda x: torch.logit(torch.sigmoid(x), 0.4),
    "addcmul": lambda x: torch.addcmul(x, x, x), "addcmul value": lambda x: torch.addcmul(x, x, x, value=3), "addcdiv": lambda x: torch.addcdiv(x, x, x + 3),
    "nan_to_num": lambda x: torch.nan_to_num(x), "where": lambda x: torch.where(x > 0, x, -x), "maximum": lambda x: torch.maximum(x, x * x),
    "lerp": lambda x: torch.lerp(x, x * x, 0.25), "xlogy": lambda x: torch.xlogy(x, x * x + 1), "expm1": lambda x: torch.expm1(x),
    "softplus": lambda x: F.softplus(x), "softplus beta": lambda x: F.softplus(x, 2.0), "leaky_relu": lambda x: F.leaky_relu(x, 0.2),
    "elu": lambda x: F.elu(x), "selu": lambda x: F.selu(x), "celu": lambda x: F.celu(x, 0.5), "hardtanh": lambda x: F.hardtanh(x, -0.5, 0.5),
    "relu6": lambda x: F.relu6(x), "hardswish": lambda x: F.hardswish(x), "hardsigmoid": lambda x: F.hardsigmoid(x), "silu": lambda x: F.silu(x),
    "mish": lambda x: F.mish(x), "softsign": lambda x: F.softsign(x), "tanhshrink": lambda x: F.tanhshrink(x), "relu": lambda x: F.relu(x),
    "hardshrink": lambda x: F.hardshrink(x, 0.3), "softshrink": lambda x: F.softshrink(x, 0.3), "threshold": lambda x: F.threshold(x, 0.1, 0.0),
    "gelu": lambda x: F.gelu(x), "logsigmoid": lambda x: F.logsigmoid(x), "operators": lambda x: (x ** 2 + abs(x)) / (1 + x * x) - -x % 3,
}
POINTS = [-2.2, -1.1, -0.4, -0.05, 0.15, 0.35, 0.6, 1.3, 2.7]


@pytest.mark.parametrize("name", CALLS)
def test_a_formula_is_what_it_says_of_tensors(name):
    """Its values and its derivative, which nobody wrote."""
    op = torch.pointwise(CALLS[name], name="formula", methods=False)
    found, wanted = torch.tensor(POINTS, requires_grad=True), torch.tensor(POINTS, requires_grad=True)
    result, expected = op(found), CALLS[name](wanted)
    assert result.dtype is expected.dtype
    np.testing.assert_allclose(result.detach().numpy(), expected.detach().numpy(), rtol=2e-5, atol=1e-6)
    result.sum().backward()
    expected.sum().backward()
    np.testing.assert_allclose(found.grad.numpy(), wanted.grad.numpy(), rtol=2e-5, atol=2e-6)


# ---------------------------------------------------------------- derivatives that follow
def bent(x, y):
    if x > y:
        return x * y
    elif x > 0:
        return torch.exp(x) - y
    return x * x * y


def through_math(x):
    return math.exp(x) * math.sin(x)


def through_helper(x, y):
    return bent(x, y) * x


def with_numbers(x, *, shift, scale=2.0):
    return torch.tanh(x * scale) + shift


DERIVED = {"bent": bent, "math": through_math, "helper": through_helper, "repeated": lambda x, y: x * x * x + y * torch.sin(x) * y,
           "steps": lambda x, y: torch.floor(x) * y, "result": lambda x: torch.exp(torch.exp(x)), "largest": lambda x, y: max(x, y) * min(x, y),
           "constant": lambda x, y: x * 0 + 3 + y}


@pytest.mark.parametrize("name", DERIVED)
def test_derivatives_follow_from_the_formula(name):
    op = torch.pointwise(DERIVED[name], name="formula", methods=False)
    arguments = [torch.tensor([0.7, -0.4, 1.9, 0.2], dtype=torch.float64, requires_grad=True),
                 torch.tensor([0.3, 0.9, -0.8, 1.4], dtype=torch.float64, requires_grad=True)][:op.op.arity]
    assert torch.autograd.gradcheck(op, arguments)
    if name != "steps":
        assert torch.autograd.gradgradcheck(op, arguments)


def test_tensors_as_keyword_arguments_take_part_in_gradients():
    op = torch.pointwise(with_numbers, methods=False)
    x, scale, shift = (torch.tensor(v, dtype=torch.float64, requires_grad=True) for v in ([0.3, -0.6], 1.5, 0.25))
    assert torch.autograd.gradcheck(lambda *a: op(a[0], scale=a[1], shift=a[2]), (x, scale, shift))
    product = torch.pointwise(lambda x, y: x * y, name="formula", methods=False)
    product(x, y=scale).sum().backward()
    assert scale.grad.item() == pytest.approx(-0.3)


def test_a_written_derivative_is_taken():
    op = torch.pointwise(lambda x: x * x, name="formula", methods=False)
    op.derivative(lambda grad, x: grad * 10)
    x = torch.ones(2, requires_grad=True)
    op(x).sum().backward()
    assert x.grad.tolist() == [10, 10]


def test_a_derivative_by_a_number_that_was_not_written():
    op = torch.pointwise(with_numbers, name="formula", methods=False)
    op.derivative(lambda grad, x: grad)
    with pytest.raises(NotImplementedError, match="the derivative for 'formula' by 'scale' is not implemented"):
        op(torch.ones(2), scale=torch.tensor(2.0, requires_grad=True), shift=0.0)


def spiral(x):
    while x > 1:
        x = x / 2
    return x


def test_what_cannot_be_read_has_values_and_says_so_of_its_derivative():
    op = torch.pointwise(spiral, methods=False)
    assert op(torch.tensor([3.0, 8.0])).tolist() == [0.75, 1.0]
    with pytest.raises(NotImplementedError, match=r"derivative for 'spiral' is not implemented.*@spiral.derivative"):
        op(torch.ones(2, requires_grad=True))


# ---------------------------------------------------------------- several results
def polar(x, y):
    return torch.hypot(x, y), torch.atan2(y, x)


def test_several_results():
    op = torch.pointwise(polar, methods=False)
    x, y = torch.tensor([3.0, 0.0], requires_grad=True), torch.tensor([4.0, 2.0])
    radius, angle = op(x, y)
    np.testing.assert_allclose(radius.tolist(), [5, 2])
    np.testing.assert_allclose(angle.tolist(), [math.atan2(4, 3), math.pi / 2], rtol=1e-6)
    (radius + angle).sum().backward()
    np.testing.assert_allclose(x.grad.tolist(), [3 / 5 - 4 / 25, 0 - 2 / 4], rtol=1e-5)


# ---------------------------------------------------------------- pickle
def test_an_op_pickles_by_its_name():
    assert pickle.loads(pickle.dumps(torch.sigmoid)) is torch.sigmoid and pickle.loads(pickle.dumps(own)) is own
    assert pickle.loads(pickle.dumps(torch.sigmoid.op)) is torch.sigmoid.op


@torch.pointwise
def own(x):
    return x * x


SENT = """
import sys, pickle, cloudpickle
import numtorch as torch
@torch.pointwise
def cube(x, *, by=2.0):
    return torch.pow(x, 3) * by
@torch.pointwise
def over(x):
    return cube(x) + cube(x, by=1.0)
@torch.pointwise(methods=False)
def several(x, y):
    return torch.hypot(x, y), x * y
@torch.pointwise
def written(x):
    return x * x
@written.derivative
def _(grad, x):
    return grad * 10
def made(by):
    return torch.pointwise(lambda x: over(x) * by, name="enclosed", methods=False)
enclosed = made(0.5)
def run(each):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    results = each(x, x) if each.__name__ == "several" else (each(x),)
    sum(results).sum().backward()
    return [*[r.tolist() for r in results], x.grad.tolist()]
if __name__ == "__main__":
    ops = [cube, over, several, written, enclosed, lambda x: cube(x) + over(x)]
    wanted = [run(op) for op in ops]                     # plans and derivatives are there then, and stay at home
"""


def ran(path, *arguments):
    done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, timeout=240, cwd=path)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return done.stdout


def test_ops_travel_by_value(tmp_path):
    """cloudpickle, which knows nothing of us: of a script's own module, in a closure, over other ops, with several results, with a
    written derivative, and used before."""
    (tmp_path / "send.py").write_text(SENT + """
    def check(ops=ops, wanted=wanted, run=run):
        assert [run(op) for op in ops] == wanted
        x = torch.tensor([1.0, 2.0])
        assert x.cube_(by=1.0).tolist() == [1, 8] and ops[1](x, out=torch.empty(2)).tolist() == [3, 1536]
        assert not hasattr(x, "several") and not hasattr(x, "enclosed")
        with torch.inference_mode():
            assert ops[0](x).is_inference()
        with torch.no_grad():
            assert not ops[0](x.requires_grad_()).requires_grad
        return "right"
    assert all(a.op is b.op for a, b in zip(pickle.loads(cloudpickle.dumps(ops[:2])), ops))
    open("ops", "wb").write(cloudpickle.dumps(check))
""")
    ran(tmp_path, "send.py")
    assert ran(tmp_path, "-c", "import pickle; print(pickle.load(open('ops', 'rb'))())") == "right\n"


@pytest.mark.parametrize("library", ["multiprocessing", "numtorch.multiprocessing"])
def test_ops_reach_spawned_processes(tmp_path, library):
    (tmp_path / "spawn.py").write_text(SENT.replace("if __name__", f"import {library} as mp\nif __name__") + """
    sent = ops[:4] if mp.__name__ == "multiprocessing" else ops          # which pickles by names alone
    with mp.get_context("spawn").Pool(1) as pool:
        print(pool.map(run, sent) == wanted[:len(sent)])
""")
    assert ran(tmp_path, "spawn.py") == "True\n"


# ---------------------------------------------------------------- why a function is no formula
def returns_nothing(x):
    x * 2


def returns_sometimes(x):
    if x > 0:
        return x


def tries(x):
    try:
        return x
    except ValueError:
        return 0 * x


def calls_wrong(x):
    return returns_nothing(x)


REFUSED = {
    "an undefined name": (lambda x: x * undefined_name, NameError, "name 'undefined_name' is not defined"),              # noqa: F821
    "a typing error": (lambda x: torch.sihn(x), NameError, "'numtorch' has no 'sihn'"),
    "a method": (lambda x: x.exp(), TypeError, r"x.exp: in a formula 'x' is one number, which has no 'exp'; write torch.exp\(x"),
    "a reduction's method": (lambda x: x.sum(), TypeError, "x.sum: in a formula 'x' is one number.*before or after"),
    "a shape": (lambda x: x * x.shape, TypeError, "x.shape: in a formula 'x' is one number"),
    "a reduction": (lambda x: torch.sum(x), TypeError, "sum is no elementwise op"), "softmax": (lambda x: F.softmax(x, 0), TypeError, "softmax is no"),
    "no result": (returns_nothing, TypeError, "nothing is returned here"), "no result in a branch": (returns_sometimes, TypeError, "nothing is returned"),
    "text": (lambda x: f"{x}", TypeError, "text has no meaning in a formula"), "a list": (lambda x: [x][0], TypeError, "a list has no meaning"),
    "an index": (lambda x: x[0], TypeError, "an index has no meaning in a formula"), "try": (tries, TypeError, "try and with have no meaning"),
    "a dict": (lambda x: {1: x}[1], TypeError, "a dict has no meaning"), "a helper that is none": (calls_wrong, TypeError, "formula 'returns_nothing'"),
    "text beside a number": (lambda x: x + "a", TypeError, "text has no meaning in a formula"),
    "text alone": (lambda x: "a", TypeError, "text has no meaning in a formula"),
    "something printed": (lambda x: print(x) or x, TypeError, r"print\(\) has no meaning in a formula"),
    "a length": (lambda x: x * len((1, 2)), TypeError, r"len\(\) has no meaning in a formula"),
    "NumPy": (lambda x: np.sin(x), TypeError, r"NumPy's sin computes with arrays; write torch\.sin"),
    "NumPy's where": (lambda x: np.where(x > 0, x, 0), TypeError, r"NumPy's where computes with arrays; write torch\.where"),
    "a tensor": (lambda x: x * WEIGHT, TypeError, "a tensor in a formula would be one number"),
}
WEIGHT = torch.ones(2)


@pytest.mark.parametrize("name", REFUSED)
def test_the_reason_is_told_with_its_line(name):
    function, kind, words = REFUSED[name]
    op = torch.pointwise(function, name="formula", methods=False)
    for _ in range(2):
        with pytest.raises(kind, match=words) as caught:
            op(torch.ones(3))
        assert f"line {function.__code__.co_firstlineno}" in str(caught.value) or name in ("no result", "no result in a branch", "try",
                                                                                          "a helper that is none")
        assert __file__ in str(caught.value)


@pytest.mark.skipif(DISABLE_JIT, reason="Python takes more than Numba")
def test_what_only_numba_refuses_is_told_in_its_words():
    with pytest.raises(NotImplementedError, match=r"the formula has no meaning for that dtype \(."):
        torch.pointwise(lambda x: int.from_bytes(x), name="formula", methods=False)(torch.ones(3))
