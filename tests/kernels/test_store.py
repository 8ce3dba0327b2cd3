"""The kernel store: every way a directory of machine code can go wrong, and none of them harms a result."""
from __future__ import annotations

import io
import os
import random
import re
import stat
import struct
import subprocess
import sys
import textwrap
import warnings
from pathlib import Path

import numpy as np
import pytest

from numtorch.kernels import compiler, progress, store

ROOT = Path(__file__).resolve().parents[2]
jit_only = pytest.mark.skipif(compiler.DISABLE_JIT, reason="NUMBA_DISABLE_JIT: nothing is stored when kernels run as Python")

# A process that compiles (or loads) `count` kernels, checks what each computes, and says how many it compiled.
WORKER = textwrap.dedent("""
    import sys, numpy as np
    from numtorch.kernels import compiler
    def add(x, out, descriptor):
        for i in range(descriptor[0]):
            out[i] = x[i] + OFFSET
    x, out, descriptor = np.arange(5.0), np.empty(5), np.array([5])
    for offset in range(int(sys.argv[1])):
        k = compiler.compile_kernel(add, ("float64*", "float64*", "int64*"), {"OFFSET": offset})
        k.call(x.ctypes.data, out.ctypes.data, descriptor.ctypes.data)
        assert (out == x + offset).all(), out
    print(compiler.statistics.compiled, compiler.statistics.loaded)
""")


def start(directory, count=1, **environment):
    env = {**os.environ, "NUMTORCH_CACHE_DIR": str(directory), **environment}
    return subprocess.Popen([sys.executable, "-c", WORKER, str(count)], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            text=True)


def finish(process):
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    return tuple(map(int, out.split()))


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMTORCH_CACHE_DIR", str(tmp_path / "store"))
    monkeypatch.setattr(store, "_opened", None)
    yield tmp_path / "store"
    store._opened = None


KEYS = [f"{i:02x}" + "0" * 62 for i in range(20)]


# ---------------------------------------------------------------- entries and packs
def test_save_load_pack_clear(here):
    assert store.load(KEYS[0]) is None and store.pack() == 0
    for i, key in enumerate(KEYS):
        assert store.save(key, bytes([i]) * (i * 100))
    assert store.info()["loose kernels"] == 20 and store.info()["writable"]
    assert store.pack() == 20
    assert store.info()["loose kernels"] == 0 and store.info()["packed kernels"] == 20 and store.info()["packs"] == 1
    assert all(store.load(key) == bytes([i]) * (i * 100) for i, key in enumerate(KEYS))
    more = "ff" + "1" * 62
    store.save(more, b"later")
    assert store.load(more) == b"later" and store.pack() == 21 and store.info()["packs"] == 1
    assert store.clear() == 1 and store.load(KEYS[3]) is None and store.info()["bytes"] == 0


@pytest.mark.parametrize("damage", ["flip a bit", "cut short", "empty", "not ours", "a directory"])
def test_damaged_entry_counts_as_missing(here, damage):
    store.save(KEYS[0], b"machine code" * 50)
    path = store._object_path(str(here), KEYS[0])
    blob = bytearray(open(path, "rb").read())
    os.unlink(path)
    if damage == "a directory":
        os.mkdir(path)
    else:
        blob[100] ^= 4
        open(path, "wb").write({"flip a bit": blob, "cut short": blob[:50], "empty": b"", "not ours": b"x" * 700}[damage])
    assert store.load(KEYS[0]) is None
    store.save(KEYS[1], b"good")
    assert store.pack() == 1, "nothing that is damaged may be packed"
    if damage != "a directory":
        assert store.save(KEYS[0], b"again") and store.load(KEYS[0]) == b"again"


def test_any_changed_byte_of_an_entry_counts_as_missing(here):
    store.save(KEYS[0], b"machine code" * 5)
    path, rng = store._object_path(str(here), KEYS[0]), random.Random(2)
    content = open(path, "rb").read()
    damaged = [content[:end] for end in range(len(content))] + [content + b"x", content * 2, content[1:], bytes(len(content))]
    for place in range(len(content)):
        changed = bytearray(content)
        changed[place] ^= rng.randrange(1, 256)
        damaged.append(changed)
    for blob in damaged:
        open(path, "wb").write(blob)
        assert store.load(KEYS[0]) is None and store.pack() == 0
    assert store.save(KEYS[0], b"again") and store.load(KEYS[0]) == b"again"


