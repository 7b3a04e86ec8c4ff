"""Value measures of all methods: BV, its gaps and wins, vNDCG, the decomposition and the weight sweep."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from models.errors import InputError
from offline.measures.arrays import Floats, Ints
from offline.measures.best_value import MARGIN, BestItems, best_items, both_found, wins, won
from offline.measures.bootstrap import Interval
from offline.measures.relevance import same_leaf
from offline.measures.simplex import Sweep, sweep, weight_grid
from offline.measures.vndcg import vndcg
from offline.report.assemble.inputs import HeldOut, ItemFacts, MethodLists, Plan
from offline.report.assemble.ledger import Key, Ledger
from offline.report.document.evaluation import Comparison, Share, SimplexPoint, ValueSetting, WinCount
from offline.report.document.parts import CutOff, Estimate


@dataclass(frozen=True, slots=True)
class ValueScores:
    """Per-user value figures of all methods.

    Attributes:
        names: the methods, in the order of the first axes.
        components: float64 [components, n_items].
        weights: float64 [components].
        best: best relevant item a method.
        vndcg: float64 [methods, users].
        swept: the weight sweep.
    """

    names: tuple[str, ...]
    components: Floats
    weights: Floats
    best: tuple[BestItems, ...]
    vndcg: Floats
    swept: Sweep


def measurable(facts: ItemFacts) -> bool:
    """Whether the catalogue has what value measures need: categories and values."""
    return facts.leaves is not None and facts.components is not None and facts.weights is not None


def value_scores(methods: Sequence[MethodLists], held: HeldOut, facts: ItemFacts, plan: Plan) -> ValueScores:
    """Measure all methods over their shared pool.

    Raises:
        InputError: the catalogue has no categories or no values (ask `measurable` first).
    """
    if facts.leaves is None or facts.components is None or facts.weights is None:
        raise InputError(
            "value measures",
            found="a catalogue without categories or values",
            expected="leaf categories, value components and weights",
            remedy="Leave the value measures out for this data set.",
        )
    lists: Ints = np.stack([method.top(plan.value_k) for method in methods])
    q = np.stack([same_leaf(one, held.targets, facts.leaves) for one in lists])
    values = np.asarray(facts.weights @ facts.components, np.float64)
    return ValueScores(
        names=tuple(method.name for method in methods),
        components=facts.components,
        weights=facts.weights,
        best=tuple(best_items(one, rel, values, plan.value_k) for one, rel in zip(lists, q, strict=True)),
        vndcg=vndcg(lists, q * values[lists]),
        swept=sweep(lists, q, facts.components, weight_grid(components=len(facts.weights))),
    )


def enter_values(ledger: Ledger, scores: ValueScores) -> None:
    """BV and vNDCG of each method."""
    for name, best, score in zip(scores.names, scores.best, scores.vndcg, strict=True):
        ledger.mean(("bv", name), best.values)
        ledger.mean(("vndcg", name), score)


def enter_value_gaps(ledger: Ledger, scores: ValueScores, x: str, a: str) -> None:
    """Gaps in BV and vNDCG and the decomposition of x's lead over a."""
    one, other = scores.names.index(x), scores.names.index(a)
    best_x, best_a = scores.best[one], scores.best[other]
    both = both_found(best_x, best_a).astype(np.float64)
    gap = best_x.values - best_a.values
    ledger.ratio(("bv-paired", x, a), gap * both, both)
    ledger.mean(("bv-imputed", x, a), gap)
    ledger.mean(("vndcg", x, a), scores.vndcg[one] - scores.vndcg[other])
    lead = won(best_x, best_a)
    parts = scores.weights[:, None] * (scores.components[:, best_x.items] - scores.components[:, best_a.items]) * lead
    for component, part in enumerate(parts):
        ledger.ratio(("share", x, a, component), part, parts.sum(0))


def comparison(
    settled: Mapping[Key, Interval],
    x: str,
    a: str,
    at: tuple[CutOff, ...],
    scores: ValueScores | None,
    plan: Plan,
    names: Sequence[str],
) -> Comparison:
    """The settled comparison of one pair; without scores, Recall and NDCG alone."""
    if scores is None:
        return Comparison(x=x, a=a, cut_offs=at)
    one, other = scores.names.index(x), scores.names.index(a)
    counted = wins(scores.best[one], scores.best[other])
    gaps = scores.swept.gap(one, other, np.random.default_rng(plan.seed), resamples=plan.resamples)
    return Comparison(
        x=x,
        a=a,
        cut_offs=at,
        paired_gap=Estimate.of(settled["bv-paired", x, a]),
        imputed_gap=Estimate.of(settled["bv-imputed", x, a]),
        wins=WinCount(win=counted.win, tie=counted.tie, loss=counted.loss),
        vndcg_gap=Estimate.of(settled["vndcg", x, a]),
        shares=tuple(
            Share(component=name, share=Estimate.of(settled["share", x, a, c])) for c, name in enumerate(names)
        ),
        simplex=tuple(
            SimplexPoint(weights=tuple(weights), gap=Estimate.of(gap))
            for weights, gap in zip(scores.swept.weights.tolist(), gaps, strict=True)
        ),
    )


def value_setting(facts: ItemFacts, plan: Plan) -> ValueSetting:
    """How value was measured, for the document."""
    weights = () if facts.weights is None else tuple(facts.weights.tolist())
    return ValueSetting(k=plan.value_k, components=tuple(facts.component_names), weights=weights, margin=MARGIN)
