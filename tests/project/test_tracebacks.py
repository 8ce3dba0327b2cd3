"""A user's mistake gives a traceback that begins at the user's line: one exception, and a text for every frame."""
import inspect
import linecache
import traceback

import numpy as np
import pytest

import numtorch as torch

F = torch.nn.functional
X, I = torch.ones(2, 3), torch.zeros(2, 3, dtype=torch.int64)
MISTAKES = {
    "add": lambda: X + torch.ones(4), "add_": lambda: X.add_(torch.ones(4)), "exp": lambda: torch.exp("a"), "mm": lambda: X.mm(X),
    "matmul": lambda: X @ X, "bmm": lambda: torch.bmm(X, X), "linear": lambda: F.linear(X, torch.ones(2, 4)), "sum": lambda: X.sum(7),
    "gather": lambda: X.gather(1, X), "scatter": lambda: X.scatter(5, I, 1.0), "cat": lambda: torch.cat([X, 3]), "stack": lambda: torch.stack([]),
    "zeros": lambda: torch.zeros(2, -1), "pad": lambda: F.pad(X, (1,), "x"), "index": lambda: X[5], "index_select": lambda: X.index_select(0, X),
    "copy_": lambda: X.copy_(torch.ones(5)), "softmax": lambda: torch.softmax(X, 4), "conv2d": lambda: F.conv2d(X, X),
    "max_pool2d": lambda: F.max_pool2d(X, -1), "cross_entropy": lambda: F.cross_entropy(X, torch.ones(5, dtype=torch.int64)),
    "layer_norm": lambda: F.layer_norm(X, (7,)), "embedding": lambda: F.embedding(X, X), "sort": lambda: X.sort(3), "cumsum": lambda: X.cumsum(9),
    "flip": lambda: X.flip(9), "repeat": lambda: X.repeat(2), "view": lambda: X.view(5), "transpose": lambda: X.transpose(0, 9),
    "cholesky": lambda: torch.linalg.cholesky(X), "solve": lambda: torch.linalg.solve(X, X), "fft": lambda: torch.fft.fft(X, dim=4),
    "one_hot": lambda: F.one_hot(X), "dropout": lambda: F.dropout(X, 3.0), "einsum": lambda: torch.einsum("ij", X, X), "lerp": lambda: X.lerp(X, None),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_one_exception_from_the_users_line(name):
    with pytest.raises(Exception) as caught:
        MISTAKES[name]()
    error = caught.value
    assert error.__context__ is None or error.__suppress_context__, f"{name}: during the handling of {error.__context__!r}"
    frames = traceback.extract_tb(error.__traceback__)
    assert [f.filename for f in frames[:2]] == [__file__, __file__]
    assert all(f.line for f in frames), [f for f in frames if not f.line]


def test_backward_that_fails_is_one_exception():
    x = torch.ones(3, requires_grad=True)
    y = (x * x).exp()
    y.sum().backward()
    with pytest.raises(RuntimeError) as caught:
        y.sum().backward()
    assert caught.value.__context__ is None


@pytest.mark.parametrize("function", [torch.exp, torch.mul, torch.Tensor.add_, torch.where, torch.sum])
def test_functions_have_text_and_arguments(function):
    assert "def " in inspect.getsource(function)
    assert "input" in inspect.signature(function).parameters or "self" in inspect.signature(function).parameters
    assert function.__doc__


def test_generated_text_outlives_a_check_of_files():
    linecache.checkcache()
    assert np.any(["plans" in line for line in linecache.getlines(torch.exp.__code__.co_filename)])
