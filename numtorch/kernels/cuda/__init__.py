"""Kernels for NVIDIA GPUs, and for Numba's simulator of one. A room imports only from those before it, and families have the file
names that kernels/cpu/ has.

shared      kernels of one element type, what the threads of a block share; evenly spaced numbers
pointwise   elementwise loops around a formula
scan        running sums and their like
move        elements moved, padded, joined
reduce      sums, extremes, moments
sort        order, the largest k, runs of equal values
index       gather, scatter, masks
norm        layer, batch and group norm, vectors of length 1
softmax     softmax and the losses made of it
random      Philox streams, dropout
gemm        products
linalg      LU, LDL, triangular systems, distances
signal      Fourier transforms
pool        windows over images, resampling
conv        convolutions
rnn         recurrent layers
attention   attention
optim       optimiser steps
sparse      coordinates in order, products of compressed rows

What they are made of and run by stands beside them:

compiler.py     from a Python function to PTX, a cubin and a launch
frontend.py     numba-cuda's passes, less what kernels do not need; lowering.py, the form of intrinsics
parallel.py     the host's planners with a device's own kernels
serial.py       the host's kernels, each part of a call in a thread
warps.py        what a block's threads wait for, and what the 32 of a warp do together; warps_ir.py, its PTX
runtime.py      which machine there is: one of the next three, by environment.py and its sizes of blocks and grids
gpu.py          the driver's, whose functions are in driver.py; launching.py, a launch as one C call (launching_ir.py); handles.py,
                what a stream is called
simulator.py    Numba's; turns.py, a block's threads one at a time
packing.py      one that compiles for GPUs elsewhere, and runs nothing
caching.py      device memory that is given out again; filememory.py, memory of the simulator's that other processes open
capture.py      launches that are noted, to be made again
reports.py      what kernels find wrong while Python goes on
libraries.py    cuSOLVER, cuBLAS and cuFFT where they are installed

Before the first tensor on a CUDA device nothing here is imported but runtime.py and capture.py, which numtorch.compile asks whether
there is one. Files that end in _ir hold LLVM IR or PTX and are imported only when a kernel must be compiled.
"""
