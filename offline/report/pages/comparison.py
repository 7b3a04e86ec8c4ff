"""The page of two runs side by side."""

from collections.abc import Sequence

from offline.report.compare import Apart, PairOfFigures, RunComparison, estimate_of
from offline.report.document.parts import Provenance
from offline.report.plots.rows import run_dots
from offline.report.rows import Row
from offline.report.view import Cell, Figure, Page, Section, Table, Tone, estimate_cell, shown, signed

PERCENT = frozenset({("ranking", "recall"), ("ranking", "ndcg"), ("hops", "recall"), ("credit", "credit")})
MEASURES = {"recall": "Recall", "ndcg": "NDCG", "vndcg": "vNDCG", "bv": "BV", "took_s": "seconds"}
HEADINGS = {
    "ranking": "Recall and NDCG",
    "value": "Value",
    "hops": "Recall by hop distance",
    "credit": "Partial credit",
    "cold": "Cold targets",
    "overlap": "Overlap of the users got right",
    "misses": "What the misses look like",
    "dependence": "History dependence",
    "published": "Published figures beside ours",
    "data": "The data sets",
}


def comparison_page(runs: RunComparison) -> Page:
    """Lay two runs out: what differs in their settings, then every figure that both hold."""
    sections = [_settings(runs), *[_section(name, runs) for name in HEADINGS]]
    apart = sum(pair.apart is Apart.YES for pair in runs.pairs)
    tested = sum(pair.apart is not Apart.UNKNOWN for pair in runs.pairs)
    return Page(
        title=f"{runs.left_title} and {runs.right_title}",
        kind="Comparison",
        facts=(*_facts("Left", runs.left_title, runs.left), *_facts("Right", runs.right_title, runs.right)),
        summary=(
            f"{len(runs.pairs):,} figures stand in both runs; of {tested:,} with intervals, {apart:,} are apart.",
            "Differences are right minus left. Two runs are not paired user by user, so figures count as apart only "
            "where their 95 % intervals do not touch.",
        ),
        sections=shown(sections),
        notes=_unmatched(runs),
    )


def _facts(side: str, title: str, provenance: Provenance) -> tuple[tuple[str, str], ...]:
    return (
        (side, title),
        (f"{side}: bundle", provenance.bundle),
        (f"{side}: command", provenance.command),
        (f"{side}: made", f"{provenance.created:%Y-%m-%d %H:%M %Z}"),
    )


def _settings(runs: RunComparison) -> Section:
    differing = runs.settings_that_differ
    if not differing:
        return Section("settings", "Settings", ("Both runs have the same settings.",))
    rows = tuple((name.replace("_", " "), (Cell(left), Cell(right))) for name, left, right in differing)
    return Section("settings", "Settings", tables=(Table("What differs", ("Setting", "Left", "Right"), rows),))


def _section(name: str, runs: RunComparison) -> Section | None:
    pairs = [pair for pair in runs.pairs if pair.left.section == name]
    if not pairs:
        return None
    rows = tuple((_named(pair.left), _cells(pair)) for pair in pairs)
    table = Table(HEADINGS[name], ("Figure", "Left", "Right", "Difference", "Intervals"), rows)
    return Section(name, HEADINGS[name], figures=_figures(name, pairs), tables=(table,))


def _figures(name: str, pairs: Sequence[PairOfFigures]) -> tuple[Figure, ...]:
    """One drawing for Recall and one for vNDCG, of the methods themselves."""
    measure = {"ranking": "recall", "value": "vndcg"}.get(name)
    mine = [pair for pair in pairs if pair.left.measure == measure and not pair.left.against]
    ks = [pair.left.k for pair in mine]
    if not mine:
        return ()
    k = "10" if "10" in ks else ks[-1]
    percent = measure == "recall"
    unit = f"Recall@{k}, %" if percent else f"vNDCG@{k}"
    rows = [(p.left.method, estimate_of(p.left), estimate_of(p.right)) for p in mine if p.left.k == k]
    drawn = run_dots(f"runs-{name}", f"{unit} in both runs", unit, rows, percent=percent)
    return (Figure(drawn, f"{unit} in both runs."),)


def _cells(pair: PairOfFigures) -> tuple[Cell, ...]:
    percent = (pair.left.section, pair.left.measure) in PERCENT
    left, right = (_cell(row, percent=percent) for row in (pair.left, pair.right))
    difference = pair.difference
    if difference is None:
        return left, right, Cell("–"), Cell(pair.apart)
    text = f"{100 * difference:+.2f}" if percent else f"{difference:+,}" if _count(pair) else f"{difference:+.4f}"
    tone = Tone.PLAIN if pair.apart is not Apart.YES else Tone.UP if difference > 0 else Tone.DOWN
    return left, right, Cell(signed(text), tone=tone), Cell(pair.apart)


def _cell(row: Row, *, percent: bool) -> Cell:
    return Cell(f"{row.value:,}") if isinstance(row.value, int) else estimate_cell(estimate_of(row), percent=percent)


def _count(pair: PairOfFigures) -> bool:
    return isinstance(pair.left.value, int) and isinstance(pair.right.value, int)


def _named(row: Row) -> str:
    who = f"{row.method} − {row.against}" if row.against else row.method
    measure = MEASURES.get(row.measure, row.measure.replace("_", " "))
    at = f"{measure}@{row.k}" if row.k else measure
    return ", ".join(part for part in (who, at, row.detail) if part)


def _unmatched(runs: RunComparison) -> tuple[str, ...]:
    notes = []
    for side, rows in (("left", runs.only_left), ("right", runs.only_right)):
        if rows:
            methods = sorted({row.method for row in rows if row.method})
            of = f", of {', '.join(methods)}" if methods else ""
            notes.append(f"{len(rows):,} figures stand in the {side} run only{of}.")
    if any(row.measure == "vndcg" for row in (*runs.only_left, *runs.only_right)):
        notes.append("The runs compare other sets of methods, so their vNDCG rests on other pools.")
    return tuple(notes)
