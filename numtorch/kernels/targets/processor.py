"""The processor that kernels are compiled for: this one, or a baseline that many share.

A baseline is a set of instructions that processors of some years have (the levels of the x86-64 psABI, the versions of Arm's
architecture). Packs of kernels are built for baselines, under `$NUMTORCH_PROCESSOR` (`python -m numtorch cache pack` sets it), and
loaded on each processor that has their instructions. What planners ask of a processor, they ask here.
"""
from __future__ import annotations

import functools
import os
import platform
from typing import NamedTuple

_V3 = ("avx", "avx2", "bmi", "bmi2", "cx16", "f16c", "fma", "fxsr", "lzcnt", "mmx", "movbe", "popcnt", "sahf", "sse", "sse2",
       "sse3", "sse4.1", "sse4.2", "ssse3", "xsave")


class Baseline(NamedTuple):
    """Instructions that many processors share: the architecture as `platform.machine()` has it, LLVM's name of the processor, the
    features in LLVM's words, and the kind of system and of object files."""

    machine: str
    cpu: str
    features: tuple[str, ...]
    triple: str


BASELINES = {                                            # of each architecture from the most to the least
    "x86-64-v4": Baseline("x86_64", "x86-64-v4", (*_V3, "avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl"),
                          "x86_64-unknown-linux-gnu"),
    "x86-64-v3": Baseline("x86_64", "x86-64-v3", _V3, "x86_64-unknown-linux-gnu"),
    "armv8-a": Baseline("aarch64", "generic", ("fp-armv8", "neon"), "aarch64-unknown-linux-gnu"),
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


def machine() -> str:
    """This machine's architecture, by its name on Linux."""
    name = platform.machine()
    return {"AMD64": "x86_64", "arm64": "aarch64"}.get(name, name)


def runs(baseline: str) -> bool:
    """Whether this processor has a baseline's instructions."""
    needed = {_LINUX_NAMES.get(feature, feature) for feature in BASELINES[baseline].features}
    return machine() == BASELINES[baseline].machine and (machine() == "aarch64" or needed <= _flags())     # all of those have NEON


def can_pack(baseline: str) -> bool:
    """Whether kernels for a baseline can be made here. What is packed is also run: as it is, or, for another architecture, made for
    this processor of the same form of LLVM's (see crosscompile.py), which must not name an architecture's own instructions."""
    return runs(baseline) or (machine() != BASELINES[baseline].machine and "avx512f" not in BASELINES[baseline].features)


def foreign() -> Baseline | None:
    """The baseline of another architecture that this process compiles for beside this processor, or None."""
    name = chosen()
    return None if name is None or BASELINES[name].machine == machine() else BASELINES[name]


@functools.cache
def best_baseline() -> str | None:
    """The most that this processor has of the baselines, or None."""
    return next(filter(runs, BASELINES), None)


@functools.cache
def name_and_features() -> tuple[str, dict]:
    """LLVM's name of the processor, and which features it has."""
    baseline = chosen()
    if baseline is not None:
        return BASELINES[baseline].cpu, dict.fromkeys(BASELINES[baseline].features, True)
    return native_name_and_features()


@functools.cache
def native_name_and_features() -> tuple[str, dict]:
    """The same of the very processor, whatever is compiled for."""
    from llvmlite.binding import get_host_cpu_features, get_host_cpu_name
    always = dict.fromkeys(BASELINES["armv8-a"].features if machine() == "aarch64" else (), True)        # not every system tells
    return get_host_cpu_name(), {**dict(get_host_cpu_features()), **always}
