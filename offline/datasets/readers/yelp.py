"""Yelp open data set: `yelp_academic_dataset_review.json` and `..._business.json`, JSON lines.

The heuristic paper takes its sequences from LETTER's release; their counts (30,431 users, 20,033 businesses, 316,354
reviews) are those of S3-Rec, whose preprocessing is followed here: reviews from 2019-01-01 to 2019-12-31 00:00, any
number of stars, 5-core repeated until it holds, no truncation. Yelp replaces the files from time to time and takes
reviews back, so a newer release gives other counts; S3-Rec used the one of 2020.
"""

from offline.datasets.documents import json_documents
from offline.datasets.staging import write_interactions, write_items
from offline.datasets.workspace import Workspace

REVIEWS = {"user_id": "VARCHAR", "business_id": "VARCHAR", "stars": "DOUBLE", "date": "VARCHAR"}

BUSINESSES = {
    "business_id": "VARCHAR",
    "name": "VARCHAR",
    "categories": "VARCHAR",
    "stars": "DOUBLE",
    "review_count": "BIGINT",
}


def read(work: Workspace) -> None:
    """Reviews, and businesses with their comma-separated categories as paths of one level."""
    reviews = json_documents(work, "reviews", "reviews", REVIEWS)
    write_interactions(
        work,
        reviews,
        user="doc.user_id",
        item="doc.business_id",
        timestamp="epoch(try_cast(doc.date as timestamp))::bigint",
        rating="doc.stars",
    )
    businesses = json_documents(work, "businesses", "businesses", BUSINESSES)
    categories = "list_transform(string_split(doc.categories, ','), lambda c: [trim(c)])"
    write_items(
        work,
        businesses,
        item="doc.business_id",
        columns={
            "title": "tidy(doc.name)",
            "categories": f"case when tidy(doc.categories) is not null then {categories} end",
            "rating_avg": "doc.stars",
            "rating_count": "doc.review_count",
        },
    )
