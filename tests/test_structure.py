"""The house stands as docs/architecture.md draws it: floors, no cycles, a light import, no borrowed arithmetic."""
from __future__ import annotations

import ast
import functools
import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parent.parent / "numtorch"

# From the ground up. A module belongs to the first floor that names it or a package above it; what no floor names (layers,
# optimisers, data, tools) stands on top of all of these.
FLOORS = [
    ("alias", "extras", "dtypes", "shortfloats", "devices", "finalisers"),
    ("kernels",),
    ("layout", "viewalgebra", "storage", "tensor", "pickling", "exchange", "shared"),
    ("autograd",),
    ("printing", "ops"),
]
TOP = len(FLOORS)


def module_name(path):
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(p): p for p in sorted(PACKAGE.rglob("*.py"))}


def floor_of(name):
    inside = name.removeprefix("numtorch").lstrip(".")
    for number, roots in enumerate(FLOORS):
        if any(inside == r or inside.startswith(r + ".") for r in roots):
            return number
    return TOP


def resolve(module, node):
    """The modules of this package that an import statement names."""
    if isinstance(node, ast.Import):
        return [a.name for a in node.names if a.name.split(".")[0] == "numtorch"]
    base = node.module or ""
    if node.level:
        package = module if MODULES[module].name == "__init__.py" else module.rpartition(".")[0]
        parts = package.split(".")
        base = ".".join([*parts[:len(parts) - node.level + 1], *([base] if base else [])])
    if base.split(".")[0] != "numtorch":
        return []
    found = []
    for alias in node.names:
        inner = f"{base}.{alias.name}"
        found.append(inner if inner in MODULES else base)
    return found


def typing_only(tree):
    """Import statements under `if TYPE_CHECKING:`, which never run."""
    skipped = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            skipped.update(id(n) for statement in node.body for n in ast.walk(statement))
    return skipped


@functools.cache
def imports():
    """(module, imported module, line) for every import in the package, inside functions too."""
    found = []
    for module, path in MODULES.items():
        tree = ast.parse(path.read_text())
        skipped = typing_only(tree)
        for node in ast.walk(tree):
            if isinstance(node, (ast.Import, ast.ImportFrom)) and id(node) not in skipped:
                found += [(module, target, node.lineno) for target in resolve(module, node) if target != module]
    return found


def test_the_parser_sees_imports():
    assert ("numtorch.tensor", "numtorch.layout") in {(a, b) for a, b, _ in imports()}
    assert floor_of("numtorch.kernels.cpu.gemm.gemm") == 1 and floor_of("numtorch.nn") == TOP


def test_floors_import_downwards_only():
    wrong = [f"{MODULES[a].relative_to(PACKAGE)}:{line} imports {b}" for a, b, line in imports() if floor_of(b) > floor_of(a)]
    assert not wrong, "\n".join(["a floor imports from one above it:", *wrong])


# folders of rooms, which their docstrings list in import order
ROOMED = ("numtorch.jit", "numtorch.ops", "numtorch.kernels.cpu", "numtorch.kernels.cuda")
ON_FILES = {"numtorch.kernels.cuda"}                     # those whose rooms stand on the files beside them


def rooms_of(package):
    """The rooms of a folder in the order of its docstring: a word and its explanation a line."""
    drawn = re.findall(r"^(\w+) {2,}\S", importlib.import_module(package).__doc__, re.MULTILINE)
    return {room: number for number, room in enumerate(drawn)}


@pytest.mark.parametrize("package", ROOMED)
def test_rooms_import_from_those_before_them(package):
    rooms = rooms_of(package)
    folders = {p.parent.name for p in MODULES[package].parent.glob("*/__init__.py")}
    assert set(rooms) == folders
    inside = re.compile(re.escape(package) + r"\.(\w+)\.")
    wrong = [f"{a}:{line} imports {b}" for a, b, line in imports() if (m := inside.match(a)) and (n := inside.match(b + "."))
             and rooms[m[1]] < rooms.get(n[1], -1 if package in ON_FILES else len(rooms))]
    assert not wrong, "\n".join(["a room imports from one behind it:", *wrong])


@pytest.mark.parametrize("package", ROOMED)
def test_rooms_say_what_lives_in_them(package):
    for room in rooms_of(package):
        folder = MODULES[package].parent / room
        assert len(list(folder.glob("*.py"))) <= 22, f"{room} holds several rooms"
        page = ast.get_docstring(ast.parse((folder / "__init__.py").read_text()))
        missing = [p.stem for p in folder.glob("*.py") if p.stem != "__init__" and not re.search(rf"\b{p.stem}\b", page)
                   and not p.stem.endswith("_ir")]
        assert not missing, f"{package}.{room} says nothing of {missing}"


MAPPED = ("amp", "autograd", "data", "exchange", "func", "kernels", "kernels/codegen", "kernels/cuda", "kernels/targets", "kernels/vectormath", "nn", "nn/base", "nn/modules", "nn/utils", "optim",
          "serialization", "sparse", "utils")


