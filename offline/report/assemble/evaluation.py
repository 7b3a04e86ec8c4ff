"""An evaluation from ranked lists: every measure applied, into one document."""

from collections.abc import Mapping, Sequence

import numpy as np

from offline.measures.arrays import Bools, Ints, Ragged
from offline.measures.bootstrap import Interval
from offline.measures.cold import cold_targets
from offline.measures.ranking import target_ranks
from offline.measures.relevance import same_leaf
from offline.measures.substitutes import POOL, TOP, miss_anatomy
from offline.report.assemble import credit, ranking, value
from offline.report.assemble.data import data_figures, hop_distances_of
from offline.report.assemble.inputs import HeldOut, ItemFacts, MethodLists, Plan, check_methods, check_pairs
from offline.report.assemble.ledger import Key, Ledger
from offline.report.document.evaluation import EvaluationReport, MethodResult, Misses
from offline.report.document.parts import Curve, Estimate, Provenance, Published


def evaluation_report(
    methods: Sequence[MethodLists],
    held: HeldOut,
    facts: ItemFacts,
    plan: Plan,
    *,
    title: str,
    provenance: Provenance,
    judgments: Ragged | None = None,
    curves: Sequence[Curve] = (),
    published: Sequence[Published] = (),
    notes: Sequence[str] = (),
) -> EvaluationReport:
    """Measure the lists of all methods on one test split.

    Args:
        methods: the lists of each method, all of the same users.
        held: the test split.
        facts: the items.
        plan: what to measure.
        title: heading of the report.
        provenance: where the lists come from.
        judgments: supplied grades, one row a user; None = none.
        curves: training curves to show.
        published: published figures beside ours.
        notes: what the data lacks, in full sentences.

    Raises:
        InputError: lists of other users or widths, or a pair that names an unknown method.
    """
    check_methods(methods, len(held.targets))
    check_pairs(plan.pairs, [method.name for method in methods])
    distances = hop_distances_of(held, facts)
    scores = value.value_scores(methods, held, facts, plan) if value.measurable(facts) else None
    ranks = {m.name: ranking.ranks_of(m, held.targets, _ks(plan)) for m in methods}
    rules = credit.credit_rules(held, facts, judgments, seed=plan.seed)
    settled = _settle(methods, ranks, rules, scores, plan)
    cold = cold_targets(held.targets, held.training_items, n_items=facts.n_items)
    return EvaluationReport(
        title=title,
        provenance=provenance,
        data=data_figures(held, facts, distances, seed=plan.seed),
        methods=tuple(_method(m, ranks[m.name], settled, distances, cold, rules, plan) for m in methods),
        value=value.value_setting(facts, plan) if scores else None,
        comparisons=tuple(
            value.comparison(
                settled, x, a, ranking.cut_offs(settled, (x, a), plan.ks), scores, plan, facts.component_names
            )
            for x, a in plan.pairs
        ),
        overlap=ranking.overlap_of(ranks, plan),
        misses=_misses(methods, held, facts),
        curves=tuple(curves),
        published=tuple(published),
        notes=tuple(notes),
    )


def _ks(plan: Plan) -> list[int]:
    return sorted({*plan.ks, plan.hop_k})


def _settle(
    methods: Sequence[MethodLists],
    ranks: Mapping[str, ranking.Ranks],
    rules: Sequence[credit.CreditRule],
    scores: value.ValueScores | None,
    plan: Plan,
) -> dict[Key, Interval]:
    """Every mean and every difference, in one bootstrap."""
    ledger = Ledger()
    for method in methods:
        ranking.enter_cut_offs(ledger, method.name, ranks[method.name])
    credit.enter_credits(ledger, methods, rules, plan.ks)
    for x, a in plan.pairs:
        ranking.enter_gaps(ledger, x, a, ranks)
    if scores:
        value.enter_values(ledger, scores)
        for x, a in plan.pairs:
            value.enter_value_gaps(ledger, scores, x, a)
    return ledger.settle(seed=plan.seed, resamples=plan.resamples)


def _method(
    method: MethodLists,
    ranks: ranking.Ranks,
    settled: Mapping[Key, Interval],
    distances: Ints,
    cold: Bools,
    rules: Sequence[credit.CreditRule],
    plan: Plan,
) -> MethodResult:
    name = method.name
    valued = ("bv", name) in settled
    return MethodResult(
        name=name,
        cut_offs=ranking.cut_offs(settled, (name,), plan.ks),
        credits=credit.credit_rows(settled, name, rules, plan.ks),
        best_value=Estimate.of(settled["bv", name]) if valued else None,
        vndcg=Estimate.of(settled["vndcg", name]) if valued else None,
        cold=ranking.cold_rows(ranks, cold),
        by_hop=ranking.hop_rows(ranks[plan.hop_k], distances, plan.hop_k),
        hop_k=plan.hop_k,
        took_s=method.took_s,
    )


def _misses(methods: Sequence[MethodLists], held: HeldOut, facts: ItemFacts) -> tuple[Misses, ...]:
    """The misses of `dr` against `gr`, where both are there with lists long enough."""
    found = {method.name: method for method in methods}
    dr, gr = found.get("dr"), found.get("gr")
    if dr is None or gr is None or facts.leaves is None or POOL not in dr.at or TOP not in gr.at:
        return ()
    long_list = dr.at[POOL]
    anatomy = miss_anatomy(
        target_ranks(long_list, held.targets),
        same_leaf(np.ascontiguousarray(long_list[:, :TOP]), held.targets, facts.leaves),
        target_ranks(gr.at[TOP], held.targets),
        depth=POOL,
    )
    return (
        Misses(
            method="dr",
            other="gr",
            misses=anatomy.misses,
            substitute=anatomy.substitute,
            near=anatomy.near,
            blind=anatomy.blind,
            rescued=anatomy.rescued,
        ),
    )
