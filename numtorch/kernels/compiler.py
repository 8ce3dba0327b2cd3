"""From a plain Python function to machine code that Python calls with addresses.

A kernel is a module-level function over pointers and 64-bit integers. `compile_kernel` gives it concrete types and returns a
`Kernel`: `kernel.call(*words)` for Python and `kernel.address` for other kernels and threads. The steps:

1. `_bind` puts the dtype, the op's scalar body and other names into the function's globals, replaces intrinsics by their
   Numba form and gives literals the compute type (Numba would promote `1 / (1 + x)` with float32 x to float64, which
   halves the speed: 18.7 against 8.0 µs for x*2+1 over 100k elements).
2. The store is asked for the machine code under the hash of all that shapes it. A hit costs a file read; Numba is not
   even imported (0.2 s).
3. On a miss Numba compiles, and two functions of LLVM IR are added: a native entry of 64-bit words, and a Python entry
   in CPython's fast-call convention. Numba's own wrapper takes 62 ns to unpack three addresses, this one about 25.
   Every other symbol is made private, so that two kernels can never answer for each other.

The entries check no types: whoever calls must have checked (that is what plans are for).
"""
from __future__ import annotations

import atexit
import contextlib
import ctypes
import hashlib
import os
import sys
import threading
import time
import types as pytypes
import warnings

import numpy as np

from . import store
from .forks import survive_fork
from .intrinsics import Intrinsic
from .pointers import PYTHON_KERNELS, Pointer, element_type

DISABLE_JIT = os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("0", "")
TESTED_NUMBA = ("0.68",)
_lock = survive_fork(threading.RLock())


# ---------------------------------------------------------------- what a kernel is made of
class ScalarBody:
    """A function of scalars, to be compiled for one compute type and inlined where a kernel calls it.

    Args:
        function: the Python function.
        compute: the name of the dtype its arguments have, such as `"float32"`.
        literals: which of its literals take that type: `"all"` (an op's formula) or `"float"` (code that also counts).
    """

    __slots__ = ("function", "compute", "literals")

    def __init__(self, function, compute: str, literals: str = "all"):
        self.function, self.compute, self.literals = function, compute, literals

    def __eq__(self, other):
        return (type(other) is ScalarBody and self.function is other.function and self.compute == other.compute
                and self.literals == other.literals)

    def __hash__(self):
        return hash((self.function, self.compute, self.literals))


def _typed_constant(value, compute, literals):
    kind = type(value)
    if compute is None or kind not in (int, float) or (kind is int and literals == "float"):
        return value
    dtype = np.dtype(compute)
    if kind is float and dtype.kind not in "fc":
        return value
    if kind is int and dtype.kind in "iu" and not np.iinfo(dtype).min <= value <= np.iinfo(dtype).max:
        return value
    return value if dtype.kind == "b" else dtype.type(value)


def _with_typed_literals(code, compute, literals):
    """The code object with its literals converted. Works on byte code, so that functions typed into a REPL have it too."""
    constants = list(code.co_consts)
    patched = bytearray(code.co_code)
    if literals == "all" and sys.version_info >= (3, 14):        # 3.14 keeps small ints in the instruction itself
        import dis
        load = dis.opmap["LOAD_CONST"]
        for instruction in dis.get_instructions(code):
            if instruction.opname == "LOAD_SMALL_INT":
                if instruction.arg not in constants or len(constants) > 255:
                    constants.append(instruction.arg)
                patched[instruction.offset] = load
                patched[instruction.offset + 1] = constants.index(instruction.arg)
    typed = tuple(_typed_constant(c, compute, literals) for c in constants)
    return code.replace(co_consts=typed, co_code=bytes(patched))


def _references(function, names):
    """What a function's global names and free variables stand for, `names` first."""
    found = {}
    for name in function.__code__.co_names:
        if name in names:
            found[name] = names[name]
        elif name in function.__globals__:
            found[name] = function.__globals__[name]
    cells = {}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
        cells[name] = names[name] if name in names else cell.cell_contents
    return found, cells


def _taken_from(module, code):
    """What code may take from a module by attribute: the names of both."""
    return {name: module.__dict__[name] for name in code.co_names if name in module.__dict__}


