"""A stand-in for nvmath-python's bindings of cuFFT, cuSOLVER and cuBLAS, on the driver made for tests (fakedriver.py).

Each function has the binding's signature, by which its arguments are checked, and does with NumPy and SciPy what the library's manual
says: column-major matrices, results in place, `info` words, operands that are lost (they are filled with NaN), and scratch memory that
is written all over. It does so as late as the driver may, in the order of the stream of the handle, and touches nothing outside of
blocks of the device's memory.
"""
from __future__ import annotations

import ctypes
import functools
import itertools
import sys
from types import ModuleType

import numpy as np
from numpy.lib.stride_tricks import as_strided
from scipy import linalg

A = "intptr_t a, int lda"
GENERIC = "intptr_t buffer_on_device, size_t workspace_in_bytes_on_device, intptr_t buffer_on_host, size_t workspace_in_bytes_on_host, intptr_t info"
DATA = "int data_type_a, intptr_t a, int64_t lda"
POTRF = f"intptr_t handle, intptr_t params, int uplo, int64_t n, {DATA}, int compute_type"
GEQRF = f"intptr_t handle, intptr_t params, int64_t m, int64_t n, {DATA}, int data_type_tau, intptr_t tau, int compute_type"
SYEV = f"intptr_t handle, intptr_t params, int jobz, int uplo, int64_t n, {DATA}, int data_type_w, intptr_t w, int compute_type"
GEEV = (f"intptr_t handle, intptr_t params, int jobvl, int jobvr, int64_t n, {DATA}, int data_type_w, intptr_t w, int data_type_vl, intptr_t vl, "
        "int64_t ldvl, int data_type_vr, intptr_t vr, int64_t ldvr, int compute_type")
