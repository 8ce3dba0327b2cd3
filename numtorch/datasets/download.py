"""Files from the network: a download goes on where it was cut off, and takes its place only when it is complete and checked."""
from __future__ import annotations

import contextlib
import hashlib
import http.client
import os
import sys
import urllib.error
import urllib.request

CHUNK = 1 << 16
ATTEMPTS = 3                                             # how often a connection may break before that is said


def md5_of(path) -> str:
    """The MD5 checksum of a file, in hexadecimal.

    Args:
        path: the file.

    Raises:
        OSError: it cannot be read.

    Example:
        >>> import os, tempfile
        >>> from numtorch.datasets import md5_of
        >>> path = os.path.join(tempfile.mkdtemp(), "empty")
        >>> open(path, "w").close()
        >>> md5_of(path)
        'd41d8cd98f00b204e9800998ecf8427e'
    """
    digest = hashlib.md5(usedforsecurity=False)
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def download(url: str, path, md5: str | None = None, timeout: float = 30.0) -> str:
    """Bring a file here, unless it is there and its checksum fits.

    What came so far is kept beside it, as `path.part`, and a later call asks for the rest.

    Args:
        url: http or https.
        path: where it goes; the folder is made.
        md5: its checksum, in hexadecimal; not checked when None.
        timeout: seconds without an answer before it is given up.

    Returns:
        The path.

    Raises:
        ValueError: another kind of URL.
        ConnectionError: there is no network, the host does not answer, or breaks off again and again.
        RuntimeError: what came has another checksum.

    Example:
        >>> import os, tempfile
        >>> from numtorch.datasets import download
        >>> download("http://localhost:9/none", os.path.join(tempfile.mkdtemp(), "none"))
        Traceback (most recent call last):
            ...
        ConnectionError: download: cannot get http://localhost:9/none (...Connection refused): is there a network? ...
    """
    path = os.fspath(path)
    if not url.startswith(("http://", "https://")):
        raise ValueError(f"download: expected a URL of http or https, got {url!r}")
    if os.path.exists(path) and (md5 is None or md5_of(path) == md5):
        return path
    os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
    part = path + ".part"
    resumed = os.path.exists(part) and os.path.getsize(part) > 0
    problem: Exception | None = None
    for _ in range(ATTEMPTS):
        try:
            _fetch(url, part, timeout)
        except urllib.error.HTTPError as error:
            raise ConnectionError(f"download: {url} answers {error.code} {error.reason}") from None
        except (OSError, http.client.HTTPException) as error:
            problem = error
            continue
        if md5 is None or md5_of(part) == md5:
            os.replace(part, path)
            return path
        had = os.path.getsize(part)
        os.remove(part)
        if not resumed:
            raise RuntimeError(f"download: {url} has {had} bytes that are not the expected ones (their MD5 checksum is not {md5})")
        resumed = False                                  # the beginning was of another file
    come = os.path.getsize(part) if os.path.exists(part) else 0
    reason = getattr(problem, "reason", problem)
    raise ConnectionError(f"download: cannot get {url} ({reason}): is there a network? " +
                          (f"{come} bytes are in {part}; call again to go on, or" if come else "Else") +
                          f" get the file elsewhere and put it at {path}")


def _fetch(url, part, timeout):
    """Add to a part of a file what is missing. Raises OSError where the connection ends early."""
    start = os.path.getsize(part) if os.path.exists(part) else 0
    request = urllib.request.Request(url, headers={"User-Agent": "numtorch", **({"Range": f"bytes={start}-"} if start else {})})
    try:
        answer = urllib.request.urlopen(request, timeout=timeout)
    except urllib.error.HTTPError as error:
        if error.code == 416 and start:                  # nothing is left to send, or the part is longer than the file
            total = (error.headers.get("Content-Range") or "").rpartition("/")[2]
            if total == str(start):
                return
            os.remove(part)
            raise ConnectionError("the part was longer than the file") from None
        raise
    with answer:
        goes_on = answer.status == 206 and (answer.headers.get("Content-Range") or "").startswith(f"bytes {start}-")
        length = answer.headers.get("Content-Length")
        come, start = 0, start if goes_on else 0
        with open(part, "ab" if goes_on else "wb") as file, _progress(url, start, length) as move:
            while block := answer.read(CHUNK):
                file.write(block)
                come += len(block)
                move(len(block))
    if length is not None and come < int(length):
        raise ConnectionError(f"the connection ended after {come} of {length} bytes")


@contextlib.contextmanager
def _progress(url, start, length):
    """What moves a bar on by bytes, on terminals where tqdm is installed."""
    try:
        from tqdm.auto import tqdm
    except ImportError:
        yield lambda count: None
        return
    with tqdm(desc=url.rpartition("/")[2], initial=start, total=start + int(length) if length else None, unit="B", unit_scale=True,
              disable=not sys.stderr.isatty(), leave=False) as bar:
        yield bar.update
