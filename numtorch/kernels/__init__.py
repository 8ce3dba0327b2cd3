"""How everything is computed: kernels that know addresses, sizes and scalars, and the compiler that makes them.

`cpu/` and `cuda/` hold one file a family under the same names, `families/` what both mean. Nothing here knows of layouts, tensors
or the tape. Beside them:

compiler      from a Python function to machine code; ahead, in forked children
binding       a function with its names filled in, and its fingerprint
codegen/      what the compiler does with Numba and LLVM
intrinsics    what Python cannot say; pointers, its typed pointers
elementtypes  what kernels are bound to for each dtype; conversions, between dtypes
entries       kernels as Python calls them
events        what Python tells of each call, for what captures one
sources       functions that are written as text
store         compiled kernels on disk; installed, the versions of what they were made with
targets/      the processors and GPUs that kernels are made for
precision     how precise products of float32 must be
progress      what is said while kernels are compiled
threads       `prepare`: parts of a call; pool, who runs them; forks, locks and children
program       lists of launches
loopnest      how several operands are walked at once
planning      planners for other memory than the host's
debugmemory/  blocks that find wrong uses of memory
vectormath/   exp, sin and their like
"""
