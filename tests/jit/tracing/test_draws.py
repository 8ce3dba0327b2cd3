"""Draws in traces: each call draws anew, what the function itself would draw, in files too."""
import io
import warnings

import pytest

import numtorch as torch

F = torch.nn.functional
BLOCK, IMAGE = torch.linspace(0.1, 0.9, 24).reshape(4, 6), torch.ones(2, 3, 4, 4)
DRAWS = {
    "dropout1d": (lambda x: F.dropout1d(x, 0.5), BLOCK), "dropout2d": (lambda x: F.dropout2d(x, 0.5), IMAGE),
    "dropout3d": (lambda x: F.dropout3d(x, 0.5), IMAGE[None]), "feature_alpha": (lambda x: F.feature_alpha_dropout(x, 0.5, True), IMAGE),
    "of_ones": (lambda x: x * F.dropout(torch.ones_like(x)), BLOCK), "alpha_of_ones": (lambda x: x * F.alpha_dropout(torch.ones_like(x), 0.5, True), BLOCK),
    "rrelu": (lambda x: F.rrelu(x - 1, 0.1, 0.3, training=True), BLOCK), "gumbel": (F.gumbel_softmax, BLOCK),
    "multinomial": (lambda x: torch.multinomial(x, 3), BLOCK), "replaced": (lambda x: torch.multinomial(x, 3, True), BLOCK),
    "of_weights": (lambda x: x + torch.multinomial(torch.ones(24), 24).reshape(4, 6), BLOCK), "normal": (lambda x: torch.normal(x, 1.0), BLOCK),
    "rsample": (lambda x: torch.distributions.Normal(x, 1.0, validate_args=False).rsample(), BLOCK), "randn_like": (torch.randn_like, BLOCK),
    "rand": (lambda x: x + torch.rand(4, 6), BLOCK), "alone": (lambda x: torch.rand(x.shape), BLOCK),
    "randint": (lambda x: x + torch.randint(0, 1000, (4, 6)), BLOCK), "randperm": (lambda x: x[:, torch.randperm(6)], BLOCK),
    "exponential_": (lambda x: torch.empty_like(x).exponential_(), BLOCK), "bernoulli_": (lambda x: x.new_empty(99).bernoulli_(), BLOCK),
    "bernoulli": (lambda x: torch.bernoulli(x), BLOCK), "with_p": (lambda x: torch.bernoulli(x, 0.5), BLOCK),
    "poisson": (lambda x: x + torch.poisson(torch.full((4, 6), 99.0)), BLOCK), "region": (lambda x: x + torch.zeros(8, 6)[2:6].normal_(), BLOCK),
    "of_samples": (lambda x: torch.func.vmap(lambda row: row + torch.rand(6), randomness="different")(x), BLOCK),
    "of_all_samples": (lambda x: torch.func.vmap(lambda row: row + torch.rand(6), randomness="same")(x), BLOCK)}


@pytest.mark.parametrize("name", DRAWS)
def test_each_call_draws_anew_what_the_function_draws(name):
    function, x = DRAWS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        traced, file = torch.jit.trace(function, x, check_trace=False), io.BytesIO()
        traced.save(file)
        file.seek(0)
        drawn = []
        for each in (function, traced, torch.jit.load(file)):
            torch.manual_seed(3)
            drawn.append([each(x) for _ in range(3)])
    wanted, got, loaded = drawn
    assert not torch.equal(wanted[0], wanted[1])
    for numbers in (got, loaded):
        assert all(map(torch.equal, numbers, wanted))


def test_a_draw_that_a_trace_does_not_see_is_frozen_with_a_warning():
    def function(x):
        return x + F.scaled_dot_product_attention(*[torch.ones(1, 2, 4, 8)] * 3, dropout_p=0.5).sum()
    with pytest.warns(torch.jit.TracerWarning, match="random numbers"):
        torch.jit.trace(function, torch.ones(2), check_trace=False)


class Noisy(torch.nn.Linear):
    def forward(self, x):
        return super().forward(x) + torch.rand(2)


def test_draws_of_a_trace_are_folded_by_nothing_and_take_defaults_of_when_it_was_made():
    traced = torch.jit.trace(lambda x: x + torch.rand(4), torch.zeros(4), check_trace=False)
    frozen = torch.jit.freeze(torch.jit.trace(Noisy(4, 2).eval(), BLOCK[:, :4], check_trace=False))
    assert not torch.equal(frozen(BLOCK[:, :4]), frozen(BLOCK[:, :4]))
    torch.set_default_dtype(torch.float64)
    try:
        assert traced(torch.zeros(4, dtype=torch.float32)).dtype is torch.float32
    finally:
        torch.set_default_dtype(torch.float32)
    assert not torch.equal(traced(torch.zeros(4)), traced(torch.zeros(4)))


@pytest.mark.parametrize("call", ["random[(4,), 'randperm', (), float32, device('cpu'), None]", "random[(4,), 'philox', (), float32, device('cpu'), None]",
                                  "random[(4,), 'multinomial', (4, 4), float32, device('cpu'), None]"])
def test_no_file_draws_what_does_not_fit_its_memory(call):
    graph = torch.jit.parse(f"graph(%x: float32[4]):\n  %0: float32[4] = {call}()\n  return %0")
    with pytest.raises(RuntimeError, match="not drawn"):
        torch.jit.Interpreter(graph).run(torch.zeros(4))
