"""Sequences, split and counts as ibis expressions: no engine's own SQL, so that a cluster can run the same ones.

ibis is imported at first use: commands that build nothing run without it.
"""

from typing import TYPE_CHECKING

from models.words import Split
from offline.ingest.columns import (
    COUNT,
    COUNTS,
    EVENT,
    FILE,
    ITEM,
    ITEM_ID,
    LENGTH,
    NEXT_ITEM,
    PART,
    PLACE,
    PLACES,
    POSITION,
    PREVIOUS,
    RATING,
    ROW,
    TIMESTAMP,
    USER_ID,
)
from offline.split import SHORTEST_SPLIT, Part

if TYPE_CHECKING:
    from ibis.expr.types import Table


def with_items(interactions: "Table", catalogue: "Table") -> "Table":
    """Interactions with their item index and their place in the input: user_id, item, timestamp, place, event, rating;
    those whose item the catalogue lacks fall out.

    Args:
        interactions: file, row, user_id, item_id, timestamp, event, rating.
        catalogue: item_id, item.
    """
    rows = interactions.join(catalogue, ITEM_ID)
    rows = rows.mutate(**{PLACE: rows[FILE].cast("int64") * PLACES + rows[ROW]})
    return rows.select(USER_ID, ITEM, TIMESTAMP, PLACE, EVENT, RATING)


def _in_order() -> tuple[str, str]:
    """Equal timestamps keep the order of the input rows."""
    return TIMESTAMP, PLACE


def sequences(interactions: "Table", *, one_event: bool = False) -> "Table":
    """Each row's place in its user's sequence.

    A row whose item is that of the row before it, under another event, does not count: it shares that row's place, so
    that a rating which came with the second event is not lost.

    Args:
        interactions: what `with_items` yields.
        one_event: all rows have the same event, or none has any; then all count, and one sorting is enough.

    Returns:
        user_id, item, previous (item of the row before), rating, counts (bool), position, length (of the sequence,
        counted rows).
    """
    return (_all_count(interactions) if one_event else _some_count(interactions)).select(
        USER_ID, ITEM, PREVIOUS, RATING, COUNTS, POSITION, LENGTH
    )


def _all_count(interactions: "Table") -> "Table":
    import ibis

    order = ibis.window(group_by=USER_ID, order_by=_in_order())
    places = {
        PREVIOUS: interactions[ITEM].lag().over(order),
        POSITION: ibis.row_number().over(order),
        LENGTH: interactions.count().over(order),
        COUNTS: ibis.literal(True),
    }
    return interactions.mutate(**places)


def _some_count(interactions: "Table") -> "Table":
    import ibis

    order = ibis.window(group_by=USER_ID, order_by=_in_order())
    previous, event_before = (interactions[name].lag().over(order) for name in (ITEM, EVENT))
    table = interactions.mutate(**{PREVIOUS: previous, "event_before": event_before})
    same = (table[PREVIOUS] == table[ITEM]).fill_null(False)
    table = table.mutate(**{COUNTS: ~(same & ~table[EVENT].identical_to(table.event_before))})
    so_far = ibis.cumulative_window(group_by=USER_ID, order_by=_in_order())
    one = table[COUNTS].cast("int64")
    return table.mutate(**{POSITION: one.sum().over(so_far) - 1, LENGTH: one.sum().over(order)})


def truncated(rows: "Table", keep: int | None) -> "Table":
    """The last `keep` places of each user; all without a limit."""
    if keep is None:
        return rows
    import ibis

    cut = ibis.greatest(rows[LENGTH] - keep, 0)
    return rows.filter(rows[POSITION] >= cut).mutate(
        **{POSITION: rows[POSITION] - cut, LENGTH: ibis.least(rows[LENGTH], keep)}
    )


def parted(rows: "Table", split: Split) -> "Table":
    """Each row's part: a user's last place is for test, the one before for validation, the rest for training.

    Sequences shorter than three are all training: a target needs a history that training does not share.
    """
    import ibis

    if split is Split.NONE:
        return rows.mutate(**{PART: ibis.literal(Part.TRAIN.value)})
    from_end = rows[LENGTH] - rows[POSITION]
    long = rows[LENGTH] >= SHORTEST_SPLIT
    part = ibis.cases(
        (long & (from_end == 1), Part.TEST.value),
        (long & (from_end == 2), Part.VALIDATION.value),
        else_=Part.TRAIN.value,
    )
    return rows.mutate(**{PART: part})


def training(rows: "Table") -> "Table":
    """The training part."""
    return rows.filter(rows[PART] == Part.TRAIN.value)


def transitions(rows: "Table") -> "Table":
    """How often an item directly follows another in training sequences: item, next_item, count.

    The row before one that counts has the item of the place before: a row that does not count shares its item.
    """
    train = training(rows)
    train = train.filter(train[COUNTS] & (train[POSITION] > 0))
    pairs = train.select(**{ITEM: train[PREVIOUS], NEXT_ITEM: train[ITEM]})
    counted = pairs.group_by([ITEM, NEXT_ITEM]).aggregate(**{COUNT: pairs.count()})
    return counted.order_by([ITEM, NEXT_ITEM])


def popularity(rows: "Table") -> "Table":
    """Training interactions of each item that has any: item, count."""
    train = training(rows)
    train = train.filter(train[COUNTS])
    return train.group_by(ITEM).aggregate(**{COUNT: train.count()}).order_by(ITEM)


def ratings(rows: "Table") -> "Table":
    """How often each rating was given to an item in training, exact in whatever order an engine adds: item, rating,
    count."""
    train = training(rows)
    train = train.filter(train[RATING].notnull())
    counted = train.group_by([ITEM, RATING]).aggregate(**{COUNT: train.count()})
    return counted.order_by([ITEM, RATING])


def ordered(rows: "Table") -> "Table":
    """The counted rows, user after user in the order of the ids' bytes, oldest first: user_id, item."""
    counted = rows.filter(rows[COUNTS])
    return counted.order_by([USER_ID, POSITION]).select(USER_ID, ITEM)


def users(rows: "Table") -> "Table":
    """One row a user, in the order of the ids' bytes: user_id, length."""
    counted = rows.filter(rows[COUNTS])
    return counted.group_by(USER_ID).aggregate(**{LENGTH: counted.count()}).order_by(USER_ID)


def statistics(rows: "Table") -> "Table":
    """One row: rows, those that count, and users that have any."""
    counted = rows.filter(rows[COUNTS])
    read = rows.aggregate(read=rows.count())
    return read.cross_join(counted.aggregate(kept=counted.count(), users=counted[USER_ID].nunique()))


def unknown_ids(interactions: "Table", catalogue: "Table") -> "Table":
    """Ids of interactions that the catalogue lacks, in the order of their bytes: item_id."""
    ids = interactions.select(ITEM_ID).distinct()
    return ids.anti_join(catalogue, ITEM_ID).order_by(ITEM_ID)


def numbered(items: "Table") -> "Table":
    """The catalogue with whole numbers of one width, whatever an engine made of them: item_id, item."""
    return items.select(ITEM_ID, **{ITEM: items[ITEM].cast("int32")})
