"""What a compiled kernel says of itself: the instructions of its busiest loop (PTX), registers and shared memory (cubin)."""
from __future__ import annotations

import re
import struct
from typing import NamedTuple

REGISTERS = 0x2F                                         # EIATTR_REGCOUNT of a cubin's .nv.info
WORK = re.compile(r"^(fma|mad|mul|add|sub|mma|ex2|lg2|rcp|sqrt|div|min|max|abs|neg)\b.*")


class Code(NamedTuple):
    """Of one kernel.

    Attributes:
        registers, shared: of a thread, and bytes of a block.
        instructions: machine instructions altogether.
        issued, work, products, loads, loaded, shared_words, stores: of a pass through the busiest loop: PTX instructions, those
            that are arithmetic of floats, `mma`, loads of memory and their bytes, words of shared memory read, stores.
    """
    registers: int
    shared: int
    instructions: int
    issued: int
    work: int
    products: int
    loads: int
    loaded: int
    shared_words: int
    stores: int


def sections(cubin: bytes) -> dict:
    """The sections of an ELF file by name: (bytes in memory, content)."""
    start, = struct.unpack_from("<Q", cubin, 0x28)
    size, count, names_at = struct.unpack_from("<HHH", cubin, 0x3A)
    headers = [struct.unpack_from("<IIQQQQIIQQ", cubin, start + i * size) for i in range(count)]
    names = headers[names_at][4]
    found = {}
    for name, kind, _, _, offset, nbytes, *_ in headers:
        at = names + name
        text = cubin[at:cubin.index(b"\0", at)].decode()
        found[text] = nbytes, b"" if kind == 8 else cubin[offset:offset + nbytes]
    return found


def _registers(info):
    at, most = 0, 0
    while at + 4 <= len(info):
        form, attribute, size = struct.unpack_from("<BBH", info, at)
        at += 4
        if form == 4:                                    # a value of `size` bytes; others are in the header
            if attribute == REGISTERS:
                most = max(most, struct.unpack_from("<II", info, at)[1])
            at += size
    return most


def _bytes_of(instruction):
    vector = re.search(r"\.v([24])\.", instruction)
    width = re.search(r"\.[bsuf](8|16|32|64)\b", instruction)
    return (int(width[1]) // 8 if width else 4) * (int(vector[1]) if vector else 1)


def busiest(ptx: str) -> list[str]:
    """The instructions of the loop with most arithmetic, innermost first: those between a label and a branch back to it."""
    lines = [line.strip() for line in ptx.splitlines()]
    places = {line[:-1]: i for i, line in enumerate(lines) if re.fullmatch(r"\$\w+:", line)}
    loops = []
    for i, line in enumerate(lines):
        target = re.search(r"\bbra(?:\.uni)?\s+(\$\w+);", line)
        if target and places.get(target[1], i) < i:
            loops.append((places[target[1]], i))
    inner = [(a, b) for a, b in loops if not any((c, d) != (a, b) and a <= c and d <= b for c, d in loops)]
    bodies = [[re.sub(r"^@!?%p\d+\s+", "", x) for x in lines[a + 1:b + 1] if re.match(r"(@!?%p\d+\s+)?[a-z]", x)] for a, b in inner]
    bodies = bodies or [[x for x in lines if re.match(r"[a-z]\w*[.\s].*;$", x)]]
    floats = lambda x: re.match(r"(fma|mul|add|sub|min|max|ex2|ld)\b.*\.(f|b16)", x) is not None
    return max(bodies, key=lambda body: sum(2000 if x.startswith("mma") else floats(x) for x in body))


def read(ptx: str, cubin: bytes) -> Code:
    """What a kernel's PTX and cubin say."""
    found, body = sections(cubin), busiest(ptx)
    registers = max((_registers(content) for name, (_, content) in found.items() if name.startswith(".nv.info")), default=0)
    shared = sum(nbytes for name, (nbytes, _) in found.items() if name.startswith(".nv.shared."))
    machine = sum(nbytes for name, (nbytes, _) in found.items() if name.startswith(".text.")) // 16
    of_memory = [x for x in body if re.match(r"ld(\.global|\.volatile|\.nc)*\.[bsuvf]\d", x) or x.startswith("cp.async.cg")]
    of_shared = [x for x in body if x.startswith("ld.shared")]
    loaded = sum(16 if x.startswith("cp.async") else _bytes_of(x) for x in of_memory)
    words = sum(_bytes_of(x) // 4 or 1 for x in of_shared) + 4 * sum(x.startswith("ldmatrix") for x in body)
    return Code(registers, shared, machine, len(body), sum(bool(WORK.match(x) and re.search(r"f(16|32|64)\b", x)) for x in body),
                sum(x.startswith("mma") for x in body), len(of_memory), loaded, words,
                sum(x.startswith("st.") and not x.startswith("st.shared") for x in body))
