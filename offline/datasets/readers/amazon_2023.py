"""Amazon reviews 2023 (Hou et al., arXiv 2403.03952): raw `*.jsonl` or `5core/rating_only/*.csv`, and `meta_*.jsonl`.

Items are products (`parent_asin`), not their variants; timestamps are milliseconds. The publisher's own benchmark
scripts keep a user's earliest review of a product and take the 5-core; the same steps follow here, and applied to the
`rating_only` file, where they have been taken already, they change nothing. How the value-prior paper (arXiv
2610.19065) filtered Toys 2023 is not stated; we take the publisher's protocol.
"""

from offline.datasets.delimited import csv_rows
from offline.datasets.documents import json_documents
from offline.datasets.staging import write_interactions, write_items
from offline.datasets.workspace import Workspace

REVIEWS = {"user_id": "VARCHAR", "parent_asin": "VARCHAR", "rating": "DOUBLE", "timestamp": "BIGINT"}

METADATA = {
    "parent_asin": "VARCHAR",
    "title": "VARCHAR",
    "store": "VARCHAR",
    "price": "VARCHAR",
    "categories": ["VARCHAR"],
    "description": ["VARCHAR"],
    "average_rating": "DOUBLE",
    "rating_number": "BIGINT",
    "bought_together": ["VARCHAR"],
}


def read(work: Workspace) -> None:
    """Ratings (the 5-core CSV where it is there, else the raw reviews) and metadata of one category."""
    if work.raw.find("ratings"):
        _read_ratings(work)
    else:
        _read_reviews(work)
    metadata = json_documents(work, "metadata", "metadata", METADATA)
    write_items(
        work,
        metadata,
        item="doc.parent_asin",
        columns={
            "title": "tidy(doc.title)",
            "brand": "tidy(doc.store)",
            "price": "amount(doc.price)",
            "categories": "case when len(doc.categories) > 0 then [doc.categories] end",
            "description": "tidy(array_to_string(doc.description, ' '))",
            "rating_avg": "doc.average_rating",
            "rating_count": "doc.rating_number",
            "bought_together": "doc.bought_together",
        },
    )


def _read_ratings(work: Workspace) -> None:
    ratings = csv_rows(work, "ratings", "ratings", ["user_id", "parent_asin", "rating", "timestamp"])
    write_interactions(
        work,
        ratings,
        user="user_id",
        item="parent_asin",
        timestamp="try_cast(timestamp as bigint)",
        rating="rating",
    )


def _read_reviews(work: Workspace) -> None:
    reviews = json_documents(work, "reviews", "reviews", REVIEWS)
    write_interactions(
        work,
        reviews,
        user="doc.user_id",
        item="doc.parent_asin",
        timestamp="doc.timestamp",
        rating="doc.rating",
    )
