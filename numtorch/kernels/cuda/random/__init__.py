"""Random draws on a GPU: the host's streams.

philox     uniform and normal numbers and their like
dropout    dropout
gamma      gamma draws and their slopes
rejection  Poisson, binomial and von Mises draws
each       draws whose elements have streams of their own
choice     draws in proportion to weights, permutations
"""
