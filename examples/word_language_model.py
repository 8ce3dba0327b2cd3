"""A GRU predicts the next word, with the same weights for reading and for writing words (Press and Wolf 2017).

    python examples/word_language_model.py [--steps 300] [--out word_language_model.png]
"""
import re
from collections import Counter
from types import SimpleNamespace

import harness
import numpy as np

import numtorch as torch
import numtorch.nn.functional as F
from numtorch import nn, optim


class WordModel(nn.Module):
    def __init__(self, vocabulary, width):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, width)
        self.rnn = nn.GRU(width, width, batch_first=True)
        self.head = nn.Linear(width, vocabulary)
        self.head.weight = self.embedding.weight
        nn.init.uniform_(self.embedding.weight, -0.1, 0.1)

    def forward(self, ids, state=None):
        output, state = self.rnn(self.embedding(ids), state)
        return self.head(output), state


def build(small=False, seed=0):
    torch.manual_seed(seed)
    tokens = re.findall(r"\w+|[^\w\s]", harness.python_reference(5_000 if small else 250_000).lower())
    words = ["<other>", *[word for word, _ in Counter(tokens).most_common(50 if small else 2000)]]
    numbers = {word: number for number, word in enumerate(words)}
    model = WordModel(len(words), 16 if small else 128)
    return SimpleNamespace(model=model, optimizer=optim.AdamW(model.parameters(), 3e-3), words=words,
                           ids=np.array([numbers.get(token, 0) for token in tokens]), rng=np.random.default_rng(seed),
                           batch_size=4 if small else 20, length=8 if small else 32)


def step(task):
    windows = torch.tensor(harness.windows(task, task.length))
    logits, _ = task.model(windows[:, :-1])
    loss = F.cross_entropy(logits.flatten(0, 1), windows[:, 1:].flatten())
    task.optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(task.model.parameters(), 0.5)
    task.optimizer.step()
    return loss.item()


def draw(task, axes):
    """What follows some beginnings, most probable first."""
    shown = []
    with torch.no_grad():
        for start in ("the", "a class", "if the", "is not", "the value of", "an object"):
            ids = [task.words.index(word) if word in task.words else 0 for word in start.split()]
            chances = task.model(torch.tensor([ids]))[0][0, -1].softmax(0)
            values, places = chances.topk(3)
            shown += [f"{start} ...", *[f"    {task.words[i]} {p:.0%}" for p, i in zip(values.tolist(), places.tolist())]]
    harness.lines(axes, "\n".join(shown), "what comes next")


if __name__ == "__main__":
    harness.run("words", build, step, draw, steps=300)
