"""Files that are cut, bent or made to harm, by the thousand: each is read rightly or refused with a documented error.

What a file says is never run, what it declares is never believed, and nothing is shown of memory that is not in it. What could kill
the process, or take all of its memory, is tried in another one, whose memory is limited.
"""
from __future__ import annotations

import io
import pickle
import random
import struct
import subprocess
import sys
import textwrap
import warnings
import zipfile
from collections import Counter, OrderedDict

import pytest

import numtorch as torch
from numtorch.exchange.arrays import raw_array

REFUSALS = (EOFError, pickle.UnpicklingError, RuntimeError)


# ---------------------------------------------------------------- files, and what is the same
def saved(obj, **options):
    file = io.BytesIO()
    torch.save(obj, file, **options)
    return file.getvalue()


def deflated(content):
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as new:
        for entry in old.namelist():
            new.writestr(entry, old.read(entry))
    return file.getvalue()


def checkpoint():
    net = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2))
    net.weight = torch.nn.Parameter(torch.ones(2))
    net.weight.note = "kept"
    return {"model": net.state_dict(), "rest": [net.weight, b"\xff\x00", {1, "a"}, frozenset({(1, 2.5)}), 1j, None, True, -1 << 70]}


def several():
    x = torch.arange(12, dtype=torch.float64).view(3, 4)
    return [x, x.t(), x[1:, 1:], x[:0], x[:1].expand(2, 3, 4), torch.tensor([True, False]), torch.tensor(1, dtype=torch.uint16),
            torch.ones(3, dtype=torch.bfloat16), torch.tensor([1 + 2j]), torch.zeros(0), x.shape, x.dtype, x.device]


FILES = {"a checkpoint": saved(checkpoint()), "several": saved(several()), "protocol 4": saved(checkpoint(), pickle_protocol=4),
         "protocol 5": saved([bytearray(b"abc"), torch.ones(2)], pickle_protocol=5), "deflated": deflated(saved(several()))}
try:
    import torch as peer
except ImportError:
    pass
else:
    file = io.BytesIO()
    peer.save({"x": peer.arange(6.0).view(2, 3).t(), "conj": peer.tensor([1 + 2j]).conj(), "of": peer.nn.Linear(2, 2).state_dict()}, file)
    FILES["PyTorch's"] = file.getvalue()
files = pytest.mark.parametrize("content", [pytest.param(FILES[name], id=name) for name in FILES])


def described(thing):
    """What a loaded thing is, down to the bytes of its tensors and which of them share memory."""
    if isinstance(thing, torch.Tensor):
        content = raw_array(thing.detach().contiguous()).tobytes()
        return (type(thing), thing.dtype, thing.shape, thing.stride(), thing.requires_grad, content,
                described({k: v for k, v in vars(thing).items() if not k.startswith("_")}))
    if isinstance(thing, dict):
        return type(thing), [(described(k), described(v)) for k, v in thing.items()], described(getattr(thing, "_metadata", None))
    if isinstance(thing, (set, frozenset)):
        return type(thing), sorted(map(repr, thing))
    return (type(thing), [described(part) for part in thing]) if isinstance(thing, (list, tuple)) else (type(thing), repr(thing))


def read(content):
    """What a file holds, described; or None where it is refused. Any other error fails the test."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = torch.load(io.BytesIO(content))
    except REFUSALS:
        return None
    return described(found)


# ---------------------------------------------------------------- damage by accident
@files
def test_cut_at_any_length(content):
    step = max(1, len(content) // 400)
    for end in range(0, len(content), step):
        with pytest.raises(REFUSALS):
            torch.load(io.BytesIO(content[:end]))


@files
def test_any_changed_byte_is_noticed_or_does_not_matter(content):
    """What matters lies under a checksum; of the rest, most says where things are."""
    right, rng, refused = read(content), random.Random(1), 0
    assert right is not None
    for place in rng.sample(range(len(content)), min(len(content), 600)):
        changed = bytearray(content)
        changed[place] ^= rng.choice([1, 2, 4, 8, 16, 32, 64, 128, rng.randrange(1, 256)])
        found = read(changed)
        assert found is None or found == right, place
        refused += found is None
    assert refused > 50


@files
def test_stretches_of_noise_zeros_and_repeats(content):
    right, rng = read(content), random.Random(2)
    for _ in range(200):
        changed, start, length = bytearray(content), rng.randrange(len(content)), rng.randrange(1, 200)
        changed[start:start + length] = rng.choice([bytes(length), rng.randbytes(length), changed[start:start + length] * 2, b""])
        assert read(changed) in (None, right)


# ---------------------------------------------------------------- pickles that pass the checksum
def forged(pickled, compression=zipfile.ZIP_STORED, **entries):
    """An archive with a pickle and entries that are as they should be."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compression) as archive:
        for name, content in {"data.pkl": pickled, "byteorder": b"little", **entries}.items():
            archive.writestr(f"a/{name}", content)
    return file.getvalue()


