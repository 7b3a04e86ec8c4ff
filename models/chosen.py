"""A list in the making: room for k items, the rule of what may enter, and the finished list."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from models.kernels import compiled, read_only
from models.retrieval import Candidates, Eligible
from models.similarity import Floats, Items, Mask, is_allowed

_NO_MASK = read_only(np.empty(0, np.bool_))


class Rule(NamedTuple):
    """What may be returned; read-only arrays.

    Attributes:
        mask: bool [n_items], or empty = all.
        blocked: int32, sorted, further items that may not.
    """

    mask: Mask
    blocked: Items


class Chosen(NamedTuple):
    """Room for a list of k items: what was chosen so far comes first."""

    items: Items
    scores: Floats
    sources: npt.NDArray[np.uint8]


def rule_of(eligible: Eligible) -> Rule:
    """What may be returned, as kernels take it."""
    return Rule(_NO_MASK if eligible.mask is None else read_only(eligible.mask), read_only(eligible.blocked))


def room_for(k: int) -> Chosen:
    """Room for k items, contents undefined."""
    return Chosen(np.empty(k, np.int32), np.empty(k, np.float32), np.empty(k, np.uint8))


def finished(out: Chosen, n: int) -> Candidates:
    """The first n of the room as a list."""
    if n == len(out.items):
        return Candidates(*out)
    return Candidates(out.items[:n], out.scores[:n], out.sources[:n])


@compiled
def may_enter(item: int, rule: Rule, chosen: Items) -> bool:
    """Whether an item may be returned and is not in the list yet."""
    if not is_allowed(item, rule.mask, rule.blocked):
        return False
    for other in chosen:  # noqa: SIM110 - generators do not compile
        if other == item:
            return False
    return True
