"""A run: every chosen case on every side, for every dtype and number of threads, into rows."""
from __future__ import annotations

import os
import zlib

import numpy as np

from . import limits
from .case import COUNTED, TOLERANCES, ProcessCase
from .contention import Contention
from .measure import Call, interleaved
from .processes import process_rows

OURS = "numtorch"
MOMENTS_TOLERANCE = 8.0                                  # of means and deviations of n random numbers, in deviations / sqrt(n)


class Session:
    """The sides of a comparison and what is measured about the machine meanwhile.

    Args:
        sides: name to module, numtorch first; that of `torch.compile` is PyTorch's.
        threads: the thread counts to measure with.
        dtypes: the only dtypes to measure, or None for each case's own.
        seconds: about how long a case may take, all sides together.
        with_limits: whether to measure the machine's limits, which takes some seconds.
    """

    def __init__(self, sides, threads, dtypes=None, seconds=0.25, with_limits=True):
        self.sides, self.threads, self.dtypes, self.seconds = sides, threads, dtypes, seconds
        self.contention = Contention(max(threads))
        self.measured: dict = {}                         # our times, by family, case, dtype and threads
        self.limits = {t: limits.measured(t) for t in threads} if with_limits else {}

    # ------------------------------------------------------------ which rows
    def jobs(self, family, cases):
        """(family, case, dtype, threads) of all rows of a family to measure."""
        for case in cases:
            if isinstance(case, ProcessCase):
                yield family, case, None, max(self.threads)
                continue
            for dtype in case.dtypes:
                if self.dtypes is None or dtype in self.dtypes:
                    for threads in self.threads if case.gain is None else [max(self.threads)]:
                        yield family, case, dtype, threads

    def rows(self, family, case, dtype, threads) -> list[dict]:
        """Measure one job."""
        if isinstance(case, ProcessCase):
            rows = process_rows(family, case, [s for s in case.sides if s in self.sides], threads, self.seconds)
        else:
            rows = [self._row(family, case, dtype, threads)]
            if case.gain is not None and threads > 1:
                alone = self._row(family, case, dtype, 1)
                rows[0]["gain_budget"] = case.gain
                rows[0]["alone"] = {side: alone[side]["min"] for side in self.sides if side in alone}
        busy = self.contention.check()
        return [{**row, "busy": round(busy, 2)} for row in rows]

    # ------------------------------------------------------------ one row
    def _row(self, family, case, dtype, threads):
        row = {"family": family, "group": case.group or family, "name": case.name, "dtype": dtype, "threads": threads, "unit": "s",
               "budget": case.budget, "size": case.size}
        rng = np.random.default_rng(zlib.crc32(case.name.encode()))
        made = np.float64 if dtype == "float64" else np.float32         # NumPy has no bfloat16: 16-bit floats are rounded later
        arrays = [make(rng, made) for make in case.inputs]
        self._set_threads(threads)
        calls, results = {}, {}
        for side, module in self.sides.items():
            if not self._takes_part(side, case, dtype, threads):
                continue
            try:
                calls[side] = _call(case, side, module, arrays, dtype)
                results[side] = numbers(calls[side]())
            except Exception as error:
                calls.pop(side, None)
                if side == OURS:
                    row["missing" if is_absent(error, OURS) else "failed"] = f"{type(error).__name__}: {error}"[:300]
                    return row
                row.setdefault("peers_without", {})[side] = f"{type(error).__name__}: {error}"[:300]
        for side in results:
            difference = disagreement(results[OURS], results[side], case, dtype)
            if difference:
                row["wrong"] = f"{side} says otherwise: {difference}"
                return row
        for side, timing in zip(calls, interleaved(list(calls.values()), self.seconds)):
            row[side] = timing.summary()
        self.measured[family, case.name, dtype, threads] = row[OURS]["min"]
        if case.beside is not None and (other := self.measured.get((family, case.beside[1], dtype, threads))) is not None:
            row["most"] = case.beside[0] * other
        if case.budgets:
            row["budgets"] = case.budgets
        self._rates(row, case, dtype, threads, arrays, results[OURS])
        return row

    def _set_threads(self, threads):
        for module in self.sides.values():
            if hasattr(module, "set_num_threads"):
                module.set_num_threads(threads)

    def _takes_part(self, side, case, dtype, threads):
        """NumPy's BLAS and JAX take their threads from the environment, so they are measured with the largest number only."""
        if side == "numpy":
            return case.numpy and dtype in ("float32", "float64") and threads == max(self.threads)
        if side == "torch":
            return "without" not in case.others          # which is compared with itself alone
        return side == OURS or (side in case.others and (side != "jax" or threads == max(self.threads)))

    def _rates(self, row, case, dtype, threads, arrays, results):
        width = {"float64": 8, "float16": 2, "bfloat16": 2}.get(dtype, 4)
        if case.moved == COUNTED and case.setup:             # what it moves is not what it takes and gives
            read = written = 0.0
        elif case.moved == COUNTED:
            size = lambda a: a.size * (width if a.dtype.kind == "f" else a.itemsize)
            read, written = sum(map(size, arrays)), sum(map(size, results))
        else:
            read = written = case.moved * width / 2
        moved, seconds = read + written, row[OURS]["min"]
        if case.flops:
            row.update(flops=case.flops, gflops=case.flops / seconds / 1e9)
        if moved:
            row.update(bytes=moved, gbytes=moved / seconds / 1e9)
        if threads in self.limits and (case.flops or moved):
            row["of_limit"] = limits.shortest_time(self.limits[threads], dtype, case.flops, read, written,
                                                     case.in_place) / seconds


