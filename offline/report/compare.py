"""Two runs side by side: the figures they share, with differences."""

from dataclasses import dataclass
from enum import StrEnum

from models.errors import InputError
from offline.report.document.parts import Estimate, Provenance
from offline.report.rows import Document, Row, document_rows

LEFT_OUT = frozenset({"simplex", "training"})
"""Sections whose many figures say little side by side."""


class Apart(StrEnum):
    """Whether two runs differ beyond their intervals."""

    YES = "apart"
    NO = "within the intervals"
    UNKNOWN = "no interval"


@dataclass(frozen=True, slots=True)
class PairOfFigures:
    """One figure in both runs.

    Attributes:
        left: of the first run.
        right: of the second.
    """

    left: Row
    right: Row

    @property
    def difference(self) -> float | None:
        """right - left; None where either is not defined."""
        if self.left.value is None or self.right.value is None:
            return None
        return self.right.value - self.left.value

    @property
    def apart(self) -> Apart:
        """Whether the two 95 % intervals leave a space between them: a cautious test, since the runs are not paired."""
        ends = (self.left.low, self.left.high, self.right.low, self.right.high)
        left_low, left_high, right_low, right_high = ends
        if left_low is None or left_high is None or right_low is None or right_high is None:
            return Apart.UNKNOWN
        return Apart.YES if left_high < right_low or right_high < left_low else Apart.NO


@dataclass(frozen=True, slots=True)
class RunComparison:
    """Two runs side by side.

    Attributes:
        left_title: heading of the first run.
        right_title: heading of the second.
        left: provenance of the first run.
        right: provenance of the second.
        pairs: figures that both runs hold, in the order of the first.
        only_left: figures that the second run lacks.
        only_right: figures that the first run lacks.
    """

    left_title: str
    right_title: str
    left: Provenance
    right: Provenance
    pairs: tuple[PairOfFigures, ...]
    only_left: tuple[Row, ...]
    only_right: tuple[Row, ...]

    @property
    def settings_that_differ(self) -> tuple[tuple[str, str, str], ...]:
        """Name and both texts of each setting that is not the same."""
        names = ("data_set", "bundle", "split", "truncate_history", "command", "seed", "resamples")
        both = [(name, str(getattr(self.left, name)), str(getattr(self.right, name))) for name in names]
        for name in sorted({*self.left.versions, *self.right.versions}):
            both.append((name, self.left.versions.get(name, "–"), self.right.versions.get(name, "–")))
        return tuple((name, left, right) for name, left, right in both if left != right)


def compare_runs(left: Document, right: Document) -> RunComparison:
    """Join two documents figure by figure.

    Raises:
        InputError: the documents are of different kinds, or share no figure.
    """
    rows_left, rows_right = ({row.key: row for row in _told(document)} for document in (left, right))
    pairs = tuple(PairOfFigures(row, rows_right[key]) for key, row in rows_left.items() if key in rows_right)
    if left.kind != right.kind or not pairs:
        raise InputError(
            "comparison of two runs",
            found=f"{left.kind} '{left.title}' and {right.kind} '{right.title}'",
            expected="two documents of one kind that share figures",
            remedy="Compare two evaluations or two audits.",
        )
    return RunComparison(
        left_title=left.title,
        right_title=right.title,
        left=left.provenance,
        right=right.provenance,
        pairs=pairs,
        only_left=tuple(row for key, row in rows_left.items() if key not in rows_right),
        only_right=tuple(row for key, row in rows_right.items() if key not in rows_left),
    )


def _told(document: Document) -> list[Row]:
    return [row for row in document_rows(document) if row.section not in LEFT_OUT]


def estimate_of(row: Row) -> Estimate:
    """The figure of a row with its interval."""
    return Estimate(value=row.value, low=row.low, high=row.high)
