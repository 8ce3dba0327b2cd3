"""Files of tensors: what is saved comes back, here and in PyTorch, and a file cannot do what it was not allowed."""
from __future__ import annotations

import copy
import errno
import io
import os
import pickle
import struct
import zipfile

import pytest

import numtorch as torch
from numtorch import files, nn
from numtorch.serialization import oldfiles

try:
    import torch as peer
except ImportError:
    peer = None

PAIRS = [pytest.param(torch, torch, id="ours")] + ([pytest.param(torch, peer, id="to PyTorch"),
                                                   pytest.param(peer, torch, id="from PyTorch")] if peer else [])


FLOATS = torch.ones(2)


def through(obj, writer=torch, reader=torch, **options):
    file = io.BytesIO()
    writer.save(obj, file)
    return reader.load(io.BytesIO(file.getvalue()), **options)


@pytest.mark.parametrize("writer, reader", PAIRS)
@pytest.mark.parametrize("name", sorted(torch.dtype.by_name))
def test_every_dtype_and_what_shares_memory(writer, reader, name):
    x = writer.tensor([1, 0, 1, 1, 0, 1]).to(getattr(writer, name)).view(2, 3)
    found = through({"whole": x, "transposed": x.t(), "part": x[1, 1:], "empty": x[:0], "kind": x.dtype}, writer, reader)
    assert str(found["whole"].dtype) == f"torch.{name}" == str(found["kind"]) and found["whole"].tolist() == x.tolist()
    assert found["transposed"].stride() == (1, 3) and found["transposed"].data_ptr() == found["whole"].data_ptr()
    assert found["part"].tolist() == x[1, 1:].tolist() and found["empty"].shape == (0, 3)


@pytest.mark.parametrize("writer, reader", PAIRS)
@pytest.mark.parametrize("name", ["float32", "bfloat16", "uint16", "complex64", "bool"])
def test_layouts(writer, reader, name):
    """Sizes, strides, offsets and what lies in one storage come back; memory that is shown twice is written once."""
    x = writer.arange(24).view(2, 3, 4).to(getattr(writer, name))
    made = [x, x.permute(2, 0, 1), x[:, 1:, ::2], x[:1].expand(5, 3, 4), x[0, 0, 0], x[1, 2, 3].expand(3), x[:, :0], x.diagonal(0, 1, 2),
            x.as_strided((3, 3), (1, 1), 2), x.unsqueeze(0).to(memory_format=writer.channels_last)[..., 1:],
            writer.empty(0, 3, dtype=x.dtype), writer.zeros((), dtype=x.dtype)]
    found = through(made, writer, reader)
    for before, after in zip(made, found):
        assert after.tolist() == before.tolist() and tuple(after.stride()) == tuple(before.stride())
        assert after.storage_offset() == before.storage_offset() and str(after.dtype) == str(before.dtype)
    assert [t.data_ptr() - found[0].data_ptr() for t in found[:6]] == [t.data_ptr() - x.data_ptr() for t in made[:6]]
    file = io.BytesIO()
    writer.save(made, file)
    with zipfile.ZipFile(file) as archive:
        sizes = sorted(e.file_size for e in archive.infolist() if e.filename.rpartition("/")[0].endswith("/data"))
    assert sizes == sorted([0, x.element_size(), 24 * x.element_size(), 24 * x.element_size()])


@pytest.mark.parametrize("writer, reader", PAIRS)
@pytest.mark.parametrize("options", [{}, {"weights_only": False}, {"map_location": "cpu"}])
def test_tensors_without_memory(writer, reader, options):
    """They are saved as what they are, whatever their size, and stay on the meta device wherever the others go."""
    x = writer.empty(1 << 20, 1 << 20, device="meta")
    x.note = "kept"
    made = [x, x.t(), x[1:3, 4], writer.empty(2, dtype=writer.uint16, device="meta"), writer.empty(2, device="meta", requires_grad=True),
            writer.nn.Parameter(writer.empty(0, 3, device="meta")), *writer.nn.Linear(2, 3, device="meta").state_dict().values()]
    found = through(made, writer, reader, **options)
    for before, after in zip(made, found, strict=True):
        assert after.device.type == "meta" and tuple(after.shape) == tuple(before.shape) and str(after.dtype) == str(before.dtype)
        assert tuple(after.stride()) == tuple(before.stride()) and after.requires_grad is before.requires_grad
    assert found[0].note == "kept" and type(found[5]) is reader.nn.Parameter


