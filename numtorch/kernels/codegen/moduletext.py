"""LLVM IR as text: the entries of a kernel around the function that Numba made, and notes for the loop vectoriser."""
from __future__ import annotations

import re
import sys

# Py_INCREF(Py_None) as C's macro does it, which costs less than the function. None is immortal from Python 3.12 on.
_ANOTHER_NONE = "" if sys.version_info >= (3, 12) else f"""\
  %count_at = getelementptr i8, ptr @_Py_NoneStruct, i64 {object.__basicsize__ - 16}
  %references = load i64, ptr %count_at
  %one_more = add i64 %references, 1
  store i64 %one_more, ptr %count_at
"""


def entry_points(symbol, inner, signature, nogil):
    """LLVM IR of the native entry `symbol` and the Python entry `symbol + "_py"` around Numba's function `inner`.

    The Python entry calls the native one, even a short one: with a copy of the kernel in it, all would be compiled twice.
    """
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
declare i32 @PyErr_BadArgument()
@_Py_NoneStruct = external global i8
define void @"{symbol}"({words}) noinline {{
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
{restore}{_ANOTHER_NONE}  ret ptr @_Py_NoneStruct
refuse:
  %ignored = call i32 @PyErr_BadArgument()
  ret ptr null
}}
"""


def with_loops_interleaved(text, name, count):
    """LLVM IR in which the loops of one function say how many of their vectors the vectoriser shall take side by side."""
    start = re.search(rf'^define [^\n]*@"?{re.escape(name)}"?\(', text, re.M).start()
    end = text.index("\n}", start)
    seen, lines, notes = set(), [], []
    for line in text[start:end].split("\n"):
        label = re.match(r'("?[\w.$-]+"?):', line)
        if label:
            seen.add(label[1])
        jump = re.fullmatch(r'  br label %("?[\w.$-]+"?)', line)
        if jump and jump[1] in seen:                     # back to where the loop begins
            identity = len(notes) + 90000
            line += f", !llvm.loop !{identity}"
            notes.append(f"!{identity} = distinct !{{!{identity}, !89999}}\n")
        lines.append(line)
    notes.append(f'!89999 = !{{!"llvm.loop.interleave.count", i32 {count}}}\n')
    return text[:start] + "\n".join(lines) + text[end:] + "\n" + "".join(notes)
