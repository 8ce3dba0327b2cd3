"""What an element is stored, read, computed and added up as is one row of the table in `numtorch/dtypes.py`: a package with a row more
has a dtype more, in every family of kernels."""
from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ROW = '''narrow = dtype("narrow", "float", 2, storage="uint16", compute="float32", accumulate="float64", load="bfloat16_to_float",
               store="float_to_bfloat16", significand=8)
'''
BEFORE = 'float32 = dtype("float32",'

# Each call is made of the new dtype and of bfloat16, which has the same words.
PROGRAM = '''
import numtorch as torch
from numtorch.dtypes import narrow

F, x = torch.nn.functional, torch.tensor([[3.0, 1.0, 2.0], [0.5, -1.0, 4.3]])
CALLS = {
    "a sum": lambda t: t + t, "a product with a number": lambda t: t * 1.3, "promotion": lambda t: t + x, "a comparison": lambda t: t < 0.7,
    "exp": torch.exp, "all": torch.sum, "rows": lambda t: t.mean(1), "max": lambda t: t.max(1).indices, "sort": lambda t: t.sort().values,
    "cumsum": lambda t: t.cumsum(1), "rows by index": lambda t: t[:, torch.tensor([2, 0])], "cat": lambda t: torch.cat([t, t]),
    "matmul": lambda t: t @ t.t(), "softmax": lambda t: torch.softmax(t, 1), "layer_norm": lambda t: F.layer_norm(t, (3,)),
    "conv2d": lambda t: F.conv2d(t[None, None], t[None, None, :1, :2]), "max_pool2d": lambda t: F.max_pool2d(t[None, None], 2),
    "backward": lambda t: torch.autograd.grad(t.requires_grad_().exp().sum(), t)[0], "full": lambda t: torch.full_like(t, 1.3),
    "finfo": lambda t: torch.tensor([torch.finfo(t.dtype).eps, torch.finfo(t.dtype).max, torch.finfo(t.dtype).resolution]),
}
for name, call in CALLS.items():
    got, expected = call(x.to(narrow)), call(x.to(torch.bfloat16))
    assert got.tolist() == expected.tolist(), (name, got.tolist(), expected.tolist())
    assert got.dtype is (narrow if expected.dtype is torch.bfloat16 else expected.dtype), (name, got.dtype)
'''


def test_a_dtype_is_a_row_of_the_table(tmp_path):
    shutil.copytree(ROOT / "numtorch", tmp_path / "numtorch", ignore=shutil.ignore_patterns("__pycache__", "*.pyi"))
    table = tmp_path / "numtorch" / "dtypes.py"
    text = table.read_text()
    assert text.count(BEFORE) == 1
    table.write_text(text.replace(BEFORE, ROW + BEFORE))
    done = subprocess.run([sys.executable, "-c", PROGRAM], cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(tmp_path)},
                          capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
