"""Softmax and cross entropy on a GPU.

softmax        softmax, log-softmax, logsumexp
cross_entropy  losses of classes and of probabilities
ctc            connectionist temporal classification
"""