def _resolve(value, compute):
    """An op or elementary function named in a body, as the scalar function for this compute type."""
    if not isinstance(value, (ScalarBody, type)) and hasattr(value, "scalar"):
        return value.scalar(compute)
    return value


# ---------------------------------------------------------------- binding: the function with its names filled in
NUMBA_KNOWS = frozenset(("math", "cmath", "numpy", "operator", "numba.cuda"))     # modules whose functions it compiles by name
KERNEL_MATH = {"reassoc", "contract", "nsz"}            # never `True`: NaN and Inf must survive
SCALAR_MATH = {"contract"}                              # `(x + magic) - magic` must stay, -0.0 too


def _options(fastmath, **more):
    return dict(error_model="numpy", fastmath=set(fastmath), boundscheck=False, _nrt=False, no_cpython_wrapper=True,
                no_cfunc_wrapper=True, **more)


class Target:
    """What kernels are compiled for: the form that intrinsics take there, and how helper functions are compiled.

    This one is the host; kernels/cuda/ has its own.
    """

    def __init__(self):
        self.bound = {}                                  # helper functions by what they were made of

    def intrinsic(self, value: Intrinsic):
        return value if DISABLE_JIT else value.lower()

    def helper(self, function, scalar: bool):
        """A function that kernels call, compiled; `scalar` bodies are inlined."""
        if DISABLE_JIT:
            return function
        import numba
        return numba.njit(**_options(SCALAR_MATH if scalar else KERNEL_MATH, forceinline=scalar))(function)


HOST = Target()


def _bind(function, names, compute, literals=None, target=HOST):
    """`function` as Numba (or, without the JIT, Python) shall see it: a new function over transformed globals."""
    found, cells = _references(function, names)

    def transform(value):
        if literals and type(value) in (int, float):     # a named constant is a literal too
            return _typed_constant(value, compute, literals)
        if isinstance(value, pytypes.ModuleType):
            return transform_module(value)
        return _bind_value(_resolve(value, compute), names, compute, target)

    def transform_module(module):
        """`torch.exp` and `math.pi` in a formula: a module of what the code takes from this one, transformed."""
        taken = _taken_from(module, function.__code__)
        made = {n: v if module.__name__ in NUMBA_KNOWS and isinstance(v, pytypes.FunctionType) else transform(v)
                for n, v in taken.items() if v is not module}
        if all(made[n] is taken[n] for n in made):
            return module
        stand_in = pytypes.ModuleType(module.__name__)
        stand_in.__dict__.update(made)
        return stand_in

    scope = {"__builtins__": __builtins__, "__name__": function.__module__ or "kernel"}
    scope.update({name: transform(value) for name, value in found.items()})
    code = function.__code__
    if literals:
        code = _with_typed_literals(code, compute, literals)
    closure = tuple(pytypes.CellType(transform(cells[n])) for n in code.co_freevars) or None
    made = pytypes.FunctionType(code, scope, function.__name__, function.__defaults__, closure)
    made.__kwdefaults__ = function.__kwdefaults__
    return made


def _bind_value(value, names, compute, target):
    if isinstance(value, Intrinsic):
        return target.intrinsic(value)
    scalar = isinstance(value, ScalarBody)
    if scalar and target is not HOST:
        value = getattr(value, "portable", value)        # a body may have a form for this processor's own instructions
    if not scalar and not isinstance(value, pytypes.FunctionType):
        return value
    key = (value, compute, tuple(sorted((k, v if isinstance(v, (ScalarBody, type, int, str)) else id(v))
                                        for k, v in names.items() if not scalar)) if names else (),
           _describe(value, names, compute, frozenset()))        # a global it refers to may have been assigned since
    try:
        made = target.bound.get(key)
    except TypeError:
        key, made = None, None
    if made is None:
        if scalar:
            made = _bind(value.function, {}, value.compute, value.literals, target)
        else:
            made = _bind(value, names, compute, None, target)
        made = target.helper(made, scalar)
        if key is not None:
            target.bound[key] = made
    return made


# ---------------------------------------------------------------- fingerprints
def _code_text(code):
    constants = [_code_text(c) if isinstance(c, pytypes.CodeType) else f"{type(c).__name__}:{c!r}" for c in code.co_consts]
    return f"{code.co_code.hex()}|{constants}|{code.co_names}|{code.co_varnames}|{code.co_flags}"


