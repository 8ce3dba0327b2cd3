"""What all families share on a GPU: ranges."""
