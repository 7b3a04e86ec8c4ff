"""Size of a data set, and how it differs from what was published."""

from dataclasses import dataclass, fields

import duckdb


@dataclass(frozen=True, slots=True)
class Figures:
    """Size of a data set.

    Attributes:
        users: users with a sequence.
        items: catalogue size.
        edges: distinct transitions i -> j in the training part of the leave-last-out split.
        mean_length: interactions a user; None = not published.
    """

    users: int
    items: int
    edges: int
    mean_length: float | None = None


@dataclass(frozen=True, slots=True)
class Difference:
    """One figure that is not as published.

    Attributes:
        figure: its name.
        found: here.
        expected: as published.
    """

    figure: str
    found: float
    expected: float

    @property
    def relative(self) -> float:
        """(found - expected) / expected."""
        return (self.found - self.expected) / self.expected


MEAN_LENGTH_ROUNDING = 0.005
"""Mean lengths are published with two decimals."""

EDGES = """
with steps as (
    select item_id,
           lead(item_id) over sequence as next_id,
           row_number() over sequence as place,
           count(*) over (partition by user_id) as length
    from interactions
    window sequence as (partition by user_id order by timestamp, row)
)
select count(*) from (select distinct item_id, next_id from steps where place <= length - 3)
"""
"""A sequence's last two items are validation and test target, so its training part has length - 3 transitions."""


def measure(con: duckdb.DuckDBPyConnection) -> Figures:
    """Figures of the tables `interactions` and `catalogue`."""
    rows, users = con.execute("select count(*), count(distinct user_id) from interactions").fetchall()[0]
    items = con.execute("select count(*) from catalogue").fetchall()[0][0]
    edges = con.execute(EDGES).fetchall()[0][0]
    return Figures(users=users, items=items, edges=edges, mean_length=rows / users if users else 0.0)


def differences(found: Figures, expected: Figures) -> list[Difference]:
    """The figures that differ from the published ones; a mean length may differ by its rounding.

    >>> differences(Figures(2, 5, 3, 3.333), Figures(2, 4, 3, 3.33))
    [Difference(figure='items', found=5, expected=4)]
    """
    pairs = [(field.name, getattr(found, field.name), getattr(expected, field.name)) for field in fields(Figures)]
    return [Difference(name, here, published) for name, here, published in pairs if not _agree(name, here, published)]


def _agree(name: str, here: float, published: float | None) -> bool:
    if published is None:
        return True
    tolerance = MEAN_LENGTH_ROUNDING + 1e-9 if name == "mean_length" else 0
    return abs(here - published) <= tolerance
