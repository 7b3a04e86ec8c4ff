"""Steam (Kang & McAuley): `steam_reviews.json.gz` and `steam_games.json.gz`, Python literals with `u''` strings.

The heuristic paper follows SASRec: every review counts; a review stays if its user and its game both have at least
five in the whole file (counted once, at the same moment); immediate repeats and duplicates stay. Before that,
reviews of games without any text (title, developer, publisher, genres, tags, specs) are left out, and afterwards
sequences below three. Reviews of one day keep the order of the file.
"""

from offline.datasets.documents import literal_documents
from offline.datasets.staging import write_interactions, write_items
from offline.datasets.workspace import Workspace

REVIEWS = {"username": "VARCHAR", "product_id": "VARCHAR", "date": "VARCHAR"}

GAMES = {
    "id": "VARCHAR",
    "app_name": "VARCHAR",
    "title": "VARCHAR",
    "developer": "VARCHAR",
    "publisher": "VARCHAR",
    "genres": ["VARCHAR"],
    "tags": ["VARCHAR"],
    "specs": ["VARCHAR"],
    "price": "VARCHAR",
}

LABELS = "list_concat(coalesce(doc.genres, []), coalesce(doc.tags, []), coalesce(doc.specs, []))"

CATEGORIES = (
    f"list_transform(list_filter(list_transform({LABELS}, lambda l: tidy(l)), lambda l: l is not null), lambda l: [l])"
)
"""Genres, then tags, then specs, each a path of one level, so that the first genre is the leaf category."""

PRICE = "case when doc.price ilike '%free%' then 0 else amount(doc.price) end"
"""US dollars; `Free To Play` and the like are 0, other words (`Third-party`) are no price."""


def read(work: Workspace) -> None:
    """Reviews and games; ratings are not published."""
    reviews = literal_documents(work, "reviews", "reviews", REVIEWS)
    write_interactions(
        work,
        reviews,
        user="doc.username",
        item="doc.product_id",
        timestamp="epoch(try_strptime(doc.date, '%Y-%m-%d'))::bigint",
    )
    games = literal_documents(work, "games", "games", GAMES)
    title = "coalesce(nullif(doc.app_name, ''), doc.title)"
    text = f"concat(tidy({title}), tidy(doc.developer), tidy(doc.publisher), array_to_string({LABELS}, ''))"
    write_items(
        work,
        games,
        item="doc.id",
        columns={
            "title": f"tidy({title})",
            "brand": "tidy(doc.developer)",
            "price": PRICE,
            "categories": f"case when len({CATEGORIES}) > 0 then {CATEGORIES} end",
        },
        where=f"{text} <> '' or doc.id is null",
    )
