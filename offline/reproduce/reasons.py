"""Why our figures differ from the published ones: sentences, each true of the data and the bundle at hand."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from models.bundle import layout
from models.bundle.reader import Bundle
from models.words import RetrieverName
from offline.report.document.evaluation import EvaluationReport
from offline.report.document.parts import Estimate
from offline.reproduce.bundles import text_source
from offline.reproduce.folder import LIKED, DataFolder
from offline.reproduce.protocol import DR, DR_PRIOR, GR, Protocol
from offline.reproduce.published import VALUE, Paper

CODED = re.compile(r"^([A-Za-z]+[-_ ]?)\d+$")
"""A brand that is a code rather than a name, such as brand-157."""

TRAINED = {RetrieverName.DR.value, RetrieverName.DR_PRIOR.value, RetrieverName.GR.value, RetrieverName.FUSED.value}


def reasons(data: DataFolder, bundle: Bundle, protocol: Protocol, report: EvaluationReport) -> list[str]:
    """Sentences for the reader, the setting first, then what the data lacks, then what came out."""
    sentences = ["Seen items are allowed, as in the papers; short lists are left short; the whole catalogue is ranked."]
    sentences += _texts(bundle, protocol)
    if protocol.paper is Paper.HEURISTIC:
        sentences += _heuristic(report)
    else:
        sentences += _value_prior(bundle, protocol, report)
    if TRAINED & {method.name for method in report.methods}:
        sentences += _training(bundle.manifest.sections.get("training", {}))
    sentences += _ratings(data, bundle, protocol)
    sentences += _brands(bundle)
    read = [method.name for method in report.methods if method.took_s is None]
    if read:
        sentences.append(f"Lists of {', '.join(read)} were made before on the same split and read from a file.")
    if not report.published:
        sentences.append("No published figures of this data set are held here, so ours stand alone.")
    return sentences


def _texts(bundle: Bundle, protocol: Protocol) -> Iterator[str]:
    facts = bundle.manifest.sections.get("embeddings", {})
    made = f"with the template '{facts['template']}'" if "template" in facts else "the user's own vectors"
    yield f"Items are embedded by {text_source(bundle)}, {made} ({facts.get('dimensions')} dimensions)."
    if protocol.paper is Paper.HEURISTIC:
        yield (
            "The authors' published code embeds with google/flan-t5-xl (2,048 dimensions), so the paper's own recall "
            "tables rest on other texts and are not set beside ours."
        )
    else:
        yield "The paper trains a T5 on its own texts, so its semantic IDs and its dense vectors are others."


def _heuristic(report: EvaluationReport) -> Iterator[str]:
    yield (
        "The published code leaves lists in ring order and fills short ones at random; the paper sorts by score. Both "
        "orders stand here; which items are chosen does not depend on it, so Recall@10 is the same."
    )
    if any(method.name.endswith("(last item)") for method in report.methods):
        yield "Rows marked 'last item' are the same retrievers shown one item of each history: the last-1 ablations."


def _value_prior(bundle: Bundle, protocol: Protocol, report: EvaluationReport) -> Iterator[str]:
    kept, theirs = bundle.manifest.split.truncate_history, protocol.truncate_history
    if kept != theirs:
        ours = "whole sequences" if kept is None else f"a user's last {kept} items"
        yield (
            f"The bundle was built on {ours}, the paper keeps the last {theirs}, so another number of test targets is "
            f"cold ({report.data.cold_targets}) and training saw other sequences."
        )
    yield (
        "The paper also judges relevance with a language model; no such judgments are supplied here, so relevance is "
        "the exact target or the target's leaf category."
    )
    if any(row.remark == VALUE for row in report.published):
        yield (
            "The paper's exact-match gap between dr and gr in its second table (0.0447) does not agree with the "
            "difference of Recall@50 in its first (0.228 - 0.167)."
        )
        yield (
            "It splits 8,635 misses of dr, fewer than its Recall@50 of 0.228 leaves of 19,412 users (14,986). Ours are "
            "all users whose target dr misses, so the shares of their kinds are of a greater whole."
        )
    if (report.data.popularity_score_spearman or 0) > 0.99:
        yield (
            "The popularity score here is a rank of training interactions, so it agrees with training histories by "
            "construction (Spearman near 1); the paper's score comes from elsewhere."
        )
    yield from _outcome(report)


def _outcome(report: EvaluationReport) -> Iterator[str]:
    """Whether the paper's order of vNDCG and its signs of Delta-BV came out, with the figures."""
    scores = {method.name: method.vndcg for method in report.methods if method.vndcg}
    if {GR, DR, DR_PRIOR} <= set(scores):
        values = [scores[name].value or 0.0 for name in (GR, DR, DR_PRIOR)]
        came = "comes out" if values == sorted(values) and len(set(values)) == 3 else "does not come out"
        told = ", ".join(f"{name} {_told(scores[name])}" for name in (GR, DR, DR_PRIOR))
        yield f"The paper's order on vNDCG, gr < dr < dr-prior, {came} here: {told}."
        gaps = [(x, a, gap) for x, a in ((DR, GR), (DR_PRIOR, DR)) if (gap := _vndcg_gap(report, x, a))]
        told = "; ".join(f"{x} - {a} {_told(gap)}{_settled(gap)}" for x, a, gap in gaps)
        yield f"Its steps, paired over the same users: {told}."
    for x, expected in ((DR, "below"), (DR_PRIOR, "above")):
        pair = next((one for one in report.comparisons if (one.x, one.a) == (x, GR)), None)
        if pair is None or pair.paired_gap is None or pair.paired_gap.value is None:
            continue
        side = "above" if pair.paired_gap.value > 0 else "below"
        agrees = "as published" if side == expected else f"where the paper has {x} {expected} it"
        yield (
            f"On best-item value {x} lies {side} gr, {agrees}: Delta-BV {_told(pair.paired_gap)}"
            f"{_settled(pair.paired_gap)}."
        )


