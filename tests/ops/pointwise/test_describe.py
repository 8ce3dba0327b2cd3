"""What records say of themselves (`numtorch/ops/pointwise/describe.py`): complete, true, and with examples that run."""
import doctest
import inspect
import math
import sys
from pathlib import Path

import pytest
from optable import ROWS
from test_pointwise import OPS

import numtorch as torch
from numtorch.commands.reference import page, records
from numtorch.ops.pointwise.describe import accepted, gradients_of, refused
from tests.project.test_docstrings import PUBLIC, lacking


def unseen():
    """{module: docstrings} of public functions that doctest's own search skips: generated ones, and methods without another name."""
    found = {}
    for module, things in PUBLIC.items():
        names = vars(sys.modules[module]) if module in sys.modules else {}
        own = {id(value) for value in names.values()}
        for _, value in things:
            value = value.fget if isinstance(value, property) else value
            if inspect.isfunction(value) and (id(value) not in own or value.__globals__ is not names) and ">>>" in (value.__doc__ or ""):
                found.setdefault(module, {})[value.__doc__] = None
    return found


UNSEEN = unseen()


@pytest.mark.parametrize("module", sorted(UNSEEN))
def test_examples(module):
    """Those that test_contributing.py does not run."""
    runner, output = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS), []
    for doc in UNSEEN[module]:
        runner.run(doctest.DocTestParser().get_doctest(doc, {}, module, module, 0), out=output.append)
    assert runner.tries and not runner.failures, "".join(output)


def test_functions_of_records_are_among_them():
    assert len(UNSEEN["numtorch.ops.pointwise.elementary"]) > 25 and len(UNSEEN["numtorch.ops.pointwise.comparison"]) > 15


@pytest.mark.parametrize("kind,letter", [("bool", "b"), ("integer", "i"), ("float", "f"), ("complex", "c")])
def test_dtypes_that_docstrings_name(kind, letter):
    """A record refuses what its row of the table does not try, and nothing that it does."""
    assert not [n for n, op in OPS.items() if (kind in refused(op)) == (letter in ROWS[n].kinds) and letter not in ROWS[n].untried]


def test_every_derivative_has_a_formula():
    lacking = [n for n, op in OPS.items() if op.differentiable and set(gradients_of(op)) != set(op.public[:len(op.operands)])]
    assert not lacking


def test_formulas_are_what_python_computes():
    """Brackets and precedence: the text of a gradient, evaluated, is the gradient."""
    values = {"x": 0.3, "y": 1.7, "grad": 2.0}

    @torch.pointwise(methods=False)
    def brackets(x, y):
        return x

    @brackets.derivative
    def _(grad, x, y):
        shared = torch.exp(x - y) + 1
        return -(grad - (x - (y - 1)) / (x * y / 2)) ** 2 - -x, shared * (shared - 1) / (2 / (x / y)) + (x ** y) ** grad - x ** (y ** -2.0)

    by_x, by_y = gradients_of(brackets.op).values()
    by_y, _, shared = by_y.partition(", t = ")
    scope = {**values, "exp": math.exp}
    scope["t"] = eval(shared, scope)
    expected = brackets.op.derivative_body(*[torch.tensor(values[n], dtype=torch.float64) for n in ("grad", "x", "y")])
    assert eval(by_x, scope) == pytest.approx(expected[0].item()) and eval(by_y, scope) == pytest.approx(expected[1].item())


def test_a_users_record():
    @torch.pointwise(methods=False)
    def twice(x, z, *, shift, times=2):
        """z + times * x.

        Args:
            times: how often.

        Example:
            >>> 1 + 1
            2
        """
        return z + times * x + shift
    doc = twice.__doc__
    assert doc.startswith("z + times * x.\n\nArgs:\n    x, z: tensors or numbers") and ">>> 1 + 1" in doc
    assert "    times: how often.\n    shift: a number of the formula.\n    out: " in doc and "Gradient" not in doc

    @twice.derivative
    def _(grad, times):
        return grad * times, grad
    assert "Gradient:\n    x: grad * times\n    z: grad\n\nExample:" in twice.__doc__
    assert lacking(twice) == [] and lacking(twice.op.inplace) == []

    with pytest.raises(TypeError, match="numbers without a default come first"):
        @torch.pointwise(methods=False)
        def misordered(x, *, times=2, shift):
            return x

    @torch.pointwise(methods=False)
    def bare(x):
        return x

    @bare.derivative
    def _(grad, x):
        return grad * x.no_such_thing                    # found out when a gradient is asked for
    assert "Gradient" not in bare.__doc__
    assert bare.__doc__.startswith("bare(x), elementwise.\n\nArgs:\n    x: tensor of any shape and dtype.\n")


def test_the_page_of_all_records():
    text = (Path(__file__).resolve().parents[3] / "docs" / "ops.md").read_text()
    assert text == page(), "write it again: python -m numtorch ops > docs/ops.md"
    assert len(records()) > 110 and accepted(refused(OPS["gcd"])) == "integers"
    rows = [line.split(" | ") for line in text.partition("# All other primitives")[2].split("\n") if line.startswith("| `")]
    assert len(rows) > 220 and all(len(row) == 7 and row[1].strip() for row in rows)
    gradients = {row[0].lstrip("| `").partition("(")[0]: row[2] for row in rows}
    assert gradients["mm"] == gradients["convolution"] == "any order" and gradients["linalg_cofactors"] == "first"
    dtypes = {row[0].lstrip("| `").partition("(")[0]: row[3] for row in rows}
    assert (dtypes["sum"], dtypes["mean"], dtypes["argmax"]) == ("any", "floats, complex numbers", "integers, floats")
    assert gradients["nonzero"] == gradients["linalg_cofactors_grad"] == "none"
