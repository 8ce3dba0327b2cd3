"""The programs of scripts with PyTorch in the place of this package. Nothing here imports numtorch, as in the conftest above."""
import importlib.util
import sys
from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def theirs(request, tmp_path_factory):
    """The programs of a test's module with PyTorch in the place of this package."""
    pytest.importorskip("torch")
    text = Path(request.module.programs.__file__).read_text().replace("import numtorch as torch", "import torch").replace("from numtorch", "from torch")
    path = tmp_path_factory.mktemp("programs") / "their_programs.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location("their_programs", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["their_programs"] = module
    spec.loader.exec_module(module)
    return module
