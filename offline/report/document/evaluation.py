"""The document of `shortlist evaluate`."""

from typing import Literal

from pydantic import model_validator

from models.errors import InputError
from offline.report.document.parts import (
    ColdRow,
    CreditRow,
    Curve,
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


class ValueSetting(Part):
    """How item value was measured."""

    k: int
    """Cut-off of BV, vNDCG, decomposition and sweep."""
    components: tuple[str, ...]
    weights: tuple[float, ...]
    margin: float
    """A difference in best value up to this is a tie."""


class MethodResult(Part):
    """What one method's lists are worth."""

    name: str
    cut_offs: tuple[CutOff, ...]
    credits: tuple[CreditRow, ...] = ()
    best_value: Estimate | None = None
    """Mean BV@k, 0 where nothing relevant was found."""
    vndcg: Estimate | None = None
    cold: tuple[ColdRow, ...] = ()
    by_hop: tuple[HopRow, ...] = ()
    hop_k: int | None = None
    """Cut-off of `by_hop`."""
    took_s: Number = None
    """Seconds to make all its lists."""


class WinCount(Part):
    """Users for whom x wins, ties and loses on best-item value."""

    win: int
    tie: int
    loss: int

    @property
    def users(self) -> int:
        """Users whose lists both hold a relevant item."""
        return self.win + self.tie + self.loss


class Share(Part):
    """Share of one value component in a lead."""

    component: str
    share: Estimate


class SimplexPoint(Part):
    """The vNDCG gap at one weighting."""

    weights: tuple[float, ...]
    gap: Estimate


class Comparison(Part):
    """Method x against method a: every difference is x - a over the same users."""

    x: str
    a: str
    cut_offs: tuple[CutOff, ...]
    paired_gap: Estimate | None = None
    imputed_gap: Estimate | None = None
    wins: WinCount | None = None
    vndcg_gap: Estimate | None = None
    shares: tuple[Share, ...] = ()
    simplex: tuple[SimplexPoint, ...] = ()


class Misses(Part):
    """The misses of one method, and how many of them another finds (offline.measures.substitutes)."""

    method: str
    other: str
    misses: int
    substitute: int
    near: int
    blind: int
    rescued: int


class EvaluationReport(Part):
    """Everything one evaluation measured."""

    kind: Literal["evaluation"] = "evaluation"
    schema_version: Literal[1] = 1
    title: str
    provenance: Provenance
    data: DataFigures
    methods: tuple[MethodResult, ...]
    value: ValueSetting | None = None
    """Null where the catalogue has neither categories nor values."""
    comparisons: tuple[Comparison, ...] = ()
    overlap: Overlap | None = None
    misses: tuple[Misses, ...] = ()
    curves: tuple[Curve, ...] = ()
    published: tuple[Published, ...] = ()
    notes: tuple[str, ...] = ()
    """What the data lacks and what was left out, in full sentences."""

    @model_validator(mode="after")
    def _names_agree(self) -> "EvaluationReport":
        names = [method.name for method in self.methods]
        compared = {name for c in self.comparisons for name in (c.x, c.a)}
        if len(set(names)) < len(names) or not compared <= set(names):
            raise InputError(
                "evaluation report, field methods",
                found=f"methods {names}, comparisons of {sorted(compared)}",
                expected="each method once, and comparisons of these methods only",
                remedy="Give each compared method one entry.",
            )
        return self
