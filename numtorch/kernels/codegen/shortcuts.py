"""What Numba finds out again and again while it compiles kernels, found out once or in a shorter way. Imported only when something
must be compiled.

`shortcuts` are functions of Numba's, and what stands in their place while a kernel is compiled; `short_lowering` is the class
that makes LLVM IR of a function, less what is done for objects whose references are counted. Both are for Numba and for its fork
for GPUs.
"""
from __future__ import annotations

import contextlib
import functools
import types as pytypes
import weakref
from importlib import import_module

from numba.core import types

call_type = types.Function.get_call_type
_signatures: weakref.WeakKeyDictionary[types.Function, dict] = weakref.WeakKeyDictionary()


def _known_call_type(self, context, args, kws):
    """What Numba answers, who rates all of an operator's signatures at each of its calls. What compiles a function for its
    arguments is asked again: that may depend on what is being compiled."""
    known = _signatures.setdefault(self, {})
    signature = None if kws else known.get((context, args))
    if signature is None:
        signature = call_type(self, context, args, kws)
        if kws or self.get_impl_key(signature) is not self.typing_key:
            return signature
        known[context, args] = signature
    self._impl_keys[signature.args] = self.typing_key
    return signature


def _typing_shortcuts(typing):
    """Shortcuts of type inference; `typing` is the package of its templates."""
    npydecl, builtins = (import_module(f"{typing}.{name}") for name in ("npydecl", "builtins"))
    arrays, numbers = npydecl.NumpyRulesArrayOperator, builtins.NumberClassAttribute
    array_operator, number_call = arrays.generic, numbers.resolve___call__
    known_calls: dict = {}

    def operator_of_arrays(self, args, kws):
        """What Numba answers, who searches all of a ufunc's loops before it looks whether there is an array at all."""
        return array_operator(self, args, kws) if any(isinstance(each, types.ArrayCompatible) for each in args) else None

    def call_of_number(self, kind):
        """What Numba answers, who makes a class for each call of a type of numbers, such as `float32(x)`."""
        if (self.context, kind) not in known_calls:
            known_calls[self.context, kind] = number_call(self, kind)
        return known_calls[self.context, kind]

    return [(arrays, "generic", operator_of_arrays, array_operator), (numbers, "resolve___call__", call_of_number, number_call),
            (types.Function, "get_call_type", _known_call_type, call_type)]


def _lowering_shortcuts(root):
    """Shortcuts of lowering, and of Numba's form of a function."""
    base, ir = (import_module(f"{root}.{name}") for name in ("base", "ir"))
    has_loc, size_of, list_vars = base._has_loc, base.BaseContext.get_abi_sizeof, ir.Inst._rec_list_vars
    known_sizes: dict[str, int] = {}

    def takes_loc(function):
        """What Numba answers, who has `inspect` make the signature of each implementation that is called."""
        if type(function) is not pytypes.FunctionType or not {"__wrapped__", "__signature__"}.isdisjoint(vars(function)):
            return has_loc(function)
        code = function.__code__
        return "loc" in code.co_varnames[:code.co_argcount + code.co_kwonlyargcount]

    def known_size(self, kind):
        """What Numba answers, who has LLVM parse a module for each variable to learn the size of its type."""
        text = str(kind)
        if "%" in text:                                  # names of structures say nothing of their size
            return size_of(self, kind)
        if text not in known_sizes:
            known_sizes[text] = size_of(self, kind)
        return known_sizes[text]

    def variables(value, found):
        kind = type(value)
        if kind is ir.Var:
            found.append(value)
        elif kind is list or kind is tuple:
            for each in value:
                variables(each, found)
        elif kind is dict:
            for each in value.values():
                variables(each, found)
        elif isinstance(value, ir.Inst):
            found += value.list_vars()
        return found

    return [(base, "_has_loc", takes_loc, has_loc), (base.BaseContext, "get_abi_sizeof", known_size, size_of),
            (ir.Inst, "_rec_list_vars", lambda self, value: variables(value, []), list_vars)]


def shortcuts(root: str, typing: str) -> list:
    """Owners, names, replacements, and what is replaced.

    Args:
        root: the package of Numba's passes: "numba.core", or "numba.cuda.core", its fork for GPUs.
        typing: the package of the templates of type inference there.
    """
    return [*_typing_shortcuts(typing), *_lowering_shortcuts(root)]


@contextlib.contextmanager
def replaced(replacements):
    """Inside, attributes have other values. Afterwards they have their own again, also where kernels for processors and for GPUs
    were compiled at the same time, which share some.

    Args:
        replacements: owners, names, values, and their own values.
    """
    for owner, name, value, _ in replacements:
        setattr(owner, name, value)
    try:
        yield
    finally:
        for owner, name, _, value in replacements:
            setattr(owner, name, value)


def short_lowering(root: str, lower):
    """A class that lowers functions without objects whose references are counted.

    Args:
        root: the package of Numba's passes.
        lower: the class that does so with them.
    """
    errors = import_module(f"{root}.errors")

    class Lower(lower):
        def lower_block(self, block):
            """As Numba does, with what an error says of an instruction made when there is one, not at each."""
            self.pre_block(block)
            instruction = None
            try:
                for instruction in block.body:
                    self.loc = instruction.loc
                    self.lower_inst(instruction)
            except Exception:
                kind = functools.partial(errors.LoweringError, loc=self.loc)
                with errors.new_error_context('lowering "{inst}" at {loc}', inst=instruction, loc=self.loc, errcls_=kind):
                    raise
            self.post_block(block)

        def storevar(self, value, name, argidx=None):
            """As Numba does, who reads what was there before, to take a reference from it."""
            if argidx is not None:
                super().storevar(value, name, argidx)
                return
            self._alloca_var(name, self.typeof(name))
            if name in self._singly_assigned_vars:
                self._blk_local_varmap[name] = value
            else:
                self.builder.store(value, self.getvar(name))

    return Lower
