"""The processor that kernels are compiled for: this one, or a baseline that many share.

A baseline is a set of instructions that processors of some years have (the levels of the x86-64 psABI). Packs of kernels are built
for baselines, under `$NUMTORCH_PROCESSOR` (`python -m numtorch cache pack` sets it), and loaded on each processor that has their
instructions. What planners ask of a processor, they ask here.
"""
from __future__ import annotations

import functools
import os
import platform

_V3 = ("avx", "avx2", "bmi", "bmi2", "cx16", "f16c", "fma", "fxsr", "lzcnt", "mmx", "movbe", "popcnt", "sahf", "sse", "sse2",
       "sse3", "sse4.1", "sse4.2", "ssse3", "xsave")
BASELINES = {                                            # from the most to the least; their features in LLVM's words
    "x86-64-v4": (*_V3, "avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl"),
    "x86-64-v3": _V3,
}
_LINUX_NAMES = {"bmi": "bmi1", "lzcnt": "abm", "sse3": "pni", "sse4.1": "sse4_1", "sse4.2": "sse4_2", "sahf": "lahf_lm"}


def chosen() -> str | None:
    """The baseline that this process compiles for, or None: then it is this very processor.

    Raises:
        ValueError: `$NUMTORCH_PROCESSOR` names no baseline.
    """
    name = os.environ.get("NUMTORCH_PROCESSOR") or None
    if name is not None and name not in BASELINES:
        raise ValueError(f"NUMTORCH_PROCESSOR is {name!r}; there are {', '.join(BASELINES)}")
    return name


@functools.cache
def _flags() -> frozenset:
    try:
        with open("/proc/cpuinfo") as file:
            return frozenset(next((line.split(":", 1)[1] for line in file if line.startswith("flags")), "").split())
    except OSError:
        return frozenset()


def runs(baseline: str) -> bool:
    """Whether this processor has a baseline's instructions."""
    needed = {_LINUX_NAMES.get(feature, feature) for feature in BASELINES[baseline]}
    return platform.machine() in ("x86_64", "AMD64") and needed <= _flags()


@functools.cache
def best_baseline() -> str | None:
    """The most that this processor has of the baselines, or None."""
    return next(filter(runs, BASELINES), None)


@functools.cache
def name_and_features() -> tuple[str, dict]:
    """LLVM's name of the processor, and which features it has."""
    baseline = chosen()
    if baseline is not None:
        return baseline, dict.fromkeys(BASELINES[baseline], True)
    from llvmlite.binding import get_host_cpu_features, get_host_cpu_name
    return get_host_cpu_name(), dict(get_host_cpu_features())
