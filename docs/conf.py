"""The documentation site: `make docs` writes it to build/docs. The pages of the reference are made here, from the package."""
from __future__ import annotations

import importlib
import inspect
import re
import sys
import warnings
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
warnings.simplefilter("ignore")                          # names that are deprecated are listed too

import numtorch  # noqa: E402

project, author, version = "numtorch", "the numtorch authors", numtorch.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
html_theme, html_title = "furo", "numtorch"
exclude_patterns = ["build"]
myst_heading_anchors = 3
# CONTRIBUTING.md is shown as a page of its own, and is also a file among others
suppress_warnings = ["myst.header", "toc.not_included"]
autodoc_typehints = "none"
autodoc_default_options = {"members": False}
add_module_names = False

MODULES = """numtorch numtorch.nn numtorch.nn.functional numtorch.nn.init numtorch.nn.utils numtorch.optim
    numtorch.optim.lr_scheduler numtorch.autograd numtorch.func numtorch.linalg numtorch.fft numtorch.special
    numtorch.sparse numtorch.distributions
    numtorch.data numtorch.multiprocessing numtorch.cuda numtorch.amp numtorch.profiler numtorch.jit numtorch.fx numtorch.masked
    numtorch.utils.checkpoint numtorch.utils.trainer numtorch.legacy.nn numtorch.legacy.optim""".split()


def public(module):
    """The names of a module's functions and classes that it offers, and that are its package's own."""
    names = getattr(module, "__all__", None) or [n for n in dir(module) if not n.startswith("_")]
    for name in sorted(set(names)):
        thing = getattr(module, name, None)
        ours = (getattr(thing, "__module__", None) or "").startswith("numtorch")
        if (inspect.isclass(thing) or inspect.isroutine(thing)) and ours and (thing.__doc__ or "").strip():
            yield name, thing


def page(name, seen):
    module = importlib.import_module(name)
    lines = [name, "=" * len(name), "", f".. py:currentmodule:: {name}", ""]
    for member, thing in public(module):
        kind = "autoclass" if inspect.isclass(thing) else "autofunction"
        options = ["   :members:"] * (thing is numtorch.Tensor) + ["   :no-index:"] * (id(thing) in seen)
        lines += [f".. {kind}:: {name}.{member}", *options, ""]
        seen.add(id(thing))
    return "\n".join(lines)


def write_reference(app):
    folder = HERE / "api"
    folder.mkdir(exist_ok=True)
    seen: set = set()                                    # what stands on two pages is indexed on the first
    for name in MODULES:
        text, path = page(name, seen), folder / f"{name}.rst"
        if not path.exists() or path.read_text() != text:
            path.write_text(text)


def plain_to_rst(app, what, name, thing, options, lines):
    """Docstrings are plain text: a name in backticks is code, and a star is a star."""
    for number, line in enumerate(lines):
        if not line.lstrip().startswith((">>>", "...")):
            pieces = re.split(r"``?([^`]+)``?", line)
            pieces[::2] = [re.sub(r"([*|])", r"\\\1", piece) for piece in pieces[::2]]
            pieces[1::2] = [f"``{piece}``" for piece in pieces[1::2]]
            lines[number] = "".join(pieces)


def without_files(app, page, source):
    """Links to files beside docs/ are text on the site."""
    source[0] = re.sub(r"\[([^\]]+)\]\(\.\./[^)]*\)", r"\1", source[0])


def setup(app):
    app.connect("builder-inited", write_reference)
    app.connect("autodoc-process-docstring", plain_to_rst, priority=400)          # before the sections are read
    app.connect("source-read", without_files)
