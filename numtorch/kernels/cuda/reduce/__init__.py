"""Reductions on a GPU.

reduce     sums and their like
argreduce  places of extremes
moments    variances and deviations
"""
