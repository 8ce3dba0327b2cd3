"""What each operation means: its call, its checks, its plan and its gradient, in rooms. A room imports only from those before it.

core        what every op has: records, plans, the way to a device's kernels, formulas, random streams
memory      elements copied, cast and written; results that go into `out`; tensors of another size
shape       views of one memory, and tensors joined, cut up and padded
pointwise   elementwise ops from one formula, and their records
creation    new tensors: filled, counted
reduce      many elements to few: sums, extremes, norms, questions about whole tensors
index       elements picked and written by index tensors and masks
sort        order, running sums, distinct values
random      draws
linalg      products of matrices, factorisations, linear systems, distances
signal      Fourier transforms and windows
spatial     convolution, pooling, resampling
nn          layers as functions: linear, softmax, norms, dropout, embedding, attention, recurrent layers
loss        losses

`engine_arithmetic.py` gives the tape's engine what it needs of arithmetic, `samples.py` reads the samples of
primitives. Nothing here knows of modules or optimisers.
"""
import importlib as _importlib


def __getattr__(name):
    return _importlib.import_module("numtorch.alias").attribute(__name__, name)
