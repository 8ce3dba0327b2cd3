"""Whether code catches what is raised within it, or does something when it is."""
from __future__ import annotations

import dis

_SETUPS = {"SETUP_FINALLY", "SETUP_EXCEPT"}              # of Python 3.10, which has no tables of handlers


def catches(frame) -> bool:
    """Whether a frame, where it is now, catches errors, or has a `finally`. Of a `with`, that is so where it names `suppress`.

    Args:
        frame: it.
    """
    code, place, seen = frame.f_code, frame.f_lasti, set()
    if "suppress" in code.co_names:
        return True
    code_of = {each.offset: each.opname for each in dis.get_instructions(code)}
    if not hasattr(code, "co_exceptiontable"):
        return not _SETUPS.isdisjoint(code_of.values())
    offsets = sorted(code_of)
    table = dis._parse_exception_table(code)  # type: ignore[attr-defined]
    while True:                                          # from handlers to those around them
        target = next((each.target for each in table if each.start <= place < each.end), None)
        if target is None or target in seen:
            return False
        seen.add(target)
        after = next((offset for offset in offsets if offset > target), target)
        if code_of[target] == "PUSH_EXC_INFO" and code_of[after] != "WITH_EXCEPT_START":
            return True
        place = after
