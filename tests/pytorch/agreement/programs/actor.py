"""Actor and critic on a walk along a line: log-probabilities of given actions, returns with a discount, entropy, a target network."""
import copy

import torch
import torch.nn as nn
from drawn import data, fill, integers
from torch.distributions import Categorical, Normal


class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(3, 16)
        self.actor, self.critic, self.log_std = nn.Linear(16, 4), nn.Linear(16, 1), nn.Parameter(torch.full((1,), -0.5))

    def forward(self, x):
        x = torch.relu(self.body(x))
        return Categorical(logits=self.actor(x)), self.critic(x).squeeze(-1)


agent = fill(Agent())
target = copy.deepcopy(agent).requires_grad_(False)
optimizer = torch.optim.SGD(agent.parameters(), lr=0.05, momentum=0.9, nesterov=True)
losses = []
for episode in range(6):
    states, actions, rewards = data(episode, 12, 3), integers(episode, 4, 12), data(episode + 50, 12)
    policy, value = agent(states)
    with torch.no_grad():
        returns, total = torch.empty(12), target(states[-1:])[1][0]
        for t in reversed(range(12)):
            total = rewards[t] + 0.97 * total
            returns[t] = total
        returns = (returns - returns.mean()) / (returns.std() + 1e-8)
        advantage = returns - value
    ratio = (policy.log_prob(actions) - target(states)[0].log_prob(actions)).exp()
    surrogate = torch.min(ratio * advantage, ratio.clamp(0.8, 1.2) * advantage)
    bonus = Normal(torch.zeros(1), agent.log_std.exp()).entropy().sum() + policy.entropy().mean()
    loss = -surrogate.mean() + 0.5 * nn.functional.smooth_l1_loss(value, returns) - 0.01 * bonus
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_value_(agent.parameters(), 0.5)
    optimizer.step()
    with torch.no_grad():
        for mine, theirs in zip(target.parameters(), agent.parameters()):
            mine.lerp_(theirs, 0.2)
    losses += [loss.item(), ratio.max().item()]
