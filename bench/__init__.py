"""Benchmarks: `python -m bench core`.

`core.py` holds the cases, `measure.py` how they are timed, `report.py` how results are shown, `__main__.py` the command line.
PyTorch is measured beside numtorch, interleaved, on the same inputs, where it is installed; it is never needed.
"""
