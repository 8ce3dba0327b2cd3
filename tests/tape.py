"""What tests of the tape make and compare tensors of either library with."""
from __future__ import annotations

import numpy as np


def leaf(torch, *values, dtype=None):
    return torch.tensor([float(v) for v in values] if len(values) > 1 else float(values[0]), dtype=dtype, requires_grad=True)


def values(tensor):
    return None if tensor is None else tensor.tolist()


def close(got, wanted, **tolerance):
    np.testing.assert_allclose(np.array(values(got)), wanted, **{"rtol": 1e-5, "atol": 1e-6, **tolerance})