def _describe(value, names, compute, seen, code=None):
    value = _resolve(value, compute)
    if isinstance(value, Intrinsic):
        return f"intrinsic {value.module}.{value.name} {_module_hash(value.module)}"
    if isinstance(value, ScalarBody):
        return f"scalar {value.compute} {value.literals} {_fingerprint(value.function, {}, value.compute, seen)}"
    if isinstance(value, pytypes.FunctionType):
        return _fingerprint(value, names, compute, seen)
    if isinstance(value, pytypes.ModuleType):
        if value.__name__ in NUMBA_KNOWS or value in seen:
            return f"module {value.__name__}"
        taken = sorted(_taken_from(value, code).items())
        return f"module {value.__name__} {[(n, _describe(v, names, compute, seen | {value}, code)) for n, v in taken]}"
    if isinstance(value, np.ndarray):                    # its repr leaves out the middle
        return f"array {value.dtype.str} {value.shape} {hashlib.sha256(np.ascontiguousarray(value)).hexdigest()}"
    if isinstance(value, type):
        return f"type {value.__module__}.{value.__qualname__}"
    return f"{type(value).__name__} {value!r}"


def _fingerprint(function, names, compute, seen):
    code = function.__code__
    if (function, compute) in seen:                      # recursion; two closures of one code are different functions
        return f"again {code.co_name}"
    seen = seen | {(function, compute)}
    found, cells = _references(function, names)
    parts = [_code_text(code), repr(function.__defaults__)]
    parts += [f"{n}={_describe(v, names, compute, seen, code)}" for n, v in sorted({**found, **cells}.items())]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


_module_hashes: dict[str, str] = {}


def _module_hash(name):
    if name not in _module_hashes:
        path = os.path.join(os.path.dirname(__file__), *name.split(".")[2:]) + ".py"
        with open(path, "rb") as file:
            _module_hashes[name] = hashlib.sha256(file.read()).hexdigest()[:16]
    return _module_hashes[name]


# ---------------------------------------------------------------- the machine
class _Machine:
    """LLVM for this processor: emits object code and loads it. Made on first use; `import numtorch` costs nothing."""

    def __init__(self):
        import llvmlite
        import llvmlite.binding as llvm
        self.llvm = llvm
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        self.cpu = llvm.get_host_cpu_name()
        self.features = llvm.get_host_cpu_features().flatten()
        if "+avx512f" in self.features:                  # LLVM's tuning for Intel prefers half vectors: exp took 1.8 times as long
            self.features += ",-prefer-256-bit"
        self.target = llvm.Target.from_default_triple().create_target_machine(
            cpu=self.cpu, features=self.features, opt=3, reloc="pic", codemodel="jitdefault", jit=True)
        self.jit = llvm.create_lljit_compiler()
        atexit.register(self.jit.detach)                 # code stays until the process ends: destructors may still call it
        self.toolchain = repr((3, _installed_version("numba"), llvmlite.__version__, sys.implementation.cache_tag,
                               getattr(sys, "abiflags", ""), llvm.get_process_triple(), self.cpu, self.features))

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
            _machine = _Machine()
        return _machine


def _installed_version(package):
    from importlib.metadata import PackageNotFoundError, version
    try:
        return version(package)
    except PackageNotFoundError:
        return "absent"


# ---------------------------------------------------------------- from Numba's module to object code
def _numba_type(name):
    from numba import types
    if name == "int64":
        return types.int64
    return types.CPointer(getattr(types, {"bool": "uint8", "float16": "uint16", "bfloat16": "uint16"}.get(name[:-1], name[:-1])))


