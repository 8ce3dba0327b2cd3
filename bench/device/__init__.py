"""Kernels on a GPU: `python -m bench cuda` measures them on one, `python -m bench cuda --model` estimates without.

command    the command
measured   rows on a device
peers      whom they are measured beside: PyTorch and CuPy
model      what a kernel's code and the machine's figures allow
recorder   what stands where a GPU would while kernels are planned, or a program runs
steps      training steps, by the model of each of their kernels
code       what is read from PTX and cubins: instructions of the busiest loop, registers, shared memory
"""
