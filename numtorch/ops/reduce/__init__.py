"""Many elements to few.

reduce_op: what a reduction is. resultdtypes: what `dtype=` may be. reductions: the functions. total: the sum of an elementwise op
in one pass. extremes: max and argmax. covariance: cov and corrcoef. normformula: norms as formulas. total_norm: of many tensors
together. hash_tensor: hashes. query: questions with a Python answer, such as `equal`."""
