"""Products on a GPU: tiles of threads that share what they read."""
