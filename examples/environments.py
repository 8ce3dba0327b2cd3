"""Two small worlds to act in: a pole on a cart, and a ball to catch. Each has `reset()` and `step(action)`, which returns the next
state, the reward and whether it is over. And a try in one, with what its rewards are worth.
"""
import math

import numpy as np


class CartPole:
    """Keep a pole upright by pushing its cart left or right (Barto, Sutton and Anderson 1983): a point for each step."""

    states, actions = 4, 2

    def __init__(self, rng, limit=200):
        self.rng, self.limit = rng, limit

    def reset(self):
        self.state, self.time = self.rng.uniform(-0.05, 0.05, 4).tolist(), 0
        return self.state

    def step(self, action):
        x, speed, angle, turning = self.state
        force = 10.0 if action else -10.0
        sine, cosine = math.sin(angle), math.cos(angle)
        push = (force + 0.05 * turning * turning * sine) / 1.1
        turn = (9.8 * sine - cosine * push) / (0.5 * (4 / 3 - 0.1 * cosine * cosine / 1.1))
        move = push - 0.05 * turn * cosine / 1.1
        self.state = [x + 0.02 * speed, speed + 0.02 * move, angle + 0.02 * turning, turning + 0.02 * turn]
        self.time += 1
        fallen = abs(self.state[0]) > 2.4 or abs(self.state[2]) > 0.2095
        return self.state, 1.0, fallen or self.time >= self.limit


class Catch:
    """A ball falls through a field, and a paddle at its foot moves left, right or not: a point for a catch, else one lost."""

    height, width = 7, 5
    states, actions = height * width, 3

    def __init__(self, rng):
        self.rng = rng

    def reset(self):
        self.row, self.column, self.paddle = 0, int(self.rng.integers(self.width)), self.width // 2
        return self._seen()

    def _seen(self):
        field = np.zeros((self.height, self.width), np.float32)
        field[self.row, self.column] = 1
        field[-1, self.paddle] = 1
        return field.reshape(-1)

    def step(self, action):
        self.paddle = min(max(self.paddle + action - 1, 0), self.width - 1)
        self.row += 1
        over = self.row == self.height - 1
        return self._seen(), (1.0 if self.paddle == self.column else -1.0) if over else 0.0, over


def episode(world, choose):
    """One try: the states in which `choose(state)` acted, and the actions."""
    states, actions, over = [world.reset()], [], False
    while not over:
        actions.append(choose(states[-1]))
        state, _, over = world.step(actions[-1])
        states.append(state)
    return states[:-1], actions


def returns(count, discount):
    """What is still to come at each of so many steps with a reward of 1, what is later being worth less."""
    found, total = [], 0.0
    for _ in range(count):
        total = 1.0 + discount * total
        found.append(total)
    return found[::-1]
