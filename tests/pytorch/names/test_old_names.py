"""Names that PyTorch keeps in `torch` and on tensors from years ago, or from ATen: each call in both libraries."""
from __future__ import annotations

import itertools
import random
import warnings

import numpy as np
import pytest

import numtorch

torch = pytest.importorskip("torch")

CALLS = {
    "frobenius_norm": lambda t, x: [t.frobenius_norm(x, d) for d in (0, [1], (0, 2), [-1, 1])] + [
        t.frobenius_norm(x, 1, True), t.frobenius_norm(x[0], ())],
    "nuclear_norm": lambda t, x: [t.nuclear_norm(x), t.nuclear_norm(x[0], True), t.nuclear_norm(x, (0, 2)), t.nuclear_norm(x, [0, 1], True),
                                  t.nuclear_norm(x, keepdim=True)],
    "into_out": lambda t, x: [t.frobenius_norm(x, [0], keepdim=True, out=t.empty(0, dtype=x.dtype)), t.nuclear_norm(x, out=t.empty(0, dtype=x.dtype))],
    "norm_except_dim": lambda t, x: [t.norm_except_dim(x), t.norm_except_dim(x, 1, 1), t.norm_except_dim(x, 2, -1), t.norm_except_dim(x[0, 0], 2, 0)],
    "convolution": lambda t, x: [t.convolution(x, x[:, :, :2], None, [1], [0], [1], False, [0], 1),
                                 t.convolution(x, x.transpose(0, 1)[:, :, :2], x[0, 0, :2], [2], [1], [1], True, [1], 1),
                                 t.convolution(x[None], x[:, :1, None, :2], None, [1, 2], [1, 0], [1, 1], False, [0, 0], 2)],
    "conv_tbc": lambda t, x: [t.nn.functional.conv_tbc(x, x.transpose(1, 2)[:2], x[0, 0, :3], 1), t.conv_tbc(x, x.transpose(1, 2)[:1], x[0, 0, :3])],
    "max_pool1d_with_indices": lambda t, x: [*t.max_pool1d_with_indices(x, 2), *t.max_pool1d_with_indices(x, 3, 1, 1, 1, True)],
    "affine_grid_generator": lambda t, x: [t.affine_grid_generator(x[:, :2, :3], (2, 1, 3, 2), corners) for corners in (False, True)],
    "native_channel_shuffle": lambda t, x: [t.native_channel_shuffle(x[:1].reshape(1, 4, 3, 1), 2)],
    "ctc_loss": lambda t, x: [t.ctc_loss(x.transpose(0, 1).log_softmax(2), t.tensor([[1, 2], [2, 1]]), (3, 3), (1, 2), 0, how) for how in (0, 1, 2)],
    "dropout": lambda t, x: [getattr(t, name)(x.clone(), p, training) for name in ("dropout_", "alpha_dropout_", "feature_dropout_", "feature_alpha_dropout_")
                             for p, training in ((0.5, False), (0.0, True))] + [t.dropout_(x.clone(), 1.0, True), *t.native_dropout(x, 0.5, False), *t.native_dropout(x, 1.0, None)],
    "prelu": lambda t, x: [x.prelu(t.tensor(0.5, dtype=x.dtype)), x.prelu(x[0, :, 0])],
    "resize": lambda t, x: [x.resize(4, 6), x.resize_as(x[0].expand(2, 3, 4).flatten())],
    "distributed": lambda t, x: [t.tensor(t.is_distributed(x)), t.tensor(x.volatile), t.tensor(x.const_data_ptr() == x.data_ptr())],
}
REFUSALS = {
    "frobenius_of_three": lambda t, x: t.frobenius_norm(x, (0, 1, 2)), "frobenius_of_none": lambda t, x: t.frobenius_norm(x),
    "frobenius_of_integers": lambda t, x: t.frobenius_norm(x.long(), 0), "nuclear_of_one": lambda t, x: t.nuclear_norm(x, [0]),
    "nuclear_of_a_vector": lambda t, x: t.nuclear_norm(x[0, 0]), "tbc_of_a_matrix": lambda t, x: t.conv_tbc(x[0], x, x[0, 0]),
    "tbc_without_bias": lambda t, x: t.conv_tbc(x, x.transpose(1, 2)[:2], x), "resized": lambda t, x: x.resize(7),
    "convolution_of_a_vector": lambda t, x: t.convolution(x[0, 0], x[0, 0], None, [1], [0], [1], False, [0], 1),
    "in_place_dropout_of_a_leaf": lambda t, x: t.dropout_(x.clone().requires_grad_(), 0.5, True),
    "waiting_for_a_number": lambda t, x: t.jit.wait(1), "module_of_a_number": lambda t, x: t.get_device_module(3),
}


