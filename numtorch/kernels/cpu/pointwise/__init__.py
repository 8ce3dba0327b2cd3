"""Elementwise: pointwise (loops around a formula), total (its sum in one pass)."""
