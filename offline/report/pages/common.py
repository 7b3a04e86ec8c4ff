"""Sections that the pages of evaluation and audit share."""

from collections.abc import Sequence

from offline.report.document.parts import CutOff, DataFigures, HopRow, Overlap, Published, Unit
from offline.report.plots.shapes import coverage_bars, heat
from offline.report.view import (
    NOTHING,
    Cell,
    Figure,
    Section,
    Table,
    estimate_cell,
    figure_text,
    gap_cell,
    signed,
    whole,
)

HOPS = {1: "1 hop", 2: "2 hops", 3: "3 hops", 0: "beyond 3"}


def data_section(data: DataFigures) -> Section:
    """Statistics of the data set, with coverage drawn."""
    figure = Figure(
        coverage_bars("coverage", "Coverage of the transition graph", data.coverage),
        "Share of test targets within 1, 2 and 3 hops of the last item.",
    )
    sizes = (
        ("Users", whole(data.users)),
        ("Items", whole(data.items)),
        ("Interactions", whole(data.interactions)),
        ("Mean length of a sequence", Cell(_two(data.mean_length))),
        ("Test users", whole(data.test_users)),
        ("Cold test targets", Cell(f"{data.cold_targets:,}", _of(data.cold_targets, data.test_users))),
        ("Items of the target's leaf category, median", Cell(_few(data.same_leaf_alternatives), "besides the target")),
        ("Edges (training)", whole(data.edges)),
        ("Mean out-degree", Cell(_two(data.mean_out_degree), "edges / items")),
        ("Mean edge weight", Cell(figure_text(data.mean_edge_weight))),
    )
    likeness = (
        ("Mean text cosine over edges", Cell(figure_text(data.smoothness_edges))),
        ("Mean text cosine over random pairs", Cell(figure_text(data.smoothness_random))),
        ("Distance in standard deviations", Cell(_two(data.smoothness_effect))),
        (
            "Popularity score against training histories of the targets (Spearman)",
            Cell(_rho(data.popularity_score_spearman), "1 if the score was counted from them"),
        ),
        (
            "Popularity score against how often an item is a target (Spearman)",
            Cell(_rho(data.popularity_demand_spearman)),
        ),
        (
            "Targets in at least ten training histories",
            Cell(figure_text(data.targets_in_ten_histories, percent=True), "%"),
        ),
    )
    return Section(
        "data",
        "The data set",
        figures=(figure,),
        tables=(
            Table("Size and graph", ("Statistic", "Value"), tuple((name, (cell,)) for name, cell in sizes)),
            Table("Text and popularity", ("Statistic", "Value"), tuple((name, (cell,)) for name, cell in likeness)),
        ),
    )


def ranking_table(caption: str, rows: Sequence[tuple[str, Sequence[CutOff]]], *, gaps: Sequence[str] = ()) -> Table:
    """Recall and NDCG at every cut-off, in percent; rows named in `gaps` are differences."""
    ks = [cut.k for cut in rows[0][1]] if rows else []
    columns = ("Method", *[f"Recall@{k}" for k in ks], *[f"NDCG@{k}" for k in ks])
    lines = []
    for name, cuts in rows:
        cell = gap_cell if name in gaps else estimate_cell
        recalls = [cell(cut.recall, percent=True) for cut in cuts]
        lines.append((name, (*recalls, *[cell(cut.ndcg, percent=True) for cut in cuts])))
    return Table(caption, columns, tuple(lines))


def hop_section(rows: Sequence[tuple[str, Sequence[HopRow]]], k: int) -> Section | None:
    """Recall by hop distance of the target."""
    rows = [(name, hops) for name, hops in rows if hops]
    if not rows:
        return None
    columns = [HOPS[row.hop] for row in rows[0][1]]
    sizes = [f"{HOPS[row.hop]}: {row.users:,} users" for row in rows[0][1]]
    drawn = heat(
        "hops",
        f"Recall@{k} by hop distance",
        [name for name, _ in rows],
        columns,
        [[row.recall for row in hops] for _, hops in rows],
        percent=True,
    )
    cells = tuple((name, tuple(Cell(figure_text(row.recall, percent=True)) for row in hops)) for name, hops in rows)
    return Section(
        "hops",
        "Recall by hop distance",
        (f"How far the target lies from the last item in the transition graph: {'; '.join(sizes)}.",),
        (Figure(drawn, f"Recall@{k} in percent of the users whose target lies at each distance."),),
        (Table(f"Recall@{k} by hop, percent", ("Method", *columns), cells),),
    )


def overlap_section(overlap: Overlap | None) -> Section | None:
    """Which methods get the same users right."""
    if overlap is None or len(overlap.methods) < 2:
        return None
    drawn = heat("overlap", f"Overlap at k = {overlap.k}", overlap.methods, overlap.methods, overlap.matrix)
    rows = tuple(
        (name, tuple(Cell("–" if cell is None else f"{cell:.3f}") for cell in line))
        for name, line in zip(overlap.methods, overlap.matrix, strict=True)
    )
    lead = "Users that both methods get right, over users that at least one does: low overlap is room for a mixture."
    return Section(
        "overlap",
        "Overlap of the users got right",
        (lead,),
        (Figure(drawn, f"Jaccard overlap in the top {overlap.k}."),),
        (Table(f"Jaccard overlap at k = {overlap.k}", ("Method", *overlap.methods), rows),),
    )


def published_section(published: Sequence[Published], reasons: Sequence[str] = ()) -> Section | None:
    """Published figures beside ours, and why they differ."""
    if not published and not reasons:
        return None
    rows = tuple(
        (
            ", ".join(part for part in (row.method, row.measure) if part),
            (_written(row.published, row.unit), _ours(row), _difference(row), Cell(row.remark)),
        )
        for row in published
    )
    columns = ("Figure", "Published", "Ours", "Difference", "Published in")
    tables = (Table("Reproduction; shares in percent", columns, rows),) if rows else ()
    return Section("published", "Published figures beside ours", tuple(reasons), tables=tables)


def _written(value: float, unit: Unit) -> Cell:
    return whole(round(value)) if unit is Unit.COUNT else Cell(figure_text(value, percent=unit is Unit.PERCENT))


def _ours(row: Published) -> Cell:
    if row.ours.value is None:
        return Cell(NOTHING, "not measured here")
    if row.unit is Unit.COUNT:
        return _written(row.ours.value, row.unit)
    return estimate_cell(row.ours, percent=row.unit is Unit.PERCENT)


def _difference(row: Published) -> Cell:
    if row.difference is None:
        return Cell(NOTHING)
    if row.unit is Unit.COUNT:
        return Cell(signed(f"{round(row.difference):+,}".replace("+0", "0")))
    text = f"{100 * row.difference:+.2f}" if row.unit is Unit.PERCENT else f"{row.difference:+.4f}"
    return Cell(signed(text if float(text) else text[1:]))


def _two(value: float | None) -> str:
    return "–" if value is None else signed(f"{value:.2f}")


def _few(value: float | None) -> str:
    return "–" if value is None else f"{value:,g}"


def _rho(value: float | None) -> str:
    return "–" if value is None else signed(f"{value:.3f}")


def _of(part: int, total: int) -> str:
    return f"{100 * part / total:.2f} % of the test users" if total else ""
