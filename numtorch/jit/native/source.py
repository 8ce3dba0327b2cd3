"""A program as C: tables of numbers, one for each piece, the few functions that walk them, and what calls these: blocks of rows, or
the control flow of a script (controlsource.py)."""
from __future__ import annotations

import math
from typing import Any, NamedTuple

from .arithmetic import ELEMENTS, HELPERS
from .control import FIRST_MESSAGE
from .controlsource import control_of
from .recording import Assert, Call, Copy, Run, Store
from .scriptrows import ScriptProgram
from .words import INPUTS

ERRORS = (("OK", "done"), ("NULL", "a pointer is null"), ("WORKSPACE", "the workspace is too small"),
          ("THREADS", "the number of threads is not positive, or one could not be started"),
          ("INDEX", "an index is out of range, or an integer is divided by 0"),
          ("BATCH", "the library is for another number of rows"),
          ("OVERFLOW", "an integer does not fit 64 bits, or a float is too large"),
          ("ZERO_DIVISION", "division by zero"), ("VALUE", "a number that a function is not defined for"))
NUMBERS = {"bool": "uint8_t", "int": "int64_t", "float": "double"}
MOST_WORDS = 24
_STORE, _ASSERT, _RUN, _COPY = range(4)

_RUNNER = r"""
struct piece { const number *code; number steps; int wide; };       /* wide: some step has parts that run side by side */
static const struct piece pieces[] = {PIECE_TABLE};

struct run {
  const char *base[BASES];
FIELDS
  const struct piece *piece;                 /* what all threads run next; null at the end */
  int threads;
  _Atomic int failed;                        /* the phase in which an index was out of range, or -1 */
  pthread_mutex_t gate;                      /* held until all threads are there */
  pthread_barrier_t barrier;
};

struct worker {
  struct run *run;
  int number;
  pthread_t thread;
};

static number at(const char *const *base, const number *code) { return (number)(intptr_t)base[code[0]] + code[1]; }

/* One kernel, whose arguments are 64-bit words. */
static void call(void (*f)(void), const number *w, number count) {
  switch (count) {
CASES
  }
}

/* One part of a step: calls one after the other, until a word is not 0. Gives the end of its code. */
static const number *run_part(const char *const *base, const number *code, int runs) {
  number words[MOST_WORDS], calls = *code++;
  for (; calls > 0; calls--) {
    number f = code[0], count = code[1];
    if (runs) {
      for (number i = 0; i < count; i++) words[i] = at(base, code + 2 + 2 * i);
      if (f >= 0) call(kernels[f], words, count);
      else if (*(const number *)(intptr_t)words[0] != 0) runs = 0;
    }
    code += 2 + 2 * count;
  }
  return code;
}

/* A piece, as one of several threads: the parts of a step side by side, what has one part by the first thread. All meet where parts
   begin and end, and behind the piece: between two meetings is a phase. */
static void walk(struct run *run, const struct piece *piece, int me, int threads) {
  const char *const *base = run->base;
  const number *code = piece->code;
  int phase = 0, runs = me == 0;
  for (number i = 0; i < piece->steps; i++) {
    number kind = code[0], meets = code[1];
    code += 2;
    if (kind == 2) {
      number parts = *code++;
      for (number part = 0; part < parts; part++)
        code = run_part(base, code, parts > 1 ? part % threads == me : runs);
    } else {
      if (runs) {
        if (kind == 0) *(number *)(intptr_t)at(base, code) = at(base, code + 2);
        else if (kind == 3) memcpy((void *)(intptr_t)at(base, code), (void *)(intptr_t)at(base, code + 2), (size_t)code[4]);
        else if (*(const number *)(intptr_t)at(base, code) != 0) { run->failed = phase; runs = 0; }
      }
      code += kind == 1 ? 2 : kind == 0 ? 4 : 5;
    }
    if (meets && threads > 1) pthread_barrier_wait(&run->barrier);
    if (meets) {
      if (run->failed == phase) return;
      phase++;
    }
  }
}

/* A piece, as the first thread, which decides what is run. The others wait, and run the pieces that have something for them. */
static int run_piece(struct run *run, const struct piece *piece) {
  if (run->threads > 1 && piece->wide) {
    run->piece = piece;
    pthread_barrier_wait(&run->barrier);
    walk(run, piece, 0, run->threads);
  } else walk(run, piece, 0, 1);
  return run->failed < 0 ? NAME_OK : NAME_INDEX;
}

static void *work(void *given) {
  struct worker *me = given;
  struct run *run = me->run;
  pthread_mutex_lock(&run->gate);
  pthread_mutex_unlock(&run->gate);
  while (run->threads > 0) {
    pthread_barrier_wait(&run->barrier);
    if (!run->piece) break;
    walk(run, run->piece, me->number, run->threads);
  }
  return 0;
}

CONTROL
static int run_all(struct run *run, int threads) {
  struct worker workers[MOST_THREADS];
  int started = 1, error;
  run->threads = 1;
  if (threads == 1 || MOST_THREADS == 1) return control(run);
  if (pthread_mutex_init(&run->gate, 0) != 0) return NAME_THREADS;
  pthread_mutex_lock(&run->gate);
  for (; started < threads && started < MOST_THREADS; started++) {
    workers[started].run = run;
    workers[started].number = started;
    if (pthread_create(&workers[started].thread, 0, work, &workers[started]) != 0) break;   /* then there are fewer */
  }
  int there = pthread_barrier_init(&run->barrier, 0, (unsigned)started) == 0;
  run->threads = there ? started : 0;
  pthread_mutex_unlock(&run->gate);
  error = there ? control(run) : NAME_THREADS;
  run->piece = 0;
  if (there && started > 1) pthread_barrier_wait(&run->barrier);
  for (int i = 1; i < started; i++) pthread_join(workers[i].thread, 0);
  if (there) pthread_barrier_destroy(&run->barrier);
  pthread_mutex_destroy(&run->gate);
  return error;
}
"""
_ROWS = r"""
/* Blocks of rows, the largest first; one of no rows where the program is for none. */
static int control(struct run *run) {
  const char *first[ARGUMENTS];
  number row = 0;
  memcpy(first, run->base, sizeof first);
  for (int p = 0; p < PLANS; p++)
    for (int once = 1; run->batch - row >= rows[p] && (once || row < run->batch); row += rows[p], once = 0) {
      for (int b = 0; b < ARGUMENTS; b++) run->base[b] = (const char *)((intptr_t)first[b] + row * row_bytes[b]);
      int error = RUN_PLAN;
      if (error) return error;
    }
  return NAME_OK;
}
"""


