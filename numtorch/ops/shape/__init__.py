"""Views, and tensors put together of others.

view_tape: what the tape knows of views. views: whole tensors in another order or shape. slicing: parts. inplace_views: `t_` and its
like. view_scatter: copies in which a view is replaced. view_copies: copies of views. dim_order: how dimensions lie in memory. join,
split, pad: cat and stack, chunk and split, added edges.
"""
