"""From a plain Python function to machine code that Python calls with addresses.

A kernel is a module-level function over pointers and 64-bit integers. `compile_kernel` gives it concrete types and returns a
`Kernel`: `kernel.call(*words)` for Python and `kernel.address` for other kernels and threads. The steps:

1. `bind` (binding.py) puts the dtype, the op's scalar body and other names into the function's globals.
2. The store is asked for the machine code under the hash of all that shapes it. A hit costs a file read; Numba is not
   even imported (0.2 s).
3. On a miss Numba compiles, and two functions of LLVM IR are added: a native entry of 64-bit words, and a Python entry
   in CPython's fast-call convention. Numba's own wrapper takes 2.5 times as long to unpack three addresses. Every other symbol is
   made private, so that two kernels can never answer for each other.

The entries check no types: whoever calls must have checked (that is what plans are for).
"""
from __future__ import annotations

import atexit
import contextlib
import functools
import hashlib
import logging  # noqa: F401  (Numba takes its lock: see delay_forks)
import operator
import signal
import sys
import threading
import time
import types as pytypes
import warnings

import numpy as np

from ..finalisers import without_collector
from . import ahead, debugmemory, store
from .binding import DISABLE_JIT, HOST, KERNEL_MATH, OUTLINED, Names, bind, fingerprint, options
from .codegen.moduletext import entry_points, with_loops_interleaved
from .entries import python_entry
from .forks import delay_forks
from .installed import installed_version
from .planning import planning
from .pointers import PYTHON_KERNELS, Pointer, element_type
from .progress import progress, statistics
from .targets import crosscompile, processor

TESTED_NUMBA = ("0.68",)
_SIGNALS = sorted(signal.valid_signals())
_lock = threading.RLock()
while_compiling: list = []                               # contexts for it: what watches calls looks away (events.py)


# ---------------------------------------------------------------- forks
_held = threading.local()                                # the locks that a thread has taken to fork


def _finish_compiling():
    """Wait until no other thread compiles: in a forked child, half of a compilation would stay half done, and its locks held. Numba
    has one for users' functions too, and llvmlite one around each call, those of destructors included."""
    _held.locks = contextlib.ExitStack()
    _held.locks.enter_context(_lock)
    for module, lock in (("numba.core.compiler_lock", "global_compiler_lock"), ("llvmlite.binding.ffi", "lib._lock")):
        if module in sys.modules:
            _held.locks.enter_context(operator.attrgetter(lock)(sys.modules[module]))


def _compile_again():
    _held.locks.close()


delay_forks(_finish_compiling, _compile_again)


# ---------------------------------------------------------------- the machine
class _Machine:
    """LLVM for this processor: emits object code and loads it. Made on first use; `import numtorch` costs nothing."""

    def __init__(self):
        import llvmlite
        import llvmlite.binding as llvm
        self.llvm = llvm
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        options = dict(opt=3, reloc="pic", codemodel="jitdefault", jit=True)
        foreign = processor.foreign()
        self.cross = None if foreign is None else crosscompile.CrossCompiler(llvm, foreign, **options)
        self.cpu, features = processor.name_and_features() if foreign is None else processor.native_name_and_features()
        self.features = ",".join(f"{'+' if there else '-'}{name}" for name, there in sorted(features.items()))
        if "+avx512f" in self.features:                  # LLVM's tuning for Intel prefers half vectors: exp takes 1.8 times as long
            self.features += ",-prefer-256-bit"
        self.target = llvm.Target.from_default_triple().create_target_machine(cpu=self.cpu, features=self.features, **options)
        # JITLink: the older linker puts code and data of an AArch64 object further apart than its relocations reach, and aborts
        self.jit = llvm.create_lljit_compiler(use_jit_link=True)
        atexit.register(self.jit.detach)                 # code stays until the process ends: destructors may still call it
        baseline, best = processor.chosen(), None if foreign else processor.best_baseline()
        self.toolchain = repr((3, installed_version("numba"), llvmlite.__version__, sys.implementation.cache_tag,
                               getattr(sys, "abiflags", ""), llvm.get_process_triple(), self.cpu, self.features,
                               *([baseline] if foreign else []), *(["poison"] if debugmemory.FILLS_THE_STACK else [])))
        # what installed packs have, which is asked for second
        self.shared = None if best is None or debugmemory.FILLS_THE_STACK else self._for_all(best)
        if foreign is not None:
            self.made_elsewhere = self._for_all(baseline, foreign.triple)
        elif baseline is not None:
            self.toolchain, self.shared = self._for_all(baseline), None

    def _for_all(self, baseline, triple=None):
        """What shapes code that is made elsewhere for a baseline: Python's byte code, and not what compiled it."""
        triple = triple or self.llvm.get_process_triple()
        return repr((1, sys.implementation.cache_tag, getattr(sys, "abiflags", ""), triple, baseline))

    def load(self, object_code, symbol):
        """Addresses of the native and the Python entry. Each kernel is a library of its own, so no names can clash."""
        builder = self.llvm.JITLibraryBuilder().add_object_img(object_code).add_current_process()
        tracker = builder.export_symbol(symbol).export_symbol(symbol + "_py").link(self.jit, symbol)
        native, python = tracker[symbol], tracker[symbol + "_py"]
        tracker.detach()                                 # a library's code would go with its tracker
        return native, python


