"""`jit.export_native`: a captured program as a shared library that needs no Python.

words      what the words of a program's launches point into
recording  one call of a function, as steps: launches of kernels part by part, and what happens between them
batching   programs for any number of rows
source     the steps as C
building   the library, the header and the example
exporting  `jit.export_native`
"""
