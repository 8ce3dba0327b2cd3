"""Order, the largest k and distinct values on a GPU."""
