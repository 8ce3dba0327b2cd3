"""What the compiler does with Numba and LLVM, for the host. Imported only when something must be compiled, but for moduletext.

frontend         Numba's passes and implementations, less what kernels do not need
shortcuts        what Numba finds out again and again, found out once
templates        kernels without their op's body, which are typed once for all ops
lowering         the LLVM IR behind intrinsics
complexdivision  how kernels divide complex numbers
moduletext       the entries around a kernel, and notes for the loop vectoriser
"""