_machine: _Machine | None = None


def machine() -> _Machine:
    global _machine
    with _lock:
        if _machine is None:
            with _uninterrupted():
                _machine = _Machine()
        return _machine


# ---------------------------------------------------------------- from Numba's module to object code
def _numba_type(name):
    from numba import types
    if name == "int64":
        return types.int64
    return types.CPointer(getattr(types, element_type(name[:-1]).name))


class CannotCompile(NotImplementedError):
    """A kernel that has no meaning for the types it was asked for. `reason` is what Numba has to say."""

    def __init__(self, function, signature, reason):
        super().__init__(f'"{function.__name__}" not implemented for ({", ".join(signature)})')
        self.reason = reason


def _with_bodies(numba, function, names, compute, signature, numba_signature, fastmath):
    """The module of a kernel from its template (codegen/templates.py), and its function's name; None for one that has none."""
    from .codegen import frontend, templates
    from .codegen.complexdivision import in_kernels
    bodies = templates.bodies_of(function, names)
    if not bodies:
        return None
    key = _text(function, templates.placeholders(bodies), compute, signature, False, fastmath, 0)
    in_kernels[0] = True
    try:
        known = templates.find(key, bodies)
        if known is not None:
            return known
        template = templates.Template(bodies)
        bound = bind(function, template.names(), compute)
        made = numba.njit(numba_signature, pipeline_class=frontend.KernelCompiler, **options(fastmath))(bound)
        template.finish(made.overloads[numba_signature.args])
        templates.keep(key, template)
        return template.module_with(bodies), template.inner
    except (numba.core.errors.NumbaError, TypeError, templates.Unfit):     # TypeError: of too many or too few arguments
        return None                                      # compiling it whole tells what is wrong, if anything is
    finally:
        in_kernels[0] = False


def _typed_and_lowered(numba, function, names, compute, signature, numba_signature, fastmath):
    """What Numba made of a kernel."""
    from .codegen import frontend
    from .codegen.complexdivision import in_kernels
    in_kernels[0] = True
    try:
        bound = bind(function, names, compute)
        made = numba.njit(numba_signature, pipeline_class=frontend.KernelCompiler, **options(fastmath))(bound)
        return made.overloads[numba_signature.args]
    except numba.core.errors.NumbaError as error:        # users are told what, not in which pass of whose compiler
        reason = str(error)
    finally:
        in_kernels[0] = False
    if frontend.load_all():
        HOST.bound.clear()                               # its functions remember that they could not be compiled
        return _typed_and_lowered(numba, function, names, compute, signature, numba_signature, fastmath)
    raise CannotCompile(function, signature, reason) from None


def _compile(function, names, compute, signature, symbol, nogil, fastmath, interleave, keep=None):
    """The optimised module of a kernel. `keep` is given it before, and what optimises."""
    import numba
    numba.config.CPU_NAME, numba.config.CPU_FEATURES = machine().cpu, machine().features
    _check_numba(numba)
    from .codegen import frontend
    llvm = machine().llvm
    numba_signature = numba.types.void(*[_numba_type(s) for s in signature])
    # Numba makes much that lives on: walking it again and again takes a twelfth of the time
    with _optimised_once(numba) as optimise, without_collector(), frontend.for_kernels():
        linked = _with_bodies(numba, function, names, compute, signature, numba_signature, fastmath)
        if linked is None:
            compiled = _typed_and_lowered(numba, function, names, compute, signature, numba_signature, fastmath)
            linked = llvm.parse_bitcode(compiled.library._final_module.as_bitcode()), compiled.fndesc.llvm_func_name
        module, inner = linked
        if interleave:
            module = llvm.parse_assembly(with_loops_interleaved(str(module), inner, interleave))
        module.link_in(llvm.parse_assembly(entry_points(symbol, inner, signature, nogil)))
        for value in [*module.functions, *module.global_variables]:
            if value.name not in (symbol, symbol + "_py") and not value.is_declaration and not value.name.startswith("llvm."):
                value.linkage = "internal"
                if any(name in value.name for name in OUTLINED.values()) and value.is_function:
                    value.add_function_attribute("noinline")
        if keep is not None:
            keep(module, optimise)
        optimise(module)
    return module


