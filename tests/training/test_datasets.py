"""Readers of standard files, and downloads from a server on this machine."""
from __future__ import annotations

import gzip
import hashlib
import http.server
import io
import os
import pickle
import struct
import sys
import tarfile
import threading

import numpy as np
import pytest

import numtorch as torch
from numtorch.data import DataLoader, Subset, TensorDataset
from numtorch.datasets import (
    CIFAR10,
    CIFAR100,
    MNIST,
    CSVDataset,
    FashionMNIST,
    ImageDataset,
    TextDataset,
    Vocabulary,
    download,
    read_idx,
    read_text,
    words,
)

RNG = np.random.default_rng(0)


# ---------------------------------------------------------------- IDX
def idx(array):
    code = {"u1": 8, "i1": 9, "i2": 11, "i4": 12, "f4": 13, "f8": 14}[array.dtype.str[1:]]
    return bytes([0, 0, code, array.ndim]) + struct.pack(f">{array.ndim}I", *array.shape) + array.astype(array.dtype.newbyteorder(">")).tobytes()


@pytest.mark.parametrize("dtype", ["u1", "i1", "i2", "i4", "f4", "f8"])
@pytest.mark.parametrize("packed", [False, True])
def test_idx(dtype, packed, tmp_path):
    array = (RNG.normal(size=(3, 2, 5)) * 50).astype(dtype)
    (tmp_path / "x").write_bytes(gzip.compress(idx(array)) if packed else idx(array))
    read = read_idx(tmp_path / "x")
    np.testing.assert_array_equal(read.numpy(), array)
    assert read.numpy().dtype == array.dtype


GOOD = idx(np.arange(6, dtype=np.uint8).reshape(2, 3))


@pytest.mark.parametrize("content", [
    b"", b"\0", GOOD[:3], GOOD[:9], GOOD[:-1], GOOD + b"x", b"\1" + GOOD[1:], b"\0\0\7" + GOOD[3:], gzip.compress(GOOD, mtime=0)[:-9],
    gzip.compress(GOOD, mtime=0)[:12] + b"xxxx" + gzip.compress(GOOD, mtime=0)[16:], b"\0\0\x08\x04" + b"\xff" * 16, b"\x1f\x8b rubbish",
    b"\0\0\x08\xff" + struct.pack(">I", 1) * 255 + b"x"])
def test_damaged_idx(content, tmp_path):
    (tmp_path / "x").write_bytes(content)
    with pytest.raises(ValueError, match=f"read_idx: {tmp_path}/x"):
        read_idx(tmp_path / "x")


# ---------------------------------------------------------------- images
def mnist_files(count=5, part="train"):
    images = RNG.integers(0, 256, (count, 28, 28)).astype(np.uint8)
    labels = RNG.integers(0, 10, count).astype(np.uint8)
    return images, labels, {f"{part}-images-idx3-ubyte": idx(images), f"{part}-labels-idx1-ubyte": idx(labels)}


@pytest.mark.parametrize("kind", [MNIST, FashionMNIST])
@pytest.mark.parametrize("place", ["own", "root"])
def test_mnist(kind, place, tmp_path):
    folder = tmp_path / kind.__name__ / "raw" if place == "own" else tmp_path
    folder.mkdir(parents=True, exist_ok=True)
    images, labels, files = mnist_files(part="t10k")
    for name, content in files.items():
        packed = place == "own"
        (folder / (name + ".gz" * packed)).write_bytes(gzip.compress(content) if packed else content)
    dataset = kind(tmp_path, train=False)
    assert len(dataset) == 5 and len(dataset.classes) == 10 and dataset.data.dtype is torch.uint8
    image, label = dataset[3]
    np.testing.assert_allclose(image.numpy(), images[3][None] / 255, rtol=1e-6)
    assert image.dtype is torch.float32 and label == labels[3] and isinstance(label, int) and dataset[-1][1] == labels[4]
    assert len(list(dataset)) == 5
    with pytest.raises(FileNotFoundError, match="train-images-idx3-ubyte"):
        kind(tmp_path)


