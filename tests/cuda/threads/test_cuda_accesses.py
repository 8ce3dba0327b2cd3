"""CUDA: what warps ask of memory, in the simulator with blocks as large as a GPU's: bank conflicts of shared memory, and sectors of
global memory for each that would do (cudaaccesses.py)."""
from __future__ import annotations

import json
import os
import subprocess
import sys

import bodies
import pytest
from cudaaccesses import bank_conflicts, sectors
from numba import cuda

# What each kernel of a body may take: of shared memory the times of an access without conflicts, and of global memory the sectors that
# reads and writes touch for each that would hold what they ask for.
BOUNDS = {
    "added": {"kernel": (1, 1, 1)},
    "added_bfloat16": {"kernel": (1, 1, 1)},
    "added_by_rows": {"kernel": (1, 1, 1)},
    "product_in_large_tiles": {"product_tiles": (1, 1, 1)},
    "product_of_transposed": {"product_tiles": (1, 1, 1)},
    "product_of_unaligned": {"product_tiles": (1, 1.1, 1)},
    "product_in_small_tiles": {"product_tiles": (2, 1, 1)},      # sixteen steps are in eight banks of their own
    "product_of_float64": {"product_tiles": (2, 1, 1)},
    # a lane takes eight sums at a time, half of them at once, on their way to C, once a tile
    "product_by_tensor_cores": {"product_warps": (2, 1, 1)},
    "product_by_tensor_cores_across": {"product_warps": (2, 1, 1)},
    "product_by_warp_groups": {"product_groups": (2, 1, 1)},
    "product_by_warp_groups_across": {"product_groups": (2, 1, 1)},
    "product_in_tf32": {"product_warps": (1, 1, 1)},
    "product_in_tf32_across": {"product_warps": (1, 1, 1)},
    "product_with_shared_depth": {"product_warps": (1, 1, 1), "add_pieces": (1, 1, 1)},
    "convolved": {"product_tiles": (2, 1.2, 1.35)},     # images of six columns: lines begin within sectors
    "softmax_of_long_lines": {"softmax_held": (1, 1.1, 1.05)},
    "softmax_of_short_lines": {"softmax_held": (1, 1, 1)},
    "layer_norm": {"norm_lines": (1, 1.1, 1.05)},
    # planes of 25 elements begin within sectors, and a thread that goes along one alone or nearly has neighbours of others
    "batch_norm": {"batch_norm_sums": (1, 1.4, 1), "batch_norm_planes": (1, 1.2, 2)},
    "summed_along_rows": {"reduce_lines": (1, 1.1, 1)},
    "summed_down_columns": {"reduce_columns": (1, 1.1, 4)},        # a thread writes four neighbours, one after another
    "places_along_rows": {"extreme_lines": (1, 1.1, 1)},
    "places_down_columns": {"extreme_columns": (1, 1.1, 4)},
    "transposed": {"transpose_tiles": (1, 1, 1)},
    "transposed_float64": {"transpose_tiles": (1, 1, 1)},
    "transposed_bytes": {"transpose_tiles": (1, 1, 1)},
    "running_sums": {"scan_chunks": (1, 1, 1)},
    "sorted": {"sort_tiles": (2, 3.6, 1)},               # values are read where they were
    "embedded": {"take_elements": (1, 1, 1)},
    "pooled": {"reduced_windows": (1, 1.6, 1)},          # windows of two columns: a read has every second, the next the others
    "dropped": {"dropout_counters": (1, 1, 1)},
    # probabilities are written a column at a time, four of them 16 banks apart; sums four columns a lane, each in its turn
    "attended": {"attention": (4, 1, 3.4), "attention_grad_q": (4, 1, 3.4), "attention_grad_kv": (4, 1.35, 4)},
    # a warp's rows come straight from memory: eight rows of 16 bytes at a time, whose other halves the first-level cache keeps
    "attended_by_tensor_cores": {"attend": (2, 1.85, 1), "grad_dots": (1, 1, 1)},
    "attended_in_tf32": {"attend": (1, 1.2, 1)},
    "convolution_gradients": {"product_tiles": (2, 1.25, 1.05)},
    "badly": {"badly": (32, 8, 8)},                      # as bad as it gets
}


def badly(x, out, descriptor):
    """A kernel whose lanes are 32 words from one another, in both memories."""
    cells = cuda.shared.array(1024, "float32")
    me = cuda.threadIdx.x
    if me < 32:
        cells[32 * me] = x[32 * me]
        out[32 * me] = cells[32 * me]


