"""How an element of one type becomes a value of another: as source for kernels that are written for a call, on every device.

`load_source` and `store_source` give expressions over the names in `CONVERSION_NAMES`, and `C`, the compute type.
"""
from __future__ import annotations

import numpy as np

from .elementtypes import CONVERSIONS, CONVERTED, FLOATING, is_complex, scalar_type
from .intrinsics import select

# ---------------------------------------------------------------- floats to integers
# Of what an integer cannot hold a processor's instructions make different things: for one element and for a vector, for 8 bits
# and for 64; and LLVM may make anything. So it is written out, as PyTorch's code for one element has it on x86: a float is cut off
# to an int32 (for uint8, uint32 and uint64 to an int64), of which the low bits are taken. What that cannot hold either, NaN too, is
# its least number, the low bits of which are 0. Of int32 and int64 themselves one instruction makes just that.
WORD, LONG_WORD, UNSIGNED, LEAST = np.float32(2 ** 31), np.float32(2 ** 63), np.float32(2 ** 64), np.int64(-2 ** 63)


def word_of(x):
    return select((x > -WORD) & (x < WORD), np.int32(x), np.int32(0))


def long_word_of(x):
    return select((x > -LONG_WORD) & (x < LONG_WORD), np.int64(x), np.int64(0))


def float_to_int8(x):
    return np.int8(word_of(x))


def float_to_int16(x):
    return np.int16(word_of(x))


def float_to_uint16(x):
    return np.uint16(word_of(x))


def float_to_uint8(x):
    """By way of an int32: of a float32 that it cannot hold, the low 8 bits of an int64 are 0."""
    return np.uint8(word_of(x))


def double_to_uint8(x):
    return np.uint8(long_word_of(x))


def float_to_uint32(x):
    return np.uint32(long_word_of(x))


def float_to_uint64(x):
    """From 2^63 on directly, or 0; below, and NaN, the bits of what an int64 is."""
    low = np.uint64(select(x > -LONG_WORD, np.int64(x), LEAST))
    return select(x >= LONG_WORD, select(x < UNSIGNED, np.uint64(x), np.uint64(0)), low)


_NARROWED = {"int8": "float_to_int8", "int16": "float_to_int16", "uint16": "float_to_uint16", "uint8": "float_to_uint8",
             "uint32": "float_to_uint32", "uint64": "float_to_uint64"}


def _to_integer(dtype, source):
    """The name of what makes an integer of a float, as written out above."""
    return "double_to_uint8" if (dtype, source) == ("uint8", "float64") else _NARROWED.get(dtype, f"np_{dtype}")


# ---------------------------------------------------------------- source
_WIDE = {name: "np_complex64" if is_complex(name) else "float32" for name in CONVERTED}      # what is rounded to their words


def load_source(expression, dtype, compute):
    """Source that turns a stored word into a value of the compute type; of float32 rounded to 16 bits where that is said."""
    if compute in CONVERTED:
        load, store = CONVERSIONS[compute]
        return f"{load.name}({store.name}({_WIDE[compute]}({expression})))"
    if dtype in CONVERTED:
        expression = f"{CONVERSIONS[dtype][0].name}({expression})"
    if compute == "bool":
        return f"({expression} != 0)"
    if dtype == "bool":
        expression = f"({expression} != 0)"
    if dtype in FLOATING and not is_complex(dtype) and "int" in compute:
        return f"{_to_integer(compute, dtype)}({expression})"
    return f"C({expression})"


def store_source(expression, dtype, part, compute):
    """Source that turns a result, of inputs taken in the types `compute`, into a stored word; `part` is ".real" where a complex one
    goes to a real dtype."""
    if part and not dtype.startswith("complex") and dtype != "bool":     # a complex number is false where both parts are 0
        expression = f"({expression}){part}"
    if dtype in CONVERTED:
        return f"{CONVERSIONS[dtype][1].name}({_WIDE[dtype]}({expression}))"
    if dtype == "bool":
        return f"uint8(({expression}) != 0)"
    if "int" in dtype and not set(FLOATING).isdisjoint(compute):
        return f"{_to_integer(dtype, 'float64' if {'float64', 'complex128'} & {*compute} else 'float32')}({expression})"
    return f"np_{dtype}({expression})"


_INTEGERS = (float_to_int8, float_to_int16, float_to_uint16, float_to_uint8, double_to_uint8, float_to_uint32, float_to_uint64)
CONVERSION_NAMES = {"float32": np.float32, "uint8": np.uint8, **{f.__name__: f for f in _INTEGERS},
                    **{each.name: each for name in CONVERTED for each in CONVERSIONS[name]},
                    **{f"np_{name}": scalar_type(name) for name in CONVERSIONS if name != "bool" and name not in CONVERTED}}
