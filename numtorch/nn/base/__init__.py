"""What `Module` (modules/module.py) is made of:

members     parameters, buffers and modules inside one: found, named, gone through
hooktables  hooks under PyTorch's names of their tables
hooks       functions called before and after forward, and when backward passes
state       state dicts, written and loaded
conversion  all that is in a module brought to a dtype or a device
notebook    how one looks in a notebook
foreseen    calls that are known before they are made, compiled ahead
"""
