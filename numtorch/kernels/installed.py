"""Which versions of other packages are installed, which shape what kernels are compiled to."""
from __future__ import annotations

import contextlib
import os
import re
import sys


def installed_version(package):
    """The version of what is installed under a name, read off its metadata's folder: Python's own reading of what lies in there
    imports a fifth of what a process does before its first result."""
    start, end = re.sub(r"[-_.]+", "_", package) + "-", ".dist-info"
    for folder in sys.path:
        with contextlib.suppress(OSError):
            matching = [name for name in os.listdir(folder or ".") if name.startswith(start) and name.endswith(end)]
            if len(matching) == 1:
                return matching[0][len(start):-len(end)]
            if matching:
                break
    from importlib.metadata import PackageNotFoundError, version
    try:
        return version(package)
    except PackageNotFoundError:
        return "absent"
