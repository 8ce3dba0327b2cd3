"""Checking gradients against finite differences.

`gradcheck` compares the full Jacobian, entry by entry; `fast_mode` compares one random direction, whose cost does not grow
with the number of inputs (the product with a random vector on either side).
"""
from __future__ import annotations

import warnings

import numpy as np

from ..dtypes import complex128, float64
from ..exchange.arrays import host_array
from ..exchange.construction import make
from ..tensor import Tensor
from .api import grad
from .modes import enable_grad


class GradcheckError(RuntimeError):
    """What `gradcheck` raises where gradients and differences do not agree.

    Example:
        >>> import numtorch as torch
        >>> x = torch.tensor([1., 2.], dtype=torch.float64, requires_grad=True)
        >>> try:
        ...     torch.autograd.gradcheck(lambda x: x * x.detach(), (x,))
        ... except torch.autograd.GradcheckError:
        ...     print("differs")
        differs
    """


def _array(tensor):
    """A tensor's elements, wherever they are, as an array."""
    return host_array(tensor.detach().cpu())


def _like(tensor, values):
    """Values as a tensor of another's dtype, and where that is."""
    return make(values, dtype=tensor.layout.dtype, device=tensor.layout.device)


def _as_outputs(result):
    outputs = result if isinstance(result, (tuple, list)) else (result,)
    return [o for o in outputs if isinstance(o, Tensor) and o.layout.dtype.category >= 2 and o.node is not None]


def _differentiable(function, inputs):
    """The outputs that require grad, and the function that gives only those; where none does, the function as it is."""
    returned = function(*inputs)
    results = returned if isinstance(returned, (tuple, list)) else (returned,)
    kept = [i for i, result in enumerate(results) if _as_outputs(result)]

    def only(*args):
        again = function(*args)
        return [again[i] for i in kept] if isinstance(again, (tuple, list)) else again
    return [results[i] for i in kept], only if kept else function


def _values(function, inputs):
    result = function(*inputs)                           # recorded: it may ask for gradients itself, or have hooks
    outputs = result if isinstance(result, (tuple, list)) else (result,)
    return [_array(o).astype(_wide(o)).copy() for o in outputs
            if isinstance(o, Tensor) and o.layout.dtype.category >= 2]


def _wide(tensor):
    return np.complex128 if tensor.layout.dtype.is_complex else np.float64


def _shifted(function, inputs, index, delta):
    """The outputs with one input moved by an array: in its own memory, since the function may know it from elsewhere, as a module
    does its parameters. An input whose elements share memory is replaced by another."""
    source = inputs[index]
    before = _array(source).copy()
    shifted = _like(source, before + delta.astype(before.dtype))
    if source.layout.overlaps_itself():
        moved = list(inputs)
        moved[index] = shifted.requires_grad_(source.node is not None)
        return _values(function, moved)
    place = source.detach()
    version = place.memory.version
    try:
        place.copy_(shifted)
        return _values(function, inputs)
    finally:
        place.copy_(_like(source, before))
        place.memory.version = version                   # what was saved before holds: the elements are as they were


def _numerical(function, inputs, index, eps):
    """d(outputs)/d(input) as one matrix an output, a column a real parameter (and an imaginary one for complex inputs)."""
    source = inputs[index]
    shape, complex_input = source.layout.shape, source.layout.dtype.is_complex
    columns = []
    for position in range(source.layout.numel):
        for step in ((eps, 1j * eps) if complex_input else (eps,)):
            delta = np.zeros(source.layout.numel, np.complex128 if complex_input else np.float64)
            delta[position] = step
            delta = delta.reshape(shape)
            high, low = _shifted(function, inputs, index, delta), _shifted(function, inputs, index, -delta)
            columns.append([((h - l) / (2 * eps)).ravel() for h, l in zip(high, low)])
    count = len(_values(function, inputs))
    return [np.stack([c[k] for c in columns], 1) if columns else np.zeros((0, 0)) for k in range(count)]


def _analytical(output, source):
    """The same matrix from backward, a row an output element (real part's, then imaginary part's gradient)."""
    rows = []
    for position in range(output.layout.numel):
        parts = []
        for seed in ((1.0, 1j) if output.layout.dtype.is_complex else (1.0,)):
            start = np.zeros(output.layout.numel, np.complex128 if output.layout.dtype.is_complex else np.float64)
            start[position] = seed
            gradient, = grad(output, source, _like(output, start.reshape(output.layout.shape)), retain_graph=True,
                             allow_unused=True)
            value = np.zeros(source.layout.numel, _wide(source)) if gradient is None else _array(gradient).ravel()
            parts.append(value)
        rows.append(parts)
    return rows


