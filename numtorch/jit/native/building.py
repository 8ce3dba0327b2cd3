"""The library, the header and the example, made with the machine's C compiler."""
from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from typing import Any

from ...kernels import compiler
from . import source
from .recording import Call, Run


def find_compiler() -> str | None:
    """The C compiler: `$CC`, cc, gcc or clang; None where there is none."""
    for name in (os.environ.get("CC"), "cc", "gcc", "clang"):
        if name and shutil.which(name):
            return shutil.which(name)
    return None


def files_of(path: str) -> dict[str, str]:
    """The files of an export.

    Args:
        path: without an ending.
    """
    return {"library": path + ".so", "header": path + ".h", "example": path + "_example.c"}


def build(program: Any, path: str, note: str) -> dict[str, str]:
    """Write `path.so`, `path.h` and `path_example.c`.

    Args:
        program: it.
        path: without an ending.
        note: for the header: where it runs.

    Returns:
        The files: `library`, `header`, `example`.

    Raises:
        RuntimeError: there is no C compiler, or it fails.
    """
    cc = find_compiler()
    if cc is None:
        raise RuntimeError("export_native: there is no C compiler (cc, gcc or clang, or $CC)")
    name = os.path.basename(path)
    if not name.isidentifier():
        raise ValueError(f"export_native: the library's name is that of C functions too: {name!r} is none")
    calls = {each.native for steps in program.pieces for step in steps if isinstance(step, Run) for part in step.parts
             for each in part if isinstance(each, Call)}
    kernels = [kernel for kernel in compiler.known_kernels() if kernel.address in calls]
    os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
    files = files_of(path)
    with open(files["header"], "w") as file:
        file.write(source.header(name, program, note))
    with open(files["example"], "w") as file:
        file.write(source.example(name, program))
    with tempfile.TemporaryDirectory() as folder:
        def put(file_name, content):
            with open(os.path.join(folder, file_name), "wb") as file:
                file.write(content)
            return os.path.join(folder, file_name)
        symbols, objects = [], []
        for kernel in kernels:
            symbol, code = compiler.object_code_of(kernel)
            symbols.append((kernel.address, symbol))
            objects.append(put(symbol + ".o", code))
        data = put("data.bin", bytes(program.data.content))
        put(name + ".h", source.header(name, program, note).encode())
        text = put(name + ".c", source.library(name, program, symbols, data).encode())
        exports = put("exports", f"{{ global: {name}_run; local: *; }};".encode())
        command = [cc, "-std=gnu11", "-O2", "-ffp-contract=off", "-fPIC", "-shared", "-pthread", "-fvisibility=hidden",
                   "-Wl,--no-undefined", f"-Wl,--version-script={exports}", "-Wl,-z,noexecstack", "-Wl,--gc-sections",
                   "-o", os.path.abspath(files["library"]), text, *objects, "-lm"]
        done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"export_native: {cc} failed:\n{done.stderr[-2000:]}")
    return files
