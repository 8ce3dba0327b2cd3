"""The on-disk store of compiled kernels.

One immutable file a kernel, named by the hash of everything that shaped its machine code (source, argument types, options, compiler
versions, processor), plus packs: many such entries in one file, to carry about and to keep folders short (kernels load as fast
either way). Every entry carries its own checksum and is checked when it is read; a file is written beside its place and renamed
into it, so readers never see half of one and writers never harm each other. Packages named numtorch_kernels and
numtorch_kernels_cuda, where they are installed, have packs too, for baselines of processors and architectures of GPUs: they are
asked for what the store does not have. Where the directory cannot be written, kernels are compiled again in each process, which
works, only slower.

What is loaded runs. So nothing is read or written where another user could write: not the folders of the store nor its files may
belong to anybody but this user or root, or be writable by the group or by all; and the store is never in the working directory.

Numba's own cache is not used: two processes adding to one of its indexes can make a third load the wrong kernel.
"""
from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib.util
import json
import os
import struct
import sys
import tempfile
import time

from .targets.architectures import ARCHITECTURES

try:
    import fcntl
except ImportError:                                      # Windows: several processes may compile the same kernel
    fcntl = None  # type: ignore[assignment]

_MAGIC = b"ntk1"
_PACK_MAGIC = b"ntp1"


def directory() -> str | None:
    """Where the store lives: `$NUMTORCH_CACHE_DIR`, or `numtorch` under `$XDG_CACHE_HOME` or `~/.cache`; None without a home."""
    named = os.environ.get("NUMTORCH_CACHE_DIR")
    if named:
        return os.path.abspath(named)
    cache = os.environ.get("XDG_CACHE_HOME", "")
    if not os.path.isabs(cache):
        cache = os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(cache, "numtorch") if os.path.isabs(cache) else None


def _object_path(root: str, key: str) -> str:
    return os.path.join(root, "objects", key[:2], key[2:] + ".ntk")


# ---------------------------------------------------------------- whom to trust
def _distrust(status: os.stat_result) -> str | None:
    """Why a folder or file may hold what another user wrote, or None where it cannot."""
    if not hasattr(os, "geteuid"):                       # Windows keeps a user's folders to that user
        return None
    if status.st_uid not in (os.geteuid(), 0):
        return "belongs to another user"
    return "can be written by other users (chmod -R go-w)" if status.st_mode & 0o022 else None


_trusted: set[str] = set()                               # folders, each looked at once in a process


def _all_trusted(folders) -> bool:
    for folder in folders:
        if folder not in _trusted:
            if _distrust(os.stat(folder)):
                return False
            _trusted.add(folder)
    return True


def _folders(path: str, root: str) -> list[str]:
    """The folders from the store's own down to the one that a file of it is in."""
    inside = os.path.dirname(path)[len(root):].strip(os.sep).split(os.sep)
    return [root, *[os.path.join(root, *inside[:n]) for n in range(1, len(inside) + 1)]]


def _read(path: str, root: str | None, start: int = 0, count: int = -1) -> bytes | None:
    """`count` bytes of a file of the store, or None where it is not there, or another user could have written it. Without a root
    it is part of an installed package, whose Python files run as well."""
    try:
        with open(path, "rb", opener=lambda name, flags: os.open(name, flags | getattr(os, "O_NOFOLLOW", 0))) as file:
            if root is not None and (_distrust(os.fstat(file.fileno())) or not _all_trusted(_folders(path, root))):
                return None
            file.seek(start)
            return file.read(count)
    except OSError:
        return None


def trouble() -> str:
    """Why kernels cannot be kept, for people."""
    root = directory()
    if root is None:
        return "there is no home directory to keep them in"
    for folder, _, _ in os.walk(root):
        why = _distrust(os.stat(folder))
        if why:
            return f"{folder} {why}"
    return f"{root} cannot be written"


def _seal(payload: bytes) -> bytes:
    return _MAGIC + hashlib.sha256(payload).digest() + payload


def _unseal(blob: bytes | None) -> bytes | None:
    if blob is None:
        return None
    payload = blob[36:]
    if blob[:4] != _MAGIC or hashlib.sha256(payload).digest() != blob[4:36]:
        return None
    return payload


