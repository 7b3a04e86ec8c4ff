"""Relevance rules q_u(i): what counts as a find for a user, in [0, 1], item by item.

Each rule takes any int32 [users, m] matrix of items (a ranked list or a pool, padded with -1) and gives float64
[users, m], so one rule serves the lists of every method and the pool they share.
"""

import numpy as np

from models.errors import InputError
from offline.measures.arrays import PAD, Floats, Ints, Longs, Ragged, check_lists, check_users


def exact(items: Ints, targets: Ints) -> Floats:
    """1 for the target itself.

    Args:
        items: int32 [users, m], padded with -1.
        targets: int32 [users], -1 = no target.

    >>> exact(np.array([[4, 7, -1]], np.int32), np.array([7], np.int32)).tolist()
    [[0.0, 1.0, 0.0]]
    """
    check_lists(items, len(targets))
    found: Floats = ((items == targets[:, None]) & (items != PAD)).astype(np.float64)
    return found


def same_leaf(items: Ints, targets: Ints, leaves: Ints) -> Floats:
    """1 for items of the target's leaf category, the target included.

    An item without a category shares none, so a target without one has itself as its only find.

    Args:
        items: int32 [users, m], padded with -1.
        targets: int32 [users], -1 = no target.
        leaves: int32 [n_items], code of the leaf category, -1 = none.

    >>> leaves = np.array([0, 0, 1, -1, -1], np.int32)
    >>> same_leaf(np.array([[0, 1, 2, -1], [3, 4, 0, 2]], np.int32), np.array([1, 4], np.int32), leaves).tolist()
    [[1.0, 1.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0]]
    """
    check_lists(items, len(targets))
    leaf_of_target = np.where(targets == PAD, PAD, leaves[targets])[:, None]
    alike = (leaves[items] == leaf_of_target) & (leaf_of_target != PAD) & (items != PAD)
    found: Floats = np.maximum(alike.astype(np.float64), exact(items, targets))
    return found


def leaf_counts(targets: Ints, leaves: Ints) -> Longs:
    """How many items of the catalogue `same_leaf` counts as a find for each user: int64 [users].

    >>> leaf_counts(np.array([1, 4, -1], np.int32), np.array([0, 0, 1, -1, -1], np.int32)).tolist()
    [2, 1, 0]
    """
    sizes = np.bincount(leaves[leaves != PAD], minlength=1)
    leaf = np.where(targets == PAD, PAD, leaves[targets])
    return np.where(leaf == PAD, targets != PAD, sizes[leaf]).astype(np.int64)


def graded(items: Ints, judgments: Ragged) -> Floats:
    """Supplied grades (an LLM judge's or a person's); 0 for what was not judged.

    Args:
        items: int32 [users, m], padded with -1.
        judgments: one row a user: judged items and grades in [0, 1] (see `judgment_rows`).

    >>> judged = judgment_rows(np.array([0, 0]), np.array([7, 4]), np.array([0.5, 1.0]), n_users=1)
    >>> graded(np.array([[4, 7, 9]], np.int32), judged).tolist()
    [[1.0, 0.5, 0.0]]
    """
    return judgments.lookup(items)


def judgment_rows(users: Ints, items: Ints, grades: Floats, *, n_users: int) -> Ragged:
    """One row a user from a table (user, item, grade); an item judged twice keeps its higher grade.

    Args:
        users: int [n], row of the user in the lists.
        items: int [n].
        grades: float64 [n], in [0, 1].
        n_users: number of rows of the lists.

    Raises:
        InputError: a grade is NaN or outside [0, 1] (its row in the table is named), or a user is unknown.

    >>> judgment_rows(np.array([1, 1]), np.array([7, 7]), np.array([0.25, 0.75]), n_users=2).weights.tolist()
    [0.75]
    """
    check_grades(grades)
    return Ragged.from_pairs(users, items, grades, n_rows=n_users)


