"""Losses: elementwise_losses (terms of two tensors), cross_entropy, ctc, margin_losses."""
