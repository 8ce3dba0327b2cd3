"""Users' elementwise ops in scripts: as Python, as a script, from a file, and in a library."""
import pytest
from scriptruns import argument, outcome, through_file

import numtorch as torch
from numtorch.jit.scripting import formulas, loading


@torch.pointwise
def swish(x, *, beta=1.0):
    return x / (1 + torch.exp(-x * beta))


@torch.pointwise
def larger(x, y):
    return swish(x) if x > y else y * (2.0 ** 3)


@torch.pointwise(methods=False)
def sum_and_product(x, y):
    return x + y, x * y


@torch.pointwise
def straight(x):
    return torch.round(x * 4) / 4


@straight.derivative
def _(grad):
    return grad


@torch.pointwise(kind="float")
def doubled(x):
    return x * 2


def program(x, n: int):
    for i in range(n):
        x = swish(x, beta=float(i)) + larger(x, x * 0.5 + 0.1)
    a, b = sum_and_product(x, 3)
    return a, torch.jit.wait(torch.jit.fork(swish, b))


class Activated(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.activation = swish

    def forward(self, x):
        return self.activation(x) + 1


def test_ops_of_users_are_called_and_are_in_files_as_what_they_are_made_of():
    script = torch.jit.script(program)
    args = (argument(torch)(4, 5), 3)
    wanted = outcome(program, args, torch)
    assert outcome(script, args, torch) == wanted
    loaded = through_file(script)
    held = str({name: entry for name, entry in loaded.content()["units"][0].items() if name != "program"}.values())
    assert "exp" in held and not any(f"'{each}'" in held for each in ("swish", "larger", "sum_and_product"))
    for each in (loaded, through_file(loaded)):
        values, (gradient,) = outcome(each, args, torch)
        assert values == wanted[0]
        assert torch.tensor(gradient).allclose(torch.tensor(wanted[1][0]), rtol=1e-5, atol=1e-6)
    module = torch.jit.script(Activated())
    assert torch.equal(through_file(module)(args[0]), Activated()(args[0]))


def test_what_is_said_of_a_derivative_is_not_in_a_file():
    def rounded(x):
        return straight(x)
    script = torch.jit.script(rounded)
    x = torch.rand(3).requires_grad_()
    assert torch.autograd.grad(script(x).sum(), x)[0].tolist() == [1, 1, 1]
    assert torch.autograd.grad(through_file(script)(x).sum(), x)[0].tolist() == [0, 0, 0]
    traced = through_file(torch.jit.trace(rounded, torch.rand(3)))
    assert torch.autograd.grad(traced(x).sum(), x)[0].tolist() == [0, 0, 0]


def test_ops_of_users_in_a_library(tmp_path):
    for script in (torch.jit.script(program), through_file(torch.jit.script(program))):
        torch.jit.export_native(script, (torch.rand(2, 3), 2), str(tmp_path / "program"))
        assert (tmp_path / "program.so").exists()


def test_calls_of_ops_of_users_are_looked_at():
    def wrong(x):
        return swish(x, gamma=2.0)

    def missing(x):
        return larger(x)

    def converted(x):
        return doubled(x)
    with pytest.raises(RuntimeError, match="Unknown keyword argument 'gamma'"):
        torch.jit.script(wrong)
    with pytest.raises(RuntimeError, match="missing value for argument 'y'"):
        torch.jit.script(missing)
    script = torch.jit.script(converted)
    assert script(torch.ones(2, dtype=torch.int64)).dtype is torch.float32
    with pytest.raises(NotImplementedError, match="dtype of what doubled gives is not said by its formula"):
        script.content()
    with pytest.raises(RuntimeError, match="swish is an op"):
        torch.jit.script(swish)


@pytest.mark.parametrize("calls", [[("mm", ("x", 0), ("x", 0))], [("exp", ("x", 2))], [("exp", ("v", 0))], [("exp", "x")], []])
def test_a_damaged_formula_is_not_read(calls):
    script = torch.jit.script(Activated())
    content = script.content()
    content["units"][0]["swish"]["formulas"] = [calls]
    with pytest.raises(ValueError):
        loading.from_content(content)
    assert isinstance(script._unit.functions["swish"], formulas.Formula)