def _compare(analytical, numerical, source, output, atol, rtol, where):
    """d(Re output) and d(Im output) along the input's real and imaginary directions, from both sides."""
    for position, parts in enumerate(analytical):
        row = numerical[position] if numerical.size else np.zeros(0)
        expected = [row.real] if not output.layout.dtype.is_complex else [row.real, row.imag]
        for value, wanted in zip(parts, expected):
            if source.layout.dtype.is_complex:
                got = np.empty(2 * value.size)
                got[0::2], got[1::2] = value.real, value.imag
            else:
                got = np.asarray(value.real if np.iscomplexobj(value) else value, np.float64)
            if not np.allclose(got, wanted, rtol=rtol, atol=atol, equal_nan=True):
                raise GradcheckError(f"Jacobian mismatch for {where}:\nnumerical: {wanted}\nanalytical: {got}\n(row {position} of "
                                     f"the Jacobian; largest difference {np.max(np.abs(got - wanted)):.3g})")


def _fast(whole, function, inputs, index, eps, atol, rtol, random):
    """One random direction u at the input, one random weighting v of each output: v·J·u from both sides."""
    source = inputs[index]
    direction = random.standard_normal(source.layout.shape)
    if source.layout.dtype.is_complex:
        direction = direction + 1j * random.standard_normal(source.layout.shape)
    direction = np.asarray(direction)
    direction = direction / max(np.linalg.norm(direction.ravel()), 1e-30)
    high, low = _shifted(function, inputs, index, direction * eps), _shifted(function, inputs, index, direction * -eps)
    outputs, _ = _differentiable(whole, inputs)          # of the inputs as they are again
    for position, (output, h, l) in enumerate(zip(outputs, high, low)):
        weight = random.standard_normal(output.layout.shape)
        if output.layout.dtype.is_complex:
            weight = weight + 1j * random.standard_normal(output.layout.shape)
        weight = np.asarray(weight)
        numerical = np.sum(np.conj(weight) * (h - l)).real / (2 * eps)
        gradient, = grad(output, source, _like(output, weight), retain_graph=True, allow_unused=True)
        analytical = 0.0 if gradient is None else np.sum(np.conj(_array(gradient)) * direction).real
        if not np.isclose(analytical, numerical, rtol=rtol, atol=atol, equal_nan=True):
            raise GradcheckError(f"Jacobian mismatch for output {position} with respect to input {index} along a random direction: "
                                 f"numerical: {numerical:.8g}, analytical: {analytical:.8g}")


def _batched(outputs, source, random):
    """Compare gradients of two rows at once with those of one after the other."""
    for output in outputs:
        rows = _like(output, random.standard_normal((2, *output.layout.shape)))
        both, = grad(output, source, rows, retain_graph=True, allow_unused=True, is_grads_batched=True)
        for i in range(2):
            alone, = grad(output, source, rows[i], retain_graph=True, allow_unused=True)
            if (both is None) != (alone is None) or (both is not None and not np.allclose(_array(both[i]), _array(alone))):
                raise GradcheckError("gradients of several rows at once are not those of one after another")


# ---------------------------------------------------------------- what else is checked
def _forward(function, inputs, index, numerical, atol, rtol, directions):
    """Compare forward mode with differences: J u for directions u at an input, of which each has what differences gave."""
    from ..alias import attribute
    modes_of = attribute("numtorch.autograd", "forward_ad")
    for direction, wanted in zip(directions, numerical):
        with modes_of.dual_level():
            moved = [t.detach() if isinstance(t, Tensor) else t for t in inputs]
            moved[index] = modes_of.make_dual(moved[index], _like(inputs[index], direction))
            result = function(*moved)
            parts = [modes_of.unpack_dual(o) for o in (result if isinstance(result, (tuple, list)) else (result,))
                     if isinstance(o, Tensor) and o.layout.dtype.category >= 2]
            found = [np.zeros(p.primal.layout.shape, _wide(p.primal)) if p.tangent is None else _array(p.tangent) for p in parts]
        for position, (got, expected) in enumerate(zip(found, wanted)):
            if not np.allclose(got.ravel(), expected, rtol=rtol, atol=atol, equal_nan=True):
                raise GradcheckError(f"Jacobian computed with forward mode mismatch for output {position} with respect to input "
                                     f"{index}:\nnumerical: {expected}\nanalytical: {got.ravel()}\n(largest difference "
                                     f"{np.max(np.abs(got.ravel() - expected)):.3g})")


def _unit_steps(source):
    """A direction for each real parameter of an input."""
    for position in range(source.layout.numel):
        for step in ((1.0, 1j) if source.layout.dtype.is_complex else (1.0,)):
            direction = np.zeros(source.layout.numel, _wide(source))
            direction[position] = step
            yield direction.reshape(source.layout.shape)


