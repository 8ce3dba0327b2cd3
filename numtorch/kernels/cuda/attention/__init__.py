"""Attention on a GPU: a tile of scores at a time.

attention    planners, forward and for gradients
descriptor   sizes, scale, flags and strides
tiles        kernels for every dtype; tensorcores, those by tensor cores
passes       what those do for each matrix, as source
fragments    what a thread does with all numbers that it has of a warp's sums
"""
