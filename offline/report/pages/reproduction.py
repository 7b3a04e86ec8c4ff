"""The page of a reproduction: for each data set its published figures beside ours, then our own tables."""

import re
from dataclasses import replace

from offline.report.document.evaluation import EvaluationReport
from offline.report.document.reproduction import ReproductionReport
from offline.report.pages.common import published_section
from offline.report.pages.evaluation import evaluation_page
from offline.report.view import Figure, Page, Section, provenance_facts

VALUE = frozenset({"vndcg", "best-value", "shares", "simplex", "credit", "misses"})


def reproduction_page(report: ReproductionReport) -> Page:
    """Lay a reproduction out."""
    sections = [
        section
        for place, one in enumerate(report.data_sets, start=1)
        for section in _sections(one, place, with_value=report.with_value)
    ]
    facts = [
        (f"{one.title}: {name}", text)
        for one in report.data_sets
        for name, text in provenance_facts(one.provenance)
        if name not in ("Data set", "Command", "Made")
    ]
    return Page(
        title=report.title,
        kind="Reproduction",
        facts=(("Command", report.command), ("Made", f"{report.created:%Y-%m-%d %H:%M %Z}"), *facts),
        summary=tuple(_summary(one) for one in report.data_sets),
        sections=tuple(sections),
    )


def _summary(report: EvaluationReport) -> str:
    compared = [row for row in report.published if row.difference is not None]
    lacking = len(report.published) - len(compared)
    words = f"{report.title}: {len(compared)} published figures stand beside ours"
    return f"{words}, {lacking} more could not be measured here." if lacking else f"{words}."


def _sections(report: EvaluationReport, place: int, *, with_value: bool) -> list[Section]:
    """Reasons and published figures first; anchors and drawings are told apart by the data set and its place."""
    prefix = re.sub(r"[^a-z0-9]+", "-", f"{report.title.lower()}-{place}").strip("-")
    first = published_section(report.published, report.notes)
    rest = evaluation_page(report).sections
    mine = [s for s in rest if s.anchor != "published" and (with_value or s.anchor not in VALUE)]
    return [_named(section, report.title, prefix) for section in (first, *mine) if section is not None]


def _named(section: Section, title: str, prefix: str) -> Section:
    return replace(
        section,
        anchor=f"{prefix}-{section.anchor}",
        heading=f"{title}: {section.heading}",
        figures=tuple(Figure(_told_apart(figure.svg, prefix), figure.caption) for figure in section.figures),
    )


def _told_apart(svg: str, prefix: str) -> str:
    """A drawing whose ids no other data set's drawing has.

    >>> _told_apart('<svg aria-labelledby="a-title a-desc"><g id="a-1" fill="url(#a-2)"/></svg>', "toys")
    '<svg aria-labelledby="toys-a-title toys-a-desc"><g id="toys-a-1" fill="url(#toys-a-2)"/></svg>'
    """
    svg = re.sub(r'(\bid="|url\(#|xlink:href="#)', rf"\g<1>{prefix}-", svg)
    return re.sub(r'(aria-labelledby=")(\S+) (\S+)"', rf'\g<1>{prefix}-\g<2> {prefix}-\g<3>"', svg)
