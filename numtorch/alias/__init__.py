"""PyTorch programs unchanged: `import torch` leads to numtorch.

    import numtorch.alias
    numtorch.alias.install()
    import torch.nn as nn                                # numtorch.nn, the same module object

paths      where PyTorch's modules are here, for those that are elsewhere: the one table of such names
absent     what PyTorch has and numtorch has not, with what to do instead
former     names that PyTorch has for itself, or had, and programs import
launch     `python -m numtorch run script.py`
startup    what child processes load first
versions   torch.__version__

`torch.x` is never a second copy of `numtorch.x`: the import system asks a finder, whose loader puts our module in the place of
the one it was to fill. Nothing of the package is imported here but by name, when it is asked for.
"""
from __future__ import annotations

import functools
import importlib
import os
import sys
import types
from importlib.abc import Loader
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path

from .absent import ABSENT, DEFERRED, STANDINS
from .paths import PATHS
from .versions import PYTORCH, TorchVersion

__all__ = ["attribute", "complete", "install", "instead", "listing"]

PACKAGE = __name__.rpartition(".")[0]
NAME = "torch"
BESIDE = {"functorch": "func"}                           # packages that PyTorch installs beside its own
_OWN = "names that begin with an underscore are PyTorch's own; use what is public, or write it out"
STARTUP = str(Path(__file__).parent / "startup")


# ---------------------------------------------------------------- from the table to a module
def _object(path: str):
    """What a dotted path from the package leads to: a module, or a member of one."""
    result = importlib.import_module(PACKAGE)
    for part in path.split("."):
        try:
            result = getattr(result, part)
        except AttributeError:
            result = importlib.import_module(f"{result.__name__}.{part}")
    return result


def _members(sources: str) -> dict:
    """The names that a row of the table gives."""
    names: dict = {}
    for word in sources.split():
        name, renamed, path = word.partition("=")
        if renamed:
            names[name] = _object(path)
        else:
            members = vars(importlib.import_module(f"{PACKAGE}.{word}"))
            names.update({k: v for k, v in members.items() if not k.startswith("__") and not isinstance(v, types.ModuleType)})
    return names


def _module(path: str):
    """PyTorch's module `torch.<path>`: ours of that path, the one that stands for it, or one made of what its row names."""
    name = f"{PACKAGE}.{path}"
    if _has_file(name):
        return importlib.import_module(name)
    if name in sys.modules:
        return sys.modules[name]
    if path in STANDINS:
        return _stand_in(path)
    sources = PATHS[path]
    if "=" not in sources and " " not in sources:
        return _object(sources)
    made = types.ModuleType(name, f"PyTorch's place for names of {sources}.")
    made.__path__ = []
    made.__getattr__ = lambda missing: attribute(name, missing)
    vars(made).update(_members(sources))
    return made


def complete(package: str) -> None:
    """Give the modules of a package, when all are loaded, the names that PyTorch has in them and we in others.

    Args:
        package: its full name.
    """
    for path, sources in PATHS.items():
        name = f"{PACKAGE}.{path}"
        if name.rpartition(".")[0] == package and name in sys.modules:
            vars(sys.modules[name]).update(_members(sources))


def _has_file(name: str) -> bool:
    """Whether a module has a file in the package."""
    parent = importlib.import_module(name.rpartition(".")[0])
    return PathFinder.find_spec(name, getattr(parent, "__path__", [])) is not None


def _stand_in(path: str):
    """A module that scripts import and that is not here: it answers the questions whether it is, and says what to do instead."""
    module = types.ModuleType(f"{PACKAGE}.{path}", instead(path))
    module.__path__ = []
    module.__getattr__ = lambda name: attribute(module.__name__, name)
    for question in STANDINS[path].split():
        setattr(module, question, _no(question))
    return module


def _no(name: str):
    """A function that answers no."""
    def question() -> bool:
        return False
    question.__name__ = question.__qualname__ = name
    return question


class _Refusing(type):
    """The class of classes that say what to do instead."""

    path: str

    def __call__(cls, *args, **kwargs):
        raise NotImplementedError(f"numtorch has no {NAME}.{cls.path}: {instead(cls.path)}")

    def __getattr__(cls, name):
        raise AttributeError(f"numtorch has no {NAME}.{cls.path}: {instead(cls.path)}")


@functools.cache
def _refusing(path: str) -> _Refusing:
    """What is absent as a class that may be named, derived from and given to `isinstance`. A call says what to do instead."""
    return _Refusing(path.rpartition(".")[2], (), {"path": path, "__doc__": instead(path)})


# ---------------------------------------------------------------- attributes
def instead(path: str) -> str | None:
    """Why something of PyTorch is not here and what to do: the row of its name, or of the module that it is in, there or here."""
    place, _, name = path.rpartition(".")
    for theirs, sources in PATHS.items():
        if sources.split()[0] == place and f"{theirs}.{name}" in ABSENT:
            return ABSENT[f"{theirs}.{name}"]
    while path:
        if path in ABSENT:
            return ABSENT[path]
        path = path.rpartition(".")[0]
    return _OWN if name.startswith("_") else None


