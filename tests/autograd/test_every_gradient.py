"""Gradients of any order for every differentiable op: each public function against finite differences, once and twice.

A row is a function of tensors and the shapes of those that have gradients. Elementwise records have theirs in `optable`. A public
function that is in no table, and a node that no row records, fail; so a new op needs a row.
"""
import dataclasses
import inspect

import numpy as np
import pytest
from gradientrows import ROWS, nodes_of, points, values

import numtorch as torch
import numtorch.nn.functional as F
from numtorch.autograd import gradcheck, gradgradcheck
from numtorch.kernels.planning import without_memory
from numtorch.kernels.threads import Prepared
from numtorch.layout import Layout
from numtorch.ops.core import primitive
from numtorch.ops.core.primitive import registry
from numtorch.ops.pointwise.pointwise import PointwiseOp

WITHOUT_GRADIENT = frozenset("""detach_copy empty_permuted hash_tensor to_device indices crow_indices col_indices ccol_indices row_indices is_coalesced sparse_dim dense_dim
    is_anomaly_check_nan_enabled set_anomaly_enabled binomial poisson get_default_device set_default_device set_default_tensor_type typename is_storage is_neg is_nonzero
    is_same_size is_set_to is_pinned is_shared unravel_index kaiser_window new new_empty_strided
    hann_window hamming_window blackman_window bartlett_window
    all allclose any arange argmax argmin argsort argwhere as_tensor asarray bernoulli bincount broadcast_shapes bucketize can_cast count_nonzero
    detach empty empty_cache empty_like empty_strided equal eye from_dlpack from_numpy frombuffer full full_like get_default_dtype get_num_threads histogramdd
    get_rng_state histc histogram initial_seed is_anomaly_enabled is_complex is_floating_point is_grad_enabled is_inference_mode_enabled is_tensor isclose isin
    linspace logspace manual_seed multinomial nonzero nonzero_static normal numel ones ones_like pointwise promote_types rand rand_like randint
    randint_like randn randn_like randperm range result_type scalar_tensor searchsorted seed set_default_dtype set_num_threads set_printoptions
    set_rng_state tensor tril_indices triu_indices unique unique_consecutive zeros zeros_like
    make one_hot legacy_reduction paired_loss reduced reduced_terms wrap_dim
    backward bool byte char cuda int long short data_ptr dim element_size get_device is_conj is_contiguous is_inference is_signed item ndimension nelement new_empty
    new_full new_ones new_tensor new_zeros numpy register_hook register_post_accumulate_grad_hook retain_grad size storage_offset stride tolist
    share_memory const_data_ptr dim_order is_distributed ccol_indices_copy col_indices_copy crow_indices_copy indices_copy row_indices_copy
    record_stream storage storage_type untyped_storage geqrf btrifact_with_info matrix_rank
""".split())

# What random ones keep is drawn anew by each call: the tests of dropout compare with the mask. Casts to fewer digits are `to`'s row.
UNTRIED = frozenset("""
    alpha_dropout dropout dropout1d dropout2d dropout3d feature_alpha_dropout feature_dropout gumbel_softmax multi_head_attention_forward
    float half bfloat16 cfloat chalf
""".split())


def record_of(function):
    return getattr(function, "op", None)


def public():
    """Names of the functions that users call, but for elementwise records, which `optable` holds."""
    for module in (torch, F, torch.Tensor):
        for name in dir(module):
            function = getattr(module, name)
            if name.startswith("_") or not callable(function) or inspect.isclass(function) or isinstance(record_of(function), PointwiseOp):
                continue
            if name.endswith("_"):
                continue                                 # in-place forms: test_autograd_inplace.py
            if torch._LATE.get(name, "nn.functional") != "nn.functional":
                continue                                 # switches, files, drawings: of other floors, and no ops
            yield name


def test_every_public_function_has_a_row():
    missing = sorted(set(public()) - set(ROWS) - WITHOUT_GRADIENT - UNTRIED)
    assert not missing, f"neither in ROWS nor among those without a gradient: {missing}"
    assert not set(ROWS) & WITHOUT_GRADIENT


@pytest.mark.filterwarnings("ignore:.nn.functional.upsample")
@pytest.mark.parametrize("name", sorted(ROWS))
def test_first_and_second_derivatives(name):
    function, shapes, twice = ROWS[name]
    inputs = points(shapes)
    assert gradcheck(function, inputs, fast_mode=True)
    if twice:
        assert gradgradcheck(function, inputs, fast_mode=True)


def _outcome(function, shapes):
    """A row's results and first derivatives, as arrays."""
    torch.manual_seed(0)
    inputs = points(shapes)
    result = function(*inputs)
    outputs = [t for t in (result if isinstance(result, (tuple, list)) else (result,)) if t.requires_grad]
    slopes = torch.autograd.grad(outputs, inputs, [torch.ones_like(o) for o in outputs], allow_unused=True)
    return [t.detach().numpy() for t in (*outputs, *slopes) if t is not None]


def _wipe(kept):
    """Overwrite the descriptors among what a prepared call kept."""
    for each in kept if isinstance(kept, (tuple, list)) else (kept,):
        if isinstance(each, np.ndarray) and each.dtype == np.int64 and each.flags.writeable:
            each.fill(-7)


