"""The page of an audit."""

from offline.report.document.audit import AuditReport
from offline.report.pages.common import data_section, hop_section, overlap_section, published_section, ranking_table
from offline.report.view import Cell, Page, Section, Table, estimate_cell, gap_cell, provenance_facts, shown


def audit_page(report: AuditReport) -> Page:
    """Lay an audit out: the verdict first, then what led to it."""
    hop_k = next((r.hop_k for r in report.retrievers), 10)
    sections = (
        _signals(report),
        data_section(report.data),
        _reach(report),
        hop_section([(r.name, r.by_hop) for r in report.retrievers], hop_k),
        _dependence(report),
        overlap_section(report.overlap),
        published_section(report.published),
    )
    return Page(
        title=report.title,
        kind="Audit",
        facts=provenance_facts(report.provenance),
        summary=report.reasons,
        sections=shown(sections),
        notes=report.notes,
    )


def _signals(report: AuditReport) -> Section:
    rows = tuple((signal.name.capitalize(), (Cell(signal.strength),)) for signal in report.signals)
    lead = "A signal is a shortcut when a retriever that uses it alone already finds many of the targets."
    return Section(
        "signals",
        "Shortcut signals",
        (lead, *[signal.sentence for signal in report.signals]),
        tables=(Table("Signals", ("Signal", "Strength"), rows),),
    )


def _reach(report: AuditReport) -> Section | None:
    if not report.retrievers:
        return None
    table = ranking_table("Recall and NDCG, percent", [(r.name, r.cut_offs) for r in report.retrievers])
    return Section("reach", "What needs no training", tables=(table,))


def _dependence(report: AuditReport) -> Section | None:
    found = report.dependence
    if found is None:
        return None
    kept = "–" if found.kept is None else f"{100 * found.kept:.1f}"
    cells = (
        estimate_cell(found.full, percent=True),
        estimate_cell(found.last, percent=True),
        gap_cell(found.gain, percent=True),
        Cell(kept),
    )
    columns = ("Encoder", "Full history", "Last item only", "Gain", "Kept, %")
    return Section(
        "dependence",
        "History dependence",
        ("The same encoder on full histories and on the last item only.",),
        tables=(Table(f"Recall@{found.k}, percent", columns, ((found.encoder, cells),)),),
    )