def attribute(module: str, name: str):
    """What a module gives for a name that it has not: PyTorch's module there, what its row in the tables names, or an
    AttributeError that says what to do.

    Args:
        module: the full name of one of our modules.
        name: what was asked for.

    Raises:
        AttributeError: there is nothing of that name.
    """
    path = f"{module}.{name}".partition(".")[2]
    if path in PATHS or path in STANDINS:
        return importlib.import_module(f"{PACKAGE}.{path}")
    place = path.rpartition(".")[0]
    for word in PATHS.get(place, "").split():
        if word.startswith(f"{name}="):
            return _object(word.partition("=")[2])
    if name in DEFERRED.get(place, "").split():
        return _refusing(path)
    sentence = None if name.startswith("__") else instead(path)
    if sentence is None:
        raise AttributeError(f"module '{module}' has no attribute '{name}'")
    raise AttributeError(f"numtorch has no {NAME}.{path}: {sentence}")


def listing(module: str, *late: str) -> list[str]:
    """What `dir` of a module says: its names, PyTorch's modules there that are elsewhere here, and what is loaded late.

    Args:
        module: the full name of one of our modules.
        late: names that its `__getattr__` knows.
    """
    rows = (row.rpartition(".") for row in PATHS)
    here = {name for parent, _, name in rows if f"{PACKAGE}.{parent}".rstrip(".") == module}
    return sorted({*vars(sys.modules[module]), *here, *late})


# ---------------------------------------------------------------- the import system
class _Loader(Loader):
    """Puts our module where the import system wants a new one."""

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        name = module.__spec__.name
        root, path = name.partition(".")[0], _inside(name)
        del sys.modules[name]                            # the empty module that was to be filled
        target = _module(path) if path else importlib.import_module(PACKAGE)
        sys.modules[name] = target
        sys.modules.setdefault(f"{PACKAGE}.{path}" if path else PACKAGE, target)
        if root == NAME:
            if type(target) is types.ModuleType and path:
                _telling(target, f"{PACKAGE}.{path}")
            for row in PATHS:                            # a module named like a function beside it must not take its place
                parent, _, child = row.rpartition(".")
                if parent == path and callable(vars(target).get(child)):
                    sys.modules[f"{NAME}.{row}"] = _module(row)
            for row, module in list(sys.modules.items()):    # autograd.gradcheck is such a one that has a file
                parent, _, child = row.rpartition(".")
                if parent == getattr(target, "__name__", None) and callable(vars(target).get(child)):
                    sys.modules[f"{NAME}.{_inside(row)}"] = _telling(module, row)


def _telling(module, name):
    """A module that says by name what is absent from it."""
    vars(module).setdefault("__getattr__", functools.partial(attribute, name))
    vars(module).setdefault("__path__", [])
    return module


def _inside(name: str) -> str:
    """Where a module of PyTorch's is within ours: what stands behind `torch.`."""
    root, _, path = name.partition(".")
    return path if root not in BESIDE else f"{BESIDE[root]}.{path}".rstrip(".")


def _spec(name: str, path: str):
    """The spec of a module that exists here. Raises ImportError, with what to do, for one that is known to be absent."""
    if path in PATHS or path in STANDINS or _has_file(f"{PACKAGE}.{path}"):
        return ModuleSpec(name, _Loader(), is_package=False)
    sentence = instead(path)
    if sentence is not None and not path.rpartition(".")[2].startswith("__"):
        raise ImportError(f"numtorch has no {NAME}.{path}: {sentence}", name=name)
    return None


def find_place(name: str):
    """The spec of a module of this package that has no file, because ours is elsewhere: asked by the package's finder."""
    path = name.partition(".")[2]
    parent, _, child = name.rpartition(".")
    if not path or isinstance(vars(sys.modules[parent]).get(child), types.FunctionType):
        return None                                      # the import system would put a module in the function's place
    return _spec(name, path)


class _Finder:
    """Leads `torch` and what is in it to this package, and what PyTorch installs beside it."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        root, inside = name.partition(".")[0], _inside(name)
        if root != NAME and root not in BESIDE:
            return None
        return _spec(name, inside) if inside else ModuleSpec(name, _Loader(), is_package=True)


def install() -> None:
    """Make `import torch`, and the import of every module in it, lead to numtorch, here and in child processes.

    An installed PyTorch is out of reach from then on. Child processes are told through PYTHONPATH, so that those started with
    `-I` or `-E` are not. `torch.__version__` then says which PyTorch's programs are run, with numtorch's own version behind a "+".

    Raises:
        RuntimeError: PyTorch has been imported already.

    Example:
        >>> import numtorch.alias
        >>> numtorch.alias.install()                     # doctest: +SKIP
        >>> import torch                                 # doctest: +SKIP
    """
    known = sys.modules.get(NAME)
    if known is not None and known is not sys.modules[PACKAGE]:
        raise RuntimeError("numtorch.alias.install(): PyTorch is already imported; install before the first `import torch`")
    if _Finder not in sys.meta_path:
        sys.meta_path.insert(0, _Finder)
        package = sys.modules[PACKAGE]
        setattr(package, NAME, package)                  # editors write `from torch import torch`
        package.__version__ = TorchVersion(f"{PYTORCH}+{PACKAGE}.{package.__version__}")
        if f"{PACKAGE}.version" in sys.modules:
            sys.modules[f"{PACKAGE}.version"].__version__ = package.__version__
    paths = [p for p in os.environ.get("PYTHONPATH", "").split(os.pathsep) if p]
    if STARTUP not in paths:
        os.environ["PYTHONPATH"] = os.pathsep.join([STARTUP, *paths])
