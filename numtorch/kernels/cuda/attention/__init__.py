"""Attention on a GPU: a tile of scores at a time."""
