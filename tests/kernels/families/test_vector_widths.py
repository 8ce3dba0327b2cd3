"""The matrix kernels of every family on shorter vectors than this processor has: AVX2's and 128 bits, by a forced tile.

Each runs the tables of its family's own tests in a process of its own, since compiled kernels and plans are kept by their dtypes
and sizes. Products have such a test in test_kernel_gemm.py, pairs of bfloat16 in test_kernel_gemmwords.py.
"""
import os
import subprocess
import sys
from pathlib import Path

import pytest

from numtorch.kernels.cpu.micro import tile

# All that a kernel knows of its processor's vectors is the tile: here those of AVX2 and below, of 8, of 4 and 2, and of 4 lanes.
FAMILIES = {                                             # kernels: places, lanes, panels, windows, Winograd, columns, weights
    "convolution": (32, "kernels/families/test_kernel_conv.py", "float32 and (test_forward or adjoint or lanes or threads)"),
    "recurrent": (16, "kernels/families/test_kernel_rnn.py", "transposed or panels or (loop and not python)"),
    "attention": (32, "nn/test_attention.py", "float64 and (values_and_gradients or causal)"),
}


@pytest.mark.parametrize("family", FAMILIES)
def test_shorter_vectors(family, tmp_path):
    vector_bytes, file, chosen = FAMILIES[family]
    vector_bytes = min(vector_bytes, tile.host_vector()[0] // 2)
    if vector_bytes < 16:
        pytest.skip("a processor without longer vectors")
    folder = str(Path(__file__).resolve().parents[2])
    path = os.pathsep.join([folder, os.path.dirname(folder), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "NUMTORCH_VECTOR_BYTES": str(vector_bytes), "NUMTORCH_TEST_COLD": "0", "PYTHONPATH": path}
    done = subprocess.run([sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:xdist", "-x", "-k", chosen,
                           os.path.join(folder, file)], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]


@pytest.mark.parametrize("vector_bytes", [16, 32])
def test_the_tile_is_as_asked(vector_bytes, monkeypatch):
    monkeypatch.setenv("NUMTORCH_VECTOR_BYTES", str(vector_bytes))
    assert tile.host_tile(4).width == vector_bytes // 4 and tile.host_tile(8).width == vector_bytes // 8
