"""A family's interface: its planners under kernels/cpu/, whose docstrings say what every device's do. A device's own say what differs.

Files are read and not imported: NVIDIA's libraries, which some planners call, need not be there.
"""
import ast
import pathlib
import re

import pytest

import numtorch

PACKAGE = pathlib.Path(numtorch.__file__).parent


def path_of(device, family):
    return PACKAGE / "kernels" / device / f"{family.replace('.', '/')}.py"


def fetched():
    """Families, room and file, that the package names outside of kernels."""
    named = set()
    for path in PACKAGE.rglob("*.py"):
        if not path.is_relative_to(PACKAGE / "kernels"):
            named.update(re.findall(r'"([a-z_]+\.[a-z_]+)"', path.read_text()))
    return sorted(family for family in named if path_of("cpu", family).exists() or path_of("cuda", family).exists())


FAMILIES = fetched()


def planners(device, family):
    """The planners that a device defines itself, by name. Others are made of the host's, and are as those."""
    path = path_of(device, family)
    tree = ast.parse(path.read_text()) if path.exists() else ast.Module([], [])
    return {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name.startswith("plan_")}


def parameters(planner):
    """Names and defaults, without the device that all but the host's have."""
    spec = planner.args
    words = [*spec.posonlyargs, *spec.args]
    defaults = [None] * (len(words) - len(spec.defaults)) + spec.defaults
    pairs = [*zip(words, defaults), *zip(spec.kwonlyargs, spec.kw_defaults), *((each, None) for each in (spec.vararg, spec.kwarg) if each)]
    return {each.arg: default and ast.unparse(default) for each, default in pairs if each.arg != "device"}


def unsaid(planner):
    """What a planner's docstring does not name: each parameter but the element type, and the addresses of the call that comes back."""
    said = ast.get_docstring(planner) or ""
    names = [name for name in parameters(planner) if name != "dtype" and not re.search(rf"\b{name}\b", said)]
    return names + ["addresses"] * ("addresses" not in said.lower())


def test_families_and_planners_are_found():
    assert {"gemm.gemm", "index.gather", "random.gamma", "signal.fft"} <= set(FAMILIES)
    assert parameters(planners("cpu", "norm.unit_norm")["plan_unit"]) == dict.fromkeys(("dtype", "outer", "R", "inner", "eps"))
    assert parameters(planners("cuda", "reduce.reduce")["plan_reduce"])["exponent"] == "2.0"


@pytest.mark.parametrize("family", FAMILIES)
def test_planners_say_what_they_mean(family):
    documented = {**planners("cuda", family), **planners("cpu", family)}
    assert {name: missing for name, planner in documented.items() if (missing := unsaid(planner))} == {}


@pytest.mark.parametrize("family", FAMILIES)
def test_devices_share_an_interface(family):
    host = planners("cpu", family)
    for name, planner in planners("cuda", family).items():
        if name in host:
            assert parameters(planner) == parameters(host[name]), name
            assert not re.search("Args:|[Aa]ddresses", ast.get_docstring(planner) or ""), f"{name}: said where the host's planner stands"


CONVOLUTIONS = {"plan_forward": ["dtype", "shape", "bias", "relu"], "plan_input_grad": ["dtype", "shape", "bias"], "plan_weight_grad": ["dtype", "shape"]}


@pytest.mark.parametrize("family", sorted(path.stem for path in path_of("cpu", "conv.conv").parent.glob("*.py")))
def test_families_of_convolutions_share_planners(family):
    """What conv.py's docstring says of them."""
    for name, planner in planners("cpu", f"conv.{family}").items():
        expected = CONVOLUTIONS.get(name, [])
        assert list(parameters(planner))[:len(expected)] == expected, name


BARE = re.compile(r"\bdescriptor\[\d+\]|\b(offset|scalar|float_scalar)\(descriptor, \d+\)|lambda row\b.*\brow\[\d+\]")


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_words_of_descriptors_have_names(device):
    """Kernels, texts that become kernels, and forms of the host's kernels (cuda/parallel.py) read no word by a bare number."""
    lines = [(path, number, line.strip()) for path in sorted((PACKAGE / "kernels" / device).rglob("*.py"))
             for number, line in enumerate(path.read_text().splitlines(), 1)]
    assert [f"{path.relative_to(PACKAGE)}:{number}: {line}" for path, number, line in lines if BARE.search(line)] == []
    assert sum("descriptor[" in line for _, _, line in lines) > 200
