"""What the kernels of a family mean, the same for every device; `cpu/` and `cuda/` hold the loops.

reductions  what is accumulated, how two results go together, what is done at the end; norms by order; merging of moments
recurrent   the time loop of a recurrent layer: which products and gates follow one another
windows     how many windows fit along an axis, which of them a tap serves, the sizes of a convolution

A family's *interface* is its planners': the functions named `plan_...` of a room and file, which take sizes, strides and names of
element types and return a `Prepared`; what each is to be called with stands in its docstring under `cpu/`. How elements are stored
and computed is in `kernels/elementtypes.py`, how one type becomes another in `kernels/conversions.py`, how a reader goes through
memory in `kernels/loopnest.py`.
"""