def both(seed=0):
    array = np.random.default_rng(seed).standard_normal((2, 3, 4))
    return (numtorch, numtorch.from_numpy(array)), (torch, torch.from_numpy(array.copy()))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CALLS)
def test_values_are_pytorchs(name):
    found, wanted = [CALLS[name](library, x) for library, x in both()]
    for one, other in zip(found, wanted, strict=True):
        assert str(one.dtype) == str(other.dtype) and tuple(one.shape) == tuple(other.shape)
        np.testing.assert_allclose(one.numpy(), other.numpy(), 1e-9, 1e-12)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["frobenius_norm", "nuclear_norm", "norm_except_dim", "convolution", "conv_tbc", "ctc_loss", "prelu", "resize"])
def test_gradients_are_pytorchs(name):
    slopes = []
    for library, x in both():
        x.requires_grad_()
        made = [t for t in CALLS[name](library, x) if t.requires_grad]
        slopes.append(library.autograd.grad(sum((t ** 2).sum() for t in made), x)[0].numpy())
    np.testing.assert_allclose(*slopes, 1e-7, 1e-9)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", REFUSALS)
def test_refusals_are_pytorchs(name):
    errors = []
    for library, x in both():
        with pytest.raises(Exception) as raised:
            REFUSALS[name](library, x)
        errors.append(raised.value)
    assert isinstance(errors[0], type(errors[1])), errors


def test_native_dropout_scales_what_its_mask_keeps():
    x = numtorch.ones(1000)
    out, mask = numtorch.native_dropout(x, 0.25, True)
    assert numtorch.equal(out, mask / 0.75) and 650 < mask.sum() < 850 and mask.dtype is numtorch.bool
    x = numtorch.ones(1000)
    assert numtorch.dropout_(x, 0.25, True) is x and set(x.unique().tolist()) == {0.0, numtorch.tensor(1 / 0.75).item()}


def test_dim_order():
    """Of permuted and of overlapping dimensions, of one element and of none."""
    random.seed(0)
    for _ in range(1500):
        shape = [random.randint(random.random() > 0.1, 3) for _ in range(random.randint(0, 5))]
        if random.random() < 0.5:
            order = random.sample(range(len(shape)), len(shape))
            pair = [library.empty(shape).permute(order) for library in (numtorch, torch)]
        else:
            strides = [random.choice([0, 1, 2, 3, 4, 6, 12]) for _ in shape]
            pair = [library.empty_strided(shape, strides) for library in (numtorch, torch)]
        found = []
        for library, x in zip((numtorch, torch), pair):
            outcomes = [x.dim_order(), *[x.is_contiguous(memory_format=getattr(library, f)) for f in ("contiguous_format", "channels_last", "channels_last_3d")]]
            for check in (True, [], [library.contiguous_format, library.channels_last]):
                try:
                    outcomes.append(x.dim_order(ambiguity_check=check))
                except RuntimeError:
                    outcomes.append("several")
            found.append(outcomes)
        assert found[0] == found[1], (shape, pair[1].stride())
    for library in (numtorch, torch):
        with pytest.raises(TypeError, match="ambiguity_check argument must be a bool or a list"):
            library.ones(2).dim_order(ambiguity_check="no")


def test_fork_and_wait(torch):
    future = torch.jit.fork(lambda a, b=1: a + b, torch.tensor(1), b=2)
    assert torch.jit.wait(future) == 3 and future.wait() == 3
    assert torch.wait(torch.fork(torch.neg, torch.tensor(1))) == -1
    with pytest.raises(ValueError, match="no"):
        torch.jit.fork(refuse)


def refuse():
    raise ValueError("no")