@contextlib.contextmanager
def _optimised_once(numba):
    """Inside, Numba leaves its LLVM modules as they are; the function this gives runs its pipeline over the whole, once.

    Numba optimises every helper by itself, three times, and then again where it is linked in: a kernel of ten helpers is optimised
    thirty times over. Doing it once, when everything but the entry points is private, halves cold compilation. Nor does Numba make
    machine code of what only kernels call: of all helpers and the kernel, that takes a quarter of the rest.
    """
    from numba.core.compiler_lock import global_compiler_lock
    codegen = numba.core.registry.cpu_target.target_context.codegen()
    module_passes, builder = codegen._module_pass_manager, machine().llvm.create_pass_builder(
        machine().target, machine().llvm.create_pipeline_tuning_options(speed_level=0))
    add_module, find_references, set_environment = codegen._add_module, codegen._scan_and_fix_unresolved_refs, codegen.set_env
    nothing = pytypes.SimpleNamespace(run=lambda *ignored: None)

    def optimise(module, target=None):
        own = codegen._tm
        codegen._tm = target or own
        try:
            for choices in (dict(loop_vectorize=codegen._loopvect, slp_vectorize=False, opt=codegen._opt_level, cost="cheap"), {}):
                passes, tuned = module_passes(**choices)
                passes.run(module, tuned)
        finally:
            codegen._tm = own
        _inline_variants(module, builder)

    def where_python_calls(then):                        # a user's own compiled function that a kernel is the first to call
        return lambda module: then(module) if any(f.name.startswith("_ZN7cpython") for f in module.functions) else None

    overridden = dict(
        _module_pass_manager=lambda **ignored: (nothing, builder), _function_pass_manager=lambda **ignored: (nothing, builder),
        _add_module=where_python_calls(add_module), _scan_and_fix_unresolved_refs=where_python_calls(find_references),
        set_env=lambda name, environment: codegen._engine.is_symbol_defined(name) and set_environment(name, environment))
    with global_compiler_lock:
        vars(codegen).update(overridden)
        try:
            yield optimise
        finally:
            for name in overridden:
                delattr(codegen, name)


def _inline_variants(module, builder):
    """Put the vector variants that the loop vectoriser called (vectormath/avx512.py) where they are called, after it."""
    variants = [f for f in module.functions if not f.is_declaration and any(b"alwaysinline" in a for a in f.attributes)]
    if variants:
        passes = machine().llvm.create_new_module_pass_manager()
        passes.add_always_inliner_pass()
        passes.add_instruction_combine_pass()
        passes.add_dead_code_elimination_pass()
        passes.run(module, builder)
        for variant in variants:
            variant.linkage = "available_externally"     # no machine code: nothing calls it any more


def inspect_ir(function, signature, names=None, compute=None, fastmath=KERNEL_MATH, interleave=0) -> str:
    """The optimised LLVM IR of a kernel, for tests and for the curious."""
    return str(_compile(function, Names(names or {}), compute, tuple(signature), "kernel", False, fastmath, interleave))


_checked = False


def _check_numba(numba):
    """Warn once when Numba is not a version that was tested; then see that the internals relied on are there."""
    global _checked
    if _checked:
        return
    _checked = True
    if not numba.__version__.startswith(TESTED_NUMBA):
        warnings.warn(f"numtorch was tested with numba {', '.join(TESTED_NUMBA)}; {numba.__version__} is tried as it is",
                      RuntimeWarning, stacklevel=2)
        cell = np.zeros(1, np.int64)
        try:
            compile_kernel(_store_answer, ("int64*", "int64")).call(cell.ctypes.data, 41)
        except Exception as error:
            raise RuntimeError(f"numba {numba.__version__} does not work with numtorch's kernel compiler: {error}. "
                               f"Install numba {TESTED_NUMBA[0]}.*") from error
        if cell[0] != 42:
            raise RuntimeError(f"numba {numba.__version__} compiles numtorch's kernels wrongly (41 + 1 gave {cell[0]}). "
                               f"Install numba {TESTED_NUMBA[0]}.*")


