"""A release: looks whether everything is ready, builds sdist and wheel, has them checked, and tags the commit.

    python tools/release.py                  # into dist/; the tag stays on this machine
    python tools/release.py --upload         # and sends what was built to the package index, which cannot be taken back

It needs the packages build and twine (`pip install "numtorch[release]"`). Nothing leaves this machine without --upload.
"""
from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


class NotReady(Exception):
    """What is to be mended before a release."""


def version(root: Path = ROOT) -> str:
    """The version that pyproject.toml and the package agree on.

    Raises:
        NotReady: they do not agree, or it is no version of a release.
    """
    declared = re.search(r'^version = "(.+)"$', (root / "pyproject.toml").read_text(), re.MULTILINE)[1]
    told = re.search(r'^__version__ = "(.+)"$', (root / "numtorch" / "__init__.py").read_text(), re.MULTILINE)[1]
    if declared != told:
        raise NotReady(f"pyproject.toml says version {declared}, numtorch/__init__.py {told}")
    if not re.fullmatch(r"\d+\.\d+\.\d+((a|b|rc)\d+)?", declared):
        raise NotReady(f"{declared} is no version of a release (such as 0.1.0 or 0.2.0rc1)")
    return declared


def changes(number: str, root: Path = ROOT) -> str:
    """What CHANGELOG.md says of a version.

    Args:
        number: the version.
        root: where the file is.

    Raises:
        NotReady: it has no section `## VERSION (YYYY-MM-DD)`, or nothing stands in it.
    """
    text = (root / "CHANGELOG.md").read_text()
    found = re.search(rf"^## {re.escape(number)} \(\d{{4}}-\d\d-\d\d\)\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    if found is None or not found[1].strip():
        raise NotReady(f"CHANGELOG.md has no section `## {number} (YYYY-MM-DD)` with text in it")
    return found[1].strip()


def clean(root: Path = ROOT) -> None:
    """Raises NotReady where something is not committed."""
    found = _git(root, "status", "--porcelain")
    if found:
        raise NotReady(f"not everything is committed:\n{found}")


def untagged(tag: str, root: Path = ROOT) -> None:
    """Raises NotReady where the tag stands at another commit already."""
    if _git(root, "tag", "--list", tag) and _git(root, "rev-parse", f"{tag}^{{commit}}") != _git(root, "rev-parse", "HEAD"):
        raise NotReady(f"the tag {tag} stands at another commit: raise the version")


def build(folder: Path, root: Path = ROOT) -> list[Path]:
    """Build sdist and wheel, and check that the package index would take them.

    Args:
        folder: where they go. What is in it is deleted.
        root: what is built.

    Returns:
        The two files.

    Raises:
        NotReady: they could not be built, or are refused by `twine check`.
    """
    shutil.rmtree(folder, ignore_errors=True)
    _run("build", sys.executable, "-m", "build", "--outdir", folder, root)
    files = sorted(folder.iterdir())
    _run("twine check", sys.executable, "-m", "twine", "check", "--strict", *files)
    return files


def main(words=None) -> int:
    parser = argparse.ArgumentParser(prog="python tools/release.py", description="Check, build and tag a release.")
    parser.add_argument("--upload", action="store_true", help="send it to the package index, which cannot be taken back")
    options = parser.parse_args(words)
    try:
        clean()
        number = version()
        said = changes(number)
        untagged(f"v{number}")
        files = build(ROOT / "dist")
        clean()                                          # what was built is of this commit
        if not _git(ROOT, "tag", "--list", f"v{number}"):
            _git(ROOT, "tag", "--annotate", f"v{number}", "--cleanup=verbatim", "--message", f"numtorch {number}\n\n{said}")
        if options.upload:
            _run("twine upload", sys.executable, "-m", "twine", "upload", *files)
    except NotReady as error:
        print(f"release: {error}", file=sys.stderr)
        return 1
    print(f"numtorch {number}, tagged v{number}:", *files, sep="\n  ")
    if not options.upload:
        print(f"Nothing was sent. To publish it: git push origin v{number}, and python tools/release.py --upload")
    return 0


def _git(root, *words) -> str:
    return subprocess.run(["git", "-C", str(root), *words], check=True, capture_output=True, text=True).stdout.strip()


def _run(name, *words):
    done = subprocess.run([str(w) for w in words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        raise NotReady(f"{name} failed:\n{done.stdout[-4000:]}")


if __name__ == "__main__":
    sys.exit(main())
