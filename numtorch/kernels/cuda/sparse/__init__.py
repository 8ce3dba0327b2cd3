"""Coordinates in order and products of compressed rows on a GPU.

coalesce  coordinates in order
product   products of compressed rows
"""
