"""Elementwise: pointwise (loops around a formula), rows (formulas around sums and maxima of rows), total (its sum in one pass)."""
