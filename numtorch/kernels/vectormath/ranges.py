"""How far the vectorised forms reach; beyond, the C library answers (see lowering.py)."""

LIMIT32 = 2.0 ** 21                                      # |x| for sin, cos, tan
LIMIT64 = 2.0 ** 48
QUOTIENT32 = 2.0 ** 22                                   # |x / y| for fmod
QUOTIENT64 = 2.0 ** 51
