"""Every differentiable op on a sparse tensor: what it gives is what it gives of the dense one, or it says that it has no such meaning."""
import gradientrows as gradients
import numpy as np
import pytest

import numtorch as torch

MAKERS = {"coo": lambda x: x.to_sparse(), "csr": lambda x: x.to_sparse_csr()}
# what a sparse tensor means otherwise: places that are not stored take no part
STORED = frozenset("values softmax log_softmax".split())
REFUSALS = (RuntimeError, TypeError, ValueError, IndexError)


def dense(result):
    """A result as arrays."""
    if isinstance(result, (tuple, list)):
        return [each for r in result for each in dense(r)]
    return [np.array(result.detach().to_dense().tolist())] if isinstance(result, torch.Tensor) else [result]


def outcome(function, inputs):
    torch.manual_seed(0)
    return dense(function(*inputs))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", MAKERS)
def test_ops_on_sparse_tensors(kind):
    calls, wrong = 0, {}
    for name, (function, shapes, _) in gradients.ROWS.items():
        if name in STORED or not shapes:
            continue
        inputs = [x.detach() for x in gradients.points(shapes)]
        expected = outcome(function, inputs)
        for place, x in enumerate(inputs):
            if kind == "csr" and x.ndim != 2:
                continue
            try:
                found = outcome(function, [*inputs[:place], MAKERS[kind](x), *inputs[place + 1:]])
            except REFUSALS as refusal:
                if isinstance(refusal, RecursionError):
                    wrong[name, place] = "does not end"
                continue
            except Exception as error:                   # what a user cannot read
                wrong[name, place] = repr(error)
                continue
            calls += 1
            if len(found) != len(expected) or not all(np.allclose(f, e, equal_nan=True) for f, e in zip(found, expected)):
                wrong[name, place] = "other values"
    assert not wrong, wrong
    assert calls > 60
