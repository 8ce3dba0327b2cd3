"""`jit.script`: functions and modules in a subset of Python that keep loops and conditions (docs/script.md).

problems     errors at the user's line
kinds        the types of a script, and what programs say of types
classes      users' classes as such types
enumerations users' enumerations as such types
vocabulary   the functions and methods that a script may call
grammar      the statements and expressions of a script, and what to write instead of others
reading      a Python function as a tree of that grammar, in which no name of the user's is left
hooks        functions that modules call before and behind `forward`
checking/    a tree, checked and made again of what was looked at
keeping      calls that a trace keeps as calls
units        the functions and methods that belong together
listing      a script as a graph with blocks, for people to read
writing      what a file holds of scripts
modules      modules with scripted methods
formulas     users' elementwise ops, which scripts call
forking      `jit.fork` and `jit.wait`: calls whose results are asked for later
texts        `jit.CompilationUnit`: functions of a text
scripts      `jit.script` and its decorators, and classes of modules that are scripts from the start
branches     `torch.cond`; in a trace both branches are a script, which the graph calls
loading      scripts from what a file holds

A script is text in the end: `code` shows it, files hold it. Text from a file takes the same way as a user's function but for
reading: it is parsed, each node must be of the grammar, each name of the vocabulary, and what is then run is made of that tree.
"""
