"""Which operands of elementwise ops PyTorch wants as tensors, where it does not take a number for each."""
from __future__ import annotations

_ALL = """atan2 fmax fmin gcd heaviside hypot lcm ldexp logaddexp logaddexp2 logical_and logical_or logical_xor maximum
    minimum""".split()
_FIRST = "clamp_low clamp_high copysign eq fmod ge gt le lt ne".split()
_ONE = """bitwise_and bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift chebyshev_polynomial_t gegenbauer
    hermite_polynomial_h hermite_polynomial_he laguerre pow remainder xlog1py xlogy zeta""".split()
WANTED = {**dict.fromkeys(_ALL, "all"), **dict.fromkeys(_FIRST, "first"), **dict.fromkeys(_ONE, "one")}
_WORDS = {"all": "each to be a tensor", "first": "a tensor first", "one": "a tensor among them"}


def check_tensors(name, public, layouts) -> None:
    """Look at the operands of an op that is called for the first time with such layouts: those of numbers are weak.

    Raises:
        TypeError: a number where PyTorch wants a tensor.
    """
    wanted = WANTED.get(name)
    if wanted is None:
        return
    numbers = [layout.weak for layout in layouts]
    if any(numbers) if wanted == "all" else numbers[0] if wanted == "first" else all(numbers):
        given = ", ".join(f"{argument}: {'number' if number else 'Tensor'}" for argument, number in zip(public, numbers))
        raise TypeError(f"{name}() received an invalid combination of arguments: expected {_WORDS[wanted]}, got ({given})")
