"""`torch.func`: functions of functions: derivatives, and maps over samples, composed in any order.

    per_sample = vmap(grad(loss), in_dims=(None, 0, 0))(parameters, inputs, targets)

Each transform is a level (levels.py), and what takes part in it a tensor with a layout of its own: batching.py for `vmap`
(mapping.py), with a rule for each primitive in rules/ and randomness.py for draws; dual.py for forward mode (forward.py, and
forward_ad.py without a function), with tangents.py and pushing.py. Backward there is the one tape (variables.py, reverse.py).
customfunctions.py has what users' Functions say of both, and modules.py calls modules with other parameters. No op knows of any
of it: docs/func.md.
"""
from . import customfunctions  # noqa: F401
from .forward import hessian, jacfwd, jacrev, jvp, linearize
from .mapping import vmap
from .modules import combine_state_for_ensemble, functional_call, make_functional, make_functional_with_buffers, stack_module_state
from .reverse import grad, grad_and_value, vjp

__all__ = ["combine_state_for_ensemble", "functional_call", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp",
           "linearize", "make_functional", "make_functional_with_buffers", "stack_module_state", "vjp", "vmap"]


def __getattr__(name):
    """PyTorch's names that are not here, and why (alias)."""
    from ..alias import attribute
    return attribute(__name__, name)
