"""Reviews and metadata of 2023: JSON lines, or the publisher's 5-core as CSV."""

from pathlib import Path
from typing import Any

import pytest

from tests.offline.datasets.raw_files import Ingested, grid, write, write_json

USERS = [f"AE{number}" for number in range(5)]
ITEMS = [f"B0{number}" for number in range(5)]
NAME = "amazon-2023-toys-and-games"


def review(user: str, item: str, day: int, **changes: Any) -> dict[str, Any]:
    return {
        "rating": 4.0,
        "title": "Fun",
        "text": "Für die Kinder",
        "images": [],
        "asin": f"{item}-red",
        "parent_asin": item,
        "user_id": user,
        "timestamp": 1_600_000_000_123 + day,
        "helpful_vote": 0,
        "verified_purchase": True,
    } | changes


METADATA = [
    {
        "main_category": "Toys & Games",
        "title": "Blocks",
        "average_rating": 4.6,
        "rating_number": 120,
        "features": [],
        "description": ["For all", "ages."],
        "price": 12.5,
        "store": "Brickland",
        "categories": ["Toys & Games", "Building Toys", "Blocks"],
        "details": {"Brand": "B"},
        "parent_asin": "B00",
        "bought_together": None,
    },
    {"title": "Car", "price": "from 14.99", "categories": [], "description": [], "store": None, "parent_asin": "B01"},
    {"title": "Kite", "price": "\u2014", "parent_asin": "B02"},
    {"title": "Ball", "price": None, "parent_asin": "B03"},
]


@pytest.fixture
def raw(tmp_path: Path) -> Path:
    folder = tmp_path / "raw"
    write_json(folder / "Toys_and_Games.jsonl.gz", [review(*row) for row in grid(USERS, ITEMS)])
    write_json(folder / "meta_Toys_and_Games.jsonl.gz", METADATA)
    return folder


def test_items_are_products_and_times_milliseconds(raw: Path, tmp_path: Path) -> None:
    result = Ingested(NAME, raw, tmp_path / "out")
    assert result.sequences == dict.fromkeys(USERS, ITEMS)
    assert [row["timestamp"] for row in result.rows[:2]] == [1_600_000_000_123, 1_600_000_000_124]


def test_metadata_gives_store_path_rating_and_price(raw: Path, tmp_path: Path) -> None:
    items = Ingested(NAME, raw, tmp_path / "out").items
    assert items["B00"] == {
        "item_id": "B00",
        "title": "Blocks",
        "brand": "Brickland",
        "price": 12.5,
        "categories": [["Toys & Games", "Building Toys", "Blocks"]],
        "description": "For all ages.",
        "rating_avg": 4.6,
        "rating_count": 120,
        "bought_together": None,
    }
    assert [items[item]["price"] for item in ITEMS] == [12.5, 14.99, None, None, None]
    assert items["B01"]["categories"] is None
    assert items["B01"]["description"] is None


def test_earliest_review_of_a_product_counts(raw: Path, tmp_path: Path) -> None:
    rows = [review(*row) for row in grid(USERS, ITEMS)]
    write_json(raw / "Toys_and_Games.jsonl.gz", [review(USERS[0], "B02", 99, rating=1.0), *rows])
    result = Ingested(NAME, raw, tmp_path / "out")
    assert result.sequences[USERS[0]] == ITEMS
    assert {row["rating"] for row in result.rows} == {4.0}


def test_published_core_is_preferred_and_gives_the_same(raw: Path, tmp_path: Path) -> None:
    from_reviews = Ingested(NAME, raw, tmp_path / "reviews")
    lines = [f"{user},{item},4.0,{1_600_000_000_123 + day}" for user, item, day in grid(USERS, ITEMS)]
    write(raw / "Toys_and_Games.csv.gz", "\n".join(["user_id,parent_asin,rating,timestamp", *lines, ""]).encode())
    from_ratings = Ingested(NAME, raw, tmp_path / "ratings")
    assert from_ratings.rows == from_reviews.rows
    assert {file.name for file in from_ratings.report.raw_files} == {
        "Toys_and_Games.csv.gz",
        "meta_Toys_and_Games.jsonl.gz",
    }


def test_csv_rows_that_do_not_fit_are_counted_with_their_lines(raw: Path, tmp_path: Path) -> None:
    lines = [f"{user},{item},4.0,{1_600_000_000_123 + day}" for user, item, day in grid(USERS, ITEMS)]
    odd = ["AE0,B00", ",B00,4.0,1600000000123", "AE0,B00,4.0,soon"]
    write(raw / "Toys_and_Games.csv", "\n".join(["user_id,parent_asin,rating,timestamp", *odd, *lines]).encode())
    rejected = Ingested(NAME, raw, tmp_path / "out").rejected("Toys_and_Games.csv")
    assert rejected == {"unparsable": (1, [2]), "no user id": (1, [3]), "no readable timestamp": (1, [4])}