def _store_answer(out, x):
    out[0] = x + 1


# ---------------------------------------------------------------- kernels as Python sees them
class Kernel:
    """Machine code: `call(*addresses)` from Python, `address` for other machine code, `name` for people, whether other Python
    threads run during a call (`nogil`), and what another device makes its own code of (`recipe`)."""

    __slots__ = ("name", "call", "address", "signature", "nogil", "recipe")

    def __init__(self, name, call, address, signature, nogil=False, recipe=None):
        self.name, self.address, self.signature, self.nogil, self.recipe = name, address, signature, nogil, recipe
        self.call = call if debugmemory.watch is None else debugmemory.watch(self, call)

    def __repr__(self):
        return f"<kernel {self.name}({', '.join(self.signature)})>"


class _Deferred(Kernel):
    """A kernel that is compiled when its machine code is asked for: what planners name while they plan for another device."""

    __slots__ = ("make",)

    def __init__(self, name, signature, nogil, recipe, make):
        self.name, self.signature, self.nogil, self.recipe, self.make = name, signature, nogil, recipe, make

    def __getattr__(self, attribute):
        if attribute not in ("call", "address"):
            raise AttributeError(attribute)
        made = self.make()
        self.call, self.address = made.call, made.address
        return getattr(made, attribute)


def _python_kernel(function, names, compute, signature, nogil, recipe):
    body = bind(function, names, compute)
    kinds = [None if s == "int64" else element_type(s[:-1]) for s in signature]

    def call(*words):
        if len(words) != len(kinds):
            raise TypeError("wrong number of addresses")
        with np.errstate(all="ignore"):
            body(*[int(w) if k is None else Pointer(w, k) for w, k in zip(words, kinds)])

    address = len(PYTHON_KERNELS) + 1
    PYTHON_KERNELS[address] = call
    return Kernel(function.__name__, call, address, signature, nogil, recipe)


def _load(name, symbol, object_code, signature, nogil, recipe=None):
    native, python = machine().load(object_code, symbol)
    return Kernel(name, python_entry(name, python, native), native, signature, nogil, recipe)


def _object_code(function, names, compute, signature, symbol, nogil, fastmath, interleave, keep=None):
    start = time.perf_counter()
    module = _compile(function, names, compute, signature, symbol, nogil, fastmath, interleave, keep)
    object_code = machine().target.emit_object(module)
    statistics.compiled += 1
    statistics.seconds += time.perf_counter() - start
    return object_code


def _keep_cross(text, symbol, module, optimise):
    """Keep a kernel as the other architecture of this process has it."""
    other, key = machine().cross, _key(machine().made_elsewhere, text)
    module = other.module(str(module), symbol, _symbol(key))
    optimise(module, other.target)
    store.save(key, other.target.emit_object(module), crosscompile.directory())


_kernels: dict[str, Kernel] = {}
_stored_as: dict[int, str] = {}                          # the keys of kernels by their addresses


