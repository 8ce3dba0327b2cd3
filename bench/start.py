"""Starting up, in fresh processes: importing, the first call with a warm kernel store, and with an empty one."""
from __future__ import annotations

from .runner.case import ProcessCase

ALL = ("numtorch", "torch", "numpy")
IMPORT = """
import {module}
report(time.perf_counter() - start)
"""
FIRST_SUM = """
import {module} as torch
x = torch.ones(10) + torch.ones(10)
report(time.perf_counter() - start)
"""
FIRST_STEP = """
import {module} as torch
model = torch.nn.Sequential(torch.nn.Linear(20, 32), torch.nn.Tanh(), torch.nn.Linear(32, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
loss = torch.nn.functional.cross_entropy(model(torch.randn(8, 20)), torch.zeros(8, dtype=torch.int64))
loss.backward()
optimizer.step()
report(time.perf_counter() - start)
"""

CASES = [
    ProcessCase("import", IMPORT, (("import", "s", None),), ALL),
    ProcessCase("first sum", FIRST_SUM, (("import and first sum, warm store", "s", 0.3),), ALL),
    ProcessCase("first step", FIRST_STEP, (("import and first training step, warm store", "s", None),)),
    ProcessCase("cold", FIRST_SUM, (("import and first sum, empty store: one kernel is compiled", "s", None),), rounds=3,
                cold=True),
]
