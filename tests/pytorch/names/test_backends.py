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


@pytest.mark.parametrize("torch", [numtorch, pytest.param("torch", id="reference")])
def test_the_precision_of_products_has_two_names(torch):
    if torch == "torch":
        torch = pytest.importorskip("torch")
    products = torch.backends.cuda.matmul
    try:
        for precision in ("high", "medium", "highest"):
            torch.set_float32_matmul_precision(precision)
            assert (products.allow_tf32, products.fp32_precision) == ((False, "ieee") if precision == "highest" else (True, "tf32"))
        for allowed, precision in ((True, "high"), (False, "highest")):
            products.allow_tf32 = allowed
            assert torch.get_float32_matmul_precision() == precision
        with pytest.raises(RuntimeError, match="Unknown precision: half"):
            products.fp32_precision = "half"
        with pytest.raises(AttributeError):
            products.allow_tf33 = True
    finally:
        torch.set_float32_matmul_precision("highest")


def test_an_unknown_precision():
    with pytest.raises(ValueError, match="highest, high, medium"):
        numtorch.set_float32_matmul_precision("low")


def test_results_are_the_same_in_every_run():
    """What `use_deterministic_algorithms` asks for: sums that threads share are added in a fixed order."""
    a, b, index = numtorch.rand(4, 60_000), numtorch.rand(60_000, 4), numtorch.randint(0, 50, (60_000,))
    found = [(a @ b, a.sum(), numtorch.zeros(50, 4).index_add_(0, index, b)) for _ in range(10)]
    assert all(numtorch.equal(x, y) for run in found[1:] for x, y in zip(found[0], run))


@pytest.mark.parametrize("torch", [numtorch, pytest.param("torch", id="reference")])
def test_switches_that_are_kept(torch):
    """What a program sets in its first lines it reads back, as in PyTorch."""
    if torch == "torch":
        torch = pytest.importorskip("torch")
    for mode, level in (("warn", 1), ("error", 2), (0, 0)):
        torch.set_deterministic_debug_mode(mode)
        assert torch.get_deterministic_debug_mode() == level
    with pytest.raises(RuntimeError, match="invalid value of debug_mode"):
        torch.set_deterministic_debug_mode(5)
    before = torch.is_warn_always_enabled()
    torch.set_warn_always(True)
    assert torch.is_warn_always_enabled()
    torch.set_warn_always(before)
    torch.backends.cuda.enable_flash_sdp(False)
    assert not torch.backends.cuda.flash_sdp_enabled() and torch.backends.cuda.math_sdp_enabled()
    torch.backends.cuda.enable_flash_sdp(True)
    assert issubclass(torch.OutOfMemoryError, RuntimeError) and torch.OutOfMemoryError is torch.cuda.OutOfMemoryError
    with torch.nn.attention.sdpa_kernel([torch.nn.attention.SDPBackend.MATH]):
        assert torch.nn.functional.scaled_dot_product_attention(*[torch.ones(1, 2, 3)] * 3).shape == (1, 2, 3)
    with pytest.raises(AssertionError, match="Backend must be"):
        with torch.nn.attention.sdpa_kernel("math"):
            pass
    assert torch.nn.init._calculate_fan_in_and_fan_out(torch.ones(4, 3, 2, 2)) == (12, 16)
    assert torch.nn.utils.skip_init(torch.nn.Linear, 3, 2).weight.shape == (2, 3)


@pytest.mark.parametrize("torch", [numtorch, pytest.param("torch", id="reference")])
def test_structures_are_taken_apart(torch):
    pytree = pytest.importorskip("torch.utils._pytree") if torch == "torch" else torch.utils._pytree
    given = {"a": (1, [2, None]), "b": 3}
    leaves, spec = pytree.tree_flatten(given)
    assert leaves == [1, 2, None, 3] and pytree.tree_unflatten(leaves, spec) == given and spec.num_leaves == 4
    assert pytree.tree_structure({"a": (0, [0, 0]), "b": 0}) == spec != pytree.tree_structure([1])
    assert pytree.tree_map(lambda a, b: [a, b], [1, (2,)], [3, (4,)]) == [[1, 3], ([2, 4],)]
    assert pytree.tree_map_only(int, lambda n: n + 1, [1, "x"]) == [2, "x"] and pytree.tree_any(lambda n: n == 3, given)
    with pytest.raises(ValueError):
        pytree.tree_unflatten([1], spec)
    with pytest.raises(ValueError):
        pytree.tree_map(max, [1], [1, 2])


def test_what_vectors_the_processor_has():
    theirs = pytest.importorskip("torch").backends.cpu.get_cpu_capability()
    ours = numtorch.backends.cpu.get_cpu_capability()
    assert ours == (theirs if theirs in ("AVX2", "AVX512") else "DEFAULT")


def test_what_is_installed_is_said():
    """`torch.version`, `torch.__config__` and the device that tensors come to: numbers and texts of the kinds that PyTorch gives."""
    assert numtorch.version.__version__ == str(numtorch.__version__) and numtorch.version.cuda is None and numtorch.version.hip is None
    assert "numba" in numtorch.__config__.show() and isinstance(numtorch.__config__.parallel_info(), str)
    assert numtorch.get_default_device() == numtorch.device("cpu")
    numtorch.set_default_device("meta")
    try:
        assert numtorch.get_default_device().type == "meta" and numtorch.ones(2).device.type == "meta"
    finally:
        numtorch.set_default_device(None)
    with numtorch.device("meta"):
        assert numtorch.get_default_device().type == "meta"
    assert numtorch.get_default_device().type == "cpu"
