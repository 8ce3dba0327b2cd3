"""Elementwise loops around a formula on a GPU: pointwise."""
