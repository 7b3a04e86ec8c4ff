"""Hypothesis strategies that more than one test uses."""

from dataclasses import replace

import numpy as np
from hypothesis import strategies as st

from models.filters import eligible
from models.retrieval import Query
from models.words import Order

item_ids = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)
"""One item id: any text that UTF-8 can hold."""

id_lists = st.lists(item_ids, min_size=1, max_size=60, unique=True)
"""Ids of a catalogue."""


def indices(n_items: int, *, max_size: int = 8) -> st.SearchStrategy[np.ndarray]:
    """int32 item indices, repeats kept, maybe none."""
    return st.lists(st.integers(0, n_items - 1), max_size=max_size).map(lambda items: np.array(items, np.int32))


def masks(n_items: int) -> st.SearchStrategy[np.ndarray | None]:
    """bool [n_items], or None."""
    full = st.lists(st.booleans(), min_size=n_items, max_size=n_items)
    return st.none() | full.map(lambda allowed: np.array(allowed, np.bool_))


@st.composite
def queries(draw: st.DrawFn, n_items: int, *, fill: bool | None = None) -> Query:
    """A query over a catalogue of that size: any history, k beyond the catalogue, any mask and exclusions."""
    history = draw(indices(n_items))
    excluded = draw(indices(n_items))
    seen = history if draw(st.booleans()) else np.empty(0, np.int32)
    rule = eligible(n_items, draw(masks(n_items)), np.concatenate([excluded, seen]))
    if rule.mask is not None and draw(st.booleans()):
        rule = replace(rule, few=np.flatnonzero(rule.mask).astype(np.int32))
    return Query(
        history,
        draw(st.integers(1, n_items + 3)),
        rule,
        order=draw(st.sampled_from(Order)),
        fill=draw(st.booleans()) if fill is None else fill,
    )


@st.composite
def triples(draw: st.DrawFn, n_items: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Sources, targets and counts of transitions; pairs may repeat, items may follow themselves."""
    item = st.integers(0, n_items - 1)
    rows = draw(st.lists(st.tuples(item, item, st.integers(1, 9)), max_size=3 * n_items))
    columns = np.array(rows, np.int64).reshape(-1, 3).T
    return columns[0].astype(np.int32), columns[1].astype(np.int32), columns[2]