SYTRS = f"intptr_t handle, int uplo, int64_t n, int64_t nrhs, {DATA}, intptr_t ipiv, int data_type_b, intptr_t b, int64_t ldb"
SVD = f"int m, int n, {A}, intptr_t s, intptr_t u, int ldu, intptr_t v, int ldv"
TRSM = "intptr_t handle, int side, int uplo, int trans, int diag, int m, int n, intptr_t alpha, intptr_t a, int lda, intptr_t b, int ldb"
SIGNATURES = {
    "cufft": {
        "create": "", "destroy": "int plan", "get_version": "", "set_auto_allocation": "int plan, int auto_allocate",
        "make_plan_many64": "int plan, int rank, n, inembed, long long istride, long long idist, onembed, long long ostride, long long odist, "
                            "int type, long long batch",
        "set_stream": "int plan, intptr_t stream", "set_work_area": "int plan, intptr_t work_area",
        **dict.fromkeys(("exec_c2c", "exec_z2z"), "int plan, intptr_t idata, intptr_t odata, int direction"),
        **dict.fromkeys(("exec_r2c", "exec_d2z", "exec_c2r", "exec_z2d"), "int plan, intptr_t idata, intptr_t odata")},
    "cusolverDn": {
        "create": "", "destroy": "intptr_t handle", "create_params": "", "set_stream": "intptr_t handle, intptr_t stream_id",
        "xpotrf_buffer_size": POTRF, "xpotrf": f"{POTRF}, {GENERIC}", "xgeqrf_buffer_size": GEQRF, "xgeqrf": f"{GEQRF}, {GENERIC}",
        "xsyevd_buffer_size": SYEV, "xsyevd": f"{SYEV}, {GENERIC}", "xsyev_batched_buffer_size": f"{SYEV}, int64_t batch_size",
        "xsyev_batched": f"{SYEV}, {GENERIC}, int64_t batch_size", "xgeev_buffer_size": GEEV, "xgeev": f"{GEEV}, {GENERIC}",
        "xsytrs_buffer_size": SYTRS, "xsytrs": f"{SYTRS}, {GENERIC}", "create_gesvdj_info": "", "destroy_gesvdj_info": "intptr_t info",
        "?potrf_batched": "intptr_t handle, int uplo, int n, aarray, int lda, intptr_t info_array, int batch_size",
        "?getrf_buffer_size": f"intptr_t handle, int m, int n, {A}",
        "?getrf": f"intptr_t handle, int m, int n, {A}, intptr_t workspace, intptr_t dev_ipiv, intptr_t dev_info",
        "?getrs": f"intptr_t handle, int trans, int n, int nrhs, {A}, intptr_t dev_ipiv, intptr_t b, int ldb, intptr_t dev_info",
        "?gesvdj_buffer_size": f"intptr_t handle, int jobz, int econ, {SVD}, intptr_t params",
        "?gesvdj": f"intptr_t handle, int jobz, int econ, {SVD}, intptr_t work, int lwork, intptr_t info, intptr_t params",
        "?gesvdj_batched_buffer_size": f"intptr_t handle, int jobz, {SVD}, intptr_t params, int batch_size",
        "?gesvdj_batched": f"intptr_t handle, int jobz, {SVD}, intptr_t work, int lwork, intptr_t info, intptr_t params, int batch_size",
        "?sytrf_buffer_size": f"intptr_t handle, int n, {A}",
        "?sytrf": f"intptr_t handle, int uplo, int n, {A}, intptr_t ipiv, intptr_t work, int lwork, intptr_t info",
        "?orgqr_buffer_size": f"intptr_t handle, int m, int n, int k, {A}, intptr_t tau",
        "?orgqr": f"intptr_t handle, int m, int n, int k, {A}, intptr_t tau, intptr_t work, int lwork, intptr_t info"},
    "cublas": {
        "create": "", "destroy": "intptr_t handle", "set_stream": "intptr_t handle, intptr_t stream_id",
        "?getrf_batched": f"intptr_t handle, int n, {A}, intptr_t p, intptr_t info, int batch_size",
        "?getrs_batched": "intptr_t handle, int trans, int n, int nrhs, intptr_t aarray, int lda, intptr_t dev_ipiv, intptr_t barray, int ldb, "
                          "intptr_t info, int batch_size",
        "?trsm": TRSM, "?trsm_batched": f"{TRSM}, int batch_count"},
}
LIMITS = {"int": 1 << 31, "intptr_t": 1 << 63, "int64_t": 1 << 63, "long long": 1 << 63, "size_t": 1 << 64}
LETTERS = {"s": np.float32, "d": np.float64, "c": np.complex64, "z": np.complex128}
KINDS = {0: np.float32, 1: np.float64, 4: np.complex64, 5: np.complex128}
TRANSFORMS = {0x29: (np.complex64, np.complex64, "exec_c2c"), 0x69: (np.complex128, np.complex128, "exec_z2z"), 0x2A: (np.float32, np.complex64, "exec_r2c"),
              0x6A: (np.float64, np.complex128, "exec_d2z"), 0x2C: (np.complex64, np.float32, "exec_c2r"), 0x6C: (np.complex128, np.float64, "exec_z2d")}


class LibraryError(Exception):
    """As cuSOLVERError and its like: no RuntimeError."""


def names():
    """(module, function, signature) for every one, those of four element types each by its letter."""
    for module, functions in SIGNATURES.items():
        for name, signature in functions.items():
            for letter in "sdcz" if name[0] == "?" else ("",):
                full = name.replace("?orgqr", "?ungqr") if letter in ("c", "z") else name
                yield module, full.replace("?", letter), signature, letter, name


def checked(name, signature, arguments):
    wanted = [part.strip() for part in signature.split(",") if part.strip()]
    if len(arguments) != len(wanted):
        raise TypeError(f"{name}({signature}) was given {len(arguments)} arguments")
    for part, value in zip(wanted, arguments):
        kind = part.rpartition(" ")[0]
        if kind and not (type(value) is int and -LIMITS[kind] <= value < LIMITS[kind]):
            raise TypeError(f"{name}: {value!r} for {part}")


