"""Elementwise ops.

The machinery: pointwise (a formula made an op), calling (its functions), tape (how a call is recorded), describe (its docstring),
divisor (integers that must not be 0). The records: arithmetic, bounds, comparison,
elementary, rounding, activation, power, special, bessel, polynomials, complexparts, real_functions, floats. functions and
operators: what takes more than a record, and Python's operators; inplace: in-place forms that are none of a record. """
