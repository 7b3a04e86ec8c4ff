"""The value sections of an evaluation: best items, vNDCG, decomposition, the simplex."""

from offline.report.document.evaluation import Comparison, EvaluationReport, ValueSetting
from offline.report.plots.rows import estimate_bars, gap_dots, share_dots, win_bars
from offline.report.plots.shapes import simplex
from offline.report.view import Cell, Figure, Section, Table, estimate_cell, gap_cell, whole


def best_value_section(report: EvaluationReport) -> Section | None:
    """BV: who puts the better relevant item forward."""
    value = report.value
    pairs = [c for c in report.comparisons if c.paired_gap and c.imputed_gap and c.wins]
    if value is None or not pairs:
        return None
    k = value.k
    lead = (
        f"BV@{k} is the greatest value of a relevant item (same leaf category as the target) in the top {k}. A lead of "
        f"more than {value.margin:g} is a win; only users whose lists both hold a relevant item are compared."
    )
    rows = tuple(
        (
            against(c),
            (
                gap_cell(c.paired_gap),
                gap_cell(c.imputed_gap),
                *[whole(n) for n in ((c.wins.win, c.wins.tie, c.wins.loss) if c.wins else ())],
            ),
        )
        for c in pairs
    )
    gaps = [(against(c), c.paired_gap) for c in pairs if c.paired_gap]
    return Section(
        "best-value",
        "Best-item value",
        (lead,),
        (
            Figure(
                win_bars("wins", f"Value wins at k = {k}", [(against(c), c.wins) for c in pairs if c.wins]),
                f"Wins, ties and losses on BV@{k}, percent of the users compared.",
            ),
            Figure(
                gap_dots("bv-gaps", f"Paired gaps in BV@{k}", f"Delta-BV@{k}", gaps),
                f"Paired gap in BV@{k} with 95 % intervals; hollow = the interval holds zero.",
            ),
        ),
        (Table(f"BV@{k}", ("Comparison", "Paired gap", "Imputed gap", "Wins", "Ties", "Losses"), rows),),
    )


def vndcg_section(report: EvaluationReport) -> Section | None:
    """vNDCG of each method and its gaps."""
    value = report.value
    scored = [(m.name, m.vndcg) for m in report.methods if m.vndcg]
    if value is None or not scored:
        return None
    k = value.k
    lead = (
        "Relevance times value, discounted by rank, over the best order of what all methods here found together. "
        "Figures of other pools, that is of other sets of methods, are not comparable."
    )
    gaps = [(against(c), c.vndcg_gap) for c in report.comparisons if c.vndcg_gap]
    figures = [
        Figure(
            estimate_bars("vndcg", f"vNDCG@{k} of each method", f"vNDCG@{k}", scored),
            f"vNDCG@{k} with 95 % intervals.",
        )
    ]
    if gaps:
        drawn = gap_dots("vndcg-gaps", f"Gaps in vNDCG@{k}", f"difference in vNDCG@{k}", gaps)
        figures.append(Figure(drawn, f"Difference in vNDCG@{k} with 95 % intervals; hollow = the interval holds zero."))
    methods = tuple((m.name, (estimate_cell(m.vndcg), estimate_cell(m.best_value))) for m in report.methods)
    tables = [Table(f"Value at k = {k}", ("Method", f"vNDCG@{k}", f"mean BV@{k}"), methods)]
    if gaps:
        rows = tuple((name, (gap_cell(gap),)) for name, gap in gaps)
        tables.append(Table(f"Differences in vNDCG@{k}", ("Comparison", "Gap"), rows))
    return Section("vndcg", "Value-weighted NDCG", (lead,), tuple(figures), tuple(tables))


def share_section(report: EvaluationReport) -> Section | None:
    """What the leads on value are made of."""
    value = report.value
    pairs = [c for c in report.comparisons if any(s.share.value is not None for s in c.shares)]
    if value is None or not pairs:
        return None
    rows = [(against(c), [share.share for share in c.shares]) for c in pairs]
    lead = (
        "Over the users that the first method wins: how much of its lead each component of value makes up. Shares sum "
        "to 1; a negative share is a component on which the other method's best items are better."
    )
    cells = tuple((name, tuple(estimate_cell(share) for share in shares)) for name, shares in rows)
    return Section(
        "shares",
        "What the leads are made of",
        (lead,),
        (Figure(share_dots("shares-dots", "Decomposition of the lead", rows, value.components), "Shares, 95 %."),),
        (Table("Share of the lead", ("Comparison", *value.components), cells),),
    )


def simplex_section(report: EvaluationReport) -> Section | None:
    """For which weights each method is ahead on vNDCG."""
    value = report.value
    pairs = [c for c in report.comparisons if c.simplex]
    if value is None or not pairs or len(value.components) != 3:
        return None
    lead = (
        f"vNDCG@{value.k} anew at every weighting of {_words(value)} on a grid of {len(pairs[0].simplex)} points. A "
        "corner weighs one component alone; the ring marks the weights in use. Coloured marks are decided at 95 %."
    )
    rows = tuple((against(c), tuple(whole(n) for n in _counts(c))) for c in pairs)
    columns = ("Comparison", "First better", "Second better", "Undecided")
    return Section(
        "simplex",
        "The weights swept",
        (lead,),
        tuple(Figure(_drawn(c, value, place), against(c) + ".") for place, c in enumerate(pairs)),
        (Table("Weightings", columns, rows),),
    )


def _drawn(c: Comparison, value: ValueSetting, place: int) -> str:
    title = f"Sign of the vNDCG gap, {against(c)}"
    return simplex(f"simplex-{place}", title, c.simplex, value.components, value.weights, c.x, c.a)


def _counts(c: Comparison) -> tuple[int, int, int]:
    first = sum(p.gap.decided and (p.gap.value or 0) > 0 for p in c.simplex)
    second = sum(p.gap.decided and (p.gap.value or 0) < 0 for p in c.simplex)
    return first, second, len(c.simplex) - first - second


def _words(value: ValueSetting) -> str:
    *most, last = value.components
    return f"{', '.join(most)} and {last}"


def against(c: Comparison) -> str:
    """Name of a comparison."""
    return f"{c.x} − {c.a}"


def miss_section(report: EvaluationReport) -> Section | None:
    """What the misses look like."""
    if not report.misses:
        return None
    rows = tuple(
        (
            f"{m.method} (found by {m.other})",
            (
                whole(m.misses),
                _part(m.substitute, m.misses),
                _part(m.near, m.misses),
                _part(m.blind, m.misses),
                _part(m.rescued, m.misses),
            ),
        )
        for m in report.misses
    )
    columns = ("Method", "Misses", "Substitute in top 50, target beyond 200", "Target at 51 to 200", "Rest", "Rescued")
    lead = "Misses of exact matching at k = 50: many put the target's own kind forward, which a shopper may not mind."
    return Section("misses", "What the misses look like", (lead,), tables=(Table("Misses", columns, rows),))


def _part(count: int, total: int) -> Cell:
    return Cell(f"{count:,}", f"{100 * count / total:.1f} %" if total else "")
