"""A program: statements in Python that both libraries run, and how it prints."""
from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
import torch

from . import inputs


@dataclass(frozen=True)
class Statement:
    """A line of a program.

    Attributes:
        source: the line. It names the library `torch`, whichever runs it.
        targets: the names it assigns.
        kind: how its results compare: "exact"; "view", whose strides and offset are compared too; "point" for elementwise ones; "sum" for
            those that add up; "grad" for gradients, which carry the rounding of all that came before.
        writes: the name of the tensor that it changes in place, if any.
    """

    source: str
    targets: tuple[str, ...] = ()
    kind: str = "exact"
    writes: str | None = None

    def run(self, namespace):
        exec(_compiled(self.source), namespace)
        for name in self.targets:                        # PyTorch's gradients may be zeros without memory
            value = namespace[name]
            if isinstance(value, torch.Tensor) and value._is_zerotensor():
                namespace[name] = torch.zeros(value.shape, dtype=value.dtype)


@functools.lru_cache(4096)
def _compiled(source):
    return compile(source, source, "exec")


def namespace(torch):
    """What the statements of a program find."""
    return {"torch": torch, "F": torch.nn.functional, "np": np, "from_numpy": inputs.from_numpy(torch), "array": inputs.array,
            "indices": inputs.indices, "distinct": inputs.distinct}


_SCRIPT = '''# at the repository's root
import numtorch
import numpy as np
import torch as pytorch
from tests.differential.inputs import array, distinct, from_numpy as make, indices

numtorch.set_num_threads({threads})
for torch in (pytorch, numtorch):
    F, from_numpy = torch.nn.functional, make(torch)
{body}
    print(torch.__name__, {last}, sep="\\n")
'''


def script(statements, threads):
    """A program as a script that prints what its last statement made."""
    names = ", ".join(statements[-1].targets or [statements[-1].writes or "locals()"])
    body = "\n".join("    " + line for s in statements for line in s.source.splitlines())
    return _SCRIPT.format(threads=threads, body=body, last=names)
