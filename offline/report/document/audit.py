"""The document of `shortlist audit`."""

from typing import Literal

from models.words import RetrieverName
from offline.audit.signals import SignalName, Strength
from offline.report.document.parts import (
    CutOff,
    DataFigures,
    Estimate,
    HopRow,
    Number,
    Overlap,
    Part,
    Provenance,
    Published,
)


class SignalFinding(Part):
    """One graded shortcut signal."""

    name: SignalName
    strength: Strength
    sentence: str


class Reach(Part):
    """What a retriever that needs no training finds."""

    name: str
    cut_offs: tuple[CutOff, ...]
    by_hop: tuple[HopRow, ...]
    hop_k: int


class Dependence(Part):
    """Recall@k of one encoder on full histories and on the last item only."""

    k: int
    encoder: str
    full: Estimate
    last: Estimate
    gain: Estimate
    kept: Number


class AuditReport(Part):
    """Everything one audit found."""

    kind: Literal["audit"] = "audit"
    schema_version: Literal[1] = 1
    title: str
    provenance: Provenance
    data: DataFigures
    signals: tuple[SignalFinding, ...]
    start_with: RetrieverName
    reasons: tuple[str, ...]
    retrievers: tuple[Reach, ...] = ()
    overlap: Overlap | None = None
    dependence: Dependence | None = None
    """Null where no encoder was trained."""
    published: tuple[Published, ...] = ()
    notes: tuple[str, ...] = ()
