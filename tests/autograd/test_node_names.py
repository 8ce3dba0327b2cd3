"""Nodes of the graph have PyTorch's names, as strings and as names of their classes."""
import pytest

import numtorch as torch
from numtorch.nn import functional as F

# Calls of x (3, 4), square (3, 3), batch (3, 3, 3), image (3, 3, 3, 3), and the names of PyTorch 2.13 for what they leave.
NAMES = {
    "Abs0": "x.abs()", "Add0": "x + 1", "Sub0": "x - x", "Mul0": "x * 2", "Div0": "x / x", "Neg0": "-x", "Rsub1": "1 - x",
    "Pow0": "x ** 2|x.square()|x ** 0.5|x ** 3.3", "Pow1": "x ** x", "Pow2": "2 ** x", "Exp0": "x.exp()", "Log1P0": "x.log1p()",
    "Expm1": "x.expm1()", "Deg2Rad0": "torch.deg2rad(x)", "Clamp1": "x.clamp(0, 1)|x.clamp(min=0)|x.clamp(max=1)",
    "Clamp0": "x.clamp(x, x)", "Lerp0": "torch.lerp(x, x, 0.5)", "Lerp1": "torch.lerp(x, x, x)", "Remainder0": "x % 2",
    "Remainder1": "x % x", "Where0": "torch.where(x > 1, x, x)", "MaskedFill0": "x.masked_fill(x > 1, 0.0)",
    "NanToNum0": "x.nan_to_num()", "Logit0": "(x / 3).logit()", "Polygamma0": "torch.polygamma(1, x)",
    "SpecialI0E0": "torch.special.i0e(x)", "Sum0": "x.sum()", "Sum1": "x.sum(0)", "Mean0": "x.mean()", "Mean1": "x.mean(1)",
    "Prod0": "x.prod()", "Prod1": "x.prod(1)", "Var0": "x.var(1)", "Max1": "x.max()", "Max0": "x.max(1)[0]", "Amax0": "x.amax(1)",
    "Min0": "x.min(1).values", "Median0": "x.median()", "Median1": "x.median(1)[0]", "LinalgVectorNorm0": "x.norm(dim=1)",
    "Topk0": "x.topk(2)[0]", "Sort0": "x.sort()[0]", "Cumsum0": "x.cumsum(1)", "Logsumexp0": "x.logsumexp(1)",
    "Softmax0": "x.softmax(1)", "LogSoftmax0": "x.log_softmax(1)", "View0": "x.view(12)|x.reshape(2, 6)|x.flatten()",
    "Transpose0": "x.transpose(0, 1)|x.mT", "Permute0": "x.permute(1, 0)", "Unsqueeze0": "x.unsqueeze(0)|x[None]",
    "Squeeze0": "x.squeeze()", "Expand0": "x.expand(2, 3, 4)", "Repeat0": "x.repeat(2, 1)", "Select0": "x[0]|x.select(0, 1)",
    "Slice0": "x[0:2]|x.narrow(0, 0, 2)", "Index0": "x[index]", "IndexSelect0": "x.index_select(0, index)",
    "Gather0": "x.gather(1, index[None])", "Scatter1": "x.scatter(1, index[None], 1.0)", "Scatter0": "x.scatter(1, index[None], x)",
    "IndexAdd0": "x.index_add(0, index, x[:2])", "IndexPut0": "x.index_put((index,), x[0])", "Cat0": "torch.cat([x, x])",
    "Stack0": "torch.stack([x, x])", "Split0": "x.split(2)[0]", "Unbind0": "x.unbind()[0]", "Flip0": "x.flip(0)",
    "Tril0": "x.tril()", "Clone0": "x.clone()", "ToCopy0": "x.float()", "Mm0": "x @ x.t()", "Mv0": "x @ x[0]", "Dot0": "x[0] @ x[0]",
    "Bmm0": "batch.bmm(batch)", "Addmm0": "torch.addmm(square, square, square)", "LinalgInvEx0": "torch.linalg.inv(square)",
    "LinalgCholeskyEx0": "torch.linalg.cholesky(square)", "LinalgSolveEx0": "torch.linalg.solve(square, square)",
    "LinalgDet0": "torch.linalg.det(square)", "LinalgEigh0": "torch.linalg.eigvalsh(square)", "Embedding0": "F.embedding(index, x)",
    "Convolution0": "F.conv2d(image, image)|F.conv_transpose2d(image, image)", "AvgPool2D0": "F.avg_pool2d(image, 2)",
    "MaxPool2DWithIndices0": "F.max_pool2d(image, 2)", "AdaptiveAvgPool2D0": "F.adaptive_avg_pool2d(image, 2)",
    "UpsampleNearest2D0": "F.interpolate(image, scale_factor=2)", "UpsampleLinear1D0": "F.interpolate(batch, 6, mode='linear')",
    "UpsampleNearestExact1D0": "F.interpolate(batch, 6, mode='nearest-exact')",
    "UpsampleBilinear2D0": "F.interpolate(image, scale_factor=2, mode='bilinear')",
    "UpsampleBicubic2D0": "F.interpolate(image, scale_factor=2, mode='bicubic')",
    "ReflectionPad2D0": "F.pad(image, (1, 1, 1, 1), mode='reflect')", "GridSampler2D0": "F.grid_sample(image, image[..., :2])",
    "NativeBatchNorm0": "F.batch_norm(image, None, None, training=True)", "NativeLayerNorm0": "F.layer_norm(x, (4,))",
    "NativeGroupNorm0": "F.group_norm(image, 1)", "Relu0": "x.relu()", "Gelu0": "F.gelu(x)|F.gelu(x, approximate='tanh')",
    "Glu0": "F.glu(x)", "Elu0": "F.elu(x)|F.selu(x)", "LogSigmoid0": "F.logsigmoid(x)", "MseLoss0": "F.mse_loss(x, x + 1)",
    "SmoothL1Loss0": "F.smooth_l1_loss(x, x + 1)", "HuberLoss0": "F.huber_loss(x, x + 1, reduction='none')",
    "BinaryCrossEntropyWithLogits0": "F.binary_cross_entropy_with_logits(x, x)", "NllLoss0": "F.nll_loss(square, labels)",
    "NllLoss2D0": "F.nll_loss(image, labels.expand(3, 3, 3))", "FftR2C0": "torch.fft.rfft(x)",
    "FftC2R0": "torch.fft.irfft(torch.complex(x, x))", "CopySlices": "write(x.clone())", "CopyBackwards": "x.clone().copy_(x)",
}


