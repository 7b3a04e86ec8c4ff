"""Figures with a row a method or a comparison: estimates with intervals, gaps around zero, wins, shares, two runs."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

from offline.report.document.evaluation import WinCount
from offline.report.document.parts import Estimate
from offline.report.plots.canvas import SERIES, Ink, drawing, short

ROW_IN = 0.27
"""Height of a row."""
MARGIN_IN = 0.62
"""Height of what surrounds the rows: the axis and its label."""


def estimate_bars(
    name: str, title: str, unit: str, rows: Sequence[tuple[str, Estimate]], *, percent: bool = False
) -> str:
    """A bar a method with its interval as a whisker and its figure at the end: SVG.

    Args:
        name: unique on the page.
        title: what is shown.
        unit: label of the axis.
        rows: methods and estimates, first on top.
        percent: show shares as percent.
    """
    scale = 100.0 if percent else 1.0
    with drawing(name, title, _in_words(rows, scale), height_in=_height(len(rows))) as drawn:
        axes = drawn.axes
        _label_rows(axes, [row for row, _ in rows])
        top = max((_upper(e) for _, e in rows), default=0.0) * scale
        for place, (_, estimate) in enumerate(rows):
            if estimate.value is None:
                axes.text(0, place, " not defined", va="center", color=Ink.MUTED.value)
                continue
            axes.barh(place, estimate.value * scale, height=0.62, color=Ink.FIRST.value, alpha=0.85, linewidth=0)
            _whisker(axes, place, estimate, scale, Ink.TEXT)
            label = f"{estimate.value * scale:.{2 if percent else 3}f}"
            axes.text(_upper(estimate) * scale + top * 0.02, place, label, va="center", fontsize=8.5)
        axes.set_xlim(0, top * 1.17 or 1)
        axes.set_xlabel(unit)
        _few_ticks(axes)
    return drawn.svg


def gap_dots(name: str, title: str, unit: str, rows: Sequence[tuple[str, Estimate]], *, percent: bool = False) -> str:
    """A dot a comparison with its interval, around a line at zero; hollow where the interval holds zero: SVG."""
    scale = 100.0 if percent else 1.0
    with drawing(name, title, _in_words(rows, scale), height_in=_height(len(rows))) as drawn:
        axes = drawn.axes
        _label_rows(axes, [row for row, _ in rows])
        axes.axvline(0, color=Ink.MUTED.value, linewidth=1)
        for place, (_, estimate) in enumerate(rows):
            if estimate.value is None:
                continue
            ink = Ink.MUTED if not estimate.decided else Ink.FIRST if estimate.value > 0 else Ink.SECOND
            _whisker(axes, place, estimate, scale, ink)
            face = ink.value if estimate.decided else Ink.SURFACE.value
            axes.plot(estimate.value * scale, place, "o", markersize=6, color=ink.value, markerfacecolor=face)
        axes.set_xlabel(unit)
        axes.margins(x=0.08)
        _few_ticks(axes)
    return drawn.svg


def win_bars(name: str, title: str, rows: Sequence[tuple[str, WinCount]]) -> str:
    """Wins, ties and losses of each comparison as shares of the users compared: SVG."""
    words = "; ".join(f"{row}: {w.win} wins, {w.tie} ties, {w.loss} losses" for row, w in rows)
    with drawing(name, title, words, height_in=_height(len(rows)) + 0.2) as drawn:
        axes = drawn.axes
        _label_rows(axes, [row for row, _ in rows])
        for place, (_, counted) in enumerate(rows):
            _stack(axes, place, counted)
        for label, ink in (("win", Ink.FIRST), ("tie", Ink.NEUTRAL), ("loss", Ink.SECOND)):
            axes.barh(0, 0, color=ink.value, label=label)
        axes.set_xlim(0, 100)
        axes.set_xlabel("users compared, %")
        _legend(axes, 3)
    return drawn.svg


def _stack(axes: Axes, place: int, counted: WinCount) -> None:
    left, total = 0.0, max(counted.users, 1)
    kinds = ((counted.win, Ink.FIRST, Ink.ON_FIRST), (counted.tie, Ink.NEUTRAL, Ink.TEXT))
    for count, ink, on in (*kinds, (counted.loss, Ink.SECOND, Ink.ON_FIRST)):
        share = 100 * count / total
        axes.barh(place, share, left=left, height=0.66, color=ink.value, edgecolor=Ink.SURFACE.value, linewidth=1.2)
        if share >= 8:
            axes.text(left + share / 2, place, f"{share:.0f}", ha="center", va="center", color=on.value, fontsize=8)
        left += share


def share_dots(name: str, title: str, rows: Sequence[tuple[str, Sequence[Estimate]]], components: Sequence[str]) -> str:
    """Share of each value component in each lead, one mark a component: SVG. Shares sum to 1 and may be negative."""
    described = [
        (f"{row}, {component}", share)
        for row, shares in rows
        for component, share in zip(components, shares, strict=True)
    ]
    with drawing(name, title, _in_words(described, 1.0), height_in=_height(len(rows)) + 0.2) as drawn:
        axes = drawn.axes
        _label_rows(axes, [row for row, _ in rows])
        axes.axvline(0, color=Ink.MUTED.value, linewidth=1)
        for series, (component, ink, marker) in enumerate(zip(components, SERIES, "osD^", strict=False)):
            shift = (series - (len(components) - 1) / 2) * 0.2
            for place, (_, shares) in enumerate(rows):
                share = shares[series]
                if share.value is not None:
                    _whisker(axes, place + shift, share, 1.0, ink)
                    axes.plot(share.value, place + shift, marker, markersize=4.5, color=ink.value)
            axes.plot([], [], marker, markersize=4.5, color=ink.value, label=component)
        axes.set_xlabel("share of the lead")
        _few_ticks(axes)
        _legend(axes, len(components))
    return drawn.svg


def run_dots(
    name: str, title: str, unit: str, rows: Sequence[tuple[str, Estimate, Estimate]], *, percent: bool = False
) -> str:
    """The same figure of two runs, joined by a line: SVG."""
    scale = 100.0 if percent else 1.0
    words = "; ".join(f"{row}: {_number(a, scale)} and {_number(b, scale)}" for row, a, b in rows)
    with drawing(name, title, words, height_in=_height(len(rows)) + 0.2) as drawn:
        axes = drawn.axes
        _label_rows(axes, [row for row, *_ in rows])
        for place, (_, left, right) in enumerate(rows):
            values = [e.value * scale for e in (left, right) if e.value is not None]
            axes.plot(values, [place] * len(values), color=Ink.GRID.value, linewidth=2)
            for estimate, ink, marker in ((left, Ink.SECOND, "s"), (right, Ink.FIRST, "o")):
                if estimate.value is not None:
                    axes.plot(estimate.value * scale, place, marker, markersize=6, color=ink.value)
        for label, ink, marker in (("left", Ink.SECOND, "s"), ("right", Ink.FIRST, "o")):
            axes.plot([], [], marker, markersize=6, color=ink.value, label=label)
        axes.set_xlabel(unit)
        _few_ticks(axes)
        _legend(axes, 2)
    return drawn.svg


def _height(rows: int) -> float:
    return MARGIN_IN + ROW_IN * max(rows, 1)


def _label_rows(axes: Axes, names: Sequence[str]) -> None:
    axes.set_yticks(range(len(names)), [short(name) for name in names])
    axes.set_ylim(len(names) - 0.45, -0.55)


def _few_ticks(axes: Axes) -> None:
    axes.locator_params(axis="x", nbins=5)
    axes.grid(axis="x")


def _legend(axes: Axes, columns: int) -> None:
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=columns, frameon=False, labelcolor=Ink.MUTED.value)


def _whisker(axes: Axes, place: float, estimate: Estimate, scale: float, ink: Ink) -> None:
    if estimate.low is not None and estimate.high is not None:
        ends = np.array([estimate.low, estimate.high]) * scale
        axes.plot(ends, [place, place], color=ink.value, linewidth=1.4, solid_capstyle="butt")


def _upper(estimate: Estimate) -> float:
    return max(v for v in (estimate.value, estimate.high, 0.0) if v is not None)


def _number(estimate: Estimate, scale: float) -> str:
    return "not defined" if estimate.value is None else f"{estimate.value * scale:.3g}"


def _in_words(rows: Sequence[tuple[str, Estimate]], scale: float) -> str:
    return "; ".join(f"{row}: {_number(estimate, scale)}" for row, estimate in rows)
