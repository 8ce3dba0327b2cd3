"""Gather, scatter and masks on a GPU.

gather  gather, scatter, embedding and their gradients
bags    sums of bags of an embedding
mask    elements where a mask holds
equal   equality, bounds and membership
"""
