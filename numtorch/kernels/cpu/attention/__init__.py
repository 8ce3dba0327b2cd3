"""Attention without the matrix of scores: block (queries against some keys), attention."""
