"""`python -m numtorch`: its help reads well, and developers' commands leave an installed package alone."""
import re
import subprocess
import sys
from pathlib import Path

import pytest

import numtorch
from numtorch import __main__ as command
from numtorch.commands import stubs

COMMANDS = ([], ["cache"], ["cache", "info"], ["cache", "clear"], ["cache", "warm"], ["cache", "pack"], ["ops"], ["profile"], ["run"], ["shared"],
            ["stubs"])


def helped(words, capsys):
    try:
        assert command.main([*words, "--help"]) == 0
    except SystemExit as left:
        assert left.code == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_help_says_what_a_command_does(words, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    text = helped(words, capsys)
    assert text.startswith(f"usage: {' '.join(['python -m numtorch', *words])} ")
    assert max(map(len, text.splitlines())) <= 80
    assert (words[:1] == ["cache"] and words[1:] in (["info"], ["clear"])) or re.search(r"\n\n[A-Z][^\n]+(\n[^\n]+)*\.\n", text)


def test_every_command_is_listed_with_a_line(capsys):
    text = helped([], capsys)
    assert {words[0] for words in COMMANDS if words} == set(re.findall(r"^    ([a-z]+)  ", text, re.MULTILINE))


def test_stubs_are_written_into_a_checkout(tmp_path, monkeypatch, capsys):
    package = tmp_path / "numtorch"
    package.mkdir()
    monkeypatch.setattr(numtorch, "__file__", str(package / "__init__.py"))
    monkeypatch.setattr(stubs, "files", lambda: {"attached.pyi": "x: int\n"})
    assert command.main(["stubs"]) == 1 and "is installed" in capsys.readouterr().err and not list(package.iterdir())
    (tmp_path / "pyproject.toml").write_text("")
    assert command.main(["stubs"]) == 0 and (package / "attached.pyi").read_text() == "x: int\n"


def test_a_command_that_is_none_is_refused():
    done = subprocess.run([sys.executable, "-m", "numtorch", "cash"], capture_output=True, text=True, cwd=Path(numtorch.__file__).parent.parent)
    assert done.returncode == 2 and "invalid choice: 'cash'" in done.stderr and "Traceback" not in done.stderr
