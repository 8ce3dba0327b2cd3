"""Scripts as libraries, called from here, and compared with the scripts as Python runs them."""
import ctypes
import math

import numpy as np

import numtorch as torch
from numtorch.tree import flatten

NUMBERS = {bool: (ctypes.c_uint8, np.uint8), int: (ctypes.c_int64, np.int64), float: (ctypes.c_double, np.float64)}
CODES = {OverflowError: 6, ZeroDivisionError: 7, ValueError: 8, IndexError: 4, RuntimeError: 4}


class Library:
    """An exported script, called from here."""

    def __init__(self, folder, function, *example):
        self.function, self.example = function, example
        self.files = torch.jit.export_native(function, example, str(folder / "model"))
        self.header = (folder / "model.h").read_text()
        self.run = ctypes.CDLL(self.files["library"]).model_run
        size = next(line for line in self.header.splitlines() if "WORKSPACE_SIZE" in line)
        self.workspace = ctypes.create_string_buffer(int(size.partition("size_t)")[2].partition(")")[0]))
        self.batch = int(self.header.partition("_ROWS ")[2].split()[0])
        self.is_free = "batch may be any number" in self.header

    def __call__(self, *args, threads=1, rows=None):
        """The code, and the results as arrays. `rows`: their number, where that is not the example's."""
        with torch.no_grad():
            results = flatten(self.function(*self.example))[0]
        outputs = [np.zeros((*([] if rows is None else [max(rows, 0)]), *each.shape[rows is not None:]), each.numpy().dtype)
                   if isinstance(each, torch.Tensor) else np.zeros((), NUMBERS[type(each)][1]) for each in results]
        given = [ctypes.c_void_p(each.contiguous().data_ptr()) if isinstance(each, torch.Tensor) else NUMBERS[type(each)][0](each)
                 for each in args]
        code = self.run(ctypes.c_int64(self.batch if rows is None else rows), *given, *[ctypes.c_void_p(each.ctypes.data) for each in outputs], self.workspace,
                        ctypes.c_size_t(len(self.workspace)), ctypes.c_int(threads))
        return code, outputs

    def check(self, *args, threads=(1, 2)):
        """Compare with the script, bit for bit; where that raises, with the error's code."""
        try:
            with torch.no_grad():
                expected, wrong = flatten(self.function(*args))[0], None
        except tuple(CODES) as error:
            wrong = next(code for kind, code in CODES.items() if isinstance(error, kind))
        for count in threads:
            code, found = self(*args, threads=count)
            assert code == (wrong or 0), (code, wrong)
            for a, b in zip(found, expected if wrong is None else ()):
                if not isinstance(b, torch.Tensor):
                    b = np.asarray(b, NUMBERS[type(b)][1])
                    assert math.copysign(1, a) == math.copysign(1, b) or b != b
                np.testing.assert_array_equal(a, b if isinstance(b, np.ndarray) else b.numpy())
