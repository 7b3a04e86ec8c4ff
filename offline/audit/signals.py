"""The shortcut signals of a data set, each graded from its figures by a stated rule (after arXiv 2605.07125).

A signal is a shortcut when a retriever that uses it alone already finds many of the targets. The rules:

| signal | strong | moderate |
|---|---|---|
| transitions | Cov@1 >= 5 % and >= 20 times chance | Cov@1 >= 2 % and >= 5 times chance |
| text | effect of linked over random pairs >= 0.8 | >= 0.5 |
| last item | keeps >= 90 % of the recall | >= 75 % |
| popularity | `popular` reaches >= 50 % of the best recall | >= 25 % |

The effect sizes are Cohen's (1988). The other limits are ours; for scale, the published Cov@1 of the four Amazon 2014
sets lie between 5.13 % (Sports) and 9.07 % (CDs).
"""

from dataclasses import dataclass
from enum import StrEnum

from offline.measures.graph_statistics import Smoothness


class SignalName(StrEnum):
    """What a retriever could live on."""

    TRANSITIONS = "transitions"
    TEXT = "text"
    LAST_ITEM = "last item"
    POPULARITY = "popularity"


class Strength(StrEnum):
    """How much of the targets a signal explains."""

    STRONG = "strong"
    MODERATE = "moderate"
    WEAK = "weak"
    UNKNOWN = "not measured"


RISING = (Strength.WEAK, Strength.MODERATE, Strength.STRONG, Strength.UNKNOWN)


@dataclass(frozen=True, slots=True)
class Recalls:
    """Recall@k on the test split of what needs no training; None = not measured. `best` is the greatest of them.

    Attributes:
        k: cut-off.
        tgh_1: the graph heuristic on the last item.
        tgh_2: the graph heuristic on the last two items.
        sem_nn: text neighbours of the last item.
        popular: the most popular items.
    """

    k: int
    tgh_1: float | None = None
    tgh_2: float | None = None
    sem_nn: float | None = None
    popular: float | None = None

    @property
    def best(self) -> float:
        """The greatest measured recall; 0 when none was measured."""
        return max((r for r in (self.tgh_1, self.tgh_2, self.sem_nn, self.popular) if r is not None), default=0.0)


@dataclass(frozen=True, slots=True)
class Evidence:
    """The figures of an audit that a verdict rests on.

    Attributes:
        n_items: catalogue size.
        mean_out_degree: edges / items.
        coverage: Cov@1, Cov@2, Cov@3, shares of test targets.
        cold: share of test targets that training lacks.
        recalls: of the retrievers that need no training.
        smoothness: text likeness of linked items; None without texts.
        full_recall: recall of an encoder on full histories; None when none was trained.
        last_recall: recall of the same encoder on last items only.
    """

    n_items: int
    mean_out_degree: float
    coverage: tuple[float, float, float]
    cold: float
    recalls: Recalls
    smoothness: Smoothness | None = None
    full_recall: float | None = None
    last_recall: float | None = None

    @property
    def kept(self) -> float:
        """Share of the recall on longer histories that the last item alone keeps; NaN when not measured."""
        if self.full_recall and self.last_recall is not None:
            return self.last_recall / self.full_recall
        if self.recalls.tgh_2 and self.recalls.tgh_1 is not None:
            return self.recalls.tgh_1 / self.recalls.tgh_2
        return float("nan")


@dataclass(frozen=True, slots=True)
class Signal:
    """One graded signal.

    Attributes:
        name: which signal.
        strength: its grade.
        sentence: the grade in plain words, with the figures that led to it.
    """

    name: SignalName
    strength: Strength
    sentence: str


def percent(share: float) -> str:
    """A share as text.

    >>> percent(0.0806)
    '8.06 %'
    """
    return f"{100 * share:.2f} %"


def grade(value: float, strong: float, moderate: float) -> Strength:
    """Strong, moderate or weak by two lower limits; NaN is not measured.

    >>> [grade(v, 0.9, 0.75).value for v in (0.95, 0.8, 0.1, float("nan"))]
    ['strong', 'moderate', 'weak', 'not measured']
    """
    if value != value:
        return Strength.UNKNOWN
    if value >= strong:
        return Strength.STRONG
    return Strength.MODERATE if value >= moderate else Strength.WEAK