def _entry_points(symbol, inner, signature, nogil):
    """LLVM IR of the native entry `symbol` and the Python entry `symbol + "_py"` around Numba's function `inner`."""
    n = len(signature)
    words = ", ".join(f"i64 %a{i}" for i in range(n))
    kinds = ["i64" if s == "int64" else "ptr" for s in signature]
    casts = "".join(f"  %p{i} = inttoptr i64 %a{i} to ptr\n" for i in range(n) if kinds[i] == "ptr")
    values = "".join(f", {k} %{'p' if k == 'ptr' else 'a'}{i}" for i, k in enumerate(kinds))
    unpack = "".join(
        f"  %q{i} = getelementptr ptr, ptr %args, i64 {i}\n  %o{i} = load ptr, ptr %q{i}\n"
        f"  %v{i} = call ptr @PyLong_AsVoidPtr(ptr %o{i})\n  %a{i} = ptrtoint ptr %v{i} to i64\n" for i in range(n))
    save = "  %thread = call ptr @PyEval_SaveThread()\n" if nogil else ""
    restore = "  call void @PyEval_RestoreThread(ptr %thread)\n" if nogil else ""
    return f"""
declare i32 @"{inner}"(ptr, ptr{"".join(", " + k for k in kinds)})
declare ptr @PyLong_AsVoidPtr(ptr)
declare ptr @PyEval_SaveThread()
declare void @PyEval_RestoreThread(ptr)
declare void @Py_IncRef(ptr)
declare i32 @PyErr_BadArgument()
@_Py_NoneStruct = external global i8
define void @"{symbol}"({words}) {{
  %result = alloca ptr
  %error = alloca ptr
{casts}  %status = call i32 @"{inner}"(ptr %result, ptr %error{values})
  ret void
}}
define ptr @"{symbol}_py"(ptr %self, ptr %args, i64 %count) {{
  %right = icmp eq i64 %count, {n}
  br i1 %right, label %go, label %refuse
go:
{unpack}{save}  call void @"{symbol}"({words})
{restore}  call void @Py_IncRef(ptr @_Py_NoneStruct)
  ret ptr @_Py_NoneStruct
refuse:
  %ignored = call i32 @PyErr_BadArgument()
  ret ptr null
}}
"""


def _compile(function, names, compute, signature, symbol, nogil, fastmath):
    import numba
    numba.config.CPU_NAME, numba.config.CPU_FEATURES = machine().cpu, machine().features
    _check_numba(numba)
    llvm = machine().llvm
    numba_signature = numba.types.void(*[_numba_type(s) for s in signature])
    bound = _bind(function, names, compute)
    with _optimised_once(numba) as optimise:
        made = numba.njit(numba_signature, **_options(fastmath))(bound)
        compiled = made.overloads[numba_signature.args]
        inner = compiled.fndesc.llvm_func_name
        module = llvm.parse_bitcode(compiled.library._final_module.as_bitcode())
        module.link_in(llvm.parse_assembly(_entry_points(symbol, inner, signature, nogil)))
        public = {symbol, symbol + "_py"}
        for value in [*module.functions, *module.global_variables]:
            if value.name not in public and not value.is_declaration and not value.name.startswith("llvm."):
                value.linkage = "internal"
        optimise(module)
    return module


@contextlib.contextmanager
def _optimised_once(numba):
    """Inside, Numba leaves its LLVM modules as they are; the function this gives runs its pipeline over the whole, once.

    Numba optimises every helper by itself, three times, and then again where it is linked in: a kernel of ten helpers is
    optimised thirty times over. Doing it once, when everything but the entry points is private, halves cold compilation.
    """
    from numba.core.compiler_lock import global_compiler_lock
    codegen = numba.core.registry.cpu_target.target_context.codegen()
    module_passes, builder = codegen._module_pass_manager, machine().llvm.create_pass_builder(
        machine().target, machine().llvm.create_pipeline_tuning_options(speed_level=0))
    nothing = pytypes.SimpleNamespace(run=lambda *ignored: None)

    def optimise(module):
        for options in (dict(loop_vectorize=codegen._loopvect, slp_vectorize=False, opt=codegen._opt_level, cost="cheap"), {}):
            passes, tuned = module_passes(**options)
            passes.run(module, tuned)
        _inline_variants(module, builder)

    with global_compiler_lock:
        codegen._module_pass_manager = codegen._function_pass_manager = lambda **ignored: (nothing, builder)
        try:
            yield optimise
        finally:
            del codegen._module_pass_manager, codegen._function_pass_manager


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


