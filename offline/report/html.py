"""A page as one HTML file that needs nothing from the network."""

from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined

from offline.report.view import Page


@cache
def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("offline.report", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def render(page: Page) -> str:
    """The whole file: style, figures and tables inline; text escaped, figures as drawn.

    A figure and its percent sign stay on one line.
    """
    return _environment().get_template("page.html.j2").render(page=page).replace(" %", "\N{NO-BREAK SPACE}%")
