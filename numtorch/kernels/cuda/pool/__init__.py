"""Windows over images and resampling on a GPU.

window         pooling
channels_last  pooling of images whose channels are last
max_region     the largest of regions
grid_sample    images sampled at points
resample       interpolation
"""
