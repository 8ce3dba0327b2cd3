"""New tensors: asked (what their arguments ask for), fill (empty, zeros, full, like others, from data) and ranges (arange,
linspace, logspace)."""
