"""The report of an ingest, as it is written beside the data."""

from pydantic import BaseModel, ConfigDict


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True)


class RawFileFacts(_Part):
    """A raw file that was read."""

    name: str
    size_bytes: int
    sha256: str


class RejectedLine(_Part):
    """One row that could not be used, whole or in part."""

    line: int | None
    """1-based; of records where a record can span lines."""
    text: str


class RejectedRows(_Part):
    """Rows of one file that share a reason."""

    file: str
    reason: str
    count: int
    examples: list[RejectedLine]


class StepFacts(_Part):
    """What a filter left over."""

    step: str
    interactions: int
    users: int
    items: int


class FigureFacts(_Part):
    """One figure, here and as published."""

    figure: str
    found: float
    published: float | None
    agrees: bool | None
    """None = nothing is published."""


class Coverage(_Part):
    """How many catalogue items have a field."""

    field: str
    items: int


class IngestReport(_Part):
    """Everything there is to know about one ingest."""

    dataset: str
    title: str
    page: str
    terms: str
    raw_files: list[RawFileFacts]
    rejected: list[RejectedRows]
    steps: list[StepFacts]
    """In order; the first is what the reader gave."""
    figures: list[FigureFacts]
    coverage: list[Coverage]
    notes: list[str]
    took_s: float

    @property
    def agrees(self) -> bool:
        """No published figure differs."""
        return all(figure.agrees is not False for figure in self.figures)
