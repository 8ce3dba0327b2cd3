"""Python source for functions that must be fast: written for their number of arguments, with allocation in line.

A general function over `*inputs` takes three times as long as one written for two. Functions of one shape share their code.
"""
from __future__ import annotations

import functools
from sys import getrefcount
from types import CodeType, FunctionType

from ...kernels.sources import code_of
from ...storage import FREE, inferring, made_in_mode, take
from ...tensor import bare

ALLOCATION = dict(bare=bare, getrefcount=getrefcount, FREE=FREE, take=take, inferring=inferring,
                  made_in_mode=made_in_mode)            # the names that `allocation` uses


@functools.cache
def _code(source):
    """The code of a generated function. Ops of one signature share it, since every import would wait for compiling each."""
    return next(c for c in code_of(source, "function").co_consts if isinstance(c, CodeType))


def make(source, scope, name, defaults=None, keywords=None):
    """A function of source text (one `def`) over its globals, under its own name."""
    function = FunctionType(_code(source).replace(co_name=name), scope, name, defaults)
    function.__kwdefaults__, function.__qualname__ = keywords, name
    return function


def allocation(result, ring, layout, indent="    "):
    """`tensor.empty` in line, which saves the call: a tensor `result` without a node in memory from a ring.

    The names it needs are ALLOCATION's; it leaves the address in `{result}_address`.
    """
    lines = f"""storage = {ring}[0]
if getrefcount(storage) > FREE:
    {ring}.rotate(-1)
    storage = {ring}[0]
    if getrefcount(storage) > FREE:
        storage = take({ring})
if inferring:
    storage = made_in_mode(storage, {ring})
{result} = bare()
{result}.memory = storage
{result}.address = {result}_address = storage.address
{result}.layout = {layout}
"""
    return "".join(indent + line + "\n" for line in lines.splitlines())
