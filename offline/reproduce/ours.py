"""Our figure for each published one."""

from collections.abc import Iterable

from offline.report.document.evaluation import Comparison, EvaluationReport, MethodResult, Misses
from offline.report.document.parts import Estimate, Number, Published
from offline.reproduce.protocol import DR, GR
from offline.reproduce.published import Figure, Measure


def beside(report: EvaluationReport, figures: Iterable[Figure]) -> tuple[Published, ...]:
    """Published figures with ours; without a value where we have none."""
    return tuple(
        Published(
            method=figure.method,
            measure=figure.name,
            published=figure.value,
            ours=ours(report, figure) or Estimate(value=None),
            remark=figure.source,
            unit=figure.unit,
        )
        for figure in figures
    )


def ours(report: EvaluationReport, figure: Figure) -> Estimate | None:
    """Our figure; None where the data or the bundle does not give it."""
    if figure.method:
        return _of_method(report, figure)
    if figure.measure is Measure.POPULARITY_SHARE:
        return _share(_pair(report, GR, DR), "popularity")
    if figure.measure in (Measure.MISSES, Measure.SUBSTITUTE, Measure.NEAR, Measure.RESCUED):
        return _of_misses(report.misses, figure.measure)
    data = report.data
    found: dict[Measure, Number] = {
        Measure.USERS: data.users,
        Measure.ITEMS: data.items,
        Measure.EDGES: data.edges,
        Measure.OUT_DEGREE: data.mean_out_degree,
        Measure.COVERAGE: data.coverage[0],
        Measure.COLD: data.cold_targets,
        Measure.ALTERNATIVES: data.same_leaf_alternatives,
        Measure.SPEARMAN: data.popularity_score_spearman,
        Measure.OFTEN: data.targets_in_ten_histories,
    }
    return Estimate(value=found.get(figure.measure))


def _of_method(report: EvaluationReport, figure: Figure) -> Estimate | None:
    method: MethodResult | None = next((one for one in report.methods if one.name == figure.method), None)
    if method is None:
        return None
    if figure.measure is Measure.VNDCG:
        return method.vndcg
    if figure.measure is Measure.BV_GAP:
        pair = _pair(report, figure.method, GR)
        return pair.paired_gap if pair else None
    cut = next((cut for cut in method.cut_offs if cut.k == figure.k), None)
    if cut is None:
        return None
    return cut.recall if figure.measure is Measure.RECALL else cut.ndcg


def _pair(report: EvaluationReport, x: str, a: str) -> Comparison | None:
    return next((one for one in report.comparisons if (one.x, one.a) == (x, a)), None)


def _share(pair: Comparison | None, component: str) -> Estimate | None:
    return next((share.share for share in pair.shares if share.component == component), None) if pair else None


def _of_misses(misses: Iterable[Misses], measure: Measure) -> Estimate | None:
    found = next(iter(misses), None)
    if found is None:
        return None
    if measure is Measure.MISSES:
        return Estimate(value=found.misses)
    counts = {Measure.SUBSTITUTE: found.substitute, Measure.NEAR: found.near, Measure.RESCUED: found.rescued}
    return Estimate(value=counts[measure] / found.misses) if found.misses else None
