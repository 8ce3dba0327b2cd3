"""`jit.export_native`: a function or module as a shared library."""
from __future__ import annotations

import os
import platform
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from ...kernels import debugmemory, threads
from ...kernels.compiler import DISABLE_JIT
from ...kernels.targets import processor
from ...serialization import save
from ...tensor import Tensor
from ...tree import tensors_in
from ..graphs.scriptmodules import ScriptFunction, ScriptModule
from ..scripting.problems import not_too_deep
from ..tracing.traces import trace
from .batching import CallProgram
from .building import build, files_of
from .recording import as_inputs
from .scripted import script_of
from .scriptrows import ScriptProgram

_CHILD = """
import sys
import numtorch as torch
folder, path, target = sys.argv[1:]
torch.jit.export_native(torch.jit.load(folder + "/program.pt"), torch.load(folder + "/example.pt"), path, target=target)
"""


def export_native(func: Any, example: Any, path: str, *, target: str | None = None) -> dict[str, str]:
    """Write a function of tensors as a shared library that needs no Python, no Numba and no NumPy, with a C header and an example.

    The function is called with the example, and the launches of its kernels are written down (without gradients). The library holds
    them, the kernels' machine code, and the weights. Sizes are those of the example; the number of rows is free where rows are
    computed one by one, which is tried. Only a C compiler is needed, here.

    A script keeps its conditions and loops, where these depend on elements or on arguments that are numbers: both are C.

    Args:
        func: a function, a module, or what `jit.trace`, `jit.script` or `jit.load` returned.
        example: a tensor, or a tuple of them: the arguments. Those of a script may be numbers too, which the library is given as
            `int64_t`, `double` and `uint8_t`.
        path: the library is `path.so`, the header `path.h`, the example `path_example.c`; functions in it begin with the last part.
        target: a baseline of processors, `"x86-64-v3"` or `"x86-64-v4"`, that the library is for; by default this processor. The
            program is traced for that.

    Returns:
        The names of the files: `library`, `header` and `example`.

    Raises:
        RuntimeError: the function does what no library can (draws, writes to what is there already; reads values or returns
            numbers, where it is no script; of a script, with the line and what to write instead), or there is no C compiler.
        TypeError: an argument is no tensor, and of a script no number either.
        ValueError: an unknown target.

    Example:
        >>> import os, shutil, tempfile, numtorch as torch
        >>> folder = tempfile.mkdtemp()
        >>> if shutil.which("cc"):
        ...     net = torch.nn.Linear(4, 2).eval()
        ...     files = torch.jit.export_native(net, torch.rand(3, 4), os.path.join(folder, "net"))
        ...     assert "int net_run(" in open(files["header"]).read()
        >>> shutil.rmtree(folder)
    """
    if sys.platform != "linux":
        raise RuntimeError(f"export_native: expected Linux, whose linkers take the kernels' object code, got {sys.platform}")
    if DISABLE_JIT or debugmemory.MODE:
        raise RuntimeError("export_native: kernels run as Python, or memory is watched (NUMBA_DISABLE_JIT, NUMTORCH_DEBUG_MEMORY)")
    script = script_of(func)
    args = tuple([each.detach().contiguous() if isinstance(each, Tensor) else each
                  for each in as_inputs(example, script is not None)])
    for tensor in tensors_in(args):
        if tensor.layout.device.type != "cpu" or tensor.layout.handler is not None:
            raise RuntimeError("export_native: the example is on another device or of a special layout")
    if target is not None and target != processor.chosen():
        return _elsewhere(func, args, os.fspath(path), target)
    name = processor.chosen() or f"this processor ({processor.name_and_features()[0]})"
    note = f"For {platform.machine()} Linux and {name}; made for up to {threads.get_num_threads()} threads."
    return build(_program(func, script, args), os.fspath(path), note)


def _program(func, script, args):
    """What the library does: the launches of one call, or those of a script with its loops and conditions, where one call does not
    say all."""
    if script is None:
        program = CallProgram(func, args)
        if program.plans[0][1].has_numbers:
            raise RuntimeError("export_native: the function returns numbers beside tensors. Those of a script are results of the "
                               "library: export jit.script(function), or return tensors")
        return program
    if all(isinstance(each, Tensor) for each in args):
        try:
            program = CallProgram(func, args)
            if not program.plans[0][1].has_numbers:
                return program
        except Exception:                                # whatever it is, staging says it at its line
            pass
    with not_too_deep("export_native"):
        return ScriptProgram(*script, args)


def _elsewhere(func, args, path, target):
    """Export in a process whose kernels are for another processor: planners ask for that in many places."""
    if target not in processor.BASELINES:
        raise ValueError(f"export_native: expected a target of {', '.join(processor.BASELINES)}, got {target!r}")
    if not processor.runs(target):
        raise RuntimeError(f"export_native: this processor does not run {target}, and the program is run once to be written down")
    program = func if isinstance(func, (ScriptFunction, ScriptModule)) else trace(func, args, check_trace=False)
    with tempfile.TemporaryDirectory() as folder:
        program.save(os.path.join(folder, "program.pt"))
        save(list(args), os.path.join(folder, "example.pt"))
        home = str(Path(__file__).resolve().parents[3])
        environment = {**os.environ, "NUMTORCH_PROCESSOR": target, "NUMTORCH_NUM_THREADS": str(threads.get_num_threads()),
                       "PYTHONPATH": os.pathsep.join([home, *filter(None, [os.environ.get("PYTHONPATH")])])}
        done = subprocess.run([sys.executable, "-c", _CHILD, folder, os.path.abspath(path), target], env=environment,
                              capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(
            f"export_native: the export for {target} failed: {done.stderr.strip().splitlines()[-1:] or done.returncode}"
        )
    return files_of(path)
