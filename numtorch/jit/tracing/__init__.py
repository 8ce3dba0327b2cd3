"""The graph of a call: its arguments get layouts whose ops are written down instead of being run (docs/graph.md).

cells     what a trace knows of tensors and their memory
freezing  what a trace freezes, and says so
tracing   the call, traced
traces    `jit.trace`
"""
