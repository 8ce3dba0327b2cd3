"""Scripts run: arguments that are the same for each library, what a call gives as plain numbers, and a script from a file."""
import io

import numtorch as torch
from numtorch.tree import flatten


def argument(module):
    """A maker of tensors that is the same for each library."""
    def make(*shape):
        size = 1
        for n in shape:
            size *= n
        return (module.arange(size, dtype=module.float32).reshape(shape) / size + 0.25).requires_grad_()
    return make


def outcome(function, args, module):
    """What a call returns, and the gradients of it, as plain numbers."""
    given = [x for a in args for x in (a if isinstance(a, list) else [a]) if isinstance(x, module.Tensor)]
    result = function(*args)
    leaves = list(result.values()) if isinstance(result, dict) else flatten(result)[0] if isinstance(result, (tuple, list)) else [result]
    tensors = [x for x in leaves if isinstance(x, module.Tensor)]
    grads = []
    wanted = [x for x in tensors if x.requires_grad]
    if wanted and given:
        found = module.autograd.grad([x.sum() for x in wanted], given, allow_unused=True)
        grads = [None if g is None else g.tolist() for g in found]
    return [x.tolist() if isinstance(x, module.Tensor) else x for x in leaves], grads


def through_file(script):
    file = io.BytesIO()
    torch.jit.save(script, file)
    file.seek(0)
    return torch.jit.load(file)
