"""Translation with attention (Luong, Pham and Manning 2015): dates as people write them, into ISO 8601.

    python examples/translation.py [--steps 500] [--out translation.png]

The picture shows where the translation of each letter looks.
"""
import datetime
from types import SimpleNamespace

import harness
import numpy as np

import numtorch as torch
import numtorch.nn.functional as F
from numtorch import nn, optim

FORMS = ("%d %B %Y", "%B %d, %Y", "%d.%m.%Y", "%A, %d %b %y", "%b %d %Y")
LETTERS = sorted(set("abcdefghijklmnopqrstuvwxyz0123456789 ,.-"))
SOURCE, TARGET = 30, 10                                  # letters of a sentence, and of its translation
START = len(LETTERS)


def dates(rng, count):
    """Dates and their translations, as numbers (N, 30) and (N, 10); spaces fill what is left."""
    sources, targets = [], []
    for days in rng.integers(0, 20_000, size=count).tolist():
        day = datetime.date(1970, 1, 1) + datetime.timedelta(days)
        sources.append(day.strftime(FORMS[rng.integers(len(FORMS))]).lower().ljust(SOURCE))
        targets.append(day.isoformat())
    return [torch.tensor([[LETTERS.index(letter) for letter in line] for line in lines]) for lines in (sources, targets)]


class Translator(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.embedding = nn.Embedding(len(LETTERS) + 1, width)
        self.encoder = nn.GRU(width, width // 2, batch_first=True, bidirectional=True)
        self.decoder = nn.GRU(width, width, batch_first=True)
        self.head = nn.Linear(2 * width, len(LETTERS))

    def forward(self, source, before):
        """Logits of the letters that follow `before`, and where each looks."""
        memory, last = self.encoder(self.embedding(source))
        states, _ = self.decoder(self.embedding(before), torch.cat([last[0], last[1]], 1).unsqueeze(0))
        attention = (states @ memory.transpose(1, 2) / memory.shape[-1] ** 0.5).softmax(-1)
        return self.head(torch.cat([states, attention @ memory], -1)), attention


def build(small=False, seed=0):
    torch.manual_seed(seed)
    model = Translator(8 if small else 64)
    return SimpleNamespace(model=model, optimizer=optim.Adam(model.parameters(), 5e-3), rng=np.random.default_rng(seed),
                           batch_size=4 if small else 64)


def step(task):
    source, target = dates(task.rng, task.batch_size)
    before = torch.cat([torch.full((len(target), 1), START), target[:, :-1]], 1)
    logits, _ = task.model(source, before)
    loss = F.cross_entropy(logits.flatten(0, 1), target.flatten())
    task.optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(task.model.parameters(), 1.0)
    task.optimizer.step()
    return loss.item()


def translate(model, source):
    """Letter by letter, each the most probable."""
    written = torch.full((len(source), 1), START)
    for _ in range(TARGET):
        logits, attention = model(source, written)
        written = torch.cat([written, logits[:, -1:].argmax(-1)], 1)
    return written[:, 1:], attention


def draw(task, axes):
    source, target = dates(task.rng, 200)
    with torch.no_grad():
        written, attention = translate(task.model, source)
    right = (written == target).all(1).float().mean().item()
    axes.imshow(attention[0].numpy(), cmap="Blues", aspect="auto")
    axes.set_xticks(range(SOURCE), [LETTERS[i] for i in source[0].tolist()], fontsize=6)
    axes.set_yticks(range(TARGET), [LETTERS[i] for i in written[0].tolist()], fontsize=6)
    axes.set_title(f"{right:.0%} of 200 new dates right", fontsize=9)


if __name__ == "__main__":
    harness.run("translation", build, step, draw, steps=500)
