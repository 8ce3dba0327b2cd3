"""Order: sort, topk (the k largest, the k-th), row_order (rows of a matrix), runs (of equal values), exchange_ir (a sorting
network)."""
