"""Windows over images: window, channels_last, max_region (three dimensions); resample and grid_sample."""
