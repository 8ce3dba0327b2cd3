"""What is plainly no number, truth value or text where one is expected is refused where PyTorch refuses it, and taken where it takes it.

The table is PyTorch's own (`op_db`): of each entry, what stands among the arguments of some samples is replaced. More, and whether what
is taken gives the same: `python -m tests.wrongarguments`.
"""
from __future__ import annotations

import numpy as np
import pytest
from daily import todays
from pytorchtables import pytorch

import numtorch

torch = pytorch()

from tests.opdb import ENTRIES, parts  # noqa: E402
from tests.wrongarguments import ON_PURPOSE, differences, is_meant, plainly_wrong  # noqa: E402

DAYS = 12                                                # in which every entry has its turn


@pytest.mark.parametrize("name", todays(sorted(ENTRIES), DAYS))
def test_what_pytorch_refuses(name):
    assert not [f for f in differences(name, plainly_wrong) if f[-1].startswith(("refused", "accepted")) and not is_meant(f)]


# Arguments that are several ints: a tuple or a list, and nothing else that can be run through.
SEVERAL = {
    "zeros": lambda t, n: t.zeros(n), "full": lambda t, n: t.full(n, 1.0), "randn": lambda t, n: t.randn(n).shape, "reshape": lambda t, n: t.ones(2).reshape(n),
    "view": lambda t, n: t.ones(2).view(n), "expand": lambda t, n: t.ones(1, 1).expand(n), "broadcast_to": lambda t, n: t.broadcast_to(t.ones(1), n),
    "repeat": lambda t, n: t.ones(1).repeat(n), "tile": lambda t, n: t.ones(1).tile(n), "sum": lambda t, n: t.ones(2, 2, 2).sum(n), "flip": lambda t, n: t.ones(2, 2, 2).flip(n),
    "new_zeros": lambda t, n: t.ones(1).new_zeros(n), "as_strided": lambda t, n: t.ones(2).as_strided(n, (0, 0)), "split": lambda t, n: t.ones(3).split(n),
    "tensor_split": lambda t, n: t.ones(3).tensor_split(n), "hsplit": lambda t, n: t.ones(3).hsplit(n), "rot90": lambda t, n: t.rot90(t.ones(2, 2, 2), 1, n),
    "pad": lambda t, n: t.nn.functional.pad(t.ones(3), n), "layer_norm": lambda t, n: t.nn.functional.layer_norm(t.ones(1, 2), n), "permute": lambda t, n: t.ones(2, 2, 2).permute(n),
    "movedim": lambda t, n: t.ones(2, 2, 2).movedim(n, (0, 1)), "conv2d": lambda t, n: t.nn.functional.conv2d(t.ones(1, 1, 4, 4), t.ones(1, 1, 2, 2), stride=n),
}
NO_INTS = {"array": lambda: np.array([1, 2]), "range": lambda: range(1, 3), "generator": lambda: (n for n in (1, 2)), "dict": lambda: {1: 0, 2: 0}, "set": lambda: {1, 2}, "text": lambda: "12"}


@pytest.mark.parametrize("name", SEVERAL)
def test_several_ints_are_a_tuple_or_a_list(name):
    for library in (torch, numtorch):
        for made in NO_INTS.values():
            with pytest.raises((TypeError, RuntimeError)):
                SEVERAL[name](library, made())