def check_grades(grades: Floats) -> None:
    """Refuse grades that are no shares.

    Raises:
        InputError: a grade is NaN or outside [0, 1]; its row in the table, from 1, is named.
    """
    odd = np.flatnonzero(~((grades >= 0) & (grades <= 1)))
    if len(odd):
        raise InputError(
            f"graded judgments, row {odd[0] + 1}, field grade",
            found=f"{grades[odd[0]]}",
            expected="a number from 0 to 1",
            remedy="Rescale the judge's scale to 0..1 and drop rows without a grade.",
        )


def co_purchase(items: Ints, targets: Ints, links: Ragged) -> Floats:
    """1 for items that the catalogue links to the target (`also_bought` and its kin); the target itself is none.

    Args:
        items: int32 [users, m], padded with -1.
        targets: int32 [users], -1 = no target.
        links: one row an item: the items linked to it.

    >>> links = Ragged.from_pairs(np.array([5, 5, 6]), np.array([1, 2, 5]), n_rows=7)
    >>> co_purchase(np.array([[2, 5, 3]], np.int32), np.array([5], np.int32), links).tolist()
    [[1.0, 0.0, 0.0]]
    """
    check_lists(items, len(targets))
    return credited(links, targets).lookup(items)


def credited(links: Ragged, targets: Ints) -> Ragged:
    """One row a user with weight 1 for each item linked to the user's target; never the target itself.

    >>> links = Ragged.from_pairs(np.array([5, 5, 5]), np.array([1, 2, 5]), n_rows=6)
    >>> credited(links, np.array([5, 0], np.int32)).indices.tolist()
    [1, 2]
    """
    rows = links.take(targets)
    kept = rows.indices != targets[rows.row_of_entry()]
    lengths = np.bincount(rows.row_of_entry()[kept], minlength=len(targets))
    indptr = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
    return Ragged(indptr, rows.indices[kept], np.ones(int(kept.sum())))


def random_control(credit: Ragged, targets: Ints, *, n_items: int, rng: np.random.Generator) -> Ragged:
    """The same amount of credit for each user, on items drawn at random: what a co-purchase score must beat.

    Each user's row keeps its length and its weights; the items are distinct, drawn evenly from the catalogue
    without the target.

    Args:
        credit: one row a user, as `credited` gives them.
        targets: int32 [users], -1 = no target.
        n_items: catalogue size.
        rng: source of all randomness.

    Raises:
        InputError: a user has credit on more items than the catalogue has besides the target.

    >>> credit = Ragged.from_pairs(np.array([0, 0, 2]), np.array([1, 2, 4]), n_rows=3)
    >>> control = random_control(credit, np.array([5, 6, 7], np.int32), n_items=9, rng=np.random.default_rng(7))
    >>> control.lengths().tolist(), bool(np.isin(control.indices, np.arange(9)).all())
    ([2, 0, 1], True)
    """
    check_users("targets", targets, credit.n_rows)
    lengths = credit.lengths()
    room = n_items - (targets != PAD)
    if np.any(lengths > room):
        user = int(np.argmax(lengths - room))
        raise InputError(
            f"co-purchase credit of user row {user}",
            found=f"{lengths[user]} items",
            expected=f"at most the {room[user]} other items of the catalogue",
            remedy="Check that the links and the catalogue size belong together.",
        )
    rows = credit.row_of_entry()
    keys = _distinct_keys(rows, room, targets, n_items, rng)
    order = np.argsort(keys)
    return Ragged(credit.indptr, (keys[order] % n_items).astype(np.int32), credit.weights[order])


def _distinct_keys(rows: Longs, room: Longs, targets: Ints, n_items: int, rng: np.random.Generator) -> Longs:
    """row * n_items + item for each entry, without repeats: repeats are drawn anew until none is left."""
    keys = np.empty(len(rows), np.int64)
    open_entries = np.arange(len(rows))
    while len(open_entries):
        owner = rows[open_entries]
        draw = rng.integers(0, room[owner])
        draw += (targets[owner] != PAD) & (draw >= targets[owner])
        keys[open_entries] = owner * n_items + draw
        repeated = np.ones(len(rows), np.bool_)
        repeated[np.unique(keys, return_index=True)[1]] = False
        open_entries = np.flatnonzero(repeated)
    return keys
