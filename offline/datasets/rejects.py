"""Rows that could not be used: how many, why, and where the first of them stand."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

EXAMPLES = 20
"""Examples that are kept of each kind; all are counted."""

EXCERPT = 120
"""Characters of a rejected line that the report repeats."""


class Reason(StrEnum):
    """Why a row, or a part of it, is not used."""

    UNPARSABLE = "unparsable"
    NO_USER = "no user id"
    NO_ITEM = "no item id"
    NO_TIMESTAMP = "no readable timestamp"
    RATING = "rating outside the scale (row kept without it)"
    REPEATED_ITEM = "item described before (first kept)"
    ENCODING = "not UTF-8 (read as Latin-1)"


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a raw file.

    Attributes:
        number: 1-based; None where the format lets a record span lines.
        text: its beginning.
    """

    number: int | None
    text: str


@dataclass(slots=True)
class Rejected:
    """All rows of one file that share a reason."""

    file: str
    reason: Reason
    count: int
    examples: list[Line] = field(default_factory=list)


@dataclass(slots=True)
class Rejects:
    """Collects rejected rows during one ingest."""

    found: dict[tuple[str, Reason], Rejected] = field(default_factory=dict)

    def add(self, file: str, reason: Reason, count: int, examples: Sequence[Line] = ()) -> None:
        """Count `count` more rows of `file`; only the first examples are kept."""
        if not count:
            return
        entry = self.found.setdefault((file, reason), Rejected(file, reason, 0))
        entry.count += count
        entry.examples.extend(
            Line(line.number, line.text[:EXCERPT]) for line in examples[: EXAMPLES - len(entry.examples)]
        )

    def all(self) -> list[Rejected]:
        """Everything found, by file and reason."""
        return [self.found[key] for key in sorted(self.found)]
