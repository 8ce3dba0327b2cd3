"""Images and sequences: windows, what poolings share; max_pool, average_pool, region_pool, fractional_pool, unpool, fold, conv,
conv_relu and conv_tbc, resample, grid_sample; exact, for integers and complex numbers."""
