"""Python's numbers and texts of tensors of one element."""
from __future__ import annotations

import pytest

import numtorch as torch


def test_complex_numbers_are_real_ones_where_nothing_is_lost():
    assert float(torch.tensor(1.5 + 0j)) == 1.5 and int(torch.tensor([2 + 0j])) == 2 and complex(torch.tensor(1j)) == 1j
    for kind in (float, int):
        with pytest.raises(RuntimeError, match="cannot be converted to type"):
            kind(torch.tensor(1 + 2j))


def test_a_number_without_data_is_formatted_as_it_is_printed():
    x = torch.empty((), device="meta")
    assert f"{x}" == repr(x) and f"{torch.tensor(1.5):.2f}" == "1.50"


def test_counting_integers_beyond_int64_is_refused():
    """Their largest was read as a negative number, and counts were written in front of the result."""
    for largest in (2**63, 2**64 - 1):
        with pytest.raises(RuntimeError, match=r"allocate|overflow"):
            torch.bincount(torch.tensor([0, 1, largest], dtype=torch.uint64))
    assert torch.bincount(torch.tensor([0, 2], dtype=torch.uint64)).tolist() == [1, 0, 1]
