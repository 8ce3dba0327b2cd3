"""Whether kernels run on a GPU or in the simulator, which cannot change in a process, and how large blocks and grids are then."""
from __future__ import annotations

import os

SIMULATED = os.environ.get("NUMBA_ENABLE_CUDASIM", "0") not in ("", "0")
SMALL = SIMULATED and os.environ.get("NUMTORCH_CUDASIM_BLOCKS") != "whole"       # whether blocks are small, for Python
THREADS = 4 if SMALL else 256                            # of every block
BLOCKING = os.environ.get("NUMTORCH_CUDA_LAUNCH_BLOCKING", "0") not in ("", "0")     # whether each launch is waited for
MAX_BLOCKS = 2 if SMALL else 4096                        # fills any GPU several times over; beyond, kernels loop over the grid
MOST_BLOCKS = (1 << 31) - 1                              # that a grid may have, of kernels that do not


class Unavailable(Exception):
    """There is neither a GPU that can be used nor the simulator. `missing` is the package to install, if that is why."""

    def __init__(self, reason, missing=None):
        super().__init__(reason)
        self.missing = missing
