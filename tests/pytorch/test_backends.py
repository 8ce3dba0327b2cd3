"""What scripts set in their first lines: it must be there, keep what it is given, and refuse what PyTorch refuses."""
from __future__ import annotations

import pytest

import numtorch

HEADER = """
torch.manual_seed(0)
torch.cuda.manual_seed(0)
torch.cuda.manual_seed_all(0)
torch.cuda.empty_cache()
torch.backends.cudnn.benchmark = True
torch.backends.cudnn.deterministic = torch.backends.cudnn.enabled = True
torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
torch.set_float32_matmul_precision("high")
torch.use_deterministic_algorithms(True, warn_only=True)
device = "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
assert torch.ones(2, device=device).sum().item() == 2
with torch.backends.cudnn.flags(enabled=False):
    assert not torch.backends.cudnn.enabled
assert torch.backends.cudnn.enabled and torch.backends.cudnn.benchmark and torch.get_float32_matmul_precision() == "high"
assert torch.are_deterministic_algorithms_enabled() and torch.is_deterministic_algorithms_warn_only_enabled()
"""


def test_the_first_lines_of_scripts():
    try:
        exec(HEADER, {"torch": numtorch})
    finally:
        numtorch.set_float32_matmul_precision("highest")
        numtorch.use_deterministic_algorithms(False)


def test_an_unknown_precision():
    with pytest.raises(ValueError, match="highest, high, medium"):
        numtorch.set_float32_matmul_precision("low")


def test_results_are_the_same_in_every_run():
    """What `use_deterministic_algorithms` asks for: sums that threads share are added in a fixed order."""
    a, b, index = numtorch.rand(4, 60_000), numtorch.rand(60_000, 4), numtorch.randint(0, 50, (60_000,))
    found = [(a @ b, a.sum(), numtorch.zeros(50, 4).index_add_(0, index, b)) for _ in range(10)]
    assert all(numtorch.equal(x, y) for run in found[1:] for x, y in zip(found[0], run))
