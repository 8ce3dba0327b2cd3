"""The host's planners with a device's own kernels: what a call is, the host's descriptor says whole, and many threads share it.

A planner of the host that is asked to plan for one thread describes the call by one descriptor. `in_parallel` gives that descriptor
to a kernel of the device's own (a `Form`) that stands for the host's and takes the same addresses, with the numbers that the host
keeps as float64 in the type that is computed in. So a family's checks, names and descriptors are written once.
"""
from __future__ import annotations

import functools
import struct
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy import int64

from ..planning import Elsewhere, planning_for
from ..threads import NOTHING
from .compiler import compile_kernel, cuda, prepare
from .environment import MOST_BLOCKS, THREADS
from .serial import given, reporting, staged
from .shared.coordinates import NARROW, divisor, numbers
from .shared.elements import in_turn, integer_of, launch, scalar_bits


class Form(NamedTuple):
    """A device's kernel for one of the host's.

    Attributes:
        function: the kernel, which takes what the host's takes.
        threads: how many threads have work, of the descriptor.
        names: what else it binds, of the descriptor and of what the host's kernel binds.
        scalars: places of the descriptor with floats, as bits of float64 there and of the compute type (`lines.scalar`) here.
        first: a form whose kernel runs before this one, with the same addresses.
        cleared: how many elements of the last address are set to 0 before, of the descriptor.
        divisors: of the descriptor, the extents that the kernel divides numbers by: their words stand behind it, and the kernel
            names `quotient` and `N` (shared/coordinates.py).
            A thread of such a kernel works once: the grid has as many as there is work.
        largest: what these numbers stay below; the threads when None.
        more: words that stand behind the descriptor before those, of the descriptor and of what the host's kernel binds.
    """
    function: Callable
    threads: Callable
    names: Callable = lambda row, bound: {}
    scalars: tuple = ()
    first: Form | None = None
    cleared: Callable | None = None
    divisors: Callable | None = None
    largest: Callable | None = None
    more: Callable = lambda row, bound: []


COUNT = 0                                                # of `clear`'s descriptor


def clear(x, descriptor):
    """So many elements of x become 0."""
    i = int64(cuda.blockIdx.x) * THREADS + cuda.threadIdx.x
    while i < descriptor[COUNT]:
        x[i] = 0
        i += int64(cuda.gridDim.x) * THREADS


def float_from(word: int) -> float:
    """The float64 that a descriptor of the host holds."""
    return struct.unpack("<d", struct.pack("<q", word))[0]


class Parallel(Elsewhere):
    """One device, for planners of the host whose kernels have forms.

    Args:
        device: its index.
        forms: by the host's function.
        host, read: the bytes of each address that is of the host's memory, by place: written too, or read alone.
        report: the place of a status that only says what is wrong, or None.
    """

    def __init__(self, device, forms, host, read, report):
        self.device, self.forms, self.host, self.read, self.report = device, forms, host, read, report

    def prepare(self, kernel, descriptors, offsets, workspace):
        function, bound, compute, meant = kernel.recipe
        names = dict(bound)
        form, row = self.forms[function], descriptors[0].tolist()
        kind = np.dtype(names["T"]).name
        for place in form.scalars:
            row[place] = scalar_bits(float_from(row[place]), kind)
        names["INT"] = integer_of(kind)
        plans = [self._planned(each, kernel, row, names, compute, meant) for each in (form.first, form) if each is not None]
        places = tuple(range(len(kernel.signature) - 1))
        launches = [(each, places) for each in plans]
        if form.cleared is not None:
            count = form.cleared(row)
            launches.insert(0, (launch(compile_kernel(clear, kernel.signature[-2:]), [count], count, self.device), places[-1:]))
        plan = plans[0] if len(launches) == 1 else in_turn(*launches)
        plan = staged(plan, self.host, self.device) if self.host else plan
        plan = plan if self.report is None else reporting(plan, form.function.__name__, self.report, self.device)
        return given(plan, self.read, self.device) if self.read else plan

    def _planned(self, form, kernel, row, names, compute, meant):
        row = [*row, *form.more(row, names)]
        names, threads = {**names, **form.names(row, names)}, form.threads(row)
        if form.divisors is None:
            return launch(compile_kernel(form.function, kernel.signature, names, compute, meant), row, threads, self.device)
        narrow = (form.largest or form.threads)(row) < NARROW
        made = compile_kernel(form.function, kernel.signature, {**names, **numbers(narrow)}, compute, meant)
        row = [*row, *[divisor(max(extent, 1), narrow) for extent in form.divisors(row)]]
        return prepare(made, row, -(-threads // THREADS), self.device, MOST_BLOCKS) if threads else NOTHING


def in_parallel(planner, forms, host=None, read=None, report=None):
    """A planner of the host as one of a device, which takes the device's index as `device`, with kernels of its own.

    Args:
        forms: the `Form` for each kernel that the planner may choose; or a function of the planner's arguments that says.
        host: the bytes of each address that is of the host's memory, by place; or a function of the planner's arguments that says.
        read: the same of addresses that are only read.
        report: the place of a status that only says what is wrong, which the machine may raise later.
    """
    @functools.wraps(planner)
    def plan(*arguments, device=0, **options):
        own = forms(*arguments) if callable(forms) else forms
        written = host(*arguments) if callable(host) else host
        only = read(*arguments) if callable(read) else read
        with planning_for(Parallel(device, own, written, only, report)):
            return planner(*arguments, **options)
    return plan
