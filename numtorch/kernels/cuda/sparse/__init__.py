"""Coordinates in order and products of compressed rows on a GPU."""
