"""`GraphModule.to_folder`: a module as a package of Python, which is read, changed and imported without its graph."""
from __future__ import annotations

import os
import pathlib
import sys
import types
import warnings
from typing import Any

from ..dtypes import float32
from ..nn.modules import batchnorm, conv, linear
from ..nn.modules.module import Module
from ..nn.parameter import Parameter
from ..serialization import save

_SHOWN = (linear.Linear, conv.Conv1d, conv.Conv2d, conv.Conv3d, batchnorm.BatchNorm1d, batchnorm.BatchNorm2d, batchnorm.BatchNorm3d)
_HEAD = '''import pathlib

{imports}
from numtorch.nn import *

_here = pathlib.Path(__file__).parent


class {name}(torch.nn.Module):
    def __init__(self):
        super().__init__()
        {lines}

    {code}
'''


def write_folder(module: Any, folder: str | os.PathLike, name: str) -> None:
    """Write a module's text, and what it holds.

    Args:
        module: a `GraphModule`.
        folder: where: `module.py` with the class, `__init__.py`, `state_dict.pt`, and a file for each child that is none of the
            layers whose text says all.
        name: the class's.

    Raises:
        RuntimeError: the text has a name for what no other program can import.
    """
    imports = _imports(module.graph.python_code("self").globals)
    place = pathlib.Path(folder)
    place.mkdir(exist_ok=True, parents=True)
    save(module.state_dict(), place / "state_dict.pt")
    lines, pickled = [], []
    for child, each in module.named_children():
        if type(each) in _SHOWN and all(tensor.dtype is float32 for tensor in each.parameters()):
            lines.append(f"setattr(self, {child!r}, {each!r})")
        else:
            save(each, place / f"{child}.pt")
            pickled.append(child)
            lines.append(f"setattr(self, {child!r}, torch.load(_here / {child + '.pt'!r}, weights_only=False))")
    for own, tensor in (*module._parameters.items(), *module._buffers.items()):
        if tensor is not None:
            made = f"torch.empty({[*tensor.shape]}, dtype={tensor.dtype})"
            lines.append(f"setattr(self, {own!r}, torch.nn.Parameter({made}))" if isinstance(tensor, Parameter) else
                         f"self.register_buffer({own!r}, {made})")
    lines += ['self.load_state_dict(torch.load(_here / "state_dict.pt"))', *_modes(module)]
    code = module.code.strip().replace("\n", "\n    ")
    (place / "module.py").write_text(_HEAD.format(imports="\n".join(imports), name=name, lines="\n        ".join(lines), code=code))
    (place / "__init__.py").write_text("from .module import *\n")
    if pickled:
        warnings.warn(f"Was not able to save the following children modules as reprs -saved as pickled files instead: {pickled}",
                      stacklevel=3)


def _modes(module: Module):
    """The lines that say which modules are in training, and what of them is trained, where that is not all."""
    yield from (f"self.get_parameter({path!r}).requires_grad = False" for path, each in module.named_parameters()
                if not each.requires_grad)
    yield f"self.train({module.training})"
    yield from (f"self.get_submodule({path!r}).training = {each.training}" for path, each in module.named_modules()
                if each.training is not module.training)


def _imports(known: dict[str, Any]) -> list[str]:
    """The lines that give the names in a text their values."""
    lines = ["import numtorch as torch"]
    for name, value in known.items():
        if isinstance(value, types.ModuleType):
            lines += [f"import {value.__name__} as {name}"] if name != "torch" else []
        elif name in ("inf", "nan"):
            lines.append(f"from math import {name}")
        elif name == "NoneType":
            lines.append("NoneType = type(None)")
        else:
            lines.append(_import_of(name, value))
    return lines


def _import_of(name, value):
    module = getattr(value, "__module__", None)
    path = str(getattr(value, "__qualname__", None) or getattr(value, "_name", None))           # `typing.List` has the latter
    found: Any = sys.modules.get(str(module))
    for part in path.split("."):
        found = getattr(found, part, None)
    if found is not value or module == "__main__":
        raise RuntimeError(f"to_folder: {name} in the module's text is {value!r}, which no other program can import")
    first, _, further = path.partition(".")
    return f"from {module} import {first} as {name}" + (f"\n{name} = {name}.{further}" if further else "")
