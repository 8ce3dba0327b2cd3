"""The loops of every family on the host. A room imports only from those before it.

shared      kernels of one element type, work split over threads; evenly spaced numbers
micro       register tiles of the matrix kernels, as vector IR
pointwise   elementwise loops around a formula
move        elements moved, padded, joined
reduce      sums, extremes, moments
scan        running sums and their like
sort        order, the largest k, runs of equal values
index       gather, scatter, masks
norm        layer, batch and group norm, vectors of length 1
softmax     softmax and the losses made of it
random      Philox streams, dropout
gemm        products
linalg      LU, LDL, triangular systems, distances
pool        windows over images, resampling
conv        convolutions
rnn         recurrent layers
attention   attention
optim       optimiser steps
sparse      coordinates in order, products of compressed rows

A planner's module is named by room and file: `kernels(device, "reduce.reduce")`. Files that end in `_ir` hold LLVM IR and are
imported only when a kernel must be compiled.
"""
