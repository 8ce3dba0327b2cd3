"""Numbers before the tensors that they multiply, as PyTorch had them until 1.5 and still takes them: `p.add_(-lr, grad)`,
`x.addcmul_(0.5, a, b)`, `torch.addmm(beta, x, alpha, a, b)`. Optimisers of those years are full of them."""
from __future__ import annotations

import warnings

from ...exchange.scalars import number
from ...tensor import Tensor

__all__ = ["numbers_first", "value_first"]

# Where tensors (t) and numbers (n) may stand, by how many factors a function has. A method's beta comes behind its tensor.
_ORDERS = {1: ("tnt", "tnn"), 2: ("ntntt", "nttt", "tnntt", "tntt")}
_warned: list = []


def numbers_first(function, given: tuple, factors: dict, **keywords):
    """A call with more positional arguments than there are tensors: its numbers come first.

    Args:
        function: what takes them by name, behind `self` and the other tensors.
        given: all positional arguments of the call.
        factors: the names of the numbers in their order, and what the call gave for them by name.
        keywords: what else the call gave by name.

    Raises:
        TypeError: no such order.
    """
    order = "".join("t" if isinstance(a, Tensor) else "n" if number(a) is not None else "?" for a in given)
    if order not in _ORDERS[len(factors)] or any(value != 1 for value in factors.values()):
        raise TypeError(f"{function.__name__}() takes {1 + len(factors)} positional arguments but {len(given)} were given")
    _warn(function.__name__, list(factors), len(factors))
    if order == "tnn":
        return function(given[0], given[2], **dict(zip(factors, given[1:])), **keywords)
    tensors, numbers = ([a for a in given if isinstance(a, Tensor) is wanted] for wanted in (True, False))
    return function(*tensors, **dict(zip(factors, numbers)), **keywords)


def value_first(name: str, args: tuple) -> tuple:
    """The operands of addcmul and addcdiv in their order, wherever their value came.

    Args:
        name: of the op.
        args: (input, tensor1, tensor2, value) or (input, value, tensor1, tensor2), numbers as weak tensors.
    """
    weak = [isinstance(a, Tensor) and a.layout.weak for a in args[1:]]
    if weak != [True, False, False] or not all(isinstance(a, Tensor) for a in args):
        return args
    _warn(name, ["value"], 2)
    return args[0], args[2], args[3], args[1]


def _warn(name, factors, others):
    if not _warned:                                      # once in a process, as in PyTorch
        _warned.append(name)
        numbers = [f"Number {factor}" for factor in factors]
        tensors = ["Tensor other"] if others == 1 else ["Tensor tensor1", "Tensor tensor2"]
        warnings.warn(f"This overload of {name} is deprecated:\n\t{name}({', '.join([*numbers, *tensors])})\n"
                      f"Consider using one of the following signatures instead:\n\t"
                      f"{name}({', '.join(tensors)}, *, {', '.join(f'{n} = 1' for n in numbers)})", stacklevel=4)
