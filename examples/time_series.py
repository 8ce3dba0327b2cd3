"""An LSTM learns waves with L-BFGS, and goes on with them.

    python examples/time_series.py [--steps 12] [--out time_series.png]
"""
from types import SimpleNamespace

import harness
import numpy as np

import numtorch as torch
import numtorch.nn.functional as F
from numtorch import nn, optim


class Forecaster(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.rnn = nn.LSTM(1, hidden, batch_first=True)
        self.head = nn.Linear(hidden, 1)

    def forward(self, series, future=0):
        """The next value at each place of a series (N, T), and `future` more."""
        output, state = self.rnn(series.unsqueeze(-1))
        values = [self.head(output).squeeze(-1)]
        for _ in range(future):
            output, state = self.rnn(values[-1][:, -1:].unsqueeze(-1), state)
            values.append(self.head(output).squeeze(-1))
        return torch.cat(values, 1)


def build(small=False, seed=0):
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    count, length, hidden = (3, 20, 4) if small else (20, 160, 24)
    waves = np.sin((np.arange(length) + rng.integers(-40, 40, (count, 1))) / 10)
    model = Forecaster(hidden)
    return SimpleNamespace(model=model, optimizer=optim.LBFGS(model.parameters(), lr=0.8, max_iter=4 if small else 20),
                           waves=torch.tensor(waves, dtype=torch.float32))


def step(task):
    def closure():
        task.optimizer.zero_grad()
        loss = F.mse_loss(task.model(task.waves[:, :-1]), task.waves[:, 1:])
        loss.backward()
        return loss
    return task.optimizer.step(closure).item()


def draw(task, axes):
    length = task.waves.shape[1]
    with torch.no_grad():
        going_on = task.model(task.waves[:3], future=length).numpy()
    for number, series in enumerate(going_on):
        axes.plot(range(1, length + 1), series[:length], color=f"C{number}")
        axes.plot(range(length, 2 * length + 1), series[length - 1:], ":", color=f"C{number}")
    axes.set_title("seen, and gone on with", fontsize=9)


if __name__ == "__main__":
    harness.run("time series", build, step, draw, steps=12)
