"""Images and sequences: windows, what poolings share; max_pool, average_pool, region_pool, fractional_pool, unpool, fold, conv and
conv_relu, resample, grid_sample; exact, for integers and complex numbers."""
