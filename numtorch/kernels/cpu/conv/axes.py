"""Along one axis of a convolution: which lines of the source each tap of the kernel finds for each place.

The forward pass and the gradient for the input are both correlations that way. Of a strided gradient, neighbouring places find
different taps: place `stride * q + r` those of class r, and the places of one class are stride 1 apart in the source.
"""
from __future__ import annotations

from typing import NamedTuple


class Axis(NamedTuple):
    """Args:
        size, out: extents of the source and of the result.
        step: how many lines apart in the source neighbouring places of one class are.
        taps: the kernel's taps in the order of k, class by class, so that those which are inside follow one another.
        shifts: how many lines behind the first of its class each of these finds.
        classes: (first of `taps`, how many, line of the source under the first for the class's first place).
    """
    size: int
    out: int
    step: int
    taps: list
    shifts: list
    classes: list

    def lines(self):
        """For each place: the source's line under the first tap of its class, the first tap inside the source, how many are."""
        table = []
        for place in range(self.out):
            first, number, source = self.classes[place % len(self.classes)]
            source += place // len(self.classes) * self.step
            inside = [tap for tap in range(first, first + number) if 0 <= source + self.shifts[tap] < self.size]
            table.append((source, inside[0], len(inside)) if inside else (source, first, 0))
        return table

    def seen(self, first, count):
        """The source's lines that places of `lines` see, as (first, how many)."""
        ends = [(source + self.shifts[tap], source + self.shifts[tap + taps - 1] + 1)
                for source, tap, taps in self.lines()[first:first + count] if taps]
        low = min((start for start, _ in ends), default=0)
        return low, max((end for _, end in ends), default=low) - low

    def span(self, first, count):
        """The lines, also outside the source, that taps find for `count` places of every class from `first`."""
        own = [(source, source + self.shifts[tap + taps - 1]) for tap, taps, source in self.classes if taps] or [(0, 0)]
        return min(low for low, _ in own) + first * self.step, max(high for _, high in own) + (first + count - 1) * self.step + 1


def forward_axis(size, kernel, stride, padding, dilation, out) -> Axis:
    """The axis of the forward pass: all places are of one class."""
    return Axis(size, out, stride, list(range(kernel)), [tap * dilation for tap in range(kernel)], [(0, kernel, -padding)])


def gradient_axis(size, kernel, stride, padding, dilation, out) -> Axis:
    """The axis of the gradient for the input, whose source is the output's gradient."""
    taps: list[int] = []
    shifts: list[int] = []
    classes = []
    for remainder in range(stride):
        own = [tap for tap in reversed(range(kernel)) if (remainder + padding - tap * dilation) % stride == 0]
        classes.append((len(taps), len(own), (remainder + padding - own[0] * dilation) // stride if own else 0))
        shifts += [(own[0] - tap) * dilation // stride for tap in own]
        taps += own
    return Axis(out, size, 1, taps, shifts, classes)