def _write(path: str, root: str, blob: bytes) -> bool:
    try:
        os.makedirs(os.path.dirname(root), exist_ok=True)
        for folder in _folders(path, root):
            with contextlib.suppress(FileExistsError):
                os.mkdir(folder, 0o700)
            if not _all_trusted([folder]):
                return False
        handle, temporary = tempfile.mkstemp(dir=os.path.dirname(path), suffix=".tmp")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(blob)
            os.replace(temporary, path)
        except BaseException:
            os.unlink(temporary)
            raise
    except OSError:
        return False
    return True


# ---------------------------------------------------------------- entries
def load(key: str) -> bytes | None:
    """The payload stored under `key`, or None where there is none, it is damaged, or another user could have written it."""
    root = directory()
    if root is None:
        return None
    for pack in _packs(root):                            # a damaged one does not hide the entry that replaced its own
        payload = _unseal(pack.get(key))
        if payload is not None:
            return payload
    return _unseal(_read(_object_path(root, key), root))


def save(key: str, payload: bytes, root: str | None = None) -> bool:
    """Store `payload`, in the store or in another; False where the directory cannot be written, or others could write there."""
    root = root or directory()
    return root is not None and _write(_object_path(root, key), root, _seal(payload))


class Busy(Exception):
    """Another process is compiling the kernel."""


@contextlib.contextmanager
def compiling(key: str, patience: float):
    """Inside, this process compiles a kernel, and others wait for it.

    The claim is a lock on an empty file, which the system releases however its holder ends.

    Args:
        key: the kernel's.
        patience: seconds to wait for a process that is compiling it already; after these it is compiled here as well.

    Yields:
        The kernel's payload where another process stored it meanwhile, else None.

    Raises:
        Busy: another process compiles it, and `patience` is 0.
    """
    root = directory()
    path = os.path.join(root or "", "claims", key)
    handle = None if root is None or fcntl is None else _open_claim(path, root)
    if handle is None:
        yield None
        return
    try:
        mine = _locked(handle, patience)
        if not mine and not patience:
            raise Busy(key)
        yield load(key)
    finally:
        if mine:
            with contextlib.suppress(OSError):
                os.unlink(path)
        os.close(handle)


def _open_claim(path, root):
    try:
        if not os.path.isdir(os.path.dirname(path)) and not _write(path, root, b""):
            return None
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError:
        return None


def _locked(handle, patience):
    """Whether a file could be locked within so many seconds."""
    end = time.monotonic() + patience
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except OSError:
            if time.monotonic() >= end:
                return False
        time.sleep(0.005)


def is_empty() -> bool:
    """Whether no kernel is stored or installed at all, as on the first day."""
    root = directory()
    return (root is not None and not _packs(root) and not os.path.isdir(os.path.join(root, "objects"))
            and importlib.util.find_spec("numtorch_kernels") is None)


# ---------------------------------------------------------------- packs
class _Pack:
    """Entries of one pack file, read on demand. One whose index is damaged has none."""

    def __init__(self, path, root):
        self.path, self.root, self.start = path, root, 0
        self.index = self._read_index()

    def _read_index(self):
        try:
            magic, size = struct.unpack("<4sQ", _read(self.path, self.root, 0, 12) or b"")
            self.start, end = 12 + size, os.path.getsize(self.path)
            if magic != _PACK_MAGIC or self.start > end:
                return {}
            index, position = json.loads(_read(self.path, self.root, 12, size) or b""), self.start
            for at, length in index.values():            # one after the other: no number can point to another kernel
                if type(at) is not int or type(length) is not int or self.start + at != position or length <= 0:
                    return {}
                position += length
        except (OSError, ValueError, struct.error, AttributeError, TypeError, RecursionError):
            return {}
        return index if position == end else {}

    def get(self, key):
        place = self.index.get(key)
        return None if place is None else _read(self.path, self.root, self.start + place[0], place[1])


_opened: tuple[str, list[_Pack]] | None = None


