"""Pictures of recorded graphs."""
import re
import shutil

import pytest

import numtorch as torch

F = torch.nn.functional


def test_boxes_arrows_and_leaves():
    model = torch.nn.Sequential(torch.nn.Conv2d(1, 2, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(8, 3))
    loss = F.cross_entropy(model(torch.randn(2, 1, 4, 4)), torch.tensor([0, 1]))
    source = torch.draw(loss, names=dict(model.named_parameters())).source
    titles = re.findall(r'label="([\w.]+)\\n', source)
    assert titles == ["cross_entropy", "linear", "view", "relu", "convolution", "0.weight", "0.bias", "3.weight", "3.bias"]
    assert source.count(" -> ") == 8 and "float32 (2, 2, 2, 2)" in source and source.count("shape=oval") == 4


def test_outputs_of_one_call_are_one_box():
    x = torch.randn(4, 3, requires_grad=True)
    first, second = x.split(2)
    source = torch.draw(first.sum(), second.exp().sum()).source
    assert source.count('label="split') == 1 and '[label="0"]' in source and '[label="1"]' in source


@pytest.mark.filterwarnings("ignore")
def test_every_recorded_call_can_be_drawn_and_walked():
    import gradientrows as gradients
    for name, (function, shapes, _) in gradients.ROWS.items():
        result = function(*gradients.points(shapes))
        results = [t for t in (result if isinstance(result, (tuple, list)) else (result,)) if t.requires_grad and t.grad_fn is not None]
        if results:
            source = torch.draw(*results).source
            assert source.count("[shape=") == len(set(re.findall(r"^  (n\d+) \[", source, re.M))) > 0, name
            stack, seen = [r.grad_fn for r in results], 0
            while stack and seen < 200:
                node = stack.pop()
                assert node.name() in repr(node)
                named = [getattr(node, attribute) for attribute in dir(node) if attribute.startswith("_saved_")]
                saved = node.tensors() if hasattr(node, "tensors") else []
                assert sum(len(each) if type(each) is tuple else 1 for each in named) == len(saved), (name, node)
                stack += [n for n, _ in node.next_functions if n is not None]
                seen += 1


def test_files_and_notebooks(tmp_path):
    drawing = torch.draw(torch.ones(2, requires_grad=True) * 2)
    drawing.save(tmp_path / "graph.dot")
    assert (tmp_path / "graph.dot").read_text() == drawing.source == repr(drawing)
    assert drawing._repr_mimebundle_()["text/plain"] == drawing.source
    if shutil.which("dot"):
        drawing.save(tmp_path / "graph.svg")
        assert "<svg" in (tmp_path / "graph.svg").read_text()
    else:
        with pytest.raises(RuntimeError, match="Graphviz is not installed"):
            drawing.svg()


def test_what_has_no_graph():
    with pytest.raises(ValueError, match="nothing was recorded"):
        torch.draw(torch.ones(2))
    with pytest.raises(TypeError, match="expected tensors"):
        torch.draw(3)


def test_fused_losses_say_what_they_keep():
    """The one node of a loss and its mean: operands under PyTorch's names, and in drawings their shapes."""
    x, y = torch.randn(3, requires_grad=True), torch.ones(3)
    loss = F.mse_loss(x, y)
    assert loss.grad_fn._saved_self is x and torch.equal(loss.grad_fn._saved_target, y)
    assert "squared_error\\nfloat32 ()\\n'mean'\\nsaved: x float32 (3,), y float32 (3,)" in torch.draw(loss).source


def test_saved_tensors_have_pytorchs_names():
    x, w, i = torch.randn(2, 3, requires_grad=True), torch.randn(4, 3, requires_grad=True), torch.tensor([1, 0])
    product = x @ w.t()
    assert product.grad_fn._saved_self is x and torch.equal(product.grad_fn._saved_mat2, w.t())
    assert torch.equal(product.softmax(1).grad_fn._saved_result, product.softmax(1))
    assert F.embedding(i, x).grad_fn._saved_indices is i and x[i, i].grad_fn._saved_indices == (i, i)
    node = F.linear(x, w.detach()).grad_fn
    assert node._saved_input is None and "_saved_weight" in dir(node)        # the weight wants no gradient, so the input is not kept
    with pytest.raises(AttributeError, match="no attribute '_saved_self_'"):
        node._saved_self_
    product.sum().backward()
    with pytest.raises(RuntimeError, match="second time"):
        product.grad_fn._saved_self
