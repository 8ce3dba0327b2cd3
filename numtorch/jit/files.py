"""`jit.save` and `jit.load`: one file of text and tensors for a traced or scripted function or module."""
from __future__ import annotations

import pickle
from collections.abc import Mapping, MutableMapping
from typing import Any

from ..files import naming
from ..serialization import load as load_file
from .graphs import scriptmodules
from .graphs.scriptmodules import ScriptFunction, ScriptModule
from .scripting import loading, writing


def save(m: Any, f: Any, _extra_files: Mapping[str, str | bytes] | None = None) -> None:
    """Write a traced or scripted function or module to a file: text of its graph or of its scripts, and tensors. None of it is
    code that Python would run.

    Args:
        m: what `jit.trace` or `jit.script` returned.
        f: the file's name, or a file open for writing.
        _extra_files: texts or bytes by name, which are written beside it: a vocabulary, labels, a version.

    Raises:
        TypeError: `m` is neither, or an extra file is no text and no bytes.
        RuntimeError: it calls Python (`jit.ignore`).

    Example:
        >>> import io, numtorch as torch
        >>> file = io.BytesIO()
        >>> torch.jit.save(torch.jit.trace(torch.sin, torch.zeros(2)), file)
        >>> _ = file.seek(0)
        >>> torch.jit.load(file)(torch.zeros(2))
        tensor([0., 0.])
    """
    if not isinstance(m, (ScriptFunction, ScriptModule)):
        raise TypeError(f"jit.save: expected what jit.trace or jit.script returns, got {type(m).__name__}")
    m.save(f, _extra_files)


def load(f: Any, map_location: Any = None, _extra_files: MutableMapping[str, Any] | None = None) -> Any:
    """Read what `jit.save` has written. The file holds text and tensors; a graph is parsed as a graph, and a script as a script:
    what is not in its subset of Python is refused, and no code of the file is run.

    Args:
        f: the file's name, or a file open for reading.
        map_location: where its tensors go, as for `torch.load`.
        _extra_files: a dict with the names of what `save` has written beside it: its values become these files' bytes, which are
            empty where there is none of that name, as in PyTorch.

    Returns:
        A function or a module.

    Raises:
        RuntimeError: the file is none of `jit.save`, or damaged; it is named.
        TypeError: `_extra_files` is no dict.

    Example:
        >>> import io, numtorch as torch
        >>> file = io.BytesIO()
        >>> torch.jit.trace(torch.nn.Linear(2, 1), torch.zeros(1, 2)).save(file, _extra_files={"labels": "cat dog"})
        >>> _ = file.seek(0)
        >>> files = {"labels": ""}
        >>> torch.jit.load(file, _extra_files=files).original_name, files
        ('Linear', {'labels': b'cat dog'})
    """
    if not isinstance(_extra_files, (MutableMapping, type(None))):
        raise TypeError(f"jit.load: expected _extra_files to be a dict, got {type(_extra_files).__name__}")
    try:
        content = load_file(f, map_location=map_location, weights_only=True)
    except (pickle.UnpicklingError, EOFError) as error:
        raise RuntimeError(f"jit.load: {error}") from None
    with naming(f):
        if not isinstance(content, dict) or content.get("format") not in (scriptmodules.FORMAT, writing.FORMAT):
            raise RuntimeError("jit.load: the file was not written by jit.save of numtorch")
        try:
            extra = {name: content.get("extra", {}).get(name, "").encode("latin-1") for name in _extra_files or ()}
            result = loading.from_content(content)
        except (KeyError, ValueError, TypeError, AttributeError, IndexError, RecursionError, RuntimeError) as error:
            raise RuntimeError(f"jit.load: the file is damaged: {error}") from None
    if _extra_files:
        _extra_files.update(extra)
    return result
