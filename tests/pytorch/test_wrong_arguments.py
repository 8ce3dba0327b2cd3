"""What is plainly no number, truth value or text where one is expected is refused where PyTorch refuses it, and taken where it takes it.

The table is PyTorch's own (`op_db`): of each entry, what stands among the arguments of some samples is replaced. More, and whether what
is taken gives the same: `python -m tests.wrongarguments`.
"""
from __future__ import annotations

import datetime

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed to compare with")
if not torch.__version__.startswith("2.13."):
    pytest.skip("what is known to differ was noted with PyTorch 2.13", allow_module_level=True)
pytest.importorskip("expecttest", reason="PyTorch's table of operations needs expecttest")

from tests.opdb import ENTRIES  # noqa: E402
from tests.wrongarguments import differences, plainly_wrong  # noqa: E402

DAYS = 12                                                # in which every entry has its turn

# What differs on purpose, by how entries begin, with the reason. The kind of error is not compared: a text that is no mode of an op's
# may be a ValueError where PyTorch says TypeError.
WINDOWS = "a window's numbers are looked at when a plan is made: what is equal (2.0, (1.0, 1.0), and 1 for True) finds that of a known call"
ON_PURPOSE = {
    **dict.fromkeys(("nn.functional.avg_pool", "nn.functional.max_pool", "nn.functional.adaptive_"), WINDOWS),
    "nn.functional.max_unpool": "floats as sizes of windows are refused; PyTorch computes with them",
    "__getitem__": "a list of floats is no index; PyTorch cuts off what is behind the point",
}


def reason(name):
    return next((why for begin, why in ON_PURPOSE.items() if name.startswith(begin)), None)


TODAY = datetime.date.today().toordinal() % DAYS


@pytest.mark.parametrize("name", [n for i, n in enumerate(sorted(ENTRIES)) if i % DAYS == TODAY and reason(n) is None])
def test_what_pytorch_refuses(name):
    assert not [f for f in differences(name, plainly_wrong) if f[-1].startswith(("refused", "accepted"))]


@pytest.mark.parametrize("begin", ON_PURPOSE)
def test_what_differs_on_purpose_is_there(begin):
    assert any(name.startswith(begin) for name in ENTRIES)