def _write(x):
    x[0] = 1.0
    return x


def _leaf(*shape):
    return torch.rand(*shape, dtype=torch.float64).add(0.5).requires_grad_()


@pytest.mark.parametrize("name", NAMES)
def test_a_nodes_name_and_its_class_are_pytorchs(name):
    wanted = name if name.startswith("Copy") else "Expm1Backward0" if name == "Expm1" else f"{name[:-1]}Backward{name[-1]}"
    scope = dict(torch=torch, F=F, index=torch.tensor([0, 2]), labels=torch.tensor([0, 1, 2]), write=_write, x=_leaf(3, 4),
                 square=(torch.eye(3, dtype=torch.float64) * 3 + 0.1).requires_grad_(), batch=_leaf(3, 3, 3), image=_leaf(3, 3, 3, 3))
    for call in NAMES[name].split("|"):
        result = eval(call, scope)
        assert f"grad_fn=<{wanted}>" in repr(result)     # what is printed needs no class
        node = result.grad_fn
        assert (node.name(), type(node).__name__) == (wanted, wanted)
        assert isinstance(node, torch.autograd.graph.Node)
        assert repr(node).startswith(f"<{wanted} object at 0x")


def test_nodes_of_one_primitive_are_of_one_class_wherever_they_are_handed_out():
    x = _leaf(3)
    first, second = x.cumsum(0).grad_fn, torch.autograd.graph.get_gradient_edge(_leaf(2, 2).cumsum(1)).node
    assert type(first) is type(second)
    (product, _), = (x.view(1, 3).mm(x.view(3, 1))).sum().grad_fn.next_functions
    assert type(product).__name__ == "MmBackward0"
    assert [type(node).__name__ for node, _ in product.next_functions] == ["ViewBackward0"] * 2
    leaf = product.next_functions[0][0].next_functions[0][0]
    assert type(leaf).__name__ == "AccumulateGrad" and leaf.variable is x


def test_backward_of_nodes_that_were_looked_at_is_as_of_others():
    x, weight = _leaf(2, 3), _leaf(4, 3)
    grads = []
    for look in (False, True):
        x.grad = weight.grad = None
        loss = F.mse_loss(F.linear(x, weight).cumsum(0).sum(0), torch.zeros(4, dtype=torch.float64))
        pending = [loss.grad_fn] if look else []
        for node in pending:
            pending += [n for n, _ in node.next_functions if n is not None]
        loss.backward()
        grads.append((x.grad, weight.grad))
    assert len(pending) > 5
    assert torch.equal(grads[0][0], grads[1][0]) and torch.equal(grads[0][1], grads[1][1])
