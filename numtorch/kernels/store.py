"""The on-disk store of compiled kernels.

One immutable file a kernel, named by the hash of everything that shaped its machine code (source, argument types,
options, compiler versions, processor), plus packs: many such entries in one file, to carry about and to keep folders
short (43 kernels load in 17 ms either way). Every entry carries its own checksum and is checked when it is read; a file
is written beside its place and renamed into it, so readers never see half of one and writers never harm each other.
Where the directory cannot be written, kernels are compiled again in each process, which works, only slower.

Numba's own cache is not used: two processes adding to one of its indexes can make a third load the wrong kernel.
"""
from __future__ import annotations

import hashlib
import json
import os
import struct
import tempfile

_MAGIC = b"ntk1"
_PACK_MAGIC = b"ntp1"


def directory() -> str:
    """Where the store lives: `$NUMTORCH_CACHE_DIR`, or `numtorch` under `$XDG_CACHE_HOME` or `~/.cache`."""
    named = os.environ.get("NUMTORCH_CACHE_DIR")
    if named:
        return os.path.abspath(named)
    return os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache"), "numtorch")


def _object_path(key: str) -> str:
    return os.path.join(directory(), "objects", key[:2], key[2:] + ".ntk")


def _seal(payload: bytes) -> bytes:
    return _MAGIC + hashlib.sha256(payload).digest() + payload


def _unseal(blob: bytes) -> bytes | None:
    payload = blob[36:]
    if blob[:4] != _MAGIC or hashlib.sha256(payload).digest() != blob[4:36]:
        return None
    return payload


def _write(path: str, blob: bytes) -> bool:
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
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
    """The payload stored under `key`, or None where there is none or it is damaged."""
    blob = _packs().get(key)
    payload = _unseal(blob) if blob is not None else None
    if payload is None:                                  # a damaged pack does not hide the entry that replaced its own
        try:
            with open(_object_path(key), "rb") as file:
                payload = _unseal(file.read())
        except OSError:
            return None
    return payload


def save(key: str, payload: bytes) -> bool:
    """Store `payload`; False where the directory cannot be written."""
    return _write(_object_path(key), _seal(payload))


# ---------------------------------------------------------------- packs
class _Pack:
    """Entries of one pack file, read on demand."""

    def __init__(self, path):
        self.path, self.index = path, {}
        try:
            with open(path, "rb") as file:
                magic, size = struct.unpack("<4sQ", file.read(12))
                if magic == _PACK_MAGIC and size <= os.path.getsize(path):
                    self.index = json.loads(file.read(size))
                    self.start = 12 + size
        except (OSError, ValueError, struct.error):
            self.index = {}

    def get(self, key):
        place = self.index.get(key)
        if place is None:
            return None
        try:
            with open(self.path, "rb") as file:
                file.seek(self.start + place[0])
                return file.read(place[1])
        except OSError:
            return None


class _Packs:
    def __init__(self, folder):
        self.folder = folder
        try:
            names = sorted(n for n in os.listdir(folder) if n.endswith(".pack"))
        except OSError:
            names = []
        self.packs = [_Pack(os.path.join(folder, n)) for n in names]

    def get(self, key):
        for pack in self.packs:
            blob = pack.get(key)
            if blob is not None:
                return blob
        return None


_opened: _Packs | None = None


def _packs() -> _Packs:
    global _opened
    folder = os.path.join(directory(), "packs")
    if _opened is None or _opened.folder != folder:
        _opened = _Packs(folder)
    return _opened


def _files(where: str, ending: str) -> list[str]:
    found = []
    for folder, _, names in os.walk(os.path.join(directory(), where)):
        found += [os.path.join(folder, n) for n in names if n.endswith(ending)]
    return sorted(found)


def _loose() -> list[str]:
    return _files("objects", ".ntk")


def pack() -> int:
    """Gather every loose kernel (and what older packs hold) into one pack. Returns how many kernels it holds."""
    global _opened
    _opened = None                                       # another process may have packed since
    entries, old = {}, _packs().packs
    for each in old:
        for key in each.index:
            entries[key] = each.get(key)
    loose = _loose()
    for path in loose:
        try:
            with open(path, "rb") as file:
                entries[os.path.basename(os.path.dirname(path)) + os.path.basename(path)[:-4]] = file.read()
        except OSError:                                  # another process has just packed it
            continue
    entries = {k: b for k, b in entries.items() if b and _unseal(b) is not None}
    if not entries:
        return 0
    index, blobs, position = {}, [], 0
    for key, blob in sorted(entries.items()):
        index[key] = (position, len(blob))
        blobs.append(blob)
        position += len(blob)
    header = json.dumps(index).encode()
    body = struct.pack("<4sQ", _PACK_MAGIC, len(header)) + header + b"".join(blobs)
    path = os.path.join(directory(), "packs", hashlib.sha256(body).hexdigest()[:16] + ".pack")
    if _write(path, body):
        for stale in [p.path for p in old if p.path != path] + loose:
            try:
                os.unlink(stale)
            except OSError:
                pass
    _opened = None
    return len(entries)


def info() -> dict:
    """What the store holds: its directory, whether it can be written, and kernels and bytes, loose and packed."""
    packs, loose = _packs().packs, _loose()
    probe = directory()
    while not os.path.exists(probe) and os.path.dirname(probe) != probe:
        probe = os.path.dirname(probe)
    return {
        "directory": directory(), "writable": os.access(probe, os.W_OK),
        "packs": len(packs), "packed kernels": sum(len(p.index) for p in packs),
        "loose kernels": len(loose),
        "bytes": sum(os.path.getsize(p) for p in [*loose, *[k.path for k in packs]]),
    }


def clear() -> int:
    """Delete every stored kernel, and what writers that were killed left. Returns how many files went."""
    global _opened
    gone = 0
    for path in [*_loose(), *_files("packs", ".pack"), *_files("", ".tmp")]:
        try:
            os.unlink(path)
            gone += 1
        except OSError:
            pass
    _opened = None
    return gone