def code_of(steps: list, numbers: dict[int, int]) -> list[int]:
    """A piece as numbers.

    Args:
        steps: of it.
        numbers: of kernels, by their addresses.
    """
    code: list[int] = []
    wide = [isinstance(step, Run) and len(step.parts) > 1 for step in steps]
    for step, meets in zip(steps, [a or b for a, b in zip(wide, [*wide[1:], True])]):
        if isinstance(step, Store):
            code += [_STORE, meets, *step.target, *step.value]
        elif isinstance(step, Assert):
            code += [_ASSERT, meets, *step.word]
        elif isinstance(step, Copy):
            code += [_COPY, meets, *step.target, *step.source, step.size]
        elif isinstance(step, Run):
            code += [_RUN, meets, len(step.parts)]
            for part in step.parts:
                code.append(len(part))
                for each in part:
                    words = each.words if isinstance(each, Call) else [each.word]
                    code += [numbers[each.native] if isinstance(each, Call) else -1, len(words)]
                    for word in words:
                        code += word
    return list(map(int, code))


class Argument(NamedTuple):
    """An argument of the library's function."""

    name: str
    kind: str                                            # C's name of an element's type
    is_input: bool
    is_number: bool                                      # and, where it is an input, given by value
    shape: tuple                                         # of a row, where the number of rows is free
    count: int                                           # elements of that
    size: int                                            # bytes of that

    @property
    def by_value(self) -> bool:
        return self.is_input and self.is_number


def arguments_of(program: Any) -> list[Argument]:
    """The arguments, inputs first."""
    arguments = []
    for is_input, kinds, stem in ((True, program.inputs, "input"), (False, program.outputs, "output")):
        for i, layout in enumerate(kinds):
            name = f"{stem}{i}" if len(kinds) > 1 else stem
            if isinstance(layout, str):
                arguments.append(Argument(name, NUMBERS[layout], is_input, True, (), 1, 0))
                continue
            kind = str(layout.dtype).removeprefix("torch.")
            shape = tuple(layout.shape)[program.fixed is None:]
            pairs = 2 if kind.startswith("complex") else 1
            count = math.prod(shape)
            arguments.append(Argument(name, ELEMENTS[kind], is_input, False, shape, count * pairs, count * layout.dtype.itemsize))
    return arguments


def prototype(name: str, program: Any) -> str:
    """The declaration of the function that runs the program.

    Args:
        name: of the library.
        program: what it does.
    """
    given = [f"{each.kind} {each.name}" if each.by_value else f"{'const ' if each.is_input else ''}{each.kind} *{each.name}"
             for each in arguments_of(program)]
    return f"int {name}_run(int64_t batch, {', '.join(given)}, void *workspace, size_t workspace_size, int threads)"