def entries_of(content):
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name.partition("/")[2]: archive.read(name) for name in archive.namelist()}


OPCODES = [code.encode("latin1") for code in (chr(n) for n in range(256))
           if code.encode("latin1") in {getattr(pickle, n) for n in dir(pickle) if n.isupper() and type(getattr(pickle, n)) is bytes}]


@files
def test_bent_pickles(content, capfd):
    """Bytes of the pickle changed, taken out and put in, steps of a pickle among them. What comes out, if anything, can be looked at."""
    entries, rng, refused = entries_of(content), random.Random(3), 0
    pickled = entries.pop("data.pkl")
    for _ in range(800):
        bent = bytearray(pickled)
        for _ in range(rng.randrange(1, 4)):
            at = rng.randrange(len(bent))
            kind = rng.randrange(5)
            if kind == 0:
                bent[at] = rng.randrange(256)
            elif kind == 1:
                bent[at:at] = rng.choice(OPCODES)
            elif kind == 2:
                del bent[at:at + rng.randrange(1, 8)]
            elif kind == 3:
                bent[at] = rng.choice(OPCODES)[0]
            else:
                other = rng.randrange(len(bent))
                bent[at:at] = bent[other:other + rng.randrange(1, 30)]
        found = read(forged(bytes(bent), **entries))
        refused += found is None
    assert refused > 400
    assert capfd.readouterr() == ("", "")


def text(word):
    return b"X" + struct.pack("<I", len(word)) + word.encode()


def storage(kind="FloatStorage", key=None, location=None, numel=b"K\x02"):
    key, location = text("0") if key is None else key, text("cpu") if location is None else location
    return b"(" + text("storage") + b"ctorch\n" + kind.encode() + b"\n" + key + location + numel + b"tQ"


def tensor(base=None, offset=b"K\x00", size=b"K\x02\x85", stride=b"K\x01\x85", rest=b"\x89)"):
    return b"ctorch._utils\n_rebuild_tensor_v2\n(" + (storage() if base is None else base) + offset + size + stride + rest + b"tR"


def without_memory(kind=b"ctorch\nfloat32\n", size=b"K\x02\x85", stride=b"K\x01\x85"):
    return b"ctorch._utils\n_rebuild_meta_tensor_no_storage\n(" + kind + size + stride + b"\x88tR"


