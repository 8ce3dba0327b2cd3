"""An actor and a critic (Konda and Tsitsiklis 1999) with a common body balance a pole on a cart.

    python examples/actor_critic.py [--steps 300] [--out actor_critic.png]
"""
from types import SimpleNamespace

import environments
import harness
import numpy as np

import numtorch as torch
import numtorch.nn.functional as F
from numtorch import nn, optim


class ActorCritic(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.body = nn.Linear(4, hidden)
        self.actor, self.critic = nn.Linear(hidden, 2), nn.Linear(hidden, 1)

    def forward(self, states):
        hidden = F.relu(self.body(states))
        return self.actor(hidden), self.critic(hidden).squeeze(-1)


def build(small=False, seed=0):
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    model = ActorCritic(8 if small else 64)
    return SimpleNamespace(model=model, optimizer=optim.Adam(model.parameters(), 1e-2), rng=rng, lengths=[],
                           world=environments.CartPole(rng, limit=20 if small else 200))


def step(task):
    """One episode."""
    def choose(state):
        with torch.no_grad():
            chance = task.model(torch.tensor(state))[0].softmax(0)[1].item()
        return int(task.rng.random() < chance)

    states, actions = environments.episode(task.world, choose)
    returns = torch.tensor(environments.returns(len(actions), 0.97)) / 30       # of the order of one, as the critic's first guesses
    logits, values = task.model(torch.tensor(states))
    chosen = logits.log_softmax(1).gather(1, torch.tensor(actions).unsqueeze(1)).squeeze(1)
    entropy = -(logits.softmax(1) * logits.log_softmax(1)).sum(1).mean()
    loss = -(chosen * (returns - values.detach())).mean() + F.smooth_l1_loss(values, returns) - 0.01 * entropy
    task.optimizer.zero_grad()
    loss.backward()
    task.optimizer.step()
    task.lengths.append(len(actions))
    return loss.item()


def draw(task, axes):
    harness.points(axes, task.lengths, "steps the pole stood")


if __name__ == "__main__":
    harness.run("actor and critic", build, step, draw, steps=300, log=False)
