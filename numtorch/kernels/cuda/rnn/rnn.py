"""The time loop of a recurrent layer on a GPU: for each step a product and the gates, launched one after another.

What follows what is the host's loop (kernels/families/recurrent.py); here its launches are written down once and made without
looking at shapes again. The products with all inputs come before, in one, and sums for biases after, over all steps at once.
"""
from __future__ import annotations

from collections.abc import Callable

from ...elementtypes import compute_type, itemsize
from ...families.recurrent import BACKWARD, FORWARD, Backward, ByRows, Forward, Loop, backward_loop, forward_loop
from ...families.recurrent import steps_of as steps_of
from ...threads import Prepared
from ..gemm.gemm import plan_gemm
from ..reduce.reduce import plan_reduce
from .gates import plan_gates


class _Launches:
    """Launches being written down, as (call, words, descriptor). A word is an argument's place and the bytes added to it.

    Args:
        names: of the arguments, in order; the loop's own descriptor, which is null, comes after them.
    """

    def __init__(self, dtype, names):
        self.places, self.item, self.launches = {name: i for i, name in enumerate(names)}, itemsize(dtype), []

    def word(self, name, offset=0):
        return self.places[name], offset

    def rows(self, name, row=0, width=0):
        return self.word(name, row * width * self.item)

    def constant(self):
        return len(self.places), 0

    def launch(self, prepared, *words):
        return prepared, words

    def multiply(self, product, left, weight, out, bias=None):
        return self.launch(product, left, weight, out, bias or self.constant(), self.constant())

    def add(self, launches):
        self.launches += launches

    def prepare(self) -> Prepared:
        return Prepared(_InOrder(self.launches), 0, 0, self.launches)


class _InOrder:
    """Launches one after another, each with addresses of the call moved on by bytes."""

    __slots__ = ("launches",)

    def __init__(self, launches):
        self.launches: list[tuple[Callable, int, tuple]] = [(prepared.call, prepared.descriptor, words)
                                                            for prepared, words in launches]

    def __call__(self, *addresses):
        for call, descriptor, words in self.launches:
            call(*[addresses[place] + offset for place, offset in words], descriptor)


def _products(dtype, columns, depth, strides, further, device):
    """A step's product with a weight seen as (depth, columns), by the number of rows."""
    if strides is None:
        return None
    return ByRows(lambda rows: plan_gemm(rows, columns, depth, dtype, (depth, 1), strides, (columns, 1), beta=float(further),
                                         device=device))


# ---------------------------------------------------------------- what pays on the host
def pays_to_pack(dtype: str, sizes) -> bool:
    """Products read weights as they lie."""
    return False


def input_inside(dtype: str, sizes, features: int, out_size: int, width: int) -> bool:
    """The inputs of all steps are one product."""
    return False


def pays_to_transpose(dtype: str, rows: int, width: int, features: int) -> bool:
    """Gradients of weights are computed as they are wanted."""
    return False


# ---------------------------------------------------------------- planners
def plan_forward(kind: str, dtype: str, sizes, reverse: bool, hidden_size: int, out_size: int, weight_strides, projection_strides,
                 keeping: bool, from_zeros: bool = False, features: int = 0, bias: bool = False, device: int = 0) -> Prepared:
    """The products with x (`features`, `bias`) are never inside."""
    loop = Loop(kind, sizes, reverse, hidden_size, out_size)
    plans = Forward(_products(dtype, loop.width, out_size, weight_strides, kind != "gru", device),
                    ByRows(lambda rows: plan_gates(kind, dtype, rows, hidden_size, device)),
                    _products(dtype, out_size, hidden_size, projection_strides, False, device),
                    keeping=keeping, from_zeros=from_zeros)
    program = _Launches(dtype, FORWARD)
    forward_loop(program, 0, sizes[0], loop, plans)
    return program.prepare()


def plan_backward(kind: str, dtype: str, sizes, reverse: bool, hidden_size: int, out_size: int, weight_strides, projection_strides,
                  has, to_before: bool, summed=(), device: int = 0) -> tuple[Prepared, int]:
    """In one part."""
    loop = Loop(kind, sizes, reverse, hidden_size, out_size)
    plans = Backward(_products(dtype, out_size, loop.width, weight_strides, kind == "gru", device),
                     ByRows(lambda rows: plan_gates(kind + "_grad", dtype, rows, hidden_size, device)),
                     ByRows(lambda rows: plan_gates("total", dtype, rows, out_size, device)),
                     _products(dtype, hidden_size, out_size, projection_strides, False, device), None, has, to_before)
    program, compute = _Launches(dtype, BACKWARD), compute_type(dtype)
    backward_loop(program, 0, sizes[0], loop, plans)
    total = plan_reduce("sum", dtype, compute, (sum(sizes), loop.width), (loop.width, 1), (0,), (0, 1), device=device)
    for place, name in enumerate(summed):
        program.add([program.launch(total, program.word(name), program.word("workspace", place * loop.width * itemsize(compute)))])
    return program.prepare().with_workspace(len(summed) * loop.width * itemsize(compute)), 1
