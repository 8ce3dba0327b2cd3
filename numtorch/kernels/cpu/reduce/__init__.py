"""Reductions: kinds (what each means), traversal (how the input is walked), reduce, argreduce, moments (variance), row_fold (short
rows in registers)."""