@pytest.mark.parametrize("folder", MAPPED)
def test_other_folders_have_maps(folder):
    """A docstring that says where everything in a folder is."""
    page = ast.get_docstring(ast.parse((PACKAGE / folder / "__init__.py").read_text()))
    missing = [p.stem for p in (PACKAGE / folder).glob("*.py") if p.stem != "__init__" and not re.search(rf"\b{p.stem}\b", page)]
    assert not missing, f"{folder} says nothing of {missing}"


def test_the_page_draws_these_floors():
    """Every module at the top of the package stands on the page, from the top floor down."""
    drawing = (PACKAGE.parent / "docs" / "architecture.md").read_text().split("```")[1].split()
    there = {module.split(".")[1] for module in MODULES if "." in module}
    assert not there - set(drawing), there - set(drawing)
    floors = [floor_of(f"numtorch.{name}") for name in drawing if name in there]
    assert floors == sorted(floors, reverse=True)


def cycles(edges):
    """Strongly connected groups of more than one module (Tarjan 1972)."""
    graph = {}
    for a, b, _ in edges:
        graph.setdefault(a, set()).add(b)
    index, low, stack, found = {}, {}, [], []

    def visit(node):
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in sorted(graph.get(node, ())):
            if other not in index:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], index[other])
        if low[node] == index[node]:
            group = []
            while not group or group[-1] != node:
                group.append(stack.pop())
            if len(group) > 1:
                found.append(sorted(group))

    for node in sorted(graph):
        if node not in index:
            visit(node)
    return found


def test_no_import_cycles():
    assert cycles([("a", "b", 0), ("b", "c", 0), ("c", "a", 0)]) == [["a", "b", "c"]]
    assert cycles(imports()) == []


