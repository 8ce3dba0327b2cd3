"""Elements moved, padded and joined on a GPU.

words      copies of elements as words of their size
overlap    sums into memory whose elements overlap
pad        padding
rearrange  rolled rows, triangles, one-hot rows, repeated positions
"""
