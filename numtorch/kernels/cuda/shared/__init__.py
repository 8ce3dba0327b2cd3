"""What all families share on a GPU: elements (kernels of one dtype, launches one after another), lines (numbers that some threads
of a block share), atomics, ranges, vectors (neighbours moved at once), coordinates (a number taken apart)."""
