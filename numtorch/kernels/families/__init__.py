"""What the kernels of a family mean, the same for every device; `cpu/` and `cuda/` hold the loops.

reductions  what is accumulated, how two results go together, what is done at the end; norms by order; merging of moments
recurrent   the time loop of a recurrent layer: which products and gates follow one another
windows     how many windows fit along an axis, which of them a tap serves, the sizes of a convolution

A family's *interface* is its planners': the functions named `plan_...` of a room and file, which take sizes, strides and names of
element types and return a `Prepared`. It is written down at the host's planner, under `cpu/`, for every device: the formula, each
argument, the addresses in order, what a bad index does. Another device's planner has the same parameters, and says only what it
does otherwise. The words of a descriptor have names there too, which kernels of all devices read by. How elements are stored
and computed is in `kernels/elementtypes.py`, how one type becomes another in `kernels/conversions.py`, how a reader goes through
memory in `kernels/loopnest.py`.
"""
