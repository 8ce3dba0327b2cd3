"""Pictures of what was recorded: `numtorch.draw(loss)` gives the graph behind a tensor as Graphviz text, and as SVG where Graphviz
is installed. In notebooks the picture shows by itself."""
from __future__ import annotations

import html
import shutil
import subprocess

from .autograd.graph import Leaf, Node, Output
from .tensor import Tensor


class Drawing:
    """A graph as Graphviz text.

    Attributes:
        source: the text, in the DOT language.

    Example:
        >>> import numtorch as torch
        >>> drawing = torch.draw(torch.ones(2, requires_grad=True).sum())
        >>> isinstance(drawing, torch.Drawing), drawing.source.startswith("digraph {")
        (True, True)
    """

    def __init__(self, source: str):
        self.source = source

    def svg(self) -> str:
        """The picture.

        Raises:
            RuntimeError: Graphviz's `dot` is not installed.
        """
        if shutil.which("dot") is None:
            raise RuntimeError("draw: Graphviz is not installed (its program `dot` is not on the path). `drawing.source` is the "
                               "text, which any Graphviz viewer shows")
        return subprocess.run(["dot", "-Tsvg"], input=self.source, capture_output=True, text=True, check=True, timeout=60).stdout

    def save(self, path) -> None:
        """Write the picture to a file: text where its name ends in `.dot` or `.gv`, else SVG.

        Args:
            path: the file's name.
        """
        text = self.source if str(path).endswith((".dot", ".gv")) else self.svg()
        with open(path, "w") as file:
            file.write(text)

    def _repr_mimebundle_(self, include=None, exclude=None):
        result = {"text/plain": self.source}
        if shutil.which("dot") is not None:
            result["image/svg+xml"] = self.svg()
        return result

    def __repr__(self):
        return self.source


def draw(*results, names=None) -> Drawing:
    """The graph behind tensors: a box for every recorded call, with its attributes and what it saved, an oval for every leaf.

    Args:
        results: tensors that were computed from others that require gradients.
        names: names of leaves: a dict from name to tensor, such as `dict(model.named_parameters())`.

    Returns:
        A `Drawing`: `.source` is Graphviz text, `.save("graph.svg")` writes the picture, notebooks show it.

    Raises:
        TypeError: something that is no tensor.
        ValueError: a tensor that nothing was recorded for.

    Example:
        >>> import numtorch as torch
        >>> x = torch.ones(2, 3, requires_grad=True)
        >>> print(torch.draw((x * 2).sum(), names={"x": x}))
        digraph {
          rankdir=BT; node [fontname="Helvetica", fontsize=10]; edge [fontname="Helvetica", fontsize=9];
          n0 [shape=box, label="sum\\nfloat32 ()"];
          n1 [shape=box, label="mul\\nfloat32 (2, 3)"];
          n2 [shape=oval, style=filled, fillcolor="#dce9f7", label="x\\nfloat32 (2, 3)"];
          n1 -> n0;
          n2 -> n1;
        }
    """
    for result in results:
        if not isinstance(result, Tensor):
            raise TypeError(f"draw(): expected tensors, got {type(result).__name__}")
        if result.node is None:
            raise ValueError("draw(): nothing was recorded for this tensor: none of what it was computed from requires a gradient")
    called = {id(t.node): name for name, t in (names or {}).items()}
    numbers: dict = {}
    boxes, arrows, stack = [], [], [result.node for result in reversed(results)]
    while stack:
        node = _behind(stack.pop())
        if node in numbers:
            continue
        numbers[node] = f"n{len(numbers)}"
        boxes.append(f"  {numbers[node]} [{_look(node, called)}];")
        stack += [edge for edge in reversed(node.edges) if edge is not None]
    for node, name in numbers.items():
        for edge in node.edges:
            if edge is not None:
                label = f' [label="{edge.index}"]' if type(edge) is Output else ""
                arrows.append(f"  {numbers[_behind(edge)]} -> {name}{label};")
    head = '  rankdir=BT; node [fontname="Helvetica", fontsize=10]; edge [fontname="Helvetica", fontsize=9];'
    return Drawing("\n".join(["digraph {", head, *boxes, *arrows, "}"]))


def _behind(node: Node) -> Node:
    """The call that a node is an output of."""
    return node.edges[0] if type(node) is Output else node


def _kind(layout) -> str:
    return f"{layout.dtype.name} {layout.shape}"


def _look(node, called) -> str:
    """The attributes of a node's box."""
    if type(node) is Leaf:
        lines = [called.get(id(node), "leaf"), _kind(node.layout)]
        return f'shape=oval, style=filled, fillcolor="#dce9f7", label="{_text(lines)}"'
    lines = [node.title()]
    result = node.result_layout()
    if result is not None:
        lines.append(_kind(result))
    given = _shown(getattr(node, "attributes", None))
    if given:
        lines.append(given)
    names, layouts = node.saved_names(), node.saved_layouts()
    names += names[-1:] * (len(layouts) - len(names))    # several tensors may have the last one
    saved = [f"{name} {_kind(layout)}" for name, layout in zip(names, layouts) if layout is not None and not layout.weak]
    if saved:
        lines.append("saved: " + ", ".join(saved))
    return f'shape=box, label="{_text(lines)}"'


def _shown(attributes) -> str:
    """Attributes that say something to a reader: numbers, names and tuples of them."""
    each = attributes if isinstance(attributes, tuple) else (attributes,)
    plain = [repr(a) for a in each if isinstance(a, (int, float, str, bool))
             or (isinstance(a, tuple) and a and all(type(i) is int for i in a))]
    return ", ".join(plain)


def _text(lines) -> str:
    return "\\n".join(html.escape(line, quote=False).replace('"', "'") for line in lines)


__all__ = ["Drawing", "draw"]
