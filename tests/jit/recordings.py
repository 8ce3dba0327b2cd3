"""Compiled calls whose results have a graph, called until there are programs of them."""
from replays import kind_of


def recording_of(compiled):
    return kind_of(getattr(compiled, "_compiled", compiled)).recording


def settle(call, compiled, most=40):
    """Call until there are programs, or it is known that there are none."""
    for _ in range(most):
        call()
        kinds = list(getattr(compiled, "_compiled", compiled)._kinds.values())
        pending = [k.recording.pending for k in kinds if k.recording is not None and k.recording.pending is not None]
        for _, thread in pending:
            if thread is not None:
                thread.join()
        if kinds and all(k.reason or (k.recording is not None and k.recording.programs) for k in kinds):
            return
