"""Elements by index tensors and masks.

index_op: what every such op does around its kernel. widened: the same in float32. index_select: index_select and its kin, reading
and writing by index. flat: take and put. pattern and index: `x[...]`. mask: nonzero, masked_select, masked_fill. gather_scatter: an
index for every element. scatter_reduce: sources combined into places. rearrange: roll, flip, repeat. pixels: pixel_shuffle and its
kin. triangles: tril, triu, diagonals."""
