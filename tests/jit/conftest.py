"""What tests of captured calls share."""
import pytest


@pytest.fixture(autouse=True, scope="module")
def captures_look_at_little(only_tensors_of_others_are_looked_at):
    """In a process with tens of thousands of tests, nine tenths of a capture's time go into looking at them."""
