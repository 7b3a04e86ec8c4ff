"""Published figures as data, each with its source. Nothing here was measured by this program."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from offline.datasets.registry import DATASETS
from offline.report.document.parts import Unit


class Paper(StrEnum):
    """The two papers."""

    HEURISTIC = "heuristic"
    VALUE_PRIOR = "value-prior"


TITLES = {
    Paper.HEURISTIC: "The graph heuristic (arXiv 2605.07125)",
    Paper.VALUE_PRIOR: "The value prior (arXiv 2610.19065)",
}


class Measure(StrEnum):
    """What was published, named as in the tables."""

    USERS = "users"
    ITEMS = "items"
    EDGES = "edges (training)"
    OUT_DEGREE = "mean out-degree"
    COVERAGE = "Cov@1"
    RECALL = "Recall"
    NDCG = "NDCG"
    BV_GAP = "Delta-BV against gr"
    VNDCG = "vNDCG"
    POPULARITY_SHARE = "popularity's share of gr's lead on dr"
    COLD = "cold test targets"
    ALTERNATIVES = "same-leaf alternatives of a target (median)"
    SPEARMAN = "Spearman of popularity score and training histories"
    OFTEN = "targets in at least ten training histories"
    MISSES = "misses of dr"
    SUBSTITUTE = "misses with a substitute in the top 50, target beyond 200"
    NEAR = "misses with the target at 51 to 200"
    RESCUED = "misses that gr finds"


UNITS = {
    Measure.USERS: Unit.COUNT,
    Measure.ITEMS: Unit.COUNT,
    Measure.EDGES: Unit.COUNT,
    Measure.COLD: Unit.COUNT,
    Measure.ALTERNATIVES: Unit.COUNT,
    Measure.MISSES: Unit.COUNT,
    Measure.COVERAGE: Unit.PERCENT,
    Measure.RECALL: Unit.PERCENT,
    Measure.NDCG: Unit.PERCENT,
    Measure.POPULARITY_SHARE: Unit.PERCENT,
    Measure.OFTEN: Unit.PERCENT,
    Measure.SUBSTITUTE: Unit.PERCENT,
    Measure.NEAR: Unit.PERCENT,
    Measure.RESCUED: Unit.PERCENT,
}
"""Measures that are neither counts nor shares are plain numbers."""


@dataclass(frozen=True, slots=True)
class Figure:
    """One published figure.

    Attributes:
        measure: what it is.
        value: a count, a fraction (not a percentage) or a plain number.
        source: who published it, in what setting.
        method: as in our tables; empty = a figure of the data set.
        k: cut-off; None = it has none.
    """

    measure: Measure
    value: float
    source: str
    method: str = ""
    k: int | None = None

    @property
    def name(self) -> str:
        """With its cut-off.

        >>> Figure(Measure.RECALL, 0.0903, "", "tgh-1 ring", 10).name, Figure(Measure.BV_GAP, -0.02, "", "dr", 50).name
        ('Recall@10', 'Delta-BV@50 against gr')
        """
        what, against, whom = self.measure.partition(" against ")
        return self.measure if self.k is None else f"{what}@{self.k}{against}{whom}"

    @property
    def unit(self) -> Unit:
        """How it is written."""
        return UNITS.get(self.measure, Unit.PLAIN)


STATISTICS = "arXiv 2605.07125, statistics of the data sets"
INDEPENDENT = "an independent implementation of the same definitions, {texts}"
CODE = "the authors' published code (GraphRec), all-MiniLM-L6-v2 texts without brands, random filling"
VALUE = "arXiv 2610.19065, Toys 2014"
VALUE_2023 = "arXiv 2610.19065, Toys 2023"

COVERAGE_1 = {"beauty": 0.0861, "sports": 0.0513, "toys": 0.0806, "cds": 0.0907}

TGH_TOYS = {
    "wordllama": {
        "tgh-1 ring": (0.0372, 0.0704, 0.0903, 0.0610),
        "tgh-1 score": (0.0372, 0.0720, 0.0903, 0.0614),
        "tgh-2 ring": (0.0373, 0.0701, 0.0939, 0.0624),
        "tgh-2 score": (0.0291, 0.0733, 0.0939, 0.0589),
    },
    "minilm": {
        "tgh-1 ring": (0.0383, 0.0725, 0.0917, 0.0622),
        "tgh-1 score": (0.0384, 0.0741, 0.0917, 0.0627),
        "tgh-2 ring": (0.0384, 0.0720, 0.0968, 0.0641),
        "tgh-2 score": (0.0317, 0.0740, 0.0968, 0.0613),
    },
}
"""Text encoder -> method and order -> Recall@1, @5, @10, NDCG@10 on Toys; seen items allowed, lists left short."""

TEXTS = {"wordllama": "WordLlama 256-d texts", "minilm": "all-MiniLM-L6-v2 texts without brands"}

CODE_TOYS = {"tgh-1 ring": (0.0917, 0.0622), "tgh-2 ring": (0.0968, 0.0639)}
"""Recall@10 and NDCG@10 on the MiniLM texts."""

Table = Mapping[str, tuple[tuple[Measure, float], ...]]

VALUE_TOYS: Table = {
    "gr": ((Measure.RECALL, 0.167), (Measure.NDCG, 0.056), (Measure.VNDCG, 0.215)),
    "dr": ((Measure.RECALL, 0.228), (Measure.NDCG, 0.077), (Measure.VNDCG, 0.222), (Measure.BV_GAP, -0.020)),
    "dr-prior": ((Measure.RECALL, 0.210), (Measure.NDCG, 0.072), (Measure.VNDCG, 0.240), (Measure.BV_GAP, 0.023)),
}
VALUE_TOYS_2023: Table = {
    "gr": ((Measure.RECALL, 0.052), (Measure.VNDCG, 0.160)),
    "dr": ((Measure.RECALL, 0.084), (Measure.VNDCG, 0.168)),
    "dr-prior": ((Measure.RECALL, 0.083), (Measure.VNDCG, 0.175)),
}
DIAGNOSIS_TOYS = (
    (Measure.POPULARITY_SHARE, 0.498),
    (Measure.COLD, 296),
    (Measure.ALTERNATIVES, 157),
    (Measure.SPEARMAN, 0.582),
    (Measure.OFTEN, 0.503),
    (Measure.MISSES, 8_635),
    (Measure.SUBSTITUTE, 0.582),
    (Measure.NEAR, 0.257),
    (Measure.RESCUED, 748 / 8_635),
)
VALUE_K = 50

TOYS, TOYS_2023 = "toys", "amazon-2023-toys-and-games"


def published(paper: Paper, data_set: str | None, encoder: str) -> tuple[Figure, ...]:
    """The figures of a paper on a data set.

    Args:
        paper: which paper.
        data_set: its name in `shortlist ingest --list`; None = not one that we know.
        encoder: text encoder of our run; reference figures of TGH exist for some.
    """
    if data_set is None:
        return ()
    return tuple(_heuristic(data_set, encoder) if paper is Paper.HEURISTIC else _value_prior(data_set))


def _heuristic(data_set: str, encoder: str) -> Iterator[Figure]:
    yield from _statistics(data_set)
    if data_set != TOYS:
        return
    for method, (first, fifth, tenth, ndcg) in TGH_TOYS.get(encoder, {}).items():
        source = INDEPENDENT.format(texts=TEXTS[encoder])
        for k, value in ((1, first), (5, fifth), (10, tenth)):
            yield Figure(Measure.RECALL, value, source, method, k)
        yield Figure(Measure.NDCG, ndcg, source, method, 10)
    if encoder == "minilm":
        for method, (recall, ndcg) in CODE_TOYS.items():
            yield Figure(Measure.RECALL, recall, CODE, method, 10)
            yield Figure(Measure.NDCG, ndcg, CODE, method, 10)


def _statistics(data_set: str) -> Iterator[Figure]:
    size = next((one.expected for one in DATASETS if one.name == data_set), None)
    if size is None:
        return
    yield Figure(Measure.USERS, size.users, STATISTICS)
    yield Figure(Measure.ITEMS, size.items, STATISTICS)
    yield Figure(Measure.EDGES, size.edges, STATISTICS)
    yield Figure(Measure.OUT_DEGREE, round(size.edges / size.items, 2), STATISTICS)
    if data_set in COVERAGE_1:
        yield Figure(Measure.COVERAGE, COVERAGE_1[data_set], STATISTICS)


def _value_prior(data_set: str) -> Iterator[Figure]:
    tables: dict[str, tuple[Table, str]] = {TOYS: (VALUE_TOYS, VALUE), TOYS_2023: (VALUE_TOYS_2023, VALUE_2023)}
    table, source = tables.get(data_set, ({}, ""))
    for method, figures in table.items():
        for measure, value in figures:
            yield Figure(measure, value, source, method, VALUE_K)
    if data_set == TOYS:
        for measure, value in DIAGNOSIS_TOYS:
            yield Figure(measure, value, VALUE)
