"""A speech model: windows, spectrograms, complex filters that are learned, convolution over time, CTC, and the way back by istft."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from drawn import data, fill, integers


class Speech(nn.Module):
    def __init__(self):
        super().__init__()
        self.filter = nn.Parameter(torch.view_as_complex(data(3, 9, 2) * 0.3))
        self.conv, self.norm = nn.Conv1d(9, 8, 3, padding=1), nn.BatchNorm1d(8)
        self.rnn, self.out = nn.GRU(8, 6, batch_first=True, bidirectional=True), nn.Linear(12, 5)

    def forward(self, x):
        spectrum = torch.stft(x, 16, 4, window=torch.hann_window(16), return_complex=True) * self.filter[:, None]
        h = F.glu(torch.cat([self.norm(self.conv(torch.log1p(spectrum.abs()))), spectrum.angle()[:, :8]], 1), dim=1)
        h = h.transpose(1, 2)
        return self.out(self.rnn(h)[0]).log_softmax(-1), spectrum


model = Speech()
fill(nn.ModuleList([model.conv, model.rnn, model.out]), 4)
optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=0, factor=0.5)
ctc = nn.CTCLoss(zero_infinity=True)
losses = []
for step in range(5):
    x = data(step, 3, 64).cumsum(1) * 0.1
    scores, spectrum = model(x)
    target = integers(step + 9, 4, 3, 4) + 1
    loss = ctc(scores.transpose(0, 1), target, torch.tensor([17, 15, 12]), torch.tensor([4, 2, 3]))
    back = torch.istft(spectrum, 16, 4, window=torch.hann_window(16), length=64)
    loss = loss + 0.1 * F.mse_loss(back, x) + 0.01 * torch.fft.rfft(back).abs().diff(dim=-1).abs().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    scheduler.step(loss.item())
    losses += [loss.item(), model.filter.grad.abs().sum().item(), optimizer.param_groups[0]["lr"]]
losses.append(torch.fft.fftshift(torch.fft.fft2(data(5, 4, 6))).abs().cumsum(0).sum().item())
