"""`torch.ops.aten`: the names are PyTorch's, and calls that PyTorch makes of them give the same here.

PyTorch's own table of operations is run under a mode that writes down which ATen calls it ends in; these are made again here.
"""
from __future__ import annotations

import warnings

import numpy as np
import pytest
from daily import todays

import numtorch
from numtorch.aten import Overload, Packet
from numtorch.aten.forms import FORMS
from numtorch.aten.names import DIFFERENTIATED, DIRECT, ORDERED

aten = numtorch.ops.aten


def test_overloads():
    a, b = numtorch.tensor([1.0, 2.0]), numtorch.tensor([3.0, 4.0])
    assert isinstance(aten.add, Packet) and isinstance(aten.add.Tensor, Overload) and aten.add is aten.add
    assert aten.add.Tensor(a, b).tolist() == aten.add(a, b).tolist() == aten.add.Tensor(self=a, other=b).tolist() == [4, 6]
    assert str(aten.add.Tensor) == "aten.add.Tensor" and str(aten.mm) == "aten.mm" and aten.mm.default.overloadpacket is aten.mm
    assert aten.std(a, False).item() == 0.5 and aten.std.correction(a, [0], correction=0).item() == 0.5
    assert aten.mse_loss(a, b, 0).tolist() == [4, 4] and aten.mse_loss.default(a, b, reduction=2).item() == 8


def test_an_overload_is_its_function_in_lists_of_ops():
    assert numtorch.mm in {aten.mm.default} and numtorch.mm in [aten.mm.default] and aten.mm.default != numtorch.bmm
    calls = []

    def contexts():
        return numtorch.utils.checkpoint.create_selective_checkpoint_contexts([aten.mm.default])

    def counted(x):
        calls.append(1)
        return numtorch.mm(x, x).exp()
    x = numtorch.eye(2).requires_grad_()
    numtorch.utils.checkpoint.checkpoint(counted, x, use_reentrant=False, context_fn=contexts).sum().backward()
    assert len(calls) == 2 and x.grad is not None


def test_what_is_not_there_says_so():
    with pytest.raises(AttributeError, match=r"'aten\.add' has no overload name 'Tensr'"):
        aten.add.Tensr
    with pytest.raises(AttributeError, match=r"no torch\.ops\.aten\.embedding_bag: call numtorch's own embedding_bag"):
        aten.embedding_bag
    with pytest.raises(AttributeError, match=r"no torch\.ops\.aten\._cudnn_rnn: the ops are functions of numtorch"):
        aten._cudnn_rnn
    with pytest.raises(AttributeError, match=r"no torch\.ops\.torchvision: of torch\.ops, ATen's names"):
        numtorch.ops.torchvision


NAMES = sorted({*[name for names in DIRECT.values() for name in names.split()], *[key.partition(".")[0] for key in ORDERED], *FORMS,
                *[f"{name}_backward" for name in DIFFERENTIATED]})


def test_the_names_are_pytorchs():
    torch = pytest.importorskip("torch")
    wrong = []
    for name in NAMES:
        theirs = getattr(torch.ops.aten, name, None)
        wrong += [f"{name}.{o}" for o in getattr(aten, name).overloads() if theirs is None or o not in theirs.overloads()]
    assert not wrong


# ---------------------------------------------------------------- beside PyTorch
DAYS = 12                                                # in which every entry of the table has its turn

# What differs where it is called so, with the reason.
DIFFERS = {
    "linalg_eig.default": "eigenvectors are determined to a factor, and stand in any order",
    "special_bessel_j0.default": "PyTorch is wrong from the sixth digit on between -5.6 and 5.6",
    "special_bessel_y1.default": "PyTorch is wrong from the fifth digit on beside 5.6",
}


def calls_of(name):
    """The ATen calls that an entry's samples end in, one an overload: (overload, arguments, results)."""
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode

    from tests.opdb import ENTRIES, kind_of, samples_of, theirs
    made = {}

    def kept(value):
        if isinstance(value, torch.Tensor):
            return value.detach().clone()
        return type(value)(map(kept, value)) if type(value) in (list, tuple) else value

    class Noting(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            given = [kept(a) for a in args], {k: kept(v) for k, v in (kwargs or {}).items()}
            result = func(*args, **(kwargs or {}))
            if func.namespace == "aten" and all(t.layout is torch.strided for t in tensors(result)):
                made.setdefault(str(func).removeprefix("aten."), (*given, kept(result)))
            return result

    def tensors(value):
        return [value] if isinstance(value, torch.Tensor) else [t for v in value for t in tensors(v)] if isinstance(value, (list, tuple)) else []

    op, kind = ENTRIES[name], kind_of(ENTRIES[name])
    for sample in samples_of(op, kind, 3, False) if kind is not None else ():
        torch.manual_seed(0)
        with Noting():
            try:
                theirs(op)(sample.input, *sample.args, **sample.kwargs)
            except Exception:
                continue
    return made


def entries():
    pytest.importorskip("torch")
    pytest.importorskip("expecttest", reason="PyTorch's table of operations needs expecttest")
    from tests.opdb import ENTRIES
    return sorted(ENTRIES)


RANDOM = ("rand", "bernoulli", "normal", "dropout", "multinomial", "empty", "poisson", "binomial", "uniform", "exponential", "cauchy", "geometric", "resize", "_standard_gamma")


def check_calls(name):
    import torch

    from tests.opdb import compare, ours, parts
    wrong = []
    for place, (args, kwargs, wanted) in calls_of(name).items():
        op, _, overload = place.partition(".")
        packet = getattr(aten, op) if op in NAMES else None
        if packet is None or overload not in packet.overloads() or any(word in op for word in RANDOM):
            continue
        try:
            given = ours((args, kwargs))
            found = getattr(packet, overload)(*given[0], **given[1])
            for one, other in zip(parts(found), parts(wanted)):
                if isinstance(other, torch.Tensor):
                    compare(one.detach(), other, place)
        except Exception as error:
            wrong.append(f"{place}: {type(error).__name__}: {' '.join(str(error).split())[:300]}")
    return [line for line in wrong if line.partition(":")[0] not in DIFFERS]


def test_calls_that_pytorch_makes():
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        wrong = [f"{name}: {line}" for name in todays(entries(), DAYS) for line in check_calls(name)]
    assert not wrong, "\n".join(wrong)


def test_forms_of_sparse_products():
    for library in (numtorch, pytest.importorskip("torch")):
        a, b = library.tensor([[1., 0.], [2., 3.]]).to_sparse_csr(), library.tensor([[1., 2.], [3., 4.]])
        assert library.ops.aten._sparse_addmm.default(b, a, b, beta=2).tolist() == [[3, 6], [17, 24]]
        out, picked = library.ops.aten._sparse_mm_reduce_impl.default(a, b, "amax")
        assert out.tolist() == [[1, 2], [9, 12]] and picked.shape == (0,) and picked.dtype is library.int64
