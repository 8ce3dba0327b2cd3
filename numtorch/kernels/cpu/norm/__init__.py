"""Norms: norm (rows), channel_norm (batch, group, instance), response_norm, unit_norm."""
