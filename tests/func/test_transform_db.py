"""Part of PyTorch's own table of operations under `vmap`, `vmap` in `vmap`, `jvp`, `vmap` of `grad` and of `vjp`: PyTorch in a loop is the oracle.

`python -m tests.transformdb` tries all entries and all samples.
"""
from __future__ import annotations

import pytest
from pytorchtables import pytorch

torch = pytorch()

from tests.transformdb import ASPECTS, ENTRIES, KNOWN, failures  # noqa: E402

# What once had no rule, a wrong one, or lost what was written; and every fifteenth of the others.
ONCE_WRONG = """
    block_diag cauchy diagonal_scatter frexp geometric grid_sampler_2d hash_tensor index_add index_copy index_fill index_put
    index_reduce.prod isin kron linalg.cholesky linalg.eigh linalg.ldl_factor linalg.ldl_solve linalg.lstsq linalg.lu linalg.matrix_rank
    linalg.pinv log_normal lu_solve masked_scatter matrix_exp multinomial nanquantile native_batch_norm nextafter nn.functional.channel_shuffle
    nn.functional.cross_entropy nn.functional.dropout2d nn.functional.instance_norm nn.functional.local_response_norm
    nn.functional.nll_loss nn.functional.pdist nn.functional.pixel_shuffle nn.functional.scaled_dot_product_attention nonzero_static
    normal put rand_like scatter select_scatter
""".split()
PART = sorted({*ONCE_WRONG, *sorted(ENTRIES)[::15]})


@pytest.mark.parametrize("name", PART)
def test_entry(name):
    found = [f"[{aspect}] {error}" for aspect, error in failures(name, ASPECTS, 2) if name not in KNOWN and (name, aspect) not in KNOWN]
    assert not found, "\n".join(found)


def test_known_entries_exist():
    assert not {key if isinstance(key, str) else key[0] for key in KNOWN} - set(ENTRIES)
