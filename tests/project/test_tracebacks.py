"""A user's mistake gives a traceback that begins at the user's line: one exception, and a text for every frame."""
import copy
import csv
import inspect
import linecache
import os
import subprocess
import sys
import traceback
import warnings
from pathlib import Path

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
    "a loss": lambda: F.mse_loss("a", X), "a loss's target": lambda: F.l1_loss(X, None), "a window that is a dict": lambda: F.max_pool2d(X[None], {}),
    "a weight that is computed": lambda: torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(3, 4))(torch.ones(2, 5)),
    "item of a batch": lambda: torch.func.vmap(lambda x: x.item())(X[0]), "a batch's truth": lambda: torch.func.vmap(lambda x: x and x)(X[0]),
    "a view of a batch": lambda: torch.func.vmap(lambda x: x.view(7))(X), "a sparse tensor": lambda: X.to_sparse() @ X,
    "another's tensor": lambda: torch.from_numpy([1]), "texts": lambda: torch.from_numpy(np.array(["a"])), "meta": lambda: X.to("meta").item(),
    "a loader": lambda: next(iter(torch.utils.data.DataLoader([X, X[0]], batch_size=2))), "a state": lambda: torch.nn.ReLU().load_state_dict(3),
    "a product of jvp": lambda: torch.func.jvp(lambda x: x @ x, (X,), (X,)), "grad of several": lambda: torch.func.grad(lambda x: x)(X),
}


def frames_of_one_exception(error):
    assert error.__context__ is None or error.__suppress_context__, f"during the handling of {error.__context__!r}"
    frames = traceback.extract_tb(error.__traceback__)
    assert all(f.line for f in frames), [f for f in frames if not f.line]
    return frames


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_one_exception_from_the_users_line(name):
    with pytest.raises(Exception) as caught:
        MISTAKES[name]()
    assert [f.filename for f in frames_of_one_exception(caught.value)[:2]] == [__file__, __file__]


with open(Path(__file__).parents[1] / "pytorch" / "calls" / "mistakes.tsv", newline="") as _file:
    EXPRESSIONS = [row["expression"] for row in csv.DictReader(_file, delimiter="\t", quoting=csv.QUOTE_NONE)]


def typed(expression, path):
    """A function of a file that has the expression as its only line."""
    path.write_text(f"lambda: {expression}")
    return eval(compile(path.read_text(), path, "eval"), {"torch": torch, "numpy": np, "copy": copy})


def test_mistakes_of_the_table_are_one_exception(tmp_path):
    """Those that tests/pytorch/calls/test_mistakes.py compares with PyTorch."""
    wrong = {}
    for number, expression in enumerate(EXPRESSIONS):
        file = tmp_path / f"{number}.py"
        function = typed(expression, file)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                function()
            except Exception as error:
                try:
                    assert str(file) in [f.filename for f in frames_of_one_exception(error)]
                except AssertionError as problem:
                    wrong[expression] = str(problem)
            else:
                wrong[expression] = "no mistake"
    assert wrong == {}


def in_a_hook(mistake):
    x = torch.ones(2, requires_grad=True)
    x.register_hook(lambda grad: mistake())
    (x * 2).sum().backward()


def in_a_hook_on_the_way(mistake):
    y = torch.ones(2, requires_grad=True) * 2
    y.register_hook(lambda grad: mistake())
    y.sum().backward()


def in_a_nodes_hook(mistake):
    y = torch.ones(2, requires_grad=True) * 2
    y.grad_fn.register_hook(lambda grad_inputs, grad_outputs: mistake())
    y.sum().backward()


def in_a_forward_hook(mistake):
    layer = torch.nn.Linear(2, 2)
    layer.register_forward_hook(lambda *args: mistake())
    layer(torch.ones(1, 2))


def in_a_backward_hook(mistake):
    layer = torch.nn.Linear(2, 2)
    layer.register_full_backward_hook(lambda *args: mistake())
    layer(torch.ones(1, 2)).sum().backward()


def in_backward_of_a_function(mistake):
    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad_output):
            return mistake()
    Twice.apply(torch.ones(2, requires_grad=True)).sum().backward()


def in_a_checkpoint(mistake):
    torch.utils.checkpoint.checkpoint(lambda x: mistake(), torch.ones(2, requires_grad=True), use_reentrant=False)


def in_a_compiled_function(mistake):
    torch.compile(lambda x: (x * 2, mistake()))(torch.ones(2))