def cases(torch):
    from numtorch.kernels.cuda.gemm import tiles
    functional = torch.nn.functional
    tiles.PROCESSORS = 1                                 # large tiles for one block
    draw = lambda *shape: torch.rand(*shape).cuda()
    attend = functional.scaled_dot_product_attention

    def rounded(body):
        torch.set_float32_matmul_precision("high")
        try:
            return body()
        finally:
            torch.set_float32_matmul_precision("highest")

    def slopes_of(function, *tensors):
        tensors = [tensor.requires_grad_() for tensor in tensors]
        return torch.autograd.grad(function(*tensors).sum(), tensors)

    def launched():
        from numtorch.kernels.cuda.compiler import compile_kernel
        from numtorch.kernels.cuda.shared.elements import launch
        x, out = draw(1024), draw(1024)
        plan = launch(compile_kernel(badly, ("float32*", "float32*", "int64*")), [0], 1, 0)
        plan.call(x.address, out.address, plan.descriptor)

    return {
        "added": lambda: draw(32, 32) + draw(32, 32),
        "added_bfloat16": lambda: draw(64, 32).bfloat16() + draw(64, 32).bfloat16(),
        "added_by_rows": lambda: draw(32, 64) + draw(64),
        "product_in_large_tiles": lambda: draw(128, 8) @ draw(8, 128),
        "product_of_transposed": lambda: draw(16, 64).t() @ draw(64, 16).t(),
        "product_of_unaligned": lambda: draw(129, 9)[1:] @ draw(9, 128),
        "product_in_small_tiles": lambda: draw(32, 16) @ draw(16, 32),
        "product_of_float64": lambda: draw(32, 16).double() @ draw(32, 16).double().t(),
        "product_by_tensor_cores": lambda: draw(64, 32).bfloat16() @ draw(32, 64).bfloat16(),
        "product_by_tensor_cores_across": lambda: draw(32, 64).bfloat16().t() @ draw(32, 64).bfloat16(),
        "product_by_warp_groups": lambda: draw(64, 64).bfloat16() @ draw(64, 128).bfloat16(),
        "product_by_warp_groups_across": lambda: draw(64, 64).bfloat16().t() @ draw(128, 64).bfloat16().t(),
        "product_in_tf32": lambda: rounded(lambda: draw(64, 32) @ draw(64, 32).t()),
        "product_in_tf32_across": lambda: rounded(lambda: draw(32, 64).t() @ draw(32, 64)),
        "product_with_shared_depth": lambda: draw(16, 512).half() @ draw(16, 512).half().t(),
        "convolved": lambda: functional.conv2d(draw(1, 4, 8, 8), draw(32, 4, 3, 3)),
        "softmax_of_long_lines": lambda: draw(2, 300).softmax(1),
        "softmax_of_short_lines": lambda: draw(32, 40).softmax(1),
        "layer_norm": lambda: functional.layer_norm(draw(2, 300), (300,)),
        "batch_norm": lambda: functional.batch_norm(draw(8, 2, 5, 5), None, None, training=True),
        "summed_along_rows": lambda: draw(4, 300).sum(1),
        "summed_down_columns": lambda: draw(80, 32).sum(0),
        "places_along_rows": lambda: draw(4, 300).argmax(1),
        "places_down_columns": lambda: draw(70, 32).argmax(0),
        "transposed": lambda: draw(32, 64).t().contiguous(),
        "transposed_float64": lambda: draw(32, 32).double().t().contiguous(),
        "transposed_bytes": lambda: draw(32, 32).byte().t().contiguous(),
        "running_sums": lambda: draw(1, 1100).cumsum(1),
        "sorted": lambda: draw(1, 1024).sort(1),
        "embedded": lambda: functional.embedding(torch.tensor([3, 1, 2]).cuda(), draw(5, 64)),
        "pooled": lambda: functional.max_pool2d(draw(1, 4, 32, 32), 2),
        "dropped": lambda: functional.dropout(draw(4096)),
        "attended": lambda: slopes_of(attend, *[draw(1, 1, 32, 16) for _ in range(3)]),
        "attended_by_tensor_cores": lambda: slopes_of(attend, *[draw(1, 1, 32, 64).bfloat16() for _ in range(3)]),
        "attended_in_tf32": lambda: rounded(lambda: attend(*[draw(1, 1, 32, 32) for _ in range(3)])),
        "convolution_gradients": lambda: slopes_of(functional.conv2d, draw(1, 2, 6, 6), draw(16, 2, 3, 3)),
        "badly": launched,
    }


@pytest.fixture(scope="module")
def counted():
    environment = {**os.environ, "NUMBA_ENABLE_CUDASIM": "1", "NUMTORCH_CUDASIM_BLOCKS": "whole", "PYTHONPATH": bodies.search_path(__file__)}
    done = subprocess.run([sys.executable, __file__], env=environment, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", BOUNDS)
def test_accesses_are_within_their_bounds(name, counted):
    for kernel, bounds in BOUNDS[name].items():
        *found, where = counted[name][kernel]
        assert all(count <= bound + 0.005 for count, bound in zip(found, bounds)), f"{kernel}: {found} of {bounds}, at {where}"
        assert all(count > 0.8 * bound for count, bound in zip(found, bounds)), f"{kernel} is better than its bounds by now: {found}"


def test_conflicts_are_of_different_words_in_a_bank():
    def apart(step, nbytes, lanes=range(32)):
        return bank_conflicts([(lane, step * lane) for lane in lanes], nbytes)

    assert apart(4, 4) == apart(0, 4) == apart(-4, 4) == 1
    assert apart(8, 4) == 2 and apart(128, 4) == 32
    assert apart(1, 1) == 1                              # four lanes a word
    assert apart(8, 8) == apart(8, 8, (0, 16)) == 1 and apart(16, 8, (0, 8)) == 2     # sixteen lanes at a time
    assert apart(16, 16) == apart(80, 16, range(8)) == 1 and apart(128, 16, range(8)) == 8


def test_sectors_are_of_32_bytes():
    assert sectors([4 * lane for lane in range(32)], 4) == (4, 4) and sectors([4 + 4 * lane for lane in range(32)], 4) == (5, 4)
    assert sectors([64 * lane for lane in range(32)], 4) == (32, 4) and sectors([8] * 32, 4) == (1, 1)


if __name__ == "__main__":
    from cudaaccesses import Accesses
    accesses, found = Accesses(), {}
    import numtorch
    for case, body in cases(numtorch).items():
        accesses.counts()
        body()
        found[case] = accesses.counts()
    json.dump(found, sys.stdout)
