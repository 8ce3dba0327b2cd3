"""What every op has, whatever it computes.

arguments: what must be a number or a truth value. primitive: the record of an op, plan tables, and the miss, which every call
without a plan takes. operands: promotion, numbers as tensors, names on Tensor. backends: where a device's kernels come from. late:
functions of later rooms. expression: formulas called with symbols. generate: functions written as source, and how these take
memory. generator: streams of random numbers. status: what kernels report. ahead: backward compiled ahead. return_types: named pairs
of results. subfunction: what formulas may call beside ops. overloads: numbers before the tensors that they multiply.
tensor_operands: where a number is refused. derived: users' formulas, their names, expressions and derivatives. reasons: why a
function is no formula.
"""
