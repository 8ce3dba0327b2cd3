"""What the tests of distributions share."""
import pytest


@pytest.fixture(scope="module")
def pytorch():
    library = pytest.importorskip("torch")
    before = library.get_default_dtype()
    library.set_default_dtype(library.float64)           # some of its formulas make tensors of the default dtype on the way
    yield library
    library.set_default_dtype(before)