def number(value):
    content = value.to_bytes(value.bit_length() // 8 + 1, "little", signed=True)
    return b"\x8a" + bytes([len(content)]) + content


def as_pickle(body):
    return b"\x80\x02" + body + b"."


RIGHT = tensor()
BAD_PICKLES = {
    # code
    "a call": b"cos\nsystem\n" + text("echo run") + b"\x85R", "a builtin": b"cbuiltins\neval\n" + text("print(1)") + b"\x85R",
    "python 2's": b"c__builtin__\neval\n" + text("print(1)") + b"\x85R", "an instance": b"(" + text("echo run") + b"ios\nsystem\n",
    "an object": b"(cos\nsystem\n" + text("echo run") + b"o", "by stack": text("os") + text("system") + b"\x93" + text("echo") + b"\x85R",
    "a dotted name": text("torch") + text("Tensor.__init__.__globals__") + b"\x93", "an extension": b"\x82\x01",
    "a class of ours": b"cnumtorch.storage\nStorage\n", "ctypes": b"cctypes\nstring_at\nK\x01K\x10\x86R",
    "numpy": b"cnumpy.core.multiarray\nscalar\n", "partial": b"cfunctools\npartial\n", "getattr": b"c__builtin__\ngetattr\n",
    # objects that are made past what makes them
    "a tensor of any memory": b"ctorch\nTensor\nM\x00\x10\x85R", "a tensor of none": b"ctorch\nTensor\n)\x81",
    "a parameter of none": b"ctorch.nn.parameter\nParameter\n)\x81", "a size of none": b"ctorch\nSize\n)\x81",
    "a dtype made": b"ctorch\nfloat32\n)R", "a dtype's class": b"ctorch\nfloat32\n)\x81",
    "a set of a size": b"c__builtin__\nset\nK\x05\x85R", "a size of a tensor": b"ctorch\nSize\n" + RIGHT + b"\x85R",
    "a size of floats": b"ctorch\nSize\n]G" + struct.pack(">d", 1.5) + b"a\x85R",
    "a bytearray of a size": b"c__builtin__\nbytearray\n" + number(1 << 40) + b"\x85R", "a call of a list": b"])R",
    "a call of a tensor": RIGHT + b")R", "a call with a list": b"c__builtin__\nset\n]R",
    "another encoding": b"c_codecs\nencode\n" + text("a") + text("rot13") + b"\x86R",
    "an encoding of none": b"c_codecs\nencode\n" + text("a") + b"N\x86R",
    "no pairs": b"ccollections\nOrderedDict\n]K\x01a\x85R", "an ordered dict of a tensor": b"ccollections\nOrderedDict\n" + RIGHT + b"\x85R",
    # writes
    "into a tensor": RIGHT + b"K\x00K\x01s", "into a tensor, several": RIGHT + b"(K\x00K\x01u", "added to a tensor": RIGHT + b"(K\x01\x90",
    "appended to a tensor": RIGHT + b"K\x01a", "appended to a bytearray": b"c__builtin__\nbytearray\n)RK\x01a",
    "extended": b"c__builtin__\nbytearray\n)R(K\x01e", "a tensor's attributes": RIGHT + b"}" + text("storage") + b"Nsb",
    "a size's attributes": b"ctorch\nSize\n)R}b", "a class's attributes": b"ctorch\nTensor\n}" + text("sum") + b"Nsb",
    "slots": b"ccollections\nOrderedDict\n)RN}" + text("__class__") + b"ctorch\nTensor\ns\x86b",
    "attributes without names": b"ccollections\nOrderedDict\n)R}K\x01K\x01sb",
    "attributes of a list": b"ccollections\nOrderedDict\n)R]b", "a list's attributes": b"]}b",
    # storages
    "no storage": b"K\x01Q", "a storage by name": b"Pstorage\n", "another thing": storage().replace(b"storage", b"modules", 1),
    "a short one": b"(" + text("storage") + b"tQ", "of no dtype": storage("Tensor"), "no number of elements": storage(numel=text("2")),
    "fewer than none": storage(numel=b"J\xff\xff\xff\xff"), "more than there are": storage(numel=b"K\x03"),
    "very many": storage(numel=number(1 << 62)), "more than that": storage(numel=number(1 << 80)), "missing": storage(key=text("7")),
    "elsewhere": storage(key=text("../data.pkl")), "a key that is none": storage(key=b"K\x00"), "a key of a list": storage(key=b"]"),
    "a device that is not": storage(location=text("cpuu:x:y")[:-1] + b"z").replace(b"cpuu", b"mpsu"),
    "a GPU of text": storage(location=text("cuda:x")), "a GPU below none": storage(location=text("cuda:-1")),
    "a GPU above all": storage(location=text("cuda:" + "9" * 30)), "a second nowhere": storage(location=text("meta:x")),
    "a location that is none": storage(location=b"K\x01"), "said to be two things": storage() + b"0" + storage("IntStorage"),
    "said to have two sizes": storage() + b"0" + storage("ByteStorage", numel=b"K\x08"),
    # tensors
    "in no storage": tensor(text("0")), "in a tensor": tensor(RIGHT), "in a list": tensor(b"]"), "in a dtype": tensor(b"ctorch\nfloat32\n"),
    "behind": tensor(offset=b"K\x01"), "before": tensor(offset=b"J\xff\xff\xff\xff"), "far behind": tensor(offset=number(1 << 62)),
    "further": tensor(offset=number(1 << 70)), "backwards": tensor(stride=b"J\xff\xff\xff\xff\x85"),
    "large": tensor(size=number(1 << 40) + b"\x85"), "too large to count": tensor(size=number(1 << 63) + b"\x85"),
    "steps too large": tensor(stride=number(1 << 62) + b"\x85"), "around": tensor(stride=number((1 << 62) + 1) + b"\x85"),
    "a negative size": tensor(size=b"J\xff\xff\xff\xff\x85"), "another number of steps": tensor(stride=b"K\x01K\x01\x86"),
    "a size of text": tensor(size=text("2") + b"\x85"), "a size that is none": tensor(size=b"N"), "an offset of text": tensor(offset=text("0")),
    "an offset of none": tensor(offset=b"G" + struct.pack(">d", 0.5)), "a size that is a float": tensor(size=b"G" + bytes(8) + b"\x85"),
    "of very many dimensions": tensor(size=b"(" + b"K\x01" * 5000 + b"t", stride=b"(" + b"K\x01" * 5000 + b"t"),
    "bits of no dict": tensor(rest=b"\x89)K\x01"), "an integer's gradient": tensor(storage("IntStorage"), rest=b"\x88)"),
    "too few arguments": b"ctorch._utils\n_rebuild_tensor_v2\n)R", "a parameter of text": b"ctorch._utils\n_rebuild_parameter\n("
    + text("a") + b"\x89)tR", "a kind that is none": b"ctorch._tensor\n_rebuild_from_type_v2\n(K\x01ctorch\nTensor\n)}tR",
    "a kind built by another": b"ctorch._tensor\n_rebuild_from_type_v2\n(c__builtin__\nset\nctorch\nTensor\n)}tR",
    "a device of noise": b"ctorch\ndevice\n" + text("a:b:c") + b"\x85R",
    "without memory, of no dtype": without_memory(b"N"), "of a negative size": without_memory(size=b"J\xff\xff\xff\xff\x85"),
    "and too large": without_memory(size=number(1 << 70) + b"\x85"), "and of text": without_memory(size=text("2") + b"\x85"),
    "and of more sizes than strides": without_memory(size=b"K\x01K\x01\x86"), "and recorded integers": without_memory(b"ctorch\nint32\n"),
    "and of very many dimensions": without_memory(size=b"(" + b"K\x01" * 5000 + b"t", stride=b"(" + b"K\x01" * 5000 + b"t"),
    # pickles that are not
    "nothing": b"", "an empty stack": b"0", "no mark": b"t", "a mark alone": b"(", "a memo that is not": b"h\x07",
    "a step that is not": b"\xff", "a late protocol": b"\x80\xc8", "a list as key": b"}]Ns", "odd items": b"}(K\x01u",
    "odd pairs": b"(K\x01d", "text that is none": b"X\x02\x00\x00\x00\xff\xff", "a length that is negative": b"\x8b\xff\xff\xff\xff",
    "an int that is none": b"Iabc\n", "a float that is none": b"Fabc\n", "an int of many digits": b"L" + b"9" * 5000 + b"L\n",
    "a long text": b"\x8d" + struct.pack("<Q", 1 << 62), "longer": b"\x8d" + struct.pack("<Q", (1 << 64) - 1),
    "long bytes": b"\x8e" + struct.pack("<Q", 1 << 62), "a long frame": b"\x95" + struct.pack("<Q", (1 << 64) - 1),
    "a long bytearray": b"\x96" + struct.pack("<Q", (1 << 64) - 1), "a buffer": b"\x97", "a read-only buffer": b"]\x98",
    "a name that is none": b"cnothing", "names that are numbers": b"K\x01K\x02\x93", "two frames": b"\x95" + struct.pack("<Q", 99) + b"\x95",
}


@pytest.mark.parametrize("body", [pytest.param(body, id=name) for name, body in BAD_PICKLES.items()])
def test_crafted_pickles(body, capfd):
    with pytest.raises(REFUSALS):
        torch.load(io.BytesIO(forged(as_pickle(body), **{"data/0": bytes(8)})))
    assert capfd.readouterr() == ("", "")


def test_the_crafted_ones_are_right_where_they_are_not_bent():
    assert torch.load(io.BytesIO(forged(as_pickle(RIGHT), **{"data/0": bytes(8)}))).tolist() == [0, 0]
    assert torch.load(io.BytesIO(forged(as_pickle(without_memory())))).is_meta
    ordered = b"ccollections\nOrderedDict\n]" + text("a") + b"K\x01\x86a\x85R}" + text("_metadata") + b"Nsb"
    for body, expected in [(ordered, OrderedDict(a=1)), (b"ccollections\nCounter\n}" + text("a") + b"K\x02s\x85R", Counter("aa")),
                           (b"c__builtin__\nset\n](K\x01K\x02e\x85R", {1, 2}), (b"c__builtin__\nbytearray\nC\x01a\x85R", bytearray(b"a")),
                           (b"\x96" + struct.pack("<Q", 2) + b"ab", bytearray(b"ab")), (b"ctorch\nSize\nK\x02\x85\x85R", (2,))]:
        assert torch.load(io.BytesIO(forged(as_pickle(body)))) == expected


# ---------------------------------------------------------------- archives whose directory lies
def patched(content, entry, **fields):
    """An archive whose directory (and the entry's own header) says something else of an entry."""
    places = {"method": (10, 8, "<H"), "crc": (16, 14, "<I"), "packed": (20, 18, "<I"), "size": (24, 22, "<I"), "offset": (42, None, "<I")}
    changed = bytearray(content)
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        info, at = archive.getinfo(entry), archive.start_dir
    while changed[at:at + 4] == b"PK\x01\x02":
        name, extra, comment = struct.unpack_from("<HHH", changed, at + 28)
        if changed[at + 46:at + 46 + name] == entry.encode():
            for field, value in fields.items():
                there, here, form = places[field]
                struct.pack_into(form, changed, at + there, value)
                if here is not None:
                    struct.pack_into(form, changed, info.header_offset + here, value)
        at += 46 + name + extra + comment
    return bytes(changed)


SHORT = as_pickle(tensor(storage(numel=b"M\x00\x10"), size=b"M\x00\x10\x85"))      # 4096 floats
LYING = {
    "a short entry": (dict(size=1 << 14), 64), "a short entry with a checksum": (dict(size=1 << 14, crc=zipfile.crc32(bytes(64))), 64),
    "a short entry without": (dict(size=1 << 14, crc=0), 0), "no end": (dict(size=1 << 14, packed=1 << 14), 64),
    "behind the end": (dict(offset=1 << 30), 1 << 14), "in another": (dict(offset=0), 1 << 14), "deflated": (dict(method=8), 1 << 14),
    "packed otherwise": (dict(method=12), 1 << 14), "packed as nobody does": (dict(method=77), 1 << 14),
    "of zeros for long": (dict(method=8, size=1 << 14, packed=2), 64), "longer than said": (dict(size=1 << 14), (1 << 14) + 64),
    "a checksum": (dict(crc=1), 1 << 14),
}


@pytest.mark.parametrize("fields, size", [pytest.param(*LYING[name], id=name) for name in LYING])
def test_directories_that_lie(fields, size):
    content = forged(SHORT, **{"data/0": bytes(size)})
    with pytest.raises(RuntimeError, match="damaged"):
        torch.load(io.BytesIO(patched(content, "a/data/0", **fields)))


def test_entries_that_lie_in_each_other():
    """Thousands of storages over one: what a file of a megabyte may hold is a megabyte."""
    body, entry = bytes(1 << 20), {}
    pickled = as_pickle(b"](" + b"".join(storage(key=text(str(n)), numel=number(1 << 18)) for n in range(50)) + b"e")
    content = forged(pickled, **{f"data/{n}": body if n == 0 else b"" for n in range(50)}, **entry)
    crc = zipfile.crc32(body)
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        offset = archive.getinfo("a/data/0").header_offset
    for n in range(1, 50):
        content = patched(content, f"a/data/{n}", offset=offset, size=len(body), packed=len(body), crc=crc)
    with pytest.raises(RuntimeError, match="damaged"):
        torch.load(io.BytesIO(content))


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_packed_by_what_nobody_reads(method):
    """PyTorch reads stored and deflated entries; these two make a gigabyte of a kilobyte."""
    with pytest.raises(RuntimeError, match="damaged"):
        torch.load(io.BytesIO(forged(as_pickle(RIGHT), method, **{"data/0": bytes(8)})))


def test_random_archives():
    rng = random.Random(4)
    for _ in range(300):
        parts = [b"PK\x03\x04", b"PK\x01\x02", b"PK\x05\x06", b"PK\x06\x06", b"PK\x06\x07", b"a/data.pkl", rng.randbytes(20), bytes(22),
                 b"\xff" * rng.randrange(1, 60), FILES["several"][-rng.randrange(1, 400):]]
        with pytest.raises(REFUSALS):
            torch.load(io.BytesIO(b"".join(rng.choices(parts, k=rng.randrange(1, 12)))))


def test_the_callers_own_errors_are_the_callers():
    class Broken(io.BytesIO):
        def read(self, *size):
            if self.tell() < 400:                        # the directory at the end is read, the entries are not
                raise ConnectionResetError(104, "gone")
            return super().read(*size)

    with pytest.raises(ConnectionResetError):
        torch.load(Broken(FILES["several"]))


# ---------------------------------------------------------------- what a short file may ask for
def nested(opcode, depth=150_000):
    return b")" + opcode * depth


def doubled(depth=60):
    """A tuple that holds a tuple twice, which holds a tuple twice: a key to be hashed 2 ** depth times."""
    return b")" + b"".join(b"q\x01h\x01\x86" for _ in range(depth))


BOMBS = {
    "a key of tuples in tuples": b"}" + nested(b"\x85") + b"Ns", "a set of them": b"\x8f(" + nested(b"\x85") + b"\x90",
    "a frozenset": b"(" + nested(b"\x85") + b"\x91", "a dict of them": b"(" + nested(b"\x85") + b"Nd",
    "an ordered dict": b"ccollections\nOrderedDict\n]" + nested(b"\x85") + b"N\x86a\x85R",
    "a set by a call": b"c__builtin__\nset\n]" + nested(b"\x85") + b"a\x85R",
    "a counter": b"ccollections\nCounter\n}" + nested(b"\x85") + b"K\x01s\x85R",
    "a key that doubles": b"}" + doubled() + b"Ns", "a set that doubles": b"(" + doubled() + b"\x91",
    "keys asked for again": b"(" + b"K\x01" * 900 + b"tq\x01" + b"}h\x01Ns" * 50_000,
    "sets of a list": b"](" + b"K\x01" * 100_000 + b"eq\x01" + b"c__builtin__\nset\nq\x02" + b"h\x02h\x01\x85R" * 100_000,
    "bytes copied": text("a" * 1_000_000) + b"q\x01" + b"c_codecs\nencode\nq\x02" + text("latin1") + b"q\x03" + b"h\x02h\x01h\x03\x86R" * 9000,
    "bytearrays copied": b"B" + struct.pack("<I", 1_000_000) + bytes(1_000_000) + b"q\x01c__builtin__\nbytearray\nq\x02"
                         + b"h\x02h\x01\x85R" * 9000,
    "numbers in long words": text("1" * 1_000_000) + b"q\x01c__builtin__\ncomplex\nq\x02" + b"h\x02h\x01\x85R" * 100_000,
    "sizes copied": b"(" + b"K\x01" * 20_000 + b"tq\x01ctorch\nSize\nq\x02" + b"h\x02h\x01\x85R" * 20_000,
    "attributes copied": b"}(" + b"".join(text(f"k{n}") + b"N" for n in range(10_000)) + b"uq\x01ccollections\nOrderedDict\nq\x02"
                         + b"h\x02)Rh\x01b" * 100_000,
    "parameters' attributes": b"}(" + b"".join(text(f"k{n}") + b"N" for n in range(10_000)) + b"uq\x01" + RIGHT + b"q\x02"
                              + b"ctorch._utils\n_rebuild_parameter_with_state\nq\x03" + b"h\x03(h\x02\x89)h\x01tR" * 50_000,
    "kinds' attributes": b"}(" + b"".join(text(f"k{n}") + b"N" for n in range(10_000)) + b"uq\x01ctorch._tensor\n_rebuild_from_type_v2\nq\x03"
                         + b"ctorch._utils\n_rebuild_tensor_v2\nq\x04ctorch\nTensor\nq\x05(" + storage() + b"K\x00)K\x00\x89)tq\x06"
                         + b"h\x03(h\x04h\x05h\x06h\x01\x85tR" * 50_000,
    "a bytearray's length": b"\x96" + struct.pack("<Q", 1 << 36), "a size for a bytearray": b"c__builtin__\nbytearray\n"
    + number(1 << 36) + b"\x85R", "a gradient's memory": b"ctorch\nTensor\n" + number(1 << 34) + b"\x85R",
    "digits": b"I" + b"9" * 3_000_000 + b"\n",
}
# What is short, large, and right: it is read, and takes no more than its file.
HARMLESS = {
    "lists in lists": b"]" + b"]" * 150_000 + b"a" * 150_000, "tuples in tuples": nested(b"\x85"),
    "a very large view": tensor(size=number(1 << 34) + b"\x85", stride=b"K\x00\x85"),
    "its conjugate": tensor(storage("ComplexFloatStorage", numel=b"K\x01"), size=number(1 << 34) + b"\x85", stride=b"K\x00\x85",
                            rest=b"\x89)}(" + text("conj") + b"\x88" + text("neg") + b"\x88u"),
    "conjugates of conjugates": storage("ComplexFloatStorage", numel=b"K\x01") + b"q\x01" + b"".join(
        tensor(b"h\x01", size=b")", stride=b")", rest=b"\x89)}" + text("neg") + b"\x88s") for _ in range(1000)),
}

READER = textwrap.dedent("""
    import io, pickle, resource, sys, time
    import numtorch as torch
    torch.ones(2, dtype=torch.complex64).conj().neg()                # what has to be compiled is, before memory is limited
    files = pickle.load(sys.stdin.buffer)
    taken = int(open("/proc/self/statm").read().split()[0]) * 4096
    resource.setrlimit(resource.RLIMIT_AS, (taken + (1 << 30),) * 2)
    for name, content in files.items():
        start = time.perf_counter()
        try:
            torch.load(io.BytesIO(content))
            said = "read"
        except (EOFError, RuntimeError, pickle.UnpicklingError) as error:
            said = "refused"
            assert not isinstance(error, RecursionError)
        print(name, said, time.perf_counter() - start, sep="|", flush=True)
""")


@pytest.mark.skipif(sys.platform != "linux", reason="memory is limited, and read from /proc")
def test_bombs():
    """A few bytes that ask for endless time, memory or depth. None is answered with more than its file accounts for."""
    contents = {name: forged(as_pickle(body), **{"data/0": bytes(8)}) for name, body in {**BOMBS, **HARMLESS}.items()}
    zeros = bytes(100 << 20)
    contents["a deflated pickle of zeros"] = forged(zeros, zipfile.ZIP_DEFLATED)
    contents["a file of many packed ones"] = patched(forged(SHORT, zipfile.ZIP_DEFLATED, **{"data/0": bytes(1 << 14)}), "a/data/0",
                                                     size=(1 << 32) - 2)
    done = subprocess.run([sys.executable, "-c", READER], input=pickle.dumps(contents), capture_output=True, timeout=300)
    said = {name: (what, float(seconds)) for name, what, seconds in (line.split("|") for line in done.stdout.decode().splitlines())}
    last = [name for name in contents if name not in said]
    assert done.returncode == 0, (last[:1], done.stderr.decode()[-2000:])
    assert {name for name in said if said[name][0] == "read"} == set(HARMLESS)
    assert max(seconds for _, seconds in said.values()) < 20, max(said.items(), key=lambda each: each[1][1])
