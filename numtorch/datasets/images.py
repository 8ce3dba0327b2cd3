"""The standard sets of small images: MNIST, FashionMNIST, CIFAR-10 and CIFAR-100, from their standard files."""
from __future__ import annotations

import io
import os
import pickle
import tarfile
import zlib

import numpy as np

from ..data.dataset import Dataset
from ..dtypes import int64
from ..exchange.construction import from_numpy, make
from ..tensor import Tensor
from .download import download as fetch
from .download import md5_of
from .idx import read_idx


class ImageDataset(Dataset):
    """Images of bytes with classes: example i is an image (C, H, W) of float32 from 0 to 1, and the number of its class.

    A `DataLoader` takes whole batches at once, unless there is a `transform` or `target_transform` of single examples.

    Args:
        data: (N, C, H, W) or (N, H, W) of uint8.
        targets: (N) of int64.
        classes: their names.
        transform: a function of an image.
        target_transform: a function of a class.
        batch_transform: a function of images (N, C, H, W), for loaders' batches and single images alike; before `transform`.

    Raises:
        ValueError: there are not as many images as classes.

    Example:
        >>> import numtorch as torch
        >>> from numtorch.datasets import ImageDataset
        >>> dataset = ImageDataset(torch.full((4, 1, 2, 2), 255, dtype=torch.uint8), torch.arange(4))
        >>> dataset[3]
        (tensor([[[1., 1.],
                 [1., 1.]]]), 3)
        >>> images, labels = next(iter(torch.data.DataLoader(dataset, batch_size=4)))
        >>> images.shape, labels
        (torch.Size([4, 1, 2, 2]), tensor([0, 1, 2, 3]))
    """

    def __init__(self, data: Tensor, targets: Tensor, classes=(), transform=None, target_transform=None,
                 batch_transform=None) -> None:
        if len(data) != len(targets):
            raise ValueError(f"{type(self).__name__}: expected as many images as classes, got {len(data)} and {len(targets)}")
        self.data, self.targets, self.classes = data, targets, list(classes)
        self.transform, self.target_transform, self.batch_transform = transform, target_transform, batch_transform

    def __len__(self) -> int:
        return len(self.data)

    def _images(self, index):
        images = self.data.index_select(0, index)
        images = (images if images.dim() == 4 else images.unsqueeze(1)) / 255
        return images if self.batch_transform is None else self.batch_transform(images)

    def __getitem__(self, index):
        if not -len(self) <= index < len(self):
            raise IndexError(f"{type(self).__name__}: index {index} is out of range for {len(self)} examples")
        image, target = self._images(make([index % len(self)]))[0], int(self.targets[index].item())
        return (image if self.transform is None else self.transform(image),
                target if self.target_transform is None else self.target_transform(target))

    def get_batch(self, indices: list):
        """Examples as a batch.

        Args:
            indices: their numbers.

        Returns:
            [images (N, C, H, W), classes (N)]; None where single examples have to be looked at.
        """
        if self.transform is not None or self.target_transform is not None:
            return None
        index = make(indices)
        return [self._images(index), self.targets.index_select(0, index)]


