"""What the whole test session shares.

Tests use the ordinary kernel store, because compiling dominates a first run. `NUMTORCH_TEST_COLD=1` gives the session an
empty one of its own, to test as a newcomer's machine would. Nothing here imports numtorch: tests of importing start clean.
"""
from __future__ import annotations

import ctypes
import gc
import itertools
import multiprocessing
import os
import shutil
import sys
import tempfile
import threading

import pytest

_cold = None


def pytest_configure(config):
    global _cold
    os.environ.setdefault("NUMTORCH_COMPILE_AHEAD", "0")  # all processors are busy, and few tests take every step
    for library in ("MKL", "OPENBLAS"):                   # so are they for PyTorch and NumPy, whose threads would wait for each other
        os.environ.setdefault(f"{library}_NUM_THREADS", "1")
    multiprocessing.set_forkserver_preload(["numpy", "pytest"])          # which take as long to import as numtorch
    if os.environ.get("NUMTORCH_TEST_COLD", "0") in ("", "0"):
        return
    if "PYTEST_XDIST_WORKER" not in os.environ:           # workers inherit the directory of the process that starts them
        _cold = tempfile.mkdtemp(prefix="numtorch-cold-")
        os.environ["NUMTORCH_CACHE_DIR"] = _cold


def pytest_unconfigure(config):
    if _cold is not None:
        shutil.rmtree(_cold, ignore_errors=True)


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """All that tests are made of stays: the collector would look at each of them again and again, a third of the time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


def pytest_report_header(config):
    where = os.environ.get("NUMTORCH_CACHE_DIR") or "the user's cache directory"
    return f"kernel store: {where}{' (cold)' if _cold else ''}"


# ---------------------------------------------------------------- what a first run's time goes into
@pytest.fixture(autouse=True)
def what_is_compiled(record_property):
    """How many kernels a test had compiled in this process, and how long that took."""
    known = sys.modules.get("numtorch.kernels.progress")
    before = (known.statistics.compiled, known.statistics.seconds) if known else (0, 0.0)
    yield
    known = sys.modules.get("numtorch.kernels.progress")
    if known and known.statistics.compiled > before[0]:
        record_property("compiled", (known.statistics.compiled - before[0], known.statistics.seconds - before[1]))


def pytest_terminal_summary(terminalreporter):
    """Beside pytest's own list of the slowest tests (--durations), the slowest files, and what of that went into compiling."""
    if not terminalreporter.config.getoption("durations"):
        return
    files = {}
    for report in itertools.chain.from_iterable(terminalreporter.stats.values()):
        if hasattr(report, "when") and hasattr(report, "duration"):
            row = files.setdefault(report.nodeid.partition("::")[0], [0.0, 0.0, 0])
            row[0] += report.duration
            if report.when == "teardown":
                kernels, seconds = dict(report.user_properties).get("compiled", (0, 0.0))
                row[1] += seconds
                row[2] += kernels
    if not files:
        return
    total, compiling, kernels = (sum(column) for column in zip(*files.values()))
    terminalreporter.section(f"{total:.0f} s of tests, of these {compiling:.0f} s compiling {kernels} kernels")
    for file, (seconds, compiling, kernels) in sorted(files.items(), key=lambda row: -row[1][0])[:40]:
        terminalreporter.write_line(f"{seconds:7.1f}s {compiling:7.1f}s compiling {kernels:4} kernels  {file}")


@pytest.fixture(params=["numtorch", "pytorch"])
def torch(request):
    """The module that a test's body takes: the same body runs on PyTorch when that is installed, which shows that what it expects is
    PyTorch's behaviour."""
    if request.param == "pytorch":
        yield pytest.importorskip("torch")
    else:
        import numtorch
        yield numtorch
        numtorch.set_grad_enabled(True)                  # so that one failure is not followed by others


@pytest.fixture(autouse=True)
def no_thread_is_left():
    """A test's threads end with it: compiled functions, forks and shared memory look whether there are others."""
    before = threading.enumerate()
    yield
    left = [thread for thread in threading.enumerate() if thread not in before and not type(thread).__module__.startswith(("tqdm", "tensorboard"))]
    for thread in left:
        thread.join(1)                                   # what was told to end
    left = [thread for thread in left if thread.is_alive()]
    assert not left, f"the test left {left}"


@pytest.fixture(autouse=True)
def functions_as_they_are():
    """A test that defines a subclass of Tensor, or enters autocast, makes functions ask their arguments; the next one has them as they
    were."""
    yield
    asking = sys.modules.get("numtorch.torchfunction")
    if asking is not None:
        asking.uninstall()
    casting = sys.modules.get("numtorch.amp.casting")
    if casting is not None:
        casting.uninstall()


@pytest.fixture(params=["fork", "spawn", "forkserver"])
def context(request):
    """How processes start: each way in turn."""
    import numtorch.multiprocessing as mp
    return mp.get_context(request.param)


@pytest.fixture
def fork():
    """Processes that start as copies of this one."""
    import numtorch.multiprocessing as mp
    return mp.get_context("fork")


_witness = None                                          # what the collector finds while nobody else has frozen all there is
_looked = -1                                             # how often it had looked at thousands of new objects when all was frozen


@pytest.fixture(autouse=True)
def only_tensors_of_others_are_looked_at():
    """The collector looks at what is new, and captures, which look for memory and views of it among all objects, at tensors and
    storages besides: all else is tens of thousands of tests, of plans, and what compiling kernels left."""
    global _witness, _looked
    if _looked == gc.get_stats()[1]["collections"]:
        return
    if _witness is not None and not gc.get_referrers(_witness[0]):
        gc.unfreeze()
    gc.collect()
    numtorch, storage = sys.modules.get("numtorch"), sys.modules.get("numtorch.storage")
    ours = [] if storage is None else [each for each in gc.get_objects() if issubclass(type(each), (storage.Storage, numtorch.Tensor))]
    gc.freeze()
    for each in ours:
        _untrack(each)
        _track(each)                                     # among the youngest
    _witness = [object()]
    _looked = gc.get_stats()[1]["collections"]


_untrack, _track = ctypes.pythonapi.PyObject_GC_UnTrack, ctypes.pythonapi.PyObject_GC_Track
for _each in (_untrack, _track):
    _each.argtypes, _each.restype = [ctypes.py_object], None
