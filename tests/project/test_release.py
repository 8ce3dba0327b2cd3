"""tools/release.py: what is not ready is said, and nothing leaves the machine unless that is asked for."""
from __future__ import annotations

import importlib.util
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
spec = importlib.util.spec_from_file_location("release", ROOT / "tools" / "release.py")
release = importlib.util.module_from_spec(spec)
spec.loader.exec_module(release)


@pytest.fixture
def project(tmp_path):
    """A checkout with one commit, ready to be released as 1.2.3."""
    (tmp_path / "numtorch").mkdir()
    (tmp_path / "pyproject.toml").write_text('[project]\nversion = "1.2.3"\n')
    (tmp_path / "numtorch" / "__init__.py").write_text('__version__ = "1.2.3"\n')
    (tmp_path / "CHANGELOG.md").write_text("# Changes\n\n## 1.2.3 (2026-01-02)\n\n- New.\n\n## 1.2.2 (2026-01-01)\n\n- Old.\n")
    for words in (["init", "--quiet"], ["add", "."], ["-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "--quiet", "--message", "one"]):
        subprocess.run(["git", "-C", str(tmp_path), *words], check=True)
    return tmp_path


def test_this_version_is_ready():
    number = release.version()
    assert "- " in release.changes(number)


def test_what_is_ready_passes(project):
    release.clean(project)
    assert release.version(project) == "1.2.3" and release.changes("1.2.3", project) == "- New."
    release.untagged("v1.2.3", project)


@pytest.mark.parametrize("file, text, message", [
    ("numtorch/__init__.py", '__version__ = "1.2.4"\n', "pyproject.toml says version 1.2.3"),
    ("pyproject.toml", 'version = "1.2.3.dev0"\n', "says version 1.2.3.dev0"),
    ("CHANGELOG.md", "# Changes\n", "no section"), ("CHANGELOG.md", "## 1.2.3 (2026-01-02)\n\n## 1.2.2 (2026-01-01)\n- x\n", "no section"),
    ("new.txt", "x", "not everything is committed"),
], ids=["versions", "of development", "no entry", "empty entry", "unclean"])
def test_what_is_not_ready_is_said(project, file, text, message, monkeypatch, capsys):
    (project / file).write_text(text)
    with pytest.raises(release.NotReady, match=message):
        if file == "new.txt":
            release.clean(project)
        else:
            release.changes(release.version(project), project)
    monkeypatch.setattr(release, "clean", lambda *root: (_ for _ in ()).throw(release.NotReady(message)))
    assert release.main([]) == 1 and message in capsys.readouterr().err


def test_a_development_version_is_none_of_a_release(project):
    for path in (project / "pyproject.toml", project / "numtorch" / "__init__.py"):
        path.write_text(path.read_text().replace("1.2.3", "1.2.3.dev0"))
    with pytest.raises(release.NotReady, match="no version of a release"):
        release.version(project)


def test_a_tag_of_another_commit_is_not_moved(project):
    subprocess.run(["git", "-C", str(project), "tag", "v1.2.3"], check=True)
    release.untagged("v1.2.3", project)                  # of this very commit
    (project / "more").write_text("x")
    for words in (["add", "."], ["-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "--quiet", "--message", "two"]):
        subprocess.run(["git", "-C", str(project), *words], check=True)
    with pytest.raises(release.NotReady, match="another commit"):
        release.untagged("v1.2.3", project)


@pytest.mark.parametrize("words, sent", [([], False), (["--upload"], True)])
def test_nothing_is_sent_unless_asked(words, sent, monkeypatch, capsys, project):
    commands = []
    monkeypatch.setattr(release, "ROOT", project)
    for name in ("clean", "untagged"):
        monkeypatch.setattr(release, name, lambda *given: None)
    monkeypatch.setattr(release, "version", lambda: "9.9.9")
    monkeypatch.setattr(release, "changes", lambda number: "- New.")
    monkeypatch.setattr(release, "build", lambda folder: [folder / "a.whl"])
    monkeypatch.setattr(release, "_git", lambda root, *given: commands.append(given) or "")
    monkeypatch.setattr(release, "_run", lambda name, *given: commands.append(given))
    assert release.main(words) == 0
    assert any(given[:1] == ("tag",) and "v9.9.9" in given for given in commands)
    assert any("upload" in given for given in commands) is sent and not any("push" in given for given in commands)
    assert ("Nothing was sent" in capsys.readouterr().out) is not sent
