"""What all special tensors share, those of each sparse layout, of a map and of forward mode: text, questions, copies, files, modules,
derivatives of derivatives; and errors that say what to do where there is no meaning."""
import copy
import io
import pickle

import numpy as np
import pytest

import numtorch as torch
from numtorch.autograd import forward_ad

theirs = pytest.importorskip("torch", reason="PyTorch is not installed to compare with")
DENSE = np.array([[0.0, 2.0, 0.0, 1.0], [3.0, 0.0, -1.0, 0.0]], np.float32)
SPARSE = {
    "coo": lambda t: t.from_numpy(DENSE).to_sparse(), "uncoalesced": lambda t: t.sparse_coo_tensor([[0, 1, 0], [1, 0, 1]], [1.0, 2.0, 3.0], (2, 4)),
    "hybrid": lambda t: t.from_numpy(DENSE).to_sparse(1), "none": lambda t: t.sparse_coo_tensor((2, 4)), "csr": lambda t: t.from_numpy(DENSE).to_sparse_csr(),
    "csc": lambda t: t.from_numpy(DENSE).to_sparse_csc(), "bsr": lambda t: t.from_numpy(DENSE).to_sparse_bsr((1, 2)), "bsc": lambda t: t.from_numpy(DENSE).to_sparse_bsc((2, 1)),
    "batch": lambda t: t.from_numpy(np.stack([DENSE, DENSE * 2])).to_sparse_csr(), "of vectors": lambda t: t.from_numpy(np.stack([DENSE, DENSE * 2], -1)).to_sparse_csr(dense_dim=1),
}


def files(library, x):
    """A tensor through everything that copies or keeps it."""
    file = io.BytesIO()
    library.save({"x": x}, file)
    file.seek(0)
    return [library.load(file)["x"], pickle.loads(pickle.dumps(x)), copy.deepcopy(x), copy.copy(x), x.clone(), x.detach(), x.to(x.dtype), x.cpu()]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", SPARSE)
def test_sparse_tensors_are_kept(name):
    """In all ways the same tensor, with PyTorch's text and answers."""
    mine, other = SPARSE[name](torch), SPARSE[name](theirs)
    for x in (mine, *files(torch, mine)):
        assert repr(x) == repr(other)
        assert [x.is_sparse, x.is_sparse_csr, str(x.layout), str(x.dtype), tuple(x.shape), x.sparse_dim(), x.dense_dim(), x.requires_grad] == [
            other.is_sparse, other.is_sparse_csr, str(other.layout), str(other.dtype), tuple(other.shape), other.sparse_dim(), other.dense_dim(), False]
        torch.testing.assert_close(x, mine)
    assert repr(mine.to(torch.float64)) == repr(other.to(theirs.float64))
    wanting = pickle.loads(pickle.dumps(mine.clone().detach().requires_grad_()))
    assert wanting.requires_grad and wanting.is_leaf


class Holder(torch.nn.Module):
    """A module with a sparse buffer and a sparse parameter."""

    def __init__(self, name, scale):
        super().__init__()
        self.register_buffer("held", SPARSE[name](torch) * scale)
        self.learned = torch.nn.Parameter(SPARSE[name](torch) * scale)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", SPARSE)
def test_modules_keep_sparse_tensors(name, tmp_path):
    one, two = Holder(name, 2), Holder(name, 3)
    torch.save(one.state_dict(), tmp_path / "state")
    two.load_state_dict(torch.load(tmp_path / "state"))
    for x in (two.held, two.learned, copy.deepcopy(one).learned, pickle.loads(pickle.dumps(one)).learned):
        torch.testing.assert_close(x.detach(), one.held)
    assert isinstance(two.learned, torch.nn.Parameter) and two.learned.requires_grad and set(one.state_dict()) == {"held", "learned"}
    assert one.double().held.dtype is torch.float64


