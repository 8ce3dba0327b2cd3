"""The time loop of a recurrent layer: which products and gates follow one another, forward and backward, on any device.

A device writes the loop down in a `program` of its own (`rows`, `word`, `constant`, `launch`, `multiply`, `add`), from what it has
planned for steps by their number of rows.
"""
from __future__ import annotations

from typing import Any, NamedTuple

GATES = {"lstm": 4, "gru": 3, "rnn_tanh": 1, "rnn_relu": 1}
FORWARD = ("gates", "before", "cell_before", "hidden_weight", "hidden_bias", "projection", "hidden", "cell", "raw", "products",
           "kept", "workspace", "zeros", "x", "input_weight", "bias")
BACKWARD = ("later", "later_cell", "grad_out", "gates", "before", "cell_before", "hidden", "cell", "kept", "hidden_weight",
            "projection", "grad_gates", "grad_products", "grad_hidden", "grad_raw", "workspace")


class Step(NamedTuple):
    """`rows` sequences from row `at` of all steps' rows on, whose hidden state before is in row `before` of the same, or for those
    that begin here (None) in row `state` of the initial state."""

    rows: int
    at: int
    before: int | None
    state: int


def steps_of(sizes, low, high, reverse) -> list[Step]:
    """The steps, in order, of sequences `low` to `high` when step t has `sizes[t]` sequences, falling or equal.

    Backwards in time, sequences begin when their last step comes: such a step is two, one for those that go on and one for those
    that begin.
    """
    starts = [0]
    for size in sizes:
        starts.append(starts[-1] + size)
    result = []
    running = 0
    for t in (range(len(sizes) - 1, -1, -1) if reverse else range(len(sizes))):
        rows = min(high, sizes[t]) - low
        if rows <= 0:
            continue
        old = min(running, rows)
        if old:
            result.append(Step(old, starts[t] + low, starts[t + 1 if reverse else t - 1] + low, low))
        if rows > old:
            result.append(Step(rows - old, starts[t] + low + old, None, low + old))
        running = rows
    return result


class ByRows(dict):
    """What is planned for a step, by its number of rows (and what else decides)."""

    def __init__(self, plan):
        self.plan = plan

    def __missing__(self, rows):
        self[rows] = self.plan(rows)
        return self[rows]


class Loop(NamedTuple):
    """A layer's loop: the kind of cell, the sequences of each step, whether time runs backwards, and the sizes of the states."""

    kind: str
    sizes: tuple
    reverse: bool
    hidden_size: int
    out_size: int

    @property
    def width(self) -> int:
        """Columns of the gates' sums."""
        return GATES[self.kind] * self.hidden_size


class Forward(NamedTuple):
    """What is planned for forward steps: the products with the hidden state, the gates, what projects hidden states, and the
    products with x, all by rows; the last two are None where there are none.

    Attributes:
        keeping: whether `kept` (GRU) is written.
        from_zeros: whether no product with the initial state is computed.
        features: columns of x.
        bias: whether a bias is added to the products with x.
    """

    products: Any
    gates: Any
    projections: Any = None
    inputs: Any = None
    keeping: bool = False
    from_zeros: bool = False
    features: int = 0
    bias: bool = False


def forward_loop(program, low, high, loop: Loop, plans: Forward) -> None:
    """Write down the steps of sequences `low` to `high`, in words of the arguments `FORWARD`."""
    word, nothing = program.rows, program.constant
    kind, width, hidden_size, out_size = loop.kind, loop.width, loop.hidden_size, loop.out_size
    for rows, at, before, state in steps_of(loop.sizes, low, high, loop.reverse):
        old = word("before", state, out_size) if before is None else word("hidden", before, out_size)
        begins = before is None and plans.from_zeros
        sums = ("gates" if kind == "lstm" else "hidden", at, width)
        if kind == "gru":
            sums = ("zeros" if begins else "products", low, width)
        calls = []
        if plans.inputs is not None:
            calls.append(program.multiply(plans.inputs[rows], word("x", at, plans.features), word("input_weight"),
                                          word("hidden" if GATES[kind] == 1 else "gates", at, width),
                                          word("bias") if plans.bias else None))
        if not begins:
            calls.append(program.multiply(plans.products[rows], old, word("hidden_weight"), word(*sums)))
        if kind == "lstm":
            old_cell = word("cell_before", state, hidden_size) if before is None else word("cell", before, hidden_size)
            raw = "hidden" if plans.projections is None else "raw"
            calls.append(program.launch(plans.gates[rows], word(*sums), old_cell, word("cell", at, hidden_size),
                                        word(raw, at, hidden_size)))
        elif kind == "gru":
            kept = word("kept", at, hidden_size) if plans.keeping else nothing()
            calls.append(program.launch(plans.gates[rows], word("gates", at, width), word(*sums), word("hidden_bias"), old[:],
                                        word("hidden", at, hidden_size), kept))
        else:
            calls.append(program.launch(plans.gates[rows], word(*sums)))
        if plans.projections is not None:
            calls.append(program.multiply(plans.projections[rows], word("raw", at, hidden_size), word("projection"),
                                          word("hidden", at, out_size)))
        program.add(calls)


