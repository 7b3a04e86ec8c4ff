"""The verdict of an audit in plain words: which shortcut signals are strong, and which retriever to start with.

The rules, the first that holds decides:

1. `popular` finds at least 90 % of what the best list without training finds: start with `popular`.
2. transitions are strong or moderate, and the last item is not weak: start with the better of `tgh-1` and `tgh-2`,
   of equals the simpler `tgh-1`.
3. the last item is weak (full histories pay): train and start with `dr`.
4. text is strong or moderate: start with `sem-nn`.
5. nothing is strong: train and start with `dr`.
"""

from dataclasses import dataclass

from models.words import RetrieverName
from offline.audit.signals import (
    Evidence,
    Signal,
    SignalName,
    Strength,
    last_item,
    percent,
    popularity,
    text,
    transitions,
)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the audit concludes.

    Attributes:
        signals: the graded signals, in the order transitions, text, last item, popularity.
        start_with: the retriever to begin with.
        reasons: sentences that say why, and what to expect of training, each with its figures.
    """

    signals: tuple[Signal, ...]
    start_with: RetrieverName
    reasons: tuple[str, ...]

    def strength(self, name: SignalName) -> Strength:
        """Grade of one signal."""
        return next(signal.strength for signal in self.signals if signal.name is name)


def verdict(evidence: Evidence) -> Verdict:
    """Grade the signals and choose.

    >>> from offline.audit.signals import Recalls
    >>> from offline.measures.graph_statistics import Smoothness
    >>> toys = Evidence(11_924, 8.58, (0.0806, 0.2016, 0.4716), 0.0144,
    ...     Recalls(10, tgh_1=0.0903, tgh_2=0.0939, sem_nn=0.05, popular=0.0098), Smoothness(0.45, 0.2, 1.4))
    >>> told = verdict(toys)
    >>> told.start_with.value
    'tgh-2'
    >>> told.reasons[0]
    'Start with tgh-2: transitions are strong and the last item tells most of what is needed, and its Recall@10 of \
9.39 % needs no training (tgh-1: 9.03 %).'
    """
    signals = (transitions(evidence), text(evidence), last_item(evidence), popularity(evidence))
    strengths = {signal.name: signal.strength for signal in signals}
    start, why = _start(evidence, strengths)
    return Verdict(signals, start, (why, _beyond(evidence), _cold(evidence)))


def _start(evidence: Evidence, strengths: dict[SignalName, Strength]) -> tuple[RetrieverName, str]:
    recalls = evidence.recalls
    useful = {Strength.STRONG, Strength.MODERATE}
    if recalls.popular and recalls.popular >= 0.9 * recalls.best:
        return RetrieverName.POPULAR, (
            f"Start with popular: it finds {percent(recalls.popular)} of the targets at k = {recalls.k}, and no other "
            f"list without training finds more than {percent(recalls.best)}."
        )
    if strengths[SignalName.TRANSITIONS] in useful and strengths[SignalName.LAST_ITEM] is not Strength.WEAK:
        return _heuristic(evidence, strengths[SignalName.TRANSITIONS])
    if strengths[SignalName.LAST_ITEM] is Strength.WEAK:
        return RetrieverName.DR, (
            f"Start with dr, which has to be trained: the last item alone keeps {100 * evidence.kept:.0f} % of what "
            "longer histories find."
        )
    if strengths[SignalName.TEXT] in useful:
        return RetrieverName.SEM_NN, (
            f"Start with sem-nn: Cov@1 of {percent(evidence.coverage[0])} gives the graph little to work with, but "
            f"texts are {strengths[SignalName.TEXT]}ly alike where users move on."
        )
    return RetrieverName.DR, (
        f"Start with dr, which has to be trained: Cov@1 is {percent(evidence.coverage[0])} and no other signal that "
        "needs no training is strong."
    )


def _heuristic(evidence: Evidence, strength: Strength) -> tuple[RetrieverName, str]:
    one, two, k = evidence.recalls.tgh_1, evidence.recalls.tgh_2, evidence.recalls.k
    why = f"transitions are {strength} and the last item tells most of what is needed"
    if one is None or two is None:
        return RetrieverName.TGH_2, f"Start with tgh-2: {why} (Cov@1 {percent(evidence.coverage[0])})."
    ranked = sorted(((one, RetrieverName.TGH_1), (two, RetrieverName.TGH_2)), key=lambda pair: -pair[0])
    (best, name), (other, other_name) = ranked
    return name, (
        f"Start with {name}: {why}, and its Recall@{k} of {percent(best)} needs no training "
        f"({other_name}: {percent(other)})."
    )


def _beyond(evidence: Evidence) -> str:
    return (
        f"What the graph cannot reach: {percent(1 - evidence.coverage[2])} of the targets lie beyond 3 hops of the "
        "last item; a trained retriever has to prove itself there (recall by hop in the evaluation shows it)."
    )


def _cold(evidence: Evidence) -> str:
    return (
        f"Cold targets: {percent(evidence.cold)} of the targets occur in no training sequence; only retrievers that "
        "read texts (sem-nn, dr, gr and the fillers of tgh) can find them."
    )
