"""New tensors: fill (empty, zeros, full, like others, from data) and ranges (arange, linspace, logspace)."""
