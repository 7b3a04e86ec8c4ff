"""A report on what an evaluation asked."""

from collections.abc import Sequence

from models.bundle.reader import Bundle
from models.words import RetrieverName
from offline.evaluate import Evaluation, Settings, TargetUsers
from offline.measures.arrays import Ragged
from offline.measures.substitutes import POOL
from offline.progress import Reporter
from offline.report.assemble.evaluation import evaluation_report
from offline.report.assemble.inputs import SHORT_K, MethodLists, Plan, default_pairs
from offline.report.bundle_facts import held_out, item_facts, lacking, provenance, training_curves
from offline.report.document.evaluation import EvaluationReport

NEAR_MISSES = {RetrieverName.DR: POOL}
"""How deep a list has to reach for its near misses to show; for the argument `deeper` of `evaluate`."""


def report_on(
    bundle: Bundle,
    test: TargetUsers,
    evaluation: Evaluation,
    ks: Sequence[int],
    settings: Settings,
    reporter: Reporter,
    *,
    data_set: str,
    judgments: Ragged | None = None,
    notes: Sequence[str] = (),
) -> EvaluationReport:
    """Measure an evaluation's lists by every measure that the data allows.

    All methods are compared with `gr` if it is among them, else with the first. What the misses of `dr` look like is
    told where the lists reach as deep as `NEAR_MISSES` says.

    Args:
        bundle: the one that was evaluated.
        test: the users with a target.
        evaluation: the lists.
        ks: cut-offs of Recall and NDCG that it was asked for; value is measured at the greatest.
        settings: how lists were asked.
        reporter: told how far it is.
        data_set: name for the report.
        judgments: supplied grades, one row a test user.
        notes: further sentences for the reader.

    Raises:
        InputError: the lists cannot be compared.
    """
    names = list(evaluation.items)
    plan = Plan(ks=sorted(set(ks)), value_k=max(ks), hop_k=max(SHORT_K, min(ks)), pairs=default_pairs(names))
    methods = [
        MethodLists(name, lists, seconds)
        for (name, lists), seconds in zip(evaluation.items.items(), evaluation.seconds.values(), strict=True)
    ]
    facts = item_facts(bundle)
    with reporter.job("measures"):
        return evaluation_report(
            methods,
            held_out(test),
            facts,
            plan,
            title=data_set,
            provenance=provenance(bundle, data_set, plan),
            judgments=judgments,
            curves=training_curves(bundle),
            notes=[*_how_asked(settings), *lacking(bundle, facts), *notes],
        )


def _how_asked(settings: Settings) -> list[str]:
    seen = "left out" if settings.exclude_seen else "allowed"
    short = "filled, as serving does" if settings.fill else "left short"
    notes = [f"Seen items were {seen}, short lists {short}, TGH lists ordered by {settings.order}."]
    if settings.history_items is not None:
        notes.append(f"Retrievers saw the newest {settings.history_items} of each history only.")
    return notes