class Libraries:
    """The three modules' functions. `fake` is the driver."""

    def __init__(self, fake):
        self.fake, self.numbers, self.handles, self.plans, self.calls = fake, itertools.count(7), {}, {}, []
        self.refused = set()                             # functions that an older version has not

    def modules(self):
        made = {}
        for module, name, signature, letter, key in names():
            bare = "_" + key.strip("?")
            body = functools.partial(self.transform, name) if bare.startswith("_exec") else getattr(self, bare)
            made.setdefault(module, ModuleType(f"nvmath.bindings.{module}")).__dict__[name] = self._entry(name, signature, body, letter)
        return made

    def _entry(self, name, signature, body, letter):
        kinds = (LETTERS[letter],) if letter else ()

        def function(*arguments):
            checked(name, signature, arguments)
            if name in self.refused:
                raise FunctionNotFoundError(f"function {name} is not found")
            self.calls.append(name)
            return body(*kinds, *arguments)
        function.__name__, function.__doc__ = name, f"{name}({signature})\n\nSee the manual."
        return function

    # ------------------------------------------------------------ memory and streams
    def memory(self, address, kind, count):
        """A view of device memory, which must be in one block."""
        if count < 0 or not address:
            raise IndexError("no memory")
        kind = np.dtype(kind)
        start, end = self.fake.block_of(address, self.fake.device)
        if address % kind.itemsize or address + count * kind.itemsize > end:
            raise IndexError(f"{count} {kind} do not fit")
        return np.frombuffer((ctypes.c_char * (count * kind.itemsize)).from_address(address), kind)

    def matrix(self, address, kind, m, n, ld):
        if ld < max(m, 1):
            raise LibraryError("INVALID_VALUE")
        room = self.memory(address, kind, ld * (n - 1) + m if n else 0)
        return as_strided(room, (m, n), (room.itemsize, room.itemsize * ld))

    def table(self, address, count):
        return [int(word) for word in self.memory(address, np.int64, count)]

    def later(self, handle, action):
        """Have an action done in a handle's stream, on the device that is current."""
        if handle not in self.handles:
            raise LibraryError("NOT_INITIALIZED")
        device = self.fake.here.context

        def run():
            before, self.fake.here.context = getattr(self.fake.here, "context", None), device
            try:
                action()
            finally:
                self.fake.here.context = before
        with self.fake.lock:
            self.fake.add(self.handles[handle], run)

    def written_over(self, room, nbytes):
        if nbytes:
            self.memory(room, np.uint8, nbytes)[:] = 0xEE

    def _create(self):
        self.fake.device                                 # a context must be current
        number = next(self.numbers)
        self.handles[number] = None
        return number

    _create_params = _create_gesvdj_info = _create

    def _destroy(self, number):
        del self.handles[number]
        self.plans.pop(number, None)

    _destroy_gesvdj_info = _destroy

    def _set_stream(self, handle, stream):
        self.fake.stream(stream)
        self.handles[handle] = stream

    def _get_version(self):
        return 12000

    # ------------------------------------------------------------ cuFFT
    def _set_auto_allocation(self, plan, automatic):
        assert automatic == 0 and plan in self.handles and plan not in self.plans

    def _make_plan_many64(self, plan, rank, n, inembed, istride, idist, onembed, ostride, odist, kind, batch):
        assert 1 <= rank <= 3 and len(n) == len(inembed) == len(onembed) == rank and min(istride, ostride, idist, odist, batch, *n) > 0
        half = [*n[:-1], n[-1] // 2 + 1]
        source, result, _ = TRANSFORMS[kind]
        for kind_of, embed in ((source, inembed), (result, onembed)):
            held = n if np.dtype(kind_of).kind != "c" or np.dtype(source).kind == np.dtype(result).kind else half
            assert all(e >= h for e, h in zip(embed[1:], held[1:])), (embed, held)
        self.plans[plan] = dict(n=list(n), embed=(list(inembed), list(onembed)), stride=(istride, ostride), distance=(idist, odist), kind=kind,
                                batch=batch, half=half, room=None)
        return 256 * rank

    def _set_work_area(self, plan, room):
        self.plans[plan]["room"] = room

    def lines(self, plan, side, address, kind, shape):
        """The batches of a plan's source (0) or result (1)."""
        steps = [plan["stride"][side]]
        for extent in reversed(plan["embed"][side][1:]):
            steps.insert(0, steps[0] * extent)
        steps.insert(0, plan["distance"][side])
        shape = (plan["batch"], *shape)
        room = self.memory(address, kind, sum((extent - 1) * step for extent, step in zip(shape, steps)) + 1)
        return as_strided(room, shape, [step * room.itemsize for step in steps])

    def transform(self, name, handle, source, result, direction=0):
        plan = self.plans[handle]
        of_source, of_result, routine = TRANSFORMS[plan["kind"]]
        assert routine == name and (source + result) % np.dtype(np.result_type(of_source, np.complex64)).itemsize == 0
        room, axes = plan["room"], tuple(range(1, len(plan["n"]) + 1))
        points = np.prod(plan["n"])

        def action():
            self.written_over(room, 256 * len(axes))
            real = np.dtype(of_source).kind == "f", np.dtype(of_result).kind == "f"
            x = self.lines(plan, 0, source, of_source, plan["half"] if real[1] else plan["n"])
            out = self.lines(plan, 1, result, of_result, plan["half"] if real[0] else plan["n"])
            if real[0]:
                out[...] = np.fft.rfftn(x, axes=axes)
            elif real[1]:
                last = x[..., 0], x[..., -1]
                wrong = [each.imag for each in last[:1 + (plan["n"][-1] % 2 == 0)]] if len(axes) == 1 else []
                value = np.fft.irfftn(x, plan["n"], axes) * points
                value = value + sum(np.abs(each).max() for each in wrong)     # what a library makes of imaginary parts that cannot be
                x[...] = np.nan
                out[...] = value
            else:
                out[...] = np.fft.ifftn(x, axes=axes) * points if direction == 1 else np.fft.fftn(x, axes=axes)
        self.later(handle, action)

    # ------------------------------------------------------------ cuSOLVER: generic routines
    def generic(self, handle, count, room, nbytes, beside, nbytes_beside, size):
        """What a routine's scratch memory must be, which is written over."""
        assert nbytes == size and nbytes_beside == 24
        ctypes.memset(beside, 0xEE, nbytes_beside)
        return lambda: self.written_over(room, nbytes)

    def _xpotrf_buffer_size(self, handle, params, uplo, n, kind, a, lda, compute):
        assert kind == compute and params in self.handles
        return 64 + n, 24

    def _xpotrf(self, handle, params, uplo, n, kind, a, lda, compute, room, nbytes, beside, more, info):
        spoil = self.generic(handle, 1, room, nbytes, beside, more, 64 + n)

        def action():
            spoil()
            self.factor(KINDS[kind], uplo, n, a, lda, info)
        self.later(handle, action)

    def factor(self, kind, uplo, n, a, lda, info):
        x = self.matrix(a, kind, n, n, lda)
        routine, = linalg.get_lapack_funcs(("potrf",), dtype=kind)
        factor, code = routine(np.array(x), lower=uplo == 0, clean=0)
        half = np.tril(np.ones((n, n), bool)) if uplo == 0 else np.triu(np.ones((n, n), bool))
        x[half] = factor[half] if code == 0 else 77
        self.memory(info, np.int32, 1)[0] = code

    def _potrf_batched(self, kind, handle, uplo, n, table, lda, info, count):
        def action():
            for i, a in enumerate(self.table(table, count)):
                self.factor(kind, uplo, n, a, lda, info + 4 * i)
        self.later(handle, action)

    def _xgeqrf_buffer_size(self, handle, params, m, n, kind, a, lda, of_tau, tau, compute):
        assert kind == compute == of_tau
        return 128 + m, 24

    def _xgeqrf(self, handle, params, m, n, kind, a, lda, of_tau, tau, compute, room, nbytes, beside, more, info):
        spoil = self.generic(handle, 1, room, nbytes, beside, more, 128 + m)

        def action():
            spoil()
            x = self.matrix(a, KINDS[kind], m, n, lda)
            routine, = linalg.get_lapack_funcs(("geqrf",), dtype=KINDS[kind])
            x[...], found, _, code = routine(np.array(x))
            self.memory(tau, KINDS[kind], min(m, n))[:] = found
            self.memory(info, np.int32, 1)[0] = code
        self.later(handle, action)

    def _orgqr_buffer_size(self, kind, handle, m, n, k, a, lda, tau):
        return 32 + n

    def _orgqr(self, kind, handle, m, n, k, a, lda, tau, room, length, info):
        assert length == 32 + n and m >= n >= k

        def action():
            self.written_over(room, length * np.dtype(kind).itemsize)
            x = self.matrix(a, kind, m, n, lda)
            routine, = linalg.get_lapack_funcs(("ungqr" if np.dtype(kind).kind == "c" else "orgqr",), dtype=kind)
            x[...], _, code = routine(np.array(x), self.memory(tau, kind, k))
            self.memory(info, np.int32, 1)[0] = code
        self.later(handle, action)

    def _xsyevd_buffer_size(self, handle, params, vectors, uplo, n, kind, a, lda, of_w, w, compute):
        assert kind == compute and of_w == kind % 4
        return 512 + n, 24

    def _xsyev_batched_buffer_size(self, *arguments):
        return self._xsyevd_buffer_size(*arguments[:-1])

    def eigen(self, vectors, uplo, n, kind, a, lda, w, info):
        x = self.matrix(a, KINDS[kind], n, n, lda)
        self.memory(info, np.int32, 1)[0] = 0
        half = np.tril(x) if uplo == 0 else np.triu(x)
        if not np.isfinite(half).all():
            self.memory(info, np.int32, 1)[0] = n
            return
        values, found = np.linalg.eigh(half, "L" if uplo == 0 else "U")
        self.memory(w, KINDS[kind % 4], n)[:] = values
        x[...] = found if vectors else np.nan

    def _xsyevd(self, handle, params, vectors, uplo, n, kind, a, lda, of_w, w, compute, room, nbytes, beside, more, info):
        spoil = self.generic(handle, 1, room, nbytes, beside, more, 512 + n)

        def action():
            spoil()
            self.eigen(vectors, uplo, n, kind, a, lda, w, info)
        self.later(handle, action)

    def _xsyev_batched(self, handle, params, vectors, uplo, n, kind, a, lda, of_w, w, compute, room, nbytes, beside, more, info, count):
        spoil, size = self.generic(handle, count, room, nbytes, beside, more, 512 + n), np.dtype(KINDS[kind]).itemsize

        def action():
            spoil()
            for i in range(count):
                self.eigen(vectors, uplo, n, kind, a + i * n * lda * size, lda, w + i * n * np.dtype(KINDS[kind % 4]).itemsize, info + 4 * i)
        self.later(handle, action)

    def _xgeev_buffer_size(self, handle, params, left, right, n, kind, a, lda, of_w, w, of_vl, vl, ldvl, of_vr, vr, ldvr, compute):
        if params not in self.handles:
            raise LibraryError("NOT_INITIALIZED")
        assert left == 0 and kind == of_vl == of_vr == compute and of_w == 4 + kind % 4 and ldvl >= 1
        return 1024 + n, 24

    def _xgeev(self, handle, params, left, right, n, kind, a, lda, of_w, w, of_vl, vl, ldvl, of_vr, vr, ldvr, compute, room, nbytes, beside, more,
               info):
        spoil = self.generic(handle, 1, room, nbytes, beside, more, 1024 + n)

        def action():
            spoil()
            x = self.matrix(a, KINDS[kind], n, n, lda)
            routine, = linalg.get_lapack_funcs(("geev",), dtype=KINDS[kind])
            *values, _, found, code = routine(np.array(x), compute_vl=0)
            x[...] = np.nan
            self.memory(w, KINDS[of_w], n)[:] = values[0] if len(values) == 1 else values[0] + 1j * values[1]
            if right:
                self.matrix(vr, KINDS[kind], n, n, ldvr)[...] = found
            self.memory(info, np.int32, 1)[0] = code
        self.later(handle, action)

    def _xsytrs_buffer_size(self, handle, uplo, n, k, kind, a, lda, pivots, of_b, b, ldb):
        assert kind == of_b and uplo == 0
        return 64 + n, 24

    def _xsytrs(self, handle, uplo, n, k, kind, a, lda, pivots, of_b, b, ldb, room, nbytes, beside, more, info):
        spoil = self.generic(handle, 1, room, nbytes, beside, more, 64 + n)

        def action():
            spoil()
            x, sides = self.matrix(a, KINDS[kind], n, n, lda), self.matrix(b, KINDS[kind], n, k, ldb)
            routine, = linalg.get_lapack_funcs(("sytrs",), dtype=KINDS[kind])
            exchanged = self.memory(pivots, np.int64, n).astype(np.int32)
            sides[...], code = routine(np.array(x), exchanged, np.array(sides), lower=1)
            self.memory(info, np.int32, 1)[0] = code
        self.later(handle, action)

    # ------------------------------------------------------------ cuSOLVER: routines by type
    def _getrf_buffer_size(self, kind, handle, m, n, a, lda):
        return 16 + m

    def lu(self, kind, m, n, a, lda, pivots, info):
        x = self.matrix(a, kind, m, n, lda)
        routine, = linalg.get_lapack_funcs(("getrf",), dtype=kind)
        x[...], found, code = routine(np.array(x))
        self.memory(pivots, np.int32, min(m, n))[:] = found + 1
        self.memory(info, np.int32, 1)[0] = code

    def _getrf(self, kind, handle, m, n, a, lda, room, pivots, info):
        def action():
            self.written_over(room, (16 + m) * np.dtype(kind).itemsize)
            self.lu(kind, m, n, a, lda, pivots, info)
        self.later(handle, action)

    def _getrf_batched(self, kind, handle, n, table, lda, pivots, info, count):
        def action():
            for i, a in enumerate(self.table(table, count)):
                self.lu(kind, n, n, a, lda, pivots + 4 * n * i, info + 4 * i)
        self.later(handle, action)

    def solved(self, kind, trans, n, k, a, lda, pivots, b, ldb):
        x, sides = self.matrix(a, kind, n, n, lda), self.matrix(b, kind, n, k, ldb)
        sides[...] = linalg.lu_solve((np.array(x), self.memory(pivots, np.int32, n) - 1), np.array(sides), trans=trans, check_finite=False)

    def _getrs(self, kind, handle, trans, n, k, a, lda, pivots, b, ldb, info):
        def action():
            self.solved(kind, trans, n, k, a, lda, pivots, b, ldb)
            self.memory(info, np.int32, 1)[0] = 0
        self.later(handle, action)

    def _getrs_batched(self, kind, handle, trans, n, k, table, lda, pivots, sides, ldb, info, count):
        ctypes.c_int.from_address(info).value = 0        # of the host

        def action():
            for i, (a, b) in enumerate(zip(self.table(table, count), self.table(sides, count))):
                self.solved(kind, trans, n, k, a, lda, pivots + 4 * n * i, b, ldb)
        self.later(handle, action)

    def _sytrf_buffer_size(self, kind, handle, n, a, lda):
        return 48 + n

    def _sytrf(self, kind, handle, uplo, n, a, lda, pivots, room, length, info):
        assert length == 48 + n and uplo == 0

        def action():
            self.written_over(room, length * np.dtype(kind).itemsize)
            x = self.matrix(a, kind, n, n, lda)
            routine, = linalg.get_lapack_funcs(("sytrf",), dtype=kind)
            found, exchanged, code = routine(np.array(x), lower=1)
            half = np.tril(np.ones((n, n), bool))
            x[half] = found[half]
            self.memory(pivots, np.int32, n)[:] = exchanged
            self.memory(info, np.int32, 1)[0] = code
        self.later(handle, action)

    def _gesvdj_buffer_size(self, kind, handle, vectors, economy, m, n, a, lda, s, u, ldu, v, ldv, params):
        return 96 + m + n

    def _gesvdj_batched_buffer_size(self, kind, handle, vectors, m, n, a, lda, s, u, ldu, v, ldv, params, count):
        assert max(m, n) <= 32
        return 96 + m + n

    def singular(self, kind, vectors, economy, m, n, a, lda, s, u, ldu, v, ldv, info):
        x, k = self.matrix(a, kind, m, n, lda), min(m, n)
        self.memory(info, np.int32, 1)[0] = 0
        if not np.isfinite(x).all():
            self.memory(info, np.int32, 1)[0] = k + 1
            return
        left, values, right = np.linalg.svd(x, not economy)
        self.memory(s, np.zeros(1, kind).real.dtype, k)[:] = values
        x[...] = np.nan
        if vectors:
            self.matrix(u, kind, m, k if economy else m, ldu)[...] = left
            self.matrix(v, kind, n, k if economy else n, ldv)[...] = right.conj().T

    def _gesvdj(self, kind, handle, vectors, economy, m, n, a, lda, s, u, ldu, v, ldv, room, length, info, params):
        assert length == 96 + m + n and params in self.handles

        def action():
            self.written_over(room, length * np.dtype(kind).itemsize)
            self.singular(kind, vectors, economy, m, n, a, lda, s, u, ldu, v, ldv, info)
        self.later(handle, action)

    def _gesvdj_batched(self, kind, handle, vectors, m, n, a, lda, s, u, ldu, v, ldv, room, length, info, params, count):
        assert length == 96 + m + n and params in self.handles
        size = np.dtype(kind).itemsize

        def action():
            self.written_over(room, length * size)
            for i in range(count):
                self.singular(kind, vectors, False, m, n, a + i * lda * n * size, lda, s + i * min(m, n) * np.zeros(1, kind).real.itemsize,
                              u + i * ldu * m * size, ldu, v + i * ldv * n * size, ldv, info + 4 * i)
        self.later(handle, action)

    # ------------------------------------------------------------ cuBLAS
    def triangle(self, kind, side, uplo, trans, diag, m, n, alpha, a, lda, b, ldb):
        order = n if side else m
        x, sides = self.matrix(a, kind, order, order, lda), self.matrix(b, kind, m, n, ldb)
        lower = uplo == 0
        full = np.tril(x) if lower else np.triu(x)
        if diag:
            np.fill_diagonal(full, 1)
        full = (full, full.T, full.conj().T)[trans]
        lower = lower != bool(trans)
        with np.errstate(all="ignore"):
            given = np.array(sides) * alpha
            found = substituted(full.T, given.T, not lower).T if side else substituted(full, given, lower)
        sides[...] = found

    def _trsm(self, kind, handle, side, uplo, trans, diag, m, n, alpha, a, lda, b, ldb):
        scale = np.frombuffer((ctypes.c_char * np.dtype(kind).itemsize).from_address(alpha), kind)[0]
        self.later(handle, lambda: self.triangle(kind, side, uplo, trans, diag, m, n, scale, a, lda, b, ldb))

    def _trsm_batched(self, kind, handle, side, uplo, trans, diag, m, n, alpha, table, lda, sides, ldb, count):
        scale = np.frombuffer((ctypes.c_char * np.dtype(kind).itemsize).from_address(alpha), kind)[0]

        def action():
            for a, b in zip(self.table(table, count), self.table(sides, count)):
                self.triangle(kind, side, uplo, trans, diag, m, n, scale, a, lda, b, ldb)
        self.later(handle, action)


def substituted(a, b, lower):
    x = np.array(b)
    for i in range(len(a)) if lower else range(len(a) - 1, -1, -1):
        others = slice(0, i) if lower else slice(i + 1, None)
        x[i] = (x[i] - a[i, others] @ x[others]) / a[i, i]
    return x


class FunctionNotFoundError(RuntimeError):
    """What the bindings raise for a function that the installed library has not."""


def install(fake) -> Libraries:
    """Have this process find the bindings, for its driver."""
    from numtorch.kernels.cuda import libraries as used
    used.SIMULATED = False
    libraries = Libraries(fake)
    package, bindings = ModuleType("nvmath"), ModuleType("nvmath.bindings")
    package.__path__, bindings.__path__, package.bindings = [], [], bindings
    sys.modules.update({"nvmath": package, "nvmath.bindings": bindings})
    for name, module in libraries.modules().items():
        setattr(bindings, name, module)
        sys.modules[f"nvmath.bindings.{name}"] = module
        inside = ModuleType(f"nvmath.bindings._internal.{name}")
        inside._inspect_function_pointers = lambda name=name, module=module: {
            f"__{used.symbol(name, function)}": int(function not in libraries.refused) for function in vars(module)}
        sys.modules[inside.__name__] = inside
    return libraries
