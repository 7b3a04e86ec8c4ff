"""The other figures: the weight simplex, tables as heat, coverage, training curves."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

from offline.report.document.evaluation import SimplexPoint
from offline.report.document.parts import Curve, Number
from offline.report.plots.canvas import SERIES, WIDTH_IN, Ink, drawing, short

HEIGHT_OF_TRIANGLE = np.sqrt(3) / 2


def simplex(
    name: str,
    title: str,
    points: Sequence[SimplexPoint],
    components: Sequence[str],
    chosen: Sequence[float],
    x: str,
    a: str,
) -> str:
    """The sign of a gap at each weighting of three components, as a triangle: SVG.

    A filled disc = x is better, a square = a is better, a small dot = the interval holds zero. The ring marks the
    weights in use.

    Args:
        name: unique on the page.
        title: what is shown.
        points: weightings and gaps.
        components: names of the three corners.
        chosen: weights in use.
        x: name of the one method.
        a: name of the other.
    """
    better = [p for p in points if p.gap.decided and (p.gap.value or 0) > 0]
    worse = [p for p in points if p.gap.decided and (p.gap.value or 0) < 0]
    open_points = [p for p in points if not p.gap.decided]
    words = f"{x} better at {len(better)}, {a} better at {len(worse)}, undecided at {len(open_points)} weightings"
    kinds = (
        (better, Ink.FIRST, "o", 4.6, f"{short(x, 12)} better"),
        (worse, Ink.SECOND, "s", 4.2, f"{short(a, 12)} better"),
    )
    with drawing(name, title, words, height_in=WIDTH_IN * 0.86) as drawn:
        axes = drawn.axes
        for group, ink, marker, size, label in (*kinds, (open_points, Ink.MUTED, "o", 1.8, "undecided")):
            across, up = _triangle([p.weights for p in group])
            axes.plot(across, up, marker, markersize=size, color=ink.value, markeredgewidth=0, label=label)
        axes.plot(*_triangle([chosen]), "o", markersize=10, markerfacecolor="none", color=Ink.TEXT.value)
        _corners(axes, components)
        axes.legend(loc="upper left", frameon=False, labelcolor=Ink.MUTED.value, handletextpad=0.2, borderpad=0)
    return drawn.svg


def _triangle(weights: Sequence[Sequence[float]]) -> tuple[list[float], list[float]]:
    """Across and up: the first component's corner is lower left, the second's lower right, the third's on top."""
    return [w[1] + w[2] / 2 for w in weights], [w[2] * HEIGHT_OF_TRIANGLE for w in weights]


def _corners(axes: Axes, components: Sequence[str]) -> None:
    first, second, third = components
    axes.text(0, -0.05, first, ha="left", va="top")
    axes.text(1, -0.05, second, ha="right", va="top")
    axes.text(0.5, HEIGHT_OF_TRIANGLE + 0.04, third, ha="center", va="bottom")
    axes.set_xlim(-0.04, 1.04)
    axes.set_ylim(-0.12, 1.0)
    axes.set_aspect("equal")
    axes.set_axis_off()


def heat(
    name: str,
    title: str,
    rows: Sequence[str],
    columns: Sequence[str],
    cells: Sequence[Sequence[Number]],
    *,
    percent: bool = False,
) -> str:
    """A table whose cells are tinted by their figure: SVG.

    Args:
        name: unique on the page.
        title: what is shown.
        rows: names of the rows.
        columns: names of the columns.
        cells: figures >= 0, None = not defined.
        percent: show shares as percent.
    """
    top = max((c for row in cells for c in row if c is not None), default=0.0) or 1.0
    words = "; ".join(
        f"{row}, {column}: {_cell(cell, percent)}"
        for row, line in zip(rows, cells, strict=True)
        for column, cell in zip(columns, line, strict=True)
    )
    with drawing(name, title, words, height_in=0.4 + 0.3 * len(rows)) as drawn:
        axes = drawn.axes
        for place, line in enumerate(cells):
            for across, cell in enumerate(line):
                _tile(axes, across, place, cell, top, _cell(cell, percent))
        axes.set_xlim(-0.5, len(columns) - 0.5)
        axes.set_ylim(len(rows) - 0.5, -0.5)
        axes.set_yticks(range(len(rows)), [short(row) for row in rows])
        axes.xaxis.tick_top()
        heads = [short(column, 12) for column in columns]
        tilt = 40 if max(map(len, heads), default=0) * len(heads) > 40 else 0
        axes.set_xticks(range(len(heads)), heads, rotation=tilt, ha="left" if tilt else "center")
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)
    return drawn.svg


def _tile(axes: Axes, across: int, place: int, cell: Number, top: float, label: str) -> None:
    depth = 0.06 + 0.9 * (cell or 0.0) / top
    if cell is not None:
        axes.barh(place, 0.95, left=across - 0.475, height=0.9, color=Ink.FIRST.value, alpha=depth, linewidth=0)
    ink = Ink.MUTED if cell is None else Ink.ON_FIRST if depth > 0.6 else Ink.TEXT
    axes.text(across, place, label, ha="center", va="center", color=ink.value, fontsize=8.5)


def _cell(cell: Number, percent: bool) -> str:
    if cell is None:
        return "–"
    return f"{100 * cell:.1f}" if percent else f"{cell:.2f}"


def coverage_bars(name: str, title: str, shares: Sequence[Number]) -> str:
    """Shares of targets within 1, 2, ... hops: SVG."""
    rows = [(f"{hop} hop{'s' if hop > 1 else ''}", 100 * (share or 0.0)) for hop, share in enumerate(shares, 1)]
    words = "; ".join(f"within {row}: {share:.2f} %" for row, share in rows)
    with drawing(name, title, words, height_in=1.5) as drawn:
        axes = drawn.axes
        axes.set_yticks(range(len(rows)), [row for row, _ in rows])
        axes.set_ylim(len(rows) - 0.45, -0.55)
        for place, (_, share) in enumerate(rows):
            axes.barh(place, 100, height=0.62, color=Ink.NEUTRAL.value, alpha=0.45, linewidth=0)
            axes.barh(place, share, height=0.62, color=Ink.FIRST.value, linewidth=0)
            axes.text(min(share, 88) + 1.5, place, f"{share:.2f}", va="center", fontsize=8.5)
        axes.set_xlim(0, 100)
        axes.set_xlabel("test targets, %")
    return drawn.svg


def curve_lines(name: str, title: str, curves: Sequence[Curve]) -> str:
    """Training curves that share their axes, one line each, the newest four told apart by colour and stroke: SVG."""
    words = "; ".join(f"{c.name}: from {c.points[0][1]:.3g} to {c.points[-1][1]:.3g}" for c in curves if c.points)
    with drawing(name, title, words, height_in=2.4) as drawn:
        axes = drawn.axes
        for place, curve in enumerate(curves):
            ink, stroke = SERIES[place % len(SERIES)], ("-", "--", "-.", ":")[place % 4]
            across, up = zip(*curve.points, strict=True) if curve.points else ((), ())
            axes.plot(across, up, stroke, color=ink.value, linewidth=1.8, label=curve.name)
        axes.set_xlabel(curves[0].x_label)
        axes.set_ylabel(curves[0].y_label)
        axes.tick_params(axis="y", labelcolor=Ink.MUTED.value)
        axes.grid(axis="y")
        axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2, frameon=False, labelcolor=Ink.MUTED.value)
    return drawn.svg