def in_a_replayed_function(mistake):
    now = []
    function = torch.compile(lambda x: mistake() if now else x * 2)
    for _ in range(4):
        function(torch.ones(2))
    now.append(True)
    function(torch.ones(2))


def in_a_batch(mistake):
    torch.func.vmap(lambda x: (x * 2, mistake()))(torch.ones(3, 2))


def in_a_transform(mistake):
    torch.func.grad(lambda x: (x * 2, mistake())[0].sum())(torch.ones(2))


def in_forward_mode(mistake):
    torch.func.jvp(lambda x: (x * 2, mistake())[0], (torch.ones(2),), (torch.ones(2),))


def in_an_optimisers_closure(mistake):
    torch.optim.LBFGS([torch.ones(2, requires_grad=True)]).step(mistake)


def in_a_dataset(mistake):
    next(iter(torch.utils.data.DataLoader([0, 1], collate_fn=lambda rows: mistake())))


PLACES = [in_a_hook, in_a_hook_on_the_way, in_a_nodes_hook, in_a_forward_hook, in_a_backward_hook, in_backward_of_a_function, in_a_checkpoint,
          in_a_compiled_function, in_a_replayed_function, in_a_batch, in_a_transform, in_forward_mode, in_an_optimisers_closure, in_a_dataset]


@pytest.mark.parametrize("place", PLACES)
def test_a_mistake_is_one_exception_wherever_it_is_made(place):
    """The users' lines are in it: the one that began, and the one with the mistake."""
    wrong = {}
    for name in ("add", "exp", "matmul", "sum", "gather", "conv2d", "view", "index", "cross_entropy", "a weight that is computed"):
        with pytest.raises(Exception) as caught:
            place(MISTAKES[name])
        try:
            lines = [f.line for f in frames_of_one_exception(caught.value) if f.filename == __file__]
        except AssertionError as problem:
            wrong[name] = str(problem)
        else:
            assert lines[0] == "place(MISTAKES[name])" and len(lines) > 2, lines
    assert wrong == {}


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


@pytest.mark.parametrize("function", [torch.add, torch.exp, torch.Tensor.sum, torch.softmax, torch.view_copy])
def test_functions_whose_calls_are_seen_show_their_own_text(function):
    """Where a profile, autocast or a subclass stands before all of them."""
    before = inspect.getsource(function), inspect.signature(function)
    with torch.profiler.profile():
        assert (inspect.getsource(function), inspect.signature(function)) == before
    assert (inspect.getsource(function), inspect.signature(function)) == before


def test_generated_text_outlives_a_check_of_files():
    linecache.checkcache()
    assert np.any(["plans" in line for line in linecache.getlines(torch.exp.__code__.co_filename)])


ROOT = Path(__file__).resolve().parent.parent.parent
CALLING_KERNELS = """
import linecache, sys
import numtorch as torch
files = set()
def trace(frame, event, argument):
    if not str(frame.f_globals.get("__name__")).startswith("namedtuple_"):
        files.add(frame.f_code.co_filename)
x = torch.ones(3, 4, requires_grad=True)
squareplus = torch.pointwise(lambda x: (x + torch.sqrt(x * x + 4)) / 2, name="squareplus", methods=False)
adam = torch.optim.Adam([x])
for tracing in (None, trace):                            # the first time modules are imported and classes made, which is text too
    sys.settrace(tracing)
    (torch.expm1(squareplus(x)) * x).sum().backward()
    adam.step()
sys.settrace(None)
print(*sorted(file for file in files if file.startswith("<") and not (file.startswith("<frozen") or linecache.getlines(file))), sep="; ")
print(*sorted(file for file in files if file.startswith("<numtorch")), sep="; ")
"""


def test_functions_that_are_written_have_text_under_the_same_name_in_every_process(tmp_path):
    """Kernels run as Python: debuggers show their lines, and what compiles them finds them again."""
    file = tmp_path / "calling.py"
    file.write_text(CALLING_KERNELS)
    said = [subprocess.run([sys.executable, file], env={**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)},
                           capture_output=True, text=True, check=True, timeout=100).stdout for seed in ("1", "2")]
    without, written = said[0].splitlines()
    assert not without and said[0] == said[1]
    for title in ("function", "pointwise kernel", "derivative", "polynomial", "optimiser kernel"):
        assert f"<numtorch {title} " in written