def test_a_class_that_is_none_is_named(tmp_path):
    """Training would raise of it much later, and of no file."""
    images, labels, _ = mnist_files()
    labels[3] = 77
    for name, array in (("images-idx3", images), ("labels-idx1", labels)):
        (tmp_path / f"train-{name}-ubyte").write_bytes(idx(array))
    with pytest.raises(ValueError, match=r"MNIST: .*train-labels-idx1-ubyte is damaged: it has a class 77 of 10, that of image 3"):
        MNIST(tmp_path)
    (tmp_path / "train-labels-idx1-ubyte").write_bytes(idx(labels[:2]))
    with pytest.raises(ValueError, match=r"got 5 in .*train-images-idx3-ubyte and 2 in .*train-labels-idx1-ubyte"):
        MNIST(tmp_path)


def test_batches_of_images_are_gathered_at_once():
    data, targets = torch.tensor(RNG.integers(0, 256, (6, 3, 2, 2)).astype(np.uint8)), torch.arange(6)
    plain = ImageDataset(data, targets)
    for dataset, factor in ((plain, 1), (ImageDataset(data, targets, transform=lambda x: x * 2), 2),
                            (ImageDataset(data, targets, batch_transform=lambda x: x * 2), 2),
                            (Subset(plain, list(range(6))), 1)):
        batches = list(DataLoader(dataset, batch_size=4))
        assert [tuple(x.shape) for x, _ in batches] == [(4, 3, 2, 2), (2, 3, 2, 2)]
        assert torch.allclose(torch.cat([x for x, _ in batches]), data / 255 * factor) and torch.cat([y for _, y in batches]).tolist() == list(range(6))
        assert torch.allclose(dataset[4][0], data[4] / 255 * factor)


def test_a_subclass_with_other_examples_is_asked_for_them():
    class Doubled(TensorDataset):
        def __getitem__(self, index):
            return super().__getitem__(index)[0] * 2

    assert next(iter(DataLoader(Doubled(torch.arange(3)), batch_size=3))).tolist() == [0, 2, 4]
    assert next(iter(DataLoader(Subset(Doubled(torch.arange(3)), [2, 1]), batch_size=2))).tolist() == [4, 2]


def packed_tar(files):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return gzip.compress(buffer.getvalue(), mtime=0)     # without the time, by which test processes would differ


def cifar(kind, form, count=4):
    """(images, classes, files) of all parts: training in one or five files, and test."""
    names = kind.files[True] + kind.files[False]
    images = RNG.integers(0, 256, (len(names), count, 3072)).astype(np.uint8)
    classes = RNG.integers(0, len(kind.names), (len(names), count)).astype(np.uint8)
    files, folder = {}, kind.archives[f"cifar-{len(kind.names)}-{form}.tar.gz"]
    for name, pictures, kinds in zip(names, images, classes):
        if form == "binary":
            before = [kinds % 20, kinds] if kind is CIFAR100 else [kinds]
            files[f"{folder}/{name}.bin"] = np.concatenate([*(b[:, None] for b in before), pictures], 1).tobytes()
        else:
            files[f"{folder}/{name}"] = pickle.dumps({b"data": pictures, kind.labels[-1]: kinds.tolist(), b"filenames": [b"x"]}, protocol=2)
    return images, classes, files


@pytest.mark.parametrize("kind", [CIFAR10, CIFAR100])
@pytest.mark.parametrize("form", ["binary", "python"])
@pytest.mark.parametrize("unpacked", [False, True])
def test_cifar(kind, form, unpacked, tmp_path):
    images, classes, files = cifar(kind, form)
    if unpacked:
        for name, content in files.items():
            (tmp_path / name).parent.mkdir(exist_ok=True)
            (tmp_path / name).write_bytes(content)
    else:
        (tmp_path / f"cifar-{len(kind.names)}-{form}.tar.gz").write_bytes(packed_tar(files))
    for train, part in ((True, slice(None, -1)), (False, slice(-1, None))):
        dataset = kind(tmp_path, train=train)
        np.testing.assert_array_equal(dataset.data.numpy(), images[part].reshape(-1, 3, 32, 32))
        assert dataset.targets.tolist() == classes[part].reshape(-1).tolist()
    assert len(os.listdir(tmp_path)) == 1                # nothing was unpacked


class Malicious:
    def __reduce__(self):
        return os.mkdir, ("made-by-a-pickle",)