def _repeated(outputs, sources, random, tolerance):
    """Backward gives the same twice, and zeros where it starts with zeros."""
    for output in outputs:
        weight = random.standard_normal(output.layout.shape)
        if output.layout.dtype.is_complex:
            weight = weight + 1j * random.standard_normal(output.layout.shape)
        weight = _like(output, np.asarray(weight))
        first, second, nothing = [grad(output, sources, start, retain_graph=True, allow_unused=True)
                                  for start in (weight, weight, weight * 0)]
        for a, b, zero in zip(first, second, nothing):
            if a is not None and b is not None and np.max(np.abs(_array(a) - _array(b)), initial=0) > tolerance:
                raise GradcheckError("Backward is not reentrant, i.e., running backward with same input and grad_output multiple "
                                     "times gives different values, although analytical gradient matches numerical gradient. The "
                                     f"tolerance for nondeterminism was {tolerance}.")
            if zero is not None and np.any(_array(zero)):
                raise GradcheckError("backward not multiplied by grad_output: it is not zero where that is zero")


def _of_dense(function, inputs, masked):
    """The function and the inputs without sparse tensors: dense ones are in their place, of which the elements that are stored are
    taken (`masked`) or all, and results are dense."""
    sparse = {i: t for i, t in enumerate(inputs) if isinstance(t, Tensor) and t.layout.kind != "strided"}
    dense = tuple([t.detach().to_dense().requires_grad_(t.node is not None) if i in sparse else t for i, t in enumerate(inputs)])

    def of_dense(*args):
        parts = list(args)
        for i, t in sparse.items():
            parts[i] = args[i].sparse_mask(t.detach()) if masked else args[i].to_sparse(layout=t.layout)
        result = function(*parts)
        whole = [o.to_dense() if isinstance(o, Tensor) and o.layout.kind != "strided" else o
                 for o in (result if isinstance(result, (tuple, list)) else (result,))]
        return whole if isinstance(result, (tuple, list)) else whole[0]
    return of_dense, dense


def gradcheck(func, inputs, *, eps: float = 1e-6, atol: float = 1e-5, rtol: float = 1e-3, raise_exception: bool = True,
              fast_mode: bool = False, check_undefined_grad: bool = False, nondet_tol: float = 0.0, seed: int = 0,
              check_grad_dtypes: bool = False, check_batched_grad: bool = False, check_forward_ad: bool = False,
              check_backward_ad: bool = True, check_batched_forward_grad: bool = False, masked: bool = False) -> bool:
    """Compare the gradients of `func(*inputs)` with central differences.

    Inputs are moved in their own memory, and put back: the function may read them from elsewhere.

    Args:
        func: returns a tensor or several.
        inputs: a tensor or several; those that require grad are checked and should be float64 or complex128. Sparse ones are
            checked as the dense ones that they are.
        eps: the step of the differences.
        atol, rtol: tolerances.
        raise_exception: raise instead of returning False.
        fast_mode: check one random direction instead of every entry.
        seed: of the random directions.
        check_batched_grad: compare `grad` with `is_grads_batched` with one gradient after another, too.
        check_forward_ad: compare tangents, of forward mode, too.
        check_backward_ad: compare gradients; False for forward mode alone.
        nondet_tol: by how much a second backward may differ from the first.
        masked: of sparse inputs, only the elements that are stored count.
        check_undefined_grad, check_grad_dtypes, check_batched_forward_grad: taken for PyTorch's sake; they change nothing.

    Returns:
        True when they agree.

    Raises:
        GradcheckError: they differ, and `raise_exception` is set.
        ValueError: no input requires grad.
        AssertionError: neither gradients nor tangents are to be checked.

    Example:
        >>> import numtorch as torch
        >>> x = torch.tensor([1., 2.], dtype=torch.float64, requires_grad=True)
        >>> torch.autograd.gradcheck(lambda x: x * x, (x,), check_forward_ad=True)
        True
    """
    if not check_forward_ad and not check_backward_ad:
        raise AssertionError("Expected at least one of check_forward_ad or check_backward_ad to be True")
    inputs = (inputs,) if isinstance(inputs, Tensor) else tuple(inputs)
    checked = [i for i, t in enumerate(inputs) if isinstance(t, Tensor) and t.node is not None]
    if not checked:
        raise ValueError("gradcheck expects at least one input tensor to require gradient, but none of the them have "
                         "requires_grad=True.")
    for i in checked:
        if inputs[i].layout.dtype not in (float64, complex128):
            warnings.warn(f"Input #{i} requires gradient and is not a double precision floating point or complex. This check will "
                          f"likely fail if all the inputs are not of double precision floating point or complex. ", stacklevel=2)
    if any(isinstance(t, Tensor) and t.layout.kind != "strided" for t in (*inputs, *_tensors(func(*inputs)))):
        func, inputs = _of_dense(func, inputs, masked)
    try:
        random = np.random.default_rng(seed)
        if check_forward_ad:
            _check_forward(func, inputs, checked, eps, atol, rtol, fast_mode, random)
        if check_backward_ad:
            _check_backward(func, inputs, checked, eps, atol, rtol, fast_mode, random, check_batched_grad, nondet_tol)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def _tensors(result):
    return [o for o in (result if isinstance(result, (tuple, list)) else (result,)) if isinstance(o, Tensor)]


