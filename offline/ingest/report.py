"""What reading found: rows that were dropped, fields that were not used, and by which rule."""

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Finding:
    """Rows that a rule caught.

    Attributes:
        what: the oddity.
        rows: how many rows have it.
        rule: what was done with them.
        first: the first of them, as file and row.
    """

    what: str
    rows: int
    rule: str
    first: str

    @property
    def dropped(self) -> bool:
        """Whether the rows are gone, not only one of their fields."""
        return self.rule.startswith("dropped")

    def line(self) -> str:
        """One line for people."""
        return f"{self.what}: {self.rows:,} rows, {self.rule} (first: {self.first})"


@dataclass(frozen=True, slots=True)
class TableReport:
    """What became of the rows of one kind of input.

    Attributes:
        files: the files' names.
        units: unit of the timestamps of each file; empty for catalogues.
        read: rows read.
        kept: rows kept.
        findings: oddities, most rows first.
    """

    files: tuple[str, ...]
    units: tuple[str, ...]
    read: int
    kept: int
    findings: tuple[Finding, ...]


@dataclass(frozen=True, slots=True)
class IngestReport:
    """Both inputs.

    Attributes:
        interactions: what became of the interactions.
        items: what became of the catalogue; None without one.
    """

    interactions: TableReport
    items: TableReport | None

    def facts(self) -> dict[str, Any]:
        """For the manifest."""
        return asdict(self)

    def lines(self) -> list[str]:
        """For people."""
        named = [("interactions", self.interactions), ("items", self.items)]
        lines = []
        for name, table in named:
            if table is not None:
                lines.append(f"{name}: {table.read:,} rows read, {table.kept:,} kept")
                lines.extend(f"  {finding.line()}" for finding in table.findings)
        return lines
