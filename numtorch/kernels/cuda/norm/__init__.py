"""Norms on a GPU.

norm           layer and RMS norm
channel_norm   batch and group norm
response_norm  local response norm
unit_norm      vectors of length 1
"""