# What PyTorch takes: each gives the same here.
TAKEN = {
    "split by a tensor": lambda t: t.arange(6).split(t.tensor(4)), "split by one element": lambda t: t.arange(6).split(t.tensor([4])),
    "hsplit by NumPy's int": lambda t: t.arange(6).hsplit(np.int64(2)), "vsplit": lambda t: t.ones(4, 1).vsplit(np.int64(2)), "dsplit": lambda t: t.ones(1, 1, 4).dsplit(np.int32(2)),
    "tensor_split": lambda t: t.arange(6).tensor_split(np.int64(4)), "tensor_split by a tensor": lambda t: t.arange(6).tensor_split(t.tensor([1, 3])),
    "fftn": lambda t: t.fft.fftn(t.arange(6.0).reshape(2, 3), s=2), "irfftn": lambda t: t.fft.irfftn(t.arange(6.0).reshape(2, 3), s=t.tensor(4)),
    "fractional_max_pool2d": lambda t: t.nn.functional.fractional_max_pool2d(t.arange(25.0).reshape(1, 5, 5), np.int64(3), np.int64(3)),
    "fractional_max_pool3d": lambda t: t.nn.functional.fractional_max_pool3d(t.arange(64.0).reshape(1, 4, 4, 4), np.int64(2), np.int64(2)),
    "smooth_l1_loss": lambda t: t.nn.functional.smooth_l1_loss(t.arange(3.0), t.zeros(3), beta=t.tensor(1.5)),
    "huber_loss": lambda t: t.nn.functional.huber_loss(t.arange(3.0), t.zeros(3), delta=t.tensor(1.5)),
    "tensordot of so many": lambda t: t.tensordot(t.ones(2, 3), t.ones(3, 2), t.tensor(1)), "tensordot of rows": lambda t: t.tensordot(t.ones(2, 3), t.ones(3, 2), t.tensor([[1], [0]])),
    "pinv by an absolute bound": lambda t: t.linalg.pinv(t.eye(2) * t.tensor([0.5, 2.0]), atol=1.0), "pinv by both": lambda t: t.linalg.pinv(t.eye(2), atol=0.5, rtol=0.1),
    "pinv of Hermitian matrices": lambda t: t.linalg.pinv(t.eye(2), atol=np.float32(0.5), hermitian=True), "group_norm": lambda t: t.nn.functional.group_norm(t.ones(1, 4), np.int64(2)),
    "fftshift": lambda t: t.fft.fftshift(t.arange(6).reshape(2, 3), dim=np.int64(1)), "ifftshift": lambda t: t.fft.ifftshift(t.arange(6).reshape(2, 3), dim=t.tensor(-1)),
    "a copy by position": lambda t: (lambda x: [t.tensor(x.to(t.float32, False, True) is x), t.tensor(x.to(t.float32, True) is x)])(t.ones(2)),
    "a dimension of NumPy's": lambda t: t.hash_tensor(t.ones(2, 2), np.int64(1)), "no dimension": lambda t: t.hash_tensor(t.ones(2, 2), ()),
    "layouts": lambda t: [t.zeros(2, layout=t.strided), t.ones_like(t.zeros(2), layout=t.zeros(2).layout), t.zeros(2, 2, layout=t.sparse_coo).to_dense(), t.empty(2, 2, layout=t.sparse_csr).to_dense()],
    "factor of bools": lambda t: t.add(t.tensor([True, False]), t.tensor([False, False]), alpha=True), "a factor of 1.0": lambda t: t.ones(2).add_(t.ones(2), alpha=1.0),
}


@pytest.mark.parametrize("name", TAKEN)
def test_what_pytorch_takes(name):
    found, wanted = parts(TAKEN[name](numtorch)), parts(TAKEN[name](torch))
    assert [t.tolist() for t in found] == [t.tolist() for t in wanted]


# What is equal to a number that is taken, and is none.
REFUSED = {
    **{f"{name} by {factor}": lambda t, name=name, kind=kind, factor=factor: getattr(t.ones(2, dtype=getattr(t, kind)), name)(t.ones(2, dtype=getattr(t, kind)), alpha=factor)
       for name in ("add", "sub", "add_", "sub_") for kind, factor in (("float32", True), ("int64", True), ("int64", 1.0), ("float32", 1 + 0j))},
    "a dimension that is true": lambda t: t.ones(2, 2).cumsum(t.tensor(True)), "a size that is true": lambda t: t.zeros(t.tensor(True)),
    "a hop that is true": lambda t: t.istft(t.ones(3, 4, dtype=t.complex64), 4, True), "a count of points that is true": lambda t: t.stft(t.ones(9), True, return_complex=True),
    "a factor as a text": lambda t: t.sparse.sampled_addmm(t.ones(2, 2).to_sparse_csr(), t.ones(2, 2), t.ones(2, 2), alpha="1"),
    "a bias that is a number": lambda t: t.nn.functional.linear_cross_entropy(t.ones(2, 3), t.ones(4, 3), t.tensor([0, 1]), linear_bias=np.int64(1)),
    "a triangle that is a number": lambda t: t.linalg.eigh(t.eye(2), UPLO=1), "a triangle that is nothing": lambda t: t.linalg.eigvalsh(t.eye(2), UPLO=None),
    "groups that are a float": lambda t: [t.nn.functional.group_norm(t.ones(1, 4), n) for n in (1, 1.0)],
    "sections that are true": lambda t: t.ones(4).hsplit(True), "sections in a tensor of floats": lambda t: t.ones(4).tensor_split(t.tensor(2.0)), "beta as a text": lambda t: t.nn.functional.smooth_l1_loss(t.ones(2), t.ones(2), beta="1"),
}


