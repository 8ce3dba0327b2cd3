"""Random programs, run by numtorch and by PyTorch: `python -m tests.differential --seconds 60`.

A program is a list of statements in Python (`program.py`), made while PyTorch runs them (`grammar.py` and the tables beside it), so that
operands fit and a crash of numtorch can be told from its program alone. `compare.py` runs a program in both libraries, statement by statement,
`shrink.py` makes a failing one small, and `__main__.py` does so by the thousand in processes that may die.
"""
