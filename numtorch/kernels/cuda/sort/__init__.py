"""Order, the largest k and distinct values on a GPU.

sort       stable sort
topk       the largest k, the k-th, the median
runs       distinct values, histograms, places
row_order  the order of rows
"""