# ---------------------------------------------------------------- types
def test_types_of_tensors_and_storages(torch):
    """Where there is no GPU: which types there are, and what is one of them."""
    kinds = "BFloat16 Bool Byte Char Double Float Half Int Long Short".split()
    x = torch.ones(2)
    for place, name in itertools.product(("cuda", ""), kinds):
        home = torch.cuda if place else torch
        kind, storage = getattr(home, f"{name}Tensor"), getattr(home, f"{name}Storage")
        path = "torch.cuda" if place else "torch"
        assert repr(kind) == f"<class '{path}.{name}Tensor'>" and kind.__module__ == path and storage.__module__ == path
        assert kind.is_cuda == bool(place) and not kind.is_sparse and isinstance(x, kind) == (name == "Float" and not place)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert isinstance(x.storage(), storage) == (name == "Float" and not place)
    assert not hasattr(torch.cuda.sparse, "BoolTensor") and torch.cuda.sparse.FloatTensor.is_cuda and torch.cuda.sparse.HalfTensor.is_sparse
    assert x.type(torch.DoubleTensor).dtype is x.type("torch.sparse.DoubleTensor").dtype is torch.float64
    with pytest.raises(ValueError, match="invalid type"):
        x.type("torch.cpu.FloatTensor")


@pytest.mark.skipif(torch.cuda.is_available() or numtorch.cuda.is_available(), reason="there is a GPU")
def test_without_an_accelerator(torch):
    """Every function of `torch.accelerator` that needs one says that there is none."""
    assert torch.get_device_module("cpu") is torch.cpu and torch.get_device_module(torch.device("cuda")) is torch.cuda
    place = torch.accelerator
    for name in place.__all__:
        if name not in ("current_accelerator", "device_count", "is_available", "device_index", "current_device_idx", "set_device_idx"):
            arguments = {"set_device_index": (0,), "set_stream": (None,)}.get(name, ())
            with pytest.raises((RuntimeError, TypeError, AttributeError)) as raised:
                getattr(place, name)(*arguments)
            assert name == "set_stream" or raised.type is RuntimeError, name
    assert not place.is_available() and place.current_accelerator() is None


NUMBERS_FIRST = """torch.add(x, 2, y)
x.add(0.5, y)
x.clone().add_(-0.5, y)
torch.sub(x, 2, y, out=torch.empty(0, dtype=x.dtype))
x.clone().sub_(2, y)
x.addcmul(0.5, x, y)
x.clone().addcmul_(0.5, y, y)
torch.addcdiv(x, 2, x, y)
x.clone().addcdiv_(-0.1, x, y)
torch.addmm(2, x, 3, x, y)
torch.addmm(2, x, x, y)
x.addmm(2, x, y)
x.clone().addmm_(2, 3, x, y)
torch.addmv(2, x[0], 3, x, y[0])
x[0].addmv(2, x, y[0])
x[0].clone().addmv_(2, 3, x, y[0])
torch.addr(2, x, 3, x[0], y[0])
x.clone().addr_(2, x[0], y[0])
torch.baddbmm(2, x[None], 3, x[None], y[None])
x[None].clone().baddbmm_(2, 3, x[None], y[None])
torch.addbmm(2, x, 3, x[None], y[None])
x.clone().addbmm_(2, x[None], y[None])
torch.sspaddmm(2, y.to_sparse(), 3, y.to_sparse(), y).to_dense() + x
x.add(2, 3)
x.add(y, y)
x.add(2, y, y)
x.add(2, y, alpha=3)
x.addmm(2, 3, 4, x, y)
torch.addmm(x, 2, x, y, y)
x.addcmul(y, 2, y)""".splitlines()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("line", NUMBERS_FIRST)
def test_numbers_before_tensors(line):
    """The order until PyTorch 1.5, which optimisers of those years use: values and gradients, or the class of the refusal."""
    found = []
    for library, x in both():
        x = x[0, :, :2].requires_grad_("empty" not in line)
        y = library.tensor([[1.0, 2.0], [-3.0, 0.5]], dtype=library.float64)
        try:
            result = eval(line, {"torch": library, "x": x, "y": y})
        except Exception as error:
            found.append(type(error))
        else:
            found.append([result.tolist(), library.autograd.grad(result.sum(), x)[0].tolist() if result.requires_grad else None])
    if isinstance(found[1], type):
        assert found[0] is found[1]
    else:
        for one, other in zip(*found, strict=True):
            assert one == other is None or np.allclose(one, other, 1e-12, 0)


def test_numbers_before_tensors_warn_once(monkeypatch):
    from numtorch.ops.core import overloads
    monkeypatch.setattr(overloads, "_warned", [])
    x = numtorch.ones(2)
    with pytest.warns(UserWarning, match=r"This overload of add_ is deprecated:\n\tadd_\(Number alpha, Tensor other\)"):
        x.add_(2, x)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert x.addcmul_(0.5, x, x).tolist() == [7.5, 7.5]
