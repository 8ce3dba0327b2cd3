"""The users' Functions and ops of PyTorch's own tables, defined in both libraries: values, gradients of first and second order, and what
transforms make of them."""
from __future__ import annotations

import functools
import inspect
import types
import warnings

import numpy as np
import pytest
from pytorchtables import pytorch

import numtorch

torch = pytorch()

from tests.opdb import array, ours, parts  # noqa: E402

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from torch.testing._internal import autograd_function_db, custom_op_db


def entries(table, name):
    """The entries of a table by name, PyTorch's and numtorch's: its text with the other library's name."""
    text = inspect.getsource(table).partition("import numpy as np")[2]     # behind what it imports
    text = text.replace("from torch import Tensor\n", "Tensor = torch.Tensor\n").replace("._opoverload", "")
    scope = {**vars(table), "torch": numtorch, "all_types_and": lambda *dtypes: dtypes,
             "OpInfo": lambda name, **words: types.SimpleNamespace(name=name, **words)}
    exec(compile(text, "functions", "exec"), scope)
    return {info.name: (info, mine) for info, mine in zip(getattr(table, name), scope[name], strict=True)}


ENTRIES = {**entries(autograd_function_db, "autograd_function_db"), **entries(custom_op_db, "custom_op_db")}


def tensors(value, library):
    return [t for t in parts(value) if isinstance(t, library.Tensor)]


def floats(function, library):
    """The floating-point results of a function, as a tuple."""
    return lambda *args: tuple(t for t in tensors(function(*args), library) if t.is_floating_point())


def gradients(library, function, args, power=1, again=False):
    leaves = [t for t in tensors(args, library) if t.requires_grad]
    results = [t for t in tensors(function(*args), library) if t.requires_grad]
    found = library.autograd.grad([(t ** power).sum() for t in results], leaves, allow_unused=True, create_graph=again)
    if again:
        found = library.autograd.grad([g.sum() for g in found if g is not None and g.requires_grad], leaves, allow_unused=True)
    return list(found)


def two(library, x):
    return library.stack([x.detach(), x.detach() * 0.5])


ASPECTS = {
    "values": lambda library, f, x, *rest: tensors(f(x, *rest), library),
    "gradients": lambda library, f, *args: gradients(library, f, args),
    "second gradients": lambda library, f, *args: gradients(library, f, args, 2, True),
    "samples": lambda library, f, x, *rest: tensors(library.func.vmap(lambda x: floats(f, library)(x, *rest))(two(library, x)), library),
    "gradients of samples": lambda library, f, x, *rest: [library.func.vmap(library.func.grad(
        lambda x: sum(t.sum() for t in floats(f, library)(x, *rest))))(two(library, x))],
    "tangents": lambda library, f, x, *rest: library.func.jvp(lambda x: floats(f, library)(x, *rest), (x.detach(),), (library.ones_like(x),))[1],
}


def outcome(aspect, library, function, args):
    try:
        return [None if t is None else array(t) for t in ASPECTS[aspect](library, function, *args)]
    except Exception as error:
        return type(error)


OF_ALL = list(ASPECTS)[:4]                               # PyTorch refuses gradients of samples of ops, and takes their tangents for zeros


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name, aspect", [(name, aspect) for name in ENTRIES for aspect in (OF_ALL if name.endswith("CustomOp") else ASPECTS)])
def test_function(name, aspect):
    info, mine = ENTRIES[name]
    if (name, aspect) == ("NumpyCubeNotComposableAutogradFunction", "second gradients"):
        pytest.skip("where a backward cannot be differentiated, PyTorch says so only on the way to a leaf")
    torch.manual_seed(0)
    for sample in list(info.sample_inputs_func(info, "cpu", torch.float32, requires_grad=True))[:3]:
        given = sample.input, *sample.args
        if not isinstance(sample.input, torch.Tensor) and aspect not in OF_ALL[:3]:
            continue
        found = outcome(aspect, numtorch, functools.partial(mine.op, **sample.kwargs), ours(given))
        wanted = outcome(aspect, torch, functools.partial(info.op, **sample.kwargs), given)
        if isinstance(found, type) or isinstance(wanted, type):
            assert found is wanted
            continue
        for one, other in zip(found, wanted, strict=True):
            assert (one is None) == (other is None)
            if one is not None:
                np.testing.assert_allclose(one, other, 1e-4, 1e-5)