def compile_kernel(function, signature, names=None, compute=None, *, nogil=False, fastmath=KERNEL_MATH, meant=(),
                   interleave=0) -> Kernel:
    """The kernel of a Python function for concrete types, from memory, from the store, or compiled now.

    Args:
        function: a function over pointers and integers that returns nothing.
        signature: one name an argument: `"float32*"` (a pointer; bool, float16 and bfloat16 are words) or `"int64"`.
        names: what global names in the function (and in the helpers it calls) stand for here: a NumPy scalar type
            for a dtype, a `ScalarBody`, a number, another function.
        compute: the compute type of ops and elementary functions that the function names directly.
        nogil: let other Python threads run during a call. Releasing it costs about as much as a call, so small kernels hold it.
        fastmath: LLVM's fast-math flags for the kernel's own arithmetic.
        meant: what names that the kernel's own file does not declare are by default, in the file that binds them.
        interleave: how many vectors its loops take side by side (0: as many as LLVM thinks right).

    Raises:
        NameError: a bound name is something else in the file of one of the helpers.
    """
    recipe = (function, dict(names or {}), compute, meant)
    names, signature = Names(names or {}, meant), tuple(signature)
    if planning.without_memory or planning.elsewhere is not None:
        deferred = _Deferred(function.__name__, signature, nogil, recipe, lambda: compile_kernel(
            function, signature, recipe[1], compute, nogil=nogil, fastmath=fastmath, meant=meant, interleave=interleave))
        if planning.named is not None:
            text = _text(function, names, compute, signature, nogil, fastmath, interleave)
            planning.named.setdefault(_key(machine().toolchain, text), deferred)
        return deferred
    before = statistics.compiled
    with _lock:
        if DISABLE_JIT:
            return _python_kernel(function, names, compute, signature, nogil, recipe)
        text = _text(function, names, compute, signature, nogil, fastmath, interleave)
        key = _key(machine().toolchain, text)
        kernel = _kernels.get(key)
        if kernel is not None:
            return kernel
        with _uninterrupted(), contextlib.ExitStack() as contexts:
            for each in while_compiling:
                contexts.enter_context(each())
            symbol, object_code = _stored(key, text)
            if object_code is None:
                keep = None if machine().cross is None else functools.partial(_keep_cross, text, symbol)
                make = functools.partial(_object_code, function, names, compute, signature, symbol, nogil, fastmath, interleave,
                                         keep)
                object_code = _compiled_once(key, function.__name__, make)
            else:
                statistics.loaded += 1
            kernel = _kernels[key] = _load(function.__name__, symbol, object_code, signature, nogil, recipe)
            _stored_as[kernel.address] = key if symbol == _symbol(key) else _key(machine().shared, text)
    if statistics.compiled > before:
        ahead.start()
    return kernel


def _text(function, names, compute, signature, nogil, fastmath, interleave):
    """All that shapes a kernel's machine code but what compiles it."""
    return "\n".join([fingerprint(function, names, compute, frozenset()), repr(signature), str(nogil), repr(sorted(fastmath)),
                      *([f"interleave {interleave}"] if interleave else []),
                      *(["complex division by selects"] if any(s.startswith("complex") for s in signature) else [])])


def _compiled_once(key, name, make):
    """The machine code of a kernel that is not stored: made here, or by another process that is at it already."""
    progress.compiling(name, lambda: ahead.number_to_come([*_kernels, key]))
    with store.compiling(key, ahead.patience()) as object_code:
        if object_code is not None and _symbol(key).encode() in object_code:
            statistics.loaded += 1
            progress.clear()
            return object_code
        before = statistics.seconds
        object_code = make()
        progress.compiled(name, statistics.seconds - before, store.save(key, object_code))
        return object_code


def known_kernels() -> list[Kernel]:
    """All kernels that this process has made or loaded."""
    return list(_kernels.values())


def object_code_of(kernel: Kernel) -> tuple[str, bytes]:
    """The symbol of a kernel's native entry, and the object code that has it.

    Args:
        kernel: one of this process.

    Raises:
        RuntimeError: the store does not have it.
    """
    key = _stored_as[kernel.address]
    code = store.load(key) or store.load_installed(key, processor.best_baseline() or "")
    if code is None:
        raise RuntimeError(f"the machine code of {kernel.name} is not in the store: {store.trouble()}")
    return _symbol(key), code


def _key(toolchain, text):
    return hashlib.sha256(f"{toolchain}\n{text}".encode()).hexdigest()


def _symbol(key):
    return "k" + key[:40]


def _stored(key, text):
    """A kernel's symbol and its machine code: made for this processor, else for the baseline of an installed pack, else None."""
    object_code = store.load(key)
    if object_code is not None and _symbol(key).encode() in object_code:       # and not another kernel's, under this one's name
        return _symbol(key), object_code
    if machine().shared is not None:
        shared = _key(machine().shared, text)
        object_code = store.load_installed(shared, processor.best_baseline())
        if object_code is not None and _symbol(shared).encode() in object_code:
            return _symbol(shared), object_code
    return _symbol(key), None


@contextlib.contextmanager
def _uninterrupted():
    """Inside, Python's handlers of signals wait. Neither Numba nor the loader survives an exception from one: of what Numba was
    importing then, the rest is gone, and whatever the process compiles later ends in "generator raised StopIteration"."""
    noted: list = []
    handlers: dict = {}
    try:
        if threading.current_thread() is threading.main_thread():        # others get no signals, and may not say who does
            for number in _SIGNALS:
                handler = signal.getsignal(number)
                if callable(handler):
                    handlers[number] = handler
                    signal.signal(number, lambda *interrupt: noted.append(interrupt))
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        with contextlib.ExitStack() as later:            # all of them, whichever raise
            for number, frame in reversed(noted):
                later.callback(handlers[number], number, frame)
