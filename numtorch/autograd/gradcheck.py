"""Checking gradients against finite differences.

`gradcheck` compares the full Jacobian, entry by entry; `fast_mode` compares one random direction, whose cost does not grow
with the number of inputs (the product with a random vector on either side).
"""
from __future__ import annotations

import numpy as np

from ..exchange.arrays import host_array
from ..exchange.construction import make
from ..tensor import Tensor
from .api import grad
from .modes import enable_grad, no_grad


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
    with no_grad():
        result = function(*inputs)
    outputs = result if isinstance(result, (tuple, list)) else (result,)
    return [_array(o).astype(_wide(o)).copy() for o in outputs
            if isinstance(o, Tensor) and o.layout.dtype.category >= 2]


def _wide(tensor):
    return np.complex128 if tensor.layout.dtype.is_complex else np.float64


def _shifted(function, inputs, index, delta):
    """The outputs with one input moved by an array."""
    moved = list(inputs)
    source = inputs[index]
    shifted = _like(source, _array(source) + delta.astype(_array(source).dtype))
    moved[index] = shifted
    return _values(function, moved)


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


def _fast(function, inputs, index, outputs, eps, atol, rtol, random):
    """One random direction u at the input, one random weighting v of each output: v·J·u from both sides."""
    source = inputs[index]
    direction = random.standard_normal(source.layout.shape)
    if source.layout.dtype.is_complex:
        direction = direction + 1j * random.standard_normal(source.layout.shape)
    direction = np.asarray(direction)
    direction = direction / max(np.linalg.norm(direction.ravel()), 1e-30)
    high, low = _shifted(function, inputs, index, direction * eps), _shifted(function, inputs, index, direction * -eps)
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


def gradcheck(func, inputs, *, eps: float = 1e-6, atol: float = 1e-5, rtol: float = 1e-3, raise_exception: bool = True,
              fast_mode: bool = False, check_undefined_grad: bool = False, nondet_tol: float = 0.0, seed: int = 0,
              check_grad_dtypes: bool = False, check_batched_grad: bool = False, check_forward_ad: bool = False,
              check_backward_ad: bool = True, check_batched_forward_grad: bool = False, masked: bool = False) -> bool:
    """Compare the gradients of `func(*inputs)` with central differences.

    Args:
        func: returns a tensor or several.
        inputs: a tensor or several; those that require grad are checked and should be float64 or complex128.
        eps: the step of the differences.
        atol, rtol: tolerances.
        raise_exception: raise instead of returning False.
        fast_mode: check one random direction instead of every entry.
        seed: of the random directions.
        check_batched_grad: compare `grad` with `is_grads_batched` with one gradient after another, too.
        check_forward_ad: only False: there is no forward mode.
        check_undefined_grad, nondet_tol, check_grad_dtypes, check_backward_ad, check_batched_forward_grad, masked: taken for
            PyTorch's sake; they change nothing.

    Returns:
        True when they agree.

    Raises:
        GradcheckError: they differ, and `raise_exception` is set.
        ValueError: no input requires grad.

    Example:
        >>> import numtorch as torch
        >>> x = torch.tensor([1., 2.], dtype=torch.float64, requires_grad=True)
        >>> torch.autograd.gradcheck(lambda x: x * x, (x,))
        True
    """
    if check_forward_ad:
        raise NotImplementedError("gradcheck: there is no forward mode to check")
    inputs = (inputs,) if isinstance(inputs, Tensor) else tuple(inputs)
    checked = [i for i, t in enumerate(inputs) if isinstance(t, Tensor) and t.node is not None]
    if not checked:
        raise ValueError("gradcheck expects at least one input tensor to require gradient, but none of the them have "
                         "requires_grad=True.")
    try:
        outputs, func = _differentiable(func, inputs)
        if not outputs and any(np.any(column) for index in checked for column in _numerical(func, inputs, index, eps)):
            raise GradcheckError("Numerical gradient for function expected to be zero")
        random = np.random.default_rng(seed)
        for index in checked:
            if fast_mode:
                _fast(func, inputs, index, outputs, eps, atol, rtol, random)
                continue
            if check_batched_grad:
                _batched(outputs, inputs[index], random)
            numerical = _numerical(func, inputs, index, eps)
            for position, output in enumerate(outputs):
                _compare(_analytical(output, inputs[index]), numerical[position], inputs[index], output, atol, rtol,
                         f"output {position} with respect to input {index}")
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def gradgradcheck(func, inputs, grad_outputs=None, *, eps: float = 1e-6, atol: float = 1e-5, rtol: float = 1e-3,
                  raise_exception: bool = True, fast_mode: bool = False, seed: int = 0, **ignored) -> bool:
    """Compare the gradients of the gradients of `func(*inputs)` with central differences.

    Args:
        func, inputs, eps, atol, rtol, raise_exception, fast_mode, seed: as for `gradcheck`.
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
                     fast_mode=fast_mode, seed=seed)
