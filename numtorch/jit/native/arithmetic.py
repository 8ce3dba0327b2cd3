"""What is done with numbers that are known only when a library runs: for each operation what it means in Python, and its C.

Python's rules hold: ints divide to floats, `//` and `%` round down, an int and a float compare exactly, division by zero and
logarithms of negative numbers are errors. Ints have 64 bits: where Python's would outgrow these, the library's call fails.
"""
from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any, NamedTuple

from .control import Number

KINDS = ("bool", "int", "float")
C_TYPES = {"bool": "int", "int": "int64_t", "float": "double"}
ELEMENTS = {"float32": "float", "float64": "double", "int64": "int64_t", "int32": "int32_t", "int16": "int16_t", "int8": "int8_t",
            "uint8": "uint8_t", "bool": "uint8_t", "float16": "uint16_t", "bfloat16": "uint16_t", "complex32": "uint16_t",
            "complex64": "float", "complex128": "double", "uint16": "uint16_t", "uint32": "uint32_t", "uint64": "uint64_t"}
PLACEHOLDER = {"bool": True, "int": 1, "float": 1.0}


class Operation(NamedTuple):
    """One operation.

    Attributes:
        kind: of its result.
        python: what it means.
        text: C, of {0}, {1} and so on, the operands, and {out}, the result.
        fails: None, and the text is a value; "", and it gives an error's code or 0; else the code of an error, for which it is
            true.
    """

    kind: str
    python: Callable
    text: str
    fails: str | None = None


def _index(index, size):
    index += size if index < 0 else 0
    if not 0 <= index < size:
        raise IndexError
    return index


def _narrow(start, size, length):
    start += size if start < 0 else 0
    if not 0 <= start <= size - length:
        raise IndexError
    return start


OPERATIONS: dict[str, Operation] = {
    "int.add": Operation("int", operator.add, "__builtin_add_overflow({0}, {1}, &{out})", "OVERFLOW"),
    "int.sub": Operation("int", operator.sub, "__builtin_sub_overflow({0}, {1}, &{out})", "OVERFLOW"),
    "int.mul": Operation("int", operator.mul, "__builtin_mul_overflow({0}, {1}, &{out})", "OVERFLOW"),
    "int.truediv": Operation("float", operator.truediv, "int_truediv({0}, {1}, &{out})", ""),
    "int.floordiv": Operation("int", operator.floordiv, "int_floordiv({0}, {1}, &{out})", ""),
    "int.mod": Operation("int", operator.mod, "int_mod({0}, {1}, &{out})", ""),
    "int.pow": Operation("int", operator.pow, "int_pow({0}, {1}, &{out})", ""),
    "int.lshift": Operation("int", operator.lshift, "int_lshift({0}, {1}, &{out})", ""),
    "int.rshift": Operation("int", operator.rshift, "int_rshift({0}, {1}, &{out})", ""),
    "int.neg": Operation("int", operator.neg, "__builtin_sub_overflow((int64_t)0, {0}, &{out})", "OVERFLOW"),
    "int.abs": Operation("int", abs, "int_abs({0}, &{out})", ""),
    "int.invert": Operation("int", operator.invert, "~{0}"),
    "int.float": Operation("float", float, "(double){0}"),
    "int.bool": Operation("bool", bool, "{0} != 0"),
    "bool.int": Operation("int", int, "{0}"),
    "bool.not": Operation("bool", operator.not_, "!{0}"),
    "float.add": Operation("float", operator.add, "{0} + {1}"),
    "float.sub": Operation("float", operator.sub, "{0} - {1}"),
    "float.mul": Operation("float", operator.mul, "{0} * {1}"),
    "float.truediv": Operation("float", operator.truediv, "float_truediv({0}, {1}, &{out})", ""),
    "float.floordiv": Operation("float", operator.floordiv, "float_divmod({0}, {1}, &{out}, &(double){{0}})", ""),
    "float.mod": Operation("float", operator.mod, "float_divmod({0}, {1}, &(double){{0}}, &{out})", ""),
    "float.pow": Operation("float", operator.pow, "float_pow({0}, {1}, &{out})", ""),
    "float.neg": Operation("float", operator.neg, "-{0}"),
    "float.abs": Operation("float", abs, "fabs({0})"),
    "float.bool": Operation("bool", bool, "{0} != 0"),
    "float.int": Operation("int", int, "float_int(trunc({0}), &{out})", ""),
    "float.floor": Operation("int", math.floor, "float_int(floor({0}), &{out})", ""),
    "float.ceil": Operation("int", math.ceil, "float_int(ceil({0}), &{out})", ""),
    "float.round": Operation("int", round, "float_int(nearbyint({0}), &{out})", ""),
    "float.isnan": Operation("bool", math.isnan, "isnan({0}) != 0"),
    "float.isinf": Operation("bool", math.isinf, "isinf({0}) != 0"),
    "float.isfinite": Operation("bool", math.isfinite, "isfinite({0}) != 0"),
    "float.copysign": Operation("float", math.copysign, "copysign({0}, {1})"),
    "index": Operation("int", _index, "index_in({0}, {1}, 1, &{out})", "INDEX"),
    "narrow": Operation("int", _narrow, "index_in({0}, {1}, {2}, &{out})", "INDEX"),
    "range.length": Operation("int", lambda *given: len(range(*given)), "range_length({0}, {1}, {2}, &{out})", ""),
}
# by their names: in C, what it means, and what it says of `order` below
COMPARISONS = {"lt": ("<", operator.lt, "== -1"), "le": ("<=", operator.le, "<= 0"), "gt": (">", operator.gt, "== 1"),
               "ge": (">=", operator.ge, "+ 0u < 2"), "eq": ("==", operator.eq, "== 0"), "ne": ("!=", operator.ne, "!= 0")}
