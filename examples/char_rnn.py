"""An LSTM learns a text by its characters, and goes on writing.

    python examples/char_rnn.py [--steps 400] [--out char_rnn.png]

The text is Python's language reference, which comes with every Python.
"""
from types import SimpleNamespace

import harness
import numpy as np

import numtorch as torch
import numtorch.nn.functional as F
from numtorch import nn, optim


class CharRNN(nn.Module):
    def __init__(self, vocabulary, hidden):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, hidden // 2)
        self.rnn = nn.LSTM(hidden // 2, hidden, batch_first=True)
        self.head = nn.Linear(hidden, vocabulary)

    def forward(self, ids, state=None):
        output, state = self.rnn(self.embedding(ids), state)
        return self.head(output), state


def build(small=False, seed=0):
    torch.manual_seed(seed)
    text = harness.python_reference(2_000 if small else 100_000)
    letters = sorted(set(text))
    model = CharRNN(len(letters), 16 if small else 192)
    numbers = {letter: number for number, letter in enumerate(letters)}
    return SimpleNamespace(model=model, optimizer=optim.Adam(model.parameters(), 5e-3), letters=letters,
                           ids=np.array([numbers[letter] for letter in text]), rng=np.random.default_rng(seed),
                           batch_size=4 if small else 32, length=8 if small else 64)


def step(task):
    windows = torch.tensor(harness.windows(task, task.length))
    logits, _ = task.model(windows[:, :-1])
    loss = F.cross_entropy(logits.flatten(0, 1), windows[:, 1:].flatten())
    task.optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(task.model.parameters(), 1.0)
    task.optimizer.step()
    return loss.item()


def write(task, length, temperature=0.6):
    """Go on from a line's end."""
    written, state = [task.letters.index("\n")], None
    with torch.no_grad():
        for _ in range(length):
            logits, state = task.model(torch.tensor([written[-1:]]), state)
            chances = (logits[0, 0] / temperature).softmax(0).double().numpy()
            written.append(int(task.rng.choice(len(chances), p=chances / chances.sum())))
    return "".join(task.letters[number] for number in written)


def draw(task, axes):
    text = write(task, 600)
    harness.lines(axes, text, "what it writes")


if __name__ == "__main__":
    harness.run("characters", build, step, draw, steps=400)
