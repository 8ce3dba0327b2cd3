"""Gather, scatter and masks on a GPU."""
