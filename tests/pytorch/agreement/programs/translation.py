"""Sequence to sequence with additive attention: a packed bidirectional GRU, a GRU cell that decodes, teacher forcing, beam by topk."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from drawn import fill, integers
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence

WORDS, WIDTH = 14, 8


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(WORDS, WIDTH)
        self.rnn = nn.GRU(WIDTH, WIDTH, bidirectional=True)
        self.bridge = nn.Linear(2 * WIDTH, WIDTH)

    def forward(self, tokens, lengths):
        packed = pack_padded_sequence(self.embedding(tokens), lengths, enforce_sorted=False)
        out, last = self.rnn(packed)
        out, _ = pad_packed_sequence(out, total_length=tokens.size(0))
        return out, torch.tanh(self.bridge(torch.cat([last[-2], last[-1]], dim=1)))


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(WORDS, WIDTH)
        self.query, self.key, self.energy = nn.Linear(WIDTH, WIDTH, bias=False), nn.Linear(2 * WIDTH, WIDTH), nn.Parameter(torch.zeros(WIDTH))
        self.cell = nn.GRUCell(3 * WIDTH, WIDTH)
        self.out = nn.Linear(WIDTH, WORDS)

    def forward(self, word, hidden, memory, mask):
        scores = torch.einsum("d,tbd->bt", self.energy, torch.tanh(self.query(hidden)[None] + self.key(memory)))
        weights = F.softmax(scores.masked_fill(mask, float("-inf")), dim=1)
        context = torch.bmm(weights.unsqueeze(1), memory.transpose(0, 1)).squeeze(1)
        hidden = self.cell(torch.cat([self.embedding(word), context], 1), hidden)
        return F.log_softmax(self.out(hidden), dim=-1), hidden


encoder, decoder = fill(Encoder(), 1), fill(Decoder(), 2)
optimizer = torch.optim.Adagrad([*encoder.parameters(), *decoder.parameters()], lr=0.1, lr_decay=1e-3)
lengths = torch.tensor([4, 6, 2])
mask = torch.arange(6)[None] >= lengths[:, None]
losses = []
for step in range(5):
    source = pad_sequence([integers(step * 10 + i, WORDS, int(n)) for i, n in enumerate(lengths)])
    target = integers(step + 500, WORDS, 5, 3)
    memory, hidden = encoder(source, lengths)
    word, loss = torch.zeros(3, dtype=torch.long), 0.0
    for t in range(5):
        scores, hidden = decoder(word, hidden, memory, mask)
        loss = loss + F.nll_loss(scores, target[t], ignore_index=3, reduction="sum")
        word = target[t] if (t + step) % 2 else scores.topk(1)[1].squeeze(1).detach()
    optimizer.zero_grad()
    (loss / 15).backward()
    optimizer.step()
    losses.append(loss.item())
