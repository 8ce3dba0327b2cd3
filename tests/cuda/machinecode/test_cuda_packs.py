"""Machine code of GPUs that is packed where there is none, and found on a GPU where nothing compiles for it."""
from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest

from numtorch.kernels import store
from numtorch.kernels.targets import architectures

ROOT = Path(__file__).resolve().parents[3]
CUDA = 190                                               # e_machine of ELF files for NVIDIA's GPUs

PACKED = """
import fakedriver
from numtorch.commands import cachetool
from numtorch.kernels.cuda import compiler
compiler.Kernel.assembled = lambda self, capability, variant="": fakedriver.image(self)
cachetool.GROUPS = dict(exponentials=lambda: cachetool._backward(cachetool._inputs((2,))[0].exp()))
raise SystemExit(cachetool.warm())
"""

UNPACKED = """
import sys
import fakedriver
import numtorch as torch
from numtorch.kernels.cuda import compiler
found = compiler.Kernel.cubin
fakedriver.install()
compiler.Kernel.cubin = found
def assembled(self, capability, variant=""):
    raise KeyError(f"{self} is not packed for {capability}")
compiler.Kernel.assembled = assembled
x = torch.tensor([0.0, 1.0]).cuda().requires_grad_()
y = x.exp()
y.sum().backward()
assert [round(v, 4) for v in y.tolist()] == [round(v, 4) for v in x.grad.tolist()] == [1.0, 2.7183]
try:
    x.detach().lgamma()
except KeyError as error:
    assert "(9, 0)" in str(error), error
else:
    sys.exit("lgamma is packed")
"""

HOPPER = """
from pathlib import Path
from numtorch.commands import cachetool
from numtorch.kernels import store
from numtorch.kernels.cuda import compiler
from numtorch.kernels.targets import crosscompile
compiler.Kernel.assembled = lambda self, capability, variant=None: f"{capability} {self.variant}".encode()
assert cachetool.warm(["tensor-cores"]) == 0
packs = [store._Pack(str(path), None) for path in Path(crosscompile.directory()).rglob("*.pack")]
store._installed = lambda name: packs[0] if name == "sm_90" else None
own = [kernel for kernel in compiler.compiled() if kernel.variant == "a"]
del compiler.Kernel.assembled
assert len(packs) == 1 and len({kernel.threads for kernel in own}) == 2 and len(own) > 12, own
assert {kernel.cubin((9, 0)) for kernel in own} == {b"(9, 0) a"}
"""


