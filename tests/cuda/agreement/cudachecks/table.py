"""The table of checks, and what adds one."""
from __future__ import annotations

CHECKS: dict = {}


def check(body):
    CHECKS[body.__name__] = body
    return body


def raises(kind, text, function):
    try:
        function()
    except kind as error:
        assert text in str(error), f"{error} lacks {text!r}"
    else:
        raise AssertionError(f"{kind.__name__} with {text!r} was not raised")
