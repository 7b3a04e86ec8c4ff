"""What a page is made of, apart from how it looks: sections of prose, figures and tables."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from offline.report.document.parts import Estimate, Number, Provenance

NOTHING = "–"
MINUS = "\N{MINUS SIGN}"


class Tone(StrEnum):
    """What a figure says about a difference."""

    PLAIN = "plain"
    UP = "up"
    DOWN = "down"


@dataclass(frozen=True, slots=True)
class Cell:
    """One figure of a table.

    Attributes:
        text: the figure.
        note: its interval or unit, shown smaller.
        tone: whether it is a settled gain or loss.
    """

    text: str
    note: str = ""
    tone: Tone = Tone.PLAIN


@dataclass(frozen=True, slots=True)
class Table:
    """A table with a heading a row.

    Attributes:
        caption: what it holds.
        columns: headings; the first is that of the row headings.
        rows: row heading and cells.
    """

    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[Cell, ...]], ...]


@dataclass(frozen=True, slots=True)
class Figure:
    """A drawing and what stands under it."""

    svg: str
    caption: str


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the page.

    Attributes:
        anchor: its id in the page's address.
        heading: its heading.
        lead: sentences above the figures.
        figures: drawings.
        tables: tables.
    """

    anchor: str
    heading: str
    lead: tuple[str, ...] = ()
    figures: tuple[Figure, ...] = ()
    tables: tuple[Table, ...] = ()


@dataclass(frozen=True, slots=True)
class Page:
    """A whole page.

    Attributes:
        title: heading of the page.
        kind: evaluation, audit or comparison, in words.
        facts: provenance as name and text.
        summary: what it comes to, in sentences.
        sections: the parts, those without content left out.
        notes: what the data lacks.
    """

    title: str
    kind: str
    facts: tuple[tuple[str, str], ...]
    summary: tuple[str, ...]
    sections: tuple[Section, ...]
    notes: tuple[str, ...] = field(default=())


def shown(sections: Sequence[Section | None]) -> tuple[Section, ...]:
    """The sections that have something to show.

    >>> shown([None, Section("a", "A"), Section("b", "B", lead=("Yes.",))])[0].heading
    'B'
    """
    return tuple(s for s in sections if s and (s.lead or s.figures or s.tables))


def figure_text(value: Number, *, percent: bool = False) -> str:
    """A figure as text, a dash where it is not defined.

    >>> figure_text(0.09031, percent=True), figure_text(0.1234567), figure_text(None), figure_text(-0.00001)
    ('9.03', '0.1235', '–', '0.0000')
    """
    if value is None:
        return NOTHING
    text = f"{100 * value:.2f}" if percent else f"{value:.4f}"
    return signed(text if float(text) else text.removeprefix("-"))


def signed(number: str) -> str:
    """A number with a minus sign instead of a hyphen.

    >>> signed("-0.25")
    '\u22120.25'
    """
    return number.replace("-", MINUS)


def estimate_cell(estimate: Estimate | None, *, percent: bool = False) -> Cell:
    """A figure with its interval.

    >>> estimate_cell(Estimate(value=0.0903, low=0.0861, high=0.0945), percent=True)
    Cell(text='9.03', note='8.61 to 9.45', tone=<Tone.PLAIN: 'plain'>)
    """
    if estimate is None:
        return Cell(NOTHING)
    note = ""
    if estimate.low is not None and estimate.high is not None:
        note = f"{figure_text(estimate.low, percent=percent)} to {figure_text(estimate.high, percent=percent)}"
    return Cell(figure_text(estimate.value, percent=percent), note)


def gap_cell(estimate: Estimate | None, *, percent: bool = False) -> Cell:
    """A difference with its sign and interval, toned where the interval leaves zero out.

    >>> gap_cell(Estimate(value=0.02, low=0.01, high=0.03))
    Cell(text='+0.0200', note='0.0100 to 0.0300', tone=<Tone.UP: 'up'>)
    """
    plain = estimate_cell(estimate, percent=percent)
    if estimate is None or estimate.value is None:
        return plain
    tone = Tone.PLAIN if not estimate.decided else Tone.UP if estimate.value > 0 else Tone.DOWN
    return Cell(("+" if estimate.value > 0 else "") + plain.text, plain.note, tone)


def whole(number: int) -> Cell:
    """A count with its thousands set apart.

    >>> whole(19412).text
    '19,412'
    """
    return Cell(f"{number:,}")


def provenance_facts(provenance: Provenance) -> tuple[tuple[str, str], ...]:
    """Provenance as name and text."""
    kept = "whole sequences" if provenance.truncate_history is None else f"last {provenance.truncate_history} items"
    versions = ", ".join(f"{name} {version}" for name, version in sorted(provenance.versions.items()))
    facts = (
        ("Data set", provenance.data_set),
        ("Bundle", provenance.bundle),
        ("Split", f"{provenance.split} ({kept})"),
        ("Command", provenance.command),
        ("Made", f"{provenance.created:%Y-%m-%d %H:%M %Z}"),
        ("Seed", f"{provenance.seed}; {provenance.resamples:,} bootstrap samples, 95 % intervals"),
        ("Software", versions),
    )
    return tuple((name, text) for name, text in facts if text)