class MNIST(ImageDataset):
    """Handwritten digits, 60 000 and 10 000 of 28 by 28 pixels (LeCun, Cortes and Burges).

    Args:
        root: the folder; files are in `MNIST/raw` in it, or in it, compressed or not.
        train: the larger part, else the smaller.
        transform, target_transform, batch_transform: as for `ImageDataset`.
        download: bring the files here if they are not.

    Raises:
        FileNotFoundError: the files are not there.
        ValueError: they are damaged.
        ConnectionError, RuntimeError: they cannot be brought (`download`).

    Example:
        >>> from numtorch.datasets import MNIST
        >>> MNIST("nowhere")
        Traceback (most recent call last):
            ...
        FileNotFoundError: MNIST: expected train-images-idx3-ubyte or train-images-idx3-ubyte.gz in nowhere/MNIST/raw or ...
    """

    mirrors: tuple[str, ...] = ("https://ossci-datasets.s3.amazonaws.com/mnist/",)
    resources = {"train-images-idx3-ubyte.gz": "f68b3c2dcbeaaa9fbdd348bbdeb94873",
                 "train-labels-idx1-ubyte.gz": "d53e105ee54ea40749a09fcbcd1e9432",
                 "t10k-images-idx3-ubyte.gz": "9fb629c4189551a2d022fa330f9573f3",
                 "t10k-labels-idx1-ubyte.gz": "ec29112dd5afa0611ce80d1b7f02629c"}
    names = [str(digit) for digit in range(10)]

    def __init__(self, root, train: bool = True, transform=None, target_transform=None, download: bool = False,
                 batch_transform=None) -> None:
        part = "train" if train else "t10k"
        images, labels = (self._file(root, name, download) for name in self.resources if name.startswith(part))
        data, targets = read_idx(images), read_idx(labels)
        if data.dim() != 3 or targets.dim() != 1 or str(data.dtype) != "torch.uint8":
            raise ValueError(f"{type(self).__name__}: expected images (N, H, W) of uint8 and labels (N), got "
                             f"{tuple(data.shape)} of {data.dtype} in {images} and {tuple(targets.shape)} in {labels}")
        if len(data) != len(targets):
            raise ValueError(f"{type(self).__name__}: expected as many images as classes, got {len(data)} in {images} and "
                             f"{len(targets)} in {labels}")
        strange = [(place, label) for place, label in enumerate(targets.tolist()) if label not in range(len(self.names))]
        if strange:
            place, label = strange[0]
            raise ValueError(f"{type(self).__name__}: {labels} is damaged: it has a class {label} of {len(self.names)}, that of "
                             f"image {place}")
        super().__init__(data, targets.to(int64), self.names, transform, target_transform, batch_transform)

    def _file(self, root, name, download):
        kind = type(self).__name__
        folders = [os.path.join(os.fspath(root), kind, "raw"), os.fspath(root)]
        plain = name.removesuffix(".gz")
        for folder in folders:
            for file in (plain, name):
                path = os.path.join(folder, file)
                if os.path.exists(path) and (file == plain or not download or md5_of(path) == self.resources[name]):
                    return path
        if not download:
            raise FileNotFoundError(f"{kind}: expected {plain} or {name} in {' or '.join(folders)}; pass download=True, or get "
                                    f"{self.mirrors[0]}{name} and put it there")
        return _from_mirrors([mirror + name for mirror in self.mirrors], os.path.join(folders[0], name), self.resources[name])


class FashionMNIST(MNIST):
    """Pictures of clothes, 60 000 and 10 000 of 28 by 28 pixels (Xiao, Rasul and Vollgraf 2017), in files like those of MNIST.

    Args:
        root: the folder; files are in `FashionMNIST/raw` in it, or in it, compressed or not.
        train: the larger part, else the smaller.
        transform, target_transform, batch_transform: as for `ImageDataset`.
        download: bring the files here if they are not.

    Raises:
        FileNotFoundError, ValueError, ConnectionError, RuntimeError: as for `MNIST`.

    Example:
        >>> from numtorch.datasets import FashionMNIST
        >>> FashionMNIST.names[:3]
        ['T-shirt/top', 'Trouser', 'Pullover']
    """

    mirrors = ("http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",)
    resources = {"train-images-idx3-ubyte.gz": "8d4fb7e6c68d591d4c3dfef9ec88bf0d",
                 "train-labels-idx1-ubyte.gz": "25c81989df183df01b3e8a0aad5dffbe",
                 "t10k-images-idx3-ubyte.gz": "bef4ecab320f06d8554ea6380940ec79",
                 "t10k-labels-idx1-ubyte.gz": "bb300cfdad3c16e7a12a480ee83cd310"}
    names = ["T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot"]


