"""Convolution on a GPU, as products whose operand is read from the image."""
