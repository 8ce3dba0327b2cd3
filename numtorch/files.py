"""Files by their names: written whole or not at all, and named in what is said against them."""
from __future__ import annotations

import contextlib
import os
import pickle
import secrets
import stat
from collections.abc import Iterator
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from .types import FileLike


@contextlib.contextmanager
def replacing(path: str | os.PathLike) -> Iterator[IO[bytes]]:
    """A new file that takes the place of another at the end, with its permissions, or is gone where something is raised. What is no
    file, or lies in a folder that takes no new ones, is written to as it is.

    Args:
        path: of the file that is replaced, or is not there yet.

    Raises:
        OSError: it cannot be written.
    """
    path = os.path.realpath(path)                        # a link goes on pointing there
    before = os.stat(path) if os.path.exists(path) else None
    beside = None
    if before is None or stat.S_ISREG(before.st_mode):
        if before is not None:
            open(path, "r+b").close()                    # raises where it may not be written to
        beside = os.path.join(os.path.dirname(path), f".{secrets.token_hex(8)}.tmp")
    try:
        file = open(path, "wb") if beside is None else open(beside, "xb")
    except OSError as error:
        if before is None or not isinstance(error, PermissionError):
            raise OSError(error.errno, error.strerror, path) from None
        beside, file = None, open(path, "wb")
    try:
        with file:
            if beside is not None and before is not None:
                if hasattr(os, "fchown"):
                    with contextlib.suppress(PermissionError):
                        os.fchown(file.fileno(), before.st_uid, before.st_gid)
                os.chmod(beside, stat.S_IMODE(before.st_mode))
            yield file
        if beside is not None:
            os.replace(beside, path)
    except BaseException:
        if beside is not None:
            with contextlib.suppress(OSError):
                os.unlink(beside)
        raise


@contextlib.contextmanager
def naming(f: FileLike) -> Iterator[None]:
    """Inside, what is said against a file begins with its name, where it has one.

    Args:
        f: its path, or the open file.
    """
    try:
        yield
    except (RuntimeError, EOFError, pickle.UnpicklingError) as error:
        name = f if isinstance(f, (str, os.PathLike)) else getattr(f, "name", None)
        if isinstance(name, (str, os.PathLike)) and len(error.args) == 1:
            error.args = (f"{os.fsdecode(name)}: {error.args[0]}",)
        raise
