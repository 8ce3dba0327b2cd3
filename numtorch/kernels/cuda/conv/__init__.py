"""Convolution on a GPU, as products whose operand is read from the image.

conv      planners, forward and for gradients
operands  what brings slices of images and weights, and where results are
"""
