"""What stands under an error's message: where it came from. The error stays what it is."""
from __future__ import annotations


def add_note(error: BaseException, note: str) -> None:
    """Say something more of an error that is on its way. Python 3.10 shows no notes: there it is added to the message."""
    if hasattr(error, "add_note"):
        error.add_note(note)
    elif error.args and isinstance(error.args[0], str):
        error.args = (f"{error.args[0]}\n{note}", *error.args[1:])
