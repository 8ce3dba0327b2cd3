"""A small GPT: causal attention over the characters of Python's language reference.

    python examples/gpt.py [--steps 500] [--out gpt.png]
"""
from types import SimpleNamespace

import harness
import numpy as np

import numtorch as torch
import numtorch.nn.functional as F
from numtorch import nn, optim


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention, self.projection = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        n, t, width = x.shape
        q, k, v = self.attention(self.norm1(x)).reshape(n, t, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4).unbind(0)
        attended = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.projection(attended.transpose(1, 2).reshape(n, t, width))
        return x + self.mlp(self.norm2(x))


class GPT(nn.Module):
    def __init__(self, vocabulary, context, width, heads, layers):
        super().__init__()
        self.context = context
        self.tokens, self.places = nn.Embedding(vocabulary, width), nn.Embedding(context, width)
        self.blocks = nn.Sequential(*[Block(width, heads) for _ in range(layers)])
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, vocabulary)

    def forward(self, ids):
        return self.head(self.norm(self.blocks(self.tokens(ids) + self.places(torch.arange(ids.shape[1])))))


def build(small=False, seed=0):
    torch.manual_seed(seed)
    text = harness.python_reference(2_000 if small else 100_000)
    letters = sorted(set(text))
    numbers = {letter: number for number, letter in enumerate(letters)}
    model = GPT(len(letters), 8, 16, 2, 1) if small else GPT(len(letters), 64, 64, 4, 2)
    optimizer = optim.AdamW(model.parameters(), 4e-3, weight_decay=0.01)
    return SimpleNamespace(model=model, optimizer=optimizer, letters=letters, ids=np.array([numbers[letter] for letter in text]),
                           rng=np.random.default_rng(seed), batch_size=4 if small else 24)


def step(task):
    windows = torch.tensor(harness.windows(task, task.model.context))
    loss = F.cross_entropy(task.model(windows[:, :-1]).flatten(0, 1), windows[:, 1:].flatten())
    task.optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(task.model.parameters(), 1.0)
    task.optimizer.step()
    return loss.item()


def draw(task, axes):
    written = [task.letters.index("\n")]
    with torch.no_grad():
        for _ in range(600):
            logits = task.model(torch.tensor([written[-task.model.context:]]))[0, -1]
            chances = (logits / 0.7).softmax(0).double().numpy()
            written.append(int(task.rng.choice(len(chances), p=chances / chances.sum())))
    text = "".join(task.letters[number] for number in written)
    harness.lines(axes, text, "what it writes")


if __name__ == "__main__":
    harness.run("GPT", build, step, draw, steps=500)