ONE_ALONE = {
    "flip": lambda t, n: t.ones(2).flip(dims=n), "as_strided": lambda t, n: t.ones(2).as_strided(n, (1,)), "expand_copy": lambda t, n: t.expand_copy(t.ones(1), n),
    "layer_norm": lambda t, n: t.nn.functional.layer_norm(t.ones(1, 1), n), "new_full": lambda t, n: t.ones(1).new_full(n, 1.0), "unflatten": lambda t, n: t.ones(1).unflatten(0, n),
    "empty_strided": lambda t, n: t.empty_strided(n, n), "rms_norm": lambda t, n: t.nn.functional.rms_norm(t.ones(1, 1), n), "aminmax": lambda t, n: t.aminmax(t.ones(2, 2), dim=[n]), "native_group_norm": lambda t, n: t.native_group_norm(t.ones(1, 1, 1), None, None, 1, True, n, 1, 1e-5),
}
REFUSED.update({f"one int alone of {name}": lambda t, call=call: call(t, 1) for name, call in ONE_ALONE.items()})
REFUSED.update({
    "compute_mode that is nothing": lambda t: _value_error(t.cdist, t.ones(2, 2), t.ones(2, 2), compute_mode=None), "a value of reflections": lambda t: t.nn.functional.pad(t.ones(3), (1, 1), "reflect", 0.0),
    "a complex value": lambda t: t.nn.functional.pad(t.ones(3), (1, 1), value=1j), "no value": lambda t: t.constant_pad_nd(t.ones(3), (1, 1), None),
    "a driver of a GPU": lambda t: t.linalg.svd(t.eye(2), driver="gesvd"), "a driver that is a number": lambda t: t.linalg.svdvals(t.eye(2), driver=1),
    "a device that is true": lambda t: t.ones(2).to(True, t.float64), "a complex number scattered": lambda t: t.ones(2).scatter(0, t.tensor([0]), 1j), "a complex number filled": lambda t: t.ones(2).index_fill(0, t.tensor([0]), 1j),
    "a complex distance": lambda t: t.trapezoid(t.ones(3), dx=1j), "a bias that is no tensor": lambda t: t.nn.functional.bilinear(t.ones(1, 2), t.ones(1, 2), t.ones(1, 2, 2), 1), "a mask's dtype that is true": lambda t: t.masked.amax(t.ones(2), dtype=True),
    "what is taken away, a number": lambda t: _type_error(t.svd_lowrank, t.eye(3), 2, M=1), "axes in an array": lambda t: t.linalg.matrix_norm(t.eye(2), dim=np.array([0, 1])),
    "dimensions in an array": lambda t: t.gradient(t.ones(3, 3), dim=np.array([0, 1])),
})


def _type_error(call, *args, **kwargs):
    try:
        call(*args, **kwargs)
    except AttributeError as error:
        raise TypeError from error


def _value_error(call, *args, **kwargs):
    try:
        call(*args, **kwargs)
    except ValueError as error:
        raise RuntimeError from error


REFUSED.update({f"{name} of layout {layout!r}": lambda t, make=make, layout=layout: make(t, layout) for layout in (1, "strided", True) for name, make in {
    "zeros": lambda t, layout: t.zeros(2, layout=layout), "full": lambda t, layout: t.full((2,), 1, layout=layout), "arange": lambda t, layout: t.arange(2, layout=layout),
    "eye": lambda t, layout: t.eye(2, layout=layout), "empty_like": lambda t, layout: t.empty_like(t.ones(2), layout=layout), "rand": lambda t, layout: t.rand(2, layout=layout),
    "new_ones": lambda t, layout: t.ones(2).new_ones(2, layout=layout), "hann_window": lambda t, layout: t.hann_window(2, layout=layout), "fftfreq": lambda t, layout: t.fft.fftfreq(2, layout=layout),
}.items()})


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_equal_to_a_number(name):
    for library in (torch, numtorch):
        with pytest.raises((TypeError, RuntimeError)):
            REFUSED[name](library)


@pytest.mark.parametrize("begin", sorted({row[0] for row in ON_PURPOSE}))
def test_what_differs_on_purpose_is_there(begin):
    assert any(name.startswith(begin) for name in ENTRIES)
