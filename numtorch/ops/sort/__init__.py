"""Order along a dimension: order (sort, topk, median), search (searchsorted), scan (cumsum and its kin), unique (distinct values),
histograms (bincount, histc), differences (gradient), segments
(segment_reduce)."""
