"""Sums of bags on a GPU: a thread a column of a bag. The status says of a bad index, or of bags that are not in order."""
from __future__ import annotations

from numpy import float32, int64

from ...cpu.index import bags as host
from ...cpu.index.bags import BAGS, COUNT, MEAN, ROWS, WIDTH
from ..compiler import cuda
from ..environment import THREADS
from ..parallel import Form, in_parallel
from ..serial import STATUS

T = float32


def sum_columns(table, index, starts, out, status, descriptor):
    bags, count, rows, width = descriptor[BAGS], descriptor[COUNT], descriptor[ROWS], descriptor[WIDTH]
    e = int64(cuda.blockIdx.x) * THREADS + cuda.threadIdx.x
    while e < bags * width:
        bag = e // width
        j = e - bag * width
        first, stop = min(max(starts[bag], int64(0)), count), count
        if starts[0] != 0 or starts[bags - 1] > count:
            status[0] = -1
        if bag + 1 < bags:
            if starts[bag + 1] < starts[bag]:
                status[0] = -1
            stop = min(max(starts[bag + 1], first), count)
        total = T(0)
        for i in range(first, stop):
            row = int64(index[i])
            if row < 0 or row >= rows:
                status[0] = i + 1
            else:
                total += table[row * width + j]
        if descriptor[MEAN] != 0 and stop > first:
            total *= T(1) / T(stop - first)
        out[e] = total
        e += int64(cuda.gridDim.x) * THREADS


plan_sum_bags = in_parallel(host.plan_sum_bags, {host.sum_bags: Form(sum_columns, lambda row: row[BAGS] * row[WIDTH])},
                            host={4: STATUS})