def damage_pack(path, how):
    blob = bytearray(open(path, "rb").read())
    if how == "header":
        blob[4] ^= 0xFF
    elif how == "size":
        blob[4:12] = b"\xff" * 8
    elif how == "index":
        blob[14] = 0
    elif how == "last blob":
        blob = blob[:-3]
    elif how == "half":
        blob = blob[:len(blob) // 2]
    else:
        blob = blob[:7]
    open(path, "wb").write(blob)


@pytest.mark.parametrize("how", ["header", "size", "index", "last blob", "half", "stub"])
def test_damaged_pack_never_gives_a_wrong_kernel(here, how):
    payloads = {key: key.encode() * 200 for key in KEYS}
    for key, payload in payloads.items():
        store.save(key, payload)
    store.pack()
    pack, = (here / "packs").iterdir()
    damage_pack(pack, how)
    store._opened = None
    found = {key: store.load(key) for key in KEYS}
    assert all(found[key] in (None, payloads[key]) for key in KEYS)
    assert any(v is None for v in found.values())
    for key in KEYS:                                     # what is lost is compiled and saved again
        if found[key] is None:
            store.save(key, payloads[key])
    assert all(store.load(key) == payloads[key] for key in KEYS), "a damaged pack must not hide a good entry"
    assert store.pack() == len(KEYS)
    assert all(store.load(key) == payloads[key] for key in KEYS)


def test_all_packs_are_asked(here):
    """Two processes that pack at once leave two."""
    packs = []
    for key in KEYS[:2]:
        store.save(key, key.encode())
        store.pack()
        pack, = (here / "packs").iterdir()
        packs.append((pack, pack.read_bytes()))
        store.clear()
    for pack, blob in packs:
        pack.write_bytes(blob)
    store._opened = None
    assert [store.load(key) for key in KEYS[:3]] == [KEYS[0].encode(), KEYS[1].encode(), None]


def test_an_entry_is_there_whole_or_not_at_all(here, monkeypatch):
    """It is written beside its place; where it cannot be moved there, nothing is left."""
    def full(*paths):
        raise OSError("No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", full)
        assert not store.save(KEYS[0], b"code")
    assert store.load(KEYS[0]) is None and not [n for _, _, names in os.walk(here) for n in names]


def test_clear_takes_what_killed_writers_left(here):
    store.save(KEYS[0], b"code")
    place = os.path.dirname(store._object_path(str(here), KEYS[0]))
    open(os.path.join(place, "half.tmp"), "w").close()
    assert store.clear() == 2 and not os.listdir(place)


class Terminal(io.StringIO):
    def isatty(self):
        return True


Notebook = type("OutStream", (io.StringIO,), {"__module__": "ipykernel.iostream"})


def what_is_seen(written):
    """What stands on the lines of a terminal at the end, and all that stood there."""
    now = before = ""
    for part in re.split("(\r|\n)", written):
        if part == "\n":
            before, now = before + now.rstrip() + "\n", ""
        elif part == "\r":
            place = 0
        elif part:
            place = 0 if not now.strip() else place
            now = part + now[len(part):]
    return before + now.rstrip()


@pytest.mark.parametrize("stream", [Terminal, Notebook, io.StringIO])
@pytest.mark.parametrize("seconds, kept, said", [
    (1.5, True, "first use; they are kept in"), (1.5, False, "for this process alone, since .* cannot be written"), (0.5, True, "")])
def test_waiting_is_shown_on_one_line_and_explained_once(monkeypatch, stream, seconds, kept, said):
    monkeypatch.setattr(sys, "stderr", stream())
    monkeypatch.setattr(progress, "statistics", progress.Statistics())
    progress.statistics.seconds, line = seconds, progress.Progress()
    watched = stream is not io.StringIO
    for _ in range(2):
        line.compiling("softmax" * 20, lambda: 3)
        assert ("numtorch: compiling softmax" in sys.stderr.getvalue().split("\r")[-1]) == (watched and bool(said))
        assert len(sys.stderr.getvalue().split("\r")[-1]) < 80
        line.compiled("softmax", 0.5, kept)
    lines = what_is_seen(sys.stderr.getvalue()).splitlines()
    assert len(lines) == bool(said and watched) and (not lines or re.search(said, lines[0])), lines


@pytest.mark.parametrize("number, said", [(0, ""), (12, ", at least 12 to come")])
def test_how_many_are_to_come_is_said_where_it_is_known(monkeypatch, number, said):
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setattr(progress, "statistics", progress.Statistics())
    progress.statistics.seconds = 2.0
    progress.Progress().compiling("softmax", lambda: number)
    assert sys.stderr.getvalue() == f"\rnumtorch: compiling softmax (kernel 1, 2 s{said})"


def test_pipes_have_a_record_for_each_kernel(monkeypatch, caplog):
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with caplog.at_level("INFO", logger="numtorch"):
        progress.Progress().compiled("softmax", 0.5, True)
    assert caplog.messages == ["compiled softmax in 0.50 s"] and sys.stderr.getvalue() == ""


@jit_only
def test_each_compilation_is_told_in_a_process(tmp_path):
    source = "import logging; logging.basicConfig(level='INFO')\n" + WORKER
    env = {**os.environ, "NUMTORCH_CACHE_DIR": str(tmp_path)}
    for compiled in (2, 0):
        done = subprocess.run([sys.executable, "-c", source, "2"], env=env, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0 and done.stderr.count("INFO:numtorch:compiled add in ") == compiled, done.stderr


# ---------------------------------------------------------------- indexes that are damaged
def packed(here, keys=KEYS):
    """A pack of a small entry for each key: where it is, and what it holds."""
    for key in keys:
        store.save(key, key.encode())
    store.pack()
    path, = (here / "packs").iterdir()
    return path, path.read_bytes()


def test_any_changed_byte_of_a_pack_costs_kernels_and_nothing_else(here):
    keys = KEYS[:6]
    path, content = packed(here, keys)
    ends, rng, lost = content.index(b"}") + 1, random.Random(1), 0
    changes = [(place, byte) for place in range(12, ends) for byte in b'-+.e"[]{}: ,0129'] + \
        [(place, rng.randrange(256)) for place in (*range(12), *range(ends, len(content)))]
    for place, byte in rng.sample(changes, 1500):
        changed = bytearray(content)
        changed[place] = byte
        path.write_bytes(changed)
        store._opened = None
        found = [store.load(key) for key in keys]
        assert all(payload in (None, key.encode()) for key, payload in zip(keys, found)), (place, byte)
        lost += None in found
    assert lost > 1200


INDEXES = ["[]", "[[1]]", "null", "7", '"a"', "{}}", '{"%s": null}', '{"%s": 7}', '{"%s": []}', '{"%s": [1]}', '{"%s": [0, 1, 2]}',
           '{"%s": ["a", "b"]}', '{"%s": [0.5, 2]}', '{"%s": [-5, 10]}', '{"%s": [0, -1]}', '{"%s": [0, 1e400]}', '{"%s": [null, null]}',
           '{"%s": [0, 99999999999999999999999]}', '{"%s": [99999999999999999999999, 1]}', '{"%s": {"0": 1, "1": 2}}', '{"%s": "ab"}',
           '{"%s": [true, true]}', "[" * 100_000, '{"%s": ' + "[" * 100_000, "9" * 100_000, "\xff\xfe", '{"%s": [NaN, Infinity]}']


@pytest.mark.parametrize("index", INDEXES, ids=range(len(INDEXES)))
def test_an_index_that_says_something_else(here, index):
    path, _ = packed(here)
    header = index.replace("%s", KEYS[0]).encode("latin1")
    path.write_bytes(store._PACK_MAGIC + struct.pack("<Q", len(header)) + header + store._seal(KEYS[0].encode()))
    store._opened = None
    assert [store.load(key) for key in KEYS] == [None] * len(KEYS)
    assert store.info()["packed kernels"] == 0 and store.pack() == 0
    assert store.save(KEYS[0], b"again") and store.load(KEYS[0]) == b"again" and store.pack() == 1 and store.load(KEYS[0]) == b"again"


@jit_only
def test_a_kernel_under_anothers_name_is_compiled_again(tmp_path):
    assert finish(start(tmp_path, 2)) == (2, 0)
    one, other = [os.path.join(folder, name) for folder, _, names in os.walk(tmp_path) for name in names]
    os.replace(one, other)
    assert finish(start(tmp_path, 2)) == (2, 0)


# ---------------------------------------------------------------- whose files are loaded
def test_never_from_the_working_directory(tmp_path, monkeypatch):
    """Without a home, `~` stays what it is, and a folder of that name may hold anybody's machine code."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NUMTORCH_CACHE_DIR", str(tmp_path / "~" / ".cache" / "numtorch"))
    monkeypatch.setattr(store, "_opened", None)
    assert store.save(KEYS[0], b"code") and store.load(KEYS[0]) == b"code"
    monkeypatch.delenv("NUMTORCH_CACHE_DIR")
    for name in ("HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, "~/.cache" if name == "XDG_CACHE_HOME" else "~")
    assert store.directory() is None and store.load(KEYS[0]) is None
    for name in ("HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name)
    pwd = pytest.importorskip("pwd")

    def nobody(uid):
        raise KeyError(uid)

    monkeypatch.setattr(pwd, "getpwuid", nobody)
    assert store.directory() is None and store.load(KEYS[0]) is None and not store.save(KEYS[1], b"code")
    assert store.pack() == 0 == store.clear() and "no home" in store.info()["directory"] and "no home" in store.trouble()
    assert os.listdir(tmp_path) == ["~"]


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="needs owners and modes")
@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("what", ["the store", "a folder", "a file"])
@pytest.mark.parametrize("fault", ["group writes", "all write", "another's"])
def test_nothing_is_loaded_that_another_user_could_have_written(here, monkeypatch, packed, what, fault):
    store.save(KEYS[0], b"code")
    if packed:
        store.pack()
    file, = [os.path.join(folder, name) for folder, _, names in os.walk(here) for name in names]
    assert store.load(KEYS[0]) == b"code" and store.info()["writable"]
    changed = {"the store": str(here), "a folder": os.path.dirname(file), "a file": file}[what]
    before, own = os.stat(changed), os.geteuid()
    if fault == "another's":
        if own:
            pytest.skip("only root can give files away")
        os.chown(changed, 12345, -1)
    else:
        os.chmod(changed, before.st_mode | (0o020 if fault == "group writes" else 0o002))
    store._opened = None
    store._trusted.clear()
    assert store.load(KEYS[0]) is None
    if what == "the store":
        assert not store.save(KEYS[1], b"code") and not store.info()["writable"]
        assert str(here) in store.trouble() and "user" in store.trouble()
    os.chown(changed, before.st_uid, -1)
    os.chmod(changed, before.st_mode)
    store._opened = None
    assert store.load(KEYS[0]) == b"code"


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="needs modes")
def test_folders_are_made_for_one_user(tmp_path, monkeypatch):
    """Whatever the umask lets others do elsewhere."""
    monkeypatch.setenv("NUMTORCH_CACHE_DIR", str(tmp_path / "a" / "store"))
    monkeypatch.setattr(store, "_opened", None)
    umask = os.umask(0)
    try:
        assert store.save(KEYS[0], b"code") and store.load(KEYS[0]) == b"code" and store.pack() == 1 and store.load(KEYS[0]) == b"code"
    finally:
        os.umask(umask)
    modes = {stat.S_IMODE(os.stat(folder).st_mode) for folder, _, _ in os.walk(tmp_path / "a" / "store")}
    assert modes == {0o700}


def test_a_link_is_not_followed(here, tmp_path):
    store.save(KEYS[0], b"code")
    path = store._object_path(str(here), KEYS[0])
    os.replace(path, tmp_path / "elsewhere")
    os.symlink(tmp_path / "elsewhere", path)
    assert store.load(KEYS[0]) is None
    assert store.save(KEYS[0], b"code") and store.load(KEYS[0]) == b"code"


def test_pack_deleted_by_another_process(here):
    for key in KEYS:
        store.save(key, b"code")
    store.pack()
    assert store.load(KEYS[0]) == b"code"
    for pack in (here / "packs").iterdir():
        pack.unlink()
    assert store.load(KEYS[1]) is None
    store.save(KEYS[1], b"code")
    assert store.load(KEYS[1]) == b"code"


# ---------------------------------------------------------------- real kernels in real processes
@jit_only
def test_concurrent_writers_and_a_warm_reader(tmp_path):
    for process in [start(tmp_path, 6) for _ in range(3)]:
        compiled, loaded = finish(process)
        assert compiled + loaded == 6
    assert finish(start(tmp_path, 6)) == (0, 6)
    assert not [n for _, _, names in os.walk(tmp_path) for n in names if n.endswith(".tmp")]


@jit_only
def test_corrupt_kernels_are_compiled_again(tmp_path):
    assert finish(start(tmp_path, 2)) == (2, 0)
    for folder, _, names in os.walk(tmp_path):
        for name in names:
            path = os.path.join(folder, name)
            blob = bytearray(open(path, "rb").read())
            blob[len(blob) // 2] ^= 1
            open(path, "wb").write(blob)
    assert finish(start(tmp_path, 2)) == (2, 0)
    assert finish(start(tmp_path, 2)) == (0, 2)


@jit_only
@pytest.mark.parametrize("home", ["read-only", "missing", "a file"])
def test_home_that_cannot_be_written(tmp_path, home):
    place = tmp_path / "home"
    if home == "read-only":
        place.mkdir()
        place.chmod(stat.S_IRUSR | stat.S_IXUSR)
        if os.access(place, os.W_OK):                    # root writes anywhere; /proc refuses even root
            place = "/proc/1"
    elif home == "a file":
        place.write_text("")
    else:
        place = "/dev/null/nowhere"
    process = start("", 1, NUMTORCH_CACHE_DIR="", XDG_CACHE_HOME="", HOME=str(place))
    assert finish(process) == (1, 0)


# ---------------------------------------------------------------- other numba versions
@jit_only
def test_untested_numba_warns_once_and_is_checked(here, monkeypatch):
    import numba
    monkeypatch.setattr(numba, "__version__", "0.99.0")
    monkeypatch.setattr(compiler, "_checked", False)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        compiler._check_numba(numba)
        compiler._check_numba(numba)
    assert [w.category for w in caught] == [RuntimeWarning] and "0.99.0" in str(caught[0].message)


@jit_only
@pytest.mark.parametrize("fault, message", [("raises", "does not work with numtorch"),
                                            ("wrong", "compiles numtorch's kernels wrongly")])
def test_numba_that_fails_the_self_check_is_refused(here, monkeypatch, fault, message):
    import numba

    class Broken:
        @staticmethod
        def call(address, x):
            if fault == "raises":
                raise AttributeError("_final_module")

    monkeypatch.setattr(numba, "__version__", "0.99.0")
    monkeypatch.setattr(compiler, "_checked", False)
    monkeypatch.setattr(compiler, "compile_kernel", lambda *a, **k: Broken)
    with pytest.warns(RuntimeWarning), pytest.raises(RuntimeError, match=message):
        compiler._check_numba(numba)
    monkeypatch.setattr(compiler, "_checked", True)


@jit_only
def test_self_check_computes(here):
    cell = np.zeros(1, np.int64)
    compiler.compile_kernel(compiler._store_answer, ("int64*", "int64")).call(cell.ctypes.data, 41)
    assert cell[0] == 42


# ---------------------------------------------------------------- python -m numtorch cache
def command(*args, directory, cwd=None, **environment):
    env = {**os.environ, "NUMTORCH_CACHE_DIR": str(directory), **environment}
    return subprocess.run([sys.executable, "-m", "numtorch", *args], env=env, cwd=cwd, capture_output=True, text=True, timeout=600)


def test_command_line(tmp_path, here):
    store.save(KEYS[0], b"code")
    shown = command("cache", "info", directory=here)
    assert shown.returncode == 0 and str(here) in shown.stdout and "loose kernels" in shown.stdout
    gone = command("cache", "clear", directory=here)
    assert gone.returncode == 0 and "1" in gone.stdout and store.load(KEYS[0]) is None
    assert command("--version", directory=here).stdout.strip().startswith("numtorch ")
    assert command("cache", "polish", directory=here).returncode == 2


@jit_only
def test_warm_leaves_a_pack_that_later_processes_load(tmp_path):
    done = command("cache", "warm", "arithmetic", directory=tmp_path)
    assert done.returncode == 0, done.stderr
    assert len(list((tmp_path / "packs").iterdir())) == 1
    code = ("import numtorch as torch; from numtorch.kernels import compiler; torch.ones(3) + torch.ones(3); "
            "print(compiler.statistics.compiled)")
    env = {**os.environ, "NUMTORCH_CACHE_DIR": str(tmp_path)}
    assert subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True).stdout.strip() == "0"


@jit_only
def test_warm_runs_a_program(tmp_path):
    """A file with its arguments, or a module; `import torch` in it is numtorch."""
    (tmp_path / "train.py").write_text("import sys, torch\nprint((torch.ones(3) + torch.ones(3)).tolist(), sys.argv[1])\n"
                                       "sys.exit(int(sys.argv[1]))\n")
    for arguments, status in ((("train.py", "0"), 0), (("-m", "train", "3"), 3)):
        done = command("cache", "warm", *arguments, directory=tmp_path / "store", PYTHONPATH=os.pathsep.join(
            [str(tmp_path), os.environ.get("PYTHONPATH", "")]), cwd=tmp_path)
        assert done.returncode == status and done.stdout.startswith(f"[2.0, 2.0, 2.0] {status}\n"), done.stderr
        assert len(list((tmp_path / "store" / "packs").iterdir())) == 1
    unknown = command("cache", "warm", "polish", directory=tmp_path)
    assert unknown.returncode == 2 and "no family 'polish'" in unknown.stderr and "arithmetic" in unknown.stderr
