"""Sparse tensors: of which only some elements are stored, as coordinates (COO), or compressed rows and columns, of
elements (CSR, CSC) or blocks (BSR, BSC).

    a = torch.sparse_coo_tensor([[0, 1], [2, 0]], [3., 4.], (2, 3))
    a @ torch.ones(3, 4)

Each kind is a class of layout with one handler, which takes over the calls on its tensors; no op knows of them.

layouts      what a sparse tensor is: layout and storage
pattern      where elements are: coordinates in order, compressed rows, and the kernels for that
handler      what takes over calls: the tables of rules, views, errors, pickle
coo          COO tensors made, taken apart, put in order, from and to dense ones
compressed   compressed tensors made of their parts by users
conversions  compressed tensors made of others
elementwise  sums, products, powers, and what leaves 0 where it is
shapes       dimensions swapped, picked from, added; tensors joined
reductions   sums, norms, softmax
products     products with dense and sparse matrices
rows         the gradient of an embedding: some rows of a matrix
text         how they are printed
files        how they are pickled, and written to PyTorch's files
methods      what every tensor has for their sake
oldnames     tensor types, and products named after what is sparse
"""
import importlib as _importlib

from . import elementwise, files, methods, oldnames, rows, shapes, text
from .products import addmm, mm, sampled_addmm, spdiags
from .reductions import log_softmax, softmax, sum

RULES = elementwise, files, methods, rows, shapes, text     # which enter what they hold in the handler's tables, and on Tensor

FloatTensor, DoubleTensor, HalfTensor, BFloat16Tensor, LongTensor, IntTensor, ShortTensor, CharTensor, ByteTensor = oldnames.TYPES

__all__ = ["addmm", "log_softmax", "mm", "sampled_addmm", "softmax", "spdiags", "sum"]


def __getattr__(name):
    """PyTorch's names that are not here, and why (alias)."""
    return _importlib.import_module("numtorch.alias").attribute(__name__, name)