@pytest.mark.skipif(peer is None, reason="reads it in PyTorch")
def test_negative_strides_are_written_out():
    """PyTorch has none."""
    x = torch.arange(6).view(2, 3)
    backwards = torch.from_numpy(x.numpy()[::-1, ::-1])
    assert min(backwards.stride()) < 0
    for reader in (torch, peer):
        whole, part = through([backwards, backwards[1:]], torch, reader)
        assert whole.tolist() == [[5, 4, 3], [2, 1, 0]] and part.tolist() == [[2, 1, 0]]


@pytest.mark.parametrize("writer, reader", PAIRS)
def test_a_checkpoint(writer, reader):
    def made(library):
        net = library.nn.Linear(2, 2)
        return net, library.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)

    net, optimizer = made(writer)
    net.weight.grad, net.bias.grad = writer.ones(2, 2), writer.ones(2)
    optimizer.step()
    rest = {"epoch": 3, "best": 0.5, "none": None, "shape": net.weight.shape, "device": writer.device("cpu"), "bytes": b"a\xff",
            "set": {1, 2}, "pair": (1, "a"), "parameter": net.weight}
    found = through({"model": net.state_dict(), "optimizer": optimizer.state_dict(), **rest}, writer, reader, map_location="cpu")
    twin, its = made(reader)
    twin.load_state_dict(found["model"])
    its.load_state_dict(found["optimizer"])
    assert twin.weight.tolist() == net.weight.tolist() and found["model"]._metadata[""] == {"version": 1}
    assert its.state_dict()["state"][0]["momentum_buffer"].tolist() == [[1, 1], [1, 1]]
    assert isinstance(found["parameter"], reader.nn.Parameter) and found["parameter"].requires_grad
    assert found["device"] == reader.device("cpu") and found["bytes"] == b"a\xff" and found["shape"] == (2, 2)
    assert [found[k] for k in ("epoch", "best", "none", "set", "pair")] == [3, 0.5, None, {1, 2}, (1, "a")]


MADE = [("zeros", lambda: torch.zeros(3)), ("a result", lambda: torch.ones(3) + 1), ("data", lambda: torch.tensor([1.0, 2.0, 3.0])),
        ("bytes", lambda: torch.ones(5, dtype=torch.uint8)), ("nothing", lambda: torch.zeros(0, dtype=torch.uint8)),
        ("one", lambda: torch.tensor(1.0)), ("a parameter", lambda: nn.Linear(3, 1).bias), ("large", lambda: torch.zeros(20_001) + 1),
        ("a copy", lambda: copy.deepcopy(torch.ones(3))), ("a gradient", lambda: gradient_of(torch.ones(3, requires_grad=True)))]


def gradient_of(x):
    (x * 2).sum().backward()
    return x.grad


@pytest.mark.parametrize("make", [pytest.param(row[1], id=row[0]) for row in MADE])
@pytest.mark.parametrize("mode", [torch.enable_grad, torch.inference_mode])
def test_memory_ends_where_the_elements_do(make, mode):
    """Blocks are rounded up; neither a file nor a view shows what lies behind the last element."""
    if mode is torch.inference_mode and make is MADE[-1][1]:
        pytest.skip("no gradients in inference mode")
    with mode():
        x = make()
    assert x.untyped_storage().nbytes() == x.nbytes
    file = io.BytesIO()
    torch.save(x, file)
    with zipfile.ZipFile(file) as archive:
        assert archive.read("archive/data/0") == x.detach().numpy().tobytes()
    with pytest.raises(RuntimeError, match="out of bounds"):
        x.as_strided((x.numel() + 1,), (1,))


