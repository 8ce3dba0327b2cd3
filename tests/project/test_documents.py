"""Every code block of the documents: sessions and Python run as they stand, and commands name what there is."""
from __future__ import annotations

import doctest
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import numtorch
from numtorch import __main__ as command

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted(str(path.relative_to(ROOT)) for path in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")])
BLOCK = re.compile(r"^```([^\n]*)\n(.*?)^```", re.MULTILINE | re.DOTALL)

# What is no code: a page's beginning of such a block, and what it shows.
PICTURES = {"docs/architecture.md": "__main__  commands", "docs/debugging.md": "numtorch: memory outside", "docs/graph.md": "graph(%x"}


def blocks(page, kind):
    found = [(language, text) for language, text in BLOCK.findall((ROOT / page).read_text()) if not language.startswith("{")]
    return [text for language, text in found if kind_of(page, language, text) == kind]


def kind_of(page, language, text):
    if page in PICTURES and text.startswith(PICTURES[page]):
        return "picture"
    return "session" if text.startswith(">>> ") else language or "commands"


def pages(kind):
    return [page for page in PAGES if blocks(page, kind)]


@pytest.fixture(autouse=True)
def methods_as_they_were(tmp_path, monkeypatch):
    """What a page's ops add to Tensor goes with the test, and what it writes with its folder."""
    monkeypatch.chdir(tmp_path)
    before = set(vars(numtorch.Tensor))
    yield
    for name in set(vars(numtorch.Tensor)) - before:
        if not getattr(vars(numtorch.Tensor)[name], "__module__", "numtorch.").startswith("numtorch."):      # not of a module loaded late
            delattr(numtorch.Tensor, name)


@pytest.mark.parametrize("page", pages("session"))
def test_sessions(page):
    test = doctest.DocTestParser().get_doctest("\n".join(blocks(page, "session")), {}, page, page, 0)
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    output = []
    runner.run(test, out=output.append)
    assert test.examples and runner.summarize(verbose=False).failed == 0, "".join(output)


@pytest.mark.parametrize("page", [page for page in pages("python") if page != "CONTRIBUTING.md"])     # test_contributing.py runs that
def test_python(page, tmp_path):
    """In a process of its own: some start others, or set what all functions see."""
    program = tmp_path / "page.py"
    program.write_text("\n".join(blocks(page, "python")))
    done = subprocess.run([sys.executable, str(program)], capture_output=True, text=True, timeout=300, cwd=tmp_path,
                          env={**os.environ, "PYTHONPATH": str(ROOT)})
    assert done.returncode == 0, done.stderr


# ---------------------------------------------------------------- what is where
MODULES = [str(path.relative_to(ROOT)) for path in ROOT.rglob("*.py") if ".venv" not in path.parts]
OTHERS = {"train.py", "your_script.py", "script.py"}     # of the reader's


@pytest.mark.parametrize("page", PAGES)
def test_pages_name_files_that_are_there(page):
    named = re.findall(r"`([\w./]+\.py)`", (ROOT / page).read_text())
    assert [name for name in named if name not in OTHERS and not any(f"/{module}".endswith(f"/{name}") for module in MODULES)] == []


def test_the_four_calls_are_told_by_names_that_their_files_have():
    """Each name of such a paragraph is a word of one of the files that it names."""
    section = (ROOT / "docs/architecture.md").read_text().split("## Four calls, step by step\n")[1].split("\n## ")[0]
    paragraphs = section.strip().split("\n\n")
    assert len(paragraphs) == 4
    for paragraph in paragraphs:
        title, _, text = paragraph.partition(".** ")
        named = re.findall(r"`([^`]+)`", text)
        files = [name for name in named if name.endswith(".py")]
        words = {word for file in files for word in re.findall(r"\w+", (ROOT / "numtorch" / file).read_text())}
        names = {re.sub(r"[(\[].*", "", name).rpartition(".")[2] for name in named if name not in files}
        names = {re.sub(r"^__(\w+)__$", r"\1", name) for name in names}            # Python's operators are set by a table
        assert len(files) > 2 and names and names - words == set(), f"{title}: {names - words}"


# ---------------------------------------------------------------- commands
def problem(line):
    """What is wrong with a command, or None."""
    words = re.sub(r"\s+#.*|^\$ ", "", line).replace('"', "").replace("'", "").split()
    while words and re.fullmatch(r"[A-Z_]+=\S+", words[0]):
        words = words[1:]
    text = " ".join(words)
    if not words or text.startswith(("git clone", "cd ")):
        return None if "&&" not in text else problem(text.split("&&", 1)[1].strip())
    if words[0] == "make":
        targets = re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
        return None if words[1] in targets else f"no target {words[1]}"
    if words[:2] == ["pip", "install"]:
        extras = re.findall(r"^(\w+) = \[", (ROOT / "pyproject.toml").read_text().split("[project.optional-dependencies]")[1], re.MULTILINE)
        asked = re.findall(r"\[(.+?)\]", text)
        return next((f"no extra {word}" for some in asked for word in some.split(",") if word not in extras), None)
    if words[:3] == ["python", "-m", "numtorch"]:
        try:
            return None if command.main([words[3], "--help"]) == 0 else "fails"
        except SystemExit as left:
            return None if left.code == 0 else f"no command {words[3]}"
    if words[:2] == ["python", "-c"] or words[0] == "cc":      # test_export_native.py compiles
        return None
    if words[:2] == ["python", "-m"]:
        return None if (ROOT / words[2].split(".")[-1]).is_dir() or words[2] == "http.server" else f"no module {words[2]}"
    if words[0] == "python":
        return None if (ROOT / words[1]).exists() or words[1] in ("train.py", "program.py") else f"no file {words[1]}"
    return "no command that is known here"


@pytest.mark.parametrize("page", pages("commands"))
def test_commands_name_what_there_is(page, capsys):
    lines = [(line, "\n$ " in f"\n{text}") for text in blocks(page, "commands") for line in text.splitlines() if line.strip()]
    said = {line: problem(line) for line, prompted in lines if line.startswith("$ ") or not prompted}      # the others are what it says
    assert {line: wrong for line, wrong in said.items() if wrong} == {}


@pytest.mark.parametrize("line", ["make tea", 'pip install "numtorch[tea]"', "python -m numtorch tea", "python tea.py", "tea"])
def test_a_command_that_is_none_is_found(line, capsys):
    assert problem(line)
