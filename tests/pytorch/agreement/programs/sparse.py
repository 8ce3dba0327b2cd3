"""Sparse gradients: embeddings trained by SparseAdam, SGD and Adagrad, negative sampling, and a bag of weighted words."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from drawn import data, fill, integers

words, contexts = fill(nn.Embedding(30, 5, sparse=True), 1), fill(nn.Embedding(30, 5, sparse=True), 2)
bag = fill(nn.EmbeddingBag(30, 5, mode="sum", sparse=True, include_last_offset=True), 3)
optimizers = [torch.optim.SparseAdam(words.parameters(), lr=0.05), torch.optim.SGD(contexts.parameters(), lr=0.1), torch.optim.Adagrad(bag.parameters(), lr=0.1)]
losses = []
for step in range(6):
    centre, context, negative = integers(step, 30, 8), integers(step + 20, 30, 8), integers(step + 40, 30, 8, 4)
    w = words(centre)
    positive = (w * contexts(context)).sum(-1)
    others = torch.bmm(contexts(negative), w.unsqueeze(2)).squeeze(2)
    loss = -(F.logsigmoid(positive) + F.logsigmoid(-others).sum(1)).mean()
    sentence = bag(integers(step + 60, 30, 12), torch.tensor([0, 3, 3, 9, 12]), per_sample_weights=data(step + 80, 12))
    loss = loss + sentence.square().mean()
    for optimizer in optimizers:
        optimizer.zero_grad()
    loss.backward()
    assert words.weight.grad.is_sparse and contexts.weight.grad.is_sparse and bag.weight.grad.is_sparse
    norm = words.weight.grad.coalesce().values().norm()
    for optimizer in optimizers:
        optimizer.step()
    losses += [loss.item(), norm.item(), float(words.weight.grad.coalesce().indices().sum())]
losses.append(torch.sparse.sum(contexts.weight.grad).item())
