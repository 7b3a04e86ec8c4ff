"""What there is to know about a published data set, as data."""

from collections.abc import Callable
from dataclasses import dataclass

from offline.datasets.figures import Figures
from offline.datasets.raw import RawFile
from offline.datasets.steps import Step
from offline.datasets.workspace import RatingScale, Workspace

Reader = Callable[[Workspace], None]
"""Fills the workspace's tables `interactions` and `items` from the raw files."""


@dataclass(frozen=True, slots=True)
class Dataset:
    """A published data set.

    Attributes:
        name: what `shortlist ingest` calls it.
        title: its name in the papers.
        page: web page of the publisher.
        terms: under which terms the publisher hands it out, in a sentence.
        files: raw files.
        read: the reader.
        steps: filters of the paper, in order.
        event: what one interaction is (review, purchase, click...).
        text: template of the item text over the columns of the catalogue, in the heuristic paper's words.
        ratings: scale of the ratings; None = none are published.
        expected: published figures; None = none that we know of.
        notes: what someone who uses the result should know.
    """

    name: str
    title: str
    page: str
    terms: str
    files: tuple[RawFile, ...]
    read: Reader
    steps: tuple[Step, ...]
    event: str
    text: str
    ratings: RatingScale | None = None
    expected: Figures | None = None
    notes: tuple[str, ...] = ()

    @property
    def downloadable(self) -> bool:
        """Every file that is needed can be fetched without an account."""
        return all(file.url or (file.archive and file.archive.url) for file in self.files)
