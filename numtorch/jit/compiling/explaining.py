"""What became of a compiled call, for people to read (`numtorch.compile.explain`)."""
from __future__ import annotations

from typing import NamedTuple


class Piece(NamedTuple):
    """A piece of a function that is split: where it begins, and how many kernels a replay of it launches."""

    file: str
    line: int
    launches: int


class Explanation:
    """What became of a call.

    Attributes:
        launches: how many kernels a replay launches; 0 where there is none.
        backward: how many of these are launched when the tape comes back to the call, where its results have a graph.
        breaks: what keeps the call from being replayed, each with `what`, `file` and `line`.
        pieces: what stands between these and is compiled of its own, where a compiled function is split at them: file, line and
            launches of each, of which there are 0 as long as it is not replayed.
        bytes: of the program's own memory; `captured` are those of the call before each tensor got its place in it,
            `before` those of the program that passes had not gone over.
        passes: how often each pass over its graph did something; empty where launches are replayed as they were captured.
        stays: why they are, where a graph was looked at; of a call whose results have a graph, why it runs without its programs.
        settled: whether nothing more becomes of the program, however often it is called.
        graphs: the text of each graph that was made of the call and runs in its place, after passes: of forward and of backward
            where its results have a graph, of each piece where it is split. Empty as long as launches are replayed as they were
            captured, which they are for sixteen calls at least.
    """

    def __init__(self, breaks, replay=None, pieces=(), backward=None, graphs=()) -> None:
        self.pieces = [Piece(each.function.__code__.co_filename, each.line, each.launches()) for each in pieces]
        self.graphs = [str(graph) for graph in graphs]
        self.breaks, self.launches, self.bytes, self.captured, self.passes, self.stays = breaks, 0, 0, 0, {}, None
        self.before = 0
        self.settled = replay is None or replay.better is None
        if replay is not None:
            self.launches, self.bytes, self.captured = replay.launches, replay.memory.nbytes, replay.memory.captured
            self.passes, self.stays = replay.passes, replay.stays
            self.before = replay.memory.before or self.bytes
        self.backward = 0 if backward is None else backward.launches
        self.launches += self.backward

    def __str__(self) -> str:
        if not self.breaks:
            lines = [f"captured: {self.launches} launches, {self.bytes} bytes of its own, packed of {self.captured}"
                     + (f", {self.before} before passes" if self.passes else "")]
            lines += [f"  {self.backward} of these launches in backward"] if self.backward else []
            lines += [f"  {name}: {count}" for name, count in self.passes.items()]
            what = "calls run without it" if self.backward else "launches stay"
            return "\n".join(lines + ([f"  {what}: {self.stays}"] if self.stays else []))
        lines = ["split at:" if self.pieces else "not captured:", *[f"  {each}" for each in self.breaks]]
        return "\n".join(lines + [f"  {each.file}:{each.line}: a piece" + (f" of {each.launches} launches" if each.launches else "")
                                  for each in self.pieces])

    __repr__ = __str__