def _check_forward(func, inputs, checked, eps, atol, rtol, fast_mode, random):
    _, func = _differentiable(func, inputs)
    for index in checked:
        source = inputs[index]
        directions = list(_unit_steps(source))
        if fast_mode:
            directions = [np.asarray(sum(random.standard_normal() * d for d in directions))] if directions else []
        numerical = []
        for direction in directions:
            high, low = _shifted(func, inputs, index, direction * eps), _shifted(func, inputs, index, direction * -eps)
            numerical.append([((h - l) / (2 * eps)).ravel() for h, l in zip(high, low)])
        _forward(func, inputs, index, numerical, atol, rtol, directions)


def _check_backward(func, inputs, checked, eps, atol, rtol, fast_mode, random, check_batched_grad, nondet_tol):
    whole = func
    outputs, func = _differentiable(func, inputs)
    if not outputs and any(np.any(column) for index in checked for column in _numerical(func, inputs, index, eps)):
        raise GradcheckError("Numerical gradient for function expected to be zero")
    for index in checked:
        if fast_mode:
            _fast(whole, func, inputs, index, eps, atol, rtol, random)
            continue
        numerical = _numerical(func, inputs, index, eps)
        outputs, _ = _differentiable(whole, inputs)      # of the inputs as they are again
        if check_batched_grad:
            _batched(outputs, inputs[index], random)
        for position, output in enumerate(outputs):
            _compare(_analytical(output, inputs[index]), numerical[position], inputs[index], output, atol, rtol,
                     f"output {position} with respect to input {index}")
    _repeated(_differentiable(whole, inputs)[0], [inputs[i] for i in checked], random, nondet_tol)


def gradgradcheck(func, inputs, grad_outputs=None, *, eps: float = 1e-6, atol: float = 1e-5, rtol: float = 1e-3,
                  raise_exception: bool = True, fast_mode: bool = False, nondet_tol: float = 0.0, seed: int = 0,
                  **ignored) -> bool:
    """Compare the gradients of the gradients of `func(*inputs)` with central differences.

    Args:
        func, inputs, eps, atol, rtol, raise_exception, fast_mode, nondet_tol, seed: as for `gradcheck`.
        grad_outputs: the gradients to start with; random ones when None.
        ignored: PyTorch's other arguments, which change nothing.

    Returns:
        True when they agree.

    Raises:
        GradcheckError: they differ, and `raise_exception` is set.

    Example:
        >>> import numtorch as torch
        >>> x = torch.tensor([1., 2.], dtype=torch.float64, requires_grad=True)
        >>> torch.autograd.gradgradcheck(lambda x: x * x, (x,))
        True
    """
    inputs = (inputs,) if isinstance(inputs, Tensor) else tuple(inputs)
    outputs = _as_outputs(func(*inputs))
    random = np.random.default_rng(seed)
    if grad_outputs is None:
        grad_outputs = []
        for output in outputs:
            weight = random.standard_normal(output.layout.shape)
            if output.layout.dtype.is_complex:
                weight = weight + 1j * random.standard_normal(output.layout.shape)
            grad_outputs.append(_like(output, np.asarray(weight)).requires_grad_())
    grad_outputs = (grad_outputs,) if isinstance(grad_outputs, Tensor) else tuple(grad_outputs)
    count = len(inputs)

    def first_gradients(*args):

        with enable_grad():
            primal = [a if isinstance(a, Tensor) and a.node is not None else
                      a.detach().requires_grad_() if isinstance(a, Tensor) and inputs[i].node is not None else a
                      for i, a in enumerate(args[:count])]
            results = _as_outputs(func(*primal))
            wanted = [p for i, p in enumerate(primal) if isinstance(inputs[i], Tensor) and inputs[i].node is not None]
            result = grad(results, wanted, args[count:], create_graph=True, allow_unused=True)
        return tuple(f for f in result if f is not None)

    return gradcheck(first_gradients, (*inputs, *grad_outputs), eps=eps, atol=atol, rtol=rtol, raise_exception=raise_exception,
                     fast_mode=fast_mode, nondet_tol=nondet_tol, seed=seed)
