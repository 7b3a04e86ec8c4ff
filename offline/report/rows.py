"""Documents as long tables: one figure a row, with who, against whom, at which k, and its interval.

The same rows are the CSV file and what two runs are compared by.
"""

from collections.abc import Iterator
from dataclasses import astuple, dataclass, fields

from offline.measures.hops import DEPTH
from offline.report.document.audit import AuditReport
from offline.report.document.evaluation import Comparison, EvaluationReport, MethodResult
from offline.report.document.parts import CutOff, DataFigures, Estimate, HopRow, Number, Overlap

Key = tuple[str, str, str, str, str, str]


@dataclass(frozen=True, slots=True)
class Row:
    """One figure.

    Attributes:
        section: data, ranking, value, credit, hops, cold, overlap, misses, simplex, training, published, signals.
        method: whose it is; empty for figures of the data.
        against: the other method of a difference or an overlap; empty otherwise.
        k: cut-off; empty where there is none.
        detail: hop, rule, component, weighting or step; empty where there is none.
        measure: what was measured.
        value: the figure; None = not defined.
        low: lower end of its 95 % interval; None = no interval.
        high: upper end.
    """

    section: str
    method: str
    against: str
    k: str
    detail: str
    measure: str
    value: int | Number
    low: Number = None
    high: Number = None

    @property
    def key(self) -> Key:
        """What the figure is of: equal in two runs for the figures to compare."""
        return (self.section, self.method, self.against, self.k, self.detail, self.measure)

    def cells(self) -> tuple[str, ...]:
        """As text, full precision, empty for None."""
        return tuple("" if cell is None else str(cell) for cell in astuple(self))


COLUMNS = tuple(f.name for f in fields(Row))

Document = EvaluationReport | AuditReport


def document_rows(document: Document) -> Iterator[Row]:
    """Every figure of a document."""
    yield from _data(document.data)
    if isinstance(document, EvaluationReport):
        yield from _evaluation(document)
    else:
        yield from _audit(document)
    if document.overlap:
        yield from _overlap(document.overlap)
    for row in document.published:
        yield Row("published", row.method, "", "", "published", row.measure, row.published)
        yield _row("published", row.method, "", "", "ours", row.measure, row.ours)


def _row(section: str, method: str, against: str, k: str, detail: str, measure: str, estimate: Estimate) -> Row:
    return Row(section, method, against, k, detail, measure, estimate.value, estimate.low, estimate.high)


def _data(data: DataFigures) -> Iterator[Row]:
    for name in type(data).model_fields:
        found = getattr(data, name)
        if isinstance(found, tuple):
            for hop, value in enumerate(found, 1):
                yield Row("data", "", "", "", f"hop {hop}" if hop <= DEPTH else "beyond 3", name, value)
        else:
            yield Row("data", "", "", "", "", name, found)


def _evaluation(report: EvaluationReport) -> Iterator[Row]:
    for method in report.methods:
        yield from _method(method, str(report.value.k) if report.value else "")
    for comparison in report.comparisons:
        yield from _comparison(comparison, str(report.value.k) if report.value else "")
    for miss in report.misses:
        for kind in ("misses", "substitute", "near", "blind", "rescued"):
            yield Row("misses", miss.method, miss.other, "50", "", kind, getattr(miss, kind))
    for curve in report.curves:
        for across, up in curve.points:
            yield Row("training", "", "", "", f"{curve.x_label} {across:g}", curve.name, up)


def _method(method: MethodResult, value_k: str) -> Iterator[Row]:
    yield from _cut_offs(method.name, "", method.cut_offs)
    if method.vndcg and method.best_value:
        yield _row("value", method.name, "", value_k, "", "vndcg", method.vndcg)
        yield _row("value", method.name, "", value_k, "", "bv", method.best_value)
    for row in method.credits:
        yield _row("credit", method.name, "", str(row.k), row.rule, "credit", row.credit)
        yield _row("credit", method.name, "", str(row.k), row.rule, "ndcg", row.ndcg)
    for cold in method.cold:
        yield Row("cold", method.name, "", str(cold.k), "", "found", cold.found)
    yield from _hops(method.name, str(method.hop_k or ""), method.by_hop)
    if method.took_s is not None:
        yield Row("ranking", method.name, "", "", "", "took_s", method.took_s)


def _cut_offs(method: str, against: str, cuts: tuple[CutOff, ...]) -> Iterator[Row]:
    for cut in cuts:
        yield _row("ranking", method, against, str(cut.k), "", "recall", cut.recall)
        yield _row("ranking", method, against, str(cut.k), "", "ndcg", cut.ndcg)


def _hops(method: str, k: str, hops: tuple[HopRow, ...]) -> Iterator[Row]:
    for row in hops:
        detail = f"hop {row.hop}" if row.hop else "beyond 3"
        yield Row("hops", method, "", k, detail, "recall", row.recall)


def _comparison(c: Comparison, k: str) -> Iterator[Row]:
    yield from _cut_offs(c.x, c.a, c.cut_offs)
    gaps = {"bv paired gap": c.paired_gap, "bv imputed gap": c.imputed_gap, "vndcg gap": c.vndcg_gap}
    for measure, gap in gaps.items():
        if gap:
            yield _row("value", c.x, c.a, k, "", measure, gap)
    if c.wins:
        for kind in ("win", "tie", "loss"):
            yield Row("value", c.x, c.a, k, "", kind, getattr(c.wins, kind))
    for share in c.shares:
        yield _row("value", c.x, c.a, k, share.component, "share of lead", share.share)
    for point in c.simplex:
        weights = " ".join(f"{weight:.2f}" for weight in point.weights)
        yield _row("simplex", c.x, c.a, k, weights, "vndcg gap", point.gap)


def _audit(report: AuditReport) -> Iterator[Row]:
    for retriever in report.retrievers:
        yield from _cut_offs(retriever.name, "", retriever.cut_offs)
        yield from _hops(retriever.name, str(retriever.hop_k), retriever.by_hop)
    if report.dependence:
        found = report.dependence
        for measure, estimate in (("full", found.full), ("last", found.last), ("gain", found.gain)):
            yield _row("dependence", found.encoder, "", str(found.k), "", measure, estimate)


def _overlap(overlap: Overlap) -> Iterator[Row]:
    for x, line in zip(overlap.methods, overlap.matrix, strict=True):
        for a, cell in zip(overlap.methods, line, strict=True):
            if x < a:
                yield Row("overlap", x, a, str(overlap.k), "", "jaccard", cell)
