"""The graph of a call: its arguments get layouts whose ops are written down instead of being run (docs/graph.md).

cells        what a trace knows of tensors and their memory
memory       which value of the graph a tensor holds
freezing     what a trace freezes, and says so
results      structures of what calls and functions return
tracing      the call, traced
scriptcalls  scripts in it that stay calls
reached      the tensors that a function reaches besides its arguments
naming       graphs of torch.fx, whose nodes' names the values get
traces       `jit.trace`
"""