SWAPPED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "eq": "eq", "ne": "ne"}
for _name, (_sign, _function, _test) in COMPARISONS.items():
    OPERATIONS[f"int.{_name}"] = OPERATIONS[f"float.{_name}"] = Operation("bool", _function, f"{{0}} {_sign} {{1}}")
    OPERATIONS[f"mixed.{_name}"] = Operation("bool", _function, f"order({{0}}, {{1}}) {_test}")
for _name, _sign, _function in (("and", "&", operator.and_), ("or", "|", operator.or_), ("xor", "^", operator.xor)):
    OPERATIONS[f"int.{_name}"] = Operation("int", _function, f"{{0}} {_sign} {{1}}")
    OPERATIONS[f"bool.{_name}"] = Operation("bool", _function, f"{{0}} {_sign} {{1}}")
# functions of one float; those in the second list raise OverflowError where their result is infinite, the others ValueError
for _name in ("sqrt", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "asin", "acos", "atan", "tanh", "asinh", "acosh",
              "atanh"):
    OPERATIONS[f"float.{_name}"] = Operation("float", getattr(math, _name), f"checked({_name}({{0}}), {{0}}, 0, &{{out}})", "")
for _name in ("exp", "expm1", "sinh", "cosh"):
    OPERATIONS[f"float.{_name}"] = Operation("float", getattr(math, _name), f"checked({_name}({{0}}), {{0}}, 1, &{{out}})", "")
OPERATIONS["float.fabs"] = OPERATIONS["float.abs"]
ROUNDING = ("floor", "ceil", "trunc")
MATH = {name.partition(".")[2] for name in OPERATIONS if name.startswith("float.")} & set(dir(math)) - set(ROUNDING) - {"pow"}

