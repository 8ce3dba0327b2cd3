"""Softmax and cross entropy on a GPU."""
