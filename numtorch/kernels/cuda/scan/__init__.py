"""Running sums, products and extremes on a GPU: scan."""