def header(name: str, program: Any, note: str) -> str:
    """The header.

    Args:
        name: of the library.
        program: what it does.
        note: where it runs.
    """
    big = name.upper()
    shapes = "\n".join(
        f"   {each.name}: {each.kind}, a number" if each.is_number else f"   {each.name}: {each.kind}, shape "
        f"{tuple(each.shape) if program.fixed else '(batch' + ''.join(f', {n}' for n in each.shape) + ')'}, row-major"
        for each in arguments_of(program)
    )
    codes = "\n".join([*[f"#define {big}_{code} {i} /* {text} */" for i, (code, text) in enumerate(ERRORS)],
                       *[f"#define {big}_RAISED_{i} {FIRST_MESSAGE + i} /* {_comment(text)} */"
                         for i, text in enumerate(program.messages)]])
    rows = f"Sizes are fixed, batch is {program.batch}: {program.fixed}." if program.fixed else \
        f"batch may be any number{' from 1 on' if program.least_rows else ''}: rows are computed in blocks of {program.batch}, " \
        f"and the rest one by one."
    return f"""/* {name}: a program that numtorch exported. {note}
   {rows}

{shapes}
*/
#ifndef {big}_H
#define {big}_H
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {{
#endif

{codes}
#define {big}_ROWS {program.batch} /* the example's batch */
#define {big}_WORKSPACE_SIZE ((size_t){program.workspace + 64}) /* bytes of scratch memory that a call needs */

/* Computes the outputs. Calls with workspaces of their own may run side by side. `threads` is how many threads a call may use. */
{prototype(name, program)};

#ifdef __cplusplus
}}
#endif
#endif
"""


def library(name: str, program: Any, symbols: list[tuple[int, str]], data_file: str) -> str:
    """The library's C.

    Args:
        name: of the library.
        program: what it does.
        symbols: address and symbol of each kernel.
        data_file: the file of its data.
    """
    big, arguments = name.upper(), arguments_of(program)
    numbers = {address: i for i, (address, _) in enumerate(symbols)}
    tables, pieces = [], []
    for i, steps in enumerate(program.pieces):
        code = code_of(steps, numbers) or [0]
        lines = ",\n  ".join(", ".join(map(str, code[at:at + 16])) for at in range(0, len(code), 16))
        tables.append(f"static const number steps{i}[] = {{\n  {lines}\n}};")
        wide = any(isinstance(step, Run) and len(step.parts) > 1 for step in steps)
        pieces.append(f"{{steps{i}, {len(steps)}, {int(wide)}}}")
    most = max([len(step.parts) for steps in program.pieces for step in steps if isinstance(step, Run)], default=1)
    cases = "\n".join(f"    case {n}: ((void (*)({', '.join(['number'] * n)}))f)({', '.join(f'w[{i}]' for i in range(n))}); break;"
                      for n in range(1, MOST_WORDS + 1))
    nulls = " || ".join(f"!{each.name}" for each in arguments if each.count and not each.by_value) or "0"
    sets = "\n".join(f"  run.{each.name} = {each.name};" if each.by_value else
                     f"  run.base[{INPUTS + i}] = (const char *){each.name};" for i, each in enumerate(arguments))
    wrong = f"batch != {program.batch}" if program.fixed else f"batch < {program.least_rows}"
    steps = ", ".join(str(each.size if program.fixed is None else 0) for each in arguments)
    fields = "\n".join(["  number batch;", *[f"  {each.kind} {each.name};" for each in arguments if each.by_value]])
    if isinstance(program, ScriptProgram):
        names = ["control"] if program.fixed else ["control0", "control1"]
        by_value = [f"run->{each.name}" for each in arguments if each.by_value]
        control = HELPERS + "".join(control_of(plan, by_value, each) for each, (_, plan) in zip(names, program.plans))
        run_plan = "p == 0 ? control0(run) : control1(run)"
    else:
        control, run_plan = "", "run_piece(run, &pieces[p])"
    if not isinstance(program, ScriptProgram) or program.fixed is None:
        control += f"static const number rows[] = {{{', '.join(str(rows) for rows, _ in program.plans)}}};\n" + \
            f"static const number row_bytes[ARGUMENTS] = {{{', '.join(['0'] * INPUTS + [steps])}}};\n" + \
            _ROWS.replace("PLANS", str(len(program.plans))).replace("RUN_PLAN", run_plan)
    runner = _RUNNER.replace("CASES", cases).replace("FIELDS", fields).replace("CONTROL", control).replace("NAME_", f"{big}_")
    externs = "".join(f"extern void {symbol}(void);\n" for _, symbol in symbols)
    return f"""#include "{name}.h"
#include <math.h>
#include <pthread.h>
#include <string.h>
{externs}
typedef int64_t number;
static void (*const kernels[])(void) = {{{", ".join([symbol for _, symbol in symbols] or ["0"])}}};
{chr(10).join(tables)}
#define PIECES {len(pieces)}
#define ARGUMENTS {INPUTS + len(arguments)}
#define BASES {INPUTS + len(arguments) + program.pointers}
#define MOST_WORDS {MOST_WORDS}
#define MOST_THREADS {most}

__asm__(".section .data.rel.ro,\\"aw\\"\\n.balign 64\\n{name}_data:\\n"
{_data(name, program.data, data_file)}
  ".quad 0\\n.text");
extern const char {name}_data[] __attribute__((visibility("hidden")));

/* The kernels' entries for Python are here too, and nobody calls them. */
void *_Py_NoneStruct __attribute__((visibility("hidden")));
#define UNUSED(function) __attribute__((visibility("hidden"))) void *function(void) {{ return 0; }}
UNUSED(PyLong_AsVoidPtr) UNUSED(PyEval_SaveThread) UNUSED(PyEval_RestoreThread) UNUSED(Py_IncRef) UNUSED(PyErr_BadArgument)
{runner.replace("PIECE_TABLE", ", ".join(pieces) or "{0, 0, 0}")}
__attribute__((visibility("default")))
{prototype(name, program)} {{
  struct run run;
  if ({wrong}) return {big}_BATCH;
  if (!workspace || {nulls}) return {big}_NULL;
  if (workspace_size < {big}_WORKSPACE_SIZE) return {big}_WORKSPACE;
  if (threads < 1) return {big}_THREADS;
  run.base[0] = 0;
  run.base[1] = {name}_data;
  run.base[2] = (const char *)(((uintptr_t)workspace + 63) & ~(uintptr_t)63);
{sets}
  run.batch = batch;
  run.failed = -1;
  return run_all(&run, threads);
}}
"""