@pytest.mark.parametrize("name", [name for name in SPARSE if name not in ("none", "batch", "of vectors", "uncoalesced")])
def test_derivatives_of_derivatives_through_sparse_tensors(name):
    """Made of a dense tensor, multiplied, scaled and made dense again: as of the dense one alone."""
    x = torch.from_numpy(DENSE).double().requires_grad_()
    y = torch.linspace(-1, 1, 8, dtype=torch.float64).view(4, 2)
    kind = SPARSE[name](torch)

    def of_sparse(x):
        options = {"blocksize": kind.layout.blocksize if hasattr(kind.layout, "blocksize") else None} if name in ("bsr", "bsc") else {}
        s = x.to_sparse(kind.sparse_dim()) if kind.is_sparse else x.to_sparse(layout=kind.layout, **options)
        return (s.to_dense() ** 3).sum() + (((s * 2).to_dense() @ y) ** 2).sum()

    def of_dense(x):
        return (x ** 3).sum() + ((2 * x @ y) ** 2).sum()
    rows, stored = [], torch.from_numpy(DENSE) != 0
    for function in (of_sparse, of_dense):
        first, = torch.autograd.grad(function(x), x, create_graph=True)
        first = first * stored
        second, = torch.autograd.grad((first * first).sum(), x)
        rows.append((first.detach(), second * stored))
    torch.testing.assert_close(rows[0], rows[1])


# ---------------------------------------------------------------- samples of a map, and dual tensors
def in_map(library, look):
    seen = []
    library.func.vmap(lambda x: (seen.append(look(x)), x)[1])(library.ones(2, 3))
    return seen[0]


def in_forward_mode(library, look):
    mode = forward_ad if library is torch else theirs.autograd.forward_ad
    with mode.dual_level():
        return look(mode.make_dual(library.ones(3), library.tensor([1.0, 2.0, 3.0])))


def in_gradient(library, look):
    seen = []
    library.func.grad(lambda x: (seen.append(look(x)), x.sum())[1])(library.ones(3))
    return seen[0]


PLACES = {"map": in_map, "forward mode": in_forward_mode, "gradient": in_gradient}
ANSWERS = {
    "shape": lambda x: tuple(x.shape), "dtype": lambda x: str(x.dtype), "layout": lambda x: str(x.layout), "is_sparse": lambda x: (x.is_sparse, x.is_sparse_csr), "device": lambda x: str(x.device),
    "stride": lambda x: x.stride(), "offset": lambda x: x.storage_offset(), "numel": lambda x: (x.numel(), x.dim(), len(x), x.element_size(), x.nbytes),
    "contiguous": lambda x: x.is_contiguous(), "floating": lambda x: (x.is_floating_point(), x.is_complex()), "to": lambda x: str(x.to(dtype=x.new_zeros(()).double().dtype).dtype),
    "clone": lambda x: tuple(x.clone().shape), "detach": lambda x: tuple(x.detach().shape), "cpu": lambda x: tuple(x.cpu().shape), "like": lambda x: tuple(x.new_ones(2).shape),
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", ANSWERS)
def test_answers_are_pytorchs(place, name):
    assert PLACES[place](torch, ANSWERS[name]) == PLACES[place](theirs, ANSWERS[name])


def refusal(look):
    def attempt(x):
        try:
            return look(x)
        except Exception as error:
            return type(error), str(error)
    return attempt


KEPT = {"pickle": lambda x: pickle.dumps(x), "deepcopy": lambda x: copy.deepcopy(x), "copy": lambda x: copy.copy(x), "save": lambda x: torch.save(x, io.BytesIO()),
        "numpy": lambda x: x.numpy(), "data_ptr": lambda x: x.data_ptr(), "storage": lambda x: x.untyped_storage(), "dlpack": lambda x: x.__dlpack__(),
        "share_memory_": lambda x: x.share_memory_(), "resize_": lambda x: x.resize_(7), "set_": lambda x: x.set_(torch.ones(2))}


@pytest.mark.parametrize("name", KEPT)
@pytest.mark.parametrize("place", ["map", "forward mode"])
def test_what_has_no_meaning_is_refused_in_words(place, name):
    """Or gives the tensor without its tangent; never an error of the inside."""
    found = PLACES[place](torch, refusal(KEPT[name]))
    if isinstance(found, tuple) and len(found) == 2 and isinstance(found[0], type):
        kind, message = found
        assert issubclass(kind, (RuntimeError, BufferError)) and len(message) > 30 and "object has no attribute" not in message, found
