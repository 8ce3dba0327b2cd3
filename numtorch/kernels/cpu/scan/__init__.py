"""Along an axis: scan (running sums, products, extremes, log-sums)."""
