"""Softmax, log-softmax and logsumexp; cross_entropy; ctc."""
