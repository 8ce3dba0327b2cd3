"""How notebooks show a module: its tree, to fold and unfold, with the shapes and the number of its parameters."""
from __future__ import annotations

from html import escape

STYLE = "font-family: monospace; line-height: 1.5"


def as_html(module, name: str = "") -> str:
    """A module and all below it.

    Args:
        module: what to show.
        name: what it is called in the module above.
    """
    count = sum(parameter.numel() for parameter in module.parameters())
    title = f"<b>{escape(module._get_name())}</b>({escape(module.extra_repr())})"
    if name:
        title = f"{escape(name)}: {title}"
    if count:
        title += f' <span style="opacity: 0.6">{count:,} parameter{"s" if count > 1 else ""}</span>'
    own = [*((key, value, "") for key, value in module._parameters.items()),
           *((key, value, ", buffer") for key, value in module._buffers.items())]
    lines = [f'<div style="opacity: 0.75">{escape(key)}: {_shape(value)}{kind}</div>'
             for key, value, kind in own if value is not None]
    below = [as_html(child, key) for key, child in module._modules.items() if child is not None]
    if not lines and not below:
        return f'<div style="{STYLE}">{title}</div>'
    opened = " open" if below else ""
    inside = f'<div style="margin-left: 1.2em">{"".join([*lines, *below])}</div>'
    return f'<details{opened} style="{STYLE}"><summary>{title}</summary>{inside}</details>'


def _shape(tensor) -> str:
    layout = tensor.layout
    return escape(f"{' × '.join(map(str, layout.shape)) or 'one number'} {layout.dtype.name}")
