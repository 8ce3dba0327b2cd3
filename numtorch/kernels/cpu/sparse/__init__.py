"""Sparse tensors: indices in order, and products.

coalesce    keys of coordinates, sums of what shares one, where rows begin
product     compressed rows times a dense matrix, and products sampled at their elements
fold_ir     a row of a product in registers, as vector IR
"""
