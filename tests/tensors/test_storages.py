"""Storages: what `x.storage()` and `x.untyped_storage()` give, and `FloatStorage` and its like make."""
import copy
import io
import pickle

import numpy as np
import pytest

import numtorch as torch


def test_storages_share_memory_with_their_tensors():
    x = torch.arange(6.0).reshape(2, 3)
    typed, untyped = x[1].storage(), x[1].untyped_storage()
    assert untyped is x.untyped_storage() is x.data.untyped_storage() is typed.untyped()
    assert typed.tolist() == [0, 1, 2, 3, 4, 5] and untyped.nbytes() == 24 == len(untyped)
    version = x._version
    typed[-1] = 7
    untyped[:4].fill_(0)
    assert x[1, 2].item() == 7 and x._version > version and x.data_ptr() == typed.data_ptr()
    assert torch.empty(0).set_(typed, 4, (2,)).tolist() == torch.Tensor(untyped)[4:].tolist() == [4, 7]
    with pytest.raises(RuntimeError, match="Expected a Storage of type Long or an UntypedStorage, but got type Float"):
        torch.empty(0, dtype=torch.int64).set_(typed)


def test_a_storage_is_made_of_numbers_bytes_and_files(tmp_path):
    assert torch.FloatStorage([1, 2]).tolist() == [1, 2] and torch.IntStorage(3).nbytes() == 12 and len(torch.UntypedStorage()) == 0
    assert torch.LongStorage.from_buffer(bytes(7) + b"\1", "big").tolist() == [1]
    path = tmp_path / "numbers"
    torch.FloatStorage.from_file(path, True, 2)[1] = 1.0
    assert np.fromfile(path, np.float32).tolist() == [0, 1]
    assert torch.FloatStorage.from_file(path).tolist() == [0, 1]
    for wrong in (lambda: torch.FloatStorage(1, 2), lambda: torch.FloatStorage(torch.ones(2)), lambda: torch.UntypedStorage(1.5)):
        with pytest.raises(TypeError):
            wrong()


@pytest.mark.parametrize("kind", ["Float", "Half", "BFloat16", "Long", "Bool", "ComplexDouble"])
def test_elements_are_converted_by_value(kind):
    wanted = getattr(torch, f"{kind}Storage")
    found = torch.ByteStorage([0, 1]).type(wanted)
    assert isinstance(found, wanted) and found.type() == f"torch.{kind}Storage" and found.tolist() == [0, 1]
    assert torch.zeros(1, dtype=found.dtype).storage_type() is wanted


def test_mistakes_are_pytorchs():
    typed, untyped = torch.FloatStorage([1, 2]), torch.UntypedStorage([1, 2])
    for wrong, error in ((lambda: typed[0:1], RuntimeError), (lambda: typed[2], IndexError), (lambda: untyped[0.5], TypeError),
                         (lambda: untyped[::2], RuntimeError), (lambda: untyped.copy_(torch.UntypedStorage(3)), RuntimeError),
                         (lambda: torch.from_numpy(np.zeros(3)).untyped_storage().resize_(100), RuntimeError),
                         (lambda: torch.zeros(2, device="meta").storage().tolist(), NotImplementedError),
                         (lambda: torch.zeros(2).to_sparse().storage(), NotImplementedError)):
        with pytest.raises(error):
            wrong()


def test_a_storage_grows_under_its_tensors_and_keeps_its_memory_when_it_shrinks():
    x = torch.arange(3.0)
    view, array = x[1:], x.numpy()
    x.untyped_storage().resize_(40_000)
    assert view.data_ptr() == x.data_ptr() + 4 and x.tolist() == [0, 1, 2] and array.tolist() == [0, 1, 2]
    view.fill_(5)
    assert x.tolist() == [0, 5, 5] and x.untyped_storage().nbytes() == 40_000
    assert x.untyped_storage().resize_(0).nbytes() == 0 and x.tolist() == [0, 5, 5]
    assert copy.deepcopy(x).tolist() == [0, 5, 5]
    del view, array
    for _ in range(50):                                  # memory that is handed out again has its own size
        assert torch.zeros(3).untyped_storage().nbytes() == 12


def test_storages_are_copied_pickled_saved_and_shared():
    x = torch.arange(3, dtype=torch.int16)
    both = copy.deepcopy([x, x.storage(), x.untyped_storage()])
    assert both[0].untyped_storage() is both[1].untyped() is both[2] is not x.untyped_storage()
    assert pickle.loads(pickle.dumps(x.storage())).tolist() == [0, 1, 2]
    file = io.BytesIO()
    torch.save({"x": x, "typed": x[1:].storage()}, file)
    loaded = torch.load(io.BytesIO(file.getvalue()))
    assert loaded["typed"].tolist() == [0, 1, 2] and loaded["typed"].untyped() is loaded["x"].untyped_storage()
    assert not x.storage().is_shared() and x.storage().share_memory_().is_shared() and x.is_shared()


def test_files_with_storages_go_both_ways():
    theirs = pytest.importorskip("torch")
    for source, target in ((theirs, torch), (torch, theirs)):
        file = io.BytesIO()
        source.save({"x": source.arange(3.0), "s": source.arange(3.0).untyped_storage()}, file)
        loaded = target.load(io.BytesIO(file.getvalue()))
        assert loaded["x"].tolist() == [0, 1, 2] and loaded["s"].tolist() == list(np.arange(3, dtype=np.float32).tobytes())


def test_an_array_of_the_type_asked_for_shares_its_memory():
    array = np.zeros(4)
    torch.DoubleTensor(array[::2])[1] = 5
    torch.zeros(1, dtype=torch.float64).new(array)[0] = 3
    torch.FloatTensor(array).fill_(9)
    assert array.tolist() == [3, 0, 5, 0]
