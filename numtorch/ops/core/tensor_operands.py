"""What PyTorch asks of the operands of elementwise ops beside their shapes: which are to be tensors, where it does not take a
number for each, and which ops do not promote."""
from __future__ import annotations

_ALL = """atan2 fmax fmin gcd heaviside hypot lcm ldexp logaddexp logaddexp2 logical_and logical_or logical_xor maximum
    minimum""".split()
_FIRST = "clamp_low clamp_high copysign eq fmod ge gt le lt ne".split()
_ONE = """bitwise_and bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift chebyshev_polynomial_t gegenbauer
    hermite_polynomial_h hermite_polynomial_he laguerre pow remainder xlog1py xlogy zeta""".split()
WANTED = {**dict.fromkeys(_ALL, "all"), **dict.fromkeys(_FIRST, "first"), **dict.fromkeys(_ONE, "one"), "lerp": "two",
          "addcdiv": "three", "addcmul": "three", "clamp_both": "alike"}
_REFUSED = {"all": any, "first": lambda numbers: numbers[0], "one": all, "two": lambda numbers: numbers[0] or numbers[1],
            "three": lambda numbers: any(numbers[:3]), "alike": lambda numbers: numbers[0] or numbers[1] is not numbers[2]}
_WORDS = {"all": "each to be a tensor", "first": "a tensor first", "one": "a tensor among them",
          "two": "two tensors first", "three": "tensors", "alike": "a tensor, and bounds that are both tensors or both numbers"}
_NO_PROMOTION = {"heaviside": "heaviside is not yet implemented for tensors with different dtypes.", "lerp": "",
                 "prelu": "prelu: Type promoting not supported."}
_TITLES = {"clamp_both": "clamp", "clamp_low": "clamp", "clamp_high": "clamp", "replace_where": "masked_fill"}


def title_of(name) -> str:
    """What messages call an op: the function that people call."""
    return _TITLES.get(name, name)


def check_tensors(name, public, layouts) -> None:
    """Look at the operands of an op that is called for the first time with such layouts: those of numbers are weak.

    Raises:
        TypeError: a number where PyTorch wants a tensor.
        RuntimeError: tensors of other dtypes than the first.
    """
    wanted = WANTED.get(name)
    numbers = [layout.weak for layout in layouts]
    if wanted is not None and _REFUSED[wanted](numbers):
        given = ", ".join(f"{argument}: {'number' if number else 'Tensor'}" for argument, number in zip(public, numbers))
        raise TypeError(f"{title_of(name)}() received an invalid combination of arguments: expected {_WORDS[wanted]}, got "
                        f"({given})")
    if name in _NO_PROMOTION:
        first = layouts[0].dtype
        if name == "lerp" and first.category < 2 and layouts[1].dtype is first:
            raise NotImplementedError(f'"lerp" not implemented for \'{first.title}\': expected tensors of floating point')
        for argument, layout in zip(public, layouts):
            if layout.dtype is not first and not layout.weak and not (argument == "weight" and name == "lerp" and not layout.ndim):
                words = _NO_PROMOTION[name] or f"expected dtype {first} for `{argument}` but got dtype {layout.dtype}"
                raise RuntimeError(f"{words} ({name}: {public[0]} of {first}, {argument} of {layout.dtype})")
    if wanted == "three" and layouts[3].dtype.is_complex and not any(layout.dtype.is_complex for layout in layouts[:3]):
        raise RuntimeError(f"value cannot be converted to type {layouts[0].dtype.name} without overflow: it is complex ({name})")
    if name == "addcdiv" and all(layout.dtype.category < 2 for layout in layouts[1:3]):
        raise RuntimeError(f"Integer division with addcdiv is no longer supported: expected tensor1 or tensor2 to be of floating "
                           f"point, got {layouts[1].dtype} and {layouts[2].dtype}. Use input + value * (tensor1 / tensor2), or "
                           f"torch.div(tensor1, tensor2, rounding_mode='trunc') for the quotients cut off")


def refused_kind(refuses, given, layouts):
    """What an op says of operands of a kind that it has no meaning for; None where it has.

    Args:
        refuses: its words by the kind of the promoted dtype, and for "a bool" and "an integer" (bools too) among the operands.
        given: the dtype that the operands promote to; `layouts` are theirs.
    """
    words = refuses.get(("bool", "integer", "float", "complex")[given.category])
    if words is None and any(layout.dtype.category == 0 for layout in layouts):
        words = refuses.get("a bool")
    if words is None and any(layout.dtype.category < 2 and not layout.weak for layout in layouts):
        words = refuses.get("an integer")
    return words
