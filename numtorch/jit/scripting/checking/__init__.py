"""A script's tree, checked and made again of what was looked at. Each file adds to what a checker knows:

effects      what a script does besides computing tensors of tensors
objects      attributes, methods and operators of objects of users' classes
members      names that everybody has, and attributes of tensors and modules
calling      calls
expressions  of what type each expression is, and what a condition says of types
statements   what statements make of the types of variables; the checker
"""
