"""How far the vectorised forms reach; beyond, the C library answers (see lowering.py), or the processor's own instruction."""

# |x| in float32 and float64: where turns in the unit of the reduction outgrow the constant that rounds them
LIMITS = {"sin": (2.0 ** 21, 2.0 ** 48), "cos": (2.0 ** 21, 2.0 ** 48), "tan": (2.0 ** 19, 2.0 ** 48)}
QUOTIENT32 = 2.0 ** 22                                   # |x / y| for fmod
QUOTIENT64 = 2.0 ** 51
ROOT_RANGE = 2.0 ** -960, 1.7976931348623157e308         # of float64, where x - sqrt(x)**2 is exact