class Backward(NamedTuple):
    """What is planned for backward steps, by rows: the products with the hidden weight and the gates' gradients; with a projection,
    the sum of the hidden state's two gradients (`totals`) and its product; and for biases the sums of rows, also by whether they
    are added to those of steps before.

    Attributes:
        has: which of `later`, `later_cell` and `grad_out` are there.
        to_before: whether the initial states' gradients are wanted.
        summed: which of `"grad_gates"` and `"grad_products"` the steps sum over their rows.
        total_bytes: of one such sum, one after another at the start of the workspace.
    """

    products: Any
    gates: Any
    totals: Any
    projections: Any
    sums: Any
    has: tuple
    to_before: bool
    summed: tuple = ()
    total_bytes: int = 0


def passes_on(loop: Loop, to_before: bool) -> bool:
    """Whether backward writes gradients of states where those come: for the step before, or as those of the initial states."""
    return to_before or len(loop.sizes) > 1


def backward_loop(program, low, high, loop: Loop, plans: Backward) -> None:
    """Write down the steps of sequences `low` to `high` in the other direction, in words of the arguments `BACKWARD`."""
    word, nothing = program.rows, program.constant
    kind, width, hidden_size, out_size = loop.kind, loop.width, loop.hidden_size, loop.out_size
    (has_later, has_later_cell, has_grad), through = plans.has, passes_on(loop, plans.to_before)
    further = False
    for rows, at, before, state in reversed(steps_of(loop.sizes, low, high, loop.reverse)):
        later = word("later", state, out_size) if has_later else nothing()
        grad = word("grad_out", at, out_size) if has_grad else nothing()
        to_later = word("later", state, out_size) if through else nothing()
        sums = ("grad_products" if kind == "gru" else "grad_gates", at, width)
        calls = []
        if plans.projections is not None:
            calls.append(program.launch(plans.totals[rows], later, grad, word("grad_hidden", at, out_size)))
            calls.append(program.multiply(plans.projections[rows], word("grad_hidden", at, out_size), word("projection"),
                                          word("grad_raw", low, hidden_size)))
            later, grad = word("grad_raw", low, hidden_size), nothing()
        if kind == "lstm":
            old = word("cell_before", state, hidden_size) if before is None else word("cell", before, hidden_size)
            later_cell = word("later_cell", state, hidden_size)
            calls.append(program.launch(
                plans.gates[rows], later, grad, later_cell if has_later_cell else nothing(), word("gates", at, width), old,
                word("cell", at, hidden_size), word(*sums), later_cell[:] if through else nothing()))
        elif kind == "gru":
            old = word("before", state, out_size) if before is None else word("hidden", before, out_size)
            kept = word("kept", at, hidden_size)
            calls.append(program.launch(plans.gates[rows], later, grad, word("gates", at, width), kept, old,
                                        word("grad_gates", at, width), word(*sums), to_later[:]))
        else:
            calls.append(program.launch(plans.gates[rows], later, grad, word("hidden", at, out_size), word(*sums)))
        for place, name in enumerate(plans.summed):
            calls.append(program.launch(plans.sums[rows, further], word(name, at, width),
                                        program.word("workspace", program.front + place * plans.total_bytes)))
        further = True
        if plans.to_before or before is not None:
            calls.append(program.multiply(plans.products[rows], word(*sums), word("hidden_weight"), to_later))
        program.add(calls)
