"""The page of an evaluation."""

from collections.abc import Sequence

from offline.report.document.evaluation import Comparison, EvaluationReport, MethodResult
from offline.report.document.parts import Curve, Rule
from offline.report.pages.common import (
    data_section,
    hop_section,
    overlap_section,
    published_section,
    ranking_table,
)
from offline.report.pages.value import (
    against,
    best_value_section,
    miss_section,
    share_section,
    simplex_section,
    vndcg_section,
)
from offline.report.plots.rows import estimate_bars, gap_dots
from offline.report.plots.shapes import curve_lines
from offline.report.view import Cell, Figure, Page, Section, Table, estimate_cell, provenance_facts, shown

SHOWN_K = 10
"""Cut-off of the drawing of Recall, where it was measured."""


def evaluation_page(report: EvaluationReport) -> Page:
    """Lay an evaluation out."""
    hop_k = next((m.hop_k for m in report.methods if m.hop_k), SHOWN_K)
    sections = (
        _ranking(report),
        vndcg_section(report),
        best_value_section(report),
        share_section(report),
        simplex_section(report),
        hop_section([(m.name, m.by_hop) for m in report.methods], hop_k),
        _credit(report.methods),
        _cold(report),
        miss_section(report),
        overlap_section(report.overlap),
        _training(report.curves),
        published_section(report.published),
        data_section(report.data),
    )
    return Page(
        title=report.title,
        kind="Evaluation",
        facts=provenance_facts(report.provenance),
        summary=tuple(_summary(report)),
        sections=shown(sections),
        notes=report.notes,
    )


def _summary(report: EvaluationReport) -> list[str]:
    sentences = [
        f"{len(report.methods)} methods on {report.data.test_users:,} test users and {report.data.items:,} items."
    ]
    k = _shown_k(report.methods)
    reached = [(cut.recall.value or 0.0, m.name) for m in report.methods for cut in m.cut_offs if cut.k == k]
    if reached:
        best, name = max(reached)
        sentences.append(f"Most targets in the top {k}: {name}, {100 * best:.2f} %.")
    valued = [(m.vndcg.value or 0.0, m.name) for m in report.methods if m.vndcg]
    if valued and report.value:
        best, name = max(valued)
        sentences.append(f"Most value: {name}, vNDCG@{report.value.k} {best:.4f}.")
    return sentences


def _shown_k(methods: Sequence[MethodResult]) -> int:
    ks = [cut.k for cut in methods[0].cut_offs] if methods else []
    return SHOWN_K if SHOWN_K in ks or not ks else max(ks)


def _ranking(report: EvaluationReport) -> Section:
    k = _shown_k(report.methods)
    rows = [(m.name, cut.recall) for m in report.methods for cut in m.cut_offs if cut.k == k]
    gaps = [(against(c), cut.recall) for c in report.comparisons for cut in c.cut_offs if cut.k == k]
    unit = f"Recall@{k}, %"
    figures = [
        Figure(
            estimate_bars("recall", f"Recall@{k} of each method", unit, rows, percent=True),
            f"Recall@{k} with 95 % intervals.",
        )
    ]
    tables = [ranking_table("Recall and NDCG, percent", [(m.name, m.cut_offs) for m in report.methods])]
    if gaps:
        drawn = gap_dots("recall-gaps", f"Gaps in Recall@{k}", f"difference in {unit}", gaps, percent=True)
        figures.append(Figure(drawn, f"Difference in Recall@{k}; hollow = the interval holds zero."))
        tables.append(_gap_table(report.comparisons))
    tables += _times(report.methods)
    lead = "Exact matching: the target is the one item that the user went on to. The whole catalogue is ranked."
    return Section("ranking", "Recall and NDCG", (lead,), tuple(figures), tuple(tables))


def _times(methods: Sequence[MethodResult]) -> list[Table]:
    rows = tuple((m.name, (Cell(f"{m.took_s:,.2f}"),)) for m in methods if m.took_s is not None)
    return [Table("Time to make all lists, seconds", ("Method", "Seconds"), rows)] if rows else []


def _gap_table(comparisons: Sequence[Comparison]) -> Table:
    rows = [(against(c), c.cut_offs) for c in comparisons]
    return ranking_table("Differences, percentage points", rows, gaps=[name for name, _ in rows])


def _credit(methods: Sequence[MethodResult]) -> Section | None:
    found = [row for m in methods for row in m.credits]
    if not found:
        return None
    lead = [
        "Credit of a list is the greatest credit in its top k: under the category rule, whether it holds an item of "
        "the target's leaf category."
    ]
    if any(row.rule is Rule.CO_PURCHASE for row in found):
        lead.append(
            "Co-purchase credit has to beat its random control, the same amount of credit for each user on items drawn "
            "at random."
        )
    tables = tuple(_credit_table(methods, rule) for rule in dict.fromkeys(row.rule for row in found))
    return Section("credit", "Partial credit", tuple(lead), tables=tables)


def _credit_table(methods: Sequence[MethodResult], rule: Rule) -> Table:
    mine = [(m.name, [row for row in m.credits if row.rule is rule]) for m in methods]
    ks = [row.k for row in next(rows for _, rows in mine if rows)]
    columns = ("Method", *[f"credit@{k}" for k in ks], *[f"NDCG@{k}" for k in ks])
    cells = tuple(
        (
            name,
            (
                *[estimate_cell(row.credit, percent=True) for row in rows],
                *[estimate_cell(row.ndcg, percent=True) for row in rows],
            ),
        )
        for name, rows in mine
    )
    return Table(f"{rule.capitalize()}, percent", columns, cells)


def _cold(report: EvaluationReport) -> Section | None:
    total = report.data.cold_targets
    rows = [(m.name, m.cold) for m in report.methods if m.cold]
    if not rows or not total:
        return None
    columns = ("Method", *[f"found@{row.k}" for row in rows[0][1]])
    cells = tuple(
        (name, tuple(Cell(f"{row.found:,}", f"{100 * row.found / total:.1f} %") for row in cold)) for name, cold in rows
    )
    lead = f"{total:,} test targets occur in no training sequence; only a method that reads texts can find them."
    return Section("cold", "Cold targets", (lead,), tables=(Table("Cold targets found", columns, cells),))


def _training(curves: Sequence[Curve]) -> Section | None:
    drawn: dict[tuple[str, str], list[Curve]] = {}
    for curve in curves:
        if curve.points:
            drawn.setdefault((curve.x_label, curve.y_label), []).append(curve)
    if not drawn:
        return None
    figures = tuple(
        Figure(curve_lines(f"curves-{place}", f"{y} over {x}", group), f"{y[:1].upper()}{y[1:]} over {x}.")
        for place, ((x, y), group) in enumerate(drawn.items())
    )
    rows = tuple(
        (curve.name, (Cell(f"{curve.points[0][1]:.4g}"), Cell(f"{curve.points[-1][1]:.4g}"), Cell(_best(curve))))
        for curve in curves
        if curve.points
    )
    columns = ("Curve", "First", "Last", "Lowest and highest")
    return Section("training", "Training", figures=figures, tables=(Table("Training curves", columns, rows),))


def _best(curve: Curve) -> str:
    heights = [height for _, height in curve.points]
    return f"{min(heights):.4g} and {max(heights):.4g}"
