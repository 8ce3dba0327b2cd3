"""Products of few rows and columns over a long depth, such as the gradient of a small layer's weights.

Rows and columns are too few to share among threads, so each takes a share of the depth and computes a product of its own into
scratch memory; then these are added, and scaled and biased as the caller asked. Two that have eight rows each take three times as
long for 16x16x65536 as one alone.
"""
from __future__ import annotations

from numpy import float32

from ... import threads
from ...intrinsics import offset
from ...program import Program, prepare_parts
from .product import (
    ALPHA,
    BETA,
    C_COLUMN,
    C_ROW,
    DEPTH_BLOCK,
    FLAGS,
    SERIAL_WORK,
    SUM_SPACE,
    M,
    N,
    compile_for,
    copy_bias,
    finish,
    float_scalar,
    prepare,
    space,
)

T = float32
scalar = float_scalar
SHARES = DEPTH_BLOCK                                     # only the shares have blocks
ARGUMENTS = "a", "b", "c", "bias", "workspace"


def add_shares(a, b, c, bias, workspace, descriptor):
    rows, columns = descriptor[M], descriptor[N]
    sums = offset(workspace, descriptor[SUM_SPACE])
    for share in range(1, descriptor[SHARES]):
        for i in range(rows * columns):
            sums[i] += sums[share * rows * columns + i]
    copy_bias(descriptor, bias, workspace)
    finish(sums, columns, c, descriptor[C_ROW], descriptor[C_COLUMN], rows, columns, scalar(descriptor, ALPHA),
           scalar(descriptor, BETA), workspace,
           descriptor[FLAGS])


def pays(problem) -> bool:
    """Whether the depth is what there is to share: 32x32x16384 takes 1.6 times as long by rows."""
    few = max(problem.m, problem.n)
    return (problem.kind == "f" and problem.batch == 1 and few <= 64 and problem.k >= 64 * few
            and problem.m * problem.n * problem.k >= SERIAL_WORK and (problem.max_parts or threads.get_num_threads()) > 1)


def plan(problem, plan_gemm):
    """The prepared call. `plan_gemm` plans a share."""
    count = min(problem.max_parts or threads.get_num_threads(), problem.k // 1024)
    ends = [problem.k * share // count for share in range(count + 1)]
    shares = [plan_gemm(problem.m, problem.n, end - start, problem.dtype, problem.a, problem.b, (problem.n, 1), max_parts=1)
              for start, end in zip(ends, ends[1:])]
    a, b, c = problem.a[1] * problem.item, problem.b[0] * problem.item, problem.m * problem.n * problem.item
    offsets = [[start * a, start * b, i * c, 0] for i, start in enumerate(ends[:-1])]
    first = prepare_parts([_calling(share) for share in shares], offsets, workspace=max(share.workspace for share in shares))
    _, sums, own, end = space(max(problem.m, problem.n) if problem.bias else 0, count * problem.m * problem.n,
                              -(-first.workspace // problem.item))
    whole = (0, 1), (0, problem.m), (0, problem.n)
    last = prepare(compile_for(add_shares, problem), problem, [whole], (count, 0, 0, 0, 0), (0, 0, sums), 0)
    program = Program(*ARGUMENTS)
    a, b, c, bias, workspace = [program.word(name) for name in ARGUMENTS]
    left, right = (b, a) if problem.swap else (a, b)
    program.add([program.launch(first, left, right, program.word("workspace", sums * problem.item), program.constant(),
                                program.word("workspace", own * problem.item)),
                 program.launch(last, a, b, c, bias, workspace)])
    return program.prepare(end * problem.item)


def _calling(product):
    """The program of one product."""
    program = Program(*ARGUMENTS)
    program.add([program.launch(product, *[program.word(name) for name in ARGUMENTS])])
    return program
