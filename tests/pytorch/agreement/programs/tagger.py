"""A tagger: characters and words, a packed two-layer LSTM, a conditional random field by logsumexp, decoding by Viterbi."""
import torch
import torch.nn as nn
from drawn import fill, integers
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pack_sequence, pad_packed_sequence

TAGS = 4


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.letters = nn.Embedding(15, 6, max_norm=2.0), nn.EmbeddingBag(8, 4, mode="mean")
        self.rnn = nn.LSTM(10, 5, num_layers=2, batch_first=True, bidirectional=True, proj_size=3)
        self.out, self.moves = nn.Linear(6, TAGS), nn.Parameter(torch.zeros(TAGS, TAGS))

    def forward(self, words, letters, lengths):
        letters = self.letters(letters.flatten(0, 1)).view(*words.shape, -1)
        packed = pack_padded_sequence(torch.cat([self.words(words), letters], -1), lengths, batch_first=True, enforce_sorted=False)
        out, (h, c) = self.rnn(packed)
        assert isinstance(out, PackedSequence)
        out, sizes = pad_packed_sequence(out, batch_first=True)
        return self.out(out), h.sum() + c.sum()

    def log_partition(self, scores, lengths):
        alpha = scores[:, 0]
        for t in range(1, scores.size(1)):
            following = torch.logsumexp(alpha.unsqueeze(2) + self.moves + scores[:, t].unsqueeze(1), dim=1)
            alpha = torch.where((t < lengths).unsqueeze(1), following, alpha)
        return alpha.logsumexp(1)

    def score(self, scores, tags, lengths):
        inside = (torch.arange(scores.size(1)) < lengths[:, None])
        at = scores.gather(2, tags.unsqueeze(2)).squeeze(2)
        return (at * inside).sum(1) + (self.moves[tags[:, :-1], tags[:, 1:]] * inside[:, 1:]).sum(1)


model = fill(Tagger())
optimizer = torch.optim.Adadelta(model.parameters(), lr=1.0)
lengths = torch.tensor([3, 6, 5, 1])
losses = []
for step in range(5):
    words, letters, tags = integers(step, 15, 4, 6), integers(step + 20, 8, 4, 6, 3), integers(step + 40, TAGS, 4, 6)
    scores, state = model(words, letters, lengths)
    loss = (model.log_partition(scores, lengths) - model.score(scores, tags, lengths)).mean() + 1e-2 * state
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
best, paths = scores[:, 0].detach(), []
for t in range(1, 6):
    best, back = (best.unsqueeze(2) + model.moves.detach() + scores[:, t].detach().unsqueeze(1)).max(dim=1)
    paths.append(back)
losses += [best.max(1).values.sum().item(), torch.stack(paths).sum().item()]
packed = pack_sequence([torch.ones(3, 2), torch.ones(2, 2)])
losses.append(float(packed.batch_sizes.tolist() == [2, 2, 1]))
