"""Memory that several processes see: what tensors that travel between them lie in.

A *family* is a process and all that it started, directly or not. It has one anonymous file, its heap, and so two descriptors a
process (the file, and its locks), however many tensors. Nothing in it has a name: when the last process of a family ends, however
it ends, the kernel takes everything back.

system    the C library's calls: anonymous files, mappings, holes, words to wait for
filelocks locks of the file's bytes, which end with their process
tables    what stands where in the file
reserve   large blocks that wait a moment for the process that made them
heap      the file: who belongs to the family, the table of blocks, who holds which, and the sweep that finds what nobody holds
blocks    memory for one block: taken, mapped, held, dropped
channel   letters on their way from one process to another, which hold what they carry
storages  storages of tensors in such memory: moved there, sent as handles, found again
report    what runs, for people

**Who holds what.** `holds[member, block]` is a byte that only that member writes. There are no counts, so none can be wrong: a
process that is killed leaves its row, which counts for nothing as soon as the kernel has let go of the lock that the process had on
its own number. A block is in use while a living member holds it, or a letter refers to it that waits in a channel in use. What is
in use is found by walking from the living members' rows, as a garbage collector does, and the rest is free. Every step that moves a
block from one holder to another sets the new hold before the old one goes, so a kill between any two instructions leaves a block
held once too often, never once too few.
"""