@pytest.mark.filterwarnings("ignore:.nn.functional.upsample")
def test_plans_keep_what_they_run(monkeypatch):
    """Where tables hold one plan, and a descriptor is wiped as soon as nothing keeps it, results are what they were; and so they are
    where the plans of one table are dropped, on which those of another were made."""
    expected = {name: _outcome(*given[:2]) for name, given in ROWS.items()}

    def check(name, when):
        found = _outcome(*ROWS[name][:2])
        assert all(np.array_equal(f, e, equal_nan=True) for f, e in zip(found, expected[name], strict=True)), (name, when)
    monkeypatch.setattr(primitive, "PLAN_LIMIT", 1)
    monkeypatch.setattr(Prepared, "__del__", lambda self: _wipe(self._keep), raising=False)
    primitive.forget_plans()
    for name in ROWS:
        check(name, "first")
        check(name, "second")
    monkeypatch.setattr(primitive, "PLAN_LIMIT", 100)
    for name in ROWS:
        primitive.forget_plans()
        check(name, "planned")
        for table in [table for table in primitive._tables if table]:
            table.empty()
            check(name, table.place)


def test_what_is_planned_without_memory_is_not_found_by_calls():
    """Its kernels do nothing."""
    a, b, bias = torch.ones(2, 3), torch.ones(3, 4), torch.ones(4)
    calls = {"mm": (a, b), "linear": (a, b.t(), bias), "add": (a, a), "exp": (a,), "softmax": (a, -1)}
    primitive.forget_plans()
    with without_memory():
        for name, given in calls.items():
            registry[name].planned_for([t.layout for t in given if hasattr(t, "layout")],
                                                 tuple(t for t in given if not hasattr(t, "layout")))
    assert a.mm(b).tolist() == [[3.0] * 4] * 2 and F.linear(a, b.t(), bias).tolist() == [[4.0] * 4] * 2
    assert (a + a).tolist() == [[2.0] * 3] * 2 and torch.zeros(2, 3).exp().tolist() == a.tolist()
    assert a[:, :2].contiguous().softmax(-1).tolist() == [[0.5] * 2] * 2


# what the rows do not record: random masks and draws, copies between devices, writes in place, refusals, and
# factorisations whose results are free in sign or phase (tests of their own)
ELSEWHERE = frozenset("""alpha_dropout dropout bernoulli_ exponential_ normal_ uniform_ binomial poisson to_device put t
    linalg_cofactors_grad linalg_eig linalg_eigh linalg_ldl_solve multi_head_attention steps fused
    _standard_gamma _standard_gamma_grad _sample_dirichlet _dirichlet_grad""".split())


@pytest.mark.filterwarnings("ignore:.nn.functional.upsample")
def test_every_node_is_recorded_by_a_row():
    """Every primitive with a derivative is in the graph of some row, once differentiated too."""
    seen = set()
    for function, shapes, _ in ROWS.values():
        inputs = points(shapes)
        result = function(*inputs)
        seen |= nodes_of(result)
        outputs = [t for t in (result if isinstance(result, (tuple, list)) else (result,)) if t.requires_grad]
        weights = [torch.tensor(values(o.shape, 5), dtype=o.dtype, requires_grad=True) for o in outputs]
        slopes = torch.autograd.grad(outputs, inputs, weights, create_graph=True, allow_unused=True)
        seen |= nodes_of([s for s in slopes if s is not None])
    recorded = {p.name for p in registry.values() if p.vjp is not None and p.module.startswith("numtorch.")}
    assert len(recorded) > 100 and "sum" in seen
    assert sorted(recorded - seen - ELSEWHERE) == []


def is_plain(value):
    """Whether an attribute can be printed and traced: numbers, names, layouts, and tuples and records of such."""
    if dataclasses.is_dataclass(value):
        return all(is_plain(getattr(value, field.name)) for field in dataclasses.fields(value))
    return isinstance(value, (int, float, complex, str, type(None), Layout, torch.dtype, torch.device, torch.memory_format)) or (
        isinstance(value, tuple) and all(map(is_plain, value)))


@pytest.mark.filterwarnings("ignore:.nn.functional.upsample")
def test_nodes_hold_plain_attributes():
    holding, plain = set(), set()
    for function, shapes, _ in ROWS.values():
        inputs = points(shapes)
        result = function(*inputs)
        outputs = [t for t in (result if isinstance(result, (tuple, list)) else (result,)) if t.requires_grad]
        weights = [torch.tensor(values(o.shape, 5), dtype=o.dtype, requires_grad=True) for o in outputs]
        slopes = torch.autograd.grad(outputs, inputs, weights, create_graph=True, allow_unused=True)
        seen, stack = set(), [t.node for t in (*outputs, *slopes) if t is not None]
        while stack:
            node = stack.pop()
            if node is not None and node not in seen:
                seen.add(node)
                stack += node.edges
                if hasattr(node, "attributes"):
                    (plain if is_plain(node.attributes) else holding).add(node.primitive.name)
    assert sorted(holding) == [] and len(plain) > 100
