"""The filters that papers apply to interactions, as data: what a step does is its class, how strictly its fields.

Each step replaces the table `interactions` of the scratch database by what remains of it.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol, TypeAlias

import duckdb

Connection: TypeAlias = duckdb.DuckDBPyConnection


class Step(Protocol):
    """One filter."""

    def describe(self) -> str:
        """What it does, for the report."""
        ...

    def apply(self, con: Connection) -> None:
        """Replace `interactions`."""
        ...


class Count(StrEnum):
    """What a core counts: every interaction, or each counterpart once."""

    ROWS = "interactions"
    PARTNERS = "distinct counterparts"


def _keep(con: Connection, rest: str) -> None:
    con.execute(f"create or replace table interactions as select i.* from interactions i {rest}")


def _enough(key: str, partner: str, count: Count, least: int) -> str:
    counted = "count(*)" if count is Count.ROWS else f"count(distinct {partner})"
    return f"(select {key} from interactions group by {key} having {counted} >= {least})"


@dataclass(frozen=True, slots=True)
class InCatalogue:
    """Only items that the publisher describes (the reader decides what a usable description is)."""

    def describe(self) -> str:
        """What it does, for the report."""
        return "items with a usable description"

    def apply(self, con: Connection) -> None:
        """Replace `interactions`."""
        _keep(con, "semi join items using (item_id)")


@dataclass(frozen=True, slots=True)
class RatingAtLeast:
    """Only interactions rated `least` or better."""

    least: float

    def describe(self) -> str:
        """What it does, for the report."""
        return f"rating at least {self.least:g}"

    def apply(self, con: Connection) -> None:
        """Replace `interactions`."""
        _keep(con, f"where rating >= {self.least}")


@dataclass(frozen=True, slots=True)
class Between:
    """Only interactions of a period, both ends included; times are ISO 8601 in UTC."""

    first: str
    last: str

    def describe(self) -> str:
        """What it does, for the report."""
        return f"from {self.first} to {self.last}"

    def apply(self, con: Connection) -> None:
        """Replace `interactions`."""
        ends = (f"epoch(timestamp '{moment}')::bigint" for moment in (self.first, self.last))
        _keep(con, f"where timestamp between {' and '.join(ends)}")


@dataclass(frozen=True, slots=True)
class DropDuplicates:
    """Of rows that agree in user, item and timestamp the first in the file stays."""

    def describe(self) -> str:
        """What it does, for the report."""
        return "rows that repeat user, item and timestamp dropped"

    def apply(self, con: Connection) -> None:
        """Replace `interactions`."""
        _keep(con, "qualify row_number() over (partition by user_id, item_id, timestamp order by row) = 1")


@dataclass(frozen=True, slots=True)
class EarliestPerPair:
    """Of a user's interactions with an item only the earliest stays."""

    def describe(self) -> str:
        """What it does, for the report."""
        return "earliest interaction of a user with an item"

    def apply(self, con: Connection) -> None:
        """Replace `interactions`."""
        _keep(con, "qualify row_number() over (partition by user_id, item_id order by timestamp, row) = 1")


@dataclass(frozen=True, slots=True)
class CollapseRepeats:
    """Of an item several times in a row within a sequence only the first stays; later returns to it are kept."""

    def describe(self) -> str:
        """What it does, for the report."""
        return "immediate repeats collapsed"

    def apply(self, con: Connection) -> None:
        """Replace `interactions`."""
        before = "lag(item_id) over (partition by user_id order by timestamp, row)"
        _keep(con, f"qualify item_id is distinct from {before}")


@dataclass(frozen=True, slots=True)
class MinPerItem:
    """Items with at least `least` interactions or users; counted once, not again after users left."""

    least: int
    count: Count = Count.ROWS

    def describe(self) -> str:
        """What it does, for the report."""
        return f"items with at least {self.least} {self.count}"

    def apply(self, con: Connection) -> None:
        """Replace `interactions`."""
        _keep(con, f"semi join {_enough('item_id', 'user_id', self.count, self.least)} using (item_id)")


@dataclass(frozen=True, slots=True)
class MinPerUser:
    """Users with at least `least` interactions or items; counted once, not again after items left."""

    least: int
    count: Count = Count.ROWS

    def describe(self) -> str:
        """What it does, for the report."""
        return f"users with at least {self.least} {self.count}"

    def apply(self, con: Connection) -> None:
        """Replace `interactions`."""
        _keep(con, f"semi join {_enough('user_id', 'item_id', self.count, self.least)} using (user_id)")


@dataclass(frozen=True, slots=True)
class MinBoth:
    """Interactions whose user and item both have `least` interactions before anything is left out."""

    least: int
    count: Count = Count.ROWS

    def describe(self) -> str:
        """What it does, for the report."""
        return f"users and items with at least {self.least} {self.count} each, counted at the same moment"

    def apply(self, con: Connection) -> None:
        """Replace `interactions`."""
        users = _enough("user_id", "item_id", self.count, self.least)
        items = _enough("item_id", "user_id", self.count, self.least)
        _keep(con, f"semi join {users} using (user_id) semi join {items} using (item_id)")


@dataclass(frozen=True, slots=True)
class Core:
    """The `least`-core: users and items with too few interactions leave until none is left to leave.

    The result does not depend on the order in which they leave.
    """

    least: int
    count: Count = Count.ROWS

    def describe(self) -> str:
        """What it does, for the report."""
        return f"{self.least}-core by {self.count}, repeated until it holds"

    def apply(self, con: Connection) -> None:
        """Replace `interactions`."""
        before = None
        while (size := _size(con)) != before:
            before = size
            MinBoth(self.least, self.count).apply(con)


@dataclass(frozen=True, slots=True)
class FixCatalogue:
    """The catalogue is what is left now: items that later steps take from every sequence stay in it."""

    def describe(self) -> str:
        """What it does, for the report."""
        return "catalogue fixed"

    def apply(self, con: Connection) -> None:
        """Make the table `catalogue` (item_id)."""
        con.execute("create or replace table catalogue as select distinct item_id from interactions")


@dataclass(frozen=True, slots=True)
class KeepNewest:
    """Only the newest `most` interactions of a user."""

    most: int

    def describe(self) -> str:
        """What it does, for the report."""
        return f"newest {self.most} interactions of a user"

    def apply(self, con: Connection) -> None:
        """Replace `interactions`."""
        newest = "row_number() over (partition by user_id order by timestamp desc, row desc)"
        _keep(con, f"qualify {newest} <= {self.most}")


def _size(con: Connection) -> int:
    row = con.execute("select count(*) from interactions").fetchone()
    return int(row[0]) if row else 0
