"""The text of an item."""

from string import Formatter
from typing import Any

import pyarrow as pa

PATH_SEPARATOR, LEVEL_SEPARATOR = "; ", " > "


def _paths(categories: list[list[str]] | None) -> str:
    return PATH_SEPARATOR.join(LEVEL_SEPARATOR.join(path) for path in categories or [])


def template_fields(template: str) -> tuple[str, ...]:
    """Names of the fields that a template uses.

    >>> template_fields("Title: {title}; {paths}")
    ('title', 'paths')
    """
    return tuple(dict.fromkeys(name for _, name, _, _ in Formatter().parse(template) if name))


def item_texts(items: pa.Table, template: str) -> list[str]:
    """One text an item; an absent field is empty, and an item without any of the fields has the text "".

    Args:
        items: table `items` of a bundle.
        template: fields title, brand, description, paths.

    >>> columns = {"title": ["Gloom", None], "brand": ["Atlas", None], "categories": [[["Toys", "Games"]], None]}
    >>> items = pa.table(columns)
    >>> item_texts(items, "Title: {title}; Brand: {brand}; Categories: {paths}")
    ['Title: Gloom; Brand: Atlas; Categories: Toys > Games', '']
    """
    names = template_fields(template)
    columns = [_column(items, name) for name in names]
    return [
        template.format(**dict(zip(names, values, strict=True))) if any(values) else ""
        for values in zip(*columns, strict=True)
    ]


def _column(items: pa.Table, name: str) -> list[str]:
    source = "categories" if name == "paths" else name
    values: list[Any] = items[source].to_pylist() if source in items.column_names else [None] * len(items)
    return [_paths(value) for value in values] if name == "paths" else [value or "" for value in values]
