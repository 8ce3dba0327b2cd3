"""Elements moved, padded and joined on a GPU."""
