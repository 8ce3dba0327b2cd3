"""Sparse tensors on another device: their parts are there, and the tensor is as sparse as it was. PyTorch is asked too, where it is
installed."""
import io

import pytest

INDICES, VALUES = [[0, 1, 1], [2, 0, 2]], [3.0, 4.0, 5.0]


def _made(torch, kind, **options):
    if kind == "sparse_coo":
        return torch.sparse_coo_tensor(torch.tensor(INDICES), torch.tensor(VALUES), (2, 3), **options)
    if kind == "sparse_csr":
        return torch.sparse_csr_tensor(torch.tensor([0, 1, 3]), torch.tensor([2, 0, 2]), torch.tensor(VALUES), (2, 3), **options)
    return torch.sparse_csc_tensor(torch.tensor([0, 1, 1, 3]), torch.tensor([1, 0, 1]), torch.tensor([4.0, 3.0, 5.0]), (2, 3), **options)


@pytest.mark.parametrize("kind", ["sparse_coo", "sparse_csr", "sparse_csc"])
def test_moved_and_made_elsewhere(torch, kind):
    for x in (_made(torch, kind).to("meta"), _made(torch, kind, device="meta")):
        assert x.layout == getattr(torch, kind) and x.shape == (2, 3) and x.device.type == "meta" and x.dtype is torch.float32
        assert (x._values() if kind == "sparse_coo" else x.values()).device.type == "meta"
        with pytest.raises(NotImplementedError, match="Cannot copy out of meta tensor"):
            x.to("cpu")
    assert _made(torch, kind).to("cpu").to_dense().tolist() == [[0, 0, 3], [4, 0, 5]]


def test_made_of_lists_elsewhere(torch):
    x = torch.sparse_coo_tensor(INDICES, VALUES, (2, 3), device="meta", dtype=torch.float64)
    assert x.device.type == "meta" and x.dtype is torch.float64 and x.is_sparse


def test_what_is_there_is_known_without_elements():
    import numtorch as torch
    x = _made(torch, "sparse_coo").coalesce().to("meta")
    assert x.is_coalesced() and x._nnz() == 3 and (x * 2).is_sparse and (x @ torch.empty(3, 4, device="meta")).shape == (2, 4)
    file = io.BytesIO()
    torch.save(x, file)
    file.seek(0)
    loaded = torch.load(file)
    assert loaded.device.type == "meta" and loaded.layout == torch.sparse_coo and loaded.is_coalesced()
