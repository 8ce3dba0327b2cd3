"""Running sums on a GPU."""
