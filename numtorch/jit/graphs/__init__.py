"""Programs as graphs: what is computed of what, each value once, every value with its layout (docs/graph.md).

rowwise, fused, epilogue  the ops that calls become when passes put them together: along rows, elementwise, behind products
gradients, updates        derivatives of primitives, and steps of optimisers, as calls
structures                what arguments look like without their tensors
scriptcalls               scripts that a graph calls
operations                what a node of a graph can call
graph                     the graph and its text
parsing                   the text, read
interpreter               a graph, run
listing                   a graph as Python, for people to read
decompose                 users' elementwise ops as calls of this package's
checking                  files' graphs are what they say
rows                      files' graphs for other numbers of rows
programs                  graphs for the kinds of arguments of a function, with what they hold, and in files
scriptmodules             functions and modules that run them
graphmodules              a graph as one of `torch.fx`
"""
