"""Where tensors meet what is no tensor: Python's numbers and lists, NumPy arrays, buffers and DLPack. In import order:

arrays        NumPy arrays over the memory of tensors
dlpack        what DLPack's capsules say, for the kinds that NumPy has not
values        a tensor's elements for Python
scalars       Python numbers among tensors
construction  tensors from the outside: `make` copies, `from_numpy`, `from_dlpack` and `frombuffer` share memory

What pickle and copy do with tensors is in `pickling.py` above, files are in `serialization/`.
"""