# ---------------------------------------------------------------- sides
def _call(case, side, module, arrays, dtype):
    """The timed call. Each side has a copy of the inputs, so that each has the alignment its own allocator gives."""
    if side == "numpy":
        return Call(case.expression if case.numpy is True else case.numpy, module, *[a.copy() for a in arrays])
    if side == "jax":
        return Call(case.others[side](module, *[module.numpy.asarray(a) for a in arrays]))
    torch, wanted = module, getattr(module, dtype)
    tensors = [torch.from_numpy(a).clone() for a in arrays]
    tensors = [x.to(wanted) if x.is_floating_point() and x.dtype != wanted else x for x in tensors]
    setup = case.others.get(side, case.setup)
    return Call(setup(torch, *tensors)) if setup else Call(case.expression, torch, *tensors)


def is_absent(error, package) -> bool:
    """Whether an exception says that the package lacks something public, rather than that something is wrong in it."""
    if isinstance(error, (ModuleNotFoundError, NotImplementedError)):
        return True
    if not isinstance(error, AttributeError):
        return False
    owner = getattr(error, "obj", None)
    home = getattr(owner, "__name__", "") if type(owner) is type(np) else type(owner).__module__
    return home.split(".")[0] == package and home.split(".")[1:2] not in (["kernels"], ["ops"])


# ---------------------------------------------------------------- comparing results
def numbers(result) -> list[np.ndarray]:
    """Everything numeric in a result, as arrays: of a tensor, an array, a number, or a tuple, list or dict of them."""
    if result is None:
        return []
    if isinstance(result, dict):
        return [a for key in sorted(result) for a in numbers(result[key])]
    if isinstance(result, (tuple, list)):
        return [a for part in result for a in numbers(part)]
    if hasattr(result, "detach"):
        result = result.detach()
        if str(result.dtype).endswith(("bfloat16", "float16")):
            result = result.float()
        result = result.numpy()
    return [np.array(result)]


def disagreement(ours, theirs, case, dtype) -> str:
    """How two sides' results differ, or nothing."""
    if len(ours) != len(theirs):
        return f"{len(theirs)} results, not {len(ours)}"
    for i, (x, y) in enumerate(zip(ours, theirs)):
        where = f" (result {i} of {len(ours)})" if len(ours) > 1 else ""
        if x.shape != y.shape:
            return f"shape {y.shape}, not {x.shape}{where}"
        if x.dtype.kind not in "fc" and case.exact:
            if not np.array_equal(x, y):
                return f"{np.count_nonzero(x != y)} of {x.size} integers differ{where}"
            continue
        x, y = x.astype(np.float64), y.astype(np.float64)
        if not case.exact:
            deviation = y.std() or 1.0
            difference = max(abs(x.mean() - y.mean()), abs(x.std() - y.std())) / deviation if x.size else 0.0
            allowed = MOMENTS_TOLERANCE / np.sqrt(max(x.size, 1))
        else:
            difference, allowed = _distance(x, y, case.corners), case.tolerance or TOLERANCES[dtype]
        if not difference <= allowed:
            return f"relative difference {difference:.1e}, {allowed:.0e} allowed{where}"
    return ""


def _distance(x, y, mean):
    """The largest difference relative to the largest value, or, with `mean`, of the roots of their mean squares.

    Infinities and NaN must be in the same places.
    """
    finite = np.isfinite(x)
    if not np.array_equal(finite, np.isfinite(y)) or not np.array_equal(x[~finite], y[~finite], equal_nan=True):
        return np.inf
    if not finite.any():
        return 0.0
    if mean:
        return np.linalg.norm(x[finite] - y[finite]) / (np.linalg.norm(y[finite]) or 1.0)
    return np.abs(x[finite] - y[finite]).max() / (np.abs(y[finite]).max() or 1.0)


def available_threads() -> int:
    """The processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