# what the C of operations calls
HELPERS = r"""
static inline int int_floordiv(int64_t a, int64_t b, int64_t *out) {
  if (b == 0) return NAME_ZERO_DIVISION;
  if (b == -1) return __builtin_sub_overflow((int64_t)0, a, out) ? NAME_OVERFLOW : 0;
  *out = a / b - (a % b != 0 && (a % b < 0) != (b < 0));
  return 0;
}

static inline int int_mod(int64_t a, int64_t b, int64_t *out) {
  if (b == 0) return NAME_ZERO_DIVISION;
  int64_t rest = b == -1 ? 0 : a % b;
  *out = rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
  return 0;
}

/* Rounded once: a quotient of 55 bits or more, whose last one says whether there is a rest, is rounded as it becomes a double. */
static inline int int_truediv(int64_t a, int64_t b, double *out) {
  const int64_t exact = (int64_t)1 << 53;
  if (b == 0) return NAME_ZERO_DIVISION;
  if (-exact <= a && a <= exact && -exact <= b && b <= exact) { *out = (double)a / (double)b; return 0; }
  uint64_t up = a < 0 ? 0 - (uint64_t)a : (uint64_t)a, down = b < 0 ? 0 - (uint64_t)b : (uint64_t)b;
  if (up == 0) { *out = 0; return 0; }
  int shift = 55 + __builtin_clzll(up) - __builtin_clzll(down);
  unsigned __int128 top = shift > 0 ? (unsigned __int128)up << shift : up;
  unsigned __int128 bottom = shift < 0 ? (unsigned __int128)down << -shift : down;
  uint64_t quotient = (uint64_t)(top / bottom) | (top % bottom != 0);
  *out = ldexp((double)quotient, -shift) * ((a < 0) != (b < 0) ? -1 : 1);
  return 0;
}

static inline int int_pow(int64_t a, int64_t b, int64_t *out) {
  int64_t result = 1;
  if (b < 0) return NAME_VALUE;
  for (; b > 0; b >>= 1) {
    if ((b & 1) && __builtin_mul_overflow(result, a, &result)) return NAME_OVERFLOW;
    if (b > 1 && __builtin_mul_overflow(a, a, &a)) return NAME_OVERFLOW;
  }
  *out = result;
  return 0;
}

static inline int int_lshift(int64_t a, int64_t b, int64_t *out) {
  if (b < 0) return NAME_VALUE;
  if (a == 0) { *out = 0; return 0; }
  return b > 62 || __builtin_mul_overflow(a, (int64_t)1 << b, out) ? NAME_OVERFLOW : 0;
}

static inline int int_rshift(int64_t a, int64_t b, int64_t *out) {
  if (b < 0) return NAME_VALUE;
  *out = a >> (b > 63 ? 63 : b);
  return 0;
}

static inline int int_abs(int64_t a, int64_t *out) {
  if (a == INT64_MIN) return NAME_OVERFLOW;
  *out = a < 0 ? -a : a;
  return 0;
}

static inline int float_truediv(double a, double b, double *out) {
  if (b == 0) return NAME_ZERO_DIVISION;
  *out = a / b;
  return 0;
}

/* As in CPython: the rest has the divisor's sign, and the quotient is an integer. */
static inline int float_divmod(double a, double b, double *quotient, double *rest) {
  if (b == 0) return NAME_ZERO_DIVISION;
  double mod = fmod(a, b), div = (a - mod) / b;
  if (mod != 0) {
    if ((b < 0) != (mod < 0)) { mod += b; div -= 1; }
  } else mod = copysign(0, b);
  if (div != 0) {
    double down = floor(div);
    *quotient = div - down > 0.5 ? down + 1 : down;
  } else *quotient = copysign(0, a / b);
  *rest = mod;
  return 0;
}

static inline int float_pow(double a, double b, double *out) {
  if (a == 0 && b < 0) return NAME_ZERO_DIVISION;
  if (a < 0 && isfinite(a) && isfinite(b) && b != floor(b)) return NAME_VALUE;
  *out = pow(a, b);
  return isinf(*out) && isfinite(a) && isfinite(b) ? NAME_OVERFLOW : 0;
}

static inline int float_int(double a, int64_t *out) {
  if (isnan(a)) return NAME_VALUE;
  if (!(a >= -0x1p63 && a < 0x1p63)) return NAME_OVERFLOW;
  *out = (int64_t)a;
  return 0;
}

/* A result of a function of the C library: no number of a number is a mistake, and so is infinity of what is finite. */
static inline int checked(double result, double a, int grows, double *out) {
  if (isnan(result) && !isnan(a)) return NAME_VALUE;
  if (isinf(result) && isfinite(a)) return grows ? NAME_OVERFLOW : NAME_VALUE;
  *out = result;
  return 0;
}

/* Exactly: below, equal or above; 2 where one is no number. */
static inline int order(int64_t a, double b) {
  if (isnan(b)) return 2;
  if (b >= 0x1p63) return -1;
  if (b < -0x1p63) return 1;
  int64_t whole = (int64_t)b;
  if (a != whole) return a < whole ? -1 : 1;
  return b > (double)whole ? -1 : b < (double)whole;
}

static inline int index_in(int64_t index, int64_t size, int64_t length, int64_t *out) {
  if (index < 0) index += size;
  *out = index;
  return index < 0 || index > size - length;
}

static inline int range_length(int64_t start, int64_t stop, int64_t step, int64_t *out) {
  if (step == 0) return NAME_VALUE;
  *out = 0;
  if (step > 0 ? start >= stop : start <= stop) return 0;
  uint64_t span = step > 0 ? (uint64_t)stop - (uint64_t)start : (uint64_t)start - (uint64_t)stop;
  uint64_t count = (span - 1) / (step > 0 ? (uint64_t)step : 0 - (uint64_t)step) + 1;
  *out = (int64_t)count;
  return count > INT64_MAX ? NAME_OVERFLOW : 0;
}
"""


