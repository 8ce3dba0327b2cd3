"""Files of traces whose numbers or names were changed are refused when they are read: no kernel is given what it was not made for."""
from __future__ import annotations

import contextlib
import random
import re

import pytest

import numtorch as torch
from numtorch import nn
from numtorch.jit.graphs.rows import _TOKEN
from numtorch.jit.scripting.loading import from_content

INDEX = torch.tensor([1, 0])


class _Reading(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm, self.gru = nn.LSTM(8, 6, batch_first=True), nn.GRU(6, 3)

    def forward(self, x):
        return self.gru(self.lstm(x)[0])[0]


class _Attending(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)

    def forward(self, x):
        return self.attention(x, x, x)[0]


def _picking(x):
    return (x[INDEX], torch.gather(x, 1, torch.zeros(2, 2, dtype=torch.int64)), x.index_select(0, INDEX), x.sort(1)[0], x.topk(2)[0],
            x.index_add(0, INDEX, x), x.as_strided((2, 2), (1, 2)), x.unfold(1, 2, 1), x.cumsum(0), nn.functional.pad(x, (1, 1)))


PROGRAMS = {
    "pictures": (lambda: nn.Sequential(nn.Conv2d(1, 2, 3, 2), nn.BatchNorm2d(2), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(2, 3)),
                 (2, 1, 6, 6)),
    "larger pictures": (lambda: nn.Sequential(nn.ConvTranspose2d(1, 2, 3, stride=2), nn.AvgPool2d(2), nn.Upsample(scale_factor=2),
                                              nn.AdaptiveAvgPool2d(2)), (2, 1, 6, 6)),
    "sequences": (_Reading, (2, 5, 8)), "attention": (_Attending, (2, 5, 8)), "picking": (lambda: _picking, (2, 4))}
# Of each, a place that decides on what a kernel reads or writes: what stands before it, and another number.
KNOWN = [("pictures", r"(write %\w+running_mean <- %)\d+", "input"), ("sequences", r"(lstm\[\()2", "100000"), ("sequences", r"(gru\[\()5", "-5"),
         ("larger pictures", r"(resample\[maps\('nearest', \(\(6, )12", "24"), ("picking", r"(part\[\(2, )2", "2000"),
         ("attention", r"(%attention_in_proj_weight: float32\[)24", "1000")]


def _content(name):
    torch.manual_seed(0)
    make, shape = PROGRAMS[name]
    return torch.jit.trace(make(), torch.randn(*shape), check_trace=False).content(), torch.randn(*shape)


@pytest.mark.parametrize("name, before, number", KNOWN)
def test_numbers_that_kernels_go_by(name, before, number):
    content, _ = _content(name)
    changed = re.sub(before, lambda match: match.group(1) + number, content["graph"], count=1)
    assert changed != content["graph"]
    from_content(content)
    with pytest.raises(ValueError, match=r"graph: "):
        from_content({**content, "graph": changed})


@pytest.mark.parametrize("name", PROGRAMS)
def test_random_changes(name):
    """Most are refused as damaged; of the others none is too much for a kernel."""
    content, x = _content(name)
    tokens = _TOKEN.findall(content["graph"])
    places = [place for place, token in enumerate(tokens) if re.fullmatch(r"-?\d+", token)]
    names = [place for place, token in enumerate(tokens) if token.startswith("%")]
    draw, refused = random.Random(0), 0
    for trial in range(60):
        changed = list(tokens)
        if trial % 6 == 5:
            one, other = draw.sample(names, 2)
            changed[one], changed[other] = changed[other], changed[one]
        else:
            changed[draw.choice(places)] = draw.choice(["0", "2", "3", "7", "-1", "1000"])
        try:
            program = from_content({**content, "graph": "".join(changed)})
        except (KeyError, ValueError, TypeError, AttributeError, IndexError, RuntimeError):          # `jit.load` says damaged
            refused += 1
            continue
        with contextlib.suppress(RuntimeError):          # it may be for other arguments
            program(x)
    assert refused > 30


@pytest.mark.parametrize("content", [b"", b"no file of ours", b"\x80\x02}q\x00"], ids=["empty", "of no format", "ends early"])
def test_what_is_no_file_of_this_form_is_a_runtime_error(content, tmp_path):
    (tmp_path / "model.pt").write_bytes(content)
    with pytest.raises(RuntimeError, match=r"model\.pt"):
        torch.jit.load(tmp_path / "model.pt")


UNFIT = {
    "an order of other elements": ("%x: float32[4], %i: int64[4]", "%0: float32[4], %1: int64[4] = unique[True, False](%x, %i)", (torch.ones(4), torch.tensor([0, 1, 2, 9]))),
    "an order of fewer elements": ("%x: float32[4], %i: int64[2]", "%0: float32[4], %1: int64[4] = unique[True, False](%x, %i)", (torch.ones(4), torch.tensor([0, 1]))),
    "a mask of integers": ("%x: float32[2], %i: int64[2]", "%0: int64[2, 1] = nonzero(%i)", (torch.ones(2), torch.tensor([0, 1]))),
    "weights of another length": ("%x: float32[2], %i: int64[4]", "%0: float32[2] = bincount[2,](%i, %x)", (torch.ones(2), torch.zeros(4).long())),
    "integers below 0": ("%x: float32[2], %i: int64[2]", "%0: int64[2] = bincount[2,](%i, None)", (torch.ones(2), torch.tensor([-1, 1]))),
    "counts of two dimensions": ("%x: float32[2], %i: int64[1, 2]", "%0: int64[2] = repeated_positions(%i)", (torch.ones(2), torch.ones(1, 2).long())),
    "ranks of words": ("%x: float32[2], %i: int64[256]", "%0: int64[2] = rank_bytes(%x, %i)", (torch.ones(2), torch.zeros(256).long())),
}


@pytest.mark.parametrize("name", UNFIT)
def test_what_a_file_says_of_values_is_looked_at_when_it_runs(name):
    """Those calls are not made while the file is read, since they read values."""
    inputs, call, args = UNFIT[name]
    graph = torch.jit.parse(f"graph({inputs}):\n  {call}\n  return %0")
    with pytest.raises(RuntimeError):
        torch.jit.Interpreter(graph).run(*args)


def test_what_a_file_says_of_gaps_is_not_believed():
    """A mask is read as it lies, whatever the text says."""
    graph = torch.jit.parse("graph(%x: float32[3], %k: bool[1]):\n  %0: bool[3] = view.expand[(3,),](%k)\n  %1: float32[3] = masked_select(%x, %0)\n"
                            "  %2: int64[3, 1] = nonzero(%0)\n  return %1, %2")
    chosen, places = torch.jit.Interpreter(graph).run(torch.arange(3.0), torch.tensor([True]))
    assert chosen.tolist() == [0.0, 1.0, 2.0] and places.tolist() == [[0], [1], [2]]
