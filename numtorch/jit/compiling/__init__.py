"""`numtorch.compile`: functions that are captured once and replayed, and improved as graphs meanwhile (docs/compile.md).

timing     which of several programs is the fastest
splitting  a function split where it cannot be captured
effects    where a call changes what Python decides by
calls      what tells calls of a function apart, and how one is captured
deciding   what a trace does where a value comes to Python
executor   a graph run in the place of a call
improving  what becomes of a replay: the graph of its call, in its place
joint      the graph of a call and of its derivative, divided into forward and backward
explaining  what became of a call, for people to read
repeating  a recorded call once more, op by op, for gradients of gradients
trial      a recorded call's programs beside the call: equal, and faster
recorded   a call whose results have a graph: a program of forward, and one that the tape runs in backward
compiled   `numtorch.compile`
inference  `jit.freeze`, `jit.optimize_for_inference`
"""
