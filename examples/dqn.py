"""Deep Q-learning (Mnih et al. 2015) with replay and a target network catches falling balls.

    python examples/dqn.py [--steps 400] [--out dqn.png]
"""
import copy
from types import SimpleNamespace

import harness
import numpy as np
from environments import Catch

import numtorch as torch
import numtorch.nn.functional as F
from numtorch import nn, optim


def build(small=False, seed=0):
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    hidden = 8 if small else 64
    model = nn.Sequential(nn.Linear(Catch.states, hidden), nn.ReLU(), nn.Linear(hidden, Catch.actions))
    return SimpleNamespace(model=model, optimizer=optim.Adam(model.parameters(), 3e-3), rng=rng, world=Catch(rng),
                           target=None, memory=[], rewards=[], batch_size=8 if small else 32)


def learn(task):
    rows = [task.memory[i] for i in task.rng.integers(len(task.memory), size=task.batch_size).tolist()]
    states, actions, rewards, following, over = zip(*rows)
    with torch.no_grad():
        best = task.target(torch.tensor(np.array(following))).max(1)[0]
        wanted = torch.tensor(rewards) + 0.95 * best * (1 - torch.tensor(over))
    values = task.model(torch.tensor(np.array(states))).gather(1, torch.tensor(actions).unsqueeze(1)).squeeze(1)
    loss = F.smooth_l1_loss(values, wanted)
    task.optimizer.zero_grad()
    loss.backward()
    task.optimizer.step()
    return loss.item()


def step(task):
    """One ball; the mean loss of what is learned meanwhile."""
    if len(task.rewards) % 20 == 0:
        task.target = copy.deepcopy(task.model)
    state, over, losses = task.world.reset(), False, []
    while not over:
        if task.rng.random() < max(0.05, 1 - len(task.rewards) / 200):
            action = int(task.rng.integers(Catch.actions))
        else:
            with torch.no_grad():
                action = task.model(torch.tensor(state)).argmax().item()
        following, reward, over = task.world.step(action)
        task.memory.append((state, action, reward, following, float(over)))
        state = following
        losses.append(learn(task))
    task.rewards.append(reward)
    return float(np.mean(losses))


def draw(task, axes):
    axes.plot(*harness.smoothed([reward > 0 for reward in task.rewards], 30), color="C1")
    axes.set(title="share of balls caught", ylim=(0, 1.05))


if __name__ == "__main__":
    harness.run("deep Q-learning", build, step, draw, steps=400)
