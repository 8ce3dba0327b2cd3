"""Convolution. `conv` chooses among the kernels; image holds what they share, axes which lines of the source a tap finds.

product, unfold, columns: as matrix products. panel and panel_loops: panels packed from the image. lanes and lane_loops: features as
vector lanes. winograd: 3 x 3. channels, window, depthwise_last: depthwise. channels_last: images whose channels are last. weight:
gradients for weights.
"""
