"""REINFORCE (Williams 1992) balances a pole on a cart.

    python examples/reinforce.py [--steps 300] [--out reinforce.png]
"""
from types import SimpleNamespace

import harness
import numpy as np
from environments import CartPole

import numtorch as torch
from numtorch import nn, optim


def build(small=False, seed=0):
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    model = nn.Sequential(nn.Linear(4, 8 if small else 64), nn.ReLU(), nn.Linear(8 if small else 64, 2))
    return SimpleNamespace(model=model, optimizer=optim.Adam(model.parameters(), 1e-2), rng=rng, lengths=[],
                           world=CartPole(rng, limit=20 if small else 200))


def episode(task):
    """States and actions of one try."""
    states, actions, over = [task.world.reset()], [], False
    while not over:
        with torch.no_grad():
            chance = task.model(torch.tensor(states[-1])).softmax(0)[1].item()
        actions.append(int(task.rng.random() < chance))
        state, _, over = task.world.step(actions[-1])
        states.append(state)
    return states[:-1], actions


def step(task):
    """One episode; the loss is the return's gradient estimate as a number to minimise."""
    states, actions = episode(task)
    returns, total = [], 0.0
    for _ in actions:
        total = 1.0 + 0.99 * total
        returns.append(total)
    returns = torch.tensor(returns[::-1])
    returns = (returns - returns.mean()) / (returns.std(correction=0) + 1e-6)
    chances = task.model(torch.tensor(states)).log_softmax(1)
    loss = -(chances.gather(1, torch.tensor(actions).unsqueeze(1)).squeeze(1) * returns).mean()
    task.optimizer.zero_grad()
    loss.backward()
    task.optimizer.step()
    task.lengths.append(len(actions))
    return loss.item()


def draw(task, axes):
    axes.plot(task.lengths, ".", markersize=2, color="C1")
    axes.plot(*harness.smoothed(task.lengths, 20), color="C1")
    axes.set_title("steps the pole stood", fontsize=9)


if __name__ == "__main__":
    harness.run("REINFORCE", build, step, draw, steps=300, log=False)
