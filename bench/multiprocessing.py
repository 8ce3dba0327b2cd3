"""Tensors between processes, pools of workers and loaders with workers, in processes of their own."""
from __future__ import annotations

from .runner.case import ProcessCase

BEGIN = """
import {module} as torch
import {module}.multiprocessing as mp
import {module}.utils.data
import importlib
workers = importlib.import_module("PACKAGE.runner.workers")
if __name__ == "__main__":
    report(*(CALL))
"""


def case(name, call, *rows, rounds=3, **options):
    return ProcessCase(name, BEGIN.replace("CALL", call).replace("PACKAGE", str(__package__)), rows, rounds=rounds, **options)


CASES = [
    case("1 MB", "[workers.round_trip(torch, mp, 1 << 20, 200)]", ("1 MB tensor through a queue and back", "s", 0.5)),
    case("100 MB", "[workers.round_trip(torch, mp, 100 << 20, 20), workers.again(torch, mp, 100 << 20, 100)]",
         ("a new 100 MB tensor, moved to shared memory, through a queue and back", "s", 0.3),
         ("100 MB tensor through a queue and back", "s", 0.3)),
    case("small", "[workers.many(torch, mp, 10000)[0]]", ("10 000 small tensors through a queue and back", "s", 0.5)),
    case("100 000", "workers.grown(torch, mp, 100000)",
         ("100 000 small tensors at ulimit -n 256: growth after the first tenth", "B", None, 8 << 20),
         ("100 000 small tensors at ulimit -n 256: descriptors", "", None, 63), rounds=1, long=True),
    case("loader, small", "[workers.loader(torch, False, 20000, 16)]", ("a batch of 16×3×8×8 from 2 workers", "s", 0.67)),
    case("loader, decoding", "[workers.loader(torch, True, 1200, 16)]",
         ("a batch of 16×3×224×224, decoded by 2 workers", "s", 1.0)),
    case("hogwild", "workers.hogwild(torch, mp, 400)",
         ("a step of one model that 2 processes train without locks", "s", 1.0),
         ("the same, of the time of one process", "×", None, 0.65)),
    case("pool", "[workers.pool_start(torch, mp)]", ("a spawned pool of 2, until it has doubled tensors", "s", 0.5)),
]
