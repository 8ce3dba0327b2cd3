"""A transformer encoder that classifies padded sentences: masks, tied and frozen weights, two groups of parameters, label smoothing."""
import math

import torch
import torch.nn as nn
from drawn import fill, integers


class Positions(nn.Module):
    def __init__(self, width, length=32):
        super().__init__()
        place = torch.arange(length).unsqueeze(1)
        rate = torch.exp(torch.arange(0, width, 2) * (-math.log(10000.0) / width))
        table = torch.zeros(length, width)
        table[:, 0::2], table[:, 1::2] = torch.sin(place * rate), torch.cos(place * rate)
        self.register_buffer("table", table.unsqueeze(0), persistent=False)

    def forward(self, x):
        return x + self.table[:, :x.size(1)]


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(20, 16, padding_idx=0)
        self.positions = Positions(16)
        layer = nn.TransformerEncoderLayer(16, 4, 32, dropout=0.0, activation="gelu", batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, norm=nn.LayerNorm(16), enable_nested_tensor=False)
        self.head = nn.Linear(16, 5)

    def forward(self, tokens):
        padding = tokens.eq(0)
        x = self.encoder(self.positions(self.embedding(tokens) * 4.0), src_key_padding_mask=padding)
        x = x.masked_fill(padding.unsqueeze(-1), 0).sum(1) / (~padding).sum(1, keepdim=True).clamp(min=1)
        return self.head(x)


model = fill(Classifier())
decayed = [p for n, p in model.named_parameters() if p.dim() > 1]
others = [p for n, p in model.named_parameters() if p.dim() <= 1]
optimizer = torch.optim.AdamW([{"params": decayed, "weight_decay": 0.1}, {"params": others, "lr": 2e-3}], lr=1e-3)
scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1.0, (step + 1) / 4))
criterion = nn.CrossEntropyLoss(label_smoothing=0.1)
losses = []
for step in range(5):
    tokens = integers(step, 19, 6, 9) + 1
    for row, length in enumerate([9, 7, 3, 5, 9, 1]):
        tokens[row, length:] = 0
    optimizer.zero_grad()
    loss = criterion(model(tokens), integers(step + 50, 5, 6))
    loss.backward()
    optimizer.step()
    scheduler.step()
    losses.append(loss.item())
model.eval()
with torch.no_grad():
    losses.append(model(integers(9, 20, 3, 7)).logsumexp(-1).sum().item())
