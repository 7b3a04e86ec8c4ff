"""Amazon reviews 2014 (McAuley et al.): `reviews_*_5.json.gz` and `meta_*.json.gz`.

Review rows are JSON, metadata rows are Python literals with single quotes. The `_5` files are 5-cores already, so
the heuristic paper's protocol leaves only sequences below three items out, and those do not occur. Rows of one user
and day keep the order of the file, which is sorted by item: 44 % of adjacent pairs depend on it.

Beauty, Sports and Toys in the paper are the splits that P5 and GRID hand out; they were made from these files by the
S3-Rec preprocessing (every rating counts, 5-core), so the raw files give the same sequences.
"""

from offline.datasets.documents import json_documents, literal_documents
from offline.datasets.staging import write_interactions, write_items
from offline.datasets.workspace import Workspace

REVIEWS = {"reviewerID": "VARCHAR", "asin": "VARCHAR", "overall": "DOUBLE", "unixReviewTime": "BIGINT"}

METADATA = {
    "asin": "VARCHAR",
    "title": "VARCHAR",
    "brand": "VARCHAR",
    "price": "VARCHAR",
    "categories": [["VARCHAR"]],
    "description": "VARCHAR",
    "related": {"also_bought": ["VARCHAR"], "also_viewed": ["VARCHAR"], "bought_together": ["VARCHAR"]},
}


def read(work: Workspace) -> None:
    """Reviews and metadata of one category; prices are in US dollars, absent for a part of the items."""
    reviews = json_documents(work, "reviews", "reviews", REVIEWS)
    write_interactions(
        work,
        reviews,
        user="doc.reviewerID",
        item="doc.asin",
        timestamp="doc.unixReviewTime",
        rating="doc.overall",
    )
    metadata = literal_documents(work, "metadata", "metadata", METADATA)
    write_items(
        work,
        metadata,
        item="doc.asin",
        columns={
            "title": "tidy(doc.title)",
            "brand": "tidy(doc.brand)",
            "price": "amount(doc.price)",
            "categories": "doc.categories",
            "description": "tidy(doc.description)",
            "also_bought": "doc.related.also_bought",
            "also_viewed": "doc.related.also_viewed",
            "bought_together": "doc.related.bought_together",
        },
    )
