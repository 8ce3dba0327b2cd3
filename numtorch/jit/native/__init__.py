"""`jit.export_native`: a captured program as a shared library that needs no Python.

words          what the words of a program's launches point into
recording      one call of a function, as steps: launches of kernels part by part, and what happens between them
batching       programs for any number of rows
control        programs with loops and conditions: the form between a script's tree and C
arithmetic     what is done with numbers that are known only when a library runs
merging        variables where several ways through a script meet
stagedcalls, evaluating, loops, staging  a script as such a program, made by going through its tree
scripted       a script staged, captured, and all its addresses as what they point into
scriptrows     scripts as programs for any number of rows, where no decision looks at elements
controlsource  such a program as C
source         pieces of launches as C, and what runs them
building       the library, the header and the example
exporting      `jit.export_native`
"""