class CIFAR10(ImageDataset):
    """Photographs of ten kinds of things, 50 000 and 10 000 of 3 by 32 by 32 bytes (Krizhevsky 2009).

    Both distributions are read, the binary and the pickled one, from the archive or the folder made of it. Pickles give numbers and
    strings only; whatever else they ask for is refused.

    Args:
        root: the folder with the archive or its folder.
        train: the larger part, else the smaller.
        transform, target_transform, batch_transform: as for `ImageDataset`.
        download: bring the archive here if nothing is.

    Raises:
        FileNotFoundError, ValueError, ConnectionError, RuntimeError: as for `MNIST`.

    Example:
        >>> from numtorch.datasets import CIFAR10
        >>> CIFAR10("nowhere")
        Traceback (most recent call last):
            ...
        FileNotFoundError: CIFAR10: expected cifar-10-binary.tar.gz, cifar-10-python.tar.gz or what is in them in nowhere; ...
    """

    url = "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz"
    md5 = "c32a1d4ab5d03f1284b67883e8d87530"
    archives = {"cifar-10-binary.tar.gz": "cifar-10-batches-bin", "cifar-10-python.tar.gz": "cifar-10-batches-py"}
    files = {True: [f"data_batch_{n}" for n in range(1, 6)], False: ["test_batch"]}
    labels = [b"labels"]                                 # in pickles; in binary files these are the bytes before each image
    which = 0                                            # of these is the class
    names = ["airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"]

    def __init__(self, root, train: bool = True, transform=None, target_transform=None, download: bool = False,
                 batch_transform=None) -> None:
        parts = [self._parsed(place, content) for place, content in self._contents(os.fspath(root), train, download)]
        data = from_numpy(np.concatenate([images for images, _ in parts]))
        targets = from_numpy(np.concatenate([classes for _, classes in parts]))
        super().__init__(data, targets, self.names, transform, target_transform, batch_transform)

    def _contents(self, root, train, download):
        """[(where it is, bytes), ...] of the files that make the part."""
        kind = type(self).__name__
        for archive, folder in self.archives.items():
            ending = ".bin" if folder.endswith(("-bin", "-binary")) else ""
            names = [name + ending for name in self.files[train]]
            paths = [os.path.join(root, folder, name) for name in names]
            if all(map(os.path.exists, paths)):
                return [(path, _read(path)) for path in paths]
            path = os.path.join(root, archive)
            if os.path.exists(path) and not (download and self.url.endswith(archive)):
                return _from_archive(kind, path, [f"{folder}/{name}" for name in names])
        archive, folder = next(iter(self.archives.items()))
        path = os.path.join(root, archive)
        if not download:
            raise FileNotFoundError(f"{kind}: expected {', '.join(self.archives)} or what is in them in {root}; pass "
                                    f"download=True, or get {self.url} and put it there")
        _from_mirrors([self.url], path, self.md5)
        return _from_archive(kind, path, [f"{folder}/{name}.bin" for name in self.files[train]])

    def _parsed(self, place, content):
        """Images (N, 3, 32, 32) and classes (N) of one file."""
        kind = type(self).__name__
        if content[:1] == b"\x80":                       # a pickle of protocol 2; in a binary file this would be class 128
            images, classes = _unpickled(kind, place, content, self.labels[self.which])
        else:
            row = len(self.labels) + 3072
            if not content or len(content) % row:
                raise ValueError(f"{kind}: {place} is damaged: it has {len(content)} bytes, which are no rows of {row}")
            rows = np.frombuffer(content, np.uint8).reshape(-1, row)
            images, classes = rows[:, len(self.labels):], rows[:, self.which]
        if int(classes.max()) >= len(self.names):
            raise ValueError(f"{kind}: {place} is damaged: it has a class {int(classes.max())} of {len(self.names)}")
        return np.ascontiguousarray(images).reshape(-1, 3, 32, 32), classes.astype(np.int64)


