"""What tests of compiled functions do not wait for. Nothing here imports numtorch, as in the conftest above."""
from __future__ import annotations

import pytest


@pytest.fixture
def soon(monkeypatch):
    """Calls are traced after two replays."""
    monkeypatch.setattr("numtorch.jit.compiling.improving.PATIENCE", 2)


@pytest.fixture
def faster(monkeypatch):
    """Programs of recorded calls are used, whatever the clock says."""
    monkeypatch.setattr("numtorch.jit.compiling.trial.is_faster", lambda one, other, restore, devices: True)
