"""`torch.hub`: models from a folder with a `hubconf.py`, and weights from the folder of downloads. Nothing is ever downloaded."""
from __future__ import annotations

import builtins
import importlib.util
import os
import re
import sys
from contextlib import contextmanager
from urllib.parse import urlparse

from . import serialization

__all__ = ["download_url_to_file", "get_dir", "help", "list", "load", "load_state_dict_from_url", "set_dir"]

HASH_REGEX = re.compile(r"-([a-f0-9]*)\.")              # a file's hash in its name, for programs that fetch it themselves
_folder: str | None = None


def _get_torch_home() -> str:
    """The folder of all that is downloaded."""
    cache = os.path.join(os.environ.get("XDG_CACHE_HOME", "~/.cache"), "torch")
    return os.path.expanduser(os.environ.get("TORCH_HOME", cache))


def get_dir() -> str:
    """The folder of downloads: what `set_dir` said, else `hub` in `$TORCH_HOME`, else in `~/.cache/torch`, as in PyTorch.

    Example:
        >>> import os, numtorch as torch
        >>> os.path.basename(torch.hub.get_dir())
        'hub'
    """
    if _folder is not None:
        return _folder
    return os.path.join(_get_torch_home(), "hub")


def set_dir(d: str | os.PathLike) -> None:
    """Look for downloads in another folder.

    Args:
        d: the folder.
    """
    global _folder
    _folder = os.path.expanduser(d)


@contextmanager
def _hubconf(function: str, repo_or_dir, source: str):
    """The module `hubconf` of a repository's folder, which is on the path inside."""
    if source not in ("github", "local"):
        raise ValueError(f'Unknown source: "{source}". Allowed values: "github" | "local".')
    folder = os.fspath(repo_or_dir)
    if source == "github":
        name, _, branch = folder.partition(":")
        places = [os.path.join(get_dir(), "_".join([*name.split("/"), b])) for b in ([branch] if branch else ["main", "master"])]
        folder = next((f for f in places if os.path.isdir(f)), None)
        if folder is None:
            raise RuntimeError(f"torch.hub.{function}: numtorch downloads nothing (there is no network here); clone "
                               f"https://github.com/{name} and pass its folder with source='local', or put it at {places[0]}")
    file = os.path.join(folder, "hubconf.py")
    if not os.path.isfile(file):
        raise FileNotFoundError(f"torch.hub.{function}: there is no hubconf.py in {folder}")
    spec = importlib.util.spec_from_file_location("hubconf", file)
    assert spec is not None and spec.loader is not None  # the file is there, and is Python's
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, folder)
    try:
        spec.loader.exec_module(module)
        missing = [d for d in getattr(module, "dependencies", []) if importlib.util.find_spec(d) is None]
        if missing:
            raise RuntimeError(f"Missing dependencies: {', '.join(missing)}")
        yield module
    finally:
        sys.path.remove(folder)


def _entry(module, model):
    if not isinstance(model, str):
        raise ValueError("Invalid input: model should be a string of function name")
    result = getattr(module, model, None)
    if not callable(result):
        raise RuntimeError(f"Cannot find callable {model} in hubconf")
    return result


def load(repo_or_dir, model: str, *args, source: str = "github", trust_repo="check", force_reload: bool = False,
         verbose: bool = True, skip_validation: bool = False, **kwargs):
    """A model from a repository with a `hubconf.py`: `hubconf.model(*args, **kwargs)`. The file's code is run.

    Args:
        repo_or_dir: the repository's folder; or `owner/name[:branch]` for one that is in the folder of downloads.
        model: the name of a function in `hubconf.py`.
        args: what it is given.
        source: "local" for a folder, "github" for a name.
        trust_repo, force_reload, verbose, skip_validation: taken for PyTorch's sake; nothing is downloaded.
        kwargs: what it is given by name.

    Raises:
        RuntimeError: the repository was never downloaded, or has no such function, or needs packages that are not there.
        FileNotFoundError: no `hubconf.py`.
    """
    with _hubconf("load", repo_or_dir, source) as module:
        return _entry(module, model)(*args, **kwargs)


def list(github, force_reload: bool = False, skip_validation: bool = False, trust_repo=None, verbose: bool = True) -> builtins.list:
    """The names of the functions in a repository's `hubconf.py`.

    Args:
        github: a folder, or `owner/name[:branch]` of a repository in the folder of downloads.
        force_reload, skip_validation, trust_repo, verbose: taken for PyTorch's sake.
    """
    with _hubconf("list", github, "local" if os.path.isdir(github) else "github") as module:
        return [name for name, value in vars(module).items() if callable(value) and not name.startswith("_")]


def help(github, model: str, force_reload: bool = False, skip_validation: bool = False, trust_repo=None):
    """The docstring of a function in a repository's `hubconf.py`.

    Args:
        github: a folder, or `owner/name[:branch]` of a repository in the folder of downloads.
        model: the function's name.
        force_reload, skip_validation, trust_repo: taken for PyTorch's sake.
    """
    with _hubconf("help", github, "local" if os.path.isdir(github) else "github") as module:
        return _entry(module, model).__doc__


def download_url_to_file(url: str, dst: str, hash_prefix=None, progress: bool = True) -> None:
    """Always raises: numtorch asks nothing of a network.

    Args:
        url: what is wanted.
        dst: where it is wanted.
        hash_prefix, progress: taken for PyTorch's sake.

    Raises:
        RuntimeError: always.
    """
    raise RuntimeError(f"torch.hub: numtorch downloads nothing (there is no network here); get {url} and put it at {dst}")


def load_state_dict_from_url(url: str, model_dir=None, map_location=None, progress: bool = True, check_hash: bool = False,
                             file_name=None, weights_only: bool = True):
    """Weights that have been downloaded before, by hand or by PyTorch.

    Args:
        url: where they come from; its last part names the file.
        model_dir: the folder they are in; `checkpoints` in `get_dir()` when None.
        map_location: as in `torch.load`.
        progress, check_hash: taken for PyTorch's sake.
        file_name: the file's name, where it is another.
        weights_only: as in `torch.load`.

    Raises:
        RuntimeError: the file is not there.
    """
    folder = os.path.join(get_dir(), "checkpoints") if model_dir is None else os.fspath(model_dir)
    file = os.path.join(folder, file_name or os.path.basename(urlparse(url).path))
    if not os.path.exists(file):
        download_url_to_file(url, file)
    return serialization.load(file, map_location=map_location, weights_only=weights_only)
