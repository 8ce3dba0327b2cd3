"""What all families share: elements (loads, stores, compute types, parts), ranges."""
