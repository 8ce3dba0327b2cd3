"""New tensors: asked (what their arguments ask for), fill (empty, zeros, full, like others), data (of given data) and ranges
(arange, linspace, logspace)."""
