"""The wheels of numtorch-kernels and numtorch-kernels-cuda: packs of kernels for processors that share their instructions, one for
each architecture and version of Python; and for GPUs, one for each version of Python.

    python -m numtorch cache pack packs && python tools/kernels_wheel.py packs dist

They hold data alone. numtorch looks for it under the names `numtorch_kernels` and `numtorch_kernels_cuda`, and works without it.
"""
from __future__ import annotations

import argparse
import base64
import hashlib
import re
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
from numtorch.kernels.targets.architectures import ARCHITECTURES  # noqa: E402
from numtorch.kernels.targets.processor import BASELINES  # noqa: E402

LARGEST = 10_000_000                                     # bytes
INIT = '"""Kernels of numtorch that need not be compiled: data alone, read by numtorch/kernels/store.py."""\n'


def build_all(packs: Path, folder: Path) -> list[Path]:
    """Write a wheel for each architecture and version of Python that a folder has packs for.

    Raises:
        SystemExit: there are none, or a wheel is too large.
    """
    groups: dict = {}
    for path in sorted(packs.glob("*.pack")):
        baseline, python, _ = path.name.rsplit(".", 2)
        for_gpus, python = baseline in ARCHITECTURES, python.replace("cpython-", "cp")
        tag = f"{python}-none-any" if for_gpus else f"{python}-none-manylinux_2_17_{BASELINES[baseline].machine}"
        groups.setdefault(("numtorch_kernels_cuda" if for_gpus else "numtorch_kernels", tag), []).append(path)
    if not groups:
        raise SystemExit(f"there is no pack in {packs}")
    return [_build(found, name, tag, folder) for (name, tag), found in groups.items()]


def _build(found: list[Path], name: str, tag: str, folder: Path) -> Path:
    version = re.search(r'^version = "(.+)"$', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)[1]
    what = "GPUs" if name == "numtorch_kernels_cuda" else "processors that share their instructions"
    information = f"{name}-{version}.dist-info"
    files = {
        f"{name}/__init__.py": INIT.encode(),
        **{f"{name}/{path.name}": path.read_bytes() for path in found},
        f"{information}/METADATA": f"Metadata-Version: 2.1\nName: {name.replace('_', '-')}\nVersion: {version}\n"
                                   f"Summary: compiled kernels of numtorch for {what}\nLicense: BSD-3-Clause\n"
                                   f"Requires-Dist: numtorch=={version}\n".encode(),
        f"{information}/WHEEL": f"Wheel-Version: 1.0\nGenerator: numtorch\nRoot-Is-Purelib: false\nTag: {tag}\n".encode(),
    }
    lines = [f"{place},sha256={_digest(content)},{len(content)}" for place, content in files.items()]
    record = f"{information}/RECORD"
    files[record] = "\n".join([*lines, f"{record},,", ""]).encode()
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}-{version}-{tag}.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as wheel:
        for place, content in files.items():
            entry = zipfile.ZipInfo(place)               # of no date: equal packs, equal wheels
            entry.external_attr = 0o100644 << 16
            wheel.writestr(entry, content, zipfile.ZIP_DEFLATED, 9)
    if path.stat().st_size > LARGEST:
        raise SystemExit(f"{path} has {path.stat().st_size:,} bytes; {LARGEST:,} is the most")
    return path


def _digest(content: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("packs", type=Path, help="where `python -m numtorch cache pack` wrote to")
    parser.add_argument("folder", type=Path, help="where the wheels go")
    options = parser.parse_args()
    for made in build_all(options.packs, options.folder):
        print(f"{made}: {made.stat().st_size:,} bytes")
