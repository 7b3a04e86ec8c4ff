"""The audit of a data set: what a bundle without any training already tells."""

from collections.abc import Sequence
from dataclasses import replace

from models.bundle.reader import Bundle
from models.registry import available
from models.words import RetrieverName
from offline.evaluate import Settings, TargetUsers, evaluate
from offline.measures.ranking import target_ranks
from offline.progress import Reporter
from offline.report.assemble.audit import audit_report, dependence_of
from offline.report.assemble.inputs import MethodLists, Plan
from offline.report.bundle_facts import held_out, item_facts, provenance, without_texts
from offline.report.document.audit import AuditReport, Dependence

UNTRAINED = (RetrieverName.TGH_1, RetrieverName.TGH_2, RetrieverName.SEM_NN, RetrieverName.POPULAR)
PAPER = Settings(exclude_seen=False, fill=False)
"""How the published audit asks: seen items allowed, short lists left short."""
LAST_ITEM = replace(PAPER, history_items=1)
FEW_USERS = 400
"""Below this a share of 10 % has a 95 % interval wider than three points either way."""


def audit(
    bundle: Bundle, test: TargetUsers, reporter: Reporter, *, data_set: str, ks: Sequence[int] = (1, 5, 10)
) -> AuditReport:
    """Audit the data that a bundle was built on.

    History dependence needs a trained encoder: it is measured where the bundle holds `dr`, and left out otherwise.

    Args:
        bundle: built with a split.
        test: the users with a target.
        reporter: told how far it is.
        data_set: name for the report.
        ks: cut-offs of Recall and NDCG.

    Raises:
        InputError: bundle and users do not belong together.
    """
    plan = Plan(ks=sorted(set(ks)), value_k=max(ks))
    names = [name for name in UNTRAINED if name in available(bundle)]
    asked = evaluate(bundle, test, names, [*ks, plan.hop_k], PAPER, reporter)
    methods = [MethodLists(name, lists, asked.seconds[name]) for name, lists in asked.items.items()]
    dependence = _dependence(bundle, test, plan, reporter)
    facts = item_facts(bundle)
    return audit_report(
        methods,
        held_out(test),
        facts,
        plan,
        title=data_set,
        provenance=provenance(bundle, data_set, plan),
        dependence=dependence,
        notes=[*_few(len(test)), *_notes(dependence, names), *without_texts(facts)],
    )


def _dependence(bundle: Bundle, test: TargetUsers, plan: Plan, reporter: Reporter) -> Dependence | None:
    if RetrieverName.DR not in available(bundle):
        return None
    full, last = (
        target_ranks(
            evaluate(bundle, test, [RetrieverName.DR], [plan.hop_k], settings, reporter)
            .longest[RetrieverName.DR]
            .items,
            test.targets,
        )
        for settings in (PAPER, LAST_ITEM)
    )
    return dependence_of(RetrieverName.DR, full, last, plan)


def _few(users: int) -> list[str]:
    if users >= FEW_USERS:
        return []
    return [f"The verdict rests on {users:,} test users: too few to trust its percentages; see their intervals."]


def _notes(dependence: Dependence | None, names: Sequence[RetrieverName]) -> list[str]:
    notes = ["Seen items were allowed and short lists left short, as in the published audit."]
    if dependence is None:
        notes.append(
            "History dependence needs a trained encoder and was left out; train the bundle (shortlist train) and audit "
            "it again to have it."
        )
    missing = [name.value for name in UNTRAINED if name not in names]
    if missing:
        notes.append(f"The bundle cannot serve {', '.join(missing)}, so the verdict does without.")
    return notes
