"""Other processes in which `import torch` is numtorch: what tests of the alias share."""
from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numtorch


def python(*arguments, folder=None, more="", **options):
    """Another Python, which finds this package and not what the tests of other processes set, and what is in `more`."""
    root = str(Path(numtorch.__file__).parent.parent)
    return subprocess.run([sys.executable, *arguments], cwd=folder, timeout=240, capture_output=True, text=True,
                          env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, (root, more)))}, **options)


def after_install(code, **options):
    return python("-c", f"import numtorch.alias; numtorch.alias.install()\n{code}", **options)