def inspect_ir(function, signature, names=None, compute=None, fastmath=KERNEL_MATH) -> str:
    """The optimised LLVM IR of a kernel, for tests and for the curious."""
    return str(_compile(function, names or {}, compute, tuple(signature), "kernel", False, fastmath))


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
class _MethodDef(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("method", ctypes.c_void_p), ("flags", ctypes.c_int), ("doc", ctypes.c_char_p)]


_METH_FASTCALL = 0x0080
_new_function = ctypes.pythonapi.PyCFunction_NewEx
_new_function.argtypes, _new_function.restype = [ctypes.POINTER(_MethodDef), ctypes.c_void_p, ctypes.c_void_p], ctypes.py_object
_definitions = []                                        # CPython keeps a pointer to each


class Kernel:
    """Machine code: `call(*addresses)` from Python, `address` for other machine code, `name` for people."""

    __slots__ = ("name", "call", "address", "signature")

    def __init__(self, name, call, address, signature):
        self.name, self.call, self.address, self.signature = name, call, address, signature

    def __repr__(self):
        return f"<kernel {self.name}({', '.join(self.signature)})>"


def _python_kernel(function, names, compute, signature):
    body = _bind(function, names, compute)
    kinds = [None if s == "int64" else element_type(s[:-1]) for s in signature]

    def call(*words):
        if len(words) != len(kinds):
            raise TypeError("wrong number of addresses")
        with np.errstate(all="ignore"):
            body(*[int(w) if k is None else Pointer(w, k) for w, k in zip(words, kinds)])

    address = len(PYTHON_KERNELS) + 1
    PYTHON_KERNELS[address] = call
    return Kernel(function.__name__, call, address, signature)


def _load(name, symbol, object_code, signature):
    native, python = machine().load(object_code, symbol)
    definition = _MethodDef(name.encode(), python, _METH_FASTCALL, None)
    _definitions.append(definition)
    return Kernel(name, _new_function(ctypes.byref(definition), None, None), native, signature)


class _Statistics:
    """What the compiler did in this process: kernels compiled, loaded, and seconds spent compiling."""
    compiled = loaded = 0
    seconds = 0.0
    announced = False


statistics = _Statistics()
_kernels: dict[str, Kernel] = {}


def compile_kernel(function, signature, names=None, compute=None, *, nogil=False, fastmath=KERNEL_MATH) -> Kernel:
    """The kernel of a Python function for concrete types, from memory, from the store, or compiled now.

    Args:
        function: a function over pointers and integers that returns nothing.
        signature: one name an argument: `"float32*"` (a pointer; bool, float16 and bfloat16 are words) or `"int64"`.
        names: what global names in the function (and in the helpers it calls) stand for here: a NumPy scalar type
            for a dtype, a `ScalarBody`, a number, another function.
        compute: the compute type of ops and elementary functions that the function names directly.
        nogil: let other Python threads run during a call. Costs 30 ns, so small kernels hold the lock.
        fastmath: LLVM's fast-math flags for the kernel's own arithmetic.
    """
    names, signature = names or {}, tuple(signature)
    with _lock:
        if DISABLE_JIT:
            return _python_kernel(function, names, compute, signature)
        shape = _fingerprint(function, names, compute, frozenset())
        text = "\n".join([machine().toolchain, shape, repr(signature), str(nogil), repr(sorted(fastmath))])
        key = hashlib.sha256(text.encode()).hexdigest()
        kernel = _kernels.get(key)
        if kernel is not None:
            return kernel
        symbol = "k" + key[:40]
        object_code = store.load(key)
        if object_code is None:
            start = time.perf_counter()
            module = _compile(function, names, compute, signature, symbol, nogil, fastmath)
            object_code = machine().target.emit_object(module)
            statistics.compiled += 1
            statistics.seconds += time.perf_counter() - start
            _announce()
            store.save(key, object_code)
        else:
            statistics.loaded += 1
        kernel = _kernels[key] = _load(function.__name__, symbol, object_code, signature)
        return kernel


def _announce():
    """Say once, on a terminal, that the wait is for the first compilation."""
    if statistics.seconds > 1.0 and not statistics.announced:
        statistics.announced = True
        if sys.stderr is not None and sys.stderr.isatty():
            print(f"numtorch: compiling kernels on first use; they are kept in {store.directory()}", file=sys.stderr)