def test_modules_and_files(tmp_path):
    net = nn.Sequential(nn.Linear(2, 3), nn.ReLU())
    path = tmp_path / "net.pt"
    torch.save(net, path)
    twin = torch.load(path, weights_only=False)
    assert repr(twin) == repr(net) and twin[0].weight.tolist() == net[0].weight.tolist()
    with pytest.raises(pickle.UnpicklingError, match="Sequential, which is not an allowed"):
        torch.load(str(path))
    with torch.serialization.safe_globals([nn.Sequential, nn.Linear, nn.ReLU]):
        assert repr(torch.load(path)) == repr(net)
    assert torch.serialization.get_safe_globals() == []
    content = path.read_bytes()
    with zipfile.ZipFile(path) as archive:               # PyTorch maps files into memory: bytes of tensors begin at multiples of 64
        for entry in archive.infolist():
            name, extra = struct.unpack_from("<HH", content, entry.header_offset + 26)
            assert (entry.header_offset + 30 + name + extra) % 64 == 0


# ---------------------------------------------------------------- files are replaced, not written over
@pytest.mark.parametrize("fault", [OSError, KeyboardInterrupt])
def test_a_file_is_there_whole_or_as_it_was(tmp_path, monkeypatch, fault):
    """Where writing fails halfway, the checkpoint of before is still there, and nothing else."""
    def full(archive, info, content):
        if "data/" in info.filename:
            raise fault("no space left")
        write(archive, info, content)

    write = zipfile.ZipFile.writestr
    path = tmp_path / "net.pt"
    torch.save([FLOATS, 1], path)
    with monkeypatch.context() as patch:
        patch.setattr(zipfile.ZipFile, "writestr", full)
        for target in (path, tmp_path / "new.pt"):
            with pytest.raises(fault):
                torch.save([FLOATS, 2], target)
    assert torch.load(path)[1] == 1 and [each.name for each in tmp_path.iterdir()] == ["net.pt"]


def test_a_replaced_file_keeps_its_permissions_and_links_go_on_pointing(tmp_path):
    path, link = tmp_path / "net.pt", tmp_path / "link.pt"
    umask = os.umask(0o027)
    try:
        torch.save(1, path)
        assert path.stat().st_mode & 0o777 == 0o640
        path.chmod(0o604)
        link.symlink_to(path)
        before = path.stat()
        torch.save(2, link)
        after = path.stat()
    finally:
        os.umask(umask)
    assert link.is_symlink() and torch.load(path) == 2
    assert (after.st_mode, after.st_uid, after.st_gid) == (before.st_mode, before.st_uid, before.st_gid)
    assert after.st_ino != before.st_ino, "a reader that has the file open goes on reading the old one"
    os.unlink(path)
    torch.save(3, link)
    assert link.is_symlink() and torch.load(path) == 3


def test_what_cannot_be_replaced_is_written_to(tmp_path, monkeypatch):
    """A pipe; a file in a folder that takes no others; and a file object, which is the caller's."""
    torch.save(FLOATS, os.devnull)
    assert not os.path.isfile(os.devnull)
    path = tmp_path / "net.pt"
    torch.save(1, path)

    def refusing(file, mode="r", *rest):
        if mode == "xb":
            raise PermissionError(errno.EACCES, "the folder is read-only")
        return open(file, mode, *rest)

    with monkeypatch.context() as patch:
        patch.setattr(files, "open", refusing, raising=False)
        torch.save(2, path)
        assert torch.load(path) == 2
        with pytest.raises(PermissionError, match="other"):
            torch.save(2, tmp_path / "other.pt")
    with open(tmp_path / "third.pt", "wb") as file:
        torch.save(3, file)
        assert not file.closed
    assert torch.load(tmp_path / "third.pt") == 3
    with pytest.raises(IsADirectoryError):
        torch.save(1, tmp_path)
    with pytest.raises(FileNotFoundError, match="net"):
        torch.save(1, tmp_path / "none" / "net.pt")