def _packs(root: str) -> list[_Pack]:
    """The packs of a store, opened once."""
    global _opened
    if _opened is None or _opened[0] != root:
        folder = os.path.join(root, "packs")
        try:
            names = sorted(n for n in os.listdir(folder) if n.endswith(".pack"))
        except OSError:
            names = []
        _opened = root, [_Pack(os.path.join(folder, n), root) for n in names]
    return _opened[1]


@functools.cache
def _installed(baseline: str) -> _Pack | None:
    """The pack for a baseline of processors, or an architecture of GPUs, that an installed package has."""
    spec = importlib.util.find_spec("numtorch_kernels_cuda" if baseline in ARCHITECTURES else "numtorch_kernels")
    for folder in spec.submodule_search_locations or () if spec else ():
        path = os.path.join(folder, pack_name(baseline))
        if os.path.exists(path):
            return _Pack(path, None)
    return None


def pack_name(baseline: str) -> str:
    """What the file of a baseline's kernels is called: their keys are of one version of Python's byte code."""
    return f"{baseline}.{sys.implementation.cache_tag}.pack"


def load_installed(key: str, baseline: str) -> bytes | None:
    """The payload under `key` in the installed pack of a baseline or architecture, or None where there is none or it is damaged."""
    result = _installed(baseline)
    return None if result is None else _unseal(result.get(key))


def _files(root: str, where: str, ending: str) -> list[str]:
    result = []
    for folder, _, names in os.walk(os.path.join(root, where)):
        result += [os.path.join(folder, n) for n in names if n.endswith(ending)]
    return sorted(result)


def _loose(root: str) -> list[str]:
    return _files(root, "objects", ".ntk")


def pack(root: str | None = None) -> int:
    """Gather every loose kernel (and what older packs hold) into one pack, of the store or of another. Returns how many kernels it
    holds."""
    global _opened
    root = root or directory()
    if root is None:
        return 0
    _opened = None                                       # another process may have packed since
    old, loose = _packs(root), _loose(root)
    stored = [(key, each.get(key)) for each in old for key in each.index]
    stored += [(os.path.basename(os.path.dirname(path)) + os.path.basename(path)[:-4], _read(path, root)) for path in loose]
    entries = {key: blob for key, blob in stored if blob is not None and _unseal(blob) is not None}
    if not entries:
        return 0
    index, blobs, position = {}, [], 0
    for key, blob in sorted(entries.items()):
        index[key] = (position, len(blob))
        blobs.append(blob)
        position += len(blob)
    header = json.dumps(index).encode()
    body = struct.pack("<4sQ", _PACK_MAGIC, len(header)) + header + b"".join(blobs)
    path = os.path.join(root, "packs", hashlib.sha256(body).hexdigest()[:16] + ".pack")
    if _write(path, root, body):
        for stale in [p.path for p in old if p.path != path] + loose:
            with contextlib.suppress(OSError):
                os.unlink(stale)
    _opened = None
    return len(entries)


def info(baseline: str | None = None) -> dict:
    """What the store holds: its directory, whether it can be written, and kernels and bytes, loose and packed; and what an
    installed package has for a baseline of processors."""
    installed = None if baseline is None else _installed(baseline)
    more = {} if installed is None else {"installed pack": installed.path, "installed kernels": len(installed.index)}
    root = directory()
    if root is None:
        return {"directory": trouble()}
    packs, loose = _packs(root), _loose(root)
    probe = root
    while not os.path.exists(probe) and os.path.dirname(probe) != probe:
        probe = os.path.dirname(probe)
    return {
        "directory": root, "writable": os.access(probe, os.W_OK) and not (probe == root and _distrust(os.stat(root))),
        "packs": len(packs), "packed kernels": sum(len(p.index) for p in packs),
        "loose kernels": len(loose),
        "bytes": sum(os.path.getsize(p) for p in [*loose, *[k.path for k in packs]]), **more,
    }


def clear() -> int:
    """Delete every stored kernel, and what writers that were killed left. Returns how many files went."""
    global _opened
    root, gone = directory(), 0
    if root is None:
        return 0
    for path in [*_loose(root), *_files(root, "packs", ".pack"), *_files(root, "claims", ""), *_files(root, "", ".tmp")]:
        try:
            os.unlink(path)
            gone += 1
        except OSError:
            pass
    _opened = None
    return gone
