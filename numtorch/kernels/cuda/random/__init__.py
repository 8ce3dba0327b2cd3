"""Random draws on a GPU: the host's streams."""
