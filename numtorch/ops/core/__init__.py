"""What every op has, whatever it computes.

op: records, the registry, plan tables, promotion. backends: where a device's kernels come from. expression: formulas called with
symbols. generate: functions written as source, and how these take memory. generator: streams of random numbers. status: what
kernels report. return_types: named pairs of results. subfunction: what formulas may call beside ops.
"""
