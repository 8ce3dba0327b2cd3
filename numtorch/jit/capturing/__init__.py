"""One call of a function, watched, and the program of launches that replays it.

guards     whether objects of Python still hold what they held, looked at in memory by one kernel
allowed    the C functions that do nothing but what a replay may leave out
catching   whether code catches what is raised within it
reach      what of Python a function can reach, and whether that has changed
memory     what a captured call takes its memory from
places     memory by address
ondevice   what it launches on a CUDA device, and the graph that launches it again
steps      what optimisers and random streams do at each replay
steady     what a replay need not find out again
unchanged  whether Python, tensors and hooks are as they were when a call was captured
before     what a call begins with
items      what is written down of the call
owners     whose a code object is
capture    the call, watched: what it launches, and what keeps it from being replayed
complaints what a kernel finds wrong in a replay
results    what a call returns, such that a replay can return it
writing    the program made of it: where each word that a kernel was given comes from
replay     a call with its program, and its runs
contents   the bytes of memory on any device, and waiting for a device
snapshots  what a call may change, kept and put back
quick      a call where nothing has changed since the last one
"""
