"""What `python -m numtorch` does beside running programs (`__main__.py` reads the command line).

cachetool      the store of compiled kernels: shown, emptied, filled, packed
reference      docs/ops.md, the page of all primitives
stubs          the `.pyi` files; argumenttypes, what arguments' names mean there

Commands about one room are in that room: `alias/launch.py`, `profiler/command.py`, `shared/report.py`.
"""