def transitions(evidence: Evidence) -> Signal:
    """How many targets directly followed the last item in someone's training sequence.

    >>> toys = Evidence(11_924, 8.58, (0.0806, 0.2016, 0.4716), 0.0144, Recalls(10))
    >>> transitions(toys).sentence
    'Transitions are strong: 8.06 % of the targets are one hop from the last item, 112 times what as many random items \
would hold (8.6 edges an item); within 2 and 3 hops lie 20.16 % and 47.16 %.'
    """
    first, second, third = evidence.coverage
    chance = evidence.mean_out_degree / evidence.n_items if evidence.n_items else 0.0
    lift = first / chance if chance > 0 else 0.0
    strength = min(grade(first, 0.05, 0.02), grade(lift, 20, 5), key=RISING.index)
    return Signal(
        SignalName.TRANSITIONS,
        strength,
        f"Transitions are {strength}: {percent(first)} of the targets are one hop from the last item, {lift:.0f} times "
        f"what as many random items would hold ({evidence.mean_out_degree:.1f} edges an item); within 2 and 3 hops lie "
        f"{percent(second)} and {percent(third)}.",
    )


def text(evidence: Evidence) -> Signal:
    """How much more alike the texts of linked items are than those of random pairs.

    >>> text(Evidence(10, 1.0, (0.1, 0.2, 0.3), 0.0, Recalls(10))).sentence
    'Text likeness was not measured: the bundle holds no text embeddings.'
    """
    smooth = evidence.smoothness
    if smooth is None:
        missing = "Text likeness was not measured: the bundle holds no text embeddings."
        return Signal(SignalName.TEXT, Strength.UNKNOWN, missing)
    strength = grade(smooth.effect, 0.8, 0.5)
    found = _recall_words("text neighbours of the last item alone", evidence.recalls.sem_nn, evidence.recalls.k)
    return Signal(
        SignalName.TEXT,
        strength,
        f"Text likeness is {strength}: items that follow one another have a mean cosine of {smooth.edges:.3f} against "
        f"{smooth.random:.3f} for random pairs, {smooth.effect:.2f} standard deviations apart{found}.",
    )


def last_item(evidence: Evidence) -> Signal:
    """How much of the recall the last item alone keeps: of a trained encoder if there is one, else of the heuristic.

    >>> last_item(Evidence(10, 1.0, (0.1, 0.2, 0.3), 0.0, Recalls(10, tgh_1=0.095, tgh_2=0.10))).sentence
    'Last-item dependence is strong: tgh-1, which sees the last item only, has Recall@10 9.50 % against 10.00 % of \
tgh-2, which sees two (95 % kept). No encoder was trained for this.'
    """
    recalls, kept = evidence.recalls, evidence.kept
    if evidence.full_recall and evidence.last_recall is not None:
        words = (
            f"the encoder has Recall@{recalls.k} {percent(evidence.last_recall)} on the last item only against "
            f"{percent(evidence.full_recall)} on full histories ({100 * kept:.0f} % kept)."
        )
    elif recalls.tgh_2 and recalls.tgh_1 is not None:
        words = (
            f"tgh-1, which sees the last item only, has Recall@{recalls.k} {percent(recalls.tgh_1)} against "
            f"{percent(recalls.tgh_2)} of tgh-2, which sees two ({100 * kept:.0f} % kept). {_encoder(evidence)}"
        )
    else:
        missing = "Last-item dependence was not measured: no retriever was run on full and on shortened histories."
        return Signal(SignalName.LAST_ITEM, Strength.UNKNOWN, missing)
    strength = grade(kept, 0.9, 0.75)
    return Signal(SignalName.LAST_ITEM, strength, f"Last-item dependence is {strength}: {words}")


def _encoder(evidence: Evidence) -> str:
    return (
        "No encoder was trained for this." if evidence.full_recall is None else "The trained encoder finds no target."
    )


def popularity(evidence: Evidence) -> Signal:
    """How near the most popular items come to the best list that needs no training.

    >>> popularity(Evidence(10, 1.0, (0.1, 0.2, 0.3), 0.0, Recalls(10, tgh_1=0.09, popular=0.009))).sentence
    'Popularity is weak: the most popular items have Recall@10 0.90 %, 10 % of the best list that needs no training \
(9.00 %).'
    """
    recalls = evidence.recalls
    if recalls.popular is None or recalls.best == 0:
        missing = "Popularity was not measured: no list finds any target."
        return Signal(SignalName.POPULARITY, Strength.UNKNOWN, missing)
    reached = recalls.popular / recalls.best
    strength = grade(reached, 0.5, 0.25)
    return Signal(
        SignalName.POPULARITY,
        strength,
        f"Popularity is {strength}: the most popular items have Recall@{recalls.k} {percent(recalls.popular)}, "
        f"{100 * reached:.0f} % of the best list that needs no training ({percent(recalls.best)}).",
    )


def _recall_words(who: str, recall: float | None, k: int) -> str:
    return "" if recall is None else f"; {who} have Recall@{k} {percent(recall)}"
