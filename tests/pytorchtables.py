"""PyTorch, for tests that read the tables which it tests itself with (`torch.testing._internal`)."""
from __future__ import annotations

import pytest


def pytorch():
    """PyTorch in the version whose tables are known here. Skips the module that asks where there is none."""
    torch = pytest.importorskip("torch", reason="PyTorch is not installed to compare with")
    if not torch.__version__.startswith("2.13."):
        pytest.skip("what is known to differ was noted with PyTorch 2.13", allow_module_level=True)
    pytest.importorskip("expecttest", reason="PyTorch's tables need expecttest")
    return torch
