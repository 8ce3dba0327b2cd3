"""The tables of a module's hooks under PyTorch's names: `len(module._forward_hooks)`, `module._forward_hooks.clear()`."""
from __future__ import annotations

from collections.abc import MutableMapping


class HooksOf(MutableMapping):
    """The hooks of one kind by the number of their handle, as they are now. Looking makes no tables, which calls would pay for.

    Args:
        module: whose.
        kind: of `hooks.KINDS`.
    """

    def __init__(self, module, kind) -> None:
        self._module, self._kind = module, kind

    def _table(self):
        return {} if self._module._hooks is None else self._module._hooks[self._kind]

    def __getitem__(self, key):
        entry = self._table()[key]
        return entry[0] if self._kind.startswith("forward") else entry

    def __setitem__(self, key, hook) -> None:
        self._module._tables()[self._kind][key] = (hook, False, False) if self._kind.startswith("forward") else hook

    def __delitem__(self, key) -> None:
        del self._table()[key]

    def __iter__(self):
        return iter(self._table())

    def __len__(self) -> int:
        return len(self._table())

    def __repr__(self) -> str:
        return f"OrderedDict({list(self.items())})" if self else "OrderedDict()"


def hooks_of(kind):
    """The property of a Module for hooks of one kind; what is put there takes the place of all that are."""
    def look(self):
        return HooksOf(self, kind)

    def replace(self, hooks):
        hooks = dict(hooks)
        mine = HooksOf(self, kind)
        mine.clear()
        mine.update(hooks)
    return property(look, replace)
