"""The processors and GPUs that kernels are made for.

processor      this one, or a baseline that many share; what planners ask of either
architectures  GPUs whose kernels are packed
crosscompile   kernels made here for processors of another architecture
"""
