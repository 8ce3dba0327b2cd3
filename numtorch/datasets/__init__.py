"""Readers of standard files: images, text, tables. What a file says is checked, and none of it is run.

download    files from the network, resumed and checked
idx         the format of MNIST's files
images      MNIST, FashionMNIST, CIFAR-10 and CIFAR-100
text        vocabularies, and texts as sequences of numbers
tables      CSV
"""
from .download import download, md5_of
from .idx import read_idx
from .images import CIFAR10, CIFAR100, MNIST, FashionMNIST, ImageDataset
from .tables import CSVDataset
from .text import TextDataset, Vocabulary, characters, read_text, words

__all__ = ["CIFAR10", "CIFAR100", "CSVDataset", "FashionMNIST", "ImageDataset", "MNIST", "TextDataset", "Vocabulary", "characters",
           "download", "md5_of", "read_idx", "read_text", "words"]
