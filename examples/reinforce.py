"""REINFORCE (Williams 1992) balances a pole on a cart.

    python examples/reinforce.py [--steps 300] [--out reinforce.png]
"""
from types import SimpleNamespace

import environments
import harness
import numpy as np

import numtorch as torch
from numtorch import nn, optim


def build(small=False, seed=0):
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    model = nn.Sequential(nn.Linear(4, 8 if small else 64), nn.ReLU(), nn.Linear(8 if small else 64, 2))
    return SimpleNamespace(model=model, optimizer=optim.Adam(model.parameters(), 1e-2), rng=rng, lengths=[],
                           world=environments.CartPole(rng, limit=20 if small else 200))


def step(task):
    """One episode; the loss is the return's gradient estimate as a number to minimise."""
    def choose(state):
        with torch.no_grad():
            chance = task.model(torch.tensor(state)).softmax(0)[1].item()
        return int(task.rng.random() < chance)

    states, actions = environments.episode(task.world, choose)
    returns = torch.tensor(environments.returns(len(actions), 0.99))
    returns = (returns - returns.mean()) / (returns.std(correction=0) + 1e-6)
    chances = task.model(torch.tensor(states)).log_softmax(1)
    loss = -(chances.gather(1, torch.tensor(actions).unsqueeze(1)).squeeze(1) * returns).mean()
    task.optimizer.zero_grad()
    loss.backward()
    task.optimizer.step()
    task.lengths.append(len(actions))
    return loss.item()


def draw(task, axes):
    harness.points(axes, task.lengths, "steps the pole stood")


if __name__ == "__main__":
    harness.run("REINFORCE", build, step, draw, steps=300, log=False)