def _comment(text):
    return text.replace("*/", "* /").replace("\n", " ")


def _data(name, data, data_file):
    """The data as the assembler has it: bytes of a file, and addresses of places in it between them."""
    lines, at = [], 0
    for place in [*sorted(data.relocations), len(data.content)]:
        if place > at:
            lines.append(f'  ".incbin \\"{data_file}\\", {at}, {place - at}\\n"')
        if place < len(data.content):
            lines.append(f'  ".quad {name}_data + {data.relocations[place]}\\n"')
        at = place + 8
    return "\n".join(lines)


def example(name: str, program: Any) -> str:
    """A program that calls the library.

    Args:
        name: of the library.
        program: what it does.
    """
    big, arguments = name.upper(), arguments_of(program)
    files = " ".join(f"{each.name}.bin" for each in arguments)
    rows = "" if program.fixed else "(batch < 0 ? 0 : (size_t)batch) * "
    buffers = "\n".join(f"  size_t {each.name}_size = {'' if each.is_number else rows}{each.count} * sizeof({each.kind});\n"
                        f"  {each.kind} *{each.name} = malloc({each.name}_size + 1);" for each in arguments)
    given = ", ".join(f"*{each.name}" if each.by_value else each.name for each in arguments)
    moves = {
        is_input: "\n".join(
            f'  if (!transfer(argv[{i + 3}], "{"r" if is_input else "w"}b", {each.name}, {each.name}_size)) return 2;'
            for i, each in enumerate(arguments)
            if each.is_input is is_input
        )
        for is_input in (True, False)
    }
    frees = " ".join(f"free({each.name});" for each in arguments)
    missing = " || ".join(f"!{each}" for each in (*[each.name for each in arguments], "workspace"))
    return f"""/* {name}_example THREADS BATCH {files}: reads the inputs' elements from files, and writes those of the outputs. */
#include <stdio.h>
#include <stdlib.h>
#include "{name}.h"

static int transfer(const char *path, const char *mode, void *elements, size_t size) {{
  FILE *file = fopen(path, mode);
  if (!file) {{ perror(path); return 0; }}
  size_t done = mode[0] == 'r' ? fread(elements, 1, size, file) : fwrite(elements, 1, size, file);
  if (fclose(file) != 0 || done != size) {{ fprintf(stderr, "%s: expected %zu bytes\\n", path, size); return 0; }}
  return 1;
}}

int main(int argc, char **argv) {{
  if (argc != {len(arguments) + 3}) {{ fprintf(stderr, "usage: %s THREADS BATCH {files}\\n", argv[0]); return 2; }}
  int64_t batch = atoll(argv[2]);
{buffers}
  void *workspace = malloc({big}_WORKSPACE_SIZE + 1);
  if ({missing}) {{ perror("malloc"); return 2; }}
{moves[True]}
  int error = {name}_run(batch, {given}, workspace, {big}_WORKSPACE_SIZE, atoi(argv[1]));
  if (error != {big}_OK) {{ fprintf(stderr, "error %d\\n", error); return 1; }}
{moves[False]}
  {frees} free(workspace);
  return 0;
}}
"""
