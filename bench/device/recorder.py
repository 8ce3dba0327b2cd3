"""What stands where a GPU would while kernels are planned, or a program runs: it keeps kernels and launches, and runs none."""
from __future__ import annotations

from numtorch.kernels.cuda import runtime
from numtorch.kernels.cuda.packing import Packing

from .steps import launched


class Recorder(Packing):
    """A device of what every machine of the tables runs.

    Attributes:
        kernels: what launchers were made for. launches: what was launched.
    """

    def __init__(self):
        super().__init__("sm_80")
        self.kernels, self.launches = [], []

    def launcher(self, kernel, index, grid):
        self.kernels.append(kernel)
        return lambda *words: self.launches.append(launched(kernel, grid, words, self.memory[index].find))


def installed() -> Recorder:
    """The process's machine from now on, before anything else asks for one."""
    recorder = Recorder()
    runtime.runtime = lambda: recorder
    return recorder