# ---------------------------------------------------------------- numbers, known or not
def is_number(value: Any) -> bool:
    """Whether a value is a number, known or not."""
    return type(value) in (Number, bool, int, float)


def kind_of(value: Any) -> str:
    """`bool`, `int` or `float`."""
    return value.kind if isinstance(value, Number) else type(value).__name__


class Arithmetic:
    """Arithmetic that leaves statements.

    Args:
        let: makes the number that an operation gives: `let(name, *operands)`.
    """

    def __init__(self, let: Callable) -> None:
        self.let = let

    def of_kind(self, value: Any, kind: str) -> Any:
        """A number as one of another kind, as `bool`, `int` and `float` make it."""
        own = kind_of(value)
        if own == kind:
            return value
        if not isinstance(value, Number):
            return {"bool": bool, "int": int, "float": float}[kind](value)
        if own == "bool":
            value = self.let("bool.int", value)
            return value if kind == "int" else self.let("int.float", value)
        return self.let(f"{own}.{kind}", value)

    def binary(self, symbol: str, a: Any, b: Any) -> Any:
        """What an operator gives for numbers, not both of which are known; None where it gives nothing that a library has.

        Args:
            symbol: as in the module `operator`, without underscores.
            a, b: numbers.
        """
        kinds = {kind_of(a), kind_of(b)}
        if symbol in ("and", "or", "xor"):
            kind = "bool" if kinds == {"bool"} else "int"
            return None if "float" in kinds else self.let(f"{kind}.{symbol}", self.of_kind(a, kind), self.of_kind(b, kind))
        kind = "float" if "float" in kinds else "int"
        if symbol in COMPARISONS:
            if kinds == {"float"} or kind == "int":
                return self.let(f"{kind}.{symbol}", self.of_kind(a, kind), self.of_kind(b, kind))
            if kind_of(a) == "float":
                a, b, symbol = b, a, SWAPPED[symbol]
            return self.let(f"mixed.{symbol}", self.of_kind(a, "int"), b)
        if symbol == "pow" and kind == "int":
            if isinstance(b, Number):                    # an int or a float, as its sign says
                return None
            kind = "float" if b < 0 else "int"
        if f"{kind}.{symbol}" not in OPERATIONS:
            return None
        return self.let(f"{kind}.{symbol}", self.of_kind(a, kind), self.of_kind(b, kind))

    def unary(self, symbol: str, a: Any) -> Any:
        """`neg`, `abs`, `invert`, `not` or `pos` of a number that is not known; None where there is none."""
        if symbol == "not":
            return self.let("bool.not", self.of_kind(a, "bool"))
        if a.kind == "bool":
            a = self.of_kind(a, "int")
        if symbol == "pos":
            return a
        return self.let(f"{a.kind}.{symbol}", a) if f"{a.kind}.{symbol}" in OPERATIONS else None
