"""Every entry of PyTorch's own table of operations as the text of a script, as a function and as a method: what PyTorch's scripts take,
ours take, and they give what the same text gives in Python."""
from __future__ import annotations

import warnings

import numpy as np
import pytest
from daily import todays
from pytorchtables import pytorch

import numtorch

torch = pytorch()

from tests.opdb import ENTRIES, KNOWN, array, kind_of, ours, parts, samples_of  # noqa: E402

PARTS = 3                                                # of the entries, of which one is tried each day
TEXT = """
def text({}):
    return {}
"""
# Entries that no script of ours calls so.
LEFT_OUT = {
    "_chunk_cat": "a name of PyTorch's own", "_native_batch_norm_legit": "a name of PyTorch's own",
    "_softmax_backward_data": "a name of PyTorch's own",
    "nn.functional.embedding_bag": "weights before indices, an order that PyTorch warns of",
    "sparse.mm.reduce": "scripts hold dense tensors", "sparse.sampled_addmm": "scripts hold dense tensors",
}


def texts(name):
    """The texts of a sample's call, as a function and as a method, and its tensors."""
    op, names, tensors = ENTRIES[name], [], []
    kind = kind_of(op)
    if kind is None or name in KNOWN["name"]:
        return [], []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sample = samples_of(op, kind, 3, False)[-1]

    def word(value):
        several = isinstance(value, (list, tuple)) and value and all(isinstance(each, torch.Tensor) for each in value)
        if not several and not isinstance(value, torch.Tensor):
            return repr(value)
        tensors.append(list(value) if several else value)
        names.append(f"i{len(names)}")
        return names[-1]
    first, *rest = [word(value) for value in (sample.input, *sample.args)]
    rest += [f"{key}={word(value)}" for key, value in sample.kwargs.items()]
    calls = [f"torch.{op.name}({', '.join([first, *rest])})"]
    if op.method_variant is not None:
        calls.append(f"{first}.{op.method_variant.__name__}({', '.join(rest)})")
    formal = ", ".join(f"{name}: List[torch.Tensor]" if isinstance(value, list) else name for name, value in zip(names, tensors))
    return [TEXT.format(formal, call) for call in calls], tensors


def both(library, text):
    """What a text defines, as a script of a library and in Python."""
    scope = {"torch": library}
    exec("from typing import List\ndef script(text): return torch.jit.CompilationUnit(text).text\n" + text, scope)
    return scope["script"](text), scope["text"]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", todays(sorted(name for name in set(ENTRIES) - set(LEFT_OUT) if "empty" not in name), PARTS))
def test_entry(name):
    written, tensors = texts(name)
    for text in written:
        try:
            both(torch, text)[0](*tensors)
        except Exception:
            continue
        found = []
        for function in both(numtorch, text):
            numtorch.manual_seed(0)
            found.append(parts(function(*ours(tensors))))
        for one, other in zip(*found, strict=True):
            if one is not None and not isinstance(one, str):
                np.testing.assert_array_equal(array(one), array(other), text)