@pytest.mark.parametrize("content", [
    b"", b"\x80", b"\x80\x02.", pickle.dumps(Malicious(), 2), pickle.dumps({b"data": Malicious(), b"labels": []}, 2),
    pickle.dumps({b"data": np.zeros((2, 5), np.uint8), b"labels": [1, 2]}, 2), pickle.dumps({b"data": np.zeros((2, 3072), np.uint8), b"labels": [1]}, 2),
    pickle.dumps({b"data": np.zeros((1, 3072), np.uint8), b"labels": [77]}, 2), pickle.dumps({b"data": np.zeros((1, 3072), object), b"labels": [7]}, 2),
    pickle.dumps({b"data": np.zeros((1, 3072), np.uint8), b"labels": [-1]}, 2), pickle.dumps([1, 2], 2), b"\1" * 3074, b"\x0b" + b"\0" * 3072])
def test_damaged_cifar(content, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    binary = not content.startswith(b"\x80")
    folder = tmp_path / CIFAR10.archives[f"cifar-10-{'binary' if binary else 'python'}.tar.gz"]
    folder.mkdir()
    (folder / ("test_batch" + ".bin" * binary)).write_bytes(content)
    with pytest.raises(ValueError, match=r"CIFAR10: .*test_batch.* is damaged"):
        CIFAR10(tmp_path, train=False)
    assert not os.path.exists("made-by-a-pickle")


@pytest.mark.parametrize(("content", "words"), [(b"rubbish", "is damaged"), (packed_tar({"other": b"1"}), "has no cifar-10-batches-bin/test_batch.bin"),
                                                (packed_tar(cifar(CIFAR10, "binary")[2])[:-2000], "is damaged")])
def test_damaged_archives(content, words, tmp_path):
    (tmp_path / "cifar-10-binary.tar.gz").write_bytes(content)
    with pytest.raises(ValueError, match=words):
        CIFAR10(tmp_path, train=False)


def test_what_an_archive_unpacks_to_has_a_limit(tmp_path, monkeypatch):
    (tmp_path / "cifar-10-binary.tar.gz").write_bytes(packed_tar(cifar(CIFAR10, "binary")[2]))
    monkeypatch.setattr(sys.modules[CIFAR10.__module__], "LARGEST", 1000)
    with pytest.raises(ValueError, match=r"is damaged: .* has 12292 bytes"):
        CIFAR10(tmp_path, train=False)


# ---------------------------------------------------------------- the network, on this machine
class Server:
    """Serves `files`; writes down the ranges that are asked for. Ends the first `cuts` answers after half of their bytes."""

    def __init__(self, files, ranges=True, cuts=0):
        self.files, self.asked, self.cuts = files, [], cuts
        server = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                content = server.files.get(self.path.lstrip("/"))
                server.asked.append((self.path.lstrip("/"), self.headers.get("Range")))
                if content is None:
                    self.send_error(404)
                    return
                start = int(self.headers["Range"].removeprefix("bytes=").rstrip("-")) if ranges and self.headers.get("Range") else 0
                if start >= len(content) and start:
                    self.send_response(416)
                    self.send_header("Content-Range", f"bytes */{len(content)}")
                    self.end_headers()
                    return
                self.send_response(206 if start else 200)
                if start:
                    self.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
                self.send_header("Content-Length", str(len(content) - start))
                self.end_headers()
                if server.cuts:
                    server.cuts -= 1
                    self.wfile.write(content[start:start + (len(content) - start) // 2])
                    self.connection.close()
                else:
                    self.wfile.write(content[start:])

            def log_message(self, *args):
                pass

        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_port}/"

    def __enter__(self):
        self.thread = threading.Thread(target=self.http.serve_forever, args=(0.01,))
        self.thread.start()
        return self

    def __exit__(self, *exception):
        self.http.shutdown()
        self.http.server_close()
        self.thread.join()


CONTENT = RNG.integers(0, 256, 100_000).astype(np.uint8).tobytes()
MD5 = hashlib.md5(CONTENT).hexdigest()


def test_download(tmp_path):
    with Server({"x": CONTENT}) as server:
        for _ in range(2):                               # the second time nothing is asked for
            assert download(server.url + "x", tmp_path / "deep" / "x", MD5) == str(tmp_path / "deep" / "x")
    assert (tmp_path / "deep" / "x").read_bytes() == CONTENT and server.asked == [("x", None)] and os.listdir(tmp_path / "deep") == ["x"]


@pytest.mark.parametrize("ranges", [True, False])
def test_what_breaks_off_goes_on(ranges, tmp_path):
    with Server({"x": CONTENT}, ranges, cuts=2) as server:
        download(server.url + "x", tmp_path / "x", MD5)
    assert (tmp_path / "x").read_bytes() == CONTENT and server.asked == [("x", None), ("x", "bytes=50000-"), ("x", "bytes=75000-" if ranges else
                                                                                                                 "bytes=50000-")]


def test_what_breaks_off_too_often_is_kept(tmp_path):
    with Server({"x": CONTENT}, cuts=3) as server:
        with pytest.raises(ConnectionError, match=r"ended after .* 87500 bytes are in .*x\.part; call again"):
            download(server.url + "x", tmp_path / "x", MD5)
        assert os.listdir(tmp_path) == ["x.part"]
        download(server.url + "x", tmp_path / "x", MD5)
    assert server.asked[-1] == ("x", "bytes=87500-") and (tmp_path / "x").read_bytes() == CONTENT and os.listdir(tmp_path) == ["x"]


@pytest.mark.parametrize("part", [CONTENT[:1000], CONTENT, b"y" * 1000, CONTENT + b"y", b"y" * len(CONTENT)])
def test_parts_of_any_kind(part, tmp_path):
    (tmp_path / "x.part").write_bytes(part)
    with Server({"x": CONTENT}) as server:
        download(server.url + "x", tmp_path / "x", MD5)
    assert (tmp_path / "x").read_bytes() == CONTENT and os.listdir(tmp_path) == ["x"]


def test_other_bytes_are_refused_and_replaced(tmp_path):
    (tmp_path / "x").write_bytes(b"old")
    with Server({"x": b"y" + CONTENT[1:]}) as server:
        with pytest.raises(RuntimeError, match="checksum"):
            download(server.url + "x", tmp_path / "x", MD5)
        assert (tmp_path / "x").read_bytes() == b"old" and os.listdir(tmp_path) == ["x"]
        server.files["x"] = CONTENT
        download(server.url + "x", tmp_path / "x", MD5)
    assert (tmp_path / "x").read_bytes() == CONTENT


def test_no_network_is_said(tmp_path):
    with Server({}) as server:
        with pytest.raises(ConnectionError, match="answers 404"):
            download(server.url + "x", tmp_path / "x")
    with pytest.raises(ConnectionError, match=r"is there a network\? Else get the file elsewhere and put it at"):
        download(server.url + "x", tmp_path / "x")       # nobody listens any more
    with pytest.raises(ValueError, match="http or https"):
        download("file:///etc/passwd", tmp_path / "x")
    assert os.listdir(tmp_path) == []


def test_datasets_download(tmp_path, monkeypatch):
    _, labels, files = mnist_files()
    files = {name + ".gz": gzip.compress(content) for name, content in files.items()}
    with Server(files) as server:
        monkeypatch.setattr(MNIST, "mirrors", (server.url + "none/", server.url))
        monkeypatch.setattr(MNIST, "resources", {name: hashlib.md5(content).hexdigest() for name, content in files.items()})
        dataset = MNIST(tmp_path, download=True)
        asked = len(server.asked)
        MNIST(tmp_path, download=True)
        assert dataset.targets.tolist() == labels.tolist() and len(server.asked) == asked == 4
        path = tmp_path / "MNIST" / "raw" / "train-labels-idx1-ubyte.gz"
        path.write_bytes(path.read_bytes()[:-5])         # damaged later: brought again
        assert MNIST(tmp_path, download=True).targets.tolist() == labels.tolist()
    _, classes, files = cifar(CIFAR10, "binary")
    with Server({"cifar-10-binary.tar.gz": packed_tar(files)}) as server:
        monkeypatch.setattr(CIFAR10, "url", server.url + "cifar-10-binary.tar.gz")
        monkeypatch.setattr(CIFAR10, "md5", hashlib.md5(packed_tar(files)).hexdigest())
        server.files["cifar-10-binary.tar.gz"] = made = packed_tar(files)
        monkeypatch.setattr(CIFAR10, "md5", hashlib.md5(made).hexdigest())
        assert CIFAR10(tmp_path, train=False, download=True).targets.tolist() == classes[-1].tolist()


# ---------------------------------------------------------------- text
def test_text():
    dataset = TextDataset("hello world", 4)
    assert len(dataset) == 2 and "".join(dataset.vocabulary.decode(dataset[1][0])) == "o wo" and "".join(dataset.vocabulary.decode(dataset[-1][1])) == " wor"
    overlapping = TextDataset("hello world", 4, step=1)
    assert len(overlapping) == 7 and "".join(overlapping.vocabulary.decode(overlapping[6][1])) == "orld"
    x, y = next(iter(DataLoader(overlapping, batch_size=7)))
    assert all(torch.equal(x[i], overlapping[i][0]) and torch.equal(y[i], overlapping[i][1]) for i in range(7))
    with pytest.raises(IndexError):
        overlapping[7]
    with pytest.raises(ValueError, match="more than 40 tokens"):
        TextDataset("hello", 40)


def test_words_and_vocabularies():
    tokens = words("The cat, the_dog; it's\nthe end.")
    assert tokens == ["the", "cat", ",", "the", "_", "dog", ";", "it's", "\n", "the", "end", "."]
    vocabulary = Vocabulary(tokens, size=3, unknown="?")
    assert vocabulary.tokens == ["?", "the", "\n"] and vocabulary.encode(["the", "mouse"]).tolist() == [1, 0]
    with pytest.raises(KeyError, match="'mouse' is not among"):
        Vocabulary(tokens).encode(["mouse"])
    with pytest.raises(ValueError, match="unknown"):
        Vocabulary(tokens, size=3)


def test_text_files(tmp_path):
    (tmp_path / "x.txt").write_bytes("früh\r\nspät".encode())
    assert read_text(tmp_path / "x.txt") == "früh\nspät" and len(TextDataset(tmp_path / "x.txt", 3)) == 2
    (tmp_path / "x.txt").write_bytes(b"good\nb\xe4d")
    with pytest.raises(ValueError, match=r"x.txt is not utf-8: line 2 has the byte 0xe4"):
        read_text(tmp_path / "x.txt")
    assert read_text(tmp_path / "x.txt", "latin-1") == "good\nbäd"
    with pytest.raises(ValueError, match=r"more than 40 tokens .* got 8 in .*x.txt"):
        TextDataset(tmp_path / "x.txt", 40, encoding="latin-1")
    with pytest.raises(KeyError, match=r"'ä' is not among its 5 tokens in .*x.txt"):
        TextDataset(tmp_path / "x.txt", 3, vocabulary=Vocabulary("good\nbd"), encoding="latin-1")


# ---------------------------------------------------------------- tables
TABLE = 'a,b,"kind, of",y\n1,x,p,0.5\n2.5,y,q,1\n\n-3e2,x,"p",2\n'


def written(tmp_path, text):
    (tmp_path / "x.csv").write_text(text)
    return tmp_path / "x.csv"


def test_csv(tmp_path):
    path = written(tmp_path, TABLE)
    whole = CSVDataset(path, target="y")
    assert whole.features.tolist() == [[1, 0, 0], [2.5, 1, 1], [-300, 0, 0]] and whole.targets.tolist() == [0.5, 1, 2]
    assert whole.names == ["a", "b", "kind, of"] and whole.categories == {"b": ["x", "y"], "kind, of": ["p", "q"]}
    kinds = CSVDataset(path, target=2, columns=["a", -1])
    assert kinds[1][0].tolist() == [2.5, 1] and kinds.targets.dtype is torch.int64 and kinds.targets.tolist() == [0, 1, 0]
    x, y = next(iter(DataLoader(kinds, batch_size=3)))
    assert x.shape == (3, 2) and y.tolist() == [0, 1, 0]
    bare = CSVDataset(written(tmp_path, "1;2\n3;\n"), header=False, delimiter=";", missing=-1)
    assert bare[1][0].tolist() == [3, -1] and bare.targets is None and bare.names == ["0", "1"]


@pytest.mark.parametrize(("text", "options", "words"), [
    ("", {}, "is empty"), ("a,b\n", {}, "no rows"), ("a,b\n1,2\n1\n", {}, "line 3: expected 2 cells, as in line 1, got 1"),
    ("a,b\n1,2\n\n3,x\n", {}, "line 4: expected a number in the column 'b', as in others, got 'x'"), ("a,b\n1,\n", {}, "line 2: the column 'b' is empty"),
    ("a,b\n1,2\n", dict(target="c"), "no column 'c'; it has a, b"), ("a,b\n1,2\n", dict(columns=[5]), "no column 5")])
def test_bad_csv(text, options, words, tmp_path):
    with pytest.raises(ValueError, match=words) as raised:
        CSVDataset(written(tmp_path, text), **options)
    assert "x.csv" in str(raised.value)
