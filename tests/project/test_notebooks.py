"""What notebooks show: tensors as plain text, modules as a tree to unfold, graphs as pictures."""
import shutil
from html.parser import HTMLParser

import pytest

import numtorch as torch
from numtorch import nn

RICH = ("_repr_html_", "_repr_svg_", "_repr_png_", "_repr_latex_", "_repr_markdown_", "_repr_mimebundle_", "_repr_pretty_", "_ipython_display_")


class Tree(HTMLParser):
    """The text, and how deep `details` are; tags that do not close are an error."""

    def __init__(self):
        super().__init__()
        self.open, self.deepest, self.said = [], 0, []

    def handle_starttag(self, tag, attributes):
        self.open.append(tag)
        self.deepest = max(self.deepest, self.open.count("details"))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.said.append(data)


class Odd(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3), nn.ReLU())
        self.scale = nn.Parameter(torch.ones(()))
        self.register_buffer("nothing", None)
        self.register_module("none", None)

    def extra_repr(self):
        return "a<b & c"


def test_a_module_is_a_tree_with_shapes():
    tree = Tree()
    tree.feed(Odd()._repr_html_())
    text = "".join(tree.said)
    assert tree.open == [] and tree.deepest == 3
    for part in ("Odd(a<b & c) 22 parameters", "body: Sequential() 21 parameters", "0: Linear(in_features=4, out_features=3, bias=True) 15 parameters",
                 "weight: 3 × 4 float32", "running_mean: 3 float32, buffer", "2: ReLU()", "scale: one number float32"):
        assert part in text, part
    assert "nothing" not in text


@pytest.mark.parametrize("value", [torch.ones(2), nn.Parameter(torch.ones(2)), torch.float32, torch.Size([2])], ids=lambda v: type(v).__name__)
def test_tensors_are_plain_text(value):
    assert [name for name in RICH if hasattr(value, name)] == []


def test_a_graph_is_a_picture_where_graphviz_is(monkeypatch):
    drawing = torch.draw((torch.ones(2, requires_grad=True) * 2).sum())
    monkeypatch.setattr(shutil, "which", lambda name: None)
    assert drawing._repr_mimebundle_() == {"text/plain": drawing.source}
    monkeypatch.setattr(shutil, "which", lambda name: "/usr/bin/dot")
    monkeypatch.setattr(type(drawing), "svg", lambda self: "<svg/>")
    assert drawing._repr_mimebundle_()["image/svg+xml"] == "<svg/>"