def test_requires_grad_attributes_and_strides():
    x = torch.ones(2, requires_grad=True)
    x.note = "kept"
    leaf, result, flipped = through([x, x.view(1, 2), torch.arange(3).flip(0)])
    assert leaf.requires_grad and leaf.note == "kept" and result.is_leaf and result.requires_grad and flipped.tolist() == [2, 1, 0]


# ---------------------------------------------------------------- where storages go
BOTH = [pytest.param(torch, id="ours")] + ([pytest.param(peer, id="PyTorch")] if peer else [])
PLACES = [                                               # map_location, the device, and what elements of 1 come to
    ("a name", lambda t: "cpu", "cpu", [1, 1]), ("a device", lambda t: t.device("cpu"), "cpu", [1, 1]),
    ("another's", lambda t: {"cuda:0": "cpu"}, "cpu", [1, 1]), ("a dict", lambda t: {"cpu": "meta"}, "meta", None),
    ("itself", lambda t: lambda storage, place: storage, "cpu", [1, 1]), ("None", lambda t: lambda storage, place: None, "cpu", [1, 1]),
    ("a copy", lambda t: lambda storage, place: storage.clone().fill_(0), "cpu", [0, 0]),
    ("a larger one", lambda t: lambda storage, place: t.UntypedStorage(64).fill_(0), "cpu", [0, 0]),
    ("by its place", lambda t: lambda storage, place: t.UntypedStorage(storage.nbytes(), device={"cpu": "meta"}[place]), "meta", None)]


@pytest.mark.parametrize("library", BOTH)
@pytest.mark.parametrize("make, device, values", [pytest.param(*row[1:], id=row[0]) for row in PLACES])
def test_where_tensors_go(library, make, device, values):
    x = library.ones(2)
    whole, part = through([x, x[1:]], library, library, map_location=make(library))
    assert whole.device.type == part.device.type == device
    if values is not None:
        assert whole.tolist() == values and part.tolist() == values[1:] and part.data_ptr() == whole.data_ptr() + 4


@pytest.mark.parametrize("library", BOTH)
def test_a_function_sees_each_storage_once(library):
    seen, x = [], library.ones(3, dtype=library.int16)
    through([x, x[1:], library.nn.Parameter(library.zeros(1))], library, library,
            map_location=lambda storage, place: seen.append((type(storage) is library.UntypedStorage, storage.nbytes(), place)))
    assert seen == [(True, 6, "cpu"), (True, 4, "cpu")]


@pytest.mark.parametrize("library", BOTH)
@pytest.mark.parametrize("map_location, kind", [
    (lambda storage, place: 3, TypeError), (lambda storage: storage, TypeError), (lambda storage, place: 1 / 0, ZeroDivisionError),
    (lambda storage, place: {}[place], KeyError), ({"cpu": 3}, TypeError), ({"cpu": "nowhere"}, RuntimeError), ("nowhere", RuntimeError),
    (3, TypeError), (b"cpu", TypeError), ("cuda:77", RuntimeError)])
@pytest.mark.parametrize("weights_only", [True, False])
def test_where_tensors_cannot_go(library, map_location, kind, weights_only):
    with pytest.raises(kind) as raised:
        through(library.ones(2), library, library, map_location=map_location, weights_only=weights_only)
    assert raised.type is kind
    if library is torch:
        with pytest.raises(RuntimeError, match="at least 8 bytes, got one of 4"):      # PyTorch shows what lies behind it
            through(torch.ones(2), map_location=lambda storage, place: torch.UntypedStorage(4))


