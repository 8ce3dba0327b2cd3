"""What all families share on a GPU.

elements     kernels of one dtype, launches one after another
lines        numbers that some threads of a block share
vectors      neighbours moved at once
coordinates  a number taken apart
atomics      words that several threads write
ranges       evenly spaced numbers and powers
"""
