"""One paper on one data set: bundle, lists, measures, published figures beside them."""

from collections.abc import Collection, Sequence
from pathlib import Path

from models.bundle.reader import Bundle
from models.registry import available
from models.words import RetrieverName
from offline.evaluate import NOTHING_DEEPER, Evaluation, TargetUsers, evaluate, read_target_users
from offline.predictions import add_predictions, read_predictions
from offline.progress import Reporter
from offline.report.assemble.evaluation import evaluation_report
from offline.report.assemble.inputs import MethodLists, asked_ks
from offline.report.bundle_facts import held_out, item_facts, lacking, provenance, training_curves
from offline.report.document.evaluation import EvaluationReport
from offline.report.run import NEAR_MISSES
from offline.reproduce.bundles import Wish, obtain, text_source
from offline.reproduce.folder import DataFolder
from offline.reproduce.ours import beside
from offline.reproduce.protocol import Asked, Protocol
from offline.reproduce.published import Paper, published
from offline.reproduce.reasons import reasons
from offline.split import Part


def reproduce(
    data: DataFolder,
    protocol: Protocol,
    wish: Wish,
    reporter: Reporter,
    *,
    predictions: Sequence[Path] = (),
    without: Collection[RetrieverName] = (),
) -> EvaluationReport:
    """Redo a paper on a data set.

    Args:
        data: the files.
        protocol: how the paper asks.
        wish: where bundles lie, and how one is made.
        reporter: told how far it is.
        predictions: files with lists of other systems; those for users of other data sets are passed over.
        without: retrievers to leave out, `gr` for instance, whose decoding takes longest.

    Returns:
        The evaluation, with `published` filled and the reasons as its notes.

    Raises:
        InputError: the data or a file of lists is malformed.
        BundleError: a bundle cannot be built.
    """
    bundle = obtain(data, protocol, wish, reporter)
    test = read_target_users(bundle, [data.interactions], Part.TEST, reporter)
    served = set(available(bundle)) - set(without)
    asked = [one for one in protocol.asked if one.retriever in served]
    methods = [_lists(bundle, test, one, protocol, reporter) for one in asked]
    others, strangers = _others(bundle, test, predictions, protocol)
    methods += others
    plan, facts = protocol.plan([method.name for method in methods]), item_facts(bundle)
    with reporter.job("measures"):
        report = evaluation_report(
            methods,
            held_out(test),
            facts,
            plan,
            title=data.name,
            provenance=provenance(bundle, data.name, plan),
            curves=training_curves(bundle) if protocol.paper is Paper.VALUE_PRIOR else (),
        )
    figures = published(protocol.paper, data.data_set, text_source(bundle))
    report = report.model_copy(update={"published": beside(report, figures)})
    missing = [] if protocol.paper is Paper.HEURISTIC else lacking(bundle, facts)
    notes = [
        *reasons(data, bundle, protocol, report),
        *missing,
        *_left_out(protocol, served, without, methods),
        *strangers,
    ]
    return report.model_copy(update={"notes": tuple(notes)})


def _lists(bundle: Bundle, test: TargetUsers, asked: Asked, protocol: Protocol, reporter: Reporter) -> MethodLists:
    ks, name = asked_ks(protocol.plan([])), asked.retriever
    deeper = NEAR_MISSES if protocol.paper is Paper.VALUE_PRIOR else NOTHING_DEEPER
    found = evaluate(bundle, test, [name], ks, asked.settings(), reporter, deeper=deeper)
    return MethodLists(asked.label, found.items[name.value], found.seconds[name.value])


def _others(
    bundle: Bundle, test: TargetUsers, paths: Sequence[Path], protocol: Protocol
) -> tuple[list[MethodLists], list[str]]:
    """The lists of other systems for these users, and a sentence on each file that holds none."""
    read, strangers = Evaluation(), []
    for path in paths:
        found = read_predictions(path, test.user_ids(), bundle.ids)
        if found.lists:
            add_predictions(read, found, test.targets, asked_ks(protocol.plan([])))
        else:
            strangers.append(f"{path.name} holds no list of a test user of this data set and was passed over.")
    return [MethodLists(name, lists) for name, lists in read.items.items()], strangers


def _left_out(
    protocol: Protocol,
    served: Collection[RetrieverName],
    without: Collection[RetrieverName],
    methods: Sequence[MethodLists],
) -> list[str]:
    there = {method.name for method in methods}
    wanted = [name for name in dict.fromkeys(one.retriever for one in protocol.asked) if name not in there]
    cut = [name.value for name in wanted if name in without]
    absent = [name.value for name in wanted if name not in served and name not in without]
    sentences = [f"{', '.join(cut)} was left out on request."] if cut else []
    if absent:
        sentences.append(
            f"The bundle cannot serve {', '.join(absent)}: it was not trained. `shortlist train` on it, then this "
            "command again with the same --bundles, puts them into the table."
        )
    return sentences
