"""Building blocks that the documents share."""

import math
from enum import StrEnum
from typing import Annotated, Self

from pydantic import AwareDatetime, BaseModel, BeforeValidator, ConfigDict, Field, JsonValue

from models.words import Split
from offline.measures.bootstrap import Interval


def _finite(value: object) -> object:
    return None if isinstance(value, float) and not math.isfinite(value) else value


Number = Annotated[float | None, BeforeValidator(_finite)]
"""A figure; null where it is not defined (NaN has no place in JSON)."""


class Part(BaseModel):
    """Base of all parts: frozen, and unknown keys are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Estimate(Part):
    """A figure with its 95 % interval, where it has one."""

    value: Number
    low: Number = None
    high: Number = None

    @classmethod
    def of(cls, interval: Interval) -> Self:
        """From a bootstrap interval.

        >>> Estimate.of(Interval(0.5, float("nan"), 0.7))
        Estimate(value=0.5, low=None, high=0.7)
        """
        return cls(value=interval.estimate, low=interval.low, high=interval.high)

    @property
    def decided(self) -> bool:
        """Whether the interval leaves zero out."""
        return (self.low is not None and self.low > 0) or (self.high is not None and self.high < 0)


class Provenance(Part):
    """Where the figures come from: enough to make them again."""

    data_set: str
    bundle: str
    """Version of the bundle."""
    split: Split
    truncate_history: int | None = None
    """A user's last so many items were kept before the split; null = all."""
    command: str
    created: AwareDatetime
    seed: int
    resamples: int
    """Bootstrap samples of each interval."""
    versions: dict[str, str] = Field(default_factory=dict)
    """Versions of the software that matters."""
    config: dict[str, JsonValue] = Field(default_factory=dict)
    """The build configuration, as the manifest holds it."""


class DataFigures(Part):
    """Statistics of the data set, before any method (METRICS: audit)."""

    users: int
    items: int
    interactions: int
    mean_length: Number
    """Interactions a user."""
    test_users: int
    edges: int
    mean_out_degree: Number
    """Edges / items."""
    mean_edge_weight: Number
    coverage: tuple[Number, Number, Number]
    """Cov@1, 2, 3: shares of test targets within so many hops of the last item."""
    targets_by_hop: tuple[int, int, int, int]
    """Test users whose target is 1, 2, 3 and more hops away."""
    cold_targets: int
    """Test targets that no training sequence holds."""
    same_leaf_alternatives: Number = None
    """Median, over the test targets, of the other items in the target's leaf category."""
    smoothness_edges: Number = None
    smoothness_random: Number = None
    smoothness_effect: Number = None
    """Mean text cosine over edges, over random pairs, and their distance in standard deviations."""
    popularity_score_spearman: Number = None
    popularity_demand_spearman: Number = None
    targets_in_ten_histories: Number = None
    """See offline.measures.popularity."""


class CutOff(Part):
    """Recall and NDCG at one k."""

    k: int
    recall: Estimate
    ndcg: Estimate


class Rule(StrEnum):
    """Relevance rules, named as in the tables."""

    EXACT = "exact"
    CATEGORY = "category"
    GRADED = "graded"
    CO_PURCHASE = "co-purchase"
    RANDOM_CONTROL = "random control"


class CreditRow(Part):
    """What a list collects under one rule."""

    rule: Rule
    k: int
    credit: Estimate
    """Mean of the greatest credit in the top k."""
    ndcg: Estimate
    """NDCG@k with graded gains; null for the category rule, whose value-weighted form is vNDCG."""


class HopRow(Part):
    """Recall@k of the users whose target lies at one distance."""

    hop: int
    """1, 2, 3, or 0 for more than 3."""
    users: int
    recall: Number


class ColdRow(Part):
    """Cold targets found in the top k."""

    k: int
    found: int


class Overlap(Part):
    """Jaccard overlap of the users that two methods get right."""

    k: int
    methods: tuple[str, ...]
    matrix: tuple[tuple[Number, ...], ...]


class Curve(Part):
    """One training curve."""

    name: str
    x_label: str
    y_label: str
    points: tuple[tuple[float, float], ...]


class Unit(StrEnum):
    """How a figure is written."""

    PLAIN = "plain"
    PERCENT = "percent"
    COUNT = "count"


class Published(Part):
    """A published figure beside ours."""

    method: str
    measure: str
    published: float
    ours: Estimate
    """Without a value where we could not measure it."""
    remark: str = ""
    unit: Unit = Unit.PLAIN

    @property
    def difference(self) -> float | None:
        """Ours minus the published one."""
        return None if self.ours.value is None else self.ours.value - self.published
