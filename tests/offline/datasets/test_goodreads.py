"""Goodreads by genre: good ratings only, dates with an offset, authors in a file of their own."""

from pathlib import Path
from typing import Any

import pytest

from tests.offline.datasets.raw_files import Ingested, grid, write_json

USERS = [f"u{number:032x}" for number in range(5)]
BOOKS = [str(100 + number) for number in range(5)]
FILE = "goodreads_interactions_comics_graphic.json.gz"


def shelved(user: str, book: str, hour: int, rating: int = 5, **changes: Any) -> dict[str, Any]:
    return {
        "user_id": user,
        "book_id": book,
        "review_id": "r",
        "is_read": True,
        "rating": rating,
        "review_text_incomplete": "",
        "date_added": f"Sun Jul 30 {hour:02}:44:10 -0700 2017",
        "date_updated": "",
    } | changes


ROWS = [shelved(*row) for row in grid(USERS, BOOKS)]


def book(number: str, **changes: Any) -> dict[str, Any]:
    return {
        "book_id": number,
        "title": f"Book {number}",
        "authors": [{"author_id": "2", "role": ""}, {"author_id": "1", "role": "Illustrator"}, {"author_id": "404"}],
        "publisher": "P",
        "publication_year": "2001",
        "description": "A\nstory",
        "average_rating": "3.92",
        "ratings_count": "44",
        "popular_shelves": [{"count": "3", "name": "to-read"}],
    } | changes


@pytest.fixture
def raw(tmp_path: Path) -> Path:
    folder = tmp_path / "raw"
    write_json(folder / FILE, ROWS)
    write_json(folder / "goodreads_books_comics_graphic.json.gz", [book(number) for number in BOOKS])
    authors = [
        {"author_id": "1", "name": "Zoë Z."},
        {"author_id": "2", "name": "Abe"},
        {"author_id": "404", "name": ""},
    ]
    write_json(folder / "goodreads_book_authors.json.gz", authors)
    return folder


def ingested(raw: Path, out: Path, rows: list[dict[str, Any]]) -> Ingested:
    write_json(raw / FILE, rows)
    return Ingested("goodreads-comics", raw, out)


def test_dates_with_offset_order_sequences(raw: Path, tmp_path: Path) -> None:
    result = Ingested("goodreads-comics", raw, tmp_path / "out")
    assert result.sequences == dict.fromkeys(USERS, BOOKS)
    assert result.rows[0]["timestamp"] == 1_501_400_650


def test_books_carry_authors_in_their_own_order(raw: Path, tmp_path: Path) -> None:
    assert Ingested("goodreads-comics", raw, tmp_path / "out").items["100"] == {
        "item_id": "100",
        "title": "Book 100",
        "brand": "Abe, Zoë Z.",
        "description": "A story",
        "rating_avg": 3.92,
        "rating_count": 44,
    }


def test_only_ratings_of_four_and_five_count(raw: Path, tmp_path: Path) -> None:
    extra = [shelved(USERS[0], "100", 20 + n, rating) for n, rating in enumerate((3, 0))]
    result = ingested(raw, tmp_path / "out", [*ROWS, *extra])
    assert result.sequences[USERS[0]] == BOOKS
    assert result.report.rejected == []
    assert ingested(raw, tmp_path / "again", [*ROWS, shelved(USERS[0], "100", 20, 4)]).sequences[USERS[0]] == [
        *BOOKS,
        "100",
    ]


def test_immediate_repeats_collapse_also_where_a_rare_book_stood_between(raw: Path, tmp_path: Path) -> None:
    write_json(raw / "goodreads_books_comics_graphic.json.gz", [book(number) for number in [*BOOKS, "rare"]])
    extra = [shelved(USERS[0], item, 10 + n) for n, item in enumerate(["104", "rare", "104", "100"])]
    assert ingested(raw, tmp_path / "out", [*ROWS, *extra]).sequences[USERS[0]] == [*BOOKS, "100"]


def test_books_without_any_text_leave(raw: Path, tmp_path: Path) -> None:
    blank = {"title": "", "authors": [], "publisher": " ", "publication_year": "", "description": ""}
    books = [book(number) for number in BOOKS]
    write_json(
        raw / "goodreads_books_comics_graphic.json.gz",
        [*books, book("mute", **blank), book("year", **blank | {"publication_year": "1999"})],
    )
    extra = [shelved(user, item, 12) for user in USERS for item in ("mute", "year", "unknown")]
    result = ingested(raw, tmp_path / "out", [*ROWS, *extra])
    assert result.sequences[USERS[0]] == [*BOOKS, "year"]


def test_core_is_taken_once(raw: Path, tmp_path: Path) -> None:
    """`last` has five readers, one of whom then leaves: it stays."""
    write_json(raw / "goodreads_books_comics_graphic.json.gz", [book(number) for number in [*BOOKS, "last"]])
    extra = [shelved(user, "last", 13) for user in [*USERS[:4], "brief"]]
    result = ingested(raw, tmp_path / "out", [*ROWS, *extra])
    assert "brief" not in result.sequences
    assert result.sequences[USERS[0]] == [*BOOKS, "last"]


def test_rows_without_a_date_are_counted(raw: Path, tmp_path: Path) -> None:
    result = ingested(raw, tmp_path / "out", [shelved(USERS[0], "100", 1, date_added=""), *ROWS])
    assert result.rejected(FILE) == {"no readable timestamp": (1, [1])}


def test_children_read_their_own_files(raw: Path, tmp_path: Path) -> None:
    for part in ("interactions", "books"):
        (raw / f"goodreads_{part}_comics_graphic.json.gz").rename(raw / f"goodreads_{part}_children.json.gz")
    assert Ingested("goodreads-children", raw, tmp_path / "out").sequences == dict.fromkeys(USERS, BOOKS)
