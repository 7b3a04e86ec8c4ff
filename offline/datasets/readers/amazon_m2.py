"""Amazon-M2 (KDD Cup 2023): `sessions_train.csv` and `products_train.csv`, locale UK.

A session stands for a user: its `prev_items` and then its `next_item`. `prev_items` is printed as NumPy prints an
array, `['B0A' 'B0B'\\n 'B0C']`: no commas, and line breaks inside the quoted field. The heuristic paper keeps items
with a title and sessions of three and more; no core, repeats stay.

Sessions carry no time. The timestamp here is the place in the session (1, 2, ...), which orders a sequence and means
nothing else.
"""

from collections.abc import Collection

from offline.datasets.delimited import csv_rows
from offline.datasets.staging import Staged, write_interactions, write_items
from offline.datasets.workspace import Workspace

LOCALE = "UK"

SESSIONS = ("prev_items", "next_item", "locale")
PRODUCTS = ("id", "locale", "title", "price", "brand", "color", "material", "desc")

NO_PRICE = 40_000_000
"""The publisher writes 40000000.07 where a price is not known."""

PLACES = f"""
create or replace table places as
select row_number() over (order by session, place) as row, session, item, place from (
    select row as session, unnest(items) as item, generate_subscripts(items, 1) as place
    from (select row, list_append(regexp_extract_all(prev_items, '[^\\s''"\\[\\],]+'), next_item) as items
          from sessions where locale = '{LOCALE}'))
"""

DESCRIPTION = "nullif(concat_ws('; ', 'Color: ' || tidy(color), 'Material: ' || tidy(material), tidy(\"desc\")), '')"
"""Colour and material belong to the item text of the paper and have no column of their own in a catalogue."""


def read(work: Workspace) -> None:
    """UK sessions as `uk-<row of the file>`, and UK products with a title; prices are in pounds."""
    sessions = csv_rows(work, "sessions", "sessions", SESSIONS)
    work.con.execute(PLACES)
    places = Staged("places", sessions.file, lambda rows: sessions.locate(_session_rows(work, rows)))
    write_interactions(work, places, user="'uk-' || session", item="item", timestamp="place")
    work.con.execute(f"drop table {sessions.table}")
    products = csv_rows(work, "products", "products", PRODUCTS)
    price = f"case when amount(price) < {NO_PRICE} then amount(price) end"
    write_items(
        work,
        products,
        item="id",
        columns={"title": "tidy(title)", "brand": "tidy(brand)", "price": price, "description": DESCRIPTION},
        where=f"locale = '{LOCALE}' and tidy(title) is not null",
    )


def _session_rows(work: Workspace, rows: Collection[int]) -> list[int]:
    chosen = ", ".join(str(row) for row in rows)
    found = work.con.execute(f"select distinct session from places where row in ({chosen}) order by session").fetchall()
    return [session for (session,) in found]
