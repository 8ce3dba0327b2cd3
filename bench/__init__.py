"""Benchmarks: `python -m bench` in a checkout, `python -m numtorch.bench` where the wheel is installed.

One file a family: what is measured, a case in a few lines. How it is measured and shown is in `runner/`; the command line is
`__main__.py`. PyTorch and NumPy are measured beside numtorch, interleaved, on the same inputs, where they are installed;
they are never needed.
"""
