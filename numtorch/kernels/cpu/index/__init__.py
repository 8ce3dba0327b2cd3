"""By index: traversal (two arrays walked by index arrays), gather (reads and writes), bags (sums of rows), mask, equal."""
