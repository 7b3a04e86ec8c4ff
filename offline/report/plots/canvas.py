"""The canvas of all figures: one size, one style, and SVG that a page can colour and scale.

Figures are drawn in stand-in colours that the finished SVG replaces by CSS variables, so that one drawing serves light
and dark; text stays text; ids carry the figure's name, so that many figures share a page.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from html import escape
from io import StringIO

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure

WIDTH_IN = 4.2
"""Width of every figure: narrow enough that its text stays readable on a phone."""


LABEL = 24
"""Characters of the longest label in a drawing."""


class Ink(StrEnum):
    """Stand-in colours; each becomes the CSS variable of its name."""

    TEXT = "#000001"
    MUTED = "#000002"
    GRID = "#000003"
    SURFACE = "#000004"
    NEUTRAL = "#000005"
    FIRST = "#000011"
    SECOND = "#000012"
    THIRD = "#000013"
    FOURTH = "#000014"
    ON_FIRST = "#000021"

    @property
    def variable(self) -> str:
        """The CSS variable: `var(--on-first)` for ON_FIRST."""
        return f"var(--{self.name.lower().replace('_', '-')})"


SERIES = (Ink.FIRST, Ink.SECOND, Ink.THIRD, Ink.FOURTH)

STYLE = {
    "svg.fonttype": "none",
    "svg.hashsalt": "shortlist",
    "text.parse_math": False,
    "font.size": 9.5,
    "axes.edgecolor": Ink.GRID.value,
    "axes.labelcolor": Ink.MUTED.value,
    "axes.titlecolor": Ink.TEXT.value,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.spines.left": False,
    "axes.axisbelow": True,
    "grid.color": Ink.GRID.value,
    "grid.linewidth": 0.8,
    "text.color": Ink.TEXT.value,
    "xtick.color": Ink.GRID.value,
    "xtick.labelcolor": Ink.MUTED.value,
    "ytick.color": Ink.GRID.value,
    "ytick.labelcolor": Ink.TEXT.value,
    "ytick.major.size": 0.0,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "savefig.facecolor": "none",
}


@dataclass(slots=True)
class Drawing:
    """A figure in the making.

    Attributes:
        axes: where to draw.
        svg: the finished SVG, once the drawing is closed.
    """

    axes: Axes
    svg: str = field(default="")


@contextmanager
def drawing(name: str, title: str, description: str, *, height_in: float) -> Iterator[Drawing]:
    """Open a canvas; on leaving, `svg` holds the finished figure.

    Args:
        name: letters, digits and hyphens, unique on the page.
        title: what the figure shows, for those who do not see it.
        description: what it says.
        height_in: height in inches.
    """
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH_IN, height_in), layout="constrained")
        drawn = Drawing(figure.add_subplot())
        yield drawn
        out = StringIO()
        figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
    drawn.svg = page_ready(out.getvalue(), name, title, description)


def short(name: str, longest: int = LABEL) -> str:
    """A label that leaves room for the drawing; the tables and the description hold the whole name.

    >>> short("sasrec-with-everything-switched-on", 12)
    'sasrec-with…'
    """
    return name if len(name) <= longest else name[: longest - 1] + "…"


def page_ready(svg: str, name: str, title: str, description: str) -> str:
    """Colour by variables, scale with the page, name for assistive technology.

    >>> raw = '<?xml version="1.0"?><svg width="4pt" viewBox="0 0 4 3"> <g id="a" style="fill: #000011"/></svg>'
    >>> print(page_ready(raw, "bars", "Bars", "One & two").replace("><", ">\\n<"))
    <svg viewBox="0 0 4 3" role="img" aria-labelledby="bars-title bars-desc">
    <title id="bars-title">Bars</title>
    <desc id="bars-desc">One &amp; two</desc>
    <g id="bars-a" style="fill: var(--first)"/>
    </svg>
    """
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>|<style.*?</style>|font-family: [^;\"]*;? ?", "", svg, flags=re.DOTALL)
    svg = re.sub(r">\s+<", "><", svg)
    svg = re.sub(r'(\bid="|url\(#|xlink:href="#)', rf"\g<1>{name}-", svg)
    for ink in Ink:
        svg = svg.replace(f": {ink.value}", f": {ink.variable}")
    view = re.search(r'viewBox="[^"]*"', svg)
    opening = f'<svg {view.group() if view else ""} role="img" aria-labelledby="{name}-title {name}-desc">'
    words = f'<title id="{name}-title">{escape(title)}</title><desc id="{name}-desc">{escape(description)}</desc>'
    return opening + words + svg[svg.index(">") + 1 :].strip()
