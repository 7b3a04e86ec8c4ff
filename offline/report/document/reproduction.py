"""The document of `shortlist reproduce`."""

from typing import Literal

from pydantic import AwareDatetime

from offline.report.document.evaluation import EvaluationReport
from offline.report.document.parts import Part


class ReproductionReport(Part):
    """A paper redone on several data sets; each holds published figures beside ours, and its reasons as notes."""

    kind: Literal["reproduction"] = "reproduction"
    schema_version: Literal[1] = 1
    title: str
    command: str
    created: AwareDatetime
    with_value: bool
    """Whether the paper measures value, so that the page shows those sections."""
    data_sets: tuple[EvaluationReport, ...]