@pytest.mark.skipif(peer is None, reason="PyTorch writes it")
@pytest.mark.parametrize("library", BOTH)
def test_where_tensors_of_old_files_go(library):
    file, seen = io.BytesIO(), []
    peer.save([peer.ones(2), peer.zeros(1)], file, _use_new_zipfile_serialization=False)
    found = library.load(io.BytesIO(file.getvalue()), map_location=lambda storage, place: seen.append(place) or storage.clone())
    assert [x.tolist() for x in found] == [[1, 1], [0]] and seen == ["cpu", "cpu"]
    assert library.load(io.BytesIO(file.getvalue()), map_location="meta")[0].device.type == "meta"


# ---------------------------------------------------------------- what PyTorch writes
@pytest.mark.skipif(peer is None, reason="writes what only PyTorch has")
def test_conj_and_neg_bits():
    """They are in a file beside the storage, and mean the values that PyTorch shows. What shared memory and bits goes on doing so."""
    x = peer.tensor([1 + 2j, 3 - 4j])
    conj, whole, rows, tail, leaf = through([x.conj(), x, x.conj().expand(3, 2), x.conj()[1:], peer.nn.Parameter(x.conj())], peer)
    assert whole.tolist() == x.tolist() and conj.tolist() == x.conj().tolist() == leaf.tolist() and leaf.requires_grad
    assert rows.tolist() == [x.conj().tolist()] * 3 and rows.stride() == (0, 1) and tail.tolist() == [3 + 4j]
    assert tail.data_ptr() == conj.data_ptr() + 8 == rows.data_ptr() + 8
    negative, plain = through([x.conj().imag, x.imag], peer)
    assert negative.tolist() == [-2, 4] and plain.tolist() == [2, -4] and negative.dtype is torch.float32
    both = through(peer._neg_view(x.conj()), peer)
    assert both.tolist() == [-1 + 2j, -3 - 4j]
    assert through(x.conj().requires_grad_(), peer).requires_grad and through(x[:0].conj(), peer).tolist() == []


class Harmful:
    def __reduce__(self):
        return print, ("run",)


def forged(pickled, size=8):
    """A file whose pickle is given, with a storage of as many bytes."""
    return archive_of(**{"data.pkl": pickled, "data/0": bytes(size), "version": b"3\n"})


def archive_of(**entries):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in entries.items():
            archive.writestr(f"a/{name}", content)
    return io.BytesIO(file.getvalue())