def _vndcg_gap(report: EvaluationReport, x: str, a: str) -> Estimate | None:
    return next((one.vndcg_gap for one in report.comparisons if (one.x, one.a) == (x, a)), None)


def _settled(gap: Estimate) -> str:
    return "" if gap.decided else ", whose interval holds zero, so that its sign is not settled"


def _told(estimate: Estimate) -> str:
    if estimate.value is None:
        return "not defined"
    if estimate.low is None or estimate.high is None:
        return f"{estimate.value:.4f}"
    return f"{estimate.value:.4f} (95 %: {estimate.low:.4f} to {estimate.high:.4f})"


def _training(facts: dict[str, Any]) -> Iterator[str]:
    if not facts:
        return
    network, validation = facts.get("network", {}), facts.get("validation") or {}
    best = f", validation Recall@50 {validation['recall@50']:.4f}" if "recall@50" in validation else ""
    yield (
        f"DR and GR are one network of preset {facts.get('preset')}, width {network.get('width')}, trained for "
        f"{facts.get('epochs')} epochs on {facts.get('device')} from seed {facts.get('seed')}{best}; the value-prior "
        "paper trains a T5 for both on a GPU."
    )


def _ratings(data: DataFolder, bundle: Bundle, protocol: Protocol) -> Iterator[str]:
    if protocol.paper is not Paper.VALUE_PRIOR:
        return
    facts = bundle.manifest.sections.get("value", {})
    liked = bool(data.ratings) and set(data.ratings) <= {LIKED.low, LIKED.high}
    if facts.get("dropped", {}).get("rating"):
        held = "Ratings here are 0 or 1, not stars, and" if liked else "No star ratings count here:"
        yield (
            f"{held} the item value of this bundle is made without them. The paper's has three parts, so values, leads "
            "and the parts' shares in them are other quantities here."
        )
    elif liked:
        yield (
            "Ratings here are 0 or 1, not stars: the Wilson bound is that of the share of ones, a coarser signal than "
            "the paper's mean of stars."
        )
    else:
        yield f"Item ratings come from {facts.get('rating_source')}."


def _brands(bundle: Bundle) -> Iterator[str]:
    items = bundle.table(layout.ITEMS)
    brands: Sequence[str] = [one for one in items["brand"].to_pylist() if one] if "brand" in items.column_names else []
    if not brands:
        yield "The catalogue has no brands."
        return
    stems = {match[1] if (match := CODED.match(brand)) else None for brand in brands}
    if len(stems) == 1 and None not in stems:
        yield (
            f"Brands are codes such as '{brands[0]}', not names ({len(brands):,} of {bundle.n_items:,} items "
            "have one): their footprint counts in the item value, but in texts they say nothing."
        )
    elif len(brands) < bundle.n_items:
        yield f"{len(brands):,} of {bundle.n_items:,} items have a brand; the others' brand counts 0 in the item value."
