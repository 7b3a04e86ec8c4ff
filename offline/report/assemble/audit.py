"""An audit from the data and the lists of what needs no training."""

from collections.abc import Mapping, Sequence

import numpy as np

from models.words import RetrieverName
from offline.audit.signals import Evidence, Recalls
from offline.audit.verdict import verdict
from offline.measures.arrays import Ints
from offline.measures.graph_statistics import Smoothness
from offline.measures.history import history_dependence
from offline.report.assemble import ranking
from offline.report.assemble.data import data_figures, hop_distances_of
from offline.report.assemble.inputs import HeldOut, ItemFacts, MethodLists, Plan, check_methods
from offline.report.assemble.ledger import Ledger
from offline.report.document.audit import AuditReport, Dependence, Reach, SignalFinding
from offline.report.document.parts import DataFigures, Estimate, Provenance, Published


def audit_report(
    methods: Sequence[MethodLists],
    held: HeldOut,
    facts: ItemFacts,
    plan: Plan,
    *,
    title: str,
    provenance: Provenance,
    dependence: Dependence | None = None,
    published: Sequence[Published] = (),
    notes: Sequence[str] = (),
) -> AuditReport:
    """Measure a data set and say which retriever to start with.

    Args:
        methods: lists of retrievers that need no training; the verdict reads `tgh-1`, `tgh-2`, `sem-nn`, `popular`.
        held: the test split.
        facts: the items.
        plan: what to measure; the verdict rests on Recall@hop_k.
        title: heading of the report.
        provenance: where the lists come from.
        dependence: from `dependence_of` where an encoder was trained; None = none was.
        published: published figures beside ours.
        notes: what the data lacks, in full sentences.

    Raises:
        InputError: lists of other users or widths.
    """
    check_methods(methods, len(held.targets))
    distances = hop_distances_of(held, facts)
    data = data_figures(held, facts, distances, seed=plan.seed)
    ks = sorted({*plan.ks, plan.hop_k})
    ranks = {m.name: ranking.ranks_of(m, held.targets, ks) for m in methods}
    reached = _reached(ranks, distances, plan)
    told = verdict(_evidence(data, reached, dependence, plan.hop_k))
    return AuditReport(
        title=title,
        provenance=provenance,
        data=data,
        signals=tuple(SignalFinding(name=s.name, strength=s.strength, sentence=s.sentence) for s in told.signals),
        start_with=told.start_with,
        reasons=told.reasons,
        retrievers=reached,
        overlap=ranking.overlap_of(ranks, plan) if len(ranks) > 1 else None,
        dependence=dependence,
        published=tuple(published),
        notes=tuple(notes),
    )


def dependence_of(encoder: str, full_ranks: Ints, last_ranks: Ints, plan: Plan) -> Dependence:
    """Compare an encoder's ranks on full histories with those on last items only: int32 [users] each."""
    found = history_dependence(
        full_ranks, last_ranks, plan.hop_k, np.random.default_rng(plan.seed), resamples=plan.resamples
    )
    return Dependence(
        k=plan.hop_k,
        encoder=encoder,
        full=Estimate.of(found.full),
        last=Estimate.of(found.last),
        gain=Estimate.of(found.gain),
        kept=found.kept,
    )


def _reached(ranks: Mapping[str, ranking.Ranks], distances: Ints, plan: Plan) -> tuple[Reach, ...]:
    ledger = Ledger()
    for name, at in ranks.items():
        ranking.enter_cut_offs(ledger, name, at)
    settled = ledger.settle(seed=plan.seed, resamples=plan.resamples)
    return tuple(
        Reach(
            name=name,
            cut_offs=ranking.cut_offs(settled, (name,), plan.ks),
            by_hop=ranking.hop_rows(at[plan.hop_k], distances, plan.hop_k),
            hop_k=plan.hop_k,
        )
        for name, at in ranks.items()
    )


def _evidence(data: DataFigures, reached: Sequence[Reach], dependence: Dependence | None, k: int) -> Evidence:
    first, second, third = (share or 0.0 for share in data.coverage)
    return Evidence(
        n_items=data.items,
        mean_out_degree=data.mean_out_degree or 0.0,
        coverage=(first, second, third),
        cold=data.cold_targets / data.test_users if data.test_users else 0.0,
        recalls=_recalls(reached, k),
        smoothness=_smoothness(data),
        full_recall=dependence.full.value if dependence else None,
        last_recall=dependence.last.value if dependence else None,
    )


def _recalls(reached: Sequence[Reach], k: int) -> Recalls:
    """Recall@k of each retriever: the hop rows weighed back together."""
    found = {
        r.name: sum((row.recall or 0.0) * row.users for row in r.by_hop) / max(sum(row.users for row in r.by_hop), 1)
        for r in reached
    }
    return Recalls(
        k=k,
        tgh_1=found.get(RetrieverName.TGH_1),
        tgh_2=found.get(RetrieverName.TGH_2),
        sem_nn=found.get(RetrieverName.SEM_NN),
        popular=found.get(RetrieverName.POPULAR),
    )


def _smoothness(data: DataFigures) -> Smoothness | None:
    if data.smoothness_edges is None or data.smoothness_random is None or data.smoothness_effect is None:
        return None
    return Smoothness(data.smoothness_edges, data.smoothness_random, data.smoothness_effect)