def unknown_names(module, tree):
    """What is taken from modules of this package, by imports or as `module.name`, and is not there."""
    modules, skipped = {}, typing_only(tree)
    for node in ast.walk(tree):
        if not isinstance(node, ast.ImportFrom) or id(node) in skipped:
            continue
        for alias, target in zip(node.names, resolve(module, node)):
            known = importlib.import_module(target)
            if target.endswith(f".{alias.name}") and (node.module or "").split(".")[-1] != alias.name:
                modules[alias.asname or alias.name] = known
            elif alias.name != "*" and not hasattr(known, alias.name):
                yield f"{module}:{node.lineno} {target}.{alias.name}"
    written = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    written |= {a.arg for a in ast.walk(tree) if isinstance(a, ast.arg)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id not in written:
            known = modules.get(node.value.id)
            if known is not None and not hasattr(known, node.attr):
                yield f"{module}:{node.lineno} {node.value.id}.{node.attr}"


def test_names_of_other_modules_exist():
    found = [name for module, path in MODULES.items() if ".cuda" not in module and not module.endswith("__main__")
             for name in unknown_names(module, ast.parse(path.read_text()))]
    assert not found, found
    wrong = "from . import tensor\nfrom .layout import nothing\ntensor.missing"
    assert len(list(unknown_names("numtorch.storage", ast.parse(wrong)))) == 2


def test_files_hold_one_idea():
    """About 500 lines; more usually means two ideas."""
    long = {str(p.relative_to(PACKAGE)): n for p in MODULES.values() if (n := len(p.read_text().splitlines())) > 520}
    assert not long, long


@pytest.mark.parametrize("module", ["numba", "llvmlite", "scipy", "matplotlib", "rich", "torch"])
def test_import_is_light(module):
    """The compiler is loaded when a kernel must be compiled, and nothing optional ever is."""
    code = f"import sys, numtorch; sys.exit({module!r} in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], timeout=60).returncode == 0


@pytest.mark.parametrize("room", ["linalg", "loss", "signal"])
def test_rooms_without_tables_of_their_own(room):
    """Plans are kept by primitives, whose one miss is that of `core/primitive.py`."""
    assert not [p.name for p in (PACKAGE / "ops" / room).glob("*.py") if "new_plan_table" in p.read_text() or "PlanTable" in p.read_text()]


@pytest.mark.parametrize("room", ["nn", "loss", "spatial"])
def test_rooms_that_name_no_device(room):
    """What is computed where is in the layouts."""
    assert not [p.name for p in (PACKAGE / "ops" / room).glob("*.py") if re.search(r"^from \.\.\.devices import .*\bcpu\b", p.read_text(), re.M)]


# NumPy that computes with elements. Pointwise, reductions, products and convolutions have kernels of their own; what NumPy may
# do is hold memory, count (arange) and describe types.
COMPUTES = frozenset("""
    add subtract multiply divide power dot matmul einsum tensordot inner outer kron vdot sum prod mean var std median average cumsum
    cumprod convolve correlate exp log log2 log10 log1p expm1 sin cos tan tanh sinh cosh arctan arctan2 sqrt cbrt maximum minimum
    amax amin argmax argmin sort argsort unique bincount histogram clip floor rint sign linspace logspace
""".split())
TWINS = {                                                # Python stand-ins for machine code, run without the compiler
    "kernels/intrinsics.py", "kernels/codegen/lowering.py",
}
ALLOWED = {
    "printing.py",                                       # chooses a number format from the shown elements
    "autograd/gradcheck.py",                             # a check needs arithmetic that is not what it checks
    "nn/init.py",                                        # orthogonal weights come from LAPACK's QR
}


def numpy_computations():
    for module, path in MODULES.items():
        place = str(path.relative_to(PACKAGE))
        if place in TWINS or place in ALLOWED or "vectormath" in place:
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in ("np", "numpy") \
                    and node.attr in COMPUTES:
                yield f"{place}:{node.lineno} np.{node.attr}"


def test_numpy_does_not_compute():
    assert not list(numpy_computations())


def addresses_of_temporaries(tree):
    """Arguments `f(x).address`: the tensor is gone before the kernel runs, and its memory may be somebody else's."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            for argument in [*node.args, *[k.value for k in node.keywords]]:
                if isinstance(argument, ast.Attribute) and argument.attr == "address" and not isinstance(argument.value, (ast.Name, ast.Attribute,
                                                                                                                       ast.Subscript)):
                    yield node.lineno


def test_kernels_are_given_addresses_of_what_has_a_name():
    assert list(addresses_of_temporaries(ast.parse("plan.call(contiguous(x).address, (a if b else f(a)).address, x.address, y[0].address)"))) == [1, 1]
    found = [f"{path.relative_to(PACKAGE)}:{line}" for path in MODULES.values() for line in addresses_of_temporaries(ast.parse(path.read_text()))]
    assert not found, found


def test_what_a_family_means_knows_no_device():
    named = {(a, b) for a, b, _ in imports() if a.startswith("numtorch.kernels.families.")}
    assert named and not [(a, b) for a, b in named if b.startswith(("numtorch.kernels.cpu", "numtorch.kernels.cuda"))]


# Tables by element type outside of dtypes.py, and what they say that is no matter of how elements are stored or computed.
TABLES_BY_DTYPE = {"ops/linalg/matmul.py": "C++'s names in messages", "ops/memory/conversion.py": "methods named for dtypes",
                   "ops/pointwise/floats.py": "the bits of infinity"}


def test_how_elements_are_stored_and_computed_stands_in_one_table():
    found = {str(path.relative_to(PACKAGE)) for path in MODULES.values() if path.relative_to(PACKAGE).parts[0] in ("kernels", "ops")
             and re.search(r"""["']b?float16["']\s*:""", path.read_text())}
    assert found == set(TABLES_BY_DTYPE)


# Files of ops/ that ask whether a device is the host or a GPU, and why. All others take the kernels of a layout's device, or ask
# whether it has some (`has_kernels`, `has_planner`).
ASK_FOR_THE_HOST = {
    "core/backends.py": "finds the kernels of each device", "core/operands.py": "numbers go along with any device",
    "core/status.py": "status words are read where the kernel left them", "creation/asked.py": "the current CUDA device may change between calls",
    "index/pattern.py": "the host's indices go along with any device",
    "index/index_op.py": "what a GPU finds wrong is said later, so it looks before it writes",
    "memory/copies.py": "copies to the host that do not wait go to pinned memory", "memory/pinned.py": "only the host's memory is pinned",
    "memory/tensortypes.py": "Python functions run on the host, and so do its types",
    "memory/typed.py": "is_cuda", "memory/untyped.py": "is_cuda, and how memory that grows is copied",
    "pointwise/calling.py": "Python's numbers go where tensors are", "pointwise/divisor.py": "Python's numbers are looked at while the host has them",
    "pointwise/pointwise.py": "only the host reads divisors before it divides", "reduce/query.py": "is_cpu, and memory shared between processes",
}


def test_kernels_are_those_of_a_layout():
    """An op does not name the host where a layout knows its device, and few files cross devices."""
    sources = {path.relative_to(PACKAGE): path.read_text() for path in MODULES.values()}
    assert [str(path) for path, text in sources.items() if re.search(r"kernels\(cpu\b", text)] == []
    asking = {str(path.relative_to("ops")) for path, text in sources.items()
              if path.parts[0] == "ops" and re.search(r"""\bis (not )?cpu\b|\.type [=!]= ["'](cpu|cuda)\b""", text)}
    assert asking == set(ASK_FOR_THE_HOST)


def test_extras_have_code():
    """Each library that an extra of the package installs is imported somewhere."""
    tomllib = pytest.importorskip("tomllib")
    extras = tomllib.loads((PACKAGE.parent / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    imported = {"numba-cuda": "numba.cuda", "cuda-core": "cuda.core", "cuda-toolkit": "cuda", "nvidia-nvjitlink": "cuda", "nvmath-python": "nvmath", "myst-parser": None,
                "sphinx": None, "furo": None, "pytest-xdist": None, "ruff": None, "mypy": None}      # what is run, or has other names
    source = "\n".join(path.read_text() for folder in ("numtorch", "bench", "examples", "tests") for path in (PACKAGE.parent / folder).rglob("*.py"))
    for requirement in {each for given in extras.values() for each in given}:
        library = re.match(r"[\w-]+", requirement)[0]
        name = imported.get(library, library)
        assert library == "numtorch" or name is None or re.search(rf"(import|from|required\(\"|importorskip\(\"|import_module\(\") *{name}\b", source), library
