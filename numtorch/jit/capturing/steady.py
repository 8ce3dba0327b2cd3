"""What a replay need not find out again as long as nothing has touched it: gradients that nobody keeps and that are where the last
call left them, and an optimiser's step that is the same kernels on the same memory. One comparison of words (guards.py) says so."""
from __future__ import annotations

from typing import Any

from ...storage import moves
from . import guards


class Steady(guards.Words):
    """Words, and the objects that they are addresses of.

    Args:
        pairs: as `Words` has them.
        objects: what has to live for an address to be its own.
    """

    def __init__(self, pairs, objects) -> None:
        super().__init__(pairs)
        self.objects = objects


def words_of(replay) -> Steady | None:
    """What says that the next call finds gradients and optimisers as the last one left them.

    Args:
        replay: it has just run, with all gradients where they were in the call before.

    Returns:
        The words; None where that is not known from words, or a call reads gradients that were there or drops some.
    """
    if replay.dropped or replay.gradient_writes or any(slot is not None for _, slot, *_ in replay.old_gradients) \
            or any(kind in ("own", "result") for update in replay.updates for _, kind, _ in update.sources) \
            or len({id(update.optimizer) for update in replay.updates}) < len(replay.updates):
        return None
    objects: list[Any] = []
    pairs = [guards.of_slot(leaf, "grad") for leaf in replay.all_leaves]
    try:
        for update in replay.updates:
            pairs += _of_optimizer(update, objects)
        for new in replay.new_gradients:
            # after a late error the leaf has its last gradient again, and launches write elsewhere
            pairs.append((replay.block_address + 8 * new[1], new[2].memory.address))
            pairs += [guards.of_slot(new[2], name) for name in ("address", "layout", "memory")]
            objects += [new[2].address, new[2].layout]
            pairs += [guards.of_count(id(new[2])), guards.of_count(id(new[2].memory))]
    except (guards.Unknown, StopIteration, KeyError, ValueError):
        return None
    return Steady(pairs, objects)


def _of_optimizer(update, objects) -> list:
    """What `Update.is_same` depends on. Learning rates do not: they are coefficients, which each step writes."""
    optimizer = update.optimizer
    own, groups, prepared = vars(optimizer), optimizer.param_groups, optimizer._prepared
    if any(each.foreign or any(batch.keep for batch in each.batches) for each in prepared if each is not None):
        raise guards.Unknown
    objects += [optimizer.state, groups, prepared, *groups, *prepared, moves[0]]
    pairs = [*guards.of_own_dict(optimizer), *guards.of_dict(own, frozenset(("param_groups", "_prepared", "state"))),
             *guards.of_list(groups), *guards.of_list(prepared), *guards.of_list(moves)]
    for batch in update.batches:                         # where the kernel finds gradients: of another program, those may be others
        row = batch.table.strides[0]
        pairs += [(batch.table_address + i * row + batch.table.itemsize, address) for i, address in enumerate(batch.gradients)]
    for group in groups:
        options = frozenset(group) - {"lr"}
        objects += [group[name] for name in options]
        pairs += [*guards.of_dict(group, options), *guards.of_list(group["params"])]
        for parameter in group["params"]:
            objects += [parameter, parameter.address, parameter.layout, parameter.node]
            pairs += [guards.of_slot(parameter, name) for name in ("address", "layout", "node")]
    return pairs
