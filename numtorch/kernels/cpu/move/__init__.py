"""Elements moved as words: rows, words (any strides), pad, rearrange (cat, roll, repeat); overlap: sums where places are shared."""
