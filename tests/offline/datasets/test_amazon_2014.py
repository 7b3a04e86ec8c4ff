"""Reviews and metadata of 2014, as SNAP hands them out."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.offline.datasets.raw_files import Ingested, grid, write, write_json, write_literals

DAY = 86_400
USERS = [f"A{number}XUSER" for number in range(5)]
ITEMS = [f"B00{number}" for number in range(5)]


def review(user: str, item: str, day: int, **changes: Any) -> dict[str, Any]:
    return {
        "reviewerID": user,
        "asin": item,
        "reviewerName": 'Bob "the" O\'Neil',
        "helpful": [0, 0],
        "reviewText": "Quite {good}, it's true.",
        "overall": 5.0,
        "summary": "ok",
        "unixReviewTime": 1_300_000_000 + day * DAY,
        "reviewTime": "03 13, 2011",
    } | changes


REVIEWS = [review(*row) for row in grid(USERS, ITEMS)]
METADATA = [
    "{'asin': 'B000', 'title': 'Nail \"Lacquer\" \\xc3\\xa9', 'price': 5.99, 'imUrl': 'http://x/1.jpg', 'related': "
    "{'also_bought': ['B001', 'B777'], 'bought_together': ['B002']}, 'salesRank': {'Beauty': 12}, 'brand': 'OPI', "
    "'categories': [['Beauty', 'Makeup', 'Nails'], ['Gifts']], 'description': \"It's\\nfine\"}",
    {"asin": "B001", "title": "No price", "categories": [["Beauty"]], "brand": ""},
    {"asin": "B002", "price": "$1,299.50", "title": "  two  spaces "},
    {"asin": "B002", "title": "said twice"},
    {"asin": "B003"},
    {"asin": "B999", "title": "never reviewed"},
]


@pytest.fixture
def raw(tmp_path: Path) -> Path:
    folder = tmp_path / "raw"
    write_json(folder / "reviews_Beauty_5.json.gz", REVIEWS)
    write_literals(folder / "meta_Beauty.json.gz", METADATA)
    return folder


def test_reviews_become_sequences_in_time(raw: Path, tmp_path: Path) -> None:
    result = Ingested("beauty", raw, tmp_path / "out")
    assert result.sequences == dict.fromkeys(USERS, ITEMS)
    assert result.rows[0] == {
        "user_id": USERS[0],
        "item_id": "B000",
        "timestamp": 1_300_000_000,
        "rating": 5.0,
        "event": "review",
    }


def test_equal_days_keep_the_order_of_the_file(raw: Path, tmp_path: Path) -> None:
    write_json(raw / "reviews_Beauty_5.json.gz", [review(u, i, 0) for u in USERS for i in reversed(ITEMS)])
    assert Ingested("beauty", raw, tmp_path / "out").sequences[USERS[0]] == ITEMS[::-1]


def test_metadata_keeps_paths_links_and_odd_prices(raw: Path, tmp_path: Path) -> None:
    items = Ingested("beauty", raw, tmp_path / "out").items
    assert sorted(items) == ITEMS
    assert items["B000"]["title"] == 'Nail "Lacquer" \xc3\xa9'
    assert items["B000"]["categories"] == [["Beauty", "Makeup", "Nails"], ["Gifts"]]
    assert items["B000"]["also_bought"] == ["B001", "B777"]
    assert items["B000"]["bought_together"] == ["B002"]
    assert items["B000"]["also_viewed"] is None
    assert items["B000"]["description"] == "It's fine"
    assert [items[item]["price"] for item in ITEMS] == [5.99, None, 1299.5, None, None]
    assert items["B001"]["brand"] is None
    assert items["B002"]["title"] == "two spaces"


def test_item_without_metadata_stays_with_its_id_alone(raw: Path, tmp_path: Path) -> None:
    items = Ingested("beauty", raw, tmp_path / "out").items
    assert {value for key, value in items["B004"].items() if key != "item_id"} == {None}


def test_second_description_of_an_item_is_counted_with_its_line(raw: Path, tmp_path: Path) -> None:
    rejected = Ingested("beauty", raw, tmp_path / "out").rejected("meta_Beauty.json.gz")
    assert rejected == {"item described before (first kept)": (1, [4])}


def test_duplicate_reviews_count_once(raw: Path, tmp_path: Path) -> None:
    again = review(USERS[0], ITEMS[0], 0, overall=1.0)
    write_json(raw / "reviews_Beauty_5.json.gz", [*REVIEWS, again])
    result = Ingested("beauty", raw, tmp_path / "out")
    assert result.step("as read") == 26
    assert result.step("rows that repeat") == 25
    assert result.rows[0]["rating"] == 5.0


def test_bad_lines_are_counted_with_file_and_line(raw: Path, tmp_path: Path) -> None:
    rows = [
        REVIEWS[0],
        "{broken",
        "",
        review("", "B000", 0),
        review(USERS[0], "B000", 0, asin=None),
        json.dumps(review(USERS[1], "B000", 0)).replace('"unixReviewTime": 1300000000, ', ""),
        review(USERS[0], "B000", 9, overall=7.0),
        "[1, 2]",
        *REVIEWS[1:],
    ]
    write_json(raw / "reviews_Beauty_5.json.gz", rows)
    result = Ingested("beauty", raw, tmp_path / "out")
    assert result.rejected("reviews_Beauty_5.json.gz") == {
        "unparsable": (2, [2, 8]),
        "no user id": (1, [4]),
        "no item id": (1, [5]),
        "no readable timestamp": (1, [6]),
        "rating outside the scale (row kept without it)": (1, [7]),
    }
    assert result.sequences[USERS[0]] == [*ITEMS, "B000"]
    assert result.rows[5]["rating"] is None


def test_reviews_with_python_words_or_broken_characters_are_still_read(raw: Path, tmp_path: Path) -> None:
    literal = repr(REVIEWS[0] | {"verified": True, "vote": None})
    surrogate = json.dumps(REVIEWS[1] | {"reviewText": "x"}).replace('"x"', '"\\ud83d"')
    write_json(raw / "reviews_Beauty_5.json.gz", [literal, surrogate, *REVIEWS[2:]])
    result = Ingested("beauty", raw, tmp_path / "out")
    assert result.sequences[USERS[0]] == ITEMS
    assert result.rejected("reviews_Beauty_5.json.gz") == {}


def test_metadata_is_never_run_as_code(raw: Path, tmp_path: Path) -> None:
    witness = tmp_path / "witness"
    write_literals(raw / "meta_Beauty.json.gz", [f"{{'asin': open({str(witness)!r}, 'w').name}}", *METADATA])
    result = Ingested("beauty", raw, tmp_path / "out")
    assert not witness.exists()
    assert result.rejected("meta_Beauty.json.gz")["unparsable"] == (1, [1])


def test_users_and_items_below_five_leave_until_none_is_left(raw: Path, tmp_path: Path) -> None:
    late = [review("Alone", item, 9) for item in ITEMS[:4]]
    chain = [review(user, "B00rare", 9) for user in [*USERS[:4], "Alone"]]
    write_json(raw / "reviews_Beauty_5.json.gz", [*REVIEWS, *late, *chain[:4]])
    result = Ingested("beauty", raw, tmp_path / "out")
    assert result.sequences == dict.fromkeys(USERS, ITEMS)


def test_unpacked_files_are_taken_too(raw: Path, tmp_path: Path) -> None:
    (raw / "reviews_Beauty_5.json.gz").unlink()
    write_json(raw / "reviews_Beauty_5.json", REVIEWS)
    (raw / "meta_Beauty.json.gz").write_bytes(b"".join(repr(row).encode() + b"\n" for row in METADATA[1:]))
    result = Ingested("beauty", raw, tmp_path / "out")
    assert result.sequences == dict.fromkeys(USERS, ITEMS)
    assert result.items["B001"]["title"] == "No price"


def test_cds_keep_short_users_down_to_three(tmp_path: Path) -> None:
    raw = tmp_path / "raw"
    rows = [*REVIEWS, *(review("three", item, 1) for item in ITEMS[:3]), *(review("two", i, 1) for i in ITEMS[:2])]
    write_json(raw / "reviews_CDs_and_Vinyl_5.json.gz", rows)
    write(raw / "meta_CDs_and_Vinyl.json.gz", b"")
    result = Ingested("cds", raw, tmp_path / "out")
    assert result.sequences["three"] == ITEMS[:3]
    assert "two" not in result.sequences
