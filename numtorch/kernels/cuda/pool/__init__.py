"""Windows over images and resampling on a GPU."""
