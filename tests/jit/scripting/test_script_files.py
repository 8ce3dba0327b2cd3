"""Files of scripts: read where the source is absent, with users' files beside a program, and refused where they are damaged."""
import io
import subprocess
import sys
import textwrap

import pytest
import scriptprograms as programs

import numtorch as torch

try:
    import torch as reference
except ImportError:
    reference = None


@pytest.mark.parametrize("make", [lambda lib: lib.jit.script(lib.nn.Sequential(lib.nn.Linear(3, 2))), lambda lib: lib.jit.trace(lib.sin, lib.ones(2)),
                                  lambda lib: lib.jit.trace(lib.nn.Linear(3, 2), lib.ones(1, 3))], ids=["script", "trace", "traced module"])
def test_files_of_the_users_lie_beside_a_program(make, tmp_path):
    found = []
    for library in [torch, *([reference] if reference else [])]:
        path, wanted = str(tmp_path / library.__name__), {"labels.txt": "", "bytes": None, "not there": "before"}
        library.jit.save(make(library), path, _extra_files={"labels.txt": "Zürich\n", "bytes": b"\x00\xff" * 1000, "unread": b""})
        library.jit.load(path, _extra_files=wanted)
        found.append(dict(wanted))
        make(library).save(path, _extra_files={"again": "1"})
        library.jit.load(path, None, wanted := {**wanted, "again": ""})
        found.append(wanted)
        with pytest.raises(TypeError):
            library.jit.save(make(library), path, _extra_files={"a": 3})
    one = {"labels.txt": "Zürich\n".encode(), "bytes": b"\x00\xff" * 1000, "not there": b""}
    assert found == [one, {**dict.fromkeys(one, b""), "again": b"1"}] * (len(found) // 2)


@pytest.mark.parametrize("extra", [{"a": 3}, {"a": torch.ones(2)}, 3, ["a"], {"a": "\u20ac"}], ids=repr)
def test_damaged_files_of_the_users_are_refused(extra, tmp_path):
    content = {**torch.jit.script(programs.early).content(), "extra": extra}
    torch.save(content, tmp_path / "bad.pt")
    wanted = {"a": ""}
    with pytest.raises(RuntimeError, match=r"bad\.pt: jit.load: the file is damaged"):
        torch.jit.load(tmp_path / "bad.pt", _extra_files=wanted)
    assert wanted == {"a": ""} and torch.jit.load(tmp_path / "bad.pt")(torch.ones(3), 3) is not None


def test_a_loaded_script_runs_where_its_source_is_absent(tmp_path):
    """Another process loads the file, with nothing of this file's on its path."""
    torch.jit.script(programs.Net()).save(str(tmp_path / "net.pt"))
    torch.jit.script(programs.early).save(str(tmp_path / "early.pt"))
    code = textwrap.dedent("""
        import numtorch as torch
        net, early = torch.jit.load("net.pt"), torch.jit.load("early.pt")
        print(net(torch.ones(2, 4)).shape, early(torch.ones(3), 3).tolist(), "for i in range(n):" in early.code)
        print("prim::Loop" in str(early.graph), "prim::If" in str(early.graph))
    """)
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.stdout.splitlines() == ["(2, 3) [12.0, 12.0, 12.0] True", "True True"] or "torch.Size([2, 3])" in done.stdout, done.stderr


def test_a_damaged_file_is_refused():
    script = torch.jit.script(programs.Net())
    for change in ({"units": []}, {"root": 99}, {"modules": [{"class": "Module.__init__"}]}, {"kind": "function"}):
        file = io.BytesIO()
        torch.save({**script.content(), **change}, file)
        file.seek(0)
        with pytest.raises(RuntimeError, match=r"jit\.load"):
            torch.jit.load(file)
