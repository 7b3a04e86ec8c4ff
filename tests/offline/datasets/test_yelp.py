"""Yelp: the year 2019, 5-core, categories as one comma-separated text."""

from pathlib import Path
from typing import Any

import pytest

from tests.offline.datasets.raw_files import Ingested, grid, write_json

USERS = [f"u-{number}_" for number in range(5)]
PLACES = [f"--p{number}" for number in range(5)]


def review(user: str, place: str, date: str, stars: float = 3.0) -> dict[str, Any]:
    return {
        "review_id": "r",
        "user_id": user,
        "business_id": place,
        "stars": stars,
        "useful": 0,
        "text": 'Tasty\nand "quick"',
        "date": date,
    }


ROWS = [review(user, place, f"2019-05-{1 + day:02} 10:00:00") for user, place, day in grid(USERS, PLACES)]


@pytest.fixture
def raw(tmp_path: Path) -> Path:
    folder = tmp_path / "raw"
    write_json(folder / "yelp_academic_dataset_review.json", ROWS)
    businesses = [
        {
            "business_id": "--p0",
            "name": "Café A",
            "categories": "Doughnuts, Sandwiches , Food",
            "stars": 4.5,
            "review_count": 7,
        },
        {"business_id": "--p1", "name": "B", "categories": None, "stars": 2.0, "review_count": 3},
    ]
    write_json(folder / "yelp_academic_dataset_business.json", businesses)
    return folder


def test_reviews_and_businesses(raw: Path, tmp_path: Path) -> None:
    result = Ingested("yelp", raw, tmp_path / "out")
    assert result.sequences == dict.fromkeys(USERS, PLACES)
    assert result.rows[0]["timestamp"] == 1_556_704_800
    assert result.items["--p0"] == {
        "item_id": "--p0",
        "title": "Café A",
        "categories": [["Doughnuts"], ["Sandwiches"], ["Food"]],
        "rating_avg": 4.5,
        "rating_count": 7,
    }
    assert result.items["--p1"]["categories"] is None


def test_only_2019_counts_up_to_the_first_moment_of_its_last_day(raw: Path, tmp_path: Path) -> None:
    edges = ["2018-12-31 23:59:59", "2019-01-01 00:00:00", "2019-12-31 00:00:00", "2019-12-31 00:00:01"]
    write_json(raw / "yelp_academic_dataset_review.json", [*ROWS, *(review(USERS[0], PLACES[4], d) for d in edges)])
    result = Ingested("yelp", raw, tmp_path / "out")
    assert result.sequences[USERS[0]] == [PLACES[4], *PLACES, PLACES[4]]


def test_repeated_visits_count_towards_the_core(raw: Path, tmp_path: Path) -> None:
    visits = [review("regular", PLACES[0], f"2019-06-0{day} 10:00:00") for day in range(1, 6)]
    write_json(raw / "yelp_academic_dataset_review.json", [*ROWS, *visits])
    assert Ingested("yelp", raw, tmp_path / "out").sequences["regular"] == [PLACES[0]] * 5


def test_unreadable_dates_are_counted(raw: Path, tmp_path: Path) -> None:
    write_json(raw / "yelp_academic_dataset_review.json", [review("u", PLACES[0], "May 2019"), *ROWS])
    rejected = Ingested("yelp", raw, tmp_path / "out").rejected("yelp_academic_dataset_review.json")
    assert rejected == {"no readable timestamp": (1, [1])}