# _rebuild_tensor_v2(storage of %b elements, offset %b, (%b,), (1,), False, ())
REBUILD = (b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n((X\x07\x00\x00\x00storagectorch\nFloatStorage\nX\x01\x00\x00\x000"
           b"X\x03\x00\x00\x00cpu%btQ%b%b\x85K\x01\x85\x89)tR.")
BAD_FILES = [
    ("empty", io.BytesIO, EOFError, "is empty"),
    ("something else", lambda: io.BytesIO(b"not a zip"), pickle.UnpicklingError, "not of the formats"),
    ("a web page", lambda: io.BytesIO(b"<html><body>404</body></html>"), pickle.UnpicklingError, "is a web page"),
    ("a pickle", lambda: io.BytesIO(pickle.dumps([1, 2], 2)), RuntimeError, "is a pickle that torch.save did not write"),
    ("an empty archive", lambda: io.BytesIO(b"PK\x05\x06" + bytes(18)), pickle.UnpicklingError, "not of the formats"),
    ("half", lambda: io.BytesIO(forged(pickle.dumps(1, 2)).getvalue()[:150]), RuntimeError, "failed reading zip archive"),
    ("no pickle", lambda: archive_of(other=b"1"), RuntimeError, "no data.pkl"),
    ("an empty pickle", lambda: forged(b""), EOFError, "ends early"),
    ("a pickle that ends early", lambda: forged(b"\x80\x02}q\x00("), EOFError, "ends early"),
    ("no storage", lambda: archive_of(**{"data.pkl": REBUILD % (b"K\x02", b"K\x00", b"K\x02"), "version": b"3\n"}), RuntimeError,
     "data/0"),
    ("code", lambda: forged(pickle.dumps(Harmful(), 2)), pickle.UnpicklingError, "not an allowed global"),
    ("attributes", lambda: forged(b"\x80\x02ctorch\nfloat32\n}X\x08\x00\x00\x00itemsizeK\x01sb."), pickle.UnpicklingError,
     "sets attributes"),
    ("outside", lambda: forged(REBUILD % (b"K\x02", b"K\x01", b"K\x02")), RuntimeError, "out of bounds"),
    ("too long", lambda: forged(REBUILD % (b"K\x09", b"K\x00", b"K\x02")), RuntimeError, "has 8 bytes"),
    ("before 1.6", lambda: io.BytesIO(oldfiles.BEGINNING + pickle.dumps(1001, 2) + pickle.dumps({}, 2) + pickle.dumps([], 2) +
                                      pickle.dumps(["0"], 2)), pickle.UnpicklingError, "storages are not those"),
    ("elsewhere", lambda: forged((REBUILD % (b"K\x02", b"K\x00", b"K\x02")).replace(b"cpu", b"mps")), RuntimeError, "tagged with mps"),
]


@pytest.mark.parametrize("make, kind, message", [pytest.param(*row[1:], id=row[0]) for row in BAD_FILES])
def test_bad_files(make, kind, message, tmp_path, capsys):
    """What is wrong is said, and of which file, where that has a name. PyTorch raises the same, but where only it could read on."""
    with pytest.raises(kind, match=message):
        torch.load(make())
    if peer and message not in ("sets attributes", "storages are not those"):
        with pytest.raises(kind):
            peer.load(make())
    path = tmp_path / "model.pt"
    path.write_bytes(make().getvalue())
    with open(path, "rb") as opened:
        for file, options in ((path, {}), (str(path), {"mmap": not oldfiles.begins(make())}), (opened, {"weights_only": True})):
            with pytest.raises(kind, match=message) as raised:
                torch.load(file, **options)
            assert str(raised.value).startswith(f"{path}: ")
    assert capsys.readouterr().out == ""


def test_the_forged_file_is_right_where_its_numbers_are():
    assert torch.load(forged(REBUILD % (b"K\x02", b"K\x00", b"K\x02"))).tolist() == [0, 0]


@pytest.mark.parametrize("place", [struct.pack("<2f", 1.5, 1.5), b"_rebuild_tensor", b"little"])
def test_a_damaged_file(place):
    file = io.BytesIO()
    torch.save(torch.full((2,), 1.5), file)
    whole = bytearray(file.getvalue())
    whole[whole.index(place)] ^= 1
    with pytest.raises(RuntimeError, match="damaged"):
        torch.load(io.BytesIO(whole))


@pytest.mark.parametrize("call, kind", [
    (lambda: torch.save(1, 3), TypeError), (lambda: torch.load(3), AttributeError), (lambda: torch.load("/no/such"), FileNotFoundError),
    (lambda: torch.save(1, io.BytesIO(), _use_new_zipfile_serialization=False), RuntimeError),
    (lambda: torch.save([FLOATS, FLOATS.view(torch.int32)], io.BytesIO()), RuntimeError),
    (lambda: torch.save(FLOATS.memory, io.BytesIO()), TypeError), (lambda: copy.copy(FLOATS.memory), TypeError),
    (lambda: copy.deepcopy(FLOATS.memory), TypeError), (lambda: pickle.dumps(FLOATS.memory), TypeError)])
def test_what_cannot_be_saved_or_loaded(call, kind):
    with pytest.raises(kind):
        call()


def test_files_need_no_more_than_to_be_read_and_searched():
    class Plain:
        def __init__(self, data):
            file = io.BytesIO(data)
            self.read, self.readline, self.seek, self.tell = file.read, file.readline, file.seek, file.tell

    class Written:
        def __init__(self):
            self.parts = []

        def write(self, data):
            self.parts.append(bytes(data))
            return len(data)

        def flush(self):
            pass
    written = Written()
    torch.save({"x": torch.arange(3)}, written)
    assert torch.load(Plain(b"".join(written.parts)))["x"].tolist() == [0, 1, 2]