def run(*code, **environment):
    path = os.pathsep.join([*filter(None, [environment.pop("site", None)]), str(ROOT), str(ROOT / "tests" / "cuda"), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run([sys.executable, *map(str, code)], text=True, timeout=600, capture_output=True,
                          env={**os.environ, "PYTHONPATH": path, "NUMTORCH_COMPILE_AHEAD": "0", **environment})
    assert done.returncode == 0, done.stderr[-3000:]


def installed(packs, folder):
    """The folder as if the wheel of these packs had been installed there."""
    run(ROOT / "tools" / "kernels_wheel.py", packs, folder)
    wheel, = folder.glob("numtorch_kernels_cuda-*.whl")
    assert wheel.name.endswith(f"-cp{sys.version_info.major}{sys.version_info.minor}-none-any.whl")
    zipfile.ZipFile(wheel).extractall(folder / "site")
    return str(folder / "site")


def test_packed_code_is_found_on_a_gpu(tmp_path):
    """On a driver made for tests, whose machine code stands for itself: what was packed runs, and what was not is compiled."""
    home, packs = tmp_path / "home", tmp_path / "packs"
    simulated = dict(NUMBA_ENABLE_CUDASIM="1", NUMTORCH_CACHE_DIR=str(home))
    run("-c", PACKED, **simulated, NUMTORCH_CUDA_ARCHITECTURE="sm_90")
    made, = (home / "elsewhere" / "packs").glob("*.pack")
    packs.mkdir()
    made.rename(packs / store.pack_name("sm_90"))
    run("-c", UNPACKED, NUMBA_ENABLE_CUDASIM="1", NUMTORCH_CACHE_DIR=str(tmp_path / "empty"), site=installed(packs, tmp_path))


def test_what_hopper_alone_can_is_in_its_pack(tmp_path):
    """Products by warp groups, whose code is that of sm_90a, in every tile; a GPU of capability 9.0 finds them."""
    pytest.importorskip("numba_cuda")
    run("-c", HOPPER, NUMTORCH_CUDA_ARCHITECTURE="sm_90", NUMTORCH_CACHE_DIR=str(tmp_path))


def test_what_launches_on_a_gpu_is_in_packs_of_the_host(monkeypatch):
    from numtorch.commands import cachetool
    from numtorch.kernels.cuda import launching
    made = []
    monkeypatch.setattr(launching, "launcher", made.append)
    monkeypatch.setattr(cachetool.threads, "_launcher", lambda count: None)
    monkeypatch.setattr(cachetool.program, "program_kernel", lambda count, checked: None)
    cachetool.GROUPS["launches"]()
    assert made == list(range(3, 14))


def test_kernels_are_packed_without_a_gpu(tmp_path, monkeypatch):
    """Machine code for the architecture, under keys that a GPU of it asks for, and no older one."""
    for package in ("numba-cuda", "cuda-core", "nvidia-nvvm", "nvidia-nvjitlink"):
        try:
            version(package)
        except PackageNotFoundError:
            pytest.skip(f"the cuda extra is not installed ({package} is missing): pip install numtorch[cuda]")
    from numtorch.kernels.cuda import compiler
    from numtorch.kernels.cuda.pointwise.pointwise import pointwise_kernel
    from numtorch.ops.core.primitive import registry
    run("-m", "numtorch", "cache", "pack", tmp_path, "--for", "sm_90", "--family", "elementary", NUMTORCH_CACHE_DIR=str(tmp_path / "unused"))
    assert not (tmp_path / "unused").exists()
    pack = store._Pack(str(tmp_path / store.pack_name("sm_90")), None)
    codes = [store._unseal(pack.get(key)) for key in pack.index]
    assert len(codes) > 20 and {(code[:4], int.from_bytes(code[18:20], "little")) for code in codes} == {(b"\x7fELF", CUDA)}
    monkeypatch.setenv("NUMTORCH_CACHE_DIR", str(tmp_path / "store"))
    monkeypatch.setattr(store, "_installed", lambda name: pack if name == "sm_90" else None)
    monkeypatch.setattr(compiler.Kernel, "ptx", lambda *a: pytest.fail("compiled"))
    kernel = pointwise_kernel(registry["exp"].scalar("float32"), ("float32",), ("float32",), "cc", ("float32",))
    assert kernel.symbol.encode() in kernel.cubin((9, 0))
    for capability, variant in (((8, 0), ""), ((9, 0), "a")):
        with pytest.raises(pytest.fail.Exception):
            kernel.cubin(capability, variant)


def test_an_architecture_runs_on_what_is_not_older(monkeypatch):
    packed = {(7, 5): None, (8, 0): "sm_80", (8, 6): "sm_80", (8, 9): "sm_80", (9, 0): "sm_90", (10, 0): None}
    assert {capability: architectures.packed_for(capability) for capability in packed} == packed
    monkeypatch.setenv("NUMTORCH_CUDA_ARCHITECTURE", "sm_10")
    with pytest.raises(ValueError, match="sm_80, sm_90"):
        architectures.chosen()


def test_what_cannot_be_packed_here_is_said(tmp_path, capsys, monkeypatch):
    from numtorch.commands import cachetool
    monkeypatch.setattr(architectures, "can_pack", lambda: False)
    assert cachetool.pack(tmp_path, ["sm_80"]) == 1 and "numtorch[cuda], which compiles for sm_80, is not" in capsys.readouterr().err