class CIFAR100(CIFAR10):
    """Photographs of a hundred kinds of things, 50 000 and 10 000 of 3 by 32 by 32 bytes (Krizhevsky 2009).

    Args:
        root: the folder with the archive or its folder.
        train: the larger part, else the smaller.
        transform, target_transform, batch_transform: as for `ImageDataset`.
        download: bring the archive here if nothing is.

    Raises:
        FileNotFoundError, ValueError, ConnectionError, RuntimeError: as for `MNIST`.

    Example:
        >>> from numtorch.datasets import CIFAR100
        >>> len(CIFAR100.names)
        100
    """

    url = "https://www.cs.toronto.edu/~kriz/cifar-100-binary.tar.gz"
    md5 = "03b5dce01913d631647c71ecec9e9cb8"
    archives = {"cifar-100-binary.tar.gz": "cifar-100-binary", "cifar-100-python.tar.gz": "cifar-100-python"}
    files = {True: ["train"], False: ["test"]}
    labels = [b"coarse_labels", b"fine_labels"]
    which = 1
    names = """apple aquarium_fish baby bear beaver bed bee beetle bicycle bottle bowl boy bridge bus butterfly camel can castle
        caterpillar cattle chair chimpanzee clock cloud cockroach couch crab crocodile cup dinosaur dolphin elephant flatfish
        forest fox girl hamster house kangaroo keyboard lamp lawn_mower leopard lion lizard lobster man maple_tree motorcycle
        mountain mouse mushroom oak_tree orange orchid otter palm_tree pear pickup_truck pine_tree plain plate poppy porcupine
        possum rabbit raccoon ray road rocket rose sea seal shark shrew skunk skyscraper snail snake spider squirrel streetcar
        sunflower sweet_pepper table tank telephone television tiger tractor train trout tulip turtle wardrobe whale
        willow_tree wolf woman worm""".split()


# ---------------------------------------------------------------- files
LARGEST = 1 << 28                                        # bytes of a file in an archive; the real ones have at most 153.6 million


def _read(path):
    with open(path, "rb") as file:
        return file.read()


def _from_mirrors(urls, path, md5):
    for number, url in enumerate(urls, 1):
        try:
            return fetch(url, path, md5)
        except ConnectionError:
            if number == len(urls):
                raise


def _from_archive(kind, path, members):
    """[(where it is, bytes), ...] of files in an archive, which is not unpacked."""
    result = {}
    try:
        with tarfile.open(path, "r:*") as archive:
            for member in archive:
                if member.isfile() and member.name in members:
                    if member.size > LARGEST:
                        raise tarfile.TarError(f"{member.name} has {member.size} bytes")
                    result[member.name] = archive.extractfile(member).read()       # type: ignore[union-attr]
    except (tarfile.TarError, EOFError, zlib.error, OSError) as error:
        raise ValueError(f"{kind}: {path} is damaged: {error}") from None
    missing = [name for name in members if name not in result]
    if missing:
        raise ValueError(f"{kind}: {path} has no {missing[0]}")
    return [(f"{path}: {name}", result[name]) for name in members]


class _Plain(pickle.Unpickler):
    """Numbers, strings, containers and NumPy arrays of bytes."""

    def find_class(self, module, name):
        if name == "_reconstruct" and module in ("numpy.core.multiarray", "numpy._core.multiarray"):
            return lambda kind, shape, code: np.ndarray((0,), np.uint8)
        if module == "numpy" and name == "ndarray":
            return None
        if module == "numpy" and name == "dtype":
            return lambda code, *options: np.dtype("u1") if code in ("u1", b"u1") else self._refuse(f"an array of {code!r}")
        if (module, name) == ("_codecs", "encode"):      # how protocol 2 writes bytes in Python 3
            return lambda text, code: text.encode("latin1")
        self._refuse(f"{module}.{name}")

    @staticmethod
    def _refuse(what):
        raise pickle.UnpicklingError(f"it asks for {what}")


def _unpickled(kind, place, content, labels):
    try:
        batch = _Plain(io.BytesIO(content), encoding="bytes").load()
        images, classes = batch[b"data"], np.asarray(batch[labels], np.int64)
    except Exception as error:                           # whatever a damaged pickle leads to
        raise ValueError(f"{kind}: {place} is damaged: {type(error).__name__}: {error}") from None
    if not isinstance(images, np.ndarray) or images.ndim != 2 or images.shape[1] != 3072 or classes.shape != images.shape[:1] \
            or images.dtype != np.uint8 or (classes < 0).any():
        raise ValueError(f"{kind}: {place} is damaged: it holds no images (N, 3072) and classes (N)")
    return images, classes


__all__ = ["CIFAR10", "CIFAR100", "FashionMNIST", "ImageDataset", "MNIST"]
