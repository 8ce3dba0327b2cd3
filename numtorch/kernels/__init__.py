"""How everything is computed: kernels that know addresses, sizes and scalars, and the compiler that makes them.

`cpu/` and `cuda/` hold one file a family under the same names. Nothing here knows of layouts, tensors or the tape.
"""
